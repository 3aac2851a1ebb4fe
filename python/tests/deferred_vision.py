"""Input pipelines of torchvision's v2 on tensors, and digests of what they give. Run as a program it prints those of torch alone."""

import inspect
import json
import os
import pathlib
import random
import sys

import deferred_pipelines as base
import numpy as np
import torch
from PIL import Image
from torchvision import io as tvio
from torchvision import transforms as T
from torchvision import tv_tensors
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
TAIL = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
BICUBIC = v2.InterpolationMode.BICUBIC
#: Before their tensors wrapped themselves, resizes took no names.
WAYS = ["bilinear", "bicubic", 2, 3] if hasattr(tv_tensors.Image, "wrap") else [v2.InterpolationMode.BILINEAR, BICUBIC, 2, 3]


def lists(samples):
    return [list(column) for column in zip(*samples)]


def read(path):
    return Image.open(path).convert("RGB")


class Files(base.Pictures):
    """self.read(path), of the files that are JPEGs and PNGs of colour or grey."""

    def __init__(self, root, read):
        super().__init__(root, read)
        self.files = [(path, label) for path, label in self.files if os.path.basename(path)[:2] != "09"]  # CMYK


def folder(*steps, **settings):
    return lambda root: (ImageFolder(os.path.join(root, "train"), v2.Compose([v2.ToImage(), *steps])), settings)


def files(read, **settings):
    return lambda root: (Files(root, read), settings)


def chosen(*steps, k=3):
    """Some of the steps, in any order."""
    return lambda image: v2.Compose(random.sample(steps, k))(image)


def some_size():
    return [random.randint(2, 130), random.randint(2, 130)]


def some_crop(image):
    height, width = image.shape[-2:]
    top, left = random.randint(0, height - 2), random.randint(0, width - 2)
    return F.crop(image, top, left, random.randint(2, height - top), random.randint(2, width - left))


def some_pad(image):
    sides, kind = [random.randint(0, 9) for _ in range(4)], random.choice(["constant", "edge", "reflect", "symmetric"])
    if kind != "constant":
        return F.pad(image, [min(side, *(n - 1 for n in image.shape[-2:])) for side in sides], padding_mode=kind)
    return F.pad(image, sides, random.choice([None, 7, 255.0, 3.5, [7], [1, 20, 255] if len(image) == 3 else 4]))


