#!/usr/bin/env python3
"""Writes a trace in other dialects and other people's JSON: the verdict must stay the same.

    python3 bench/trace/mutate.py testdata/cases/trace-*/*.json.gz

Every mutation below changes how a trace is written and not what happened: old
names of categories, events in another order, numbers in another notation,
text that is legal and rare, damage that is seen in the wild. Printed is each
verdict that moved (class, or a share or a cause by more than the mutation's
tolerance); exit code 1 if there was one. The changed files lie in a temporary
folder (--keep FOLDER keeps those that moved the verdict).
"""

import argparse
import gzip
import json
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Trace:
    """A parsed trace: the events, the other keys, and whether it was a bare array."""

    def __init__(self, text: str) -> None:
        document = json.loads(text, parse_float=Decimal, strict=False)
        self.bare = isinstance(document, list)
        self.events = document if self.bare else document.pop("traceEvents")
        self.beside = {} if self.bare else document

    def text(self, tail: bool = False, **style: object) -> str:
        """The trace as JSON; with tail, events come before all other keys."""
        if self.bare:
            return dump(self.events, **style)
        if tail:
            return dump({"traceEvents": self.events, **self.beside}, **style)
        return dump({**self.beside, "traceEvents": self.events}, **style)


def dump(value: object, **style: object) -> str:
    """JSON with decimal numbers as exact as they were."""
    text = json.dumps(value, default=lambda number: f"@@{number}@@", **style)
    return re.sub(r'"@@([^"@]*)@@"', r"\1", text)


Mutation = Callable[[Trace], str | bytes | None]  # None: it cannot be done to this trace
MUTATIONS: dict[str, tuple[Mutation, float, bool]] = {}


def mutation(name: str, tolerance: float = 0.001, device: bool = True) -> Callable[[Mutation], Mutation]:
    """Without device the mutation hides which device it was: the kind of gpu-bound may be lost."""

    def add(change: Mutation) -> Mutation:
        MUTATIONS[name] = (change, tolerance, device)
        return change

    return add


def each(trace: Trace, change: Callable[[dict], object]) -> str:
    for event in trace.events:
        change(event)
    return trace.text()


# How JSON is written.


@mutation("minified")
def _(trace: Trace) -> str:
    return trace.text(separators=(",", ":"))


@mutation("pretty-printed")
def _(trace: Trace) -> str:
    return trace.text(indent=4)


@mutation("spaces everywhere")
def _(trace: Trace) -> str:
    return "\ufeff \r\n" + trace.text(separators=(" ,\r\n\t", " :  ")) + "\r\n\n "


@mutation("keys of events reversed")
def _(trace: Trace) -> str:
    trace.events = [dict(reversed(event.items())) for event in trace.events]
    return trace.text()


@mutation("every letter escaped")
def _(trace: Trace) -> str:
    def escape(text: str) -> str:
        return "".join(f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else letter for letter in text)

    text = trace.text(ensure_ascii=False)
    return re.sub(r'"(name|cat|ph)": "((?:[^"\\]|\\.)*)"', lambda m: f'"{escape(m[1])}": "{escape(json.loads(f"{chr(34)}{m[2]}{chr(34)}", strict=False))}"', text)


@mutation("exponents in times")
def _(trace: Trace) -> str:
    def change(event: dict) -> None:
        for key in ("ts", "dur"):
            if isinstance(event.get(key), int | Decimal):
                sign, digits, exponent = Decimal(event[key]).as_tuple()
                event[key] = Decimal((sign, digits, exponent))
                event[key] = Raw(f"{'-' if sign else ''}{digits[0]}.{''.join(map(str, digits[1:])) or 0}E+{len(digits) + exponent - 1}".replace("+-", "-"))

    return each(trace, change)


class Raw(Decimal):
    """A number with its own spelling."""

    def __new__(cls, text: str) -> "Raw":
        number = super().__new__(cls, text)
        number.spelling = text
        return number

    def __str__(self) -> str:
        return self.spelling

    def __format__(self, _: str) -> str:
        return self.spelling


