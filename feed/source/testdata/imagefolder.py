"""Writes tree.txt and samples.txt: what torchvision's ImageFolder lists of a difficult tree.

    python/.venv/bin/python feed/source/testdata/imagefolder.py

tree.txt has one entry a line, "kind path" or "link path target"; samples.txt one sample, "class path".
Paths are bytes, percent-encoded.
"""

import os
import random
import tempfile
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes

from torchvision.datasets import ImageFolder

HERE = Path(__file__).parent

BY_HAND = [
    "file a/1.jpg", "file a/10.jpg", "file a/2.JPG", "file a/2.jpeg", "file a/.jpg", "file a/jpg", "file a/x.jpg.txt", "file a/x.txt",
    # os.walk's paths are compared whole: "a/b-c" comes before "a/b/c".
    "file a/b/1.png", "file a/b-c/1.png", "file a/b/c/1.png", "file a/b.d/1.png", "file a/b0/1.png",
    "file .hidden/1.webp", "file Z/1.tiff", "file é/1.bmp", "file é/ä.pgm", "file %ff/1.jpg", "file %ef%bc%80/1.jpg",
    "file a/%ff.jpg", "file a/%ef%bc%80.jpg", "file a/%ed%a0%80.jpg", "file a/%f0%9f%98%80.jpg", "file a/ü.JPEG",
    # Lower case as Python makes it: the Kelvin sign is a k, a dotted capital I two code points.
    "file a/x.t%c4%b0ff", "file a/%c4%b0.tiff", "file a/%e2%84%aa.jpg",
    "file plain.jpg", "dir a/empty", "dir a/folder.jpg", "file a/folder.jpg/inside.ppm",
    "file other/real/1.jpg", "link linked other/real", "link a/z-link ../other/real", "link a/link.jpg ../other/real/1.jpg",
    "link a/broken.jpg nowhere", "link a/broken nowhere", "link a/chain.jpg link.jpg", "file with%20space/a%0ab.jpg", "file with%20space/%25.jpg",
]


def at_random(count: int) -> list[str]:
    """Paths of few letters that sort differently as bytes, as code points and as parts."""
    draw = random.Random(7)
    letters = ["a", "b", "-", ".", "0", "A", "_", "~", "%c3%a9", "%ff", "%ef%bc%80", "%f0%9f%98%80", "%20", "%01"]
    paths = set()
    while len(paths) < count:
        parts = ["".join(draw.choices(letters, k=draw.randint(1, 3))) for _ in range(draw.randint(1, 3))]
        if any(part in (".", "..") for part in parts):
            continue
        paths.add("r" + draw.choice("xyz") + "/" + "/".join(part + "d" for part in parts) + draw.choice([".jpg", ".png", ".JPeg", ".txt"]))
    return ["file " + path for path in sorted(paths)]


def build(root: bytes, lines: list[str]) -> None:
    for line in lines:
        kind, path, *target = line.split(" ")
        path = os.path.join(root, unquote_to_bytes(path))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if kind == "dir":
            os.makedirs(path, exist_ok=True)
        elif kind == "link":
            os.symlink(unquote_to_bytes(target[0]), path)
        else:
            open(path, "wb").close()


def encode(line: str) -> str:
    """Percent-encodes what the list above has in plain letters."""
    kind, *paths = line.split(" ")
    return " ".join([kind] + [quote_from_bytes(unquote_to_bytes(path), safe="/") for path in paths])


def main() -> None:
    lines = [encode(line) for line in BY_HAND + at_random(400)]
    with tempfile.TemporaryDirectory() as root:
        build(os.fsencode(root), lines)
        samples = ImageFolder(root).samples
        listed = [f"{label} {quote_from_bytes(os.fsencode(os.path.relpath(path, root)), safe='/')}" for path, label in samples]
    (HERE / "tree.txt").write_text("\n".join(lines) + "\n")
    (HERE / "samples.txt").write_text("\n".join(listed) + "\n")


main()
