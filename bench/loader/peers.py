#!/usr/bin/env python3
"""Runs peers' own test suites plain, under `stoker observe` and under `stoker feed`, and compares them test by test.

    make build torch
    python3 bench/loader/peers.py                                    the suites whose sources come with a pinned sdist
    python3 bench/loader/peers.py --sources DIR                      and those whose checkouts are in DIR: pytorch, vision, data, webdataset
    python3 bench/loader/peers.py --sources DIR --only pillow --json FILE --markdown bench/loader/PEERS.md

A suite is run where python/.venv has the library. Their further requirements (pytest, webdataset) are installed into
bin/peers, and sdists are unpacked there; none of their code is in this repository. Tests of picture libraries have no
DataLoader, so each of them is run within a fetch of one, plain as well: "in a fetch". A test whose outcome differs is run
again alone, three times each way: it "varies" if both ways then had the same outcome. It ends with 1 where
a test differs and does not vary.
"""

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import time
from typing import NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLUGIN = "stoker_peers_plugin"  # the name of this file for pytest
PACKAGES = (
    *("pytest==9.0.1", "pytest-timeout==2.4.0", "pytest-mock==3.17.0", "iniconfig==2.3.1", "pluggy==1.7.0", "packaging", "pygments"),
    *("expecttest==0.3.0", "parameterized==0.9.0", "webdataset==1.0.2", "braceexpand==0.1.7", "imageio==2.38.1"),
)
TEST_LIMIT, SUITE_LIMIT = 120, 1500  # seconds
AGAIN = 3  # times that a test is run again, each way


class Suite(NamedTuple):
    name: str
    files: tuple[str, ...]
    sdist: str = ""  # pinned; without it a folder of that name is looked for
    folder: str = ""
    in_fetch: bool = False
    arguments: tuple[str, ...] = ()  # of pytest
    on_path: bool = False  # its tests import each other from its folder


#: Of Pillow's tests those of images and operations, and of the files that wait.
PILLOW = (
    *("Tests/test_image.py", "Tests/test_image_access.py", "Tests/test_image_convert.py", "Tests/test_image_crop.py", "Tests/test_image_resize.py"),
    *("Tests/test_image_transform.py", "Tests/test_image_transpose.py", "Tests/test_image_rotate.py", "Tests/test_image_thumbnail.py"),
    *("Tests/test_image_reduce.py", "Tests/test_image_point.py", "Tests/test_image_paste.py", "Tests/test_image_filter.py", "Tests/test_image_load.py"),
    *("Tests/test_image_copy.py", "Tests/test_image_draft.py", "Tests/test_image_split.py", "Tests/test_image_histogram.py", "Tests/test_numpy.py"),
    *("Tests/test_imageops.py", "Tests/test_imageenhance.py", "Tests/test_imagefile.py", "Tests/test_file_jpeg.py", "Tests/test_file_mpo.py"),
    *("Tests/test_pickle.py", "Tests/test_decompression_bomb.py", "Tests/test_shell_injection.py", "Tests/test_imagechops.py"),
)

#: Those that neither the network nor shards of ImageNet are wanted for, nor the tests of PyTorch's loader once more.
WEBDATASET = tuple(f"tests/test_{name}.py" for name in ("decode", "filters", "handlers", "loaders", "mix", "shardlists", "shuffles", "utils", "writer"))
TORCHDATA = tuple(f"test/stateful_dataloader/test_{name}.py" for name in ("incremental_state", "sampler", "state_dict"))

SUITES = {
    "torch": Suite("PyTorch, DataLoader", ("test/test_dataloader.py",), folder="pytorch", arguments=("--noconftest",)),
    "torchdata": Suite("torchdata, StatefulDataLoader", TORCHDATA, folder="data"),
    "webdataset": Suite("WebDataset", WEBDATASET, folder="webdataset", on_path=True),
    "accelerate": Suite("Accelerate, data loader", ("tests/test_data_loader.py",), "accelerate==1.15.0"),
    "pillow": Suite("Pillow", PILLOW, "pillow==13.0.0", in_fetch=True),
    "vision": Suite("torchvision, transforms v1", ("test/test_transforms.py",), folder="vision", in_fetch=True, arguments=("-k", "not augmix")),
    "vision-v2": Suite("torchvision, transforms v2", ("test/test_transforms_v2.py",), folder="vision", in_fetch=True),
    "vision-io": Suite("torchvision, data sets and pictures", ("test/test_image.py", "test/test_datasets.py"), folder="vision", in_fetch=True),
}
WAYS = ("plain", "observe", "feed")


# The plugin: pytest imports this file under the name PLUGIN.


def pytest_itemcollected(item):
    if os.environ.get("PEERS_IN_FETCH"):
        item.runtest = in_fetch(item.runtest, getattr(item, "obj", None))


