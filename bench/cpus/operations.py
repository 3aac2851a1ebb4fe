#!/usr/bin/env python3
"""Compare every operation with Pillow on each platform: bench/cpus/operations.py [--folder FOLDER]... [--markdown FILE]

    bench/cpus/root.py --torch        # once: arm64's Python with Pillow, PyTorch and torchvision
    bench/cpus/operations.py --markdown bench/cpus/RESULTS.md

On each platform, its Pillow and torchvision compute every operation on random pictures of all modes, some operations on
the files in each FOLDER/*, and PNGs with odd chunks. The feed's code for that platform does the same, and each
difference in a byte is printed and makes the exit code 1. feed/picture/testdata/chains.py draws the pictures,
differential_test.go compares. arm64 is emulated by qemu. The default of FOLDER is feed/decode/testdata.
"""

import argparse
import os
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import cpus

ROOT = cpus.ROOT
PYTHON = {"amd64": ROOT / "python/.venv/bin/python", "arm64": cpus.BUILT / "root/python"}
NAMES = {"amd64": "x86-64", "arm64": "arm64"}
ROW = re.compile(r'row "(.*)": (\d+) same, (\d+) bytes, (\d+) differ, refused: map\[(.*)\]$', re.MULTILINE)
CHUNKS = "PNGs with odd chunks"
OWN_TESTS = {None: "TestEachOperationMatchesPillow", CHUNKS: "TestOddChunksMatchPillow"}
BEGIN, END = "<!-- operations.py: begin -->", "<!-- operations.py: end -->"


class Row(NamedTuple):
    same: int = 0
    bytes: int = 0
    differ: int = 0
    refused: Counter = Counter()

    def plus(self, other):
        return Row(self.same + other.same, self.bytes + other.bytes, self.differ + other.differ, self.refused + other.refused)


def prepare(arch):
    if not PYTHON[arch].exists():
        sys.exit(f"operations.py: {PYTHON[arch]} is missing: " + ("run bench/cpus/root.py --torch" if arch == "arm64" else "run make torch"))
    program = cpus.BUILT / arch / "picture.test"
    program.parent.mkdir(parents=True, exist_ok=True)
    cpus.run(["go", "test", "-c", "-o", program, "./feed/picture"], {**os.environ, "GOOS": "linux", "GOARCH": arch, "CGO_ENABLED": "0"})


def compare(arch, folder):
    """Return the rows of a platform by operation: for random pictures (None), for one of OWN_TESTS, or for the files in a folder."""
    front, environment = cpus.launcher(cpus.Level("", arch, None, qemu="" if arch == cpus.HERE else "max"))
    test, more = OWN_TESTS.get(folder), []
    if test is None:
        test, more = "TestOddFilesMatchPillow", ["-folder", folder.resolve(), "-least", "1"]
    words = [*front, cpus.BUILT / arch / "picture.test", "-test.v", "-test.run", f"^{test}$", *more]
    done = subprocess.run([str(word) for word in words], env={**environment, "STOKER_PYTHON": str(PYTHON[arch])}, cwd=ROOT / "feed/picture", capture_output=True, text=True)
    found = ROW.findall(done.stdout)
    if not found:
        raise SystemExit(f"{test} on {arch} ended with {done.returncode} and no rows:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    rows = {}
    for name, same, size, differ, why in found:
        refused = Counter()
        for reason, n in re.findall(r"(.+?):(\d+)(?: |$)", why):
            refused[shorten(reason)] += int(n)
        rows[name] = Row(int(same), int(size), int(differ), refused)
    print(f"{NAMES[arch]}, {folder or 'random pictures'}: {sum_of(rows).same} equal", file=sys.stderr, flush=True)
    return rows


def compare_all(platforms, folders):
    """Return the rows of each platform. Emulated ones take longest and begin first."""
    jobs = [(arch, folder) for arch in reversed(platforms) for folder in (*OWN_TESTS, *folders)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda job: compare(*job), jobs))
    rows = {arch: {} for arch in platforms}
    for (arch, _), found in zip(jobs, results):
        for name, row in found.items():
            rows[arch][name] = rows[arch].get(name, Row()).plus(row)
    return rows


def shorten(reason):
    """Return a reason without the details of a single picture."""
    reason = re.sub(r"^(op \d+|source): ", "", reason)
    reason = re.sub(r", save it anew.*", "", reason)
    reason = re.sub(r"\d+( and \d+)? (bytes|pixels)", r"so many \2", reason)
    return re.sub(r"\(\d+,\d+\)", "another size", reason)


def make_table(rows, versions):
    yield "| operation | " + " | ".join(f"{NAMES[arch]}: equal | bytes | differ | left to Pillow" for arch in rows) + " |"
    yield "|---|" + "---|---|---|---|" * len(rows)
    for name in sorted({name for of in rows.values() for name in of}, key=lambda name: (name.startswith("decode"), "tensor" in name, name)):
        cells = [name]
        for of in rows.values():
            row = of.get(name, Row())
            cells += [f"{row.same:,}", f"{row.bytes:,}", str(row.differ), str(sum(row.refused.values()))]
        yield "| " + " | ".join(cells) + " |"
    totals = ["all"]
    for of in rows.values():
        total = sum_of(of)
        totals += [f"{total.same:,}", f"{total.bytes:,}", str(total.differ), str(sum(total.refused.values()))]
    yield "| " + " | ".join(totals) + " |"
    yield ""
    yield versions
    yield ""
    yield "Left to Pillow, on either platform, and how often:"
    yield ""
    reasons = {arch: sum_of(of).refused for arch, of in rows.items()}
    for reason in sorted({r for of in reasons.values() for r in of}, key=lambda r: -max(of[r] for of in reasons.values())):
        yield f"- {reason}: " + ", ".join(f"{of[reason]} on {NAMES[arch]}" for arch, of in reasons.items())


def sum_of(rows):
    total = Row()
    for row in rows.values():
        total = total.plus(row)
    return total


def read_versions(arch):
    line = "import PIL, numpy, torch, torchvision; print('Pillow', PIL.__version__ + ', NumPy', numpy.__version__ + ', torch', torch.__version__ + ', torchvision', torchvision.__version__)"
    return f"{NAMES[arch]}: {cpus.run([PYTHON[arch], '-c', line]).strip()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, action="append", help="of folders with files of pictures")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="write the table between its marks in FILE")
    options = parser.parse_args()
    platforms = sorted({cpus.HERE, "arm64"})
    for arch in platforms:
        prepare(arch)
    rows = compare_all(platforms, options.folder or [ROOT / "feed/decode/testdata"])
    text = "\n".join(make_table(rows, ". ".join(read_versions(arch) for arch in platforms) + "."))
    if not options.markdown:
        print(text)
    else:
        cpus.write_between(options.markdown, BEGIN, END, text)
    differing = {arch: sum_of(of).differ for arch, of in rows.items()}
    if any(differing.values()):
        sys.exit(f"operations.py: not Pillow's bytes: {differing}")


if __name__ == "__main__":
    main()
