#!/usr/bin/env python3
"""The three recipes of albumentations in recipes.py as its peers do them: a process that makes COUNT pictures for each line it reads.

    bench/loader/.venv/dali/bin/python bench/loader/recipe_peers.py dali 0 FOLDER     # prints processor seconds of a pass

opencv: OpenCV in a pool of two threads, without albumentations. dali: DALI's CPU operators. spdl: FFmpeg's filters. Each draws
anew for each picture, from the same ranges. Their pixels are not albumentations': other antialias, other colour arithmetic.
"""

import glob
import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from contestants import MEAN, SIZE as SIDE, STD, crop, normaliser

COUNT, BATCH, THREADS = 128, 32, 2
CROP, CENTRE, COLOUR = range(3)


def main():
    peer, recipe, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    make = {"opencv": opencv, "dali": dali, "spdl": spdl}[peer](recipe, sorted(glob.glob(os.path.join(folder, "*.jpg"))))
    for _ in sys.stdin:
        begin = time.process_time()
        for _ in range(COUNT // BATCH):
            batch = make()
            if batch.shape != (BATCH, 3, SIDE if recipe != COLOUR else 256, SIDE if recipe != COLOUR else 256) or batch.dtype.name != "float32":
                raise SystemExit(f"{peer} gives {batch.dtype} of the shape {batch.shape}")
        print(time.process_time() - begin, flush=True)


def opencv(recipe, files):
    import cv2
    import numpy as np

    cv2.setNumThreads(0)
    pool, draw, at = ThreadPoolExecutor(THREADS), random.Random(0), [0]
    normalise = normaliser()

    def one(path):
        image = cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)
        height, width = image.shape[:2]
        if recipe == CROP:
            left, top, w, h = crop(draw, width, height)
            image = cv2.resize(image[top : top + h, left : left + w], (SIDE, SIDE))
            if draw.random() < 0.5:
                image = cv2.flip(image, 1)
        elif recipe == CENTRE:
            factor = 256 / min(width, height)
            image = cv2.resize(image, (round(width * factor), round(height * factor)))
            top, left = (image.shape[0] - SIDE) // 2, (image.shape[1] - SIDE) // 2
            image = image[top : top + SIDE, left : left + SIDE]
        else:
            image = cv2.resize(image, (256, 256))
            turn = cv2.getRotationMatrix2D((127.5, 127.5), draw.uniform(-20, 20), draw.uniform(0.8, 1.2))
            image = cv2.warpAffine(image, turn, (256, 256))
            image = cv2.convertScaleAbs(image, alpha=draw.uniform(0.8, 1.2), beta=255 * draw.uniform(-0.2, 0.2))
            hsv = cv2.cvtColor(image, cv2.COLOR_RGB2HSV)
            by = np.array([draw.randint(-20, 20), draw.randint(-30, 30), draw.randint(-20, 20)])
            values = np.arange(256)
            tables = np.stack([(values + by[0]) % 180, np.clip(values + by[1], 0, 255), np.clip(values + by[2], 0, 255)], 1).astype(np.uint8)
            image = cv2.cvtColor(cv2.LUT(hsv, tables[None]), cv2.COLOR_HSV2RGB)
        out = np.empty((3, *image.shape[:2]), np.float32)
        normalise(image, out)
        return out

    def make():
        taken = [files[(at[0] + n) % len(files)] for n in range(BATCH)]
        at[0] += BATCH
        return np.stack(list(pool.map(one, taken)))

    return make


def dali(recipe, files):
    import numpy as np
    from nvidia.dali import fn, pipeline_def, types

    normal = {"dtype": types.FLOAT, "output_layout": "CHW", "mean": [255 * value for value in MEAN], "std": [255 * value for value in STD]}

    @pipeline_def(batch_size=BATCH, num_threads=THREADS, device_id=None, seed=0)
    def pipeline():
        encoded, _ = fn.readers.file(files=files, labels=[0] * len(files))
        if recipe == CROP:
            image = fn.decoders.image_random_crop(encoded, device="cpu", output_type=types.RGB)
            image = fn.resize(image, resize_x=SIDE, resize_y=SIDE, interp_type=types.INTERP_LINEAR, antialias=False)
            return fn.crop_mirror_normalize(image, mirror=fn.random.coin_flip(), **normal)
        image = fn.decoders.image(encoded, device="cpu", output_type=types.RGB)
        if recipe == CENTRE:
            image = fn.resize(image, resize_shorter=256, interp_type=types.INTERP_LINEAR, antialias=False)
            return fn.crop_mirror_normalize(image, crop=(SIDE, SIDE), **normal)
        image = fn.resize(image, resize_x=256, resize_y=256, interp_type=types.INTERP_LINEAR, antialias=False)
        turn = fn.transforms.rotation(angle=fn.random.uniform(range=(-20, 20)), center=(128, 128))
        size = fn.random.uniform(range=(0.8, 1.2))
        turn = fn.transforms.scale(turn, scale=fn.stack(size, size), center=(128, 128))
        image = fn.warp_affine(image, matrix=turn, fill_value=0, interp_type=types.INTERP_LINEAR)
        uniform = fn.random.uniform
        image = fn.brightness_contrast(image, brightness_shift=uniform(range=(-0.2, 0.2)), contrast=uniform(range=(0.8, 1.2)))
        image = fn.hsv(image, hue=uniform(range=(-40, 40)), saturation=uniform(range=(0.88, 1.12)), value=uniform(range=(0.92, 1.08)))
        return fn.crop_mirror_normalize(image, **normal)

    built = pipeline()
    built.build()
    return lambda: np.asarray(built.run()[0].as_tensor())


def spdl(recipe, files):
    import numpy as np
    from spdl import io

    pool, draw, at = ThreadPoolExecutor(THREADS), random.Random(0), [0]
    normalise = normaliser()

    def one(path):
        packets = io.demux_image(path)
        width, height = packets.width, packets.height
        if recipe == CROP:
            left, top, w, h = crop(draw, width, height)
            steps = f"crop=w={w}:h={h}:x={left}:y={top},scale=w={SIDE}:h={SIDE}:flags=bilinear" + (",hflip" if draw.random() < 0.5 else "")
        elif recipe == CENTRE:
            factor = 256 / min(width, height)
            steps = f"scale=w={round(width * factor)}:h={round(height * factor)}:flags=bilinear,crop=w={SIDE}:h={SIDE}"
        else:
            zoom = draw.uniform(0.8, 1.2)
            fit = "crop=w=256:h=256" if zoom > 1 else "pad=w=256:h=256:x=(ow-iw)/2:y=(oh-ih)/2"
            steps = (
                f"scale=w={round(256 * zoom)}:h={round(256 * zoom)}:flags=bilinear,{fit},format=pix_fmts=rgb24,rotate=a={draw.uniform(-20, 20)}*PI/180,"
                f"eq=brightness={draw.uniform(-0.2, 0.2)}:contrast={draw.uniform(0.8, 1.2)},hue=h={draw.uniform(-40, 40)}:s={draw.uniform(0.88, 1.12)}"
            )
        return io.decode_packets(packets, filter_desc=steps + ",format=pix_fmts=rgb24")

    def make():
        taken = [files[(at[0] + n) % len(files)] for n in range(BATCH)]
        at[0] += BATCH
        pixels = io.to_numpy(io.convert_frames(list(pool.map(one, taken))))
        out = np.empty((BATCH, 3, *pixels.shape[1:3]), np.float32)
        normalise(pixels, out)
        return out

    return make


if __name__ == "__main__":
    main()
