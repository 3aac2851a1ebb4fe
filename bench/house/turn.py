"""Two trees in turn, by core time (user and system, children included), which a busy machine changes less than wall time.

    python3 bench/house/turn.py BEFORE AFTER [rounds]

Both folders hold bin/stoker (`make build`). What is run: the start of a Python that never imports torch, bare, with the
hook and with a hook that may keep no .pyc; the verdict of every case that both trees have; a trace
(STOKER_TRACE names it); `feed --check` of a folder of pictures (STOKER_PICTURES names it). A round runs each tree once,
and the order alternates. Printed are medians with quartiles in milliseconds, and cases whose class differs.
"""

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path


def core_seconds(command, **options):
    """What a command takes on cores, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def quartiles(seconds):
    low, middle, high = statistics.quantiles([1e3 * s for s in seconds], n=4)
    return f"{middle:8.1f} [{low:.1f} to {high:.1f}]"


def in_turn(name, ways, rounds):
    times = {way: [] for way in ways}
    for turn in range(rounds):
        for way in list(ways)[:: 1 if turn % 2 else -1]:
            times[way].append(ways[way]())
    print(f"{name}, ms of cores, n {rounds}")
    for way, seconds in times.items():
        print(f"  {way:28} {quartiles(seconds)}", flush=True)


def hook_of(tree):
    return next(p for p in (tree / "python/hook", tree / "observe/hook") if (p / "sitecustomize.py").exists())


def starts(trees, rounds, scratch):
    """No socket listens, as where `observe` was killed: the hook has no work."""
    plain = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
    ways = {"bare": lambda: start(plain)}
    for tree in trees:
        for kept in (True, False):
            folder = scratch / f"{tree.name}-{kept}"
            shutil.copytree(hook_of(tree), folder, ignore=shutil.ignore_patterns("__pycache__"))
            env = dict(plain, PYTHONPATH=str(folder), STOKER_HOOK_DIR=str(folder), STOKER_HOOK_SOCKET=str(folder / "socket"))
            if not kept:
                env["PYTHONDONTWRITEBYTECODE"] = "1"
            else:
                subprocess.run([sys.executable, "-m", "compileall", "-q", str(folder)], check=True)
            ways[f"{tree.name}, {'with' if kept else 'no'} .pyc"] = lambda env=env: start(env)
    in_turn("start of Python", ways, rounds)


def start(env):
    return sum(core_seconds([sys.executable, "-c", "pass"], env=env)[0] for _ in range(4)) / 4


def stoker(tree, *arguments):
    return core_seconds([tree / "bin/stoker", *arguments])


def verdicts(trees, rounds):
    cases = sorted({p.name for p in (trees[0] / "testdata/cases").iterdir()} & {p.name for p in (trees[1] / "testdata/cases").iterdir()})
    files = [f for name in cases for f in (trees[1] / "testdata/cases" / name).glob("run.jsonl.gz")]
    classes = [[json.loads(stoker(tree, "diagnose", "--json", f)[1] or "{}").get("verdict", {}).get("class") for f in files] for tree in trees]
    other = [(f.parent.name, a, b) for f, a, b in zip(files, *classes, strict=True) if a != b]
    print(f"verdicts of {len(files)} recordings: {len(files) - len(other)} have the same class; others: {other}")
    in_turn("their verdicts", {t.name: lambda t=t: sum(stoker(t, "diagnose", "--json", f)[0] for f in files) for t in trees}, rounds)


def main(before, after, rounds="11"):
    trees, rounds = [Path(before).resolve(), Path(after).resolve()], int(rounds)
    print("load", *os.getloadavg())
    with tempfile.TemporaryDirectory() as scratch:
        starts(trees, rounds, Path(scratch))
    verdicts(trees, max(3, rounds // 3))
    for name, variable, verb in (("a trace", "STOKER_TRACE", ["trace"]), ("feed --check", "STOKER_PICTURES", ["feed", "--check"])):
        if os.environ.get(variable):
            in_turn(name, {t.name: lambda t=t: stoker(t, *verb, os.environ[variable])[0] for t in trees}, rounds)
    print("load", *os.getloadavg())


main(*sys.argv[1:])
