"""Random chains of picture operations, made by Pillow, torchvision and NumPy, for picture_test.go to make again.

    python chains.py --stream --count 1000 --seed 1     records to standard output
    python chains.py --odd FOLDER                       records of the files in it, each with a few chains
    python chains.py --chunks 2000                      records of PNGs whose chunks are odd, doubled, cut or missing
    python chains.py --each 100                         so many records of each operation alone
    python chains.py --write chains.json --count 620    a fixed choice of them, as digests, for machines without Pillow
    python chains.py --torch --write chains-torch.json --count 120    of torchvision's operations on tensors alone
    bin/cpus/root/python chains.py --write chains-arm64.json --count 620    what Pillow's wheel for arm64 makes of them

A record: the program (JSON), the kind of source ("pixels" or "file") and what is tested, the source, what comes out;
each a length of 4 bytes and bytes. Where Pillow raises, the last is empty.
"""
import argparse
import glob
import os
import hashlib
import io
import json
import platform
import random
import struct
import sys
import warnings
import zlib

import numpy as np
import PIL
from PIL import Image, ImageEnhance, ImageFile, ImageFilter, ImageOps

torch = F = None
if not {"--odd", "--chunks"} & set(sys.argv):  # which needs none, and it takes seconds
    try:
        import torch
        from torchvision.transforms import functional as F
        from torchvision.transforms.v2 import functional as V
    except ImportError:
        pass

warnings.simplefilter("ignore")
ImageFile.MAXBLOCK = 1 << 22  # else noise does not fit when it is saved as a progressive JPEG
VERSION = int(PIL.__version__.split(".")[0])
OLDER = {"pillow": VERSION} if VERSION < 13 else {}  # a program's default is 13
ON_ARM64 = platform.machine() == "aarch64"
BANDS = {"L": 1, "RGB": 3}


def drawn(n, seed, smooth):
    """n bytes that drawnPixels of picture_test.go draws as well."""
    i = np.arange(n, dtype=np.uint64)
    x = ((i + 1) * np.uint64(2654435761) + np.uint64(seed) * np.uint64(40503)) & np.uint64(0xFFFFFFFF)
    x ^= x >> np.uint64(15)
    x = x * np.uint64(2246822519) & np.uint64(0xFFFFFFFF)
    x ^= x >> np.uint64(13)
    if smooth:
        x = (i * np.uint64(3) + (x & np.uint64(7)) + np.uint64(seed)) // np.uint64(2)
    return (x & np.uint64(255)).astype(np.uint8)


def fill(r, mode):
    return None if r.random() < 0.3 else [r.randrange(256) for _ in range(BANDS[mode])]


def filled(f):
    return None if f is None else f[0] if len(f) == 1 else tuple(f)


def near(r, n):
    return r.choice([n, 1, r.randint(1, 2 * n + 2), r.randint(1, n), r.randint(1, 12)])


def convert(r, im):
    to = r.choice(["RGB", "L"])
    return ["convert", to], lambda: im.convert(to)


def crop(r, im):
    w, h = im.size
    l, t = r.randint(-3, w), r.randint(-3, h)
    box = [l, t, l + r.randint(1, w + 2), t + r.randint(1, h + 2)]
    return ["crop", *box], lambda: im.crop(tuple(box))


def part(r, n, whole):
    if whole:
        a = r.randint(0, n - 1)
        return a, r.randint(a + 1, n)
    a = r.uniform(0, n - 0.01)
    return a, r.uniform(a, n)


def resize(r, im):
    size, resample = (near(r, im.width), near(r, im.height)), r.choice([0, 1, 2, 2, 3, 3, 4, 5])
    box = None
    if r.random() < 0.3:
        whole = r.random() < 0.5
        (l, right), (t, b) = part(r, im.width, whole), part(r, im.height, whole)
        box = [l, t, right, b]
    return ["resize", *size, resample, box], lambda: im.resize(size, resample, box)


def reduce(r, im):
    f, box = (r.randint(1, 6), r.randint(1, 6)), None
    if r.random() < 0.2:
        f = (f[0], f[0])
    if r.random() < 0.5:
        (l, right), (t, b) = part(r, im.width, True), part(r, im.height, True)
        box = [l, t, right, b]
    return ["reduce", *f, box], lambda: im.reduce(f, box)


