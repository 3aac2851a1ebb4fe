#!/usr/bin/env python3
"""Input pipelines that people have published, alone and fed: how much the daemon makes, whether batches are equal, and the cost.

    python bench/loader/pipelines.py FOLDER --repositories DIR                   FOLDER has a folder of JPEGs per class
    python bench/loader/pipelines.py FOLDER --repositories DIR --only "MAE"      those whose title has the text
    python bench/loader/pipelines.py FOLDER --repositories DIR --rounds 3        CPU time and speed as often, of those that are made whole
    python bench/loader/pipelines.py FOLDER --repositories DIR --losses 200      digests of the losses of trainings instead

DIR has checkouts named OWNER+NAME; their code is read from there and not copied here. Packages that a pipeline needs
are imported; where one is missing, its line says so. Each pipeline runs in its own forked process, alone and
behind `stoker.feed()`: two epochs with no worker and two with two, whose batches are compared by digest, then two with two
workers for the CPU time of all processes and the time on the clock. A further round warms up and counts alone.
"""

import argparse
import ast
import functools
import glob
import hashlib
import importlib.util
import io
import json
import math
import os
import random
import statistics
import sys
import tempfile
import time
import types
import typing
import warnings
from pathlib import Path

import account

ROOT = Path(__file__).resolve().parents[2]
BATCH = 16
EPOCHS = 2  # that are compared, with each number of workers
WORKERS = 0, 2
COUNTED = 2  # epochs whose CPU time is taken, with the last number of workers
PIPELINES = {}


def pipeline(title, **more):
    def keep(build):
        PIPELINES[title] = functools.partial(build, **more)
        return build

    return keep


class Place:
    """Where a pipeline finds its files and its checkout."""

    def __init__(self, folder, repositories, scratch):
        self.folder, self.repositories, self.scratch = folder, Path(repositories), scratch
        self.files = sorted(glob.glob(os.path.join(folder, "*", "*")))
        self.labels = [sorted(os.listdir(folder)).index(Path(file).parent.name) for file in self.files]

    def path(self, repository, file=""):
        found = self.repositories / repository.replace("/", "+") / file
        if not found.exists():
            raise ImportError(f"no checkout of {repository}")
        return found

    def module(self, repository, file, **stubs):
        """A module of a checkout, which imports from its folder."""
        path = self.path(repository, file)
        sys.path[:0] = [str(path.parent), str(self.path(repository))]
        for name, stub in stubs.items():
            sys.modules[name] = stub
        spec = importlib.util.spec_from_file_location(path.stem + "_", path)
        made = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = made
        spec.loader.exec_module(made)
        return made

    def names(self, repository, file, *wanted, **known):
        """Functions, classes and the first assignments of these names in a script that cannot be imported; "Compose 2": the call."""
        found, tree = [], ast.parse(self.path(repository, file).read_text())
        space = {**_space(), **known}
        for name in wanted:
            if name.startswith("Compose"):
                calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "Compose"]
                node = sorted(calls, key=lambda call: call.lineno)[int(name.split()[1])]
                space[name] = eval(compile(ast.Expression(node), file, "eval"), space)
            else:
                kinds = (ast.FunctionDef, ast.ClassDef)
                node = next(
                    node for node in ast.walk(tree)
                    if isinstance(node, kinds) and node.name == name or isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name
                )  # fmt: skip
                exec(compile(ast.Module([node], []), file, "exec"), space)
            found.append(space[name])
        return found[0] if len(found) == 1 else found


def _space():
    import numpy as np
    import PIL
    import torch
    import torchvision
    from PIL import Image, ImageEnhance, ImageFilter, ImageOps
    from torchvision import transforms as T
    from torchvision.transforms import functional as F

    names = {name: value for name, value in vars(T).items() if isinstance(value, type)}
    normalize = T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    return {
        **names, "torch": torch, "np": np, "PIL": PIL, "Image": Image, "ImageEnhance": ImageEnhance, "ImageFilter": ImageFilter, "ImageOps": ImageOps,
        "transforms": T, "pth_transforms": T, "T": T, "F": F, "TF": F, "random": random, "math": math, "os": os, "Path": Path, "nn": torch.nn, "Dataset": torch.utils.data.Dataset,
        "datasets": torchvision.datasets, "normalize": normalize, "BICUBIC": Image.Resampling.BICUBIC, "InterpolationMode": T.InterpolationMode, "exif_transpose": ImageOps.exif_transpose,
        **{name: getattr(typing, name) for name in ("Any", "Callable", "List", "Optional", "Tuple", "Union")},
    }  # fmt: skip


def make_loader(data, **settings):
    """Return a function that makes a DataLoader with a number of workers."""
    from torch.utils.data import DataLoader, IterableDataset

    def make(workers):
        settings.setdefault("batch_size", BATCH) if "batch_sampler" not in settings else None
        if not isinstance(data, IterableDataset) and not {"sampler", "batch_sampler"} & settings.keys():
            settings.setdefault("shuffle", True)
        return DataLoader(data, num_workers=workers, persistent_workers=workers > 0, **settings)

    return make


def folder(place, transform, **settings):
    from torchvision.datasets import ImageFolder

    return make_loader(ImageFolder(place.folder, transform), **settings)


def make_dataset(place, read, **settings):
    """A plain data set: read(path, label)."""
    from torch.utils.data import Dataset

    class Listed(Dataset):
        def __len__(self):
            return len(place.files)

        def __getitem__(self, index):
            return read(place.files[index], place.labels[index])

    return make_loader(Listed(), **settings)


def lists(samples):
    return [list(column) for column in zip(*samples)]


def tail():
    return _space()["T"].Compose([_space()["T"].ToTensor(), _space()["normalize"]])


# PyTorch's examples


