"""Odd files of all kinds, and what a data set can ask of each: pictures, errors and warnings, for deferred_pipelines.py."""

import contextlib
import functools
import io
import random
import re
import struct
import warnings
import zlib

import numpy as np
import torch
from PIL import Image, ImageFilter, ImageOps, ImageSequence, PngImagePlugin
from torchvision.transforms import functional as F

SIZE = (37, 29)


def _saved(image, format, **more):
    out = io.BytesIO()
    image.save(out, format, **more)
    return out.getvalue()


def _rotated(orientation, **more):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return {"exif": exif, **more}


def png(width, height, depth, color, rows, interlaced=0, chunks=()):
    """A PNG that Pillow does not write: of 16 bits a band, interlaced, with chunks of one's own."""
    parts = [(b"IHDR", struct.pack(">2I5B", width, height, depth, color, 0, 0, interlaced)), *chunks, (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts)


def _interlaced(array, depth=8, color=2):
    """The seven passes of Adam."""
    rows = bytearray()
    for y, x, down, right in ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)):
        part = array[y::down, x::right]
        for row in part if part.size else ():
            rows += b"\0" + row.tobytes()
    return png(array.shape[1], array.shape[0], depth, color, bytes(rows), 1)


def _whole(rgba):
    """Files that are whole, by name."""
    rgb, grey, palette = rgba.convert("RGB"), rgba.convert("L"), rgba.convert("RGB").quantize(60)
    array = np.asarray(rgb)
    made = {}

    def keep(name, image, format, **more):
        with contextlib.suppress(OSError, KeyError):  # Pillow does not write that, or was built without it
            made[f"{name}.{format.lower()}"] = _saved(image, format, **more)

    for mode in ("RGB", "L", "CMYK", "YCbCr", "1"):
        for name, more in {"plain": {}, "progressive": {"progressive": True}, "worst": {"quality": 1}}.items():
            keep(f"{mode} {name}", rgb.convert(mode), "JPEG", **more)
    for orientation in range(10):
        keep(f"rotated {orientation}", (rgb, grey)[orientation % 2], "JPEG", **_rotated(orientation, progressive=orientation % 3 == 0))
    for name, more in {
        "4:4:4": {"subsampling": 0}, "4:2:2": {"subsampling": 1}, "4:1:1": {"subsampling": "4:1:1"}, "restarts": {"restart_marker_rows": 1}, "blocks": {"restart_marker_blocks": 1}, "profile": {"icc_profile": b"profile" * 20000},
        "comment": {"comment": b"said"}, "resolution": {"dpi": (72, 300)}, "optimized": {"optimize": True}, "kept": {"keep_rgb": True}, "tables": {"qtables": [[1] * 64, [255] * 64]}, "odd exif": {"exif": b"Exif\0\0MM\0*nothing"},
    }.items():  # fmt: skip
        keep(name, rgb, "JPEG", **more)
    keep("many", rgb, "MPO", save_all=True, append_images=[grey.convert("RGB"), rgb.rotate(90)])
    for mode in ("1", "L", "LA", "I;16", "I", "P", "RGB", "RGBA"):
        image = palette if mode == "P" else grey.convert("I").point(lambda v: v * 257).convert("I;16") if mode == "I;16" else grey.convert("I") if mode == "I" else rgba.convert(mode)
        keep(f"{mode}", image, "PNG")
        keep(f"{mode} rotated", image, "PNG", **_rotated(6))
        keep(f"{mode}", image, "TIFF")
        for way in ("tiff_lzw", "tiff_adobe_deflate", "packbits"):
            keep(f"{mode} {way}", image, "TIFF", compression=way)
    for bits in (1, 2, 4):
        keep(f"{bits} bits", rgb.quantize(1 << bits), "PNG", bits=bits)
    for name, image, clear in (("P", palette, 3), ("P shades", palette, bytes(range(60))), ("RGB", rgb, (1, 2, 3)), ("L", grey, 9), ("1", rgba.convert("1"), 1)):
        keep(f"{name} clear", image, "PNG", transparency=clear)
    told = PngImagePlugin.PngInfo()
    told.add_text("said", "much " * 50, zip=True)
    told.add_itxt("more", "mehr", "de", "mehr")
    keep("told", rgb, "PNG", pnginfo=told, dpi=(300, 300), icc_profile=b"profile")
    keep("animated", rgba, "PNG", save_all=True, append_images=[rgba.rotate(90), rgba.rotate(180)])
    made |= {
        "16 bits.png": png(*SIZE, 16, 2, b"".join(b"\0" + row.astype(">u2").tobytes() for row in array * np.uint16(257))), "16 bits grey.png": png(*SIZE, 16, 0, b"".join(b"\0" + row.astype(">u2").tobytes() for row in array[..., 0] * np.uint16(201))),
        "interlaced.png": _interlaced(array), "interlaced grey.png": _interlaced(array[..., 0].copy(), color=0), "gamma.png": png(*SIZE, 8, 2, b"".join(b"\0" + row.tobytes() for row in array), chunks=((b"gAMA", struct.pack(">I", 45455)), (b"sRGB", b"\0"))),
        "no palette.png": png(*SIZE, 8, 3, bytes(SIZE[1] * (SIZE[0] + 1))), "more than in the palette.png": png(*SIZE, 8, 3, b"".join(b"\0" + row.tobytes() for row in array[..., 1]), chunks=((b"PLTE", bytes(range(30))),)),
        "unsound filter.png": png(*SIZE, 8, 0, b"\x09" * (SIZE[1] * (SIZE[0] + 1))), "unsound, too little.png": png(*SIZE, 8, 0, bytes(99)), "too much.png": png(*SIZE, 8, 0, bytes(99999)), "0 wide.png": png(0, 5, 8, 0, bytes(99)), "unknown.png": png(*SIZE, 8, 2, bytes(9999), chunks=((b"ABCD", b"?"),)),
    }  # fmt: skip
    for name, image, more in (("P", palette, {}), ("L", grey, {}), ("clear", palette, {"transparency": 0}), ("flat", palette, {"interlace": 0}), ("said", palette, {"comment": b"said"}), ("moving", palette, {"save_all": True, "append_images": [rgba.rotate(90), grey], "duration": 40})):
        keep(name, image, "GIF", **more)
    webp = (("lossy", rgb, {}), ("lossless", rgb, {"lossless": True}), ("clear", rgba, {}), ("clear lossless", rgba, {"lossless": True}), ("grey", grey, {}), ("rotated", rgb, _rotated(3)), ("moving", rgba, {"save_all": True, "append_images": [rgba.rotate(90), rgb]}))
    for name, image, more in webp:
        keep(name, image, "WEBP", **more)
    for name, image, more in (("CMYK", rgb.convert("CMYK"), {}), ("F", grey.convert("F"), {}), ("LAB", Image.frombytes("LAB", SIZE, rgb.tobytes()), {}), ("YCbCr", rgb.convert("YCbCr"), {}), ("group4", rgba.convert("1"), {"compression": "group4"}), ("jpeg", rgb, {"compression": "jpeg"}), ("many", rgb, {"save_all": True, "append_images": [grey, palette]}), ("rotated", rgb, {"tiffinfo": {274: 8}})):
        keep(name, image, "TIFF", **more)
    for format, modes in {"BMP": ("1", "L", "P", "RGB", "RGBA"), "DIB": ("RGB",), "ICO": ("RGBA",), "PPM": ("1", "L", "RGB"), "TGA": ("L", "P", "RGB", "RGBA"), "PCX": ("L", "P", "RGB"), "SGI": ("L", "RGB"), "IM": ("L", "RGB", "CMYK"), "JPEG2000": ("L", "RGB", "RGBA"), "AVIF": ("RGB", "RGBA"), "XBM": ("1",), "QOI": ("RGB", "RGBA"), "DDS": ("RGB", "RGBA")}.items():
        for mode in modes:
            keep(mode, palette if mode == "P" else rgba.convert(mode), format)
    keep("rle", rgb, "TGA", compression="tga_rle")
    keep("one", rgb.crop((0, 0, 1, 1)), "JPEG")
    keep("one", rgb.crop((0, 0, 1, 1)), "PNG")
    keep("wide", rgb.resize((3000, 2)), "JPEG")
    return made


