#!/usr/bin/env python3
"""The feed on processors that are not this one: `make cpus` runs it.

    bench/cpus/cpus.py                                            the tests at every level below
    bench/cpus/cpus.py --speed data/reference --markdown bench/loader/RESULTS.md

A level is a processor: this one as it is, this one without some instruction sets (GODEBUG takes them away from
what feed/kernels asks), and those that qemu emulates. At each level run `stoker feed --check` and a daemon that
serves a client without torch; its batches must have the same bytes at all levels. The tests that hold every kernel
against plain Go and against Pillow's recorded bytes run where a level takes another way through their package than
`make test` does on this processor. `stoker doctor` says which kernels a level runs, and that must be what the level
is for: else its tests would have tested nothing.

--speed measures at this processor's levels, in turn: CPU time of the whole daemon per image, its start included.
"""

import argparse
import json
import os
import platform
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "bin/cpus"
HERE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())

ALL = frozenset({"AVX2", "BMI2", "F16C", "FMA"})


class Level(NamedTuple):
    name: str
    arch: str
    lacks: "frozenset[str] | None"  # of what the kernels need; None: those that this processor lacks
    off: str = ""  # what GODEBUG takes away
    qemu: str = ""  # the processor that qemu emulates
    tests: bool = True  # otherwise the whole program only, if this processor runs all kernels


LEVELS = [
    Level("this processor", HERE, None),
    Level("without F16C", "amd64", frozenset({"F16C"}), off="f16c"),
    Level("without FMA", "amd64", frozenset({"FMA"}), off="fma"),
    Level("without BMI2", "amd64", frozenset({"BMI2"}), off="bmi2"),
    Level("without AVX2", "amd64", frozenset({"AVX2"}), off="avx2"),
    Level("without any of them (x86-64-v1)", "amd64", ALL, off="all"),
    Level("qemu64", "amd64", ALL, qemu="qemu64", tests=False),
    Level("core2duo", "amd64", ALL, qemu="core2duo", tests=False),
    Level("Nehalem (x86-64-v2)", "amd64", ALL, qemu="Nehalem", tests=False),
    Level("Haswell (x86-64-v3)", "amd64", frozenset(), qemu="Haswell", tests=False),
    Level("EPYC-Milan (x86-64-v3)", "amd64", frozenset(), qemu="EPYC-Milan", tests=False),
    Level("arm64", "arm64", frozenset(), qemu="max"),
    Level("arm64 without NEON", "arm64", frozenset({"ASIMD"}), off="asimd", qemu="max", tests=False),
]

# Of each package the tests that run kernels, or what takes their place. Those left out run no kernel, or very many pictures.
TESTS = {
    "feed/decode": "Pillow|PlainPNG|Guards|Assembly|Crops|EveryColour|Padding|FuzzDecode",
    "feed/decode/idct": "IDCT",
    "feed/decode/inflate": "Unpack|Streams",
    "feed/decode/planes": "Rows",
    "feed/decode/unfilter": "Rows",
    "feed/transform": "Pixels|Kernels|Numbers|Unaligned|Half|CIFAR",
    "feed/picture": "ChainsArePillows|Colours",
}


def is_native(level):
    return level.arch == HERE and not level.qemu


def launcher(level):
    """What goes in front of a program, and its environment."""
    environment = {**os.environ, "GODEBUG": ",".join(f"cpu.{name}=off" for name in level.off.split())}
    if is_native(level):
        return [], environment
    if level.arch == "arm64":
        environment["QEMU_LD_PREFIX"] = "/usr/aarch64-linux-gnu"
    return [{"amd64": "qemu-x86_64", "arm64": "qemu-aarch64"}[level.arch]], {**environment, "QEMU_CPU": level.qemu}


def find_tests(level, groups, lacking):
    """Return the packages to test at a level, with their tests: those whose code runs at no other level."""
    if not level.tests and not (lacking and level.name.startswith("Haswell")):
        return {}
    if not is_native(level):
        return TESTS
    off = {group["name"] for group in groups if not group["runs"] and not lacking.issuperset(group["lacks"])}
    text = (ROOT / "feed/kernels/kernels.go").read_text()
    packages = {package for name, package in find_packages(text) if name in off}
    return {package: tests for package, tests in TESTS.items() if package in packages}