def _example(title, file, compose, **known):
    @pipeline("pytorch/examples " + title)
    def build(place):
        return folder(place, place.names("pytorch/examples", file, compose, **{name: types.SimpleNamespace(**value) for name, value in known.items()}))


_example("imagenet, training", "imagenet/main.py", "Compose 0")
_example("imagenet, validation", "imagenet/main.py", "Compose 1")
_example("dcgan", "dcgan/main.py", "Compose 0", opt={"imageSize": 64})
_example("fast_neural_style", "fast_neural_style/neural_style/neural_style.py", "Compose 0", args={"image_size": 256})


@pipeline("pytorch/examples super_resolution")
def super_resolution(place):
    from torch.utils.data import ConcatDataset

    sys.path.insert(0, str(place.path("pytorch/examples", "super_resolution")))
    kind = place.module("pytorch/examples", "super_resolution/dataset.py").DatasetFromFolder
    data = place.names("pytorch/examples", "super_resolution/data.py", "input_transform", "target_transform")
    classes = sorted(glob.glob(os.path.join(place.folder, "*")))
    return make_loader(ConcatDataset([kind(each, data[0](256, 3), data[1](256)) for each in classes]))


@pipeline("pytorch/examples mnist", gone="pictures made of arrays")
def mnist(place, gone):
    import torchvision

    data = torchvision.datasets.FakeData(64, (1, 28, 28), transform=place.names("pytorch/examples", "mnist/main.py", "Compose 0", **{"transforms": _space()["T"]}))
    return make_loader(data)


# torchvision's references


def _reference(title, **settings):
    @pipeline("torchvision reference " + title)
    def build(place):
        import torch

        presets = place.module("pytorch/vision", "references/classification/presets.py")
        mixed = settings.pop("mixed", False)
        kind = presets.ClassificationPresetEval if "resize_size" in settings else presets.ClassificationPresetTrain
        more = {}
        if mixed:
            mix = place.module("pytorch/vision", "references/classification/transforms.py").get_mixup_cutmix(mixup_alpha=0.2, cutmix_alpha=1.0, num_classes=10, use_v2=False)
            more["collate_fn"] = lambda samples: mix(*torch.utils.data.default_collate(samples))
        return folder(place, kind(crop_size=224, **settings), **more)


_reference("classification, training")
_reference("classification, evaluation", resize_size=256)
_reference("classification, ta_wide, erasing, mixup and cutmix", auto_augment_policy="ta_wide", random_erase_prob=0.1, mixed=True)
_reference("classification, RandAugment", auto_augment_policy="ra")
_reference("classification, AugMix", auto_augment_policy="augmix")
_reference("classification, AutoAugment", auto_augment_policy="imagenet")
_reference("classification, v2 on pictures", use_v2=True, auto_augment_policy="ta_wide", random_erase_prob=0.1)
_reference("classification, tensor backend", backend="tensor")


@pipeline("torchvision weights.transforms()")
def weights(place):
    from torchvision.models import ResNet50_Weights

    return folder(place, ResNet50_Weights.DEFAULT.transforms())


def _boxes(size):
    import torch

    width, height = size
    boxes = torch.tensor([[width * 0.1, height * 0.1, width * 0.6, height * 0.7], [width * 0.3, height * 0.2, width * 0.9, height * 0.9]])
    return {"boxes": boxes, "labels": torch.tensor([1, 2]), "area": (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]), "iscrowd": torch.tensor([0, 0]), "image_id": torch.tensor([1])}


def _detection(title, augmentation, **settings):
    @pipeline("torchvision reference detection, " + title)
    def build(place):
        from PIL import Image

        preset = place.module("pytorch/vision", "references/detection/presets.py").DetectionPresetTrain(data_augmentation=augmentation, **settings)

        def read(path, label):
            image = Image.open(path).convert("RGB")
            return preset(image, _boxes(image.size))

        return make_dataset(place, read, collate_fn=lambda samples: tuple(zip(*samples)))


_detection("hflip", "hflip")
_detection("ssdlite", "ssdlite")
_detection("ssd", "ssd")


def masks(place):
    """A palette mask for each picture, as VOC has them."""
    import numpy as np
    from PIL import Image

    found = []
    for number, path in enumerate(place.files):
        target = os.path.join(place.scratch, f"mask-{number:04d}.png")
        with Image.open(path) as image:
            small = np.random.default_rng(number).integers(0, 21, (6, 8), dtype=np.uint8)
            mask = Image.fromarray(small).resize(image.size, Image.Resampling.NEAREST)
        mask = mask.convert("P")
        mask.putpalette([value for index in range(256) for value in (index, 255 - index, 7 * index % 256)])
        mask.save(target)
        found.append(target)
    return found


@pipeline("torchvision reference segmentation, evaluation")
def segmentation(place):
    from PIL import Image

    T = place.module("pytorch/vision", "references/segmentation/transforms.py")
    import torch

    preset = T.Compose([T.RandomResize(260, 520), T.RandomHorizontalFlip(0.5), T.RandomCrop(240), T.PILToTensor(), (T.ToDtype if hasattr(T, "ToDtype") else T.ConvertImageDtype)(torch.float), T.Normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))])
    named = dict(zip(place.files, masks(place)))
    return make_dataset(place, lambda path, label: preset(Image.open(path).convert("RGB"), Image.open(named[path])))


# Self-supervised learning and its kin


@pipeline("MAE, pre-training")
def mae(place):
    return folder(place, place.names("facebookresearch/mae", "main_pretrain.py", "Compose 0", args=types.SimpleNamespace(input_size=224)))


@pipeline("MAE, linear probe")
def mae_linear(place):
    from torchvision.transforms import functional as F

    kind = place.names("facebookresearch/mae", "util/crop.py", "RandomResizedCrop", F=types.SimpleNamespace(**vars(F), _get_image_size=F.get_image_size))
    return folder(place, place.names("facebookresearch/mae", "main_linprobe.py", "Compose 0", RandomResizedCrop=kind))


