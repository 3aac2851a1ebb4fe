#!/usr/bin/env python3
"""Makes the reference set: 1,280 JPEGs of ImageNet's usual size and weight, always the same ones.

    bench/loader/install-peers photos
    python/.venv/bin/python bench/loader/make_reference.py            # data/reference, 140 MB, half a minute

What the pictures are: crops of eleven real photographs that scikit-image,
scikit-learn, imgaug and matplotlib carry for their examples, each scaled,
mirrored or not, sharpened as cameras do, its brightness and contrast changed a
little. 65 % are
500x375, 20 % 375x500, the rest 500x333, 500x500 and 640x480. All are baseline,
4:2:0, with libjpeg's standard Huffman tables, written by Pillow in one quality,
which is chosen so that a file has 110 KB on average: that of ImageNet. Bytes
and pixels decide the cost of decoding, and both match; the motif plays no
part.

The folder is one for torchvision's ImageFolder: ten classes of 128 files. The
pictures depend on --seed only, and their bytes on Pillow's version too;
reference.json in the folder tells both, and a digest of all the files.
"""

import argparse
import hashlib
import io
import json
import random
import shutil
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import PIL
from PIL import Image, ImageEnhance, features

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PHOTOS = HERE / ".venv/photos"

#: Colour photographs of everyday things, as the packages carry them.
NAMES = (
    "skimage/data/astronaut.png",
    "skimage/data/chelsea.png",
    "skimage/data/coffee.png",
    "skimage/data/motorcycle_left.png",
    "skimage/data/motorcycle_right.png",
    "skimage/data/rocket.jpg",
    "skimage/data/hubble_deep_field.jpg",
    "sklearn/datasets/images/china.jpg",
    "sklearn/datasets/images/flower.jpg",
    "imgaug/quokka.jpg",
    "matplotlib/mpl-data/sample_data/grace_hopper.jpg",
)

SIZES = ((500, 375), (375, 500), (500, 333), (500, 500), (640, 480))
SHARES = (65, 20, 6, 5, 4)

CLASSES = 10
MEAN_BYTES = 110_000
TOLERANCE = 3_000
#: Every so manieth picture is encoded in the search for the quality.
STRIDE = 3
#: Scaling the small photographs leaves them softer than a camera's pictures of this size.
SHARPNESS = 1.8


def load(photos: Path) -> list[Image.Image]:
    """The photographs, in a fixed order."""
    missing = [name for name in NAMES if not (photos / name).exists()]
    if missing:
        sys.exit(f"make_reference: {photos / missing[0]} is missing: run bench/loader/install-peers photos")
    return [Image.open(photos / name).convert("RGB") for name in NAMES]


def picture(photographs: list[Image.Image], seed: int, number: int) -> Image.Image:
    """Picture `number` of the set: a crop of a photograph, scaled to one of the sizes."""
    draw = random.Random(f"{seed} {number}")
    photograph = draw.choice(photographs)
    width, height = draw.choices(SIZES, SHARES)[0]
    fit = min(photograph.width / width, photograph.height / height)
    zoom = fit * draw.uniform(0.75, 1)
    crop_width, crop_height = zoom * width, zoom * height
    left, top = draw.uniform(0, photograph.width - crop_width), draw.uniform(0, photograph.height - crop_height)
    box = (left, top, left + crop_width, top + crop_height)
    made = photograph.resize((width, height), Image.Resampling.LANCZOS, box)
    if draw.random() < 0.5:
        made = made.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    made = ImageEnhance.Sharpness(made).enhance(SHARPNESS)
    made = ImageEnhance.Contrast(made).enhance(draw.uniform(0.9, 1.25))
    return ImageEnhance.Brightness(made).enhance(draw.uniform(0.85, 1.15))


def encode(image: Image.Image, quality: int) -> bytes:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality, subsampling="4:2:0", optimize=False, progressive=False)
    return out.getvalue()


def choose_quality(photographs: list[Image.Image], count: int, seed: int) -> int:
    """The quality whose files come nearest to MEAN_BYTES, over pictures spread over the set."""
    sample = [picture(photographs, seed, number) for number in range(0, count, STRIDE)]

    def distance(quality: int) -> float:
        return abs(statistics.mean(len(encode(image, quality)) for image in sample) - MEAN_BYTES)

    return min(range(94, 100), key=distance)


def make(folder: Path, photographs: list[Image.Image], count: int, seed: int, quality: int) -> list[bytes]:
    """Write all the files into a fresh folder; the encoded bytes, in order."""
    if folder.exists():
        shutil.rmtree(folder)
    for number in range(CLASSES):
        (folder / f"class-{number}").mkdir(parents=True)
    with ThreadPoolExecutor() as pool:
        files = list(pool.map(lambda number: encode(picture(photographs, seed, number), quality), range(count)))
    for number, data in enumerate(files):
        (folder / f"class-{number % CLASSES}" / f"{number:05d}.jpg").write_bytes(data)
    return files


def describe(files: list[bytes], seed: int, quality: int) -> dict:
    sizes = sorted(len(data) for data in files)
    return {
        "images": len(files),
        "seed": seed,
        "quality": quality,
        "mean_bytes": round(statistics.mean(sizes)),
        "median_bytes": round(statistics.median(sizes)),
        "smallest_bytes": sizes[0],
        "largest_bytes": sizes[-1],
        "sha256": hashlib.sha256(b"".join(hashlib.sha256(data).digest() for data in files)).hexdigest(),
        "pillow": PIL.__version__,
        "libjpeg_turbo": features.version("libjpeg_turbo"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, default=ROOT / "data/reference", help="folder to make anew (default data/reference)")
    parser.add_argument("--images", type=int, default=1280)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--photos", type=Path, default=PHOTOS, help="where install-peers put the photographs")
    arguments = parser.parse_args()
    if arguments.to.exists() and not (arguments.to / "reference.json").exists() and any(arguments.to.iterdir()):
        sys.exit(f"make_reference: {arguments.to} is not a reference set: name another folder with --to")
    photographs = load(arguments.photos)
    quality = choose_quality(photographs, arguments.images, arguments.seed)
    told = describe(make(arguments.to, photographs, arguments.images, arguments.seed, quality), arguments.seed, quality)
    (arguments.to / "reference.json").write_text(json.dumps(told, indent=1) + "\n")
    print(f"make_reference: {arguments.to}: crops of {len(NAMES)} photographs: {json.dumps(told)}")
    if abs(told["mean_bytes"] - MEAN_BYTES) > TOLERANCE:
        sys.exit(f"make_reference: a file has {told['mean_bytes']} bytes on average, not {MEAN_BYTES} +- {TOLERANCE}: figures would not compare")


if __name__ == "__main__":
    main()
