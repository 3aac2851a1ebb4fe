#!/usr/bin/env python3
"""Published input pipelines that were chosen before any of them was fed: the 58 of an earlier look, and 35 that nobody here had seen.

    python bench/loader/unseen.py --out results.jsonl                 what is not in results.jsonl yet is run, and put there; prints the page
    python bench/loader/unseen.py --out results.jsonl --rounds 3      until each has so many rounds, alone and fed in turn
    python bench/loader/unseen.py --out results.jsonl --minutes 5     and no longer than that: run it again to go on

What each does to pictures is written anew here, as its repository does it; none of their code lies here. Files are drawn
(tensors.py). Each run is a process of its own: pipelines.py says what it compares and counts.
"""

import argparse
import functools
import io
import json
import math
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import pipelines as bench
import tensors
from pipelines import ROOT, folder, listed, lists, loaded, masks

SEEN, FRESH, PLAIN = "58", "35", "no pictures"  # which list a pipeline is of
PIPELINES = {}
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
HALF = [0.5, 0.5, 0.5]


def pipeline(title, kind=SEEN):
    def keep(build):
        PIPELINES[title] = kind
        bench.PIPELINES[title] = build
        return build

    return keep


def pictures(title, kind=SEEN):
    """Of a function that makes what is done to a picture."""

    def keep(make):
        @pipeline(title, kind)
        def build(place):
            from torchvision.datasets import ImageFolder

            return loaded(ImageFolder(place.folder, make(place)))

        return make

    return keep


def opened(path, mode="RGB"):
    from PIL import Image

    return Image.open(path).convert(mode)


def T():
    from torchvision import transforms

    return transforms


def V():
    from torchvision.transforms import v2

    return v2


def modes():
    return T().InterpolationMode


def train(size=224, **more):
    t = T()
    return t.Compose([t.RandomResizedCrop(size, **more), t.RandomHorizontalFlip(), t.ToTensor(), t.Normalize(MEAN, STD)])


# Pillow and torchvision's first functions