def find_packages(text):
    """Read the table of kernels: the name of each group, with its package for this processor."""
    names = dict(re.findall(r'(\w+) += "(.*)"', text))
    return [(names[name], package) for name, package in re.findall(r'\{\s*(\w+), "%s", "(feed/[\w/]+)"' % HERE, text)]


def program(level, name):
    return BUILT / level.arch / name


RUNNING = set()  # they end with us, and after that nothing begins
ENDED = threading.Event()


def run(command, environment=None, cwd=ROOT):
    """The output of a command; it must end well, and this side of half an hour."""
    process = subprocess.Popen([str(word) for word in command], cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    RUNNING.add(process)
    try:
        if ENDED.is_set():
            raise SystemExit("ended")
        out, err = process.communicate(timeout=1800)
    finally:
        process.kill()
        RUNNING.discard(process)
    if process.returncode:
        told = [line for line in (out + err).splitlines() if "TCG doesn't support" not in line]
        raise SystemExit(f"{shlex.join(map(str, command))}: ended with {process.returncode}\n" + "\n".join(told[-60:]))
    return out


def build(arch):
    environment = {**os.environ, "GOOS": "linux", "GOARCH": arch, "CGO_ENABLED": "0", "GOAMD64": "v1"}
    target = BUILT / arch
    target.mkdir(parents=True, exist_ok=True)
    run(["go", "build", "-o", target / "stoker", "./cmd/stoker"], environment)
    for package in TESTS:
        run(["go", "test", "-c", "-o", target / f"{Path(package).name}.test", f"./{package}"], environment)
    # The machine code itself: nothing beyond a kernel's gate, nothing fused.
    run(["go", "test", "-count=1", "-run", "^(TestAssembly.*|TestNothingFuses)$", "./cmd/stoker", "-args", "-assembled", target / "stoker"])


def make_data():
    """A folder of two classes, of the decoder's test files."""
    folder = BUILT / "data"
    shutil.rmtree(folder, ignore_errors=True)
    for name, size in (("a", "35x21"), ("b", "67x19")):
        (folder / name).mkdir(parents=True)
        for file in (ROOT / "feed/decode/testdata/good").glob(f"*{size}*.jpg"):
            shutil.copy(file, folder / name)
    return folder


def client_python():
    """A Python with NumPy: PyTorch's, else one made for it."""
    for python in (ROOT / "python/.venv/bin/python", BUILT / "venv/bin/python"):
        if python.exists():
            return python
    run([sys.executable, "-m", "venv", BUILT / "venv"])
    run([BUILT / "venv/bin/python", "-m", "pip", "install", "--quiet", "numpy"])
    return BUILT / "venv/bin/python"


def find_kernels(level):
    """The groups of kernels of the level's architecture, and the instruction sets that it lacks of what they need."""
    front, environment = launcher(level)
    groups = json.loads(run([*front, program(level, "stoker"), "doctor", "--json"], environment))["kernels"]
    for group in groups:
        if group["runs"] == bool(group["lacks"]):
            raise SystemExit(f"{level.name}: stoker doctor says of {group['name']} that it runs ({group['runs']}) and lacks {group['lacks']}")
    return groups, frozenset(sum((group["lacks"] for group in groups), []))


def check(level, data, python, lacking):
    """Run a level; return which kernels ran, what was run, the digest of its daemon's batches, and its seconds.

    lacking are the instruction sets that this processor does not have.
    """
    began = time.monotonic()
    groups, lacks = find_kernels(level)
    wanted = level.lacks
    if is_native(level):
        wanted = lacking | (level.lacks or frozenset())
    if lacks != wanted:
        raise SystemExit(f"{level.name}: the kernels lack {sorted(lacks)}, expected {sorted(wanted)}")
    front, environment = launcher(level)
    tested = find_tests(level, groups, lacking)
    for package, tests in tested.items():
        run([*front, program(level, f"{Path(package).name}.test"), "-test.short", "-test.timeout=30m", "-test.run", tests], environment, ROOT / package)
    checked = json.loads(run([*front, program(level, "stoker"), "feed", "--check", data, "--json"], environment))
    if checked["samples"] < 20 or checked.get("bad"):
        raise SystemExit(f"{level.name}: stoker feed --check: {checked}")
    digest = run([python, ROOT / "bench/cpus/client.py", data], {**environment, "STOKER_BIN": str(wrapper(level))}).strip()
    what = [f"tests of {len(tested)} packages"] if tested else []
    return f"{sum(g['runs'] for g in groups)} of {len(groups)}", ", ".join([*what, "--check, client"]), digest, time.monotonic() - began


def wrapper(level):
    """What a client starts as stoker."""
    path = BUILT / f"stoker-{LEVELS.index(level)}"
    words = shlex.join(map(str, [*launcher(level)[0], program(level, "stoker")]))
    path.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    path.chmod(0o755)
    return path


def check_all():
    data, python = make_data(), client_python()
    levels = [level for level in LEVELS if level.arch == HERE or level.qemu]
    for arch in sorted({level.arch for level in levels}):
        build(arch)
    lacking = find_kernels(LEVELS[0])[1]
    digests = set()
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        results = [pool.submit(check, level, data, python, lacking) for level in levels]
        for level, result in zip(levels, results):
            kernels, what, digest, seconds = result.result()
            digests.add(digest)
            print(f"{level.name:32}{kernels} groups of kernels   {what:37}{digest}{seconds:5.0f} s", flush=True)
    finally:
        ENDED.set()
        for process in list(RUNNING):
            process.kill()
        pool.shutdown(cancel_futures=True)
    if len(digests) > 1:
        raise SystemExit(f"the levels deliver different bytes: {sorted(digests)}")


def measure(folder, rounds, document):
    """Print, or write to a document, what an image costs at the levels of this processor."""
    build(HERE)
    python = client_python()
    levels = [level for level in LEVELS if is_native(level)]
    spent = {level: [] for level in levels}
    for _ in range(rounds):
        for level in levels:
            environment = {**launcher(level)[1], "STOKER_BIN": str(wrapper(level))}
            spent[level].append(json.loads(run([python, ROOT / "bench/cpus/client.py", folder, "--cost"], environment)))
    text = "\n".join(make_table(levels, spent, rounds))
    if not document:
        print(text)
        return
    write_between(document, "<!-- cpus.py: begin -->", "<!-- cpus.py: end -->", text)


def write_between(document, begin, end, text):
    """Put a text between two lines of a document."""
    before, found, rest = Path(document).read_text().partition(begin)
    after = rest.partition(end)
    if not found or not after[1]:
        raise SystemExit(f"{document} has no lines {begin} and {end}: add them where the table is to be")
    Path(document).write_text(f"{before}{begin}\n{text}\n{end}{after[2]}")


def make_table(levels, spent, rounds):
    forms = list(spent[levels[0]][0])
    yield f"{time.strftime('%Y-%m-%d %H:%M')}, {os.cpu_count()} cores {read_model()}, load average {os.getloadavg()[0]:.1f}, n = {rounds}:"
    yield ""
    yield "| level | kernels that run | " + " | ".join(f"{form}: CPU-ms per image | / this processor" for form in forms) + " |"
    yield "|" + "---|" * (2 + 2 * len(forms))
    for level in levels:
        groups, _ = find_kernels(level)
        plain = [group["name"] for group in groups if not group["runs"]]
        row = [level.name, "all" if not plain else "none" if len(plain) == len(groups) else "all but " + ", ".join(plain)]
        for form in forms:
            row.append(spread([1e3 * of[form] for of in spent[level]]))
            row.append(spread([of[form] / base[form] for of, base in zip(spent[level], spent[levels[0]])]))
        yield "| " + " | ".join(row) + " |"


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})"


def read_model():
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--speed", metavar="FOLDER", help="measure CPU time per image at this processor's levels")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--markdown", metavar="FILE", help="with --speed: write the table between its marks in FILE")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if options.speed:
        measure(Path(options.speed), options.rounds, options.markdown)
    else:
        check_all()


if __name__ == "__main__":
    main()