#: timm's RandAugment as scripts ask for it, but for its magnitude, which is 9 there: that asks for 0 bits at times, which Pillow 13 refuses.
RAND_AUGMENT = "rand-m8-mstd0.5-inc1"


@pipeline("MAE, fine-tuning (magnitude 8)")
def mae_tuned(place):
    args = types.SimpleNamespace(input_size=224, color_jitter=None, aa=RAND_AUGMENT, reprob=0.25, remode="pixel", recount=1)
    return folder(place, place.module("facebookresearch/mae", "util/datasets.py").build_transform(True, args))


@pipeline("DINO, ten crops")
def dino(place):
    kinds = place.names("facebookresearch/dino", "utils.py", "GaussianBlur", "Solarization")
    utils = types.SimpleNamespace(GaussianBlur=kinds[0], Solarization=kinds[1])
    return folder(place, place.names("facebookresearch/dino", "main_dino.py", "DataAugmentationDINO", utils=utils)((0.4, 1.0), (0.05, 0.4), 8))


@pipeline("DINO, linear evaluation")
def dino_linear(place):
    return folder(place, place.names("facebookresearch/dino", "eval_linear.py", "Compose 1"))


@pipeline("DINOv2")
def dinov2(place):
    path = place.path("facebookresearch/dinov2")
    package = types.ModuleType("dinov2.data")
    package.__path__ = [str(path / "dinov2/data")]
    sys.path.insert(0, str(path))
    sys.modules["dinov2.data"] = package
    from dinov2.data.augmentations import DataAugmentationDINO

    return folder(place, DataAugmentationDINO((0.32, 1.0), (0.05, 0.32), 8))


@pipeline("iBOT")
def ibot(place):
    kinds = place.names("facebookresearch/dino", "utils.py", "GaussianBlur", "Solarization")  # iBOT's own are those
    utils = types.SimpleNamespace(GaussianBlur=kinds[0], Solarization=kinds[1])
    return folder(place, place.names("bytedance/ibot", "main_ibot.py", "DataAugmentationiBOT", utils=utils)((0.14, 1.0), (0.05, 0.4), 2, 6))


@pipeline("SimSiam, MoCo v2")
def simsiam(place):
    loader = place.names("facebookresearch/simsiam", "simsiam/loader.py", "TwoCropsTransform", "GaussianBlur")
    steps = place.names("facebookresearch/simsiam", "main_simsiam.py", "augmentation", simsiam=types.SimpleNamespace(loader=types.SimpleNamespace(GaussianBlur=loader[1])))
    return folder(place, loader[0](_space()["transforms"].Compose(steps)))


@pipeline("Barlow Twins")
def barlow(place):
    blur, solarization, kind = place.names("facebookresearch/barlowtwins", "main.py", "GaussianBlur", "Solarization", "Transform")
    return folder(place, kind())


@pipeline("VICReg")
def vicreg(place):
    return folder(place, place.module("facebookresearch/vicreg", "augmentations.py").TrainTransform())


@pipeline("SwAV, multi-crop")
def swav(place):
    kind = place.module("facebookresearch/swav", "src/multicropdataset.py").MultiCropDataset
    return make_loader(kind(place.folder, [224, 96], [2, 6], [0.14, 0.05], [1.0, 0.14]))


@pipeline("SupContrast")
def supcon(place):
    two = place.names("HobbitLong/SupContrast", "util.py", "TwoCropTransform")
    return folder(place, two(place.names("HobbitLong/SupContrast", "main_supcon.py", "Compose 0", opt=types.SimpleNamespace(size=32))))


@pipeline("SimCLR (sthalles; blurred by torch)")
def simclr(place):
    blur = place.names("sthalles/SimCLR", "data_aug/gaussian_blur.py", "GaussianBlur")
    data = place.names("sthalles/SimCLR", "data_aug/contrastive_learning_dataset.py", "ContrastiveLearningDataset", GaussianBlur=blur)
    view = place.names("sthalles/SimCLR", "data_aug/view_generator.py", "ContrastiveLearningViewGenerator")
    return folder(place, view(data.get_simclr_pipeline_transform(96), 2))


@pipeline("lightly, SimCLRTransform")
def lightly(place):
    from lightly.transforms import SimCLRTransform

    return folder(place, SimCLRTransform(input_size=224))


@pipeline("BYOL (torchvision's own GaussianBlur)")
def byol(place):
    T = _space()["T"]
    steps = [T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.RandomApply([T.ColorJitter(0.4, 0.4, 0.2, 0.1)], 0.8), T.RandomGrayscale(0.2), T.GaussianBlur(23, (0.1, 2.0)), tail()]
    return folder(place, T.Compose(steps))


# Vision transformers and timm