def transpose(r, im):
    m = r.randint(0, 6)
    return ["transpose", m], lambda: im.transpose(m)


def affine(r, im):
    size = (near(r, im.width), near(r, im.height)) if r.random() < 0.4 else im.size
    a = [r.uniform(-2, 2), r.uniform(-1, 1), r.uniform(-5, 15), r.uniform(-1, 1), r.uniform(-2, 2), r.uniform(-5, 15)]
    if r.random() < 0.3:
        a = [1, r.choice([0, 0.3, -0.7]), r.choice([0, 3, -2.5]), r.choice([0, 0.5]), 1, r.choice([0, -4, 0.5])]
    if r.random() < 0.1:
        a[1] = a[3] = 0
    if r.random() < 0.03:
        a[2] = r.choice([1e5, -4e4, 32760])
    s, f = r.choice([0, 2, 3]), fill(r, im.mode)
    return ["affine", *size, a, s, f], lambda: im.transform(size, Image.Transform.AFFINE, a, s, fillcolor=filled(f))


def perspective(r, im):
    size, k = im.size, r.choice([0.0, 0.01, 0.2])
    a = [r.uniform(0.4, 2), r.uniform(-1, 1), r.uniform(-5, 15), r.uniform(-1, 1), r.uniform(0.4, 2), r.uniform(-5, 15),
         r.uniform(-k, k), r.uniform(-k, k)]
    if r.random() < 0.1:  # the third column is 0 / 0, or infinitely far
        a = [2.0, 0.0, r.choice([-5.0, 0.0]), r.choice([2.0, 0.0]), 0.0, r.choice([-5.0, 0.0, 1.0]), -0.4, 0.0]
    s, f = r.choice([0, 2, 3]), fill(r, im.mode)
    return ["perspective", *size, a, s, f], lambda: im.transform(size, Image.Transform.PERSPECTIVE, a, s, fillcolor=filled(f))


class Recorded:
    """What Image.rotate asks for, as a deferred picture sees it."""

    def __init__(self, im):
        self.size, self.width, self.height, self.op = im.size, im.width, im.height, None

    def copy(self):
        self.op = []
        return self

    def transpose(self, m):
        self.op = ["transpose", int(m)]
        return self

    def transform(self, size, method, data, resample, fillcolor=None):
        color = None if fillcolor is None else [fillcolor] if isinstance(fillcolor, int) else list(fillcolor)
        self.op = ["affine", *size, list(data), int(resample), color]
        return self


def rotate(r, im):
    angle, s, expand = r.choice([0, 90, 180, 270, 360, 45, r.uniform(-400, 400), r.uniform(-30, 30)]), r.choice([0, 2, 3]), r.random() < 0.3
    center = None if r.random() < 0.7 else (r.uniform(0, 9), r.randint(0, 9))
    f = filled(fill(r, im.mode))
    recorded = Recorded(im)
    Image.Image.rotate(recorded, angle, s, expand, center, None, f)
    return recorded.op, lambda: im.rotate(angle, s, expand, center, None, f)


def expand(r, im):
    b = [r.randint(0, 4) for _ in range(4)]
    f = fill(r, im.mode) or [0] * BANDS[im.mode]
    return ["expand", *b, f], lambda: ImageOps.expand(im, tuple(b), filled(f))


def pad(r, im):
    kind, b = r.choice(["edge", "reflect", "symmetric"]), [r.randint(0, 6) for _ in range(4)]
    widths = [(b[1], b[3]), (b[0], b[2])] + ([(0, 0)] if BANDS[im.mode] > 1 else [])

    def run():
        return Image.fromarray(np.pad(np.asarray(im), widths, kind))
    return ["pad", kind, *b], run


def point(r, im):
    t = [r.randint(-40, 300) for _ in range(256 * BANDS[im.mode])]
    return ["point", t], lambda: im.point(t)


def named(name, maker):
    maker.__name__ = name
    return maker


