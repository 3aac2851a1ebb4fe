#!/usr/bin/env python3
"""Make sample JPEGs that cost what ImageNet's cost: same sizes, same bytes, no pictures of anything.

    python make_images.py --data data/imagefolder --count 1500

What a JPEG costs to load depends on its pixels and on its entropy-coded bytes,
so both follow ImageNet: about 60 % near 500x375 (a quarter of them portrait), a
tail above one megapixel, a mean near 110 KB; mostly 4:2:0 with some 4:4:4,
progressive and grey ones. Content is what a photograph's statistics are: smooth
shapes with hard edges under noise that falls off with frequency, scaled and
compressed until the file has the length that was drawn for it.

The same seed gives the same files with the same Pillow. A second call with the
same arguments finds the manifest and does nothing.
"""

import argparse
import io
import json
import math
import random
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

#: MLPerf Storage gives 114,660 bytes for a mean ImageNet record; the usual round figure is 110 KB.
MEAN_BYTES = 110_000
CLASSES = 10
MANIFEST = "manifest.json"
#: Changes whenever the files would: an older folder is then made again.
RECIPE = 1


@dataclass(frozen=True)
class Plan:
    """What one file is to be, drawn before any is made, so that order does not matter."""

    name: str
    seed: int
    width: int
    height: int
    kind: str  # 420, 444, progressive or grey
    bytes: int


def draw_plans(count: int, seed: int) -> list[Plan]:
    """Draw sizes and kinds; lengths are scaled so that their mean is exactly the one wanted."""
    rng = random.Random(seed)
    shapes = [_draw_shape(rng) for _ in range(count)]
    kinds = [_draw_kind(rng) for _ in range(count)]
    # Bytes per pixel of photographs vary about as a log-normal; larger pictures are a little denser packed.
    weights = [
        (w * h) ** 0.9 * rng.lognormvariate(0, 0.35) * (0.8 if kind == "grey" else 1)
        for (w, h), kind in zip(shapes, kinds, strict=True)
    ]
    scale = MEAN_BYTES * count / sum(weights)
    plans = []
    for i, ((width, height), kind, weight) in enumerate(zip(shapes, kinds, weights, strict=True)):
        name = f"class{i % CLASSES:02d}/{i:06d}.jpg"
        # Beyond 4 bits per pixel even noise at quality 97 has no more to say.
        length = min(round(weight * scale), round(0.5 * width * height * 2))
        plans.append(Plan(name, rng.randrange(2**32), width, height, kind, length))
    return plans


def _draw_shape(rng: random.Random) -> tuple[int, int]:
    which = rng.random()
    if which < 0.38:  # the mode, exactly
        width, height = 500, 375
    elif which < 0.60:  # 500 on the long side, as photo sites scaled them
        width, height = 500, rng.choice((333, 334, 332, 375, 374, 357, 400, 281))
    elif which < 0.65:
        width, height = 500, 500
    elif which < 0.985:  # anything, mostly smaller
        width = round(min(900, max(150, rng.lognormvariate(math.log(400), 0.35))))
        height = round(min(900, max(120, width / rng.uniform(0.9, 1.6))))
    else:  # the tail above a megapixel
        width = rng.randint(1200, 1800)
        height = round(width / rng.choice((4 / 3, 3 / 2)))
    portrait = rng.random() < (0.25 if which < 0.60 else 0.3) and width != height
    return (height, width) if portrait else (width, height)


def _draw_kind(rng: random.Random) -> str:
    # 82 % 4:2:0 (4 points of it progressive), 16.5 % 4:4:4, 1.5 % grey.
    return rng.choices(("420", "progressive", "444", "grey"), (78, 4, 16.5, 1.5))[0]


_noise: np.ndarray | None = None


def _texture() -> np.ndarray:
    """Noise of 2048x2048 whose amplitude falls with frequency as in photographs; windows of it are textures.

    Made once in each process, the same everywhere: 1/f noise for each file
    would be most of the work.
    """
    global _noise
    if _noise is None:
        size = 2048
        rng = np.random.default_rng(2012)
        spectrum = np.fft.rfft2(rng.standard_normal((size, size), dtype=np.float32))
        frequency = np.hypot(np.fft.fftfreq(size)[:, None], np.fft.rfftfreq(size)[None, :])
        frequency[0, 0] = 1
        noise = np.fft.irfft2(spectrum / frequency**0.9, s=(size, size))
        _noise = (noise / noise.std()).astype(np.float32)
    return _noise