@pipeline("DeiT, RandAugment (magnitude 8) with erasing, repeated augmentation")
def deit(place):
    from torchvision.datasets import ImageFolder

    args = types.SimpleNamespace(input_size=224, color_jitter=0.3, aa=RAND_AUGMENT, train_interpolation="bicubic", reprob=0.25, remode="pixel", recount=1)
    data = ImageFolder(place.folder, place.module("facebookresearch/deit", "datasets.py").build_transform(True, args))
    data.samples *= -(-256 // len(data))  # fewer than 256 are none for its sampler
    dist = types.SimpleNamespace(is_available=lambda: True, get_world_size=lambda: 1, get_rank=lambda: 0)
    import torch

    return make_loader(data, sampler=place.names("facebookresearch/deit", "samplers.py", "RASampler", dist=dist, torch=torch)(data, num_replicas=1, rank=0))


@pipeline("DeiT III, three-augment")
def deit3(place):
    from timm.data.transforms import RandomResizedCropAndInterpolation

    made = place.names(
        "facebookresearch/deit", "augment.py", "GaussianBlur", "Solarization", "gray_scale", "horizontal_flip", "new_data_aug_generator",
        RandomResizedCropAndInterpolation=RandomResizedCropAndInterpolation,
    )  # fmt: skip
    return folder(place, made[-1](types.SimpleNamespace(input_size=224, src=False, color_jitter=0.3)))


@pipeline("DeiT III, simple random crop, reflected")
def deit3_src(place):
    made = place.names("facebookresearch/deit", "augment.py", "GaussianBlur", "Solarization", "gray_scale", "horizontal_flip", "new_data_aug_generator")
    return folder(place, made[-1](types.SimpleNamespace(input_size=224, src=True, color_jitter=0.3)))


@pipeline("ConvNeXt (magnitude 8)")
def convnext(place):
    args = types.SimpleNamespace(
        input_size=224, color_jitter=0.4, aa=RAND_AUGMENT, train_interpolation="bicubic", reprob=0.25, remode="pixel", recount=1, imagenet_default_mean_and_std=True, crop_pct=None,
    )  # fmt: skip
    return folder(place, place.module("facebookresearch/ConvNeXt", "datasets.py").build_transform(True, args))


@pipeline("Swin, evaluation")
def swin(place):
    from timm.data.transforms import str_to_pil_interp

    config = types.SimpleNamespace(DATA=types.SimpleNamespace(IMG_SIZE=224, INTERPOLATION="bicubic"), TEST=types.SimpleNamespace(CROP=True))
    mean = {"IMAGENET_DEFAULT_MEAN": (0.485, 0.456, 0.406), "IMAGENET_DEFAULT_STD": (0.229, 0.224, 0.225)}
    from torchvision.transforms import InterpolationMode

    made = place.names("microsoft/Swin-Transformer", "data/build.py", "build_transform", _pil_interp=lambda _: InterpolationMode.BICUBIC, str_to_pil_interp=str_to_pil_interp, **mean)
    return folder(place, made(False, config))


def _timm(title, training=True, **settings):
    @pipeline("timm " + title)
    def build(place):
        import timm.data
        import torch

        mixed = settings.pop("mixed", False)
        data = timm.data.create_dataset("", place.folder, class_map="", is_training=training)
        if mixed:
            settings["collate_fn"] = timm.data.FastCollateMixup(0.8, num_classes=10)
        if settings.get("num_aug_splits"):
            data = timm.data.AugMixDataset(data, settings["num_aug_splits"])

        def make(workers):
            return timm.data.create_loader(
                data, (3, 224, 224), BATCH, is_training=training, num_workers=workers, device=torch.device("cpu"), pin_memory=False,
                persistent_workers=workers > 0, interpolation="bicubic", **settings,
            )  # fmt: skip

        return make


_timm("train.py's loader (magnitude 8)", auto_augment="rand-m8-mstd0.5-inc1", re_prob=0.25, color_jitter=0.4)
_timm("train.py's loader, mixup (magnitude 8)", auto_augment="rand-m8-mstd0.5-inc1", mixed=True)
_timm("train.py's loader, augmix splits", auto_augment="augmix-m5-w4-d2", num_aug_splits=2)
_timm("validate.py's loader", training=False, crop_pct=0.875)
_timm("without prefetcher", use_prefetcher=False, auto_augment="original", re_prob=0.25)
_timm("NaFlex-like: inception crop, random interpolation", color_jitter=0.4, scale=(0.35, 1.0))


# Hugging Face


@functools.cache
def _parquet(place):
    import datasets

    source = datasets.Dataset.from_dict({"image": [{"bytes": Path(file).read_bytes(), "path": None} for file in place.files], "label": place.labels})
    path = os.path.join(place.scratch, "pictures.parquet")
    source.cast_column("image", datasets.Image()).to_parquet(path)
    return datasets.load_dataset("parquet", data_files=path, split="train", cache_dir=place.scratch)


def _hugging(title, file, compose, **known):
    @pipeline("Hugging Face " + title)
    def build(place):
        import torch
        from torchvision.transforms import Normalize

        source, name = ("huggingface/transformers", "examples/pytorch/" + file) if not file.startswith("diff:") else ("huggingface/diffusers", "examples/" + file[5:])
        processor = types.SimpleNamespace(image_mean=[0.5] * 3, image_std=[0.5] * 3)
        transform = place.names(source, name, compose, size=224, image_processor=processor, normalize=Normalize([0.5] * 3, [0.5] * 3), args=types.SimpleNamespace(**known), interpolation=_space()["InterpolationMode"].LANCZOS)

        def apply(samples):
            samples["pixel_values"] = [transform(image.convert("RGB")) for image in samples["image"]]
            return samples

        def collate(samples):
            return {"pixel_values": torch.stack([sample["pixel_values"] for sample in samples]), "labels": torch.tensor([sample["label"] for sample in samples])}

        return make_loader(_parquet(place).with_transform(apply), collate_fn=collate)


_hugging("run_image_classification.py, Parquet", "image-classification/run_image_classification.py", "Compose 0")
_hugging("run_mae.py, Parquet", "image-pretraining/run_mae.py", "Compose 0")
_hugging("diffusers train_text_to_image.py, Parquet", "diff:text_to_image/train_text_to_image.py", "Compose 0", resolution=256, center_crop=False, random_flip=True)


@pipeline("Hugging Face Trainer, image folder")
def trainer(place):
    import datasets
    import torch
    import transformers

    T = _space()["T"]
    steps = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), tail()])
    data = datasets.load_dataset("imagefolder", data_dir=place.folder, split="train", cache_dir=place.scratch)

    def apply(samples):
        return {"pixel_values": [steps(image.convert("RGB")) for image in samples["image"]], "labels": samples["label"]}

    def make(workers):
        args = transformers.TrainingArguments(place.scratch, per_device_train_batch_size=BATCH, dataloader_num_workers=workers, remove_unused_columns=False, report_to=[], use_cpu=True, dataloader_persistent_workers=workers > 0)
        return transformers.Trainer(torch.nn.Linear(1, 1), args, train_dataset=data.with_transform(apply)).get_train_dataloader()

    return make