WALK = [
    *[lambda image: F.resize(image, some_size(), random.choice([F.InterpolationMode.BILINEAR, BICUBIC]), antialias=True)] * 3,
    lambda image: F.resize(image, random.randint(10, 90), random.choice(WAYS), max_size=random.choice([None, 100]), antialias=True),
    lambda image: F.resized_crop(image, 1, 2, max(2, image.shape[-2] // 2), max(2, image.shape[-1] // 2), some_size(), BICUBIC, antialias=True),
    *[some_crop] * 2,
    lambda image: F.crop(image, -3, random.randint(-5, 5), image.shape[-2] + random.randint(0, 5), image.shape[-1]),
    lambda image: F.center_crop(image, some_size()),
    some_pad,
    F.horizontal_flip, F.vertical_flip,
    lambda image: F.adjust_brightness(image, random.uniform(0, 2)),
    lambda image: F.adjust_saturation(image, random.choice([0, 1, random.uniform(0, 2)])),
    lambda image: F.adjust_contrast(image, random.choice([0, 1, random.uniform(0, 2)])),
    lambda image: F.adjust_hue(image, random.choice([0.5, -0.5, 0, random.uniform(-0.5, 0.5)])),
    lambda image: F.rgb_to_grayscale(image, random.choice([1, 3])),
    lambda image: F.permute_channels(image, random.sample(range(len(image)), len(image))),
    lambda image: F.posterize(image, random.randint(1, 8)),
    lambda image: F.solarize(image, random.uniform(0, 255)),
    F.invert,
    lambda image: F.gaussian_blur(image, 3, random.choice([0.3, 1.7, [0.5, 2.0], None])),
    lambda image: F.pil_to_tensor(F.horizontal_flip(F.to_pil_image(image))),
    lambda image: image.contiguous(),
    lambda image: image.clone(),
    lambda image: F.resize(image, some_size(), F.InterpolationMode.NEAREST),
    lambda image: F.adjust_sharpness(image, random.uniform(0, 2)),
    lambda image: F.autocontrast(image),
    lambda image: F.resize(image, some_size(), antialias=False),
]  # fmt: skip


def walked(path, steps=7, last=None, walk=WALK):
    """A walk through what can be asked of a tensor of bytes, of its own for each picture."""
    image = Image.open(path)
    image = image if random.random() < 0.2 and image.mode == "L" else image.convert("RGB")
    image = F.to_image(image) if random.random() < 0.5 else F.pil_to_tensor(image)
    for _ in range(random.randint(1, steps)):
        image = random.choice(walk)(image)
    return image if last is None else last(image)


def ended(image):
    image = F.to_dtype(image, torch.float32, scale=random.random() < 0.8)
    image = F.adjust_brightness(image, random.uniform(0, 2)) if random.random() < 0.3 else image
    return F.normalize(image, MEAN[: len(image)], STD[: len(image)]) if random.random() < 0.7 else some_crop(image)


class Detection(Files):
    """As wrap_dataset_for_transforms_v2 has CocoDetection: a picture with boxes and masks beside it."""

    def __init__(self, root, transform):
        super().__init__(root, None)
        self.transform = transform

    def __getitem__(self, index):
        path, label = self.files[index]
        image = read(path)
        width, height = image.size
        boxes = torch.tensor([[3.0, 5.0, width / 2, height / 2], [10.0, 12.0, 40.0, 44.0]])
        target = {
            "image_id": index,
            "boxes": tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=(height, width)),
            "masks": tv_tensors.Mask(torch.arange(2 * height * width).reshape(2, height, width) % 7 == 0),
            "labels": torch.tensor([label, 1]),
        }
        return self.transform(image, target)


def detection(*steps):
    steps = [v2.ToImage(), *steps, v2.ToDtype(torch.float32, scale=True), v2.SanitizeBoundingBoxes()]
    return lambda root: (Detection(root, v2.Compose(steps)), {"collate_fn": lists})


class Instances(Files):
    """As torchvision's tutorial on PennFudan: read_image of a picture and of its mask."""

    def __getitem__(self, index):
        path, label = self.files[index]
        image, mask = tvio.read_image(path), tvio.read_image(os.path.join(self.masks, os.path.basename(path)[:2] + ".png"))
        ids = torch.unique(mask)[1:]
        masks = (mask == ids[:, None, None]).to(torch.uint8)
        target = {"masks": tv_tensors.Mask(masks), "labels": torch.ones((len(ids),), dtype=torch.int64)}
        return v2.Compose([v2.RandomHorizontalFlip(0.5), v2.ToDtype(torch.float, scale=True), v2.ToPureTensor()])(tv_tensors.Image(image), target)


#: Up to torchvision 0.19: no path and no mode by its name.
ONLY_TENSORS = inspect.signature(tvio.decode_image).parameters["input"].annotation is torch.Tensor


def decoded(path):
    """As torchvision.io is called."""
    kind = random.randrange(5)
    with open(path, "rb") as file:
        data = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)
    if kind == 0:
        return tvio.read_image(path)
    if kind == 1 or kind in (2, 3) and ONLY_TENSORS:
        return tvio.decode_image(data, tvio.ImageReadMode.RGB)
    if kind == 2:
        return tvio.decode_image(data, "RGB", apply_exif_orientation=True)
    if kind == 3 and random.random() < 0.5:
        return tvio.decode_image(pathlib.Path(path))
    if kind == 3:
        return tvio.decode_image(path, mode=tvio.ImageReadMode.GRAY)
    return (tvio.decode_png if path.endswith("png") else tvio.decode_jpeg)(data)


