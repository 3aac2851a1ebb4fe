#!/usr/bin/env python3
"""The loaders that are compared, all with the same task; loaders.py runs this file, each in its own Python.

The task: pictures in batches, shuffled again in each epoch, RandomResizedCrop 224,
a horizontal flip by chance, normalised to float32, as an array of the shape
batch, 3, 224, 224 (with --uint8: without the normalising). A loader whose idiom is another memory layout
keeps it, and Contestant.note says so. A contestant gives one iterable per epoch, of pairs (images, numbers of
the pictures), both NumPy arrays, valid until the next pair.
"""

import argparse
import importlib
import itertools
import json
import math
import os
import random
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import account

#: ImageNet's, as everybody uses them.
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SIZE = 224

#: The descriptor that loaders.py listens to.
PIPE = "STOKER_BENCH_PIPE"
STARTED = "STOKER_BENCH_STARTED"


@dataclass(frozen=True)
class Job:
    """What every contestant is asked for."""

    root: str  # a folder per picture: the label that ImageFolder gives is the picture's number
    scratch: str  # where a contestant that needs another form of the data keeps it
    images: int
    epochs: int
    batch: int = 64
    workers: int = 2
    uint8: bool = False

    @property
    def files(self) -> list[str]:
        return [str(next(folder.iterdir())) for folder in sorted(Path(self.root).iterdir())]

    @property
    def steps(self) -> int:
        return self.images // self.batch


Epochs = Iterable[Iterable[tuple]]


def slice_epochs(job: Job, batches: Iterator[tuple]) -> Epochs:
    """Epochs of one endless stream of batches: the loader prefetches across their borders."""
    for _ in range(job.epochs):
        yield itertools.islice(batches, job.steps)


def number_pictures(job: Job) -> Iterator[tuple[int, str]]:
    """Pictures without end, a fresh permutation for each epoch."""
    pictures, draw = list(enumerate(job.files)), random.Random(0)
    while True:
        yield from draw.sample(pictures, len(pictures))