@pipeline("Hugging Face image processor (ViT) in collate_fn")
def processor(place):
    from PIL import Image
    from transformers import ViTImageProcessor

    made = ViTImageProcessor()

    def collate(samples):
        return made([image for image, _ in samples], return_tensors="pt")["pixel_values"], [label for _, label in samples]

    return make_dataset(place, lambda path, label: (Image.open(path).convert("RGB"), label), collate_fn=collate)


@pipeline("diffusers DreamBooth")
def dreambooth(place):
    from torch.utils.data import ConcatDataset

    kind = place.names("huggingface/diffusers", "examples/dreambooth/train_dreambooth.py", "DreamBoothDataset")
    classes = sorted(glob.glob(os.path.join(place.folder, "*")))
    return make_loader(ConcatDataset([kind(each, "a photo", None, size=256, encoder_hidden_states=1) for each in classes]))


@pipeline("open_clip, training")
def open_clip(place):
    from open_clip.transform import image_transform

    return folder(place, image_transform(224, is_train=True))


@pipeline("open_clip, validation")
def open_clip_validation(place):
    from open_clip.transform import image_transform

    return folder(place, image_transform(224, is_train=False))


@pipeline("open_clip, WebDataset")
def open_clip_web(place):
    from open_clip.transform import image_transform

    return _web(place, "pilrgb", image_transform(224, is_train=True))


@pipeline("BLIP (OpenCV's RandomAugment)")
def blip(place):
    kind = place.module("salesforce/BLIP", "transform/randaugment.py").RandomAugment
    return folder(place, place.names("salesforce/BLIP", "data/__init__.py", "Compose 0", config={"image_size": 224}, min_scale=0.5, RandomAugment=kind))


# Sources


def _web(place, decode, transform):
    import webdataset

    pattern = os.path.join(place.scratch, "shard-%03d.tar")
    with webdataset.ShardWriter(pattern, maxcount=-(-len(place.files) // 4), verbose=0) as sink:
        for number, (path, label) in enumerate(zip(place.files, place.labels)):
            sink.write({"__key__": f"{number:06d}", Path(path).suffix[1:].lower(): Path(path).read_bytes(), "cls": label})
    shards = sorted(glob.glob(pattern.replace("%03d", "*")))

    def make(workers):
        data = webdataset.WebDataset(shards, shardshuffle=False, seed=3).decode(decode).to_tuple("jpg;png", "cls").map_tuple(transform, lambda label: label).batched(BATCH)
        return webdataset.WebLoader(data, batch_size=None, num_workers=workers, persistent_workers=workers > 0)

    return make


@pipeline("WebDataset, decode pil")
def web(place):
    T = _space()["T"]
    return _web(place, "pil", T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), tail()]))


@pipeline("MosaicML Streaming, JPEG")
def mosaic(place):
    import streaming
    from PIL import Image

    T = _space()["T"]
    steps, root = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), tail()]), os.path.join(place.scratch, "mds")
    with streaming.MDSWriter(out=root, columns={"image": "jpeg", "label": "int"}) as out:
        for path, label in zip(place.files, place.labels):
            with Image.open(path) as image:
                out.write({"image": image if image.format == "JPEG" else image.convert("RGB"), "label": label})

    class Shards(streaming.StreamingDataset):
        def __getitem__(self, index):
            sample = super().__getitem__(index)
            return steps(sample["image"].convert("RGB")), sample["label"]

    return lambda workers: make_loader(Shards(local=root, shuffle=False, batch_size=BATCH))(workers)


@pipeline("LitData, JPEG")
def litdata(place):
    import litdata as lit
    from PIL import Image

    T = _space()["T"]
    steps, root = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), tail()]), os.path.join(place.scratch, "lit")
    from litdata.streaming import Cache

    cache = Cache(root, chunk_bytes="4MB")
    for number, (path, label) in enumerate(zip(place.files, place.labels)):
        cache[number] = {"image": Path(path).read_bytes(), "label": label}
    cache.done()
    cache.merge()

    class Chunks(lit.StreamingDataset):
        def __getitem__(self, index):
            sample = super().__getitem__(index)
            return steps(Image.open(io.BytesIO(sample["image"])).convert("RGB")), sample["label"]

    return lambda workers: lit.StreamingDataLoader(Chunks(root), batch_size=BATCH, num_workers=workers)


def _zip_member(place, title):
    import zipfile

    import lmdb

    if title == "LMDB":
        target = os.path.join(place.scratch, "lmdb")
        with lmdb.open(target, map_size=1 << 30) as store, store.begin(write=True) as writing:
            for path in place.files:
                writing.put(path.encode(), Path(path).read_bytes())
        store = lmdb.open(target, readonly=True, lock=False)

        def read(path):
            with store.begin() as reading:
                return reading.get(path.encode())

        return read
    target = os.path.join(place.scratch, "all.zip")
    with zipfile.ZipFile(target, "w") as out:
        for path in place.files:
            out.write(path, path.lstrip("/"))
    handles = {}
    return lambda path: handles.setdefault(os.getpid(), zipfile.ZipFile(target)).read(path.lstrip("/"))


def _store_pipeline(title):
    @pipeline(title)
    def build(place):
        from PIL import Image

        T = _space()["T"]
        steps, read = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), tail()]), _zip_member(place, title)
        return make_dataset(place, lambda path, label: (steps(Image.open(io.BytesIO(read(path))).convert("RGB")), label))


_store_pipeline("LMDB")
_store_pipeline("Zip")


