"""Makes pixels.json: what Pillow (13 or later) and torchvision make of synthetic images.

    python/.venv/bin/python feed/transform/testdata/make_pixels.py > feed/transform/testdata/pixels.json

Each case is an image, named by the numbers that draw it (pixels_test.go draws the
same), steps with their parameters, and the SHA-256 of the result's bytes, red,
green, blue one after the other.
"""
import hashlib
import json
import random

import numpy as np
import torch
from PIL import Image
from torchvision import transforms as T
from torchvision.transforms import functional as F

FILTERS = {"bilinear": T.InterpolationMode.BILINEAR, "bicubic": T.InterpolationMode.BICUBIC}


def draw(width, height, seed, noise):
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(3), indexing="ij")
    x, y, c = (v.astype(np.uint32) for v in (x, y, c))
    h = x * np.uint32(73856093) ^ y * np.uint32(19349663) ^ c * np.uint32(83492791) ^ np.uint32(seed * 2654435761 % 2**32)
    h ^= h >> np.uint32(13)
    h *= np.uint32(1274126177)
    h ^= h >> np.uint32(16)
    smooth = (x * 3 + y * 2 + c * 50) & 255
    return Image.fromarray((((h & 255) * noise + smooth * (256 - noise)) >> 8).astype(np.uint8))


def geometric(image, step):
    kind, *args = step
    if kind == "crop":
        return F.crop(image, args[1], args[0], args[3] - args[1], args[2] - args[0])
    if kind == "resize":
        return F.resize(image, [args[1], args[0]], FILTERS[args[2]])
    return F.hflip(image) if kind == "flipx" else F.vflip(image)


def random_steps(rng, width, height):
    steps = []
    for _ in range(rng.choice([1, 1, 2])):
        if rng.random() < 0.8:
            x0, y0 = rng.randrange(width), rng.randrange(height)
            x1, y1 = rng.randint(x0 + 1, width), rng.randint(y0 + 1, height)
            if rng.random() < 0.2:
                x0, y0, x1, y1 = x0 - 7, y0 - 3, x1 + 5, y1 + 11
            steps.append(["crop", x0, y0, x1, y1])
            width, height = x1 - x0, y1 - y0
        if rng.random() < 0.3:
            steps.append([rng.choice(["flipx", "flipy"])])
        if rng.random() < 0.9:
            if rng.random() < 0.85:
                width = rng.choice([1, 2, 7, 8, 16, 31, 32, 33, 64, 97, 224])
            if rng.random() < 0.85:
                height = rng.choice([1, 2, 7, 16, 31, 64, 97])
            steps.append(["resize", width, height, rng.choice(list(FILTERS))])
        if rng.random() < 0.5:
            steps.append([rng.choice(["flipx", "flipy"])])
    return steps


