#!/usr/bin/env python3
"""Compare predicted gains with achieved ones, on pairs of recorded runs that differ in one setting.

    python3 bench/gains/gains.py                            # all pairs, 20 minutes
    python3 bench/gains/gains.py --quick                    # four of them
    python3 bench/gains/gains.py --only workers-0-1 -o /tmp/one
    python3 bench/gains/gains.py --reuse                    # evaluate the recordings again, record nothing

Each pair is a program before and after a change: real PyTorch loading
(bench/labelled/loop.py, examples/imagefolder/train.py) and an emulated device.
Both runs are observed one after the other. The pair says how many busy loops
run at the same time. Then `stoker verify BEFORE AFTER` gives the promise by the
recording of "before" for exactly the changes that it finds, and the achieved
gain.

- error      |predicted / achieved - 1|, of the speed-ups (mean time before over after)
- inside     the achieved speed-up is in the predicted interval
- width      (high - low) / point of the predicted speed-up
- plain law  the prediction of a textbook by the recording of "before", see below

These rules were set before recording. Every pair counts. A failed run, a refused
comparison and a change without a promise count as outside, with an infinite
error. Pairs without a change (A/A) have no promise. They are listed separately
and are in no median. verify should not call their runs different.

The plain law. A step takes as long as its longest stage: the wall time of
fetching a batch divided by the workers, the core time of the whole job per step
divided by the cores of the machine, the host's loop without the wait for input,
or the busy time of the device. Without workers, fetching and the host's loop are
added. The prediction is the law before over the law after. So settings that are
not in the law (prefetch_factor, pin_memory, persistent_workers, in_order, the
batch size, neighbours) are worth 1.00x. stoker's loader counts as many workers
as it has threads. All costs are from the recording: those of the judged window,
and fetches of the whole run.

Exit codes: 0, 1 (with --strict: median error above 5 % or under 80 % inside),
2 usage. Needs a built bin/stoker and bin/libnvidia-ml.so.1, and python/.venv.
"""

import argparse
import gzip
import json
import math
import os
import shlex
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "labelled"))
from labelled import IMAGES, LOOP, ROOT, Bench, Observed, from_root, steps_per_second  # noqa: E402

TRAIN = "examples/imagefolder/train.py"
#: The bar of --strict.
MEDIAN_ERROR, SHARE_INSIDE = 0.05, 0.80


@dataclass(frozen=True)
class Case:
    """A program before and after a change."""

    name: str
    before: str  # flags of the program
    after: str  # flags that override those
    changes: tuple[str, ...]  # the settings that differ
    neighbours: int = 0  # busy loops during both runs
    least: float = 0  # least seconds of a run
    idle: bool = False  # the change has no effect by construction
    quick: bool = False
    program: str = LOOP
    fed: bool = False  # "after" takes its DataLoader from stoker

    @property
    def same(self) -> bool:
        return not self.changes


# In loop.py, --load-ms and --device-ms are per batch. `burn` takes core time, `wait` sleeps 5 ms per sample.
BURN = "--load-ms 60 --launch-ms 3 --device-ms 36 --item"
WAIT = "--load-kind sleep --load-ms 80 --launch-ms 3 --device-ms 30 --item"
JPEG = f"--load-kind jpeg --data {IMAGES} --batch 16 --launch-ms 3 --device-ms 25 --item"
COPIES = "--load-ms 2 --launch-ms 2 --device-ms 20 --pageable-mb 200"
SLOW = "--slow-every 50 --slow-times 20"
FOLDER = f"--data {IMAGES} --batch 32 --print-every 50"
WORKERS, PREFETCH, PERSISTENT = ("num_workers",), ("prefetch_factor",), ("persistent_workers",)

