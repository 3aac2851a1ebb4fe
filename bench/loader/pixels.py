"""The pixels of `stoker feed` against Pillow's and torchvision's, from the file to the tensor.

    python bench/loader/pixels.py [--pairs 5000] [--keep FOLDER]

draws images, writes them as JPEG (all subsamplings, odd sizes, grey, progressive,
restart markers, EXIF) and a few as PNG, takes each through random parameters with
Pillow and torchvision, and has the Go test TestPixelsFromFiles do the same: the same
file, the same crop, resize and flips, uint8. It prints how many bytes differ. Needs
torch, torchvision, Pillow, NumPy and Go.
"""
import argparse
import hashlib
import io
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
import torchvision
import PIL
from PIL import Image, ImageDraw, features
from torchvision.transforms import InterpolationMode
from torchvision.transforms import functional as F

FILTERS = {"bilinear": InterpolationMode.BILINEAR, "bicubic": InterpolationMode.BICUBIC}
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def draw(rng, width, height):
    """Overlapping ellipses on a gradient, and sensor noise: edges, flat parts, texture."""
    image = Image.new("RGB", (width, height), tuple(rng.randrange(256) for _ in range(3)))
    pen = ImageDraw.Draw(image)
    for _ in range(60):
        x, y, r = rng.randrange(width), rng.randrange(height), 2 + int(width * rng.random() ** 3 / 2)
        pen.ellipse((x - r, y - r * rng.random(), x + r, y + r), fill=tuple(rng.randrange(256) for _ in range(3)))
    noise = np.random.default_rng(rng.randrange(2**32)).normal(0, rng.choice([0, 3, 20]), (height, width, 3))
    return Image.fromarray(np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8))


def encode(rng, image):
    """Returns the file's bytes and the ending of its name."""
    kind = rng.random()
    if kind < 0.04:
        return save(image, "PNG"), ".png"
    options = {"quality": rng.choice([30, 75, 90, 95, 100]), "subsampling": rng.choice([0, 1, 2, 2, 2])}
    if kind < 0.12:
        image, options = image.convert("L"), {"quality": 90}
    if rng.random() < 0.2:
        options["progressive"] = True
    if rng.random() < 0.1:
        options["restart_marker_rows"] = rng.randint(1, 3)
    if rng.random() < 0.1:
        exif = Image.Exif()
        exif[0x0112] = rng.randint(1, 8)  # orientation, which Pillow and torchvision leave alone
        options["exif"] = exif
    if options.get("subsampling") == 1 and rng.random() < 0.4:
        return exchange_factors(image, options, 0x12), ".jpg"
    if options.get("subsampling") == 2 and rng.random() < 0.1:
        factors = rng.choice([0x41, 0x14])
        if mcus(image, factors) <= mcus(image, 0x22):
            return exchange_factors(image, options, factors), ".jpg"
    return save(image, "JPEG", **options), ".jpg"


def exchange_factors(image, options, factors):
    """4:4:0, 4:1:1 and its upright form, which Pillow does not write: in the header of another file whose
    MCU has as many blocks, luma's factors are exchanged. The file is valid and its blocks are elsewhere."""
    data = bytearray(save(image, "JPEG", quality=options["quality"], subsampling=options["subsampling"]))
    frame = data.index(b"\xff\xc0")
    data[frame + 11] = factors
    return bytes(data)


def mcus(image, factors):
    across, down = factors >> 4, factors & 15
    return -(-image.width // (8 * across)) * -(-image.height // (8 * down))


def save(image, form, **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def size(rng):
    return rng.choice([(rng.randint(1, 40), rng.randint(1, 40)), (rng.randint(1, 900), rng.randint(1, 40)),
                       (rng.randint(100, 700), rng.randint(100, 700)), (500, 375), (375, 500), (rng.randint(1, 20), rng.randint(1, 600))])


def steps(rng, width, height):
    if rng.random() < 0.15:  # resize to the shorter side and crop the middle
        short = rng.choice([32, 64, 256])
        w, h = (short, int(short * height / width)) if width <= height else (int(short * width / height), short)
        if min(w, h) < 1 or max(w, h) > 5000:
            w, h = short, short
        crop = short * 7 // 8
        left, top = round((w - crop) / 2), round((h - crop) / 2)
        return [["resize", w, h, "bilinear"], ["crop", left, top, left + crop, top + crop]]
    w, h = (max(1, round(n * rng.uniform(0.28, 1))) for n in (width, height))
    x, y = rng.randint(0, width - w), rng.randint(0, height - h)
    out = [["crop", x, y, x + w, y + h]]
    if rng.random() < 0.95:
        side = rng.choice([224, 224, 224, 192, 160, 96, 33])
        out.append(["resize", side, side if rng.random() < 0.9 else rng.randint(1, 300), rng.choice(["bilinear", "bilinear", "bicubic"])])
    if rng.random() < 0.5:
        out.append(["flipx"])
    if rng.random() < 0.1:
        out.append(["flipy"])
    return out


def apply(image, step):
    kind, *args = step
    if kind == "crop":
        return F.crop(image, args[1], args[0], args[3] - args[1], args[2] - args[0])
    if kind == "resize":
        return F.resize(image, [args[1], args[0]], FILTERS[args[2]])
    return F.hflip(image) if kind == "flipx" else F.vflip(image)


def case(rng, name, image):
    listed = steps(rng, *image.size)
    for step in listed:
        image = apply(image, step)
    pixels = F.pil_to_tensor(image).numpy()
    return {"file": name, "steps": listed, "size": image.size,
            "sha256": hashlib.sha256(np.ascontiguousarray(pixels).tobytes()).hexdigest()}


def written(folder, pairs, seed, per_image=16):
    rng, cases = random.Random(seed), []
    while len(cases) < pairs:
        data, ending = encode(rng, draw(rng, *size(rng)))
        name = f"{len(cases)}{ending}"
        (folder / name).write_bytes(data)
        with Image.open(io.BytesIO(data)) as image:
            image = image.convert("RGB")
        cases += [case(rng, name, image) for _ in range(per_image)]
    (folder / "cases.json").write_text(json.dumps(cases))
    return cases


def compare(folder):
    print(f"Pillow {PIL.__version__} (libjpeg-turbo {features.version('libjpeg_turbo')}), torchvision {torchvision.__version__}")
    return subprocess.run(["go", "test", "-count=1", "-run", "TestPixelsFromFiles", "-v", "./feed/transform"], cwd=REPOSITORY,
                          env={**os.environ, "STOKER_PIXELS": str(folder)}).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the images, which is kept")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        written(folder, args.pairs, args.seed)
        sys.exit(compare(folder.resolve()))


if __name__ == "__main__":
    main()