def older(count):
    """Pillow before 13: always the horizontal pass first, which is two resizes here."""
    rng = random.Random(8)
    for i in range(count):
        width, height = rng.randint(20, 120), rng.randint(60, 200)
        w, h = rng.randint(width // 2 + 1, 150), rng.randint(1, 60)
        name = rng.choice(list(FILTERS))
        image = draw(width, height, i, 64)
        image = F.resize(F.resize(image, [height, w], FILTERS[name]), [h, w], FILTERS[name])
        case = {"width": width, "height": height, "seed": i, "noise": 64, "pillow": 12, "steps": [["resize", w, h, name]]}
        yield finish(case, np.asarray(image))


SIZES = [(1, 1), (1, 9), (9, 1), (2, 3), (3, 2), (17, 5), (31, 33), (64, 64), (99, 101), (160, 120), (500, 375), (37, 700), (900, 20)]


def geometry(count):
    rng = random.Random(7)
    for i in range(count):
        width, height = rng.choice(SIZES)
        noise = rng.choice([0, 64, 256])
        case = {"width": width, "height": height, "seed": i, "noise": noise, "steps": random_steps(rng, width, height)}
        image = draw(width, height, i, noise)
        for step in case["steps"]:
            image = geometric(image, step)
        yield finish(case, np.asarray(image))


def programs():
    """Whole programs without chance, by torchvision's transforms."""
    flips = {"op": "random_horizontal_flip", "p": 1}, {"op": "random_vertical_flip", "p": 1}
    lists = [[{"op": "resize", "size": [s], "filter": f, **more}, {"op": "center_crop", "size": crop}]
             for s, crop, f, more in [
                 (64, [56, 56], "bilinear", {}), (33, [32, 31], "bicubic", {}), (40, [57, 48], "bilinear", {}),
                 (16, [15, 40], "bilinear", {"max_size": 37}), (50, [49, 50], "bicubic", {"max_size": 51})]]
    lists += [[{"op": "center_crop", "size": s}] for s in ([8, 8], [51, 50], [11, 700], [1, 1])]
    lists += [[{"op": "resize", "size": [40, 30]}, {"op": "resize", "size": [20, 25], "filter": "bicubic"}, flips[0]],
              [flips[1], {"op": "resize", "size": [25, 26]}, flips[0], {"op": "center_crop", "size": [30, 9]}, flips[1]],
              [{"op": "random_crop", "size": [40, 40], "padding": [4, 4, 4, 4], "fill": [1, 2, 3]}],
              [{"op": "center_crop", "size": [40, 40]}, {"op": "resize", "size": [50, 33], "filter": "bicubic"}]]
    for i, ops in enumerate(lists):
        for width, height in SIZES:
            if ops[0]["op"] == "random_crop":
                width, height = 32, 32  # and its padding: one place for the crop
            if "max_size" in ops[0] and max(width, height) > 20 * min(width, height):
                continue  # a side would round to 0
            case = {"width": width, "height": height, "seed": i, "noise": 64, "ops": ops}
            yield finish(case, np.asarray(T.Compose([transform(op) for op in ops])(draw(width, height, i, 64))))


def transform(op):
    size, mode = op.get("size"), FILTERS[op.get("filter", "bilinear")]
    match op["op"]:
        case "resize":
            return T.Resize(size if len(size) == 2 else size[0], mode, max_size=op.get("max_size"))
        case "center_crop":
            return T.CenterCrop(size)
        case "random_crop":
            return T.RandomCrop(size, padding=op["padding"], fill=tuple(op["fill"]))
        case "random_horizontal_flip":
            return T.RandomHorizontalFlip(op["p"])
        case "random_vertical_flip":
            return T.RandomVerticalFlip(op["p"])


def finish(case, pixels):
    """pixels is height x width x 3."""
    case["size"] = [pixels.shape[1], pixels.shape[0]]
    case["sha256"] = hashlib.sha256(np.ascontiguousarray(pixels.transpose(2, 0, 1)).tobytes()).hexdigest()
    return case


def numbers():
    """What ToTensor and Normalize make of the 256 values, per channel."""
    image = Image.fromarray(np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], 3, axis=2))
    for mean, std in [(None, None), ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]), ([0.5], [0.5]),
                      ([0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616]), ([0.1, -2, 0], [3, -0.7, 1e-3])]:
        tensor = T.ToTensor()(image)
        if mean:
            tensor = T.Normalize(mean, std)(tensor)
        case = {"mean": mean, "std": std, "sha256": {}}
        for name, dtype in (("float32", torch.float32), ("float16", torch.float16), ("bfloat16", torch.bfloat16)):
            raw = tensor.to(dtype).contiguous().view(torch.uint8).numpy().tobytes()
            case["sha256"][name] = hashlib.sha256(raw).hexdigest()
        yield case


lines = ",\n".join(json.dumps(case) for case in [*geometry(500), *older(40), *programs()])
print('{"cases": [\n' + lines + '\n], "numbers": [\n' + ",\n".join(map(json.dumps, numbers())) + "\n]}")