@mutation("nine decimals")
def _(trace: Trace) -> str:
    def change(event: dict) -> None:
        for key in ("ts", "dur"):
            if isinstance(event.get(key), int | Decimal):
                event[key] = Raw(f"{Decimal(event[key]):.9f}")

    return each(trace, change)


@mutation("a long string in an event")
def _(trace: Trace) -> str:
    trace.events[len(trace.events) // 2].setdefault("args", {})["note"] = '\\"}{][ traceEvents": [' * 200_000
    return trace.text()


@mutation("traceEvents in a string before")
def _(trace: Trace) -> str:
    if not trace.bare:
        trace.beside = {"note": '"traceEvents": [{"ph": "X"', "nested": {"traceEvents": [1, {"ts": 2}]}, **trace.beside}
    return trace.text()


# Where things stand.


@mutation("events shuffled")
def _(trace: Trace) -> str:
    random.Random(1).shuffle(trace.events)
    return trace.text()


@mutation("events reversed")
def _(trace: Trace) -> str:
    trace.events.reverse()
    return trace.text()


@mutation("metadata first")
def _(trace: Trace) -> str:
    trace.events.sort(key=lambda event: event.get("ph") != "M")
    return trace.text()


@mutation("metadata last, keys after events")
def _(trace: Trace) -> str:
    trace.events.sort(key=lambda event: event.get("ph") == "M")
    return trace.text(tail=True)


@mutation("device before host")
def _(trace: Trace) -> str:
    trace.events.sort(key=lambda event: "stream" not in (event.get("args") or {}))
    return trace.text()


# Old and new words.

OLD = {"kernel": "Kernel", "gpu_memcpy": "Memcpy", "gpu_memset": "Memset", "cuda_runtime": "Runtime", "cpu_op": "Operator"}
NEW = {"Kernel": "kernel", "Memcpy": "gpu_memcpy", "Memset": "gpu_memset", "Runtime": "cuda_runtime", "Operator": "cpu_op"}


@mutation("old categories")
def _(trace: Trace) -> str:
    def change(event: dict) -> None:
        marks = str(event.get("name")).startswith(("ProfilerStep#", "enumerate(DataLoader)#", "Optimizer."))
        if event.get("cat") == "user_annotation" and marks:  # other annotations would become operators
            event["cat"] = "Operator"
        elif "cat" in event:
            event["cat"] = OLD.get(event["cat"], event["cat"])

    return each(trace, change)


@mutation("new categories")
def _(trace: Trace) -> str:
    return each(trace, lambda event: event.update(cat=NEW.get(event.get("cat"), event.get("cat"))) if "cat" in event else None)


@mutation("categories in capitals")
def _(trace: Trace) -> str:
    return each(trace, lambda event: event.update(cat=event["cat"].upper()) if event.get("cat") not in (None, "Trace") else None)


@mutation("old ids")
def _(trace: Trace) -> str:
    words = {"correlation": "correlation id", "External id": "external id"}

    def change(event: dict) -> None:
        if event.get("args"):
            event["args"] = {words.get(key, key): value for key, value in event["args"].items()}

    return each(trace, change)


@mutation("calls of HIP", device=False)
def _(trace: Trace) -> str:
    def change(event: dict) -> None:
        if str(event.get("cat")).lower() in ("cuda_runtime", "runtime", "cuda_driver"):
            event["name"] = re.sub(r"^(cuda|cu)(?=[A-Z])", "hip", event["name"])

    return each(trace, change)


@mutation("threads and streams as strings")
def _(trace: Trace) -> str:
    def change(event: dict) -> None:
        if isinstance(event.get("tid"), int):
            on_device = "stream" in (event.get("args") or {})
            event["tid"] = f"stream {event['tid']}" if on_device else str(event["tid"])

    return each(trace, change)


@mutation("absolute times")
def _(trace: Trace) -> str:
    shift = 0 if any(event.get("ts", 0) > 10**15 for event in trace.events if event.get("ph") == "X") else 1_600_000_000_000_000

    def change(event: dict) -> None:
        if isinstance(event.get("ts"), int | Decimal):
            event["ts"] += shift

    trace.beside.pop("baseTimeNanoseconds", None)
    return each(trace, change)


@mutation("64-bit thread and correlation ids")
def _(trace: Trace) -> str:
    def change(event: dict) -> None:
        args = event.get("args") or {}
        if isinstance(event.get("tid"), int) and event["tid"] > 1000:
            event["tid"] += 1 << 44
        for key in ("correlation", "External id"):
            if isinstance(args.get(key), int) and args[key] > 0:
                args[key] += 1 << 40
        if event.get("cat") in ("ac2g", "async") and isinstance(event.get("id"), int):
            event["id"] += 1 << 40

    return each(trace, change)


@mutation("a bare array", device=False)
def _(trace: Trace) -> str:
    trace.bare = True
    return trace.text()


@mutation("whole microseconds", 0.08)
def _(trace: Trace) -> str | None:
    if sum(event["dur"] for event in trace.events if str(event.get("cat")).lower() == "kernel") < 100:
        return None  # nothing would be left of it

    def change(event: dict) -> None:
        if isinstance(event.get("ts"), Decimal | int) and isinstance(event.get("dur"), Decimal | int):
            end = int(event["ts"] + event["dur"])
            event["ts"] = int(event["ts"])
            event["dur"] = end - event["ts"]

    return each(trace, change)


# What else may stand in a trace.


@mutation("no flows")
def _(trace: Trace) -> str:
    trace.events = [event for event in trace.events if event.get("ph") not in ("s", "f", "t")]
    return trace.text()


@mutation("no rank, no span")
def _(trace: Trace) -> str:
    trace.beside.pop("distributedInfo", None)
    trace.events = [event for event in trace.events if event.get("cat") != "Trace"]
    return trace.text()


@mutation("rows of waits")
def _(trace: Trace) -> str:
    on = [event for event in trace.events if str(event.get("cat")).lower() == "kernel"]
    if on:
        first, last = min(event["ts"] for event in on), max(event["ts"] + event["dur"] for event in on)
        for pid in {event["pid"] for event in on}:
            row = {"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": pid, "tid": 1_000_007, "ts": first, "dur": last - first}
            trace.events += [row | {"args": {"stream": 1_000_007, "device": pid}}, row | {"tid": 7, "args": {"stream": 7, "device": pid}}]
            trace.events.append(row | {"cat": "gpu_user_annotation", "name": "forward", "tid": 7, "args": {}})
    return trace.text()


@mutation("counters, marks and unknown events")
def _(trace: Trace) -> str:
    ts = next(event["ts"] for event in trace.events if event.get("ph") == "X")
    trace.events += [
        {"ph": "C", "name": "GPU 0 Utilization", "pid": 0, "ts": ts, "args": {"GPU Utilization": 0.5}},
        {"ph": "i", "name": "Record Window End", "s": "g", "pid": "", "tid": "", "ts": 18446744073709551},
        {"ph": "X", "cat": "somebody's", "name": "else", "pid": 0, "tid": 7, "ts": ts, "dur": 5_000_000},
        {"ph": "b", "cat": "x", "name": "y", "id": 3, "pid": 1, "tid": 1, "ts": ts},
        {"ph": "X", "cat": "cpu_op", "name": "no time", "pid": 1, "tid": 1},
        {"ph": "X", "cat": "kernel", "name": "null", "pid": 0, "tid": 7, "ts": None, "dur": None, "args": None},
        {},
    ]
    return trace.text()


@mutation("stacks three times")
def _(trace: Trace) -> str:
    stacks = [event for event in trace.events if event.get("cat") == "python_function"]
    trace.events += stacks + stacks
    return trace.text()


# Damage that is seen in the wild.


@mutation("control characters in strings")
def _(trace: Trace) -> str:
    for i, event in enumerate(trace.events):
        if i % 7 == 0 and event.get("ph") == "X":
            event.setdefault("args", {})["Concrete Inputs"] = ["a\x01b\tc\nd"]
    return re.sub(r"\\u0001|\\t|\\n", lambda m: {"\\u0001": "\x01", "\\t": "\t", "\\n": "\n"}[m[0]], trace.text())


@mutation("bare N/A and NaN")
def _(trace: Trace) -> str:
    for event in trace.events:
        if "stream" in (event.get("args") or {}):
            event["args"]["est. achieved occupancy %"] = "N/A"
            event["args"]["memory"] = float("nan")
    return trace.text().replace('"N/A"', "N/A")


@mutation("bytes that are no UTF-8")
def _(trace: Trace) -> bytes:
    trace.events[0].setdefault("args", {})["note"] = "@bytes@"
    return trace.text().encode().replace(b"@bytes@", b"\xff\xfe\xc3(")


@mutation("unclosed")
def _(trace: Trace) -> str:
    text = trace.text().rstrip()
    return text[: text.rindex("]") if trace.bare or text.endswith("]}") else len(text)]


@mutation("two gzip members")
def _(trace: Trace) -> bytes:
    text = trace.text().encode()
    return gzip.compress(text[: len(text) // 3]) + gzip.compress(text[len(text) // 3 :])


@mutation("zstd")
def _(trace: Trace) -> bytes:
    if not shutil.which("zstd"):
        return trace.text().encode()
    return subprocess.run(["zstd", "-c"], input=trace.text().encode(), capture_output=True, check=True).stdout


def judge(command: list[str], file: Path) -> dict:
    done = subprocess.run([*command, str(file)], capture_output=True, text=True, check=False)
    if done.returncode:
        return {"class": f"error: {done.stderr.strip().splitlines()[-1][:200] if done.stderr.strip() else done.returncode}"}
    told = json.loads(done.stdout)
    found = {"class": told["verdict"]["class"], **(told.get("shares") or {})}
    return found | {cause["cause"]: cause["share"] for cause in told.get("causes") or []}


def compare_classes(before: dict, after: dict, tolerance: float, device: bool) -> str:
    classes = [found["class"] if device else found["class"].replace("gpu-bound/precision", "gpu-bound") for found in (before, after)]
    if classes[0] != classes[1]:
        return f"{before['class']} became {after['class']}"
    names = [name for name in {**before, **after} if name != "class"]
    parts = [(abs((before.get(name) or 0) - (after.get(name) or 0)), name) for name in names]
    worst = max(parts, default=(0, ""))
    if worst[0] <= tolerance:
        return ""
    return ", ".join(f"{name} {100 * (before.get(name) or 0):.2f} % became {100 * (after.get(name) or 0):.2f} %" for gap, name in sorted(parts, reverse=True)[:3] if gap > tolerance)


def examine(file: Path, arguments: argparse.Namespace, folder: Path) -> int:
    command = shlex.split(arguments.stoker)
    data = file.read_bytes()
    text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8", "replace")
    try:
        json.loads(text, strict=False)
    except ValueError:
        print(f"{file}: left out: its JSON is damaged already")
        return 0
    before, bad = judge(command, file), 0
    for name, (change, tolerance, device) in MUTATIONS.items():
        if arguments.only and name not in arguments.only:
            continue
        written = change(Trace(text))
        if written is None:
            continue
        path = folder / f"{file.name.split('.')[0]}-{re.sub('[^a-z0-9]+', '-', name)}.json"
        path.write_bytes(written if isinstance(written, bytes) else written.encode())
        said = compare_classes(before, judge(command, path), tolerance, device)
        if said:
            bad += 1
            print(f"{file}: {name}: {said}", flush=True)
            if arguments.keep:
                shutil.copy(path, arguments.keep)
        path.unlink()
    return bad


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--stoker", default=f"{ROOT}/bin/stoker trace --json", help="our command (default bin/stoker trace --json)")
    parser.add_argument("--only", nargs="*", help="these mutations, by name")
    parser.add_argument("--keep", type=Path, help="folder for files that moved the verdict")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bad = sum(examine(file, arguments, Path(folder)) for file in arguments.files)
    print(f"{len(arguments.files)} files, {len(arguments.only or MUTATIONS)} mutations: {bad} verdicts moved")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