@pipeline("Lightning, LightningDataModule")
def lightning(place):
    import lightning as L
    from torch.utils.data import DataLoader, random_split
    from torchvision.datasets import ImageFolder

    T = _space()["T"]
    steps = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), tail()])

    class Data(L.LightningDataModule):
        def setup(self, stage):
            whole = ImageFolder(place.folder, steps)
            self.train, _ = random_split(whole, [len(whole) - 9, 9])

        def train_dataloader(self):
            return DataLoader(self.train, BATCH, shuffle=True, num_workers=self.workers, persistent_workers=self.workers > 0)

    def make(workers):
        data = Data()
        data.workers = workers
        data.setup("fit")
        return data.train_dataloader()

    return make


@pipeline("fastai, ImageDataLoaders.from_folder")
def fastai(place):
    from fastai.vision.all import ImageDataLoaders, Resize, aug_transforms

    def make(workers):
        return ImageDataLoaders.from_folder(place.folder, valid_pct=0.1, seed=3, item_tfms=Resize(256), batch_tfms=aug_transforms(size=224), bs=BATCH, num_workers=workers, device="cpu").train

    return make


@pipeline("torchvision Food101, OxfordIIITPet: a list of paths")
def listed_paths(place):
    from PIL import Image

    T = _space()["T"]
    steps = T.Compose([T.Resize((256, 256)), T.RandomCrop(224), T.RandomHorizontalFlip(), T.RandomRotation(15), tail()])
    return make_dataset(place, lambda path, label: (steps(Image.open(path).convert("RGB")), label))


# Segmentation, detection, other tasks


@pipeline("Pytorch-UNet (arrays, masks)")
def unet(place):
    kind = place.names("milesial/Pytorch-UNet", "utils/data_loading.py", "BasicDataset")
    from PIL import Image

    import torch

    named = dict(zip(place.files, masks(place)))

    def read(path, label):
        image, mask = (kind.preprocess(list(range(21)), Image.open(each).convert("RGB") if each == path else Image.open(each), 0.5, each != path) for each in (path, named[path]))
        return {"image": torch.as_tensor(image.copy()).float().contiguous(), "mask": torch.as_tensor(mask.copy()).long().contiguous()}

    return make_dataset(place, read, batch_size=1)


@pipeline("DeepLabV3Plus (picture and mask, arrays)")
def deeplab(place):
    from PIL import Image

    et = place.module("VainF/DeepLabV3Plus-Pytorch", "utils/ext_transforms.py")
    preset = et.ExtCompose([et.ExtRandomScale((0.5, 2.0)), et.ExtRandomCrop(size=(224, 224), pad_if_needed=True), et.ExtRandomHorizontalFlip(), et.ExtToTensor(), et.ExtNormalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])])
    named = dict(zip(place.files, masks(place)))
    return make_dataset(place, lambda path, label: preset(Image.open(path).convert("RGB"), Image.open(named[path])))


@pipeline("DETR")
def detr(place):
    from PIL import Image

    T = place.module("facebookresearch/detr", "datasets/transforms.py", **_detr_stubs())
    make = place.names("facebookresearch/detr", "datasets/coco.py", "make_coco_transforms", T=T)
    steps = make("train")

    def read(path, label):
        image = Image.open(path).convert("RGB")
        return steps(image, {**_boxes(image.size), "size": None} | {"orig_size": None})

    return make_dataset(place, read, collate_fn=lists, batch_size=4)


def _detr_stubs():
    import torch
    import torchvision

    def center_boxes(x):
        x0, y0, x1, y1 = x.unbind(-1)
        return torch.stack([(x0 + x1) / 2, (y0 + y1) / 2, x1 - x0, y1 - y0], dim=-1)

    box, misc, util = types.ModuleType("util.box_ops"), types.ModuleType("util.misc"), types.ModuleType("util")
    box.box_xyxy_to_cxcywh, misc.interpolate = center_boxes, torchvision.ops.misc
    return {"util": util, "util.box_ops": box, "util.misc": misc}


@pipeline("person re-identification (torchreid)")
def reid(place):
    made, _ = place.module("KaiyangZhou/deep-person-reid", "torchreid/data/transforms.py").build_transforms(256, 128, transforms=["random_flip", "random_crop", "random_erase"])
    return folder(place, made)


@pipeline("guided-diffusion (arrays)")
def guided_diffusion(place):
    crops = place.names("openai/guided-diffusion", "guided_diffusion/image_datasets.py", "center_crop_arr", "random_crop_arr", "ImageDataset", bf=types.SimpleNamespace(BlobFile=open))
    return make_loader(crops[-1](128, place.files, classes=place.labels, random_crop=True))


@pipeline("CIFAR-100 (weiaicunzai; pictures made of arrays)")
def cifar(place):
    import torchvision

    T = _space()["T"]
    return make_loader(torchvision.datasets.FakeData(96, (3, 32, 32), 100, T.Compose([T.RandomCrop(32, padding=4), T.RandomHorizontalFlip(), T.RandomRotation(15), tail()])))


@pipeline("albumentations on a picture of Pillow's")
def albumentations_arrays(place):
    import albumentations as A
    import numpy as np
    from albumentations.pytorch import ToTensorV2
    from PIL import Image

    steps = A.Compose([A.RandomResizedCrop((224, 224)), A.HorizontalFlip(), A.ColorJitter(), A.Normalize(), ToTensorV2()], seed=3)
    return make_dataset(place, lambda path, label: (steps(image=np.array(Image.open(path).convert("RGB")))["image"], label))


@pipeline("OpenCV and albumentations")
def opencv(place):
    import albumentations as A
    import cv2
    from albumentations.pytorch import ToTensorV2

    cv2.setNumThreads(0)
    steps = A.Compose([A.RandomResizedCrop((224, 224)), A.HorizontalFlip(), A.Normalize(), ToTensorV2()], seed=3)
    return make_dataset(place, lambda path, label: (steps(image=cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB))["image"], label))


