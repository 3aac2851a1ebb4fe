#!/usr/bin/env python3
"""Loaders side by side: CPU time per picture, speed, memory, time to the first batch.

    bench/loader/install-peers
    python/.venv/bin/python bench/loader/make_reference.py
    python3 bench/loader/loaders.py --rounds 3 --json loaders.json
    python3 bench/loader/loaders.py --only stoker torch-v2 --rounds 1

All contestants run in turn in each round, so that a shared machine's good and
bad minutes hit all alike, each in a fresh process tree, on the same JPEG files,
which lie in the page cache. In a run the first epoch warms up and is not
counted. The consumer checks each batch's shape and type and at every 256th
pixel, and counts the pictures: each exactly once per epoch, or the row says
otherwise. CPU time is user and system time of all processes of the tree, ended
ones and daemons included (account.py); memory is their proportional set size,
read four times a second, of which the highest counts. Ratios are taken within a
round and then summarised. Values are medians (lowest-highest).

A contestant that is not installed or fails is a row that says so.
Exit codes: 0 all contestants ran, 1 one did not, 2 usage.
"""

import argparse
import json
import os
import platform
import re
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import account
from contestants import BY_NAME, CONTESTANTS, PIPE, STARTED, Contestant, Job

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

#: Cores that other programs may use before a figure is marked: a busy machine changes what is measured.
QUIET_CORES = 0.3
#: Levels of 255 by which the brightness of what loaders deliver may differ: a wrong normalisation is far more.
BRIGHTNESS = 6


@dataclass
class Run:
    """One run of one contestant: its output and the measurements around it."""

    failed: str = ""
    said: str = field(default="", repr=False)  # on stdout and stderr, the end of it
    imported: float = 0  # seconds from the start of the process until its imports were done
    first_batch: float = 0  # seconds from the start of the process
    versions: dict = field(default_factory=dict)
    epochs: list = field(default_factory=list)  # contestants.Epoch and the machine's CPU seconds so far, the warm-up first
    imported_pss: int = 0  # bytes once the imports were done
    peak_pss: int = 0
    processes: list = field(default_factory=list)  # names of those that were counted, at the end of the first epoch
    left_behind: int = 0
    accounted: str = ""
    load: float = 0

    @property
    def counted_samples(self) -> int:
        return sum(epoch["samples"] for epoch in self.epochs[1:])

    @property
    def cpu_ms(self) -> float:
        return 1000 * (self.epochs[-1]["cpu"] - self.epochs[0]["cpu"]) / self.counted_samples

    @property
    def speed(self) -> float:
        return self.counted_samples / (self.epochs[-1]["at"] - self.epochs[0]["at"])

    @property
    def others(self) -> float:
        """Cores that other programs used meanwhile, or that the machine's host took."""
        first, last = self.epochs[0], self.epochs[-1]
        theirs = (last["machine"] - first["machine"]) - (last["cpu"] - first["cpu"])
        return max(0.0, theirs / (last["at"] - first["at"]))

    @property
    def once(self) -> bool:
        return all(epoch["once"] for epoch in self.epochs)

    @property
    def brightness(self) -> float:
        return statistics.mean(epoch["brightness"] for epoch in self.epochs)

    def as_json(self) -> dict:
        told = asdict(self)
        if not self.failed:
            del told["said"]
            told |= {"cpu_ms": self.cpu_ms, "images_per_s": self.speed, "others": self.others}
        return told


# Running.


def python_of(contestant: Contestant) -> Path:
    folder = ROOT / "python/.venv" if contestant.venv == "torch" else HERE / ".venv" / contestant.venv
    return folder / "bin/python"


def environment(job: Job) -> dict[str, str]:
    """The same for all."""
    binary = os.environ.get("STOKER_BIN", str(ROOT / "bin/stoker"))
    ours = {"PYTHONPATH": str(ROOT / "python"), "STOKER_BIN": binary, "TMPDIR": str(Path(job.root).parent)}
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "PYTHONWARNINGS": "ignore"}
    # FFCV's threads spin while they wait for each other, which costs it dear where a core is not free.
    quiet["OMP_WAIT_POLICY"] = "passive"
    return {**os.environ, **ours, **quiet}


def command(contestant: Contestant, job: Job) -> list[str]:
    return [str(python_of(contestant)), str(HERE / "contestants.py"), contestant.name, json.dumps(asdict(job))]


def missing(contestant: Contestant) -> str:
    if python_of(contestant).exists():
        return ""
    hint = "python/install-torch" if contestant.venv == "torch" else f"bench/loader/install-peers {contestant.venv}"
    return f"not installed: {hint}"


