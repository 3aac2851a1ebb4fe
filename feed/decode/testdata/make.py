#!/usr/bin/env python3
"""Makes the small files of good/, bad/ and other/, and pillow.json: what Pillow says of them.

    python/.venv/bin/python feed/decode/testdata/make.py

regress/ holds what differential runs against libjpeg-turbo once failed on: generated
JPEGs, most of them damaged.

The tests of feed/decode read pillow.json: "rgb" is the beginning of the SHA-256 of the
bytes that Image.open(f).convert("RGB") gives, as torchvision's ImageFolder reads a
sample; "error" is there instead where that raises. Made with Pillow 13.0.0 (libjpeg-turbo 3.2.0).

    bin/cpus/root/python feed/decode/testdata/make.py      # bench/cpus/root.py makes that Python

On arm64 it writes pillow-arm64.json instead: the digests that differ there. They are those of damaged files with
coefficients that no encoder writes: libjpeg-turbo's routine for NEON wraps where that for AVX2 saturates.
"""
import hashlib
import io
import json
import platform
import struct
import warnings
import zlib
from pathlib import Path

import numpy
from PIL import Image

HERE = Path(__file__).parent
warnings.simplefilter("ignore")


def picture(width, height, seed=1, noise=12):
    """A picture with edges, gradients and noise."""
    draw = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[0:height, 0:width]
    base = numpy.stack([x * 255 // width, y * 255 // height, (x + y) * 255 // (width + height)], 2)
    base[(x // 9 + y // 7) % 3 == 0] = draw.integers(0, 256, 3)
    return numpy.clip(base + draw.normal(0, noise, base.shape), 0, 255).astype("uint8")


def saved(image, form, **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


# --- JPEG ---------------------------------------------------------------------

def segments(data):
    """Markers of a JPEG up to its first scan: (marker, begin, end)."""
    at = 2
    while True:
        length = struct.unpack(">H", data[at + 2:at + 4])[0]
        yield data[at + 1], at, at + 2 + length
        if data[at + 1] == 0xDA:
            return
        at += 2 + length


def find(data, marker, nth=0):
    return [(b, e) for m, b, e in segments(data) if m == marker][nth]


def without(data, marker):
    for begin, end in reversed([(b, e) for m, b, e in segments(data) if m == marker]):
        data = data[:begin] + data[end:]
    return data


def put(data, at, new):
    return data[:at] + bytes(new) + data[at + len(new):]


def segment(marker, body):
    return bytes([0xFF, marker]) + struct.pack(">H", len(body) + 2) + body


def restarts(data):
    scan = find(data, 0xDA)[1]
    return [i for i in range(scan, len(data) - 1) if data[i] == 0xFF and 0xD0 <= data[i + 1] <= 0xD7]


def good_cases():
    """Every sampling x odd sizes x baseline and progressive x restart intervals."""
    for sampling in ("444", "422", "420", "440", "411", "grey"):
        sizes = [(1, 1), (4, 3), (45, 9), (67, 19)] if sampling == "411" else [(1, 1), (4, 3), (19, 13), (35, 21)]
        for i, (width, height) in enumerate(sizes):
            for restart, progressive in ((0, False), (0, True), (2, True), (2, False), (1, False))[:2 if i < 2 else 5]:
                name = f"{sampling}-{width}x{height}{'-progressive' if progressive else ''}{f'-restart-{restart}' if restart else ''}.jpg"
                yield name, sampled(sampling, width, height, quality=(75, 30, 90, 30)[i], optimize=True, progressive=progressive,
                                    restart_marker_blocks=restart)
    turned = Image.Exif()
    turned[0x0112] = 6  # the viewer is asked to turn the picture; Pillow's pixels stay as they are
    yield "420-35x21-exif-orientation-6.jpg", sampled("420", 35, 21, quality=30, optimize=True, exif=turned)


def sampled(sampling, width, height, **options):
    """A JPEG. Two samplings that Pillow does not write are others with as many blocks in an MCU and another frame header."""
    subsampling = {"444": 0, "422": 1, "420": 2, "440": 1, "411": 2, "grey": 0}[sampling]
    size = {"440": (-(-height // 16) * 16, -(-width // 8) * 8), "411": (-(-width // 32) * 16, -(-height // 8) * 16)}.get(sampling, (width, height))
    image = Image.fromarray(picture(*size, noise=4))
    data = saved(image.convert("L") if sampling == "grey" else image, "JPEG", subsampling=subsampling, **options)
    factors = {"440": 0x12, "411": 0x41}.get(sampling)
    if factors:
        sof = find(data, 0xC2 if options.get("progressive") else 0xC0)[0]
        data = put(put(data, sof + 5, struct.pack(">HH", height, width)), sof + 11, [factors])
    return data


def jpeg_cases():
    image = Image.fromarray(picture(48, 40, noise=2))
    base = saved(image, "JPEG", quality=50)
    progressive = saved(image, "JPEG", quality=50, progressive=True)
    marked = saved(image, "JPEG", quality=50, restart_marker_blocks=1)
    grey = saved(image.convert("L"), "JPEG", quality=50)
    cmyk = saved(Image.fromarray(numpy.dstack([picture(35, 27, 1, 4), picture(35, 27, 2, 4)[:, :, :1]]), "CMYK"), "JPEG", quality=50)
    yield "baseline.jpg", base
    yield "progressive.jpg", progressive
    yield "restarts.jpg", marked
    yield "grey.jpg", grey
    yield "cmyk.jpg", cmyk
    adobe = find(cmyk, 0xEE)
    yield "ycck.jpg", put(cmyk, adobe[1] - 1, [2])
    yield "cmyk-no-adobe.jpg", without(cmyk, 0xEE)

    scan, sof, dht, dqt = find(base, 0xDA)[1], find(base, 0xC0), find(base, 0xC4), find(base, 0xDB)
    middle = (scan + len(base)) // 2
    yield "empty.jpg", b""
    yield "soi-only.jpg", base[:2]
    yield "text.jpg", b"<html><body>404 Not Found</body></html>"
    yield "no-eoi.jpg", base[:-2]
    yield "half-eoi.jpg", base[:-1]
    yield "progressive-no-eoi.jpg", progressive[:-2]
    yield "garbage-behind-eoi.jpg", base + bytes(range(256))
    yield "second-image-behind-eoi.jpg", base + base
    yield "second-image-instead-of-eoi.jpg", base[:-2] + base
    yield "second-scan.jpg", base[:-2] + base[find(base, 0xDA)[0]:]
    yield "comment-before-eoi.jpg", base[:-2] + segment(0xFE, b"hello") + base[-2:]
    yield "bad-comment-before-eoi.jpg", base[:-2] + b"\xff\xfe\xff\xff" + base[-2:]
    yield "reserved-marker-before-eoi.jpg", base[:-2] + segment(0xF1, b"hello") + base[-2:]
    yield "bad-dht-before-eoi.jpg", base[:-2] + segment(0xC4, b"\x77" + bytes(20)) + base[-2:]
    yield "extra-data-before-eoi.jpg", base[:-2] + bytes(100) + base[-2:]
    yield "eoi-in-the-middle.jpg", base[:middle] + b"\xff\xd9"
    yield "progressive-eoi-in-the-middle.jpg", progressive[:len(progressive) // 2] + b"\xff\xd9"
    yield "zeros-in-the-middle.jpg", put(base, middle, bytes(64))
    yield "ff-in-the-middle.jpg", put(base, middle, b"\xff" * 64)
    yield "random-in-the-middle.jpg", put(base, middle, numpy.random.default_rng(3).integers(0, 255, 64).astype("uint8").tobytes())
    yield "restart-in-the-middle.jpg", put(base, middle, b"\xff\xd3")
    yield "marker-in-the-middle.jpg", put(base, middle, b"\xff\xe5")
    yield "dht-in-the-middle.jpg", put(base, middle, b"\xff\xc4")
    yield "no-dht.jpg", without(base, 0xC4)
    yield "progressive-no-dht.jpg", without(progressive, 0xC4)
    yield "no-dqt.jpg", without(base, 0xDB)
    yield "no-sof.jpg", without(base, 0xC0)
    tables = segment(0xDD, b"\x00\x01") + b"".join(base[b:e] for marker, b, e in segments(base) if marker in (0xC4, 0xDB))
    image_only = without(without(base, 0xC4), 0xDB)
    yield "tables-first.jpg", base[:2] + tables + b"\xff\xd9" + image_only
    yield "tables-first-no-soi.jpg", base[:2] + tables + b"\xff\xd9" + image_only[2:]
    yield "sof-first.jpg", base[:sof[1]] + b"\xff\xd9" + base
    yield "two-sof.jpg", base[:sof[1]] + base[sof[0]:]
    yield "dht-too-many-codes.jpg", put(base, dht[0] + 5, [3, 1])
    yield "dht-all-ones.jpg", put(base, dht[0] + 5, [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    yield "dht-dc-symbol-16.jpg", put(base, dht[0] + 21, [16])
    yield "dht-count-beyond.jpg", put(base, dht[0] + 5, [255] * 16)
    yield "dht-slot-9.jpg", put(base, dht[0] + 4, [9])
    yield "dht-length-1.jpg", put(base, dht[0] + 2, [0, 1])
    yield "dht-empty-table.jpg", base[:dht[0]] + segment(0xC4, b"\x00" + bytes(16)) + base[dht[1]:]
    yield "dqt-slot-5.jpg", put(base, dqt[0] + 4, [5])
    yield "dqt-short.jpg", base[:dqt[0]] + segment(0xDB, base[dqt[0] + 4:dqt[1] - 9]) + base[dqt[1]:]
    yield "dqt-zeros.jpg", put(base, dqt[0] + 5, bytes(64))
    for name, at, new in [
        ("height-0", 5, [0, 0]), ("width-0", 7, [0, 0]), ("size-65535", 5, [255, 255, 255, 255]), ("height-larger", 5, [0, 200]),
        ("height-smaller", 5, [0, 10]), ("12-bit", 4, [12]), ("precision-9", 4, [9]), ("2-components", 9, [2]), ("5-components", 9, [5]),
        ("sampling-0", 11, [0]), ("sampling-5", 11, [0x55]), ("sampling-441", 11, [0x41]), ("sampling-4x4", 11, [0x44]),
        ("sampling-3x1", 11, [0x31]), ("quant-table-3", 12, [3]), ("component-ids-same", 13, [1]), ("component-ids-unknown", 10, [9]),
    ]:
        yield f"sof-{name}.jpg", put(base, sof[0] + at, new)
    for name, factors in [("3x1-2x1", (0x31, 0x21, 0x21)), ("1x1-2x2", (0x11, 0x22, 0x22)), ("2x2-1x1-2x1", (0x22, 0x11, 0x21))]:
        data = base
        for i, factor in enumerate(factors):
            data = put(data, sof[0] + 11 + 3 * i, [factor])
        yield f"sof-sampling-{name}.jpg", data
    for n in (1, 3, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15):
        yield f"sof{n}.jpg", put(base, sof[0] + 1, [0xC0 + n])
    yield "sof2-of-a-progressive-as-baseline.jpg", progressive.replace(b"\xff\xc2", b"\xff\xc0", 1)
    sos = find(base, 0xDA)
    yield "sos-4-components.jpg", put(base, sos[0] + 4, [4])
    yield "sos-unknown-component.jpg", put(base, sos[0] + 5, [77])
    yield "sos-same-component-twice.jpg", put(base, sos[0] + 7, [1])
    yield "sos-table-7.jpg", put(base, sos[0] + 6, [0x77])
    yield "sos-spectrum-0-0.jpg", put(base, sos[1] - 3, [0, 0, 0])
    yield "sos-one-component-only.jpg", base[:sos[0]] + segment(0xDA, b"\x01\x01\x00\x00\x3f\x00") + base[sos[1]:]
    psos = find(progressive, 0xDA)
    yield "progressive-bad-spectrum.jpg", put(progressive, psos[1] - 3, [0, 63, 0])
    yield "progressive-bad-bits.jpg", put(progressive, psos[1] - 1, [0x31])
    later = [i for i in range(psos[1], len(progressive) - 1) if progressive[i:i + 2] == b"\xff\xda"]
    yield "progressive-dc-only.jpg", progressive[:later[0]] + b"\xff\xd9"
    yield "progressive-without-last-scan.jpg", progressive[:later[-1]] + b"\xff\xd9"
    at = restarts(marked)
    yield "restart-missing.jpg", marked[:at[3]] + marked[at[3] + 2:]
    yield "restart-all-missing.jpg", bytes(b for i, b in enumerate(marked) if i not in at and i - 1 not in at)
    yield "restart-ahead.jpg", put(marked, at[3] + 1, [0xD0 + (marked[at[3] + 1] + 1) % 8])
    yield "restart-behind.jpg", put(marked, at[3] + 1, [0xD0 + (marked[at[3] + 1] + 7) % 8])
    yield "restart-far.jpg", put(marked, at[3] + 1, [0xD0 + (marked[at[3] + 1] + 4) % 8])
    yield "restart-unknown-marker.jpg", put(marked, at[3] + 1, [0xE3])
    yield "restart-eoi.jpg", put(marked, at[3] + 1, [0xD9])
    yield "restart-data-missing.jpg", marked[:at[2] + 2] + marked[at[4]:]
    yield "restart-interval-0.jpg", put(marked, find(marked, 0xDD)[0] + 4, [0, 0])
    yield "restart-interval-wrong.jpg", put(marked, find(marked, 0xDD)[0] + 4, [0, 3])
    yield "dri-length-5.jpg", base[:sos[0]] + segment(0xDD, b"\x00\x00\x00") + base[sos[0]:]
    yield "junk-before-marker.jpg", base[:sof[0]] + b"junk" + base[sof[0]:]
    yield "junk-behind-soi.jpg", base[:2] + b"\x00" + base[2:]
    yield "fill-before-marker.jpg", base[:sof[0]] + b"\xff" * 100 + base[sof[0]:]
    yield "fill-flood.jpg", base[:2] + b"\xff" * 500 + base[2:]
    yield "exif-truncated.jpg", base[:2] + segment(0xE1, b"Exif\x00\x00II*\x00\x08\x00\x00\x00\xff\xff") + base[2:]
    yield "exif-longer-than-file.jpg", base[:2] + b"\xff\xe1\xff\xffExif\x00\x00" + base[2:]
    yield "exif-large.jpg", base[:2] + segment(0xE1, b"Exif\x00\x00" + bytes(600)) + base[2:]
    for name, marker, body in (
        ("jfif-short", 0xE0, b"JFIF\0\1"), ("adobe-short", 0xEE, b"Adobe\0"), ("profile-short", 0xE2, b"ICC_PROFILE\0\1"),
        ("photoshop-cut", 0xED, b"Photoshop 3.0\x008BIM\x04\x04"), ("photoshop-cut-before", 0xED, b"Photoshop 3.0\x008BIM\x04"),
    ):
        yield f"{name}.jpg", base[:2] + segment(marker, body) + base[2:]
    yield "app-length-1.jpg", base[:2] + b"\xff\xe5\x00\x01" + base[2:]
    yield "app-length-0.jpg", base[:2] + b"\xff\xe5\x00\x00" + base[2:]
    yield "reserved-marker.jpg", base[:2] + segment(0xF1, b"hello") + base[2:]
    yield "jpg-marker.jpg", base[:2] + segment(0xC8, b"hello") + base[2:]
    yield "marker-02.jpg", base[:2] + segment(0x02, b"hello") + base[2:]
    yield "tem-marker.jpg", base[:2] + b"\xff\x01" + base[2:]
    yield "restart-before-sof.jpg", base[:2] + b"\xff\xd0" + base[2:]
    yield "second-soi.jpg", base[:2] + b"\xff\xd8" + base[2:]
    yield "dnl.jpg", base[:sof[1]] + segment(0xDC, b"\x00\x40") + base[sof[1]:]
    yield "dac-bad.jpg", base[:2] + segment(0xCC, b"\x01\x1f\xff") + base[2:]
    yield "dac.jpg", base[:2] + segment(0xCC, b"\x01\x10") + base[2:]
    yield "adobe-rgb.jpg", without(base, 0xE0)[:2] + segment(0xEE, b"Adobe\x00\x64\x00\x00\x00\x00\x00") + without(base, 0xE0)[2:]
    yield "ids-rgb.jpg", relabelled(without(base, 0xE0), b"RGB")


def relabelled(data, ids):
    sof, sos = find(data, 0xC0), find(data, 0xDA)
    for i, c in enumerate(ids):
        data = put(put(data, sof[0] + 10 + 3 * i, [c]), sos[0] + 5 + 2 * i, [c])
    return data


# --- the other formats --------------------------------------------------------

def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def packed(row, depth):
    """Samples of one row as a PNG packs them."""
    if depth == 16:
        return row.astype(">u2").tobytes()
    if depth == 8:
        return row.astype("u1").tobytes()
    bits = numpy.unpackbits(row.reshape(-1, 1).astype("u1"), axis=1)[:, 8 - depth:]
    return numpy.packbits(bits.reshape(-1)).tobytes()


def png(kind, depth, interlaced=False, extra=b"", width=23, height=13):
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[kind]
    samples = numpy.random.default_rng(depth).integers(0, 2**depth, (height, width, channels))
    samples[: height // 2] = samples[0, 0]
    passes = [(0, 0, 1, 1)]
    if interlaced:
        passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    rows = b""
    for x, y, across, down in passes:
        for row in samples[y::down, x::across]:
            rows += b"\x00" + packed(row, depth)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, int(interlaced)))
            + extra + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def palette(entries):
    return chunk(b"PLTE", numpy.random.default_rng(9).integers(0, 256, 3 * entries).astype("u1").tobytes())


def other_cases():
    rgb = Image.fromarray(picture(23, 13))
    alpha = Image.fromarray(numpy.dstack([picture(23, 13), picture(23, 13, 4)[:, :, :1]]), "RGBA")
    for kind, depths in {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}.items():
        for depth in depths:
            extra = palette(2**depth) if kind == 3 else b""
            yield f"png-{kind}-{depth}.png", png(kind, depth, extra=extra)
            yield f"png-{kind}-{depth}-interlaced.png", png(kind, depth, True, extra)
    yield "png-grey-transparent.png", png(0, 8, extra=chunk(b"tRNS", b"\x00\x07"))
    yield "png-grey16-transparent.png", png(0, 16, extra=chunk(b"tRNS", b"\x00\x07"))
    yield "png-rgb-transparent.png", png(2, 8, extra=chunk(b"tRNS", b"\x00\x07\x00\x07\x00\x07"))
    yield "png-palette-transparent.png", png(3, 8, extra=palette(256) + chunk(b"tRNS", bytes(range(256))))
    yield "png-palette-short.png", png(3, 4, extra=palette(5))
    yield "png-named.JPEG", png(2, 8)
    good = png(2, 8)
    idat = good.index(b"IDAT")
    yield "png-no-iend.png", good[:-12]
    yield "png-cut.png", good[:len(good) * 3 // 4]
    yield "png-bad-idat-crc.png", good[:-13] + bytes([good[-13] ^ 1]) + good[-12:]
    yield "png-bad-ihdr-crc.png", put(good, 29, [good[29] ^ 1])
    yield "png-bad-data.png", put(good, idat + 40, bytes(20))
    head, rest = good[:33], good[33:]
    pixels = good[idat + 4:-16]
    frame = struct.pack(">5I2H2B", 0, 23, 13, 0, 0, 1, 100, 0, 0)
    animation = chunk(b"acTL", struct.pack(">II", 2, 0)) + chunk(b"fcTL", frame)
    second = chunk(b"fcTL", struct.pack(">I", 1) + frame[4:]) + chunk(b"fdAT", struct.pack(">I", 2) + pixels)
    yield "png-frames.png", head + animation + rest[:-12] + second + rest[-12:]
    yield "png-frame-without-control.png", head + animation[:20] + rest[:-12] + chunk(b"fdAT", bytes(4) + pixels) + rest[-12:]
    yield "png-frames-out-of-order.png", head + rest[:-12] + second + rest[-12:]
    yield "png-first-frame-small.png", head + chunk(b"fcTL", frame[:4] + struct.pack(">II", 22, 13) + frame[12:]) + rest
    yield "png-idat-behind-is-cut.png", good[:-12] + chunk(b"IDAT", pixels)[:-40]
    yield "png-text-behind-is-cut.png", good[:-12] + chunk(b"tEXt", b"key\0a text")[:-7]
    yield "png-idat-crc-is-cut.png", good[:-14]
    yield "png-name-with-dash.png", head + chunk(b"a-bc", b"") + rest
    yield "png-gamma-short.png", head + chunk(b"gAMA", bytes(3)) + rest
    yield "png-profile-too-long.png", head + chunk(b"iCCP", b"name\0\0" + zlib.compress(bytes(1 << 21))) + rest
    yield "png-text-of-unknown-packing.png", good[:-12] + chunk(b"zTXt", b"key\0\2text") + rest[-12:]
    yield "png-bomb.png", put(good, 16, struct.pack(">II", 65535, 65535))[:29] + struct.pack(
        ">I", zlib.crc32(b"IHDR" + struct.pack(">II", 65535, 65535) + good[24:29])) + good[33:]
    yield "png-13000.png", (good[:8] + chunk(b"IHDR", struct.pack(">II", 13000, 13000) + good[24:29]) + good[33:])
    yield "png-size-0.png", good[:8] + chunk(b"IHDR", struct.pack(">II", 0, 5) + good[24:29]) + good[33:]

    yield "tiff.tiff", saved(rgb, "TIFF")
    yield "ppm.ppm", saved(rgb, "PPM")


# --- what Pillow says -----------------------------------------------------------

def verdict(data):
    try:
        image = Image.open(io.BytesIO(data))
        pixels = image.convert("RGB")
    except Exception as error:  # whatever it raises, a DataLoader's worker ends with it
        return {"error": f"{type(error).__name__}: {error}".replace(repr(data)[:20], "").split(" <_io")[0]}
    return {"size": list(pixels.size), "rgb": hashlib.sha256(pixels.tobytes()).hexdigest()[:16]}


def differing():
    """What pillow.json has otherwise for this architecture."""
    said = json.loads((HERE / "pillow.json").read_text())["cases"]
    here = {name: verdict((HERE / name).read_bytes()) for name in said}
    if bad := [name for name in said if here[name].get("size") != said[name].get("size")]:
        raise SystemExit(f"accepted here, refused there, or of another size: {bad}")
    return {name: here[name]["rgb"] for name in sorted(said) if here[name].get("rgb") != said[name].get("rgb")}


def main():
    if platform.machine() == "aarch64":
        (HERE / "pillow-arm64.json").write_text(json.dumps(differing(), indent=1) + "\n")
        return
    said = {"cases": {}, "cuts": {}}
    for folder, cases in (("good", good_cases()), ("bad", jpeg_cases()), ("other", other_cases())):
        (HERE / folder).mkdir(exist_ok=True)
        for old in (HERE / folder).iterdir():
            old.unlink()
        for name, data in cases:
            (HERE / folder / name).write_bytes(data)
            said["cases"][f"{folder}/{name}"] = verdict(data)
    for path in sorted((HERE / "regress").glob("*.jpg")):  # kept from differential runs, not made here
        said["cases"][f"regress/{path.name}"] = verdict(path.read_bytes())
    for name in ("baseline", "progressive", "restarts", "grey"):
        data = (HERE / "bad" / f"{name}.jpg").read_bytes()
        cuts = sorted({len(data) * n // 64 for n in range(64)} | set(range(len(data) - 12, len(data))))
        said["cuts"][f"bad/{name}.jpg"] = {n: "error" not in verdict(data[:n]) for n in cuts}
    lines = [f"{json.dumps(part)}: {{\n" + ",\n".join(f" {json.dumps(name)}: {json.dumps(said[part][name])}" for name in sorted(said[part])) + "\n}"
             for part in said]
    (HERE / "pillow.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
