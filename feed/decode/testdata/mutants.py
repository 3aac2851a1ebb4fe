"""Files with a small damage, and what Pillow makes of them, for mutants_test.go to read again.

    python mutants.py --count 2000 --seed 1     records to standard output

A record: what was done to which file, the file, and the bytes of convert("RGB") behind width and height; each a length
of 4 bytes and bytes. Where Pillow raises the last is empty.
"""
import argparse
import io
import os
import random
import struct
import sys
import warnings
from pathlib import Path

from PIL import Image

warnings.simplefilter("ignore")
sys.path.insert(0, os.path.dirname(__file__))
import make  # noqa: E402

LARGEST = 1 << 22  # pixels: what Pillow makes of a larger one is not compared


def seeds():
    """Files of all formats by name: those of make.py, and forms that it does not have."""
    for folder in ("good", "bad", "other"):
        for path in sorted((make.HERE / folder).iterdir()):
            yield path.name, path.read_bytes()
    yield from jpegs()
    rgb = Image.fromarray(make.picture(19, 7))
    yield "long.ppm", b"P6\n19 7\n255\n" + rgb.tobytes()


EXIF = b"Exif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00"


def jpegs():
    rgb = Image.fromarray(make.picture(40, 24, noise=3))
    for name, options in (("plain", {}), ("exif", {"exif": EXIF}), ("icc", {"icc_profile": bytes(131)}), ("comment", {"comment": b"a comment"}),
                          ("dpi", {"dpi": (300, 300)}), ("progressive", {"progressive": True}), ("restarts", {"restart_marker_rows": 1})):
        yield f"{name}.jpg", make.saved(rgb, "JPEG", quality=60, **options)
    plain = make.saved(rgb, "JPEG", quality=60)
    resources = b"".join(b"8BIM" + struct.pack(">HBxI", code, 0, 16) + bytes(16) for code in (0x3ED, 0x404))
    for name, marker, body in (
        ("photoshop", 0xED, b"Photoshop 3.0\0" + resources), ("adobe", 0xEE, b"Adobe\0\x64\0\0\0\0\x01"), ("xmp", 0xE1, b"http://ns.adobe.com/xap/1.0/\0<x/>"),
        ("mpf", 0xE2, b"MPF\0II*\0\x08\0\0\0\x01\0\x00\xb0\x07\0\x04\0\0\x000100\0\0\0\0"), ("profiles", 0xE2, b"ICC_PROFILE\0\x02\x02" + bytes(9)),
    ):  # fmt: skip
        yield f"{name}.jpg", plain[:2] + make.segment(marker, body) + plain[2:]
        yield f"{name}-twice.jpg", plain[:2] + make.segment(marker, body) + make.segment(marker, body[:-3]) + plain[2:]
    yield "cmyk-40x24.jpg", make.saved(rgb.convert("CMYK"), "JPEG", quality=60)


ODD = [0, 1, 2, 3, 4, 7, 8, 15, 16, 127, 128, 254, 255]


def mutate(draw, data):
    """A file with a small damage, and its name."""
    n = len(data)
    at = draw.randrange(n) if n and draw.random() < 0.5 else draw.randrange(min(n, 64)) if n else 0
    kind = draw.choice(["cut", "tail", "flip", "odd", "word", "insert", "delete", "repeat", "append", "length", "two"])
    if kind == "two":
        first, one = mutate(draw, data)
        second, two = mutate(draw, first)
        return second, f"{one}, {two}"
    if kind == "cut":
        return data[:at], f"cut to {at}"
    if kind == "tail":
        less = draw.randrange(1, 130)
        return data[: max(0, n - less)], f"the last {less} cut"
    if kind == "flip":
        bit = 1 << draw.randrange(8)
        return make.put(data, at, [data[at] ^ bit] if n else b""), f"bit {bit} of byte {at} flipped"
    if kind == "odd":
        value = draw.choice(ODD)
        return make.put(data, at, [value] if n else b""), f"byte {at} is {value}"
    if kind == "word":
        value, size = draw.choice([0, 1, 2, 16, 100, n, n - 8, n + 1, 65535, 1 << 24, (1 << 31) - 1, (1 << 32) - 1]), draw.choice([2, 4])
        order = draw.choice("<>")
        new = struct.pack(order + {2: "H", 4: "I"}[size], value % 256**size)
        return make.put(data, at, new)[:n], f"{size} bytes at {at} are {value} ({order})"
    if kind == "insert":
        new = bytes(draw.choice(ODD) for _ in range(draw.randrange(1, 9)))
        return data[:at] + new + data[at:], f"{new.hex()} put in at {at}"
    if kind == "delete":
        less = draw.randrange(1, 9)
        return data[:at] + data[at + less :], f"{less} bytes at {at} left out"
    if kind == "repeat":
        more = draw.randrange(1, 40)
        return data[: at + more] + data[at:], f"{more} bytes at {at} twice"
    if kind == "append":
        new = bytes(draw.choice(ODD) for _ in range(draw.randrange(1, 40)))
        return data + new, f"{new.hex()} at the end"
    size = max(0, struct.unpack("<I", data[4:8])[0] + draw.choice([-100, -9, -8, -2, -1, 1, 2, 8, 100])) if n >= 8 else 0  # RIFF's, a BMP's
    return make.put(data, 4, struct.pack("<I", size % 2**32))[:n], f"the length at 4 is {size}"


def pillows(data):
    """What Pillow makes of a file, None where that is too large to be compared."""
    try:
        image = Image.open(io.BytesIO(data))
        if image.size[0] * image.size[1] > LARGEST:
            return None
        return struct.pack("<II", *image.size) + image.convert("RGB").tobytes()
    except Exception:
        return b""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="names that hold this")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    files = [(name, data) for name, data in seeds() if options.only in name]
    out = sys.stdout.buffer
    done = 0
    for name, data in files:
        done += put(out, name, data)
    while done < options.count:
        name, data = draw.choice(files)
        data, what = mutate(draw, data)
        done += put(out, f"{name}: {what}", data)


def put(out, name, data):
    said = pillows(data)
    if said is None:
        return 0
    for piece in (name.encode(), data, said):
        out.write(struct.pack("<I", len(piece)) + piece)
    return 1


if __name__ == "__main__":
    main()
