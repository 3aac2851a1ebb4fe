#!/usr/bin/env python3
"""The long proof for arm64, under qemu: make arm64, or bench/cpus/arm64.py [PART]...

    root          a root of arm64 with Python, Pillow, PyTorch and torchvision (bench/cpus/root.py --torch), if it is missing
    tests         every test of the packages that make pixels and batches, with arm64's Pillow (`make cpus` runs the quick ones)
    loader        batches of stoker.DataLoader and of `stoker feed --` compared with those of arm64's torch (bench/cpus/digests.py)
    stacks        the stack of arm64's CPython, read from outside, compared with what Python itself reports
    nvml          the tests of observe/gpu with the emulated NVML, built for arm64
    machine       a whole emulated machine: stacks, NVML, doctor and observe on arm64's own kernel (bench/cpus/machine.py)
    operations    which operation gives that platform's Pillow's bytes (bench/cpus/operations.py)
    instructions  of Stoker, Pillow and torchvision, counted (bench/cpus/instructions.py): FOLDER of --images
    product       wheel, .deb, .rpm and image, installed and run (bench/cpus/product.py)

Half an hour on two cores. The first that fails ends it.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import cpus

HERE = Path(__file__).resolve().parent
PYTHON = cpus.BUILT / "root/python"
LEVEL = cpus.Level("arm64", "arm64", frozenset(), qemu="max")
PACKAGES = ["feed/decode", "feed/decode/idct", "feed/decode/inflate", "feed/decode/planes", "feed/decode/unfilter", "feed/transform", "feed/picture", "feed/wheel", "feed/order", "feed/pack"]


def make_root(_):
    if not (cpus.BUILT / "root/packages/torch").exists():
        cpus.run([sys.executable, HERE / "root.py", "--torch"])


def run_tests(_):
    cpus.build("arm64")
    front, environment = cpus.launcher(LEVEL)
    for package in PACKAGES:
        program = cpus.program(LEVEL, Path(package).name + ".test")
        cpus.run(["go", "test", "-c", "-o", program, f"./{package}"], {**os.environ, "GOOS": "linux", "GOARCH": "arm64", "CGO_ENABLED": "0"})
        out = cpus.run([*front, program, "-test.v", "-test.timeout=1h"], {**environment, "STOKER_PYTHON": str(PYTHON)}, cpus.ROOT / package)
        print(f"  {package}: {out.count('--- PASS')} pass, {out.count('--- SKIP')} are skipped")


def compare_loaders(_):
    """The batches of one ImageFolder, made in three ways."""
    data, binary = cpus.make_data(), str(cpus.program(LEVEL, "stoker"))
    cpus.build("arm64")
    stoker = cpus.BUILT / "stoker-arm64"
    stoker.write_text(f'#!/bin/sh\nexec qemu-aarch64 -L {cpus.BUILT / "root"} -cpu max {binary} "$@"\n')
    stoker.chmod(0o755)
    environment = {**os.environ, "STOKER_BIN": str(stoker), "PYTHONPATH": str(cpus.ROOT / "python")}
    script = HERE / "digests.py"
    torchs = cpus.run([PYTHON, script, data, "torch"]).splitlines()
    ours = cpus.run([PYTHON, script, data, "stoker"], environment).splitlines()
    fed = cpus.run([stoker, "feed", "--", PYTHON, script, data, "torch"], environment).splitlines()
    evaluated = [line for line in torchs if line.startswith("test")]
    if not evaluated or [line for line in ours if line.startswith("test")] != evaluated:
        sys.exit(f"stoker.DataLoader's batches are not torch's:\n{ours}\n{torchs}")
    if fed[-len(torchs) :] != torchs:
        sys.exit(f"batches under stoker feed -- are not torch's:\n{fed}\n{torchs}")
    print(f"  {len(evaluated)} batches of stoker.DataLoader and {len(torchs)} under stoker feed -- equal torch's")


def read_stacks(_):
    """By this machine's binary: qemu's user emulation has no process_vm_readv, and a guest's memory has the addresses that it reports."""
    with tempfile.TemporaryDirectory() as home:
        place = Path(home) / ".pyenv/versions/arm64/bin"
        place.mkdir(parents=True)
        (place / "python3.11").symlink_to(PYTHON)
        out = cpus.run(["go", "test", "-count=1", "-v", "-run", "^TestStacks$", "./observe/stack"], {**os.environ, "HOME": home, "GOPATH": cpus.run(["go", "env", "GOPATH"]).strip(), "GOCACHE": cpus.run(["go", "env", "GOCACHE"]).strip()})
    read = out.count("--- PASS: TestStacks/3.11.2_")
    if read != 4:
        sys.exit(f"{read} of 4 stacks were read:\n{out}")
    print("  4 of 4 stacks of arm64's CPython 3.11 are what Python says")


def ask_nvml(_):
    """The tests have cc make the library: here that is arm64's."""
    front, environment = cpus.launcher(LEVEL)
    program = cpus.program(LEVEL, "gpu.test")
    cpus.run(["go", "test", "-c", "-o", program, "./observe/gpu"], {**os.environ, "GOOS": "linux", "GOARCH": "arm64", "CGO_ENABLED": "0"})
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "cc").symlink_to(shutil.which("aarch64-linux-gnu-gcc"))
        out = cpus.run([*front, program, "-test.v", "-test.timeout=1h"], {**environment, "PATH": f"{folder}:{environment['PATH']}"}, cpus.ROOT / "observe/gpu")
    if "--- PASS: TestEachMissingSymbolCostsOnlyItsValue/nvmlGpmMetricsGet" not in out:
        sys.exit(f"the emulated NVML was not asked:\n{out}")
    print(f"  observe/gpu: {out.count('--- PASS')} pass, {out.count('--- SKIP')} are skipped")


def run_machine(_):
    if shutil.which("qemu-system-aarch64") is None:
        print("  left out: there is no qemu-system-aarch64 (apt-get install qemu-system-arm)")
        return
    print(cpus.run([sys.executable, HERE / "machine.py"]))


def compare_operations(options):
    folders = [word for folder in options.folder or [] for word in ("--folder", folder)]
    print(cpus.run([sys.executable, HERE / "operations.py", *folders]))


def count_instructions(options):
    images = options.images or cpus.ROOT / "data/reference"
    if not images.exists():
        print(f"  left out: there is no {images} (bench/loader/make_reference.py makes it)")
        return
    print(cpus.run([sys.executable, HERE / "instructions.py", images]))


def try_product(_):
    print(cpus.run([sys.executable, HERE / "product.py"]))


PARTS = {
    "root": make_root, "tests": run_tests, "loader": compare_loaders, "stacks": read_stacks, "nvml": ask_nvml, "machine": run_machine,
    "operations": compare_operations,
    "instructions": count_instructions, "product": try_product,
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--images", type=Path, help="folder of JPEGs to count instructions on (default data/reference)")
    parser.add_argument("--folder", action="append", help="of folders with files of pictures, for operations")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}: choose from {', '.join(PARTS)}")
    if shutil.which("qemu-aarch64") is None:
        sys.exit("arm64.py: there is no qemu-aarch64: apt-get install qemu-user")
    for name in options.parts or PARTS:
        began = time.monotonic()
        print(f"{name}:", flush=True)
        PARTS[name](options)
        print(f"  {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