def crop(draw: random.Random, width: int, height: int) -> tuple[int, int, int, int]:
    """torchvision's RandomResizedCrop for those that have none: left, top, width, height."""
    for _ in range(10):
        area = width * height * draw.uniform(0.08, 1)
        ratio = math.exp(draw.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return draw.randint(0, width - w), draw.randint(0, height - h), w, h
    w, h = min(width, round(height * 4 / 3)), min(height, round(width * 4 / 3))
    return (width - w) // 2, (height - h) // 2, w, h


def normaliser():
    """A function that normalises uint8 of the shape height, width, 3 into float32 of 3, height, width."""
    import numpy as np

    scale = (1 / (255 * np.array(STD, np.float32))).reshape(3, 1, 1)
    shift = (np.array(MEAN, np.float32) / np.array(STD, np.float32)).reshape(3, 1, 1)

    def normalise(pixels, out):
        np.multiply(np.moveaxis(pixels, -1, -3), scale, out=out)
        np.subtract(out, shift, out=out)

    return normalise


# Ours.


def stoker_loader(job: Job) -> Epochs:
    import stoker

    loader = stoker.DataLoader(torch_dataset(job), batch_size=job.batch, shuffle=True, num_workers=job.workers)
    for _ in range(job.epochs):
        yield ((images.numpy(), labels.numpy()) for images, labels in loader)


def stoker_numpy(job: Job) -> Epochs:
    import stoker

    tail = [{"op": "pil_to_tensor"}] if job.uint8 else [{"op": "to_tensor"}, {"op": "normalize", "mean": MEAN, "std": STD}]
    ops = [{"op": "random_resized_crop", "size": [SIZE, SIZE]}, {"op": "random_horizontal_flip"}, *tail]
    loader = stoker.Loader(job.root, ops, batch_size=job.batch, shuffle=True, num_workers=job.workers)
    for _ in range(job.epochs):
        yield iter(loader)


# PyTorch.


def torch_dataset(job: Job):
    from torchvision import transforms
    from torchvision.datasets import ImageFolder

    tail = [transforms.PILToTensor()] if job.uint8 else [transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
    steps = [transforms.RandomResizedCrop(SIZE), transforms.RandomHorizontalFlip(), *tail]
    return ImageFolder(job.root, transforms.Compose(steps))


def torch_loader(job: Job, dataset) -> Epochs:
    from torch.utils.data import DataLoader

    loader = DataLoader(dataset, batch_size=job.batch, shuffle=True, num_workers=job.workers, persistent_workers=True)
    for _ in range(job.epochs):
        yield ((images.numpy(), labels.numpy()) for images, labels in loader)


def torch_pil(job: Job) -> Epochs:
    return torch_loader(job, torch_dataset(job))


def torch_v2(job: Job) -> Epochs:
    import torch
    from torchvision.datasets import ImageFolder
    from torchvision.io import ImageReadMode, decode_jpeg, read_file
    from torchvision.transforms import v2

    tail = [] if job.uint8 else [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    steps = v2.Compose([v2.RandomResizedCrop(SIZE, antialias=True), v2.RandomHorizontalFlip(), *tail])
    return torch_loader(job, ImageFolder(job.root, steps, loader=lambda path: decode_jpeg(read_file(path), ImageReadMode.RGB)))


# The others.


def opencv(job: Job) -> Epochs:
    """Threads that decode straight into a few batches' memory, used again and again."""
    import threading
    from concurrent.futures import ThreadPoolExecutor

    import cv2
    import numpy as np

    cv2.setNumThreads(0)
    normalise, own = normaliser(), threading.local()
    shape, dtype = ((SIZE, SIZE, 3), np.uint8) if job.uint8 else ((3, SIZE, SIZE), np.float32)

    def one(path, out):
        draw = own.__dict__.setdefault("draw", random.Random(threading.get_ident()))
        whole = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR_RGB)
        left, top, width, height = crop(draw, whole.shape[1], whole.shape[0])
        small = cv2.resize(whole[top : top + height, left : left + width], (SIZE, SIZE), interpolation=cv2.INTER_LINEAR)
        if draw.random() < 0.5:
            small = cv2.flip(small, 1)
        if job.uint8:
            out[...] = small
        else:
            normalise(small, out)

    pool, pictures = ThreadPoolExecutor(job.workers), number_pictures(job)
    spare = deque(np.zeros((job.batch, *shape), dtype) for _ in range(4))

    def begin():
        part, images = list(itertools.islice(pictures, job.batch)), spare.popleft()
        done = [pool.submit(one, path, out) for (_, path), out in zip(part, images, strict=True)]
        return np.array([number for number, _ in part]), images, done

    def batches():
        ahead = deque(begin() for _ in range(3))
        while True:
            numbers, images, done = ahead.popleft()
            for future in done:
                future.result()
            yield images.transpose(0, 3, 1, 2) if job.uint8 else images, numbers
            spare.append(images)
            ahead.append(begin())

    return slice_epochs(job, batches())


def dali(job: Job) -> Epochs:
    import numpy as np
    from nvidia.dali import fn, pipeline_def, types

    @pipeline_def(batch_size=job.batch, num_threads=job.workers, device_id=None, seed=0)
    def pipeline():
        encoded, numbers = fn.readers.file(files=job.files, labels=list(range(job.images)), shuffle_after_epoch=True)
        whole = fn.decoders.image_random_crop(encoded, device="cpu", output_type=types.RGB)
        small = fn.resize(whole, resize_x=SIZE, resize_y=SIZE, interp_type=types.INTERP_LINEAR, antialias=True)
        mirror = fn.random.coin_flip()
        if job.uint8:
            return fn.crop_mirror_normalize(small, mirror=mirror, dtype=types.UINT8, output_layout="CHW"), numbers
        mean, std = [255 * value for value in MEAN], [255 * value for value in STD]
        return fn.crop_mirror_normalize(small, mirror=mirror, dtype=types.FLOAT, output_layout="CHW", mean=mean, std=std), numbers

    built = pipeline()
    built.build()

    def batches():
        while True:
            images, numbers = built.run()
            yield np.asarray(images.as_tensor()), np.asarray(numbers.as_tensor()).reshape(-1)

    return slice_epochs(job, batches())


def spdl(job: Job) -> Epochs:
    import numpy as np
    from spdl import io
    from spdl.pipeline import PipelineBuilder

    normalise, draw = normaliser(), random.Random(0)

    def decode(picture):
        number, path = picture
        packets = io.demux_image(path)
        left, top, width, height = crop(draw, packets.width, packets.height)
        flip = "hflip," if draw.random() < 0.5 else ""
        steps = f"crop=w={width}:h={height}:x={left}:y={top},scale=w={SIZE}:h={SIZE}:flags=bilinear,{flip}format=pix_fmts=rgb24"
        return number, io.decode_packets(packets, filter_desc=steps)

    def collate(pictures):
        pixels = io.to_numpy(io.convert_frames([frames for _, frames in pictures]))
        numbers = np.array([number for number, _ in pictures])
        if job.uint8:
            return pixels.transpose(0, 3, 1, 2), numbers
        out = np.empty((len(pictures), 3, SIZE, SIZE), np.float32)
        normalise(pixels, out)
        return out, numbers

    builder = PipelineBuilder().add_source(number_pictures(job))
    # In the order of completion a picture could slip into the next epoch.
    builder = builder.pipe(decode, concurrency=job.workers, output_order="input").aggregate(job.batch).pipe(collate)
    built = builder.add_sink(2).build(num_threads=job.workers)

    def batches():
        with built.auto_stop():
            yield from built

    return slice_epochs(job, batches())


def grain_loader(job: Job, one: Callable) -> Epochs:
    import grain

    pictures = list(enumerate(job.files))
    data = grain.MapDataset.source(pictures).seed(0).shuffle().repeat().random_map(one)
    # The default is 16 threads in each worker, 500 pictures ahead.
    reading = grain.ReadOptions(num_threads=1, prefetch_buffer_size=job.batch)
    processes = grain.MultiprocessingOptions(num_workers=job.workers)
    stream = data.to_iter_dataset(reading).batch(job.batch).mp_prefetch(processes)
    return slice_epochs(job, ((batch["image"], batch["number"]) for batch in stream))


def grain_pil(job: Job) -> Epochs:
    import numpy as np
    from PIL import Image

    normalise = normaliser()

    def one(picture, generator):
        number, path = picture
        draw = random.Random(int(generator.integers(1 << 62)))
        with Image.open(path) as whole:
            left, top, width, height = crop(draw, *whole.size)
            small = whole.convert("RGB").resize((SIZE, SIZE), Image.Resampling.BILINEAR, (left, top, left + width, top + height))
        if draw.random() < 0.5:
            small = small.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return {"image": finish(np.asarray(small)), "number": number}

    def finish(pixels):
        if job.uint8:
            return np.moveaxis(pixels, -1, 0)
        out = np.empty((3, SIZE, SIZE), np.float32)
        normalise(pixels, out)
        return out

    return grain_loader(job, one)


def grain_opencv(job: Job) -> Epochs:
    import cv2
    import numpy as np

    cv2.setNumThreads(0)
    normalise = normaliser()

    def one(picture, generator):
        number, path = picture
        draw = random.Random(int(generator.integers(1 << 62)))
        whole = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR_RGB)
        left, top, width, height = crop(draw, whole.shape[1], whole.shape[0])
        small = cv2.resize(whole[top : top + height, left : left + width], (SIZE, SIZE), interpolation=cv2.INTER_LINEAR)
        if draw.random() < 0.5:
            small = cv2.flip(small, 1)
        if job.uint8:
            return {"image": np.moveaxis(small, -1, 0), "number": number}
        out = np.empty((3, SIZE, SIZE), np.float32)
        normalise(small, out)
        return {"image": out, "number": number}

    return grain_loader(job, one)


def tf_data(job: Job) -> Epochs:
    import tensorflow as tf

    everywhere = tf.zeros((1, 0, 4))

    def one(number, path):
        encoded = tf.io.read_file(path)
        shape = tf.io.extract_jpeg_shape(encoded)
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            shape, everywhere, area_range=(0.08, 1.0), aspect_ratio_range=(3 / 4, 4 / 3), max_attempts=10,
            use_image_if_no_bounding_boxes=True,
        )  # fmt: skip
        window = tf.stack([begin[0], begin[1], size[0], size[1]])
        part = tf.io.decode_and_crop_jpeg(encoded, window, channels=3)
        small = tf.image.random_flip_left_right(tf.image.resize(part, (SIZE, SIZE)))
        if job.uint8:
            return tf.cast(small, tf.uint8), number
        return (small - [255 * value for value in MEAN]) / [255 * value for value in STD], number

    data = tf.data.Dataset.from_tensor_slices((list(range(job.images)), job.files)).shuffle(job.images).repeat()
    data = data.map(one, num_parallel_calls=job.workers).batch(job.batch).prefetch(2)
    options = tf.data.Options()
    options.threading.private_threadpool_size = job.workers
    stream = data.with_options(options).as_numpy_iterator()
    return slice_epochs(job, ((images.transpose(0, 3, 1, 2), numbers) for images, numbers in stream))