def enhance(name, kind):
    def make(r, im):
        f = r.choice([0, 0.0, 1, 1.0, 0.5, r.uniform(0, 2), r.uniform(-1, 3), r.uniform(0, 1), 1 + r.choice([-0.9, 0.1, 0.35, 0.9]),
                      r.uniform(-300, 300), 9e5])
        return [name, f], lambda: kind(im).enhance(f)
    return named(name, make)


def simple(name, do):
    return named(name, lambda r, im: ([name], lambda: do(im)))


def autocontrast(r, im):
    if r.random() < 0.5:
        return ["autocontrast"], lambda: ImageOps.autocontrast(im)
    cut = (r.choice([0, 1, 50, r.uniform(0, 60)]), r.choice([0, 1, 50, r.uniform(0, 60)]))
    return ["autocontrast", *cut], lambda: ImageOps.autocontrast(im, cut)


def posterize(r, im):
    n = r.randint(1, 8)
    return ["posterize", n], lambda: ImageOps.posterize(im, n)


def solarize(r, im):
    t = r.choice([r.randint(0, 256), r.uniform(0, 256)])
    return ["solarize", t], lambda: ImageOps.solarize(im, t)


def gaussian_blur(r, im):
    x = r.choice([0, 0.1, 0.5, 1, 2, r.uniform(0, 3), r.uniform(0, 30)])
    y = x if r.random() < 0.6 or VERSION < 11 else r.uniform(0, 3)  # 10.0 takes one number
    return ["gaussian_blur", x, y], lambda: im.filter(ImageFilter.GaussianBlur(x if x == y else (x, y)))


def hue(r, im):
    f = r.choice([r.uniform(-0.5, 0.5), 0.5, -0.5, 0])
    return ["hue", int(np.int32(f * 255).astype(np.uint8))], lambda: F.adjust_hue(im, f)


def of_bytes(im):
    """The tensor of a picture, as ToImage has it or row by row."""
    t = F.pil_to_tensor(im)
    return t if im.width % 2 else t.contiguous()


def torch_resize(r, im):
    size, kind = (max(2, near(r, im.width)), max(2, near(r, im.height))), r.choice(["bilinear", "bicubic"] if OF_BYTES else ["bicubic"])
    mode = F.InterpolationMode(kind)
    return ["torch_" + kind, *size], lambda: F.to_pil_image(V.resize(of_bytes(im), size[::-1], mode, antialias=True))


def torch_adjusted(name):
    def make(r, im):
        f = r.choice([0, 1, 2, 0.5, r.uniform(0, 1), r.uniform(0, 3), 1e-7])
        return ["torch_" + name, f], lambda: F.to_pil_image(getattr(V, "adjust_" + name)(of_bytes(im), f))
    return named("torch_" + name, make)


def torch_hue(r, im):
    f = r.choice([r.uniform(-0.5, 0.5), r.uniform(-0.1, 0.1), 0.5, -0.5, 0])
    return ["torch_hue", f], lambda: F.to_pil_image(V.adjust_hue(of_bytes(im), f))


def torch_grayscale(r, im):
    n = r.choice([1, 3]) if im.mode == "RGB" else 1
    return ["torch_grayscale", n], lambda: F.to_pil_image(V.rgb_to_grayscale(of_bytes(im), n).contiguous())


def torch_channels(r, im):
    order = r.sample(range(BANDS[im.mode]), BANDS[im.mode])
    return ["torch_channels", order], lambda: F.to_pil_image(V.permute_channels(of_bytes(im), order))


MAKERS = [convert, crop, crop, resize, resize, resize, reduce, transpose, affine, affine, perspective, rotate, rotate, expand, pad, point,
          enhance("brightness", ImageEnhance.Brightness), enhance("color", ImageEnhance.Color),
          enhance("contrast", ImageEnhance.Contrast), enhance("sharpness", ImageEnhance.Sharpness),
          autocontrast, simple("equalize", ImageOps.equalize),
          simple("invert", ImageOps.invert), posterize, solarize,
          gaussian_blur]