@pipeline("Ultralytics, classification")
def ultralytics(place):
    from ultralytics.data.augment import classify_augmentations
    from ultralytics.data.dataset import ClassificationDataset

    args = types.SimpleNamespace(imgsz=224, fraction=1.0, scale=0.5, fliplr=0.5, flipud=0.0, auto_augment="randaugment", hsv_h=0.015, hsv_s=0.4, hsv_v=0.4, erasing=0.4, cache=False, single_cls=False)
    assert classify_augmentations
    return make_loader(ClassificationDataset(place.folder, args, augment=True))


@pipeline("torchvision read_image, v2")
def read_image(place):
    import torch
    from torchvision.io import ImageReadMode, read_image
    from torchvision.transforms import v2

    steps = v2.Compose([v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True)])
    return make_dataset(place, lambda path, label: (steps(read_image(path, ImageReadMode.RGB)), label))


@pipeline("video, frames as files")
def frames(place):
    import torch
    from PIL import Image

    T = _space()["T"]
    steps = T.Compose([T.Resize(128), T.CenterCrop(112), tail()])

    def read(path, label):
        at = place.files.index(path)
        return torch.stack([steps(Image.open(each).convert("RGB")) for each in place.files[at : at + 4]] + [torch.zeros(3, 112, 112)] * max(0, at + 4 - len(place.files))), label

    return make_dataset(place, read, batch_size=4)


@pipeline("video, decoded by OpenCV")
def video(place):
    import cv2
    import numpy as np
    import torch

    target = os.path.join(place.scratch, "film.avi")
    out = cv2.VideoWriter(target, cv2.VideoWriter_fourcc(*"MJPG"), 10, (320, 240))
    for number in range(48):
        out.write(np.full((240, 320, 3), 5 * number, np.uint8))
    out.release()

    def read(path, label):
        film = cv2.VideoCapture(target)
        film.set(cv2.CAP_PROP_POS_FRAMES, 4 * (label % 8))
        return torch.from_numpy(np.stack([film.read()[1] for _ in range(4)])), label

    return make_dataset(place, read, batch_size=4)


@pipeline("audio, spectrograms")
def audio(place):
    import torch

    def read(path, label):
        wave = torch.randn(16000)
        return torch.stft(wave, 400, window=torch.hann_window(400), return_complex=True).abs().log1p(), label

    return make_dataset(place, read)


@pipeline("text, tokens of a memory map (nanoGPT)")
def tokens(place):
    import numpy as np
    import torch
    from torch.utils.data import Dataset

    place.path("karpathy/nanoGPT")
    target = os.path.join(place.scratch, "train.bin")
    np.random.default_rng(3).integers(0, 50257, 100_000, dtype=np.uint16).tofile(target)

    class Tokens(Dataset):
        def __len__(self):
            return 256

        def __getitem__(self, index):
            data = np.memmap(target, dtype=np.uint16, mode="r")
            at = int(torch.randint(len(data) - 257, (1,)))
            return torch.from_numpy(data[at : at + 257].astype(np.int64))

    return make_loader(Tokens())


# One run


def job(title, fed, place, steps, compared):
    """Digests of the batches if they are compared, CPU of the counted epochs, what was made by whom; or a digest of the losses of so many steps."""
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(ROOT / "python/tests"))
    from deferred_pipelines import digest

    if fed:
        import stoker

        stoker.feed()
    _seed()
    make = PIPELINES[title](place)
    if steps:
        _seed()
        return {"digests": _losses(make, steps), "made": _count_pictures()}
    found = []
    for workers in WORKERS if compared else WORKERS[-1:]:
        _seed()
        batches = make(workers)
        for _ in range(EPOCHS if compared else 1):
            seen = hashlib.sha256()
            for batch in batches:
                digest(batch, seen) if compared else None
            found.append(seen.hexdigest()[:16])
        found.append(_chance())
    cpu, began = account.cpu_seconds(), time.monotonic()
    for _ in range(COUNTED):
        for _ in batches:
            pass
    return {"digests": found, "cpu": account.cpu_seconds() - cpu, "seconds": time.monotonic() - began, "made": _count_pictures()}


def _seed():
    import numpy as np
    import torch

    torch.manual_seed(7)
    random.seed(7)
    np.random.seed(7)


def _chance():
    """What the generators give next."""
    import numpy as np
    import torch

    return repr((torch.rand(1).item(), random.random(), np.random.rand()))


def _losses(make, steps):
    """A digest of the losses of so many steps of a small network."""
    import torch

    batches = make(2)
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 7, stride=4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(4, 10))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    losses = []
    while len(losses) < steps:
        for batch in batches:
            images, labels = batch.values() if isinstance(batch, dict) else batch
            images = images[0] if isinstance(images, list) else images
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item().hex())
            if len(losses) == steps:
                break
    return [hashlib.sha256(" ".join(losses).encode()).hexdigest()[:16], losses[-1], len(losses)]


def _count_pictures():
    """Pictures that the daemon made whole, those that it made in part, and those that Pillow or another library decoded."""
    if "stoker" not in sys.modules:
        return [0, 0, 0]
    from stoker.deferred.recipes import share

    return share.read_counts()[0][:3]


# All of them


def measure(title, fed, arguments, compared=True):
    with account.Group() as group, tempfile.TemporaryDirectory() as scratch:
        result, said = Path(scratch, "result"), Path(scratch, "said")
        child = os.fork()
        if not child:
            _run(title, fed, arguments, group, scratch, result, said, compared)
        os.waitpid(child, 0)
        made = json.loads(result.read_text()) if result.exists() else {"error": "it ended"}
        return {**made, "said": [line for line in said.read_text().splitlines() if "stoker" in line]}