@pictures("DiT: centred crop of an array")
def dit(place):
    from PIL import Image

    t = T()

    def crop(image, size=256):
        while min(image.size) >= 2 * size:
            image = image.resize(tuple(side // 2 for side in image.size), resample=Image.BOX)
        scale = size / min(image.size)
        values = np().array(image.resize(tuple(round(side * scale) for side in image.size), resample=Image.BICUBIC))
        top, left = (values.shape[0] - size) // 2, (values.shape[1] - size) // 2
        return Image.fromarray(values[top : top + size, left : left + size])

    return t.Compose([t.Lambda(crop), t.RandomHorizontalFlip(), t.ToTensor(), t.Normalize(mean=HALF, std=HALF, inplace=True)])


def np():
    import numpy

    return numpy


@pictures("VAR")
def var(place):
    t = T()
    return t.Compose([t.Resize(288, interpolation=modes().LANCZOS), t.RandomCrop((256, 256)), t.ToTensor(), lambda x: x.add(x).add_(-1)])


@pictures("I-JEPA")
def ijepa(place):
    return train(scale=(0.3, 1.0))


@pipeline("monodepth2")
def monodepth(place):
    from PIL import Image

    t = T()
    sizes = [t.Resize((192 // 2**i, 320 // 2**i), interpolation=Image.LANCZOS) for i in range(4)]
    jitter, tensor = t.ColorJitter((0.8, 1.2), (0.8, 1.2), (0.8, 1.2), (-0.1, 0.1)), t.ToTensor()

    def read(path, label):
        flip, colour, inputs, at = random.random() > 0.5, random.random() > 0.5, {}, place.files.index(path)
        for frame in (0, -1, 1):
            image = opened(place.files[(at + frame) % len(place.files)])
            image = image.transpose(Image.FLIP_LEFT_RIGHT) if flip else image
            for scale, size in enumerate(sizes):
                image = size(image)
                inputs[f"{frame} {scale}"] = tensor(image)
                inputs[f"{frame} {scale} coloured"] = tensor(jitter(image) if colour else image)
        return inputs

    return listed(place, read, batch_size=8)


@pictures("Dassl, CoOp")
def dassl(place):
    return train(interpolation=modes().BICUBIC, scale=(0.08, 1.0))


@pictures("CLIP, evaluation")
def clip(place):
    t = T()
    return t.Compose([t.Resize(224, interpolation=modes().BICUBIC), t.CenterCrop(224), lambda image: image.convert("RGB"), t.ToTensor(), t.Normalize(MEAN, STD)])


@pictures("PyTorch-GAN, SRGAN")
def srgan(place):
    from PIL import Image

    t = T()
    low, high = (t.Compose([t.Resize((side, side), Image.BICUBIC), t.ToTensor(), t.Normalize(MEAN, STD)]) for side in (64, 256))
    return lambda image: {"lr": low(image), "hr": high(image)}


@pipeline("PyTorch-GAN, pix2pix")
def pix2pix(place):
    from PIL import Image

    t = T()
    steps = t.Compose([t.Resize((256, 256), Image.BICUBIC), t.ToTensor(), t.Normalize(HALF, HALF)])

    def read(path, label):
        image = Image.open(path)
        width, height = image.size
        halves = [image.crop((0, 0, width / 2, height)), image.crop((width / 2, 0, width, height))]
        if np().random.random() < 0.5:
            halves = [Image.fromarray(np().array(half)[:, ::-1, :], "RGB") for half in halves]
        return dict(zip("AB", map(steps, halves)))

    return listed(place, read)


@pipeline("PyTorch-GAN, CycleGAN")
def cyclegan(place):
    from PIL import Image

    t = T()
    steps = t.Compose([t.Resize(286, Image.BICUBIC), t.RandomCrop((256, 256)), t.RandomHorizontalFlip(), t.ToTensor(), t.Normalize(HALF, HALF)])
    return listed(place, lambda path, label: {"A": steps(Image.open(path)), "B": steps(Image.open(random.choice(place.files)))})


def stored(place):
    return [Path(file).read_bytes() for file in place.files]


def hugging(place):
    import datasets

    return datasets.Dataset.from_dict({"image": [{"bytes": data, "path": None} for data in stored(place)], "label": place.labels}).cast_column("image", datasets.Image())


@pipeline("Hugging Face datasets, with_transform")
def with_transform(place):
    steps = train()
    data = hugging(place).with_transform(lambda rows: {"image": [steps(image.convert("RGB")) for image in rows["image"]], "label": rows["label"]})
    return loaded(data)


@pipeline("Hugging Face datasets, streaming")
def streaming(place):
    steps = train()
    data = hugging(place).to_iterable_dataset(num_shards=2).map(lambda row: {"image": steps(row["image"].convert("RGB")), "label": row["label"]})
    return loaded(data)


@pipeline("Hugging Face datasets, albumentations")
def hugging_albumentations(place):
    import albumentations as A

    steps = A.Compose([A.RandomResizedCrop((224, 224)), A.HorizontalFlip(p=0.5), A.RandomBrightnessContrast(p=0.2), A.Normalize(), A.ToTensorV2()], seed=3)
    data = hugging(place).with_transform(
        lambda rows: {"image": [steps(image=np().array(image.convert("RGB")))["image"] for image in rows["image"]], "label": rows["label"]}
    )
    return loaded(data)


@pipeline("LMDB, buffers")
def buffers(place):
    import lmdb
    from PIL import Image

    target, steps = os.path.join(place.scratch, "lmdb"), train()
    with lmdb.open(target, map_size=1 << 28) as store, store.begin(write=True) as log:
        for number, data in enumerate(stored(place)):
            log.put(place.files[number].encode(), data)
    opened_by = {}

    def read(path, label):
        if os.getpid() not in opened_by:
            while opened_by:  # what came with a fork
                opened_by.popitem()[1].close()
            opened_by[os.getpid()] = lmdb.open(target, readonly=True, lock=False)
        with opened_by[os.getpid()].begin(buffers=True) as log:
            return steps(Image.open(io.BytesIO(log.get(path.encode()))).convert("RGB")), label

    return listed(place, read)


@pipeline("HDF5 of JPEGs")
def h5_jpegs(place):
    import h5py
    from PIL import Image

    target, steps = os.path.join(place.scratch, "jpegs.h5"), train()
    with h5py.File(target, "w") as file:
        column = file.create_dataset("jpeg", (len(place.files),), dtype=h5py.vlen_dtype("uint8"))
        for number, data in enumerate(stored(place)):
            column[number] = np().frombuffer(data, "uint8")

    def read(path, label):
        with h5py.File(target) as file:
            return steps(Image.open(io.BytesIO(file["jpeg"][place.files.index(path)].tobytes())).convert("RGB")), label

    return listed(place, read)


def shards(place):
    import tarfile

    for part in range(2):
        with tarfile.open(os.path.join(place.scratch, f"{part}.tar"), "w") as tar:
            for number, data in list(enumerate(stored(place)))[part::2]:
                for name, content in ((f"{number:04}.jpg", data), (f"{number:04}.cls", str(place.labels[number]).encode())):
                    entry = tarfile.TarInfo(name)
                    entry.size = len(content)
                    tar.addfile(entry, io.BytesIO(content))
    return os.path.join(place.scratch, "{0..1}.tar")


def web(place, decoding, steps, batch=16):
    import webdataset as wds

    data = wds.WebDataset(shards(place), shardshuffle=False, empty_check=False).decode(decoding).to_tuple("jpg", "cls").map_tuple(steps, lambda label: label)
    return loaded(data, batch_size=batch)


@pipeline("WebDataset, pilrgb")
def web_pillow(place):
    return web(place, "pilrgb", train())


@pipeline("WebDataset, torchrgb")
def web_torch(place):
    v2 = V()
    return web(place, "torchrgb", v2.Compose([v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(), v2.Normalize(MEAN, STD)]))


@pipeline("WebDataset, rgb8")
def web_arrays(place):
    import torch

    return web(place, "rgb8", lambda image: torch.from_numpy(image[60:284, 120:344].transpose(2, 0, 1).copy()))


@pipeline("timm, tar and RandAugment")
def timm_tar(place):
    from timm.data import create_transform

    return web(place, "pilrgb", create_transform(224, is_training=True, auto_augment=bench.RAND_AUGMENT))


@pictures("timm, three-augment with torchvision's blur")
def timm_blurred(place):
    from timm.data.transforms_factory import transforms_imagenet_train

    return transforms_imagenet_train(224, auto_augment="3a", gaussian_blur_prob=0.1, normalize=True)


@pipeline("LDM-like aspect buckets")
def buckets(place):
    t = T()
    tail = t.Compose([t.RandomHorizontalFlip(), t.ToTensor(), t.Normalize([0.5], [0.5])])

    def read(path, label):
        image = opened(path)
        wide, high = (320, 224) if image.width >= image.height else (224, 320)
        scale = max(wide / image.width, high / image.height)
        image = t.functional.resize(image, [math.ceil(image.height * scale), math.ceil(image.width * scale)])
        return tail(t.RandomCrop((high, wide))(image)), label

    return listed(place, read)


@pictures("RandomAffine, perspective, rotation, sharpness")
def warps(place):
    t = T()
    return t.Compose(
        [
            t.Resize(256), t.RandomAffine(10, (0.1, 0.1), (0.9, 1.1)), t.RandomPerspective(0.2), t.RandomRotation(10),
            t.RandomAdjustSharpness(2), t.CenterCrop(224), t.ToTensor(), t.Normalize(MEAN, STD),
        ]
    )  # fmt: skip


@pipeline("thumbnail and pad")
def thumbnails(place):
    from PIL import ImageOps

    steps = T().Compose([T().ToTensor(), T().Normalize(MEAN, STD)])

    def read(path, label):
        image = opened(path)
        image.thumbnail((300, 300))
        return steps(ImageOps.pad(image, (256, 256), color=(124, 116, 104))), label

    return listed(place, read)


@pipeline("mosaic of four, pasted")
def mosaic(place):
    from PIL import Image

    steps = T().Compose([T().RandomHorizontalFlip(), T().ToTensor()])

    def read(path, label):
        canvas, at = Image.new("RGB", (320, 320), (114, 114, 114)), place.files.index(path)
        x, y = random.randint(100, 220), random.randint(100, 220)
        for number, (left, top, right, bottom) in enumerate(((0, 0, x, y), (x, 0, 320, y), (0, y, x, 320), (x, y, 320, 320))):
            part = opened(place.files[(at + 7 * number) % len(place.files)])
            canvas.paste(part.resize((right - left, bottom - top), Image.BILINEAR), (left, top))
        return steps(canvas), label

    return listed(place, read)


@pictures("SupCon, two views, v2 with GaussianBlur")
def supcon(place):
    import torch

    v2 = V()
    steps = v2.Compose(
        [
            v2.RandomResizedCrop(224, scale=(0.2, 1.0)), v2.RandomHorizontalFlip(), v2.RandomApply([v2.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
            v2.RandomGrayscale(0.2), v2.RandomApply([v2.GaussianBlur(23)], p=0.5), v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD),
        ]
    )  # fmt: skip
    return lambda image: [steps(image), steps(image)]


@pictures("DINOv3")
def dinov3(place):
    import torch

    v2, cubic = V(), modes().BICUBIC
    large = v2.Compose([v2.RandomResizedCrop(224, (0.32, 1.0), interpolation=cubic), v2.RandomHorizontalFlip()])
    small = v2.Compose([v2.RandomResizedCrop(96, (0.05, 0.32), interpolation=cubic), v2.RandomHorizontalFlip()])
    jitter = v2.Compose([v2.RandomApply([v2.ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8), v2.RandomGrayscale(0.2)])
    tail = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)])

    def blur(p):
        return v2.RandomApply([v2.GaussianBlur(9, (0.1, 2.0))], p=p)

    first, second, local = (v2.Compose([jitter, *steps, tail]) for steps in ([blur(1.0)], [blur(0.1), v2.RandomSolarize(128, 0.2)], [blur(0.5)]))
    return lambda image: {
        "global": [first(large(image)), second(large(image))],
        "local": [local(small(image)) for _ in range(8)],
    }  # fmt: skip


# Arrays


@pipeline("EDM, StyleGAN3")
def edm(place):
    from PIL import Image

    target = Path(place.scratch)
    for number, path in enumerate(place.files):
        opened(path).crop((60, 60, 188, 188)).save(target / f"{number}.png")

    def read(path, label):
        with open(target / f"{place.files.index(path)}.png", "rb") as file:
            image = np().array(Image.open(file)).transpose(2, 0, 1)
        assert isinstance(image, np().ndarray) and image.dtype == np().uint8
        return (image[:, :, ::-1] if label else image).copy(), np().zeros(0, np().float32)

    return listed(place, read)


@pipeline("taming-transformers, VQGAN")
def taming(place):
    import albumentations as A
    from PIL import Image

    steps = A.Compose([A.SmallestMaxSize(max_size=256), A.RandomCrop(height=256, width=256)], seed=3)

    def read(path, label):
        image = Image.open(path)
        image = image if image.mode == "RGB" else image.convert("RGB")
        image = steps(image=np().array(image).astype(np().uint8))["image"]
        return {"image": (image / 127.5 - 1.0).astype(np().float32), "path": path}

    return listed(place, read)


@pipeline("U-2-Net")
def u2net(place):
    import torch
    from skimage import io as skio
    from skimage import transform

    named = dict(zip(place.files, gray(place)))

    def read(path, label):
        image, mask = skio.imread(path), skio.imread(named[path])[:, :, None]
        image = transform.resize(image, (320, 320), mode="constant")
        mask = transform.resize(mask, (320, 320), mode="constant", order=0, preserve_range=True)
        top, left = np().random.randint(0, 32), np().random.randint(0, 32)
        image, mask = image[top : top + 288, left : left + 288], mask[top : top + 288, left : left + 288]
        image, values = image / np().max(image), np().zeros((288, 288, 3))
        for band in range(3):
            values[:, :, band] = (image[:, :, band] - MEAN[band]) / STD[band]
        return torch.from_numpy(values.transpose(2, 0, 1)), torch.from_numpy((mask / max(np().max(mask), 1)).transpose(2, 0, 1))

    return listed(place, read, batch_size=8)


def gray(place):
    """A grey mask beside each picture."""
    from PIL import Image

    found = []
    for number, path in enumerate(place.files):
        target = os.path.join(place.scratch, f"grey-{number:04d}.png")
        values = np().random.default_rng(number).integers(0, 2, (6, 8), dtype="uint8") * 255
        with Image.open(path) as image:
            Image.fromarray(values).resize(image.size, Image.Resampling.NEAREST).save(target)
        found.append(target)
    return found


@pipeline("MONAI, 2D")
def monai(place):
    import monai.transforms as M

    steps = M.Compose([M.LoadImage(image_only=True), M.EnsureChannelFirst(), M.ScaleIntensity(), M.Resize((224, 224)), M.RandFlip(prob=0.5, spatial_axis=0), M.RandRotate90(prob=0.5)]).set_random_state(3)
    return listed(place, lambda path, label: (steps(path), label))


@pipeline("imageio, then torchvision")
def with_imageio(place):
    import imageio.v3 as iio

    t = T()
    steps = t.Compose([t.ToPILImage(), t.Resize(256), t.RandomCrop(224), t.RandomHorizontalFlip(), t.ToTensor()])
    return listed(place, lambda path, label: (steps(iio.imread(path)), label))


@pipeline("RAFT")
def raft(place):
    import cv2
    import torch
    from PIL import Image

    jitter = T().ColorJitter(0.4, 0.4, 0.4, 0.5 / 3.14)

    def read(path, label):
        one, two = (np().array(Image.open(each)).astype(np().uint8)[..., :3] for each in (path, place.files[place.files.index(path) - 1]))
        if np().random.rand() < 0.2:
            one, two = (np().array(jitter(Image.fromarray(each)), dtype=np().uint8) for each in (one, two))
        else:
            one, two = np().split(np().array(jitter(Image.fromarray(np().concatenate([one, two], axis=0))), dtype=np().uint8), 2, axis=0)
        if np().random.rand() < 0.5:
            mean, x, y = np().mean(two.reshape(-1, 3), axis=0), np().random.randint(0, 400), np().random.randint(0, 300)
            two[y : y + 70, x : x + 70, :] = mean
        scale = 2 ** np().random.uniform(0, 0.3)
        one, two = (cv2.resize(each, None, fx=scale, fy=scale, interpolation=cv2.INTER_LINEAR) for each in (one, two))
        if np().random.rand() < 0.5:
            one, two = one[:, ::-1], two[:, ::-1]
        return tuple(torch.from_numpy(np().ascontiguousarray(each[20:308, 30:430])).permute(2, 0, 1).float() for each in (one, two))

    return listed(place, read, batch_size=8)


def png16s(place):
    from PIL import Image

    found = []
    for number, path in enumerate(place.files):
        target = os.path.join(place.scratch, f"deep-{number:04d}.png")
        Image.fromarray(np().asarray(opened(path, "L")).astype(np().uint16) * 257).save(target)
        found.append(target)
    return dict(zip(place.files, found))


@pipeline("PNGs of 16 bits")
def png16(place):
    import torch
    from PIL import Image

    named = png16s(place)
    return listed(place, lambda path, label: torch.from_numpy(np().array(Image.open(named[path])).astype(np().float32) / 65535)[None])


@pipeline("PNGs of 16 bits, Pillow's chain")
def png16_chain(place):
    from PIL import Image

    named, t = png16s(place), T()
    steps = t.Compose([t.Resize(256), t.CenterCrop(224), t.ToTensor()])
    return listed(place, lambda path, label: steps(Image.open(named[path]).convert("I")).float() / 65535)


@pipeline("torchxrayvision")
def xrv(place):
    import torch
    from PIL import Image
    from skimage import transform

    named = png16s(place)

    def read(path, label):
        image = np().array(Image.open(named[path]))
        image = ((2 * (image.astype(np().float32) / 65535) - 1.0) * 1024)[None]
        side = min(image.shape[1:])
        image = image[:, :side, (image.shape[2] - side) // 2 : (image.shape[2] - side) // 2 + side]
        return torch.from_numpy(transform.resize(image, (1, 224, 224), mode="constant", preserve_range=True).astype(np().float32))

    return listed(place, read)


# Tensors


def tail():
    import torch

    return [V().ToDtype(torch.float32, scale=True), V().Normalize(MEAN, STD)]


@pictures("torchvision's recommended v2")
def recommended(place):
    v2 = V()
    return v2.Compose([v2.ToImage(), v2.RandomResizedCrop(size=(224, 224), antialias=True), v2.RandomHorizontalFlip(p=0.5), *tail()])


@pictures("LeRobot-like: ToTensor, CenterCrop, jitter")
def lerobot(place):
    v2 = V()
    return v2.Compose([T().ToTensor(), v2.CenterCrop(224), v2.RandomApply([v2.ColorJitter(brightness=(0.8, 1.2))], 0.3), v2.Normalize(MEAN, STD)])


@pipeline("LeRobot 0.4, PNGs in Parquet")
def lerobot_package(place):
    from PIL import Image

    tensor, coded = T().ToTensor(), []
    for path in place.files:
        out = io.BytesIO()
        opened(path).crop((0, 0, 320, 240)).save(out, "PNG")
        coded.append(out.getvalue())
    return listed(place, lambda path, label: (tensor(Image.open(io.BytesIO(coded[place.files.index(path)]))), label))


@pipeline("decode_image, v2")
def decoded(place):
    from torchvision import io as vio

    v2 = V()
    steps = v2.Compose([v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(), *tail()])
    return listed(place, lambda path, label: (steps(vio.decode_image(path, mode="RGB")), label))


def boxes(image, label):
    import torch
    from torchvision import tv_tensors

    given = tv_tensors.BoundingBoxes([[30.0, 40.0, 200.0, 220.0], [100.0, 20.0, 420.0, 330.0]], format="XYXY", canvas_size=image.size[::-1])
    return {"boxes": given, "labels": torch.tensor([label, 1])}


def detection(title, kind, steps):
    @pipeline(title, kind)
    def build(place):
        made = steps(V())

        def read(path, label):
            image = opened(path)
            return made(image, boxes(image, label))

        return listed(place, read, collate_fn=lists, batch_size=8)


def _floats(v2):
    import torch

    return v2.ToDtype(torch.float32, scale=True)


detection("RT-DETRv2, evaluation", SEEN, lambda v2: v2.Compose([v2.Resize([640, 640]), v2.ToImage(), _floats(v2)]))
detection(
    "D-FINE, training", SEEN,
    lambda v2: v2.Compose([v2.RandomPhotometricDistort(p=0.5), v2.RandomZoomOut(fill=0), v2.RandomApply([v2.RandomIoUCrop()], p=0.8), v2.SanitizeBoundingBoxes(min_size=1),
                           v2.RandomHorizontalFlip(), v2.Resize([640, 640]), v2.SanitizeBoundingBoxes(min_size=1), v2.ToImage(), _floats(v2)]),
)  # fmt: skip
detection(
    "CocoDetection, wrapped for v2", SEEN,
    lambda v2: v2.Compose([v2.ToImage(), v2.RandomPhotometricDistort(p=1), v2.RandomZoomOut(fill={__import__("torchvision").tv_tensors.Image: (123, 117, 104), "others": 0}),
                           v2.RandomIoUCrop(), v2.RandomHorizontalFlip(), v2.SanitizeBoundingBoxes(), _floats(v2)]),
)  # fmt: skip


@pipeline("PennFudan tutorial: pictures and masks")
def pennfudan(place):
    import torch
    from torchvision import tv_tensors
    from torchvision.io import read_image
    from torchvision.ops import masks_to_boxes

    v2, named = V(), dict(zip(place.files, gray(place)))
    steps = v2.Compose([v2.RandomHorizontalFlip(0.5), v2.ToDtype(torch.float, scale=True), v2.ToPureTensor()])

    def read(path, label):
        image, mask = read_image(path), read_image(named[path])
        found = (mask == torch.unique(mask)[1:][:, None, None]).to(torch.uint8)
        target = {"masks": tv_tensors.Mask(found), "boxes": tv_tensors.BoundingBoxes(masks_to_boxes(found), format="XYXY", canvas_size=image.shape[-2:])}
        return steps(tv_tensors.Image(image), target)

    return listed(place, read, collate_fn=lists)


@pipeline("nanoVLM")
def nanovlm(place):
    t = T()
    tensor = t.ToTensor()

    def read(path, label):
        image = opened(path)
        side = 2 if image.width < 600 else 3
        image = t.functional.resize(image, [256 * side, 256 * side], interpolation=modes().BICUBIC)
        whole = tensor(image)[None]
        parts = whole.reshape(1, 3, side, 256, side, 256).permute(0, 2, 4, 1, 3, 5).reshape(side * side, 3, 256, 256)
        small = t.functional.resize(whole, [256, 256])
        return torch().cat([small, parts])

    return listed(place, read, batch_size=4)


def torch():
    import torch

    return torch


@pipeline("Kornia in collate_fn")
def kornia(place):
    import kornia.augmentation as K

    t = T()
    steps, more = t.Compose([t.Resize(256), t.CenterCrop(224), t.ToTensor()]), K.AugmentationSequential(K.RandomHorizontalFlip(), K.ColorJitter(0.1, 0.1, 0.1, 0.1))

    def collate(samples):
        images, labels = torch().utils.data.default_collate(samples)
        return more(images), labels

    return folder(place, steps, collate_fn=collate)


# OpenCV


@pipeline("BiRefNet")
def birefnet(place):
    import cv2
    from PIL import Image, ImageEnhance

    t, named = T(), dict(zip(place.files, gray(place)))
    steps, label_steps = t.Compose([t.ToTensor(), t.Normalize(MEAN, STD)]), t.ToTensor()

    def read(path, label):
        image = cv2.resize(cv2.imread(path), (384, 384), interpolation=cv2.INTER_LINEAR)
        image = Image.fromarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB)).convert("RGB")
        mask = Image.fromarray(cv2.resize(cv2.imread(named[path], cv2.IMREAD_GRAYSCALE), (384, 384), interpolation=cv2.INTER_LINEAR)).convert("L")
        if random.random() > 0.5:
            image, mask = image.transpose(Image.FLIP_LEFT_RIGHT), mask.transpose(Image.FLIP_LEFT_RIGHT)
        for kind, most in (("Brightness", 15), ("Contrast", 15), ("Color", 20), ("Sharpness", 30)):
            image = getattr(ImageEnhance, kind)(image).enhance(random.randint(5, most) / 10.0)
        if random.random() > 0.8:
            angle = np().random.randint(-15, 15)
            image, mask = image.rotate(angle, Image.BICUBIC), mask.rotate(angle, Image.BICUBIC)
        values = np().array(image)
        for _ in range(int(0.0015 * values.shape[0] * values.shape[1])):
            values[random.randint(0, 383), random.randint(0, 383)] = random.randint(0, 1) * 255
        return steps(Image.fromarray(values)), label_steps(mask), label

    return listed(place, read, batch_size=8)


@pipeline("Depth-Anything-V2")
def depth_anything(place):
    import cv2

    def read(path, label):
        image = cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB) / 255.0
        image = cv2.resize(image, (518, 392), interpolation=cv2.INTER_CUBIC)
        image = np().ascontiguousarray(np().transpose((image - MEAN) / STD, (2, 0, 1))).astype(np().float32)
        top, left = np().random.randint(0, 392 - 350 + 1), np().random.randint(0, 518 - 350 + 1)
        return torch().from_numpy(image[:, top : top + 350, left : left + 350]), label

    return listed(place, read, batch_size=8)


@pipeline("OpenCV and albumentations")
def opencv(place):
    import albumentations as A
    import cv2

    steps = A.Compose([A.RandomResizedCrop((224, 224)), A.HorizontalFlip(p=0.5), A.Normalize(), A.ToTensorV2()], seed=3)
    return listed(place, lambda path, label: (steps(image=cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB))["image"], label))


# The 35


@pictures("moco-v3", FRESH)
def moco(place):
    from PIL import Image, ImageFilter, ImageOps

    t = T()

    def blur(image):
        return image.filter(ImageFilter.GaussianBlur(radius=random.uniform(0.1, 2.0)))

    def view(blurred, solarized):
        return t.Compose(
            [
                t.RandomResizedCrop(224, scale=(0.08, 1.0)), t.RandomApply([t.ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8), t.RandomGrayscale(p=0.2),
                t.RandomApply([blur], p=blurred), t.RandomApply([ImageOps.solarize], p=solarized), t.RandomHorizontalFlip(), t.ToTensor(), t.Normalize(MEAN, STD),
            ]
        )  # fmt: skip

    one, two = view(1.0, 0.0), view(0.1, 0.2)
    return lambda image: [one(image), two(image)]


@pictures("SimMIM", FRESH)
def simmim(place):
    t = T()
    steps = t.Compose(
        [t.Lambda(lambda image: image.convert("RGB") if image.mode != "RGB" else image), t.RandomResizedCrop(192, scale=(0.67, 1.0), ratio=(3 / 4, 4 / 3)),
         t.RandomHorizontalFlip(), t.ToTensor(), t.Normalize(torch().tensor(MEAN), torch().tensor(STD))]
    )  # fmt: skip

    def mask():
        chosen = np().random.permutation(36)[:22]
        values = np().zeros(36, dtype=int)
        values[chosen] = 1
        return values.reshape(6, 6).repeat(8, axis=0).repeat(8, axis=1)

    return lambda image: (steps(image), mask())


@pictures("BEiT", FRESH)
def beit(place):
    from PIL import Image

    t = T()
    common = t.Compose([t.ColorJitter(0.4, 0.4, 0.4), t.RandomHorizontalFlip(p=0.5)])
    patch = t.Compose([t.ToTensor(), t.Normalize(MEAN, STD)])
    visual = t.Compose([t.ToTensor(), lambda x: (1 - 2 * 0.1) * x + 0.1])

    def both(image):
        image = common(image)
        box = t.RandomResizedCrop.get_params(image, (0.08, 1.0), (3 / 4, 4 / 3))
        return (
            patch(t.functional.resized_crop(image, *box, (224, 224), Image.BICUBIC)),
            visual(t.functional.resized_crop(image, *box, (112, 112), Image.LANCZOS)),
        )  # fmt: skip

    return both


@pipeline("detectron2, DatasetMapper", FRESH)
def detectron(place):
    from PIL import Image, ImageOps

    def read(path, label):
        with open(path, "rb") as file:
            image = np().asarray(ImageOps.exif_transpose(Image.open(file)).convert("RGB"))[:, :, ::-1]
        short = int(np().random.choice((256, 288, 320)))
        scale = short / min(image.shape[:2])
        size = tuple(int(side * scale + 0.5) for side in image.shape[1::-1])
        image = np().asarray(Image.fromarray(image).resize(size, Image.BILINEAR))
        if np().random.uniform() < 0.5:
            image = np().flip(image, axis=1)
        return {"image": torch().as_tensor(np().ascontiguousarray(image.transpose(2, 0, 1))), "label": label}

    return listed(place, read, collate_fn=list)


@pipeline("YOLOX", FRESH)
def yolox(place):
    import cv2

    def read(path, label):
        image = cv2.imread(path)
        ratio = min(416 / image.shape[0], 416 / image.shape[1])
        image = cv2.resize(image, (int(image.shape[1] * ratio), int(image.shape[0] * ratio)), interpolation=cv2.INTER_LINEAR).astype(np().uint8)
        gains = np().random.uniform(-1, 1, 3) * [5, 30, 30] * np().random.randint(0, 2, 3)
        hsv = cv2.cvtColor(image, cv2.COLOR_BGR2HSV).astype(np().int16)
        gains = gains.astype(np().int16)
        hsv[..., 0] = (hsv[..., 0] + gains[0]) % 180
        hsv[..., 1], hsv[..., 2] = np().clip(hsv[..., 1] + gains[1], 0, 255), np().clip(hsv[..., 2] + gains[2], 0, 255)
        image = cv2.cvtColor(hsv.astype(image.dtype), cv2.COLOR_HSV2BGR)
        image = image[:, ::-1] if random.random() < 0.5 else image
        padded = np().ones((416, 416, 3), dtype=np().uint8) * 114
        padded[: image.shape[0], : image.shape[1]] = image
        return np().ascontiguousarray(padded.transpose(2, 0, 1), dtype=np().float32), label

    return listed(place, read)


@pipeline("BasicSR, pairs", FRESH)
def basicsr(place):
    import cv2

    def read(path, label):
        with open(path, "rb") as file:
            data = file.read()
        high = cv2.imdecode(np().frombuffer(data, np().uint8), cv2.IMREAD_COLOR).astype(np().float32) / 255.0
        top, left = random.randint(0, high.shape[0] - 192), random.randint(0, high.shape[1] - 192)
        high = high[top : top + 192, left : left + 192, ...]
        low = cv2.resize(high, (48, 48), interpolation=cv2.INTER_CUBIC)
        if random.random() < 0.5:
            high, low = cv2.flip(high, 1), cv2.flip(low, 1)
        return {name: torch().from_numpy(cv2.cvtColor(each, cv2.COLOR_BGR2RGB).transpose(2, 0, 1)).float() for name, each in (("gt", high), ("lq", low))}

    return listed(place, read)


@pipeline("KAIR, SwinIR", FRESH)
def kair(place):
    import cv2

    def read(path, label):
        image = cv2.cvtColor(cv2.imread(path, cv2.IMREAD_UNCHANGED), cv2.COLOR_BGR2RGB)
        height, width = image.shape[:2]
        top, left = random.randint(0, max(0, height - 128)), random.randint(0, max(0, width - 128))
        patch = image[top : top + 128, left : left + 128, :]
        kind = random.randint(0, 3)
        patch = (patch, np().flipud(patch), np().rot90(patch), np().rot90(patch, k=2))[kind]
        clean = torch().from_numpy(np().ascontiguousarray(patch)).permute(2, 0, 1).float().div(255.0)
        noisy = clean.clone()
        noisy.add_(torch().randn(noisy.size()).mul_(25 / 255.0))
        return {"L": noisy, "H": clean}

    return listed(place, read)


@pipeline("latent-diffusion, LSUN", FRESH)
def ldm(place):
    from PIL import Image

    flip = T().RandomHorizontalFlip(p=0.5)

    def read(path, label):
        image = Image.open(path)
        image = image if image.mode == "RGB" else image.convert("RGB")
        values = np().array(image).astype(np().uint8)
        side = min(values.shape[0], values.shape[1])
        height, width = values.shape[0], values.shape[1]
        values = values[(height - side) // 2 : (height + side) // 2, (width - side) // 2 : (width + side) // 2]
        image = flip(Image.fromarray(values).resize((256, 256), resample=Image.BICUBIC))
        return {"image": (np().array(image).astype(np().uint8) / 127.5 - 1.0).astype(np().float32)}

    return listed(place, read)


@pictures("denoising-diffusion-pytorch", FRESH)
def ddpm(place):
    t = T()
    return t.Compose([t.Lambda(lambda image: image.convert("RGB") if image.mode != "RGB" else image), t.Resize(128), t.RandomHorizontalFlip(), t.CenterCrop(128), t.ToTensor()])


@pipeline("SPADE", FRESH)
def spade(place):
    from PIL import Image

    t, named = T(), dict(zip(place.files, masks(place)))

    def read(path, label):
        x, y, flipped = random.randint(0, 30), random.randint(0, 30), random.random() > 0.5

        def steps(method, *rest):
            made = [t.Lambda(lambda image: image.resize((286, 286), method)), t.Lambda(lambda image: image.crop((x, y, x + 256, y + 256)))]
            made += [t.Lambda(lambda image: image.transpose(Image.FLIP_LEFT_RIGHT))] if flipped else []
            return t.Compose([*made, t.ToTensor(), *rest])

        mask = steps(Image.NEAREST)(Image.open(named[path])) * 255.0
        mask[mask == 255] = 20
        return {"label": mask, "image": steps(Image.BICUBIC, t.Normalize(HALF, HALF))(opened(path))}

    return listed(place, read)


@pipeline("pytorch-CycleGAN-and-pix2pix, aligned", FRESH)
def aligned(place):
    from PIL import Image

    t = T()

    def read(path, label):
        both = opened(path)
        middle = int(both.size[0] / 2)
        x, y, flipped = random.randint(0, 30), random.randint(0, 30), random.random() > 0.5
        steps = [t.Resize([286, 286], modes().BICUBIC), t.Lambda(lambda image: image.crop((x, y, x + 256, y + 256)))]
        steps += [t.Lambda(lambda image: image.transpose(Image.FLIP_LEFT_RIGHT))] if flipped else []
        steps = t.Compose([*steps, t.ToTensor(), t.Normalize(HALF, HALF)])
        return {"A": steps(both.crop((0, 0, middle, both.size[1]))), "B": steps(both.crop((middle, 0, *both.size)))}

    return listed(place, read)


@pipeline("stylegan2-pytorch", FRESH)
def stylegan2(place):
    from PIL import Image

    t, data = T(), []
    for path in place.files:
        out = io.BytesIO()
        t.functional.center_crop(t.functional.resize(opened(path), 256, modes().LANCZOS), 256).save(out, "JPEG", quality=95)
        data.append(out.getvalue())
    steps = t.Compose([t.RandomHorizontalFlip(), t.ToTensor(), t.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5), inplace=True)])
    return listed(place, lambda path, label: steps(Image.open(io.BytesIO(data[place.files.index(path)]))))


@pictures("stargan-v2", FRESH)
def stargan(place):
    t = T()
    crop = t.RandomResizedCrop(256, scale=[0.8, 1.0], ratio=[0.9, 1.1])
    return t.Compose([t.Lambda(lambda x: crop(x) if random.random() < 0.5 else x), t.Resize([256, 256]), t.RandomHorizontalFlip(), t.ToTensor(), t.Normalize(HALF, HALF)])


@pictures("Person_reID_baseline_pytorch", FRESH)
def person(place):
    t = T()
    return t.Compose([t.Resize((256, 128), interpolation=3), t.Pad(10), t.RandomCrop((256, 128)), t.RandomHorizontalFlip(), t.ToTensor(), t.Normalize(MEAN, STD), t.RandomErasing(0.5)])


@pipeline("fast-reid", FRESH)
def fastreid(place):
    from PIL import Image, ImageOps

    t = T()
    moved = t.Compose([t.RandomApply([t.AutoAugment()], p=0.1), t.Resize((256, 128), interpolation=3), t.RandomHorizontalFlip(p=0.5), t.Pad(10), t.RandomCrop((256, 128))])

    def tensor(image):
        values = torch().from_numpy(np().array(image, np().uint8, copy=True)).view(image.size[1], image.size[0], 3)
        return values.permute((2, 0, 1)).contiguous().float()

    def read(path, label):
        with open(path, "rb") as file:
            image = ImageOps.exif_transpose(Image.open(file)).convert("RGB")
        return {"images": tensor(moved(image)), "targets": label}

    return listed(place, read)


@pipeline("deep-text-recognition-benchmark", FRESH)
def text(place):
    from PIL import Image

    tensor = T().ToTensor()

    def collate(samples):
        made = []
        for image, _ in samples:
            wide = min(math.ceil(32 * image.size[0] / image.size[1]), 100)
            values = tensor(image.resize((wide, 32), Image.BICUBIC))
            values.sub_(0.5).div_(0.5)
            padded = torch().FloatTensor(1, 32, 100).fill_(0)
            padded[:, :, :wide] = values
            if wide != 100:
                padded[:, :, wide:] = values[:, :, wide - 1].unsqueeze(2).expand(1, 32, 100 - wide)
            made.append(padded)
        return torch().cat([each.unsqueeze(0) for each in made], 0), [label for _, label in samples]

    return listed(place, lambda path, label: (opened(path, "L"), label), collate_fn=collate)


@pictures("parseq", FRESH)
def parseq(place):
    t = T()
    return t.Compose([t.RandomApply([t.RandomRotation(10)], p=0.5), t.Resize((32, 128), modes().BICUBIC), t.ToTensor(), t.Normalize(0.5, 0.5)])


@pictures("LLaVA, expand2square", FRESH)
def llava(place):
    from PIL import Image

    t = T()

    def square(image):
        width, height = image.size
        made = Image.new(image.mode, (max(image.size),) * 2, tuple(int(value * 255) for value in MEAN))
        made.paste(image, ((height - width) // 2 if height > width else 0, (width - height) // 2 if width > height else 0))
        return made

    return t.Compose([square, t.Resize((336, 336), modes().BICUBIC), t.ToTensor(), t.Normalize(MEAN, STD)])


@pictures("InternVL, tiles", FRESH)
def internvl(place):
    t = T()
    steps = t.Compose([t.Lambda(lambda image: image.convert("RGB") if image.mode != "RGB" else image), t.Resize((224, 224), interpolation=modes().BICUBIC), t.ToTensor(), t.Normalize(MEAN, STD)])

    def tiles(image):
        across, down = min(((w, h) for w in range(1, 5) for h in range(1, 5) if 1 <= w * h <= 4), key=lambda each: abs(image.width / image.height - each[0] / each[1]))
        large = image.resize((224 * across, 224 * down))
        parts = [large.crop((224 * (i % across), 224 * (i // across), 224 * (i % across + 1), 224 * (i // across + 1))) for i in range(across * down)]
        return torch().stack([steps(each) for each in (*parts, image.resize((224, 224)))])

    return tiles


@pipeline("sd-scripts", FRESH)
def kohya(place):
    import cv2
    from PIL import Image

    steps = T().Compose([T().ToTensor(), T().Normalize([0.5], [0.5])])

    def read(path, label):
        image = Image.open(path)
        values = np().array(image if image.mode == "RGB" else image.convert("RGB"), np().uint8)
        values = cv2.resize(values, (341, 256), interpolation=cv2.INTER_AREA)
        left = random.randint(0, values.shape[1] - 320)
        values = values[:, left : left + 320]
        if random.random() < 0.5:
            values = values[:, ::-1, :].copy()
        return steps(values), label

    return listed(place, read)


@pipeline("apex, fast_collate", FRESH)
def apex(place):
    t = T()

    def collate(samples):
        images = [image for image, _ in samples]
        made = torch().zeros((len(images), 3, images[0].size[1], images[0].size[0]), dtype=torch().uint8)
        for number, image in enumerate(images):
            values = np().rollaxis(np().asarray(image, dtype=np().uint8), 2)
            made[number] += torch().from_numpy(values)
        return made, torch().tensor([label for _, label in samples], dtype=torch().int64)

    return folder(place, t.Compose([t.RandomResizedCrop(224), t.RandomHorizontalFlip()]), collate_fn=collate)


@pipeline("efficientdet-pytorch", FRESH)
def efficientdet(place):
    from PIL import Image

    def read(path, label):
        image = opened(path)
        if random.random() < 0.5:
            image = image.transpose(Image.FLIP_LEFT_RIGHT)
        factor = random.uniform(0.1, 2.0)
        scale = min(factor * 384 / image.size[1], factor * 384 / image.size[0])
        wide, high = int(image.size[0] * scale), int(image.size[1] * scale)
        x, y = int(max(0.0, wide - 384) * random.uniform(0, 1)), int(max(0.0, high - 384) * random.uniform(0, 1))
        image = image.resize((wide, high), random.choice((Image.BILINEAR, Image.BICUBIC))).crop((x, y, min(wide, x + 384), min(high, y + 384)))
        made = Image.new("RGB", (384, 384), color=(124, 116, 104))
        made.paste(image)
        return np().moveaxis(np().array(made, dtype=np().uint8), 2, 0), label

    def collate(samples):
        made = torch().zeros((len(samples), 3, 384, 384), dtype=torch().uint8)
        for number, (values, _) in enumerate(samples):
            made[number] += torch().from_numpy(values)
        return made, [label for _, label in samples]

    return listed(place, read, collate_fn=collate)


@pipeline("semantic-segmentation-pytorch", FRESH)
def mit(place):
    from PIL import Image

    named, normalize = dict(zip(place.files, gray(place))), T().Normalize(MEAN, STD)

    def read(path, label):
        image, mask = opened(path), Image.open(named[path])
        if np().random.choice([0, 1]):
            image, mask = image.transpose(Image.FLIP_LEFT_RIGHT), mask.transpose(Image.FLIP_LEFT_RIGHT)
        image, mask = image.resize((400, 304), Image.BILINEAR), mask.resize((400, 304), Image.NEAREST).resize((50, 38), Image.NEAREST)
        values = normalize(torch().from_numpy((np().float32(np().array(image)) / 255.0).transpose((2, 0, 1)).copy()))
        return values, torch().from_numpy(np().array(mask)).long() - 1

    return listed(place, read)


@pipeline("yolo4-pytorch, letterbox", FRESH)
def yolo4(place):
    import cv2
    from PIL import Image

    def read(path, label):
        image = opened(path)
        width, height = image.size
        scale, ratio = random.uniform(0.25, 2), width / height * random.uniform(0.7, 1.3) / random.uniform(0.7, 1.3)
        high, wide = (int(scale * 416), int(scale * 416 * ratio)) if ratio < 1 else (int(scale * 416 / ratio), int(scale * 416))
        image = image.resize((max(wide, 2), max(high, 2)), Image.BICUBIC)
        made = Image.new("RGB", (416, 416), (128, 128, 128))
        made.paste(image, (int(random.uniform(0, 416 - wide)), int(random.uniform(0, 416 - high))))
        made = made.transpose(Image.FLIP_LEFT_RIGHT) if random.random() < 0.5 else made
        values = np().array(made, np().uint8)
        gains = np().random.uniform(-1, 1, 3) * [0.1, 0.7, 0.4] + 1
        hue, saturation, value = cv2.split(cv2.cvtColor(values, cv2.COLOR_RGB2HSV))
        x = np().arange(0, 256, dtype=gains.dtype)
        tables = [((x * gains[0]) % 180).astype(np().uint8), *(np().clip(x * gain, 0, 255).astype(np().uint8) for gain in gains[1:])]
        values = cv2.cvtColor(cv2.merge([cv2.LUT(band, table) for band, table in zip((hue, saturation, value), tables)]), cv2.COLOR_HSV2RGB)
        return np().transpose(np().array(values, dtype=np().float32) / 255.0, (2, 0, 1)), label

    return listed(place, read)


@pipeline("face-parsing.PyTorch", FRESH)
def faces(place):
    from PIL import Image, ImageEnhance

    named, tensor = dict(zip(place.files, gray(place))), T().Compose([T().ToTensor(), T().Normalize(MEAN, STD)])

    def read(path, label):
        image, mask = Image.open(path).resize((512, 512), Image.BILINEAR), Image.open(named[path]).convert("P").resize((512, 512), Image.NEAREST)
        for kind, span in (("Brightness", 0.5), ("Contrast", 0.5), ("Color", 0.5)):
            image = getattr(ImageEnhance, kind)(image).enhance(random.uniform(1 - span, 1 + span))
        if random.random() <= 0.5:
            values = np().array(mask)
            right = np().where(values == 255)
            values[right[0], right[1]] = 2
            image, mask = image.transpose(Image.FLIP_LEFT_RIGHT), Image.fromarray(values).transpose(Image.FLIP_LEFT_RIGHT)
        scale = random.choice((0.75, 1.0, 1.25))
        wide, high = int(512 * scale), int(512 * scale)
        image, mask = image.resize((wide, high), Image.BILINEAR), mask.resize((wide, high), Image.NEAREST)
        x, y = int(random.random() * (wide - 320)), int(random.random() * (high - 320))
        image, mask = image.crop((x, y, x + 320, y + 320)), mask.crop((x, y, x + 320, y + 320))
        return tensor(image), np().array(mask).astype(np().int64)[np().newaxis, :]

    return listed(place, read)


@pictures("k-diffusion", FRESH)
def kdiffusion(place):
    t = T()
    return t.Compose([t.Resize(256, interpolation=modes().LANCZOS), t.CenterCrop(256), t.RandomHorizontalFlip(), t.ToTensor(), lambda x: x * 2 - 1])


@pipeline("LoFTR", FRESH)
def loftr(place):
    import cv2

    def read(path, label):
        image = cv2.imread(path, cv2.IMREAD_GRAYSCALE)
        image = cv2.resize(image, (416, 312))
        padded = np().zeros((416, 416), dtype=image.dtype)
        padded[: image.shape[0], : image.shape[1]] = image
        return torch().from_numpy(padded).float()[None] / 255, label

    return listed(place, read)


@pipeline("dust3r", FRESH)
def dust3r(place):
    from PIL import Image

    t = T()
    steps = t.Compose([t.ColorJitter(0.5, 0.5, 0.5, 0.1), t.ToTensor(), t.Normalize(HALF, HALF)])

    def read(path, label):
        image = opened(path)
        size = np().array(image.size)
        wanted = np().floor(size * (max(np().array((224, 224)) / size) + 1e-8)).astype(int)
        image = image.resize(wanted, resample=Image.LANCZOS)
        left, top = (wanted - 224) // 2
        return {"img": steps(image.crop((left, top, left + 224, top + 224))), "true_shape": np().int32((224, 224))}

    return listed(place, read)


@pipeline("pytorch-fid", FRESH)
def fid(place):
    steps = T().ToTensor()
    return listed(place, lambda path, label: steps(opened(path)))


@pipeline("Machine-Learning-Collection, U-Net", FRESH)
def unet(place):
    import albumentations as A
    from PIL import Image

    named = dict(zip(place.files, gray(place)))
    steps = A.Compose([A.Resize(height=160, width=240), A.Rotate(limit=35, p=1.0), A.HorizontalFlip(p=0.5), A.VerticalFlip(p=0.1), A.Normalize(mean=[0.0] * 3, std=[1.0] * 3, max_pixel_value=255.0), A.ToTensorV2()], seed=3)

    def read(path, label):
        image, mask = np().array(Image.open(path).convert("RGB")), np().array(Image.open(named[path]).convert("L"), dtype=np().float32)
        mask[mask == 255.0] = 1.0
        made = steps(image=image, mask=mask)
        return made["image"], made["mask"]

    return listed(place, read)


@pipeline("segmentation_models.pytorch", FRESH)
def smp(place):
    import albumentations as A
    import cv2

    named = dict(zip(place.files, gray(place)))
    steps = A.Compose([A.HorizontalFlip(p=0.5), A.PadIfNeeded(min_height=320, min_width=320), A.RandomCrop(height=320, width=320), A.RandomBrightnessContrast(p=1)], seed=3)

    def read(path, label):
        image = cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)
        mask = cv2.imread(named[path], 0)
        mask = np().stack([mask == value for value in (0, 255)], axis=-1).astype("float")
        made = steps(image=image, mask=mask)
        return ((made["image"] / 255.0 - MEAN) / STD).transpose(2, 0, 1).astype("float32"), made["mask"].transpose(2, 0, 1).astype("float32")

    return listed(place, read)


@pipeline("Deep-Learning, colouring", FRESH)
def colouring(place):
    from PIL import Image
    from skimage.color import rgb2lab

    t = T()
    moved, tensor = t.Compose([t.Resize((256, 256), Image.BICUBIC), t.RandomHorizontalFlip()]), t.ToTensor()

    def read(path, label):
        lab = tensor(rgb2lab(np().array(moved(opened(path)))).astype("float32"))
        return {"L": lab[[0], ...] / 50.0 - 1.0, "ab": lab[[1, 2], ...] / 110.0}

    return listed(place, read)


@pipeline("glide-finetune", FRESH)
def glide(place):
    t = T()
    crop = t.RandomResizedCrop((64, 64), scale=(0.5, 1.0), ratio=(1.0, 1.0), interpolation=modes().LANCZOS)

    def read(path, label):
        image = crop(opened(path))
        return torch().from_numpy(np().asarray(image)).float().permute(2, 0, 1) / 127.5 - 1.0

    return listed(place, read)


@pipeline("PerceptualSimilarity", FRESH)
def lpips(place):
    from PIL import Image

    t = T()
    steps = t.Compose([t.Resize(64), t.CenterCrop(64), t.ToTensor(), t.Normalize(HALF, HALF)])

    def read(path, label):
        at = place.files.index(path)
        names = ("p0", "p1", "ref")
        return {name: steps(Image.open(place.files[at - number]).convert("RGB")) for number, name in enumerate(names)}

    return listed(place, read)


@pipeline("ai-toolkit", FRESH)
def toolkit(place):
    from PIL import Image
    from PIL.ImageOps import exif_transpose

    t = T()
    steps = t.Compose([t.ToTensor(), t.Normalize([0.5], [0.5])])

    def read(path, label):
        image = exif_transpose(Image.open(path)).convert("RGB")
        image = image.transpose(Image.FLIP_LEFT_RIGHT) if random.random() < 0.5 else image
        scale = max(320 / image.width, 256 / image.height)
        image = image.resize((int(image.width * scale), int(image.height * scale)), Image.BICUBIC)
        x, y = (image.width - 320) // 2, (image.height - 256) // 2
        return steps(image.crop((x, y, x + 320, y + 256))), path

    return listed(place, read)


# Those of the 58 that decode no pictures


def plain(title):
    def keep(make):
        @pipeline(title, PLAIN)
        def build(place):
            read = make(place)
            return listed(place, lambda path, label: read(place.files.index(path), label))

        return make

    return keep


@plain("HDF5 of arrays")
def h5_arrays(place):
    import h5py

    target = os.path.join(place.scratch, "arrays.h5")
    with h5py.File(target, "w") as file:
        file["images"] = np().random.default_rng(3).integers(0, 256, (len(place.files), 3, 96, 96), dtype="uint8")

    def read(at, label):
        with h5py.File(target) as file:
            return torch().from_numpy(file["images"][at]).float() / 255, label

    return read


@plain("ACT: episodes of arrays")
def act(place):
    import h5py

    target = os.path.join(place.scratch, "episode.h5")
    with h5py.File(target, "w") as file:
        file["top"], file["action"] = np().random.default_rng(3).integers(0, 256, (40, 120, 160, 3), dtype="uint8"), np().zeros((40, 14), "float32")

    def read(at, label):
        with h5py.File(target) as file:
            start = np().random.choice(40)
            image = torch().einsum("h w c -> c h w", torch().from_numpy(file["top"][start]))
            return image / 255.0, torch().from_numpy(file["action"][start])

    return read


@plain("tokens of a memory map")
def tokens(place):
    target = os.path.join(place.scratch, "train.bin")
    np().random.default_rng(3).integers(0, 50257, 100_000, dtype="uint16").tofile(target)

    def read(at, label):
        data = np().memmap(target, dtype=np().uint16, mode="r")
        start = int(torch().randint(len(data) - 257, (1,)))
        return torch().from_numpy(data[start : start + 257].astype(np().int64))

    return read


@plain("tokens on the fly")
def tokenised(place):
    words = {f"w{number}": number for number in range(5000)}
    return lambda at, label: torch().tensor([words[f"w{(at * 131 + number) % 5000}"] for number in range(256)])


@plain("LLMs-from-scratch")
def windows(place):
    ids = list(range(20_000))
    chunks = [(torch().tensor(ids[i : i + 256]), torch().tensor(ids[i + 1 : i + 257])) for i in range(0, 19_000, 64)]
    return lambda at, label: chunks[at]


@plain("HiFi-GAN, mels")
def hifigan(place):
    waves, window = np().random.default_rng(3).normal(0, 0.1, (8, 16384)).astype("float32"), torch().hann_window(1024)

    def read(at, label):
        start = random.randint(0, 8191)
        wave = torch().FloatTensor(waves[at % 8])[start : start + 8192]
        return torch().log(torch().clamp(torch().stft(wave, 1024, 256, window=window, return_complex=True).abs(), min=1e-5)), wave

    return read


@plain("MONAI, 3D")
def monai3d(place):
    import monai.transforms as M

    volume = np().random.default_rng(3).normal(0, 1, (1, 48, 48, 32)).astype("float32")
    steps = M.Compose([M.ScaleIntensity(), M.RandSpatialCrop((32, 32, 16), random_size=False), M.RandFlip(prob=0.5, spatial_axis=0)]).set_random_state(3)
    return lambda at, label: steps(volume)


def film(place):
    import av

    target = os.path.join(place.scratch, "film.mp4")
    with av.open(target, "w") as out:
        stream = out.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
        for number in range(48):
            out.mux(stream.encode(av.VideoFrame.from_ndarray(np().full((240, 320, 3), 5 * number, "uint8"), format="rgb24")))
        out.mux(stream.encode())
    return target


def frames(target, count):
    import av

    with av.open(target) as file:
        return [frame for _, frame in zip(range(count), file.decode(video=0))]


@plain("video by PyAV, arrays")
def pyav(place):
    target = film(place)
    return lambda at, label: torch().from_numpy(np().stack([frame.to_ndarray(format="rgb24") for frame in frames(target, 4)]))


@plain("video by PyAV, pictures")
def pyav_pictures(place):
    target, steps = film(place), T().Compose([T().Resize(112), T().ToTensor()])
    return lambda at, label: torch().stack([steps(frame.to_image()) for frame in frames(target, 4)])


@plain("video by OpenCV, pictures")
def cv2_pictures(place):
    import cv2
    from PIL import Image

    target, steps = film(place), T().Compose([T().Resize(112), T().ToTensor()])

    def read(at, label):
        found = cv2.VideoCapture(target)
        return torch().stack([steps(Image.fromarray(cv2.cvtColor(found.read()[1], cv2.COLOR_BGR2RGB))) for _ in range(4)])

    return read


@plain("video by torchcodec")
def torchcodec(place):
    from torchcodec.decoders import VideoDecoder

    target = film(place)
    return lambda at, label: VideoDecoder(target)[:4]


# The page


def rows_of(path):
    """What is there of each pipeline: its rounds."""
    rows = {}
    for line in Path(path).read_text().splitlines() if os.path.exists(path) else []:
        row = json.loads(line)
        rows.setdefault(row["pipeline"], []).append(row)
    return rows


def page(rows):
    """The table and what it comes to."""
    lines = ["| pipeline | list | made by Go | pictures whole, in part, by Pillow | equal | CPU, fed over alone | rounds |", "|---|---|---|---|---|---|---|"]
    found = []
    for title, kind in PIPELINES.items():
        done = rows.get(title, [])
        if not done:
            continue
        last = done[-1]
        if "equal" not in last:
            lines.append(f"| {title} | {kind} | {last['result']}: {last['why']:.80} | | | | {len(done)} |")
            continue
        ratios, equal = sorted(ratio for row in done for ratio in row.get("ratio", [])), all(row.get("equal") for row in done)
        found.append((kind, last["result"], equal, ratios))
        share = bench.spread(ratios) if ratios else "-"
        lines.append(f"| {title} | {kind} | {last['result']} | {', '.join(map(str, last['made']))} | {'yes' if equal else 'NO'} | {share} | {len(ratios)} |")
    lines.append("")
    for name, kinds in (("of the 58, with pictures", (SEEN,)), ("of the 35", (FRESH,)), ("all with pictures", (SEEN, FRESH)), ("without pictures", (PLAIN,))):
        these = [each for each in found if each[0] in kinds]
        if not these:
            continue
        counts = [sum(each[1] == result for each in these) for result in ("whole", "part", "none")]
        whole = [statistics.median(each[3]) for each in these if each[1] == "whole" and each[3]]
        lines.append(
            f"- {name}: {len(these)}, {counts[0]} whole ({counts[0] / len(these):.0%}), {counts[1]} part, {counts[2]} none ({counts[2] / len(these):.0%}), "
            f"{sum(not each[2] for each in these)} unequal; CPU of the {len(whole)} whole ones that were measured at the median {statistics.median(whole) if whole else math.nan:.2f}."
        )  # fmt: skip
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--quick", action="store_true", help="for class and equality alone: 20 pictures, without workers, alone and then fed in the same process")
    parser.add_argument("--counted", type=int, default=bench.COUNTED, metavar="EPOCHS", help="epochs whose CPU is counted: more where pictures are small")
    parser.add_argument("--repositories", default=os.sep)
    arguments = parser.parse_args()
    arguments.losses, end = 0, time.monotonic() + 60 * arguments.minutes
    bench.prepare()
    bench.EPOCHS, bench.COUNTED, tensors.COUNT = 1, arguments.counted, 96
    if arguments.quick:
        bench.BATCH, tensors.COUNT = 4, 32
    with tempfile.TemporaryDirectory() as drawn:
        arguments.folder = os.path.join(drawn, "train")
        tensors.draw(drawn)
        for _ in range(arguments.rounds):
            for title in PIPELINES:
                there = rows_of(arguments.out).get(title, [])
                if len(there) >= arguments.rounds or len(there) > min(map(len, [rows_of(arguments.out).get(each, []) for each in chosen(arguments)])):
                    continue
                if title not in chosen(arguments) or time.monotonic() > end:
                    continue
                row = measured(title, arguments)
                with open(arguments.out, "a") as file:
                    file.write(json.dumps(row) + "\n")
                print(json.dumps(row), file=sys.stderr, flush=True)
    print(page(rows_of(arguments.out)))


def measured(title, arguments):
    if not arguments.quick:
        return bench.judged(title, bench.measure(title, False, arguments), bench.measure(title, True, arguments))
    both = bench.measure(title, None, arguments)
    alone, fed = both.get("alone", both), both.get("fed", both)
    return {"quick": True} | bench.judged(title, alone, {"said": both["said"], **fed})


def chosen(arguments):
    return [title for title in PIPELINES if any(text.lower() in title.lower() for text in arguments.only)]


if __name__ == "__main__":
    main()