if F is not None:
    MAKERS += [hue]
    # Else torch rounds otherwise, which is not made here. Every arm64 fuses.
    FUSES = torch.backends.cpu.get_cpu_capability() != "DEFAULT" or ON_ARM64
    # Else torchvision resizes floats and rounds them: the check at start-up finds that.
    OF_BYTES = V._geometry._do_native_uint8_resize_on_cpu(F.InterpolationMode.BILINEAR)
    OF_TENSORS = [torch_resize, torch_resize, torch_resize, torch_adjusted("saturation"), torch_adjusted("contrast"),
                  torch_hue, torch_grayscale, torch_channels]
    MAKERS += OF_TENSORS if FUSES else []


def source(r, large):
    """Returns mode, kind, what is drawn, bytes, picture."""
    mode, size = r.choice(["RGB", "RGB", "L"]), (r.randint(1, 40), r.randint(1, 40))
    if r.random() < 0.06:
        size = r.choice([(r.randint(1, 300), r.randint(1, 20)), (r.randint(1, 20), r.randint(1, 300))])
    if r.random() < large:
        size = (r.randint(100, 400), r.randint(100, 300))
    how = [r.randrange(1 << 16), r.random() < 0.5]
    pixels = drawn(size[0] * size[1] * BANDS[mode], *how)
    picture = of(mode, size, pixels)
    return mode, "pixels", how, pixels.tobytes(), picture


def of(mode, size, pixels):
    return Image.frombytes(mode, size, pixels.tobytes())


def filed(r, mode, picture):
    """The picture as a file, opened again, and the ops that such a file needs first."""
    out, kind = io.BytesIO(), r.random()
    if mode in ("L", "RGB") and kind < 0.6:
        picture.save(out, "JPEG", quality=r.choice([50, 80, 95]), subsampling=r.choice([0, 1, 2]) if mode == "RGB" else -1,
                     progressive=r.random() < 0.2)
    elif mode == "RGB" and kind < 0.7:
        picture.convert("CMYK").save(out, "JPEG")
    elif kind < 0.8:
        picture.convert("RGBA").save(out, "PNG")
    elif kind < 0.9:
        picture.quantize(r.choice([9, 256])).save(out, "PNG")
    else:
        picture.save(out, "PNG")
    opened = Image.open(io.BytesIO(out.getvalue()))
    known = opened.mode in BANDS and r.random() < 0.7
    opened.load()
    return out.getvalue(), opened, [] if known else [["convert", "RGB"]]


def tensor(r, im):
    """Returns the ops behind the picture and what they give."""
    if F is None or r.random() < 0.5:
        return [], np.frombuffer(im.tobytes(), np.uint8)
    return [["pil_to_tensor"]], F.pil_to_tensor(im).contiguous().numpy()


def chain(r, files, large=0.01):
    mode, kind, how, data, im = source(r, large)
    size, ops = im.size, []
    if r.random() < files:
        kind, (data, im, ops) = "file", filed(r, mode, im)
        mode = im.mode
        if ops:
            im = im.convert("RGB")
    failed = False
    for _ in range(r.randint(0, 6)):
        op, do = r.choice(MAKERS)(r, im)
        if op:
            ops.append(op)
        try:
            im = do()
        except Exception:
            failed = True
            break
        if im.width * im.height > 150000:
            im = im.resize((50, 40))
            ops.append(["resize", 50, 40, 3])
    program = {"mode": mode, "size": size, "ops": ops} | OLDER
    if failed:
        return program, kind, how, data, b""
    more, out = tensor(r, im)
    program["ops"] = ops + more
    return program, kind, how, data, np.ascontiguousarray(out).tobytes()


def stream(count, seed, files):
    for i in range(count):
        program, kind, _, data, result = chain(random.Random(f"{seed} {i}"), files)
        record(program, kind, data, result)


NAMES = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}
FILTER_AT = {"resize": 3, "affine": 4, "perspective": 4}  # where an operation has its filter


def name_of(maker, op):
    """What a row of a table calls an operation."""
    at = FILTER_AT.get(op[0])
    return f"{maker} {NAMES[op[at]]}" if at else maker