def make_picture(plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Return a scene of smooth shapes, and the texture that will lie on it; both float32."""
    rng = random.Random(plan.seed)
    width, height = plan.width, plan.height
    image = Image.new("RGB", (width, height), _colour(rng))
    draw = ImageDraw.Draw(image)
    for _ in range(rng.randint(6, 18)):
        _shape(draw, rng, width, height)
    if rng.random() < 0.5:  # half of all photographs are a little out of focus
        image = image.filter(ImageFilter.GaussianBlur(rng.uniform(0.5, 3)))
    scene = np.asarray(image, dtype=np.float32)
    noise = _texture()
    y, x = rng.randrange(noise.shape[0] - height), rng.randrange(noise.shape[1] - width)
    texture = noise[y : y + height, x : x + width, None] * np.asarray([1.0, 0.95, 0.85], dtype=np.float32)
    return scene, texture


def _colour(rng: random.Random) -> tuple[int, int, int]:
    return rng.randrange(30, 226), rng.randrange(30, 226), rng.randrange(30, 226)


def _shape(draw: ImageDraw.ImageDraw, rng: random.Random, width: int, height: int) -> None:
    x, y = rng.randrange(width), rng.randrange(height)
    w, h = rng.randint(4, width // 2 + 4), rng.randint(4, height // 2 + 4)
    box = (x - w // 2, y - h // 2, x + w // 2, y + h // 2)
    rng.choice((draw.ellipse, draw.rectangle))(box, fill=_colour(rng))


def encode(plan: Plan) -> bytes:
    """Compress the picture; strength of texture and quality are moved until the length is right."""
    scene, texture = make_picture(plan)
    quality, strength = 90, 14.0
    data = _jpeg(plan, scene + texture * strength, quality)
    for _ in range(3):
        ratio = plan.bytes / len(data)
        if 0.93 < ratio < 1.07:
            break
        # Texture first; quality helps where texture alone would go too far.
        strength = min(45.0, max(2.0, strength * ratio**1.3))
        quality = min(97, max(80, quality + round(6 * math.log2(ratio))))
        data = _jpeg(plan, scene + texture * strength, quality)
    return data


def _jpeg(plan: Plan, pixels: np.ndarray, quality: int) -> bytes:
    image = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
    if plan.kind == "grey":
        image = image.convert("L")
    options: dict[str, object] = {} if plan.kind == "grey" else {"subsampling": "4:4:4" if plan.kind == "444" else "4:2:0"}
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality, progressive=plan.kind == "progressive", **options)
    return out.getvalue()


def _write(job: tuple[Path, Plan]) -> int:
    folder, plan = job
    data = encode(plan)
    (folder / plan.name).write_bytes(data)
    return len(data)


def make(folder: Path, count: int, seed: int, processes: int | None = None) -> None:
    """Write the files and then the manifest: a folder without one is not complete."""
    plans = draw_plans(count, seed)
    for label in range(CLASSES):
        (folder / f"class{label:02d}").mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)
    with ProcessPoolExecutor(processes) as pool:
        lengths = list(pool.map(_write, [(folder, plan) for plan in plans], chunksize=32))
    manifest = {"recipe": RECIPE, "count": count, "seed": seed, "files": {p.name: n for p, n in zip(plans, lengths, strict=True)}}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=0))


def is_made(folder: Path, count: int, seed: int) -> bool:
    """Whether the manifest is of this recipe and every file that it names is there at its length."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        same = (manifest["recipe"], manifest["count"], manifest["seed"]) == (RECIPE, count, seed)
        return same and all((folder / name).stat().st_size == length for name, length in manifest["files"].items())
    except (OSError, ValueError, KeyError):
        return False


def describe(folder: Path) -> float:
    """Print the real contents of the folder; return the mean length in bytes."""
    sizes, lengths, kinds = [], [], []
    for path in sorted(folder.glob("class*/*.jpg")):
        with Image.open(path) as image:
            sizes.append(image.size)
            kinds.append("grey" if image.mode == "L" else "progressive" if image.info.get("progressive") else "baseline")
        lengths.append(path.stat().st_size)
    shapes = [tuple(sorted(size, reverse=True)) for size in sizes]
    mode = statistics.mode(sizes)
    mean, deciles = statistics.mean(lengths), statistics.quantiles(lengths, n=10)
    like = sum(w == 500 and 280 <= h <= 400 for w, h in shapes) / len(shapes)
    large = sum(w * h > 1_000_000 for w, h in shapes) / len(shapes)
    print(f"{len(lengths)} JPEGs, {sum(lengths) / 1e6:.0f} MB in {folder}")
    print(f"  length: mean {mean / 1e3:.1f} KB, median {statistics.median(lengths) / 1e3:.0f}, 10..90 % {deciles[0] / 1e3:.0f}..{deciles[-1] / 1e3:.0f}")
    print(f"  size: mode {mode[0]}x{mode[1]}, {like:.0%} like it, mean {statistics.mean(w * h for w, h in sizes) / 1e3:.0f} kpx, {large:.1%} above 1 Mpx")
    print("  kinds: " + ", ".join(f"{kinds.count(kind) / len(kinds):.1%} {kind}" for kind in ("baseline", "progressive", "grey")))
    return mean


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data/imagefolder"), help="folder to fill (default data/imagefolder)")
    parser.add_argument("--count", type=int, default=1500, help="number of JPEGs (default 1500, about 165 MB)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if is_made(arguments.data, arguments.count, arguments.seed):
        print(f"{arguments.count} JPEGs are in {arguments.data} already")
        return 0
    strangers = next(arguments.data.glob("*"), None)
    if strangers is not None and not (arguments.data / "class00").is_dir():
        print(f"{arguments.data} holds something else ({strangers.name}): choose another folder with --data", file=sys.stderr)
        return 1
    for stale in arguments.data.glob("class*/[0-9]*.jpg"):
        stale.unlink()
    started = time.monotonic()
    make(arguments.data, arguments.count, arguments.seed)
    mean = describe(arguments.data)
    print(f"  made in {time.monotonic() - started:.0f} s")
    if arguments.count >= 500 and abs(mean / MEAN_BYTES - 1) > 0.10:
        print(f"the mean length is off: {mean / 1e3:.1f} KB instead of {MEAN_BYTES / 1e3:.0f}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