CASES = (
    # Workers, samples of core time on the two cores.
    Case("workers-0-1", f"{BURN} --workers 0", "--workers 1", WORKERS, quick=True),
    Case("workers-0-2", f"{BURN} --workers 0", "--workers 2", WORKERS),
    Case("workers-1-2", f"{BURN} --workers 1", "--workers 2", WORKERS),
    Case("workers-2-1", f"{BURN} --workers 2", "--workers 1", WORKERS),
    Case("workers-2-4-full", "--workers 2 --load-ms 100 --launch-ms 3 --device-ms 20 --item", "--workers 4", WORKERS, idle=True),
    Case("workers-0-2-ahead", "--workers 0 --load-ms 80 --launch-ms 10 --device-ms 60", "--workers 2", WORKERS),
    Case("workers-1-2-epochs", "--workers 1 --load-ms 50 --launch-ms 3 --device-ms 20 --item --epoch 640", "--workers 2", WORKERS),
    Case("workers-0-1-beside-1", f"{BURN} --workers 0", "--workers 1", WORKERS, neighbours=1),
    Case("workers-1-2-beside-1", "--workers 1 --load-ms 50 --launch-ms 3 --device-ms 20 --item", "--workers 2", WORKERS, neighbours=1),
    Case("workers-0-2-beside-2", f"{BURN} --workers 0", "--workers 2", WORKERS, neighbours=2, least=20),
    # Workers, samples that sleep; and JPEGs.
    Case("wait-0-2", f"{WAIT} --workers 0", "--workers 2", WORKERS, quick=True),
    Case("wait-2-4", f"{WAIT} --workers 2", "--workers 4", WORKERS),
    Case("wait-0-1-beside-2", f"{WAIT} --workers 0", "--workers 1", WORKERS, neighbours=2),
    Case("wait-1-4-beside-2", f"{WAIT} --workers 1", "--workers 4", WORKERS, neighbours=2),
    Case("jpeg-0-2", f"{JPEG} --workers 0", "--workers 2", WORKERS),
    Case("jpeg-1-2-beside-1", f"{JPEG} --workers 1", "--workers 2", WORKERS, neighbours=1, least=20),
    # How far workers work ahead, and in which order batches come.
    Case("prefetch-saturated", f"{BURN} --workers 1", "--prefetch-factor 4", PREFETCH, idle=True, quick=True),
    Case("prefetch-uneven", f"--load-kind sleep --load-ms 54 --launch-ms 3 --device-ms 25 --item --workers 2 {SLOW}", "--prefetch-factor 4", PREFETCH, least=20),
    Case("order-uneven-wait", f"--load-kind sleep --load-ms 80 --launch-ms 3 --device-ms 20 --item --workers 2 {SLOW}", "--no-in-order", ("in_order",), least=20),
    Case("order-uneven-burn-beside-1", f"--load-ms 50 --launch-ms 3 --device-ms 20 --item --workers 2 {SLOW}", "--no-in-order", ("in_order",), neighbours=1, least=20),
    # Workers that restart with each epoch, of 1.5, 5 and 12 seconds.
    Case("persistent-1.5s", "--load-kind sleep --load-ms 60 --launch-ms 3 --device-ms 22 --item --workers 2 --epoch 800", "--persistent-workers", PERSISTENT),
    Case("persistent-1.5s-beside-1", "--load-ms 30 --launch-ms 3 --device-ms 22 --item --workers 1 --epoch 720", "--persistent-workers", PERSISTENT, neighbours=1),
    Case("persistent-5s", "--load-ms 50 --launch-ms 3 --device-ms 30 --item --workers 2 --epoch 1920", "--persistent-workers", PERSISTENT, least=21),
    Case("persistent-12s", "--load-ms 50 --launch-ms 3 --device-ms 30 --item --workers 2 --epoch 4608", "--persistent-workers", PERSISTENT, least=25, idle=True),
    # Copies to the device: 200 MB in each step, pinned, and pinned without waiting; and 0.2 MB behind a slow worker.
    Case("pin-copies", COPIES, "--pin", ("pin_memory",), quick=True),
    Case("pin-copies-ahead", COPIES, "--pin --non-blocking", ("pin_memory", "non_blocking")),
    Case("pin-nothing", f"{BURN} --workers 1 --copy", "--pin", ("pin_memory",), idle=True),
    # Twice the batch: all costs double, except those of launches.
    Case("batch-1-worker", "--batch 32 --load-ms 60 --launch-ms 3 --device-ms 36 --item --workers 1", "--batch 64 --load-ms 120 --device-ms 72", ("batch_size",), idle=True),
    Case("batch-launches", "--batch 32 --load-ms 40 --launch-ms 15 --device-ms 20 --item", "--batch 64 --load-ms 80 --device-ms 40", ("batch_size",)),
    # Another loader, on JPEGs.
    Case("loader-0", f"{FOLDER} --workers 0", "", ("loader",), least=20, program=TRAIN, fed=True),
    Case("loader-2-beside-1", f"{FOLDER} --workers 2", "", ("loader",), least=20, program=TRAIN, fed=True, neighbours=1),
    # No change.
    Case("same", f"{BURN} --workers 0", "", ()),
    Case("same-beside-1", f"{BURN} --workers 2", "", (), neighbours=1),
)


