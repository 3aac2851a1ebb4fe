"""What counted/main.go does, by Pillow and torchvision: theirs.py FOLDER (under qemu, see instructions.py)."""

import io
import os
import sys
from pathlib import Path

from PIL import Image

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


files = [path.read_bytes() for path in sorted(Path(sys.argv[1]).rglob("*.jpg"))]
work = list(parts())
for _ in range(2):  # in the first round libraries find their feet
    for part in work:
        mark()
        for data in files:
            part(read(data))
    mark()