@functools.cache
def files():
    """Whole, cut and damaged ones, by name; always the same."""
    noise = np.random.default_rng(5).integers(0, 256, (7, 9, 4), dtype=np.uint8)
    whole = _whole(Image.fromarray(noise).resize(SIZE, Image.Resampling.BICUBIC))
    chance, made = random.Random(6), {"empty": b"", "text": b"no picture\n", "zeros": bytes(200), "begins as JPEG": b"\xff\xd8\xff\xe0", "begins as PNG": b"\x89PNG\r\n\x1a\n"}
    for name, data in whole.items():
        made[name] = data
        if not name.endswith(".tiff"):  # of which libtiff speaks on stderr
            made[name + " cut"] = data[: chance.randrange(8, len(data))]
        if name.endswith((".jpeg", ".png", ".gif", ".webp")):
            wrong = bytearray(data)
            wrong[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            made[name + " damaged"] = bytes(wrong)
    for name in ("RGB plain.jpeg", "RGB progressive.jpeg", "RGB.png", "P.gif"):
        data = whole[name]
        made |= {f"{name} and more": data + b"more", f"{name} twice": data + data, f"{name} without its end": data[:-2], f"{name} padded": data + bytes(70000)}
    return made


def _frames(image):
    return [F.pil_to_tensor(frame.convert("RGB")) for frame in ImageSequence.Iterator(image)]


def _thumbnail(image):
    image.thumbnail((15, 15))
    return image.size, F.pil_to_tensor(image.convert("RGB"))


def _facts(image):
    told = [(key, str(value)[:99]) for key, value in sorted(image.info.items(), key=str)]
    return image.format, image.mode, image.size, told, getattr(image, "n_frames", 1), sorted(dict(image.getexif()).items()), image.get_format_mimetype(), image.has_transparency_data


def _left(image):
    """What an image is once it is loaded, and one of it."""
    image.load()
    copy = image.convert("RGB")
    return image.mode, image.size, type(copy).__name__, sorted(map(str, copy.info)), image.palette and image.palette.mode, image.getbands(), image.readonly, str(image.tile)


ACTS = (
    _facts, _left, _thumbnail, _frames,
    lambda image: F.to_tensor(image.convert("RGB").resize((20, 20))),
    lambda image: F.pil_to_tensor(image),
    lambda image: F.to_tensor(ImageOps.exif_transpose(image).convert("RGB").crop((2, 3, 20, 30)).transpose(Image.Transpose.ROTATE_90)),
    lambda image: F.pil_to_tensor(image.convert("L").convert("RGB").reduce(2)),
    lambda image: F.to_tensor(image.resize((13, 11), Image.Resampling.NEAREST).convert("RGBA").rotate(20)),
    lambda image: image.verify() or F.to_tensor(image.convert("RGB")),
    lambda image: image.draft("L", (9, 9)) and F.to_tensor(image),
    lambda image: np.asarray(image), lambda image: image.filter(ImageFilter.GaussianBlur(2)).size,
)  # fmt: skip


def asked(name, acts=ACTS):
    """What comes of each act on a file, or is raised, and what is warned of."""
    data, found = files()[name], []
    for act in acts:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                found.append(act(Image.open(io.BytesIO(data))))
            except Exception as error:
                found.append(_plainly(error))
        found.append([_plainly(each.message) for each in said])
    return found


def bombs(name):
    """The same with Pillow's limit of pixels so low that some files are bombs."""
    before, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, (SIZE[0] * SIZE[1] - 1, 500)[len(name) % 2]
    try:
        return asked(name, ACTS[4:6])
    finally:
        Image.MAX_IMAGE_PIXELS = before


def _plainly(error):
    return re.sub("0x[0-9a-f]+", "0x", f"{type(error).__name__}: {error}")


class Odd(torch.utils.data.Dataset):
    """A file each sample."""

    def __init__(self):
        self.names = sorted(files(), key=lambda name: (name.startswith("unsound"), name))  # after those nothing is fed

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        name = self.names[index]
        return name, asked(name), bombs(name)