# Recording.

#: A neighbour: uses a core until the process that started it is gone.
BUSY = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): sum(range(100_000))"


@contextmanager
def neighbours(count: int) -> Iterator[None]:
    """Busy loops, which are always ended."""
    crew: list[subprocess.Popen] = []
    try:
        for _ in range(count):
            crew.append(subprocess.Popen([sys.executable, "-c", BUSY, str(os.getpid())]))
        yield
    finally:
        for one in crew:
            one.kill()
            one.wait()


def record(bench: Bench, case: Case) -> None:
    """Record both runs of a case, and a file about how they ended."""
    note: dict = {"name": case.name, "commands": commands(bench, case), "recorded": time.strftime("%Y-%m-%d %H:%M"), "problem": "", "others": []}
    note["load"] = os.getloadavg()[0]
    for side in ("before", "after"):
        for ending in (".jsonl.gz", ".truth.json"):
            (ROOT / bench.out / f"{case.name}-{side}{ending}").unlink(missing_ok=True)
    try:
        prepare(bench, case)
        with neighbours(case.neighbours):
            for side, program in zip(("before", "after"), note["commands"], strict=True):
                note["others"].append(bench.record(f"{case.name}-{side}", program)[1])
    except (RuntimeError, OSError, subprocess.SubprocessError) as problem:
        note["problem"] = f"{type(problem).__name__}: {problem}"
    (ROOT / bench.out / f"{case.name}.json").write_text(json.dumps(note, indent=1) + "\n")


def commands(bench: Bench, case: Case) -> list[list[str]]:
    """Return the observed commands, before and after."""
    seconds = ["--seconds", f"{max(bench.seconds, case.least):g}"]

    def program(side: str, flags: str) -> list[str]:
        script = str(fed_script(bench)) if case.fed and side == "after" else case.program
        truth = ["--truth", str(bench.out / f"{case.name}-{side}.truth.json")] if case.program == LOOP else []
        return [str(bench.python), script, *shlex.split(flags), *seconds, *truth]

    return [program("before", case.before), program("after", f"{case.before} {case.after}")]


def fed_script(bench: Bench) -> Path:
    return bench.out / "train_fed.py"