def prepare(contestant: Contestant, job: Job, limit: float) -> str:
    """Make the form of the data that it needs, and have its libraries in the page cache; what went wrong."""
    try:
        done = subprocess.run([*command(contestant, job), "--prepare"], env=environment(job), capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return f"its preparation was ended after {limit:.0f} s"
    return last_line(done.stderr, done.returncode) if done.returncode else ""


def take_along() -> None:
    """Let a SIGTERM end the contestants too, as Ctrl-C does."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def last_line(text: str, code: int) -> str:
    """The line that says why: the last of the form `SomeError: text`, or the very last."""
    lines = text.strip().splitlines() or [f"exit code {code}, without a word"]
    return next((line for line in reversed(lines) if re.match(r"[A-Za-z_][\w.]*: \S", line)), lines[-1]).strip()[:200]


def run(contestant: Contestant, job: Job, limit: float, meddle: Callable[[account.Group, int], None] | None = None) -> Run:
    """One fresh process tree of the contestant, from its start to its end; after the first epoch meddle gets its group and pid."""
    result = Run(load=os.getloadavg()[0])
    listen, speak = os.pipe()
    with account.Group() as group, tempfile.TemporaryFile("w+") as err, os.fdopen(listen) as lines:
        result.accounted = group.how
        started = time.monotonic()
        told = {PIPE: str(speak), STARTED: str(started)}
        process = subprocess.Popen(
            command(contestant, job), env={**environment(job), **group.environment(), **told},
            preexec_fn=group.enter, pass_fds=[speak], stdout=err, stderr=err, start_new_session=True,
        )  # fmt: skip
        os.close(speak)
        in_time = follow(lines, group, result, started + limit, lambda: meddle and meddle(group, process.pid))
        if not in_time:
            group.kill()
        code = process.wait()
        # Grain's and PyTorch's workers end a little after their parent.
        result.left_behind = group.left_behind()
        err.seek(0)
        result.said = err.read()[-20_000:]
        if code or len(result.epochs) < job.epochs:
            result.failed = last_line(result.said, code) if in_time else f"ended after {limit:.0f} s"
        elif contestant.name.startswith("stoker") and not any("stoker" in name for name in result.processes):
            result.failed = "its daemon is not among the processes that were counted: figures would flatter it"
    return result


def follow(lines, group: account.Group, result: Run, deadline: float, after_first: Callable[[], None]) -> bool:
    """Take down what the contestant tells until it closes its pipe; False if that does not come in time."""
    buffer = b""
    while time.monotonic() < deadline:
        if select.select([lines], [], [], 0.25)[0]:
            piece = os.read(lines.fileno(), 1 << 16)
            if not piece:
                return True
            *whole, buffer = (buffer + piece).split(b"\n")
            for line in whole:
                take(result, json.loads(line))
                if not result.imported_pss:
                    result.imported_pss = group.pss()
                if result.epochs and not result.processes:
                    result.processes = group.names()
                    after_first()
        result.peak_pss = max(result.peak_pss, group.pss())
    return False


def take(result: Run, told: dict) -> None:
    if "epoch" in told:
        result.epochs.append({**told["epoch"], "machine": account.machine_cpu()})
    for name in ("imported", "first_batch", "versions"):
        if name in told:
            setattr(result, name, told[name])


def pictures(data: Path, count: int) -> list[Path]:
    """The first so many pictures of the set."""
    files = sorted(data.glob("*/*.jpg"), key=lambda file: file.name)[:count]
    if len(files) < count:
        sys.exit(f"bench/loader: {data} has {len(files)} pictures, not {count}: run bench/loader/make_reference.py")
    return files


def scratch_of(data: Path) -> Path:
    """A folder next to the data, because hard links do not cross file systems."""
    scratch = data.resolve().parent / "loader-bench"
    scratch.mkdir(exist_ok=True)
    return scratch


@contextmanager
def one_folder_each(files: list[Path], scratch: Path) -> Iterator[Path]:
    """The pictures as hard links, a folder each, so that ImageFolder's label is the picture's number."""
    run = Path(tempfile.mkdtemp(prefix="run-", dir=scratch))  # contestants' own temporary files lie here too
    try:
        for number, file in enumerate(files):
            folder = run / "pictures" / f"{number:07d}"
            folder.mkdir(parents=True)
            os.link(file, folder / file.name)
        yield run / "pictures"
    finally:
        shutil.rmtree(run)


def warm(files: list[Path]) -> int:
    """Read all files into the page cache; their bytes."""
    return sum(len(file.read_bytes()) for file in files)


# Telling.


def spread(values: list[float], digits: int) -> str:
    middle = f"{statistics.median(values):.{digits}f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.{digits}f}-{max(values):.{digits}f})"


class Results:
    """All runs, by contestant and round."""

    def __init__(self, chosen: list[Contestant]):
        self.chosen = chosen
        self.runs: dict[str, list[Run]] = {contestant.name: [] for contestant in chosen}

    def good(self, name: str) -> list[Run]:
        return [run for run in self.runs.get(name, []) if not run.failed]

    def ratios(self, ours: str, theirs: str) -> list[float]:
        """CPU time of Stoker's loader over another's, round by round, if both ran."""
        pairs = zip(self.runs.get(ours, []), self.runs.get(theirs, []), strict=False)
        return [a.cpu_ms / b.cpu_ms for a, b in pairs if not a.failed and not b.failed]

    def best_peer(self) -> str:
        """The peer that decodes for the least CPU time."""
        peers = [c.name for c in self.chosen if c.decodes and not c.name.startswith("stoker") and self.good(c.name)]
        return min(peers, key=lambda name: statistics.median(run.cpu_ms for run in self.good(name)), default="")

    def table(self) -> str:
        ours = ["stoker"] if self.good("stoker") else []
        rivals = "".join(f" {BY_NAME[name].title} / it |" for name in ours)
        lines = [f"| loader | version | n | CPU-ms per image |{rivals} images/s | peak PSS MB | of it imports | first batch s | of it imports |"]
        lines.append("|---" * (lines[0].count("|") - 1) + "|")
        ranked = sorted(self.chosen, key=lambda c: statistics.median([run.cpu_ms for run in self.good(c.name)] or [1e9]))
        return "\n".join(lines + [self.row(contestant, ours) for contestant in ranked])

    def row(self, contestant: Contestant, ours: list[str]) -> str:
        good = self.good(contestant.name)
        title = f"{contestant.title}{f' ({contestant.note})' if contestant.note else ''}"
        if not good:
            why = next((run.failed for run in self.runs[contestant.name]), "not run")
            return f"| {title} | | 0 | fails: {why.replace('|', '/')} |" + " |" * (len(ours) + 5)
        cells = [title, self.version(good[0]), str(len(good)), spread([run.cpu_ms for run in good], 2)]
        cells += [spread(self.ratios(name, contestant.name), 2) if name != contestant.name else "1" for name in ours]
        cells += [spread([run.speed for run in good], 0), spread([run.peak_pss / 1e6 for run in good], 0)]
        cells += [spread([run.imported_pss / 1e6 for run in good], 0)]
        cells += [spread([run.first_batch for run in good], 1), spread([run.imported for run in good], 1)]
        return "| " + " | ".join(cells) + " |"

    def version(self, run: Run) -> str:
        return ", ".join(dict.fromkeys(value for name, value in run.versions.items() if name != "python"))

    def targets(self) -> str:
        """The ratios that were promised, as lines; those that cannot be formed are left out."""
        best = self.best_peer()
        wanted = [("stoker", best, "the best peer that decodes"), ("stoker", "torch-v2", ""), ("stoker", "ffcv-raw", "")]
        lines = []
        for ours, theirs, what in wanted:
            if found := self.ratios(ours, theirs):
                name = f"{what}, {BY_NAME[theirs].title}" if what else BY_NAME[theirs].title
                lines.append(f"- {BY_NAME[ours].title} / {name}: {spread(found, 3)}")
        return "\n".join(lines)

    def warnings(self) -> list[str]:
        found = []
        levels = [run.brightness for runs in self.runs.values() for run in runs if not run.failed]
        for contestant in self.chosen:
            runs, good = self.runs[contestant.name], self.good(contestant.name)
            name = contestant.title
            if good and len(good) < len(runs):
                found.append(f"{name} failed in {len(runs) - len(good)} of {len(runs)} rounds: {next(run.failed for run in runs if run.failed)}")
            if not all(run.once for run in good):
                found.append(f"{name} did not deliver each picture exactly once in each epoch")
            if any(abs(run.brightness - statistics.median(levels)) > BRIGHTNESS for run in good):
                found.append(f"{name} delivers pictures of another brightness: its pixels are not those of the others")
            if left := max((run.left_behind for run in good), default=0):
                found.append(f"{name} left {left} processes behind {account.PATIENCE:.0f} s after its end")
        busy = [run.others for contestant in self.chosen for run in self.good(contestant.name) if run.others > QUIET_CORES]
        if busy:
            found.append(f"other programs or the machine's host took up to {max(busy):.1f} cores in {len(busy)} runs: speeds are not to be quoted")
        return found

    def as_json(self) -> dict:
        told = {}
        for contestant in self.chosen:
            runs = [run.as_json() for run in self.runs[contestant.name]]
            told[contestant.name] = {"title": contestant.title, "note": contestant.note, "decodes": contestant.decodes, "runs": runs}
        return told


def machine() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    return f"{time.strftime('%Y-%m-%d %H:%M')}, {os.cpu_count()} cores {cpu}, {platform.system()} {platform.release()}, load average {os.getloadavg()[0]:.2f}"


def about(arguments: argparse.Namespace, files: list[Path], total: int) -> str:
    """The machine, the data and the task."""
    kind = "uint8" if arguments.uint8 else "normalised float32"
    return (
        f"{machine()}. "
        f"{len(files)} JPEGs of {total / len(files) / 1000:.1f} KB on average, warm; RandomResizedCrop 224, flip, {kind}; batch {arguments.batch}; "
        f"{arguments.workers} workers or threads; {arguments.rounds} rounds of {arguments.epochs} counted epochs after one that warms up; medians (lowest-highest)."
    )


class Place:
    """Where a script's table goes in a document: between its two marks, which must be there before anything runs."""

    def __init__(self, document: Path | None, script: str):
        self.document = document
        self.begin, self.end = (f"<!-- {script}: {word} -->" for word in ("begin", "end"))
        text = document.read_text() if document and document.exists() else ""
        if document and not 0 <= text.find(self.begin) < text.find(self.end):
            sys.exit(f"bench/loader: {document} has no lines {self.begin} and {self.end}: add them where the table is to be")

    def put(self, text: str) -> None:
        if not self.document:
            return
        before, _, rest = self.document.read_text().partition(self.begin)
        after = rest.partition(self.end)[2]
        self.document.write_text(f"{before}{self.begin}\n{text}\n{self.end}{after}")


# The whole.


def compete(arguments: argparse.Namespace, files: list[Path], scratch: Path) -> Results:
    chosen = [contestant for contestant in CONTESTANTS if not arguments.only or contestant.name in arguments.only]
    results = Results(chosen)
    with one_folder_each(files, scratch) as root:
        job = Job(str(root), str(scratch), len(files), arguments.epochs + 1, arguments.batch, arguments.workers, arguments.uint8)
        out = {contestant.name: missing(contestant) or prepare(contestant, job, arguments.limit) for contestant in chosen}
        try:
            for number in range(arguments.rounds):
                for contestant in chosen:
                    why = out[contestant.name]
                    done = Run(failed=why) if why else run(contestant, job, arguments.limit)
                    results.runs[contestant.name].append(done)
                    say(number, contestant, done)
        except KeyboardInterrupt:
            print("loaders: interrupted: the table is of what has run", file=sys.stderr)
    return results


def say(number: int, contestant: Contestant, done: Run) -> None:
    if done.failed:
        text = f"fails: {done.failed}"
    else:
        text = f"{done.cpu_ms:.2f} CPU-ms per image, {done.speed:.0f} images/s, {done.peak_pss / 1e6:.0f} MB, "
        text += f"first batch after {done.first_batch:.1f} s, others used {done.others:.1f} cores"
    print(f"loaders: round {number + 1}: {contestant.name}: {text}", file=sys.stderr, flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT / "data/reference", help="made by make_reference.py (default data/reference)")
    parser.add_argument("--images", type=int, default=1280, help="of them, a multiple of the batch (default 1280)")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=3, help="counted ones (default 3)")
    parser.add_argument("--uint8", action="store_true", help="without normalising")
    parser.add_argument("--only", nargs="+", choices=list(BY_NAME), metavar="NAME", help=f"of {', '.join(BY_NAME)}")
    parser.add_argument("--limit", type=float, default=180, help="seconds after which a contestant is ended (default 180)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was measured")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="put the table between this script's marks in the document")
    arguments = parser.parse_args()
    if arguments.images % arguments.batch or arguments.epochs < 1 or arguments.rounds < 1:
        parser.error("--images must be a multiple of --batch, so that no loader's rule for the rest plays a part; --epochs and --rounds at least 1")
    return arguments


def main() -> None:
    arguments = parse()
    place = Place(arguments.markdown, "loaders.py --uint8" if arguments.uint8 else "loaders.py")
    take_along()
    files, scratch = pictures(arguments.data, arguments.images), scratch_of(arguments.data)
    told = about(arguments, files, warm(files))
    results = compete(arguments, files, scratch)
    parts = [told, results.table(), results.targets(), "\n".join(f"- warning: {text}" for text in results.warnings())]
    text = "\n\n".join(part for part in parts if part)
    print(text)
    if arguments.json:
        settings = {name: str(value) if isinstance(value, Path) else value for name, value in vars(arguments).items()}
        arguments.json.write_text(json.dumps({"about": told, "settings": settings, "contestants": results.as_json()}, indent=1) + "\n")
    place.put(text)
    sys.exit(1 if any(run.failed for runs in results.runs.values() for run in runs) else 0)


if __name__ == "__main__":
    main()