def in_fetch(run, code):
    """A test as a sample of a data set. What a data set's code is searched for has to be found in the test's."""
    from torch.utils.data import DataLoader

    def run_in_fetch():
        sys.modules[PLUGIN].__dict__["to_run"] = run
        for _ in DataLoader(Sample(code), batch_size=None):
            pass

    return run_in_fetch


class Sample:
    def __init__(self, code):
        self.code = code

    def __len__(self):
        return 1

    def __getitem__(self, index):
        sys.modules[PLUGIN].__dict__["to_run"]()
        return index


def pytest_runtest_logreport(report):
    outcome = report.outcome if report.when == "call" or report.outcome != "passed" else ""
    if outcome == "failed" and report.when != "call":
        outcome = f"failed in {report.when}"
    if not outcome:
        return
    why = str(getattr(report.longrepr, "reprcrash", None) and report.longrepr.reprcrash.message or "")[:300]
    with open(os.environ["PEERS_OUTCOMES"], "a") as file:
        print(json.dumps([report.nodeid, outcome, why]), file=file)


# The command.


def fetch_sdist(suite, place):
    name, version = suite.sdist.split("==")
    folder = os.path.join(place, f"{name}-{version}")
    if not os.path.isdir(folder):
        pip("download", "--no-deps", "--no-binary", ":all:", "-d", place, suite.sdist)
        with tarfile.open(f"{folder}.tar.gz") as archive:
            archive.extractall(place, filter="data")
    return folder


def pip(*arguments):
    subprocess.run([sys.executable, "-m", "pip", *arguments], check=True, stdout=subprocess.DEVNULL)


def install_packages(place, python):
    site = os.path.join(place, "site")
    if not os.path.isdir(os.path.join(site, "pytest")):
        pip("--python", python, "install", "--quiet", "--no-deps", "--target", site, *PACKAGES)
    with open(__file__) as ours, open(os.path.join(site, f"{PLUGIN}.py"), "w") as copy:
        copy.write(ours.read())
    return site