def each(count):
    """Each operation alone, on pictures of all modes."""
    tried = {maker.__name__: maker for maker in MAKERS}
    for name, maker in tried.items():
        r = random.Random(f"each {name}")
        for _ in range(count * (4 if name in FILTER_AT or name == "rotate" else 1)):
            mode, kind, _, data, im = source(r, 0.05)
            op, do = maker(r, im)
            ops, result = [op] if op else [], b""
            try:
                out = do() if op else im
                result = out.tobytes()
            except Exception:
                pass
            record({"mode": mode, "size": im.size, "ops": ops} | OLDER, f"{kind} {name_of(name, op or [name])}", data, result)

def record(program, kind, data, result):
    for piece in (json.dumps(program).encode(), kind.encode(), data, result):
        sys.stdout.buffer.write(struct.pack("<I", len(piece)) + piece)


TURN = [0.96, -0.25, 3.5, 0.25, 0.96, -2.25]
TILT = [0.9, 0.1, -2.0, 0.05, 1.1, 1.5, 0.001, -0.002]


def odd(folder):
    """Files that are cut, damaged, of every kind: what Pillow makes of them, or that it raises."""
    for path in sorted(filter(os.path.isfile, glob.glob(folder + "/*/*"))):
        with open(path, "rb") as file:
            data = file.read()
        try:
            im = Image.open(io.BytesIO(data))
        except Exception:
            continue
        (w, h), mode = im.size, im.mode
        if w * h > 4_000_000:
            continue
        box = (w // 4, h // 4, max(w // 4 + 1, w * 3 // 4), max(h // 4 + 1, h * 3 // 4))
        for name, ops, do in [
            (f"decode {im.format}", [], lambda im: im),
            ("convert", [["convert", "RGB"]], lambda im: im.convert("RGB")),
            ("resize bicubic", [["convert", "RGB"], ["crop", *box], ["resize", 20, 20, 3]], lambda im: im.convert("RGB").crop(box).resize((20, 20), 3)),
            ("transpose", [["crop", *box], ["transpose", 2]], lambda im: im.crop(box).transpose(2)),
            ("convert", [["convert", "L"]], lambda im: im.convert("L")),
            # Photos have many places between pixels of one value, which a sum rounded in another way loses.
            ("affine bicubic", [["convert", "RGB"], ["affine", w, h, TURN, 3, None]], lambda im: im.convert("RGB").transform(im.size, Image.Transform.AFFINE, TURN, 3)),
            ("perspective bicubic", [["convert", "RGB"], ["perspective", w, h, TILT, 3, None]], lambda im: im.convert("RGB").transform(im.size, Image.Transform.PERSPECTIVE, TILT, 3)),
            ("color", [["convert", "RGB"], ["affine", w, h, TURN, 2, None], ["color", 1.1]],
             lambda im: ImageEnhance.Color(im.convert("RGB").transform(im.size, Image.Transform.AFFINE, TURN, 2)).enhance(1.1)),
        ]:
            try:
                result = do(Image.open(io.BytesIO(data))).tobytes()
            except Exception:
                result = b""
            record({"mode": mode, "size": (w, h), "ops": ops} | OLDER, f"file {name}", data, result)


def chunk(name, body, size=None):
    size = len(body) if size is None else size
    return struct.pack(">I", size) + name + body + struct.pack(">I", zlib.crc32(body, zlib.crc32(name)))


PACKED = [zlib.compress(bytes(n)) for n in (3, 70, 1 << 19, (1 << 20) + 9)]


def drawn_chunk(r, size, frame):
    """One that Pillow may raise for: short, out of order, packed in another way."""
    name = r.choice([b"IHDR", b"IDAT", b"IEND", b"PLTE", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"pHYs", b"tEXt", b"zTXt", b"iTXt", b"iCCP",
                     b"eXIf", b"acTL", b"acTL", b"fcTL", b"fcTL", b"fcTL", b"fdAT", b"fdAT", b"DDAT", b"abCd", b"a_1d", b"a-bd", b"\xe4bcd", b"ABCD"])
    number, packed = r.choice([frame, frame, frame, 0, 1, 5]), r.choice(PACKED)
    width, height = r.choice([size, size, size, (size[0] - 1, size[1]), (1, 1), (0, 0)])
    left, top = r.choice([(0, 0), (0, 0), (1, 0), (0, 2)])
    body = {
        b"acTL": struct.pack(">II", r.choice([0, 1, 1, 2, 3, 1 << 31, (1 << 31) + 1]), 0),
        b"fcTL": struct.pack(">5I2H2B", number, width, height, left, top, 1, 100, r.randrange(3), r.randrange(2)),
        b"fdAT": struct.pack(">I", number) + packed,
        b"iCCP": r.choice([b"name\0\0" + packed, b"name\0\1" + packed, b"\0" + packed, b"name", b"name\0", b""]),
        b"zTXt": r.choice([b"key\0\0" + packed, b"key\0\2" + packed, b"key\0", b"key", b"\0\0" + packed[:-5]]),
        b"iTXt": b"key" + r.choice([b"\0\1\0en\0\0" + packed, b"\0\1\1en\0\0" + packed, b"\0\0\0en\0\0text", b"\0\0", b"", b"\0\1\0en\0\0" + packed[2:]]),
        b"tEXt": r.choice([b"key\0text", b"text"]),
    }.get(name, bytes(r.randrange(256) for _ in range(r.choice([0, 1, 2, 3, 4, 6, 9, 13, 30, 32, 33, 36]))))
    if r.random() < 0.15:
        body = body[: r.randrange(len(body) + 1)]
    frame += name in (b"fcTL", b"fdAT")
    return chunk(name, body, len(body) + r.choice([1, 9, 1 << 20]) if r.random() < 0.03 else None), frame


def odd_chunks(count, seed):
    """PNGs with chunks before, among and behind their image data."""
    for i in range(count):
        r = random.Random(f"chunks {seed} {i}")
        mode, size = r.choice(["L", "LA", "RGB", "RGBA"]), (r.randint(1, 9), r.randint(1, 9))
        out = io.BytesIO()
        of(mode, size, drawn(size[0] * size[1] * len(mode), i, False)).save(out, "PNG")
        data = out.getvalue()
        head, pixels, end = data[:33], data[41:-16], data[-12:]
        cut = r.choice([len(pixels), len(pixels), r.randrange(len(pixels) + 1), len(pixels) - r.randrange(9)])
        pieces, frame = [], 0
        for name, most in (("before", 3), ("IDAT", 1), ("among", 1), ("IDAT", 1), ("behind", 3)):
            if name == "IDAT":
                part, pixels = pixels[:cut], pixels[cut:]
                pieces += [chunk(b"IDAT", part)] if part or r.random() < 0.1 else []
                cut = len(pixels)
                continue
            for _ in range(r.randrange(most + 1)):
                piece, frame = drawn_chunk(r, size, frame)
                pieces.append(piece)
        data = head + b"".join(pieces) + end
        if r.random() < 0.3:
            data = data[: len(data) - r.randrange(1, min(len(data) - 40, 60))]
        try:
            result = Image.open(io.BytesIO(data)).convert("RGB").tobytes()
        except Exception:
            result = b""
        record({"mode": mode, "size": size, "ops": [["convert", "RGB"]]} | OLDER, "file decode odd PNG", data, result)


PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]  # of Adam7


def write(path, count):
    cases = []
    for i in range(count):
        program, _, how, _, result = chain(random.Random(f"fixed {i}"), files=0, large=0)
        if len(json.dumps(program)) < 1500:
            cases.append({"program": program, "seed": how[0], "smooth": how[1],
                          "sha256": hashlib.sha256(result).hexdigest() if result else ""})
    with open(path, "w") as out:
        out.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--odd")
    parser.add_argument("--chunks", type=int)
    parser.add_argument("--each", type=int)
    parser.add_argument("--torch", action="store_true", help="torchvision's operations on tensors alone")
    parser.add_argument("--write")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--files", type=float, default=0.1)
    args = parser.parse_args()
    if torch is not None:
        torch.set_num_threads(1)
    if args.torch:
        MAKERS[:] = OF_TENSORS
    if args.write:
        write(args.write, args.count)
    if args.odd:
        odd(args.odd)
    if args.chunks:
        odd_chunks(args.chunks, args.seed)
    if args.each:
        each(args.each)
    if args.stream:
        stream(args.count, args.seed, args.files)
