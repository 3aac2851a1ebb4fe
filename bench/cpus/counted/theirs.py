"""What counted/main.go does, by Pillow and torchvision: theirs.py FOLDER (under qemu, see instructions.py)."""

import io
import os
import sys
from pathlib import Path

from PIL import Image, ImageEnhance

MARK = 0x53544F4B


def mark():
    try:
        os.close(MARK)
    except OSError:
        pass


def read(data):
    return Image.open(io.BytesIO(data)).convert("RGB")


def parts():
    yield lambda picture: picture.load()
    try:
        import torch
        from torchvision import transforms
    except ImportError:
        return
    torch.manual_seed(1)
    torch.set_num_threads(1)
    end = [transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
    yield transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), *end])
    yield transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), *end])
    yield from enhancing()


def enhancing():
    """What ColorJitter asks for and a turn, each of a picture of 256 x 256 pixels in RGB."""
    picture = Image.frombytes("RGB", (256, 256), bytes((i * 2654435761 >> 13) & 255 for i in range(3 * 256 * 256)))
    for kind in (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color):
        yield lambda _, kind=kind: kind(picture).enhance(1.3)
    turn = (0.9, 0.3, -9, -0.3, 0.9, 8)
    yield lambda _: picture.transform((256, 256), Image.Transform.AFFINE, turn, Image.Resampling.BICUBIC, fillcolor=(0, 0, 0))


files = [path.read_bytes() for path in sorted(Path(sys.argv[1]).rglob("*.jpg"))]
work = list(parts())
for _ in range(2):  # in the first round libraries find their feet
    for part in work:
        mark()
        for data in files:
            part(read(data))
    mark()