def prepare(bench: Bench, case: Case) -> None:
    """Make images if they are needed, read them once, and write the script that uses stoker's loader."""
    if IMAGES not in case.before:
        return
    maker = [str(bench.python), "examples/imagefolder/make_images.py", "--data", IMAGES]
    subprocess.run(maker, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    for path in (ROOT / IMAGES).rglob("*.jpg"):
        path.read_bytes()  # both runs find it in the page cache
    theirs, ours = "from torch.utils.data import DataLoader\n", "from stoker import DataLoader\n"
    text = (ROOT / TRAIN).read_text()
    if theirs not in text:
        raise RuntimeError(f"no line {theirs.strip()!r} in {TRAIN}")
    (ROOT / fed_script(bench)).write_text(text.replace(theirs, ours))


# The plain law.


@dataclass(frozen=True)
class Costs:
    """The inputs of the plain law; seconds per step."""

    workers: int
    fetch: float  # wall time of fetching one batch
    core: float  # core time of the whole job
    cores: float  # that the job may use
    host: float  # the loop without the wait for input
    device: float  # busy

    def step(self, workers: int) -> float:
        if workers == 0:
            return max(self.fetch + self.host, self.device)
        return max(self.fetch / workers, self.core / self.cores, self.host, self.device)

    def speedup(self, workers: int) -> float:
        return self.step(self.workers) / self.step(workers)


def costs_of(lines: list[dict], diagnosis: dict) -> Costs:
    """Read the costs of the judged window from a recording's lines."""
    base = next(line["monotonic_ns"] for line in lines if line["kind"] == "header")
    facts = [line["facts"] for line in lines if line["kind"] == "facts"][-1]
    start, end = ((diagnosis["window"][side] - base) / 1e9 for side in ("start_monotonic_ns", "end_monotonic_ns"))
    step, wait = diagnosis["step"]["mean_s"], diagnosis["step"]["host_wait_s"]
    tree = [(line["t"], line["value"]) for line in lines if line.get("signal") == "tree.cpu" and start <= line["t"] <= end]
    (t0, cpu0), (t1, cpu1) = tree[0], tree[-1]
    workers = diagnosis["settings"].get("num_workers") or 0
    wall, count = total(lines, "fetch.wall"), total(lines, "fetch.count")
    return Costs(
        workers=workers,
        fetch=wall / count if workers and count else wait,
        core=(cpu1 - cpu0) / (t1 - t0) * step,
        cores=facts["machine"]["allowed"],
        host=step - wait,
        device=sum(diagnosis["shares"][kind] or 0 for kind in ("kernel", "copy")) * step,
    )


def total(lines: list[dict], signal_name: str) -> float:
    """Return the sum of the last values of a counter over all processes."""
    last = {line["subject"]: line["value"] for line in lines if line.get("signal") == signal_name}
    return sum(last.values())


def workers_after(costs: Costs, changes: list[dict]) -> int:
    """Return the number of workers after the changes, which is all that the plain law uses."""
    to = {change["setting"]: change["to"] for change in changes}
    if "num_workers" in to:
        return int(to["num_workers"])
    return round(costs.cores) if "loader" in to else costs.workers


# Evaluation.


@dataclass
class Row:
    """The result of a pair."""

    name: str
    neighbours: int = 0
    same: bool = False
    idle: bool = False
    found: list[str] = field(default_factory=list)  # changes that verify found
    unseen: list[str] = field(default_factory=list)  # changed settings that it did not find
    strange: list[str] = field(default_factory=list)  # settings that it found although they did not change
    promised: dict | None = None  # speed-up: low, point, high
    achieved: dict | None = None
    difference: str = ""
    plain: float | None = None
    truth: float | None = None  # the speed-up by the device's own record
    states: list[str] = field(default_factory=list)  # states of the verdicts: final or provisional
    others: list[float] = field(default_factory=list)  # cores that other programs used, neighbours included
    recorded: str = ""
    problem: str = ""

    @property
    def error(self) -> float:
        return off(self.promised["point"] if self.promised else None, self.achieved)

    @property
    def plain_error(self) -> float:
        return off(self.plain, self.achieved)

    @property
    def inside(self) -> bool:
        if not self.promised or not self.achieved:
            return False
        return self.promised["low"] <= self.achieved["point"] <= self.promised["high"]

    @property
    def width(self) -> float | None:
        return (self.promised["high"] - self.promised["low"]) / self.promised["point"] if self.promised else None

    def remarks(self) -> list[str]:
        told = [f"failed: {self.problem}"] if self.problem else []
        told += [f"not seen: {', '.join(self.unseen)}"] if self.unseen else []
        told += [f"found though not changed: {', '.join(self.strange)}"] if self.strange else []
        if not self.problem and not self.promised and not self.same:
            told.append("nothing promised")
        return told


def off(predicted: float | None, achieved: dict | None) -> float:
    """Return |predicted / achieved - 1|; infinite if either is missing."""
    return abs(predicted / achieved["point"] - 1) if predicted and achieved else math.inf


def compare(row: Row, case: Case, outcome: dict) -> None:
    """Fill in the results of verify."""
    if outcome["refused"]:
        row.problem = f"refused: {outcome['refused']}"
        return
    settings = [change["setting"] for change in outcome["changes"]]
    row.found = [f"{change['setting']} {change['from']} -> {change['to']}" for change in outcome["changes"]]
    row.unseen = [setting for setting in case.changes if setting not in settings]
    row.strange = [setting for setting in settings if setting not in (*case.changes, *along(case))]
    row.promised, row.achieved = outcome["promise"]["promised"], outcome["speedup"]
    row.difference = outcome["difference"]


def along(case: Case) -> tuple[str, ...]:
    """Return settings that change together with another: stoker's loader chooses threads and queue itself."""
    return ("num_workers", "prefetch_factor", "normalize_on_device") if "loader" in case.changes else ()


def evaluate(bench: Bench, case: Case) -> Row:
    """Compare the recordings of a case."""
    row = Row(case.name, case.neighbours, case.same, case.idle)
    try:
        note = json.loads((ROOT / bench.out / f"{case.name}.json").read_text())
        row.problem, row.others, row.recorded = note["problem"], note["others"], note["recorded"]
        if row.problem:
            return row
        if note["commands"] != commands(bench, case):
            print(f"gains: warning: {case.name} was recorded with other flags than it has now", file=sys.stderr)
        before, after = (bench.out / f"{case.name}-{side}.jsonl.gz" for side in ("before", "after"))
        outcome = ask(bench, "verify", before, after)["outcome"]
        compare(row, case, outcome)
        if row.problem:
            return row
        diagnoses = [ask(bench, "diagnose", path) for path in (before, after)]
        row.states = [diagnosis["verdict"]["state"] for diagnosis in diagnoses]
        costs = costs_of(read(ROOT / before), diagnoses[0])
        row.plain = costs.speedup(workers_after(costs, outcome["changes"]))
        row.truth = truth_of(bench, case, diagnoses, outcome)
    except (RuntimeError, OSError, EOFError, ValueError, LookupError, TypeError, ZeroDivisionError, StopIteration) as problem:
        row.problem = row.problem or f"{type(problem).__name__}: {problem}"
    return row


def ask(bench: Bench, verb: str, *recordings: Path) -> dict:
    """Return the output of a verb, also if it refuses, which has a separate exit code."""
    done = subprocess.run([str(bench.stoker), verb, "--json", *map(str, recordings)], cwd=ROOT, capture_output=True, text=True, timeout=60)
    if not done.stdout:
        raise RuntimeError(f"stoker {verb}: exit code {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def read(recording: Path) -> list[dict]:
    with gzip.open(recording, "rt") as file:
        return [json.loads(line) for line in file]


def truth_of(bench: Bench, case: Case, diagnoses: list[dict], outcome: dict) -> float | None:
    """Return the speed-up by the emulated device's own record, which is independent of Stoker."""
    rates = []
    for side, diagnosis in zip(("before", "after"), diagnoses, strict=True):
        path = ROOT / bench.out / f"{case.name}-{side}.truth.json"
        rate = steps_per_second(Observed(path, diagnosis, json.loads(path.read_text()), 0)) if path.exists() else None
        if rate is None:
            return None
        rates.append(rate * (outcome[side]["samples"] if outcome["basis"] == "per sample" else 1))
    return rates[1] / rates[0]


# The table.


def table(rows: list[Row]) -> Iterator[str]:
    yield "| pair | neighbours | changes found | predicted (low to high) | achieved (low to high) | error | inside | width | plain law | its error | others' cores | remarks |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        others = ", ".join(f"{cores:.1f}" for cores in row.others)
        plain = f"{row.plain:.2f}" if row.plain else "–"
        yield (
            f"| {row.name} | {row.neighbours} | {', '.join(row.found) or '–'} | {interval(row.promised)} | {interval(row.achieved)} | {percent(row.error)} "
            f"| {'yes' if row.inside else 'NO'} | {percent(row.width)} | {plain} | {percent(row.plain_error)} | {others} | {'; '.join(row.remarks())} |"
        )


def table_of_same(rows: list[Row]) -> Iterator[str]:
    yield "| nothing changed | neighbours | measured (low to high) | verify says | others' cores | remarks |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        others = ", ".join(f"{cores:.1f}" for cores in row.others)
        yield f"| {row.name} | {row.neighbours} | {interval(row.achieved)} | {row.difference or '–'} | {others} | {'; '.join(row.remarks())} |"


def interval(of: dict | None) -> str:
    return f"{of['point']:.2f} ({of['low']:.2f} to {of['high']:.2f})" if of else "–"


def percent(share: float | None) -> str:
    return "–" if share is None or math.isinf(share) else f"{100 * share:.1f} %"


@dataclass
class Summary:
    """Summary of all pairs, without A/A pairs."""

    pairs: int
    inside: int
    error: float  # medians; infinite if half of the pairs have none
    width: float | None
    plain: float
    unchanged: float  # error of predicting that no change has an effect

    def keeps_promises(self) -> bool:
        return self.pairs > 0 and self.error <= MEDIAN_ERROR and self.inside >= SHARE_INSIDE * self.pairs

    def text(self, title: str) -> str:
        share = self.inside / self.pairs if self.pairs else 0
        return (
            f"{title}: {self.inside} of {self.pairs} inside ({100 * share:.0f} %), median error {percent(self.error)}, median width {percent(self.width)}; "
            f"median error of the plain law {percent(self.plain)}, of 'worth nothing' {percent(self.unchanged)}"
        )


def summary(rows: list[Row]) -> Summary:
    counted = [row for row in rows if not row.same]
    widths = [row.width for row in counted if row.width is not None]

    def median(values: list[float]) -> float:
        return statistics.median(values) if values else math.inf

    return Summary(
        pairs=len(counted),
        inside=sum(row.inside for row in counted),
        error=median([row.error for row in counted]),
        width=statistics.median(widths) if widths else None,
        plain=median([row.plain_error for row in counted]),
        unchanged=median([off(1.0, row.achieved) for row in counted]),
    )


def report(rows: list[Row]) -> Iterator[str]:
    """Return the tables and the figures below them."""
    pairs, same = [row for row in rows if not row.same], [row for row in rows if row.same]
    if pairs:
        yield from table(pairs)
        yield ""
        yield summary(pairs).text("all pairs")
        for title, some in (
            ("built to be worth something", [row for row in pairs if not row.idle]),
            ("built to be worth nothing", [row for row in pairs if row.idle]),
            ("without neighbours", [row for row in pairs if not row.neighbours]),
            ("with neighbours", [row for row in pairs if row.neighbours]),
        ):
            if some and len(some) < len(pairs):
                yield summary(some).text(f"  {title}")
    if same:
        yield from ("", *table_of_same(same), "")
    apart = [(abs(row.achieved["point"] / row.truth - 1), row.name) for row in rows if row.truth and row.achieved]
    if apart:
        yield f"achieved, as verify measures it, is at most {percent(max(apart)[0])} ({max(apart)[1]}) from what the runs' own record says (n={len(apart)})"
    states = [state for row in rows for state in row.states]
    failed = sum(bool(row.problem) for row in rows)
    yield f"{states.count('final')} of {len(states)} verdicts final, the others provisional (a final one wants 30 steady seconds: --seconds 36); {failed} pairs failed"


# The command.


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME", help="only this pair; may be given again")
    parser.add_argument("--quick", action="store_true", help="four pairs")
    parser.add_argument("--list", action="store_true", help="print the pairs and end")
    parser.add_argument("--reuse", action="store_true", help="record nothing, evaluate the recordings of -o again")
    parser.add_argument("--seconds", type=float, default=13, help="length of a run, longer where a pair asks for more (default 13)")
    parser.add_argument("--strict", action="store_true", help="exit with 1 where the median error is above 5 %% or less than 80 %% are inside")
    parser.add_argument("--json", metavar="OUT", help="write everything to OUT as well")
    parser.add_argument("-o", "--out", type=Path, default=ROOT / "stoker-runs" / "gains", help="folder of the recordings (default stoker-runs/gains)")
    parser.add_argument("--stoker", type=Path, default=ROOT / "bin" / "stoker")
    parser.add_argument("--python", type=Path, default=ROOT / "python" / ".venv" / "bin" / "python", help="interpreter with PyTorch")
    arguments = parser.parse_args()
    names = [case.name for case in CASES]
    for name in arguments.only or []:
        if name not in names:
            parser.error(f"no pair {name!r}: choose from {', '.join(names)}")
    needed = [(arguments.stoker, "make build emulate")]
    needed += [] if arguments.reuse else [(arguments.python, "python/install-torch")]
    for path, how in needed:
        if not arguments.list and not path.exists():
            parser.error(f"no {path}: {how}")
    return arguments


def machine() -> str:
    load = ", ".join(f"{average:.1f}" for average in os.getloadavg())
    return f"{len(os.sched_getaffinity(0))} cores, Linux {os.uname().release}, Python {sys.version.split()[0]}, load {load}"


def main() -> int:
    arguments = parse_arguments()
    chosen = [case for case in CASES if (case.name in arguments.only if arguments.only else case.quick or not arguments.quick)]
    if arguments.list:
        for case in chosen:
            print(f"{case.name:27} {case.before}\n{'':27} then {case.after or ('with stoker.DataLoader' if case.fed else 'the same')}; neighbours: {case.neighbours}")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that neighbours end, too
    bench = Bench(from_root(arguments.stoker), from_root(arguments.python), from_root(arguments.out), arguments.seconds)
    (ROOT / bench.out).mkdir(parents=True, exist_ok=True, mode=0o700)
    started, rows = time.monotonic(), []
    for case in chosen:
        if not arguments.reuse:
            record(bench, case)
        rows.append(evaluate(bench, case))
        if not arguments.reuse:
            print(list(table(rows[-1:]))[2], flush=True)
    print("\nEmulated device, real PyTorch.\n")
    print("\n".join(report(rows)))
    times = sorted(row.recorded for row in rows if row.recorded)
    print(f"recorded {' to '.join(sorted({times[0], times[-1]})) if times else 'never'}; evaluated on {machine()}; {time.monotonic() - started:.0f} s")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"summary": asdict(summary(rows)), "rows": [asdict(row) for row in rows]}, indent=1))
    return 1 if arguments.strict and not summary(rows).keeps_promises() else 0


if __name__ == "__main__":
    sys.exit(main())