def ffcv_file(job: Job, kind: str) -> Path:
    """FFCV's own form of the data, written once: with the very bytes of the JPEGs, or with their pixels."""
    import numpy as np
    from ffcv.fields import IntField, RGBImageField
    from ffcv.fields.rgb_image import IMAGE_MODES
    from ffcv.writer import DatasetWriter
    from PIL import Image

    def same_bytes(field, destination, image, malloc):
        encoded, (destination["width"], destination["height"]) = image
        destination["mode"] = IMAGE_MODES["jpg"]
        destination["data_ptr"], storage = malloc(len(encoded))
        storage[:] = np.frombuffer(encoded, np.uint8)

    class Pictures:
        def __init__(self):
            self.files = job.files

        def __len__(self):
            return job.images

        def __getitem__(self, number):
            with Image.open(self.files[number]) as image:
                if kind == "raw":
                    return np.asarray(image.convert("RGB")), number
                return (Path(self.files[number]).read_bytes(), image.size), number

    total = sum(os.path.getsize(file) for file in job.files)  # tells another set from this one
    made = Path(job.scratch) / f"ffcv-{kind}-{job.images}-{total}.beton"
    if not made.exists():
        if kind == "jpeg":
            # The writer would encode again, in another quality: the figures would be of other files.
            RGBImageField.encode = same_bytes
        unfinished = made.with_suffix(".unfinished")
        writer = DatasetWriter(str(unfinished), {"image": RGBImageField(), "number": IntField()}, num_workers=job.workers)
        writer.from_indexed_dataset(Pictures())
        unfinished.rename(made)
    return made