DINO = v2.Compose([v2.RandomResizedCrop(56, (0.3, 1), interpolation=BICUBIC), v2.RandomHorizontalFlip()])
DINO_LOCAL = v2.Compose([v2.RandomResizedCrop(24, (0.05, 0.3), interpolation=BICUBIC), v2.RandomHorizontalFlip()])
DINO_COLOUR = v2.Compose([v2.RandomApply([v2.ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8), v2.RandomGrayscale(0.2), v2.RandomSolarize(128, p=0.2)])


def crops(path):
    """As DINOv3 without its blur: two large crops of one picture and four small ones."""
    image = F.to_image(read(path))
    return [v2.Compose([DINO_COLOUR, *TAIL])(crop) for crop in (DINO(image), DINO(image), *(DINO_LOCAL(image) for _ in range(4)))]


def frames(path):
    """As LeRobot has its frames: float first, then parts of it, changed at random."""
    return v2.Compose([v2.CenterCrop(48), v2.RandomHorizontalFlip()])(T.ToTensor()(read(path)))


def robot(path):
    """As LeRobot's image transforms on bytes: some of several, in any order."""
    image = v2.Resize([60, 80], antialias=True)(F.to_image(read(path)))
    steps = v2.ColorJitter(brightness=(0.8, 1.2)), v2.ColorJitter(contrast=(0.8, 1.2)), v2.ColorJitter(saturation=(0.5, 1.5)), v2.ColorJitter(hue=0.05)
    return v2.ToDtype(torch.float32, scale=True)(chosen(*steps)(image))


PIPELINES = {
    "training": folder(v2.RandomResizedCrop(64, antialias=True), v2.RandomHorizontalFlip(), *TAIL),
    "evaluation": folder(v2.Resize(72), v2.CenterCrop(64), *TAIL),
    "bicubic": folder(v2.Resize(80, BICUBIC, antialias=True), v2.RandomCrop(64), v2.RandomVerticalFlip(), *TAIL),
    "jitter": folder(v2.RandomResizedCrop(64), v2.ColorJitter(0.4, 0.4, 0.4, 0.1), v2.RandomGrayscale(0.3), *TAIL),
    "tables": folder(v2.Resize((50, 60)), v2.RandomSolarize(99, 0.5), v2.RandomInvert(0.5), v2.RandomPosterize(4, 0.5), v2.CenterCrop(40), *TAIL),
    "erased": folder(v2.RandomResizedCrop(64), *TAIL, v2.RandomErasing(0.7)),
    "bytes": folder(v2.RandomResizedCrop(64), v2.RandomHorizontalFlip()),
    "single": folder(v2.RandomResizedCrop(64), v2.RandomGrayscale(0.5), collate_fn=lists),
    "padded": folder(v2.RandomCrop(100, padding=[3, 4], pad_if_needed=True, fill=9), v2.Pad(3, (1, 2.7, 254.9)), v2.RandomCrop(90, 5, padding_mode="reflect"), *TAIL),
    "detection": detection(v2.RandomPhotometricDistort(p=0.8), v2.RandomZoomOut(fill={tv_tensors.Image: (123, 117, 104), "others": 0}), v2.RandomIoUCrop(), v2.RandomHorizontalFlip()),
    "by class": files(lambda path: v2.Compose([v2.ToDtype({tv_tensors.Image: torch.float32, torch.Tensor: torch.float16, "others": None}, scale=True)])([F.to_image(read(path)), F.pil_to_tensor(read(path))]), collate_fn=lists),
    "multiscale": detection(v2.ScaleJitter((64, 64), antialias=True), v2.RandomShortestSize([40, 60, 80], max_size=120, antialias=True), v2.RandomHorizontalFlip()),
    "instances": lambda root: (Instances(root, None), {"collate_fn": lists}),
    "decoded": files(decoded, collate_fn=lists),
    "read": files(lambda path: v2.Compose([v2.RGB(), v2.RandomResizedCrop(64), *TAIL])(tvio.read_image(path)) if path[-6:-4] != "05" else torch.zeros(3, 64, 64)),
    "DINOv3": files(crops),
    "LeRobot": files(frames),
    "LeRobot bytes": files(robot),
    "VAR": files(lambda path: (lambda x: x.add(x).add_(-1))(T.ToTensor()(read(path).resize((48, 40))))),
    "walks": files(walked, collate_fn=lists),
    "ends": files(lambda path: walked(path, 4, ended), collate_fn=lists),
    "v2 of NumPy": files(lambda path: v2.Compose([v2.ToImage(), v2.Resize((40, 40)), *TAIL])(np.asarray(read(path)))),
}
base.PIPELINES.update({f"vision {name}": build for name, build in PIPELINES.items()})


if __name__ == "__main__":
    root, *names = sys.argv[1:]
    if not names:
        base.make_images(root)
    json.dump({f"vision {name}/{workers}": base.digests(f"vision {name}", root, workers) for name in names or PIPELINES for workers in (0, 2)}, sys.stdout)