def glance(make_of):
    """Digests of a few batches, alone and then fed, in this process, without workers: for class and equality alone."""
    sys.path.insert(0, str(ROOT / "python/tests"))
    from deferred_pipelines import digest

    def few():
        make, found = make_of(), []
        _seed()
        for _, batch in zip(range(_FEW), make(0)):
            seen = hashlib.sha256()
            digest(batch, seen)
            found.append(seen.hexdigest()[:16])
        return [*found, _chance()]

    alone = few()
    import stoker

    stoker.feed()
    return {"cpu": 0, "digests": alone}, {"cpu": 0, "digests": few(), "made": _count_pictures()}


_FEW = 5  # batches


def _run(title, fed, arguments, group, scratch, result, said, compared):
    """In the child: its work and its end."""
    try:
        group.enter()
        os.environ.update(group.environment())
        with open(said, "w") as file:
            for stream in (1, 2):
                os.dup2(file.fileno(), stream)
        place = Place(arguments.folder, arguments.repositories, scratch)
        if fed is None:
            both = glance(lambda: PIPELINES[title](place))
            made = {"alone": both[0], "fed": both[1]}
        else:
            made = job(title, fed, place, arguments.losses, compared)
    except BaseException as error:
        made = {"error": f"{type(error).__name__}: {str(error).strip().splitlines()[-1] if str(error) else ''}"[:300]}
    result.with_suffix(".new").write_text(json.dumps(made))
    result.with_suffix(".new").rename(result)
    sys.stderr.flush()
    os._exit(0)


def judge(title, alone, fed):
    """A line of the table."""
    error = alone.get("error") or fed.get("error")
    if error:
        missing = any(word in error for word in ("ImportError", "ModuleNotFoundError")) and "error" in alone
        return {"pipeline": title, "result": "absent" if missing else "broken alone" if "error" in alone else "BROKEN", "why": error}
    row = {"pipeline": title, "equal": alone["digests"] == fed["digests"], "said": fed["said"][:2]}
    if "cpu" not in alone:
        return row | {"losses": alone["digests"], "made": fed["made"]}
    whole, part, pillow = fed["made"]
    result = "none" if whole + part == 0 else "whole" if whole >= 0.9 * (whole + part + pillow) else "part"
    row |= {"result": result, "made": fed["made"]}
    return row if not alone["cpu"] else row | {"cpu_alone": round(alone["cpu"], 2), **_ratios(alone, fed)}


def _ratios(alone, fed):
    return {"ratio": [round(fed["cpu"] / alone["cpu"], 3)], "speed": [round(alone["seconds"] / fed["seconds"], 2)]}


def repeat(row, title, arguments):
    """The row with what further rounds count."""
    for _ in range(arguments.rounds - 1 if row.get("result") == "whole" and "ratio" in row else 0):
        more = _ratios(*(measure(title, fed, arguments, compared=False) for fed in (False, True)))
        row |= {name: row[name] + value for name, value in more.items()}
    return row


def table(files):
    """What runs printed, as the document has it; of a pipeline that several have the last, and of rounds the median with their range."""
    rows = {row["pipeline"]: row for file in files for row in map(json.loads, Path(file).read_text().splitlines())}
    lines = ["| pipeline | made by Go | pictures whole, in part, by Pillow | CPU | speed | equal |", "|---|---|---|---|---|---|"]
    for title in (title for title in PIPELINES if title in rows):
        row = rows[title]
        if "equal" not in row:
            lines.append(f"| {title} | {row['result']}: {row['why']:.100} | | | | |")
            continue
        counts = ", ".join(map(str, row["made"]))
        lines.append(f"| {title} | {row['result']} | {counts} | {spread(row['ratio'])} | {spread(row['speed'])} | {'yes' if row['equal'] else 'NO'} |")
    results = [row["result"] for row in rows.values()]
    unequal = sum(not row.get("equal", True) for row in rows.values())
    whole = [statistics.median(row["ratio"]) for row in rows.values() if row["result"] == "whole"]
    lines += [
        "",
        f"{len(rows)} pipelines: " + ", ".join(f"{results.count(kind)} {kind}" for kind in ("whole", "part", "none", "absent", "broken alone", "BROKEN")) + f"; {unequal} unequal. "
        f"CPU of the whole ones: {spread(whole) if whole else '–'}.",
    ]  # fmt: skip
    return "\n".join(lines)


def spread(values):
    """The median, and the range where there are several."""
    middle = f"{statistics.median(values):.2f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.2f} to {max(values):.2f})"


def prepare():
    """What the processes that are forked have in common."""
    os.environ.update(HF_HUB_OFFLINE="1", NO_ALBUMENTATIONS_UPDATE="1", TQDM_DISABLE="1", STOKER_BIN=str(ROOT / "bin/stoker"))
    sys.path.insert(0, str(ROOT / "python"))
    import torch

    _space()
    torch.set_num_threads(1)


def main():
    global BATCH
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--repositories", required=True)
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="titles that have one of these texts")
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--rounds", type=int, default=1, help="of CPU time and speed, alone and fed in turn")
    parser.add_argument("--losses", type=int, default=0, metavar="STEPS", help="train so many steps instead, and compare the losses")
    parser.add_argument("--table", nargs="+", metavar="FILE", help="print what earlier runs printed into these files as a table instead")
    parser.add_argument("--part", default="0/1", help="of several runs side by side: 1/3 is the second of three")
    arguments = parser.parse_args()
    arguments.folder, arguments.repositories = map(os.path.abspath, (arguments.folder, arguments.repositories))
    BATCH = arguments.batch
    if arguments.table:
        return print(table(arguments.table))
    prepare()
    part, parts = map(int, arguments.part.split("/"))
    for number, title in enumerate(PIPELINES):
        if any(text.lower() in title.lower() for text in arguments.only) and number % parts == part:
            row = judge(title, measure(title, False, arguments), measure(title, True, arguments))
            print(json.dumps(repeat(row, title, arguments)), flush=True)


if __name__ == "__main__":
    main()