def ffcv_loader(job: Job, kind: str) -> Epochs:
    import numpy as np
    from ffcv.fields.basics import IntDecoder
    from ffcv.fields.rgb_image import RandomResizedCropRGBImageDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, ToTensor, ToTorchImage

    mean, std = 255 * np.array(MEAN), 255 * np.array(STD)
    tail = [] if job.uint8 else [NormalizeImage(mean, std, np.float32)]
    image = [RandomResizedCropRGBImageDecoder((SIZE, SIZE)), RandomHorizontalFlip(), *tail, ToTensor(), ToTorchImage()]
    loader = Loader(
        str(ffcv_file(job, kind)), batch_size=job.batch, num_workers=job.workers, order=OrderOption.RANDOM,
        pipelines={"image": image, "number": [IntDecoder(), ToTensor()]},
    )  # fmt: skip
    for _ in range(job.epochs):
        yield ((images.numpy(), numbers.numpy().reshape(-1)) for images, numbers in loader)


def ffcv_jpeg(job: Job) -> Epochs:
    return ffcv_loader(job, "jpeg")


def ffcv_raw(job: Job) -> Epochs:
    return ffcv_loader(job, "raw")


@dataclass(frozen=True)
class Contestant:
    name: str  # for --only
    title: str
    make: Callable[[Job], Epochs]
    venv: str
    imports: tuple[str, ...]  # what a script would import at its top
    versions: tuple[str, ...]  # distributions whose versions the table names
    note: str = ""
    decodes: bool = True  # False: it gets pixels that were decoded before
    prepare: Callable[[Job], object] | None = None  # run once before all rounds, not counted


TORCHVISION = ("torch", "torchvision.transforms.v2")
OWN = ("torch", "torchvision.transforms", "stoker")
AREA = "averages areas; NHWC"
LINEAR = "no antialias"