class Runner:
    def __init__(self, suite, folder, site, options):
        self.suite, self.folder, self.site, self.options = suite, folder, site, options

    def run(self, way, tests=()):
        """Outcomes by test, and what Stoker said."""
        place = os.path.join(self.options.place, "out")
        os.makedirs(place, exist_ok=True)
        out = os.path.join(place, f"{os.getpid()}.jsonl")
        open(out, "w").close()
        before = {
            "plain": [],
            "observe": [self.options.stoker, "observe", "-o", os.path.join(place, f"{os.getpid()}.jsonl.gz"), "--"],
            "feed": [self.options.stoker, "feed", "--"],
        }[way]
        command = [self.options.python, "-P", "-m", "pytest", "-q", "-p", PLUGIN, "-p", "no:cacheprovider", "--continue-on-collection-errors", "--timeout", str(TEST_LIMIT), *self.suite.arguments, *(tests or self.suite.files)]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([self.site, *([self.folder] if self.suite.on_path else [])]), "PEERS_OUTCOMES": out, "PEERS_IN_FETCH": "1" if self.suite.in_fetch else "", "TZ": "UTC"}
        with open(os.path.join(place, f"{self.suite.folder or self.suite.sdist}-{way}.log"), "w") as log:
            try:
                job = subprocess.Popen([*before, *command], cwd=self.folder, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
                code = job.wait(SUITE_LIMIT)
            except subprocess.TimeoutExpired:
                code = "ended by peers.py"
            with contextlib.suppress(ProcessLookupError):  # workers that tests have left
                os.killpg(job.pid, signal.SIGKILL)
        with open(out) as file:
            found = {}
            for test, outcome, why in map(json.loads, file):
                if not found.get(test, ("",))[0].startswith("failed"):
                    found[test] = outcome, why
        os.remove(out)
        with open(os.path.join(place, f"{self.suite.folder or self.suite.sdist}-{way}.log"), errors="replace") as log:
            text = log.read()
        if "the program runs as without stoker" in text:
            raise SystemExit(f"{self.suite.name}: not fed: {text[:300]}")
        said = re.findall(r"stoker: feed: (.*%.*)$", text, re.MULTILINE)
        return found, code, said[-1] if said else ""

    def vary(self, way, test):
        """Whether a test has the same outcome plain as that way, in one of some runs alone."""
        plain = {self.run("plain", [test])[0].get(test, ("none",))[0] for _ in range(AGAIN)}
        other = {self.run(way, [test])[0].get(test, ("none",))[0] for _ in range(AGAIN)}
        return bool(plain & other), f"{' or '.join(sorted(plain))} plain, {' or '.join(sorted(other))} by itself"


def compare(runner):
    """What a suite came to, each way."""
    found = {}
    for way in WAYS:
        begin = time.time()
        outcomes, code, said = runner.run(way)
        counts = {}
        for outcome, _ in outcomes.values():
            counts[outcome.split()[0]] = counts.get(outcome.split()[0], 0) + 1
        found[way] = {"counts": counts, "code": code, "seconds": round(time.time() - begin), "fed": said, "outcomes": outcomes}
        print(f"{runner.suite.name}, {way}: {counts}, exit code {code}, {found[way]['seconds']} s{', ' + said if said else ''}", flush=True)
    found["differing"] = differing = []
    plain = found["plain"]["outcomes"]
    for way in WAYS[1:]:
        other = found[way]["outcomes"]
        for test in sorted({*plain, *other}):
            one, two = plain.get(test, ("none", "")), other.get(test, ("none", ""))
            if one[0] != two[0]:
                varies, again = runner.vary(way, test) if len(differing) < runner.options.most else (False, "not run again")
                differing.append({"way": way, "test": test, "plain": one, "other": two, "varies": varies, "again": again})
                print(f"  {way}: {test}: {one[0]} plain, {two[0]} so{', varies' if varies else ''}; again: {again}: {two[1] or one[1]}", flush=True)
    return found


def markdown(results):
    lines = ["| suite | source | tests | way | passed | failed | skipped | exit code | s | differ | vary |", "|---|---|---|---|---|---|---|---|---|---|---|"]
    for name, found in results.items():
        for way in WAYS:
            counts = found[way]["counts"]
            differing = [each for each in found["differing"] if each["way"] == way]
            varying = sum(each["varies"] for each in differing)
            head = f"| {SUITES[name].name}{', in a fetch' if SUITES[name].in_fetch else ''} | {found['source']} | {len(found[way]['outcomes'])} " if way == "plain" else "| | | "
            more = f"{len(differing) - varying} | {varying}" if way != "plain" else "|"
            lines.append(f"{head}| {way} | {counts.get('passed', 0):,} | {counts.get('failed', 0)} | {counts.get('skipped', 0)} | {found[way]['code']} | {found[way]['seconds']} | {more} |")
    lines += [""]
    for name, found in results.items():
        lines += [f"- {SUITES[name].name}, {each['way']}: `{each['test']}`: {each['again']}{', varies' if each['varies'] else ''}" for each in found["differing"]]
    return "\n".join(lines) + "\n"


def write_between(path, text):
    """Put a text between two comments of a page."""
    begin, end = "<!-- peers.py: begin -->\n", "<!-- peers.py: end -->"
    with open(path) as file:
        page = file.read()
    head, _, rest = page.partition(begin)
    tail = rest.partition(end)[2]
    with open(path, "w") as file:
        file.write(head + begin + text + end + tail)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", help="a folder with checkouts")
    parser.add_argument("--only", nargs="*", choices=SUITES, default=list(SUITES))
    parser.add_argument("--python", default=os.path.join(ROOT, "python/.venv/bin/python"))
    parser.add_argument("--stoker", default=os.environ.get("STOKER_BIN") or os.path.join(ROOT, "bin/stoker"))
    parser.add_argument("--place", default=os.path.join(ROOT, "bin/peers"), help="for sdists and packages")
    parser.add_argument("--most", type=int, default=40, help="differing tests of a suite that are run again")
    parser.add_argument("--json", help="write all that was found there, and begin with what is there")
    parser.add_argument("--markdown", help="write the table into this page")
    options = parser.parse_args()
    options.place = os.path.abspath(options.place)
    os.makedirs(options.place, exist_ok=True)
    site = install_packages(options.place, options.python)
    results = {}
    if options.json and os.path.exists(options.json):
        with open(options.json) as file:
            results = json.load(file)
    for name in options.only:
        suite = SUITES[name]
        folder = fetch_sdist(suite, options.place) if suite.sdist else os.path.join(options.sources or "", suite.folder)
        if not os.path.isdir(folder):
            print(f"{suite.name}: there is no folder {suite.folder} in --sources")
            continue
        results[name] = {"source": suite.sdist or source_of(folder), **compare(Runner(suite, os.path.abspath(folder), site, options))}
        if options.json:
            with open(options.json, "w") as file:
                json.dump(results, file)
    if options.markdown:
        write_between(options.markdown, markdown(results))
    return int(any(not each["varies"] for found in results.values() for each in found["differing"]))


def source_of(folder):
    """The version that a checkout says it is."""
    for name in ("version.txt", "VERSION"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with open(path) as file:
                return f"{os.path.basename(folder)} {file.read().strip()}"
    return os.path.basename(folder)


if __name__ == "__main__":
    sys.exit(main())