CONTESTANTS = (
    Contestant("stoker", "stoker, exact", stoker_loader, "torch", OWN, ("stoker",), "Pillow's pixels"),
    Contestant("stoker-numpy", "stoker.Loader, exact", stoker_numpy, "torch", ("numpy", "stoker"), ("stoker",), "without torch"),
    Contestant("torch-v2", "DataLoader, torchvision v2 on tensors", torch_v2, "torch", TORCHVISION, ("torch", "torchvision")),
    Contestant("torch-pil", "DataLoader, PIL", torch_pil, "torch", TORCHVISION, ("torch", "torchvision", "pillow")),
    Contestant("opencv", "OpenCV in a thread pool", opencv, "opencv", ("cv2", "numpy"), ("opencv-python-headless",), LINEAR),
    Contestant("ffcv-jpeg", "FFCV, same JPEG bytes", ffcv_jpeg, "ffcv", ("torch", "ffcv.loader"), ("ffcv",), AREA,
               prepare=lambda job: ffcv_file(job, "jpeg")),
    Contestant("ffcv-raw", "FFCV, pixels decoded before", ffcv_raw, "ffcv", ("torch", "ffcv.loader"), ("ffcv",), AREA,
               decodes=False, prepare=lambda job: ffcv_file(job, "raw")),
    Contestant("tf-data", "tf.data, decode_and_crop_jpeg", tf_data, "tf", ("tensorflow",), ("tensorflow-cpu",), f"{LINEAR}; NHWC"),
    Contestant("dali", "DALI, CPU backend", dali, "dali", ("nvidia.dali.fn",), ("nvidia-dali-cuda130",)),
    Contestant("grain-opencv", "Grain, OpenCV", grain_opencv, "grain", ("grain", "cv2"), ("grain", "opencv-python-headless"), LINEAR),
    Contestant("grain-pil", "Grain, PIL", grain_pil, "grain", ("grain", "PIL.Image"), ("grain", "pillow")),
    Contestant("spdl", "SPDL, FFmpeg", spdl, "spdl", ("spdl.io", "spdl.pipeline"), ("spdl-io",), LINEAR),
)  # fmt: skip

BY_NAME = {contestant.name: contestant for contestant in CONTESTANTS}


# The consumer.


@dataclass
class Epoch:
    cpu: float  # CPU seconds of all processes so far
    at: float  # time.monotonic() at its end
    samples: int
    once: bool  # each picture exactly once
    brightness: float  # of the pixels looked at, 0 to 255


def consume(contestant: Contestant, job: Job, tell: Callable[[dict], None]) -> None:
    """Take all epochs as a training loop would, and tell of the first batch and of each epoch's end."""
    import numpy as np

    shape, dtype = (job.batch, 3, SIZE, SIZE), np.dtype(np.uint8 if job.uint8 else np.float32)
    scale = (1, 0) if job.uint8 else (255 * np.mean(STD), 255 * np.mean(MEAN))
    first = True
    for batches in contestant.make(job):
        seen, total = [], []
        for images, numbers in batches:
            if images.shape != shape or images.dtype != dtype:
                raise SystemExit(f"{contestant.name} gives {images.dtype} of the shape {images.shape}, not {dtype} of {shape}")
            total.append(images[:, :, ::16, ::16].mean(dtype=np.float64))
            seen.extend(numbers.tolist())
            if first:
                tell({"first_batch": time.monotonic() - float(os.environ[STARTED])})
                first = False
        once = sorted(seen) == list(range(job.images))
        end = Epoch(account.cpu_seconds(), time.monotonic(), len(seen), once, float(np.mean(total) * scale[0] + scale[1]))
        tell({"epoch": asdict(end)})


def versions(contestant: Contestant) -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": sys.version.split()[0]}
    for name in contestant.versions:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "this checkout"
    return found


def load(contestant: Contestant) -> None:
    for module in contestant.imports:
        importlib.import_module(module)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=BY_NAME)
    parser.add_argument("job", help="a Job as JSON")
    parser.add_argument("--prepare", action="store_true", help="only import, and make the form of the data that it needs")
    arguments = parser.parse_args()
    contestant, job = BY_NAME[arguments.name], Job(**json.loads(arguments.job))
    if arguments.prepare:
        load(contestant)
        if contestant.prepare:
            contestant.prepare(job)
        return
    with os.fdopen(int(os.environ[PIPE]), "w", buffering=1) as pipe:
        load(contestant)
        imported = time.monotonic() - float(os.environ[STARTED])
        pipe.write(json.dumps({"imported": imported, "versions": versions(contestant)}) + "\n")
        consume(contestant, job, lambda told: pipe.write(json.dumps(told) + "\n"))


if __name__ == "__main__":
    main()
