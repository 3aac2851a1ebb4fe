#!/usr/bin/env python3
"""Compare verdicts with runs that are labelled by construction: the bottleneck of each run is known beforehand.

    python3 bench/labelled/labelled.py                  # all, about 20 minutes
    python3 bench/labelled/labelled.py --neighbours 0,1,2 --repeat 3    # also with busy programs, 3 hours
    python3 bench/labelled/labelled.py --only healthy
    python3 bench/labelled/labelled.py --quick          # the four that depend least on a quiet machine, for CI

For each scenario it observes a run of loop.py and asks for the verdict. The run
writes the truth: how long the device was idle while the script was inside next().
Then it applies the advised fix, observes again, and compares the promise with the
achieved gain. Every run is printed as a command that can be repeated.

Exit codes: 0 the classes are right (with --strict, stalls are also within 3 points,
and gains within intervals with high/low of at most 1.6), 1 they are not, 2 usage.
Without --strict a wrong time is no failure, because it depends on a shared machine.
Nor is a wrong class if the run's truth shows another bottleneck than intended.

It needs a built bin/stoker and bin/libnvidia-ml.so.1, and python/.venv. The slow
disk needs root and blkio throttling of cgroup v1, else it is skipped.
"""

import argparse
import json
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

ROOT = Path(__file__).resolve().parents[2]
LOOP = "bench/labelled/loop.py"
OTHERS = "bench/labelled/others.py"
IMAGES = "data/imagefolder"
FILES = "data/labelled"

#: Points (of 100) by which the printed stall may miss the true one.
STALL_POINTS = 3.0
#: How wide a printed gain may be, high over low.
WIDEST = 1.6
#: Share of idle time that may stay without a name.
UNEXPLAINED = 0.05
#: Share of the time that a device may wait in a run which was built without, before a busy machine has made another run of it.
SPOILED = 0.03
#: Cores that other programs may use before a row says so: a busy machine changes what is true.
QUIET_CORES = 0.3
#: What the disk of scenario slow-disk gives, and how long its files are.
DISK_BYTES_PER_S = 12_000_000
FILE_BYTES = 110_000


@dataclass(frozen=True)
class Scenario:
    """A run with its class and the setting that repairs it."""

    name: str
    expected: str  # a class; its kinds count as right
    flags: str
    why: str
    mend: str | None = None  # the setting that the applied fix must change; None: no fix is expected
    cores: int | None = None  # run on this many cores
    needs: str = ""  # "images" or "slow disk"
    quick: bool = False
    loop: str = LOOP  # the program
    asleep: bool = False  # it needs hardly any core, so neighbours are not its limit
    idle_is_wait: bool = True  # all idle time of the device is wait for input


MAIN_THREAD = "cpu-bound/main-thread-loader"

SCENARIOS = (
    Scenario("main-thread-jpeg", MAIN_THREAD, f"--load-kind jpeg --data {IMAGES} --batch 32 --device-ms 35 --item",
             "images are decoded in the launching thread", mend="num_workers", needs="images"),
    Scenario("main-thread-cpu", MAIN_THREAD, "--load-ms 60 --device-ms 40 --item",
             "load 60 + launch 5 + device 40, one after the other", mend="num_workers", quick=True),
    Scenario("too-few-workers", "cpu-bound/too-few-workers", "--workers 1 --load-ms 60 --launch-ms 3 --device-ms 36",
             "one worker makes a batch in 60, the device takes 36", mend="num_workers"),
    Scenario("cpu-exhausted", "cpu-bound/cpu-exhausted", "--workers 2 --load-ms 50 --device-ms 32",
             "50 + 5 of core time per batch on a single core, the device takes 32", mend="cores", cores=1),
    Scenario("slow-disk", "io-bound/device-saturated", f"--workers 2 --load-kind disk --data {FILES} --load-ms 5 --device-ms 60",
             "1.76 MB per batch from a disk that gives 12 MB/s: 147 per batch", mend="storage", needs="slow disk"),
    Scenario("healthy", "gpu-bound", "--workers 2 --load-ms 40 --launch-ms 3 --device-ms 60",
             "two workers make a batch in 20, the device takes 60", quick=True),
    Scenario("async-run-ahead-2", "gpu-bound", "--load-ms 40 --launch-ms 10 --device-ms 60 --run-ahead 2",
             "the host waits 67 % of its time in next(), the device never does", quick=True),
    Scenario("async-default", "gpu-bound", "--load-ms 40 --launch-ms 10 --device-ms 60",
             "the host waits 80 % of its time in next(), the device never does"),
    Scenario("item-run-ahead-2", MAIN_THREAD, "--load-ms 40 --launch-ms 10 --device-ms 60 --run-ahead 2 --item",
             "the same waits, and now they are all idle: 40 of 110", mend="num_workers"),
    Scenario("item-default", MAIN_THREAD, "--load-ms 40 --launch-ms 10 --device-ms 60 --item",
             "with item() in every step run-ahead is of no use", mend="num_workers"),
    Scenario("async-load-80", MAIN_THREAD, "--load-ms 80 --launch-ms 10 --device-ms 60",
             "the device idles 30 of 90, 20 of them for input", mend="num_workers"),
    Scenario("gpu-bound-spinning", "gpu-bound", "--workers 2 --load-ms 30 --launch-ms 3 --device-ms 100 --spin-main",
             "the launching thread burns a core while it waits for the device"),
    Scenario("pageable-copies", "transfer-bound", "--load-ms 2 --launch-ms 2 --device-ms 20 --pageable-mb 200",
             "200 MB at 10 GB/s are 20 per step, in which the host can do nothing", mend="pin_memory"),
    Scenario("small-launches", "launch-bound", "--load-ms 2 --launches 400 --launch-ms 20 --device-ms 3.5",
             "400 launches of 50 us each for 9 us of work: the device idles 22 of 25.5"),
    Scenario("blocking-copies", "transfer-bound", "--load-ms 2 --launch-ms 2 --device-ms 6 --copies 24 --copies-mb 10",
             "24 copies of 10 MB that the loop makes itself: 24 per step, in which the host can do nothing", mend="pin_memory"),
    Scenario("hidden-sync", "launch-bound", "--load-ms 2 --launches 40 --launch-ms 24 --device-ms 12 --items 40",
             "a value is read after every launch, so that no launch is ever ahead", mend="sync_every"),
    Scenario("one-worker-asleep", "cpu-bound/too-few-workers", "--workers 1 --load-kind sleep --load-ms 80 --launch-ms 3 --device-ms 30",
             "one worker sleeps 80 per batch, the device takes 30; cores are not what is short", mend="num_workers", asleep=True),
    Scenario("many-workers", "gpu-bound", "--workers 16 --load-ms 40 --launch-ms 3 --device-ms 60",
             "16 workers where two would do"),
    Scenario("epochs-anew", MAIN_THREAD, "--load-ms 40 --launch-ms 5 --device-ms 30 --item --epoch 640",
             "40 steps to an epoch, whose loader is iterated anew", mend="num_workers"),
    Scenario("own-generator", "cpu-bound", "generator", "a Python generator makes the batches", loop=OTHERS),
    Scenario("own-thread", "cpu-bound", "prefetch", "a thread of the program's own makes them", loop=OTHERS),
    Scenario("get-batch", "cpu-bound", "get-batch", "nanoGPT's get_batch, from a memory map", loop=OTHERS),
    Scenario("batch-inference", "cpu-bound", "inference", "no loader, no optimizer", loop=OTHERS),
    Scenario("simulator", "cpu-bound", "simulator", "a simulator plays between the steps", loop=OTHERS),
    Scenario("tokenising-collate", MAIN_THREAD, "collate", "collate_fn tokenises in threads of its own", loop=OTHERS),
    Scenario("request-server", "waits-outside", "server", "few requests come: nothing of the program's is the limit", loop=OTHERS, asleep=True, idle_is_wait=False),
    Scenario("cpu-model", "compute-on-cpu", "--cpu-model --workers 1 --load-ms 5",
             "a real network trains on the CPU"),
    Scenario("prefetch-thread", "gpu-bound", "--prefetch-thread --load-ms 40 --launch-ms 3 --device-ms 60 --run-ahead 2",
             "a thread of the script's own waits in next(); the device is busy"),
    Scenario("not-training", "not-training", "--no-training",
             "compresses and rests; no loader, no device", quick=True),
)


# Running.


@dataclass
class Observed:
    """An observed run: the verdict on its recording, and its truth."""

    recording: Path
    diagnosis: dict
    truth: dict
    others: float  # cores that programs other than the run used meanwhile

    @property
    def verdict(self) -> dict:
        return self.diagnosis.get("verdict") or {}

    def window(self) -> tuple[int, int] | None:
        """Return the judged window in ns; the second half of the run if the verdict has none."""
        named = self.diagnosis.get("window") or {}
        if named.get("start_monotonic_ns") and named.get("end_monotonic_ns"):
            return named["start_monotonic_ns"], named["end_monotonic_ns"]
        steps = self.truth["steps"]
        return (steps[len(steps) // 2][0], steps[-1][1]) if steps else None


@dataclass
class Bench:
    """Paths relative to ROOT, and how long runs take."""

    stoker: Path
    python: Path
    out: Path
    seconds: float
    before: Path | None = None  # an older stoker, which judges the same recordings
    hook: bool = True  # use the hook
    busy: list[subprocess.Popen] = field(default_factory=list)  # programs that run at the same time

    def observe(self, name: str, flags: list[str], cores: int | None, group: Path | None, program: str = LOOP) -> Observed:
        truth = self.out / f"{name}.truth.json"
        loop = [str(self.python), program, *flags, "--seconds", f"{self.seconds:g}", "--truth", str(truth)]
        recording, others = self.record(name, [*_pinned_to(cores), *loop], group)
        diagnosis = self.ask("diagnose", recording)
        return Observed(recording, diagnosis, json.loads((ROOT / truth).read_text()), others)

    def record(self, name: str, program: list[str], group: Path | None = None) -> tuple[Path, float]:
        """Observe a program; return its recording and how many cores others used meanwhile."""
        recording = self.out / f"{name}.jsonl.gz"
        (ROOT / recording).unlink(missing_ok=True)
        command = [str(self.stoker), "observe", *([] if self.hook else ["--no-hook"]), "-o", str(recording), "--", *program]
        if group:
            command = ["sh", "-c", f'echo $$ >{group}/cgroup.procs; exec "$@"', "sh", *command]
        print(f"$ STOKER_EMULATE=1 {shlex.join(command)}", flush=True)
        return recording, self._run(command, ROOT / self.out / f"{name}.log")

    def ask(self, verb: str, *recordings: Path, stoker: Path | None = None) -> dict:
        command = [str(stoker or self.stoker), verb, "--json", *map(str, recordings)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise RuntimeError(f"{shlex.join(command)}: exit code {done.returncode}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def _run(self, command: list[str], log: Path) -> float:
        """Run a command; return how many cores others used meanwhile."""
        path = os.pathsep.join(filter(None, (str(ROOT / "python"), os.environ.get("PYTHONPATH"))))
        environment = os.environ | {"STOKER_EMULATE": "1", "PYTHONPATH": path, "STOKER_BIN": str(ROOT / self.stoker)}
        log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        own, machine, start = _own_core_s(), _machine_core_s(), time.monotonic()
        with log.open("w") as file:
            code = subprocess.run(command, cwd=ROOT, env=environment, stdout=file, stderr=file, timeout=4 * self.seconds + 120).returncode
        if code:
            raise RuntimeError(f"exit code {code}: {log.read_text()[-600:].strip()}")
        return max(0.0, (_machine_core_s() - machine - _own_core_s() + own) / (time.monotonic() - start))


def _own_core_s() -> float:
    return sum(os.times()[:4])


def _machine_core_s() -> float:
    """Return the core seconds that all programs have used of our cores."""
    ours = {f"cpu{core}" for core in os.sched_getaffinity(0)}
    rows = (line.split() for line in Path("/proc/stat").read_text().splitlines())
    return sum(sum(map(int, row[1:4])) for row in rows if row[0] in ours) / os.sysconf("SC_CLK_TCK")  # user, nice, system


def _pinned_to(cores: int | None) -> list[str]:
    """Return a command prefix for this many cores. They are the last ones, as the first serves most interrupts."""
    if cores is None:
        return []
    allowed = sorted(os.sched_getaffinity(0))[-cores:]
    return ["taskset", "-c", ",".join(map(str, allowed))]


@contextmanager
def neighbours(bench: Bench, count: int) -> Iterator[None]:
    """Start a number of busy programs."""
    bench.busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"], stdin=subprocess.DEVNULL) for _ in range(count)]
    try:
        yield
    finally:
        for process in bench.busy:
            process.kill()
            process.wait()
        bench.busy = []


@contextmanager
def suspend(busy: list[subprocess.Popen]) -> Iterator[None]:
    """Suspend the busy programs meanwhile."""
    try:
        for process in busy:
            process.send_signal(signal.SIGSTOP)
        yield
    finally:
        for process in busy:
            process.send_signal(signal.SIGCONT)


# The truth.


def unexplained_share(diagnosis: dict) -> float | None:
    """Return the share of idle time in the window that the verdict does not explain; for old verdicts by their class."""
    verdict = diagnosis.get("verdict") or {}
    if "unexplained" in verdict:
        return verdict["unexplained"]
    if verdict.get("idle") is None or verdict["class"] in ("compute-on-cpu", "not-training", "cpu-bound"):
        return None if verdict.get("idle") is None else 0.0
    return max(0.0, verdict["idle"] - (verdict.get("stall") or 0.0))


def true_stall(observed: Observed) -> float | None:
    """Return the share of the judged window in which the device was idle while the script was inside next()."""
    window = observed.window()
    if window is None or not observed.truth["busy"] or not observed.truth["steps"]:  # some programs do not record their requests
        return None
    start, end = window
    waits = [(max(a, start), min(b, end)) for a, b in observed.truth["steps"] if b > start and a < end]
    busy = [(a, b) for a, b, _ in observed.truth["busy"] if b > start and a < end]
    return sum(b - a - _overlap(a, b, busy) for a, b in waits) / (end - start)


def _overlap(start: int, end: int, busy: list[tuple[int, int]]) -> int:
    # Busy intervals do not overlap: the device has one queue.
    return sum(max(0, min(end, b) - max(start, a)) for a, b in busy)


def steps_per_second(observed: Observed) -> float | None:
    """Return the steps per second that the device finished in the judged window."""
    window = observed.window()
    if window is None:
        return None
    start, end = window
    ends = [b for _, b, kind in observed.truth["busy"] if kind == "kernel" and start <= b <= end]
    return (len(ends) - 1) / (ends[-1] - ends[0]) * 1e9 if len(ends) > 1 else None


# The fix.


def choose_fix(plan: list[dict], setting: str) -> dict | None:
    """Return the first fix that changes this setting, else the first one."""
    with_it = [fix for fix in plan if setting in {change["setting"] for change in fix["changes"]}]
    return (with_it or plan or [None])[0]


@dataclass
class Applied:
    """A fix as flags of loop.py and of this runner."""

    flags: list[str] = field(default_factory=list)
    cores: int | None = None
    warm: bool = False
    unknown: list[str] = field(default_factory=list)  # settings that the loop has no flag for


def apply(changes: list[dict], cores: int | None) -> Applied:
    """Translate changes of settings; a later flag overrides an earlier one."""
    applied = Applied(cores=cores)
    numbers = {"num_workers": "--workers", "prefetch_factor": "--prefetch-factor"}
    switches = {"pin_memory": "pin", "non_blocking": "non-blocking", "persistent_workers": "persistent-workers"}
    for change in changes:
        setting, to = change["setting"], change["to"]
        if setting in numbers:
            applied.flags += [numbers[setting], str(to)]
        elif setting in switches:
            applied.flags.append(f"--{'' if to else 'no-'}{switches[setting]}")
        elif setting == "sync_every":
            applied.flags += ["--items", "0"]
        elif setting == "cores":
            applied.cores = int(to)
        elif setting == "storage":
            applied.warm = True
        else:
            applied.unknown.append(setting)
    return applied


# The slow disk.


@contextmanager
def slow_disk(folder: Path) -> Iterator[Path]:
    """Return a cgroup whose processes read this folder's disk at DISK_BYTES_PER_S."""
    group = Path(f"/sys/fs/cgroup/blkio/stoker-labelled-{os.getpid()}")
    limit = f"{_disk_of(folder)} {DISK_BYTES_PER_S}"
    print(f"$ mkdir {group} && echo '{limit}' >{group}/blkio.throttle.read_bps_device")
    group.mkdir()
    try:
        (group / "blkio.throttle.read_bps_device").write_text(limit)
        yield group
    finally:
        group.rmdir()


def why_no_slow_disk() -> str:
    """Return why no slow disk is possible here; "" if one is."""
    if os.geteuid() != 0:
        return "needs root"
    if not Path("/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device").exists():
        return "needs blkio throttling of cgroup v1"
    return ""


def _disk_of(folder: Path) -> str:
    """Return major:minor of the whole disk: only whole disks can be throttled."""
    device = folder.stat().st_dev
    name = f"{os.major(device)}:{os.minor(device)}"
    node = Path(f"/sys/dev/block/{name}").resolve()
    return (node.parent / "dev").read_text().strip() if (node / "partition").exists() else name


def make_files(folder: Path, seconds: float) -> None:
    """Make enough files that none is read twice, including start-up and prefetch."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(round((seconds + 8) * DISK_BYTES_PER_S / FILE_BYTES)):
        path = folder / f"{number:05d}.bin"
        if not path.exists() or path.stat().st_size != FILE_BYTES:
            path.write_bytes(os.urandom(FILE_BYTES))


def evict(folder: Path) -> None:
    """Drop the files from the page cache."""
    os.sync()  # only clean pages can be dropped
    for path in folder.iterdir():
        descriptor = os.open(path, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def warm(folder: Path) -> None:
    """Read the files into the page cache, outside of the slow cgroup."""
    for path in folder.iterdir():
        path.read_bytes()


# One scenario.


@dataclass
class Row:
    """The result of one repetition of a scenario."""

    name: str
    expected: str
    got: str = ""
    stall_true: float | None = None
    stall_printed: float | None = None
    fix: str = ""
    promised: dict | None = None
    achieved: float | None = None
    verified: dict | None = None
    others: float = 0.0
    neighbours: int = 0
    asleep: bool = False
    unexplained: float | None = None
    unexplained_before: float | None = None
    skipped: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def class_right(self) -> bool:
        as_built = self.got == self.expected or self.got.startswith(self.expected + "/")
        if (self.neighbours or self.others >= 1) and not self.asleep and self.got == "cpu-bound/neighbour":
            return True  # they use cores that the run needs
        return as_built or self.is_spoiled and abs(self.stall_off or 0) <= 3 * STALL_POINTS

    @property
    def is_spoiled(self) -> bool:
        """Return whether the device waited by the run's truth, although it should be busy, because others used the machine."""
        return self.expected == "gpu-bound" and (self.stall_true or 0) > SPOILED

    @property
    def stall_off(self) -> float | None:
        """Return the error of the printed stall in points."""
        if self.stall_true is None or self.stall_printed is None:
            return None
        return 100 * (self.stall_printed - self.stall_true)

    def misses(self) -> list[str]:
        """Return what --strict rejects, apart from the class."""
        found = ["spoiled: the device did wait"] if self.is_spoiled else []
        if (self.unexplained or 0) > UNEXPLAINED:
            found.append(f"{100 * self.unexplained:.1f} points of idle time unexplained")
        if self.stall_true is not None and self.stall_printed is None:
            found.append("stall not printed")
        if self.stall_off is not None and abs(self.stall_off) > STALL_POINTS:
            found.append(f"stall off by {self.stall_off:+.1f} points")
        if self.achieved is not None and self.promised:
            if not self.promised["low"] <= self.achieved <= self.promised["high"]:
                found.append("gain outside its interval")
            if self.promised["point"] is not None and self.promised["high"] > WIDEST * self.promised["low"]:
                found.append(f"interval wider than {WIDEST}")
        return found + self.notes


def run(bench: Bench, scenario: Scenario, name: str) -> Row:
    """Run a scenario, and again with the fix if one is expected."""
    row = Row(scenario.name, scenario.expected, asleep=scenario.asleep)
    if scenario.needs == "slow disk":
        row.skipped = why_no_slow_disk()
        if not row.skipped:
            make_files(ROOT / FILES, bench.seconds)
            with slow_disk(ROOT / FILES) as group:
                evict(ROOT / FILES)
                _fill(row, bench, scenario, name, group)
        return row
    if scenario.needs == "images":
        subprocess.run([bench.python, "examples/imagefolder/make_images.py", "--data", IMAGES], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    _fill(row, bench, scenario, name, None)
    return row


def _fill(row: Row, bench: Bench, scenario: Scenario, name: str, group: Path | None) -> None:
    flags = shlex.split(scenario.flags)
    before = bench.observe(name, flags, scenario.cores, group, scenario.loop)
    row.unexplained = unexplained_share(before.diagnosis) if scenario.idle_is_wait else None
    if bench.before and scenario.idle_is_wait:
        row.unexplained_before = unexplained_share(bench.ask("diagnose", before.recording, stoker=bench.before))
    row.got = before.verdict.get("class") or "none"
    row.stall_true, row.stall_printed = true_stall(before), before.verdict.get("stall")
    row.others = before.others
    if scenario.mend is None:
        return
    fix = choose_fix(bench.ask("advise", before.recording).get("plan") or [], scenario.mend)
    if fix is None:
        row.notes.append("no fix advised")
        return
    applied = apply(fix["changes"], scenario.cores)
    row.fix, row.promised = _words(fix["changes"]), fix["speedup"] or None
    if not fix["changes"]:
        row.fix, row.promised = "a line of the program", None
        return
    if applied.unknown:
        row.notes.append(f"cannot apply {', '.join(applied.unknown)}")
    here = len(os.sched_getaffinity(0))
    cut = applied.cores is not None and applied.cores > here
    if cut:
        applied.cores = here
        applied.flags += ["--workers", str(2 * here)]
        row.fix += f" (only {here} cores here: what verify promises for those counts)"
    if applied.warm:
        warm(ROOT / FILES)
    elif group:
        evict(ROOT / FILES)
    given = bench.busy if applied.cores != scenario.cores else []  # cores that the fix adds are free of busy programs
    if given:
        row.fix += ", the busy programs stopped"
    with suspend(given):
        after = bench.observe(name + "-mended", flags + applied.flags, applied.cores, group)
    row.others = max(before.others, after.others)
    try:
        row.verified = bench.ask("verify", before.recording, after.recording)
    except RuntimeError as refused:  # what a user would read; gains are compared with the busy records
        row.notes.append(f"verify: {refused}")
    if cut and row.verified:
        row.promised = row.verified["outcome"]["promise"]["promised"]
    was, now = steps_per_second(before), steps_per_second(after)
    row.achieved = now / was if was and now else None


def _words(changes: list[dict]) -> str:
    return ", ".join(f"{change['setting']} {change['from']} -> {change['to']}" for change in changes)


# The table.

HEADER = f"{'scenario':21} {'class':30} {'stall true/printed, %':>21} {'unexplained, %':>16} {'gain low/point/high':>20} {'achieved':>8}  remarks"


def line(rows: list[Row]) -> str:
    """One line for all repetitions of a scenario, with medians."""
    first = rows[0]
    if first.skipped:
        return f"{first.name:21} skipped: {first.skipped}"
    wrong = next((row for row in rows if not row.class_right), None)
    label = first.got if wrong is None else f"{wrong.got} INSTEAD OF {wrong.expected}"
    stall = f"{_percent(_median(rows, 'stall_true'))} / {_percent(_median(rows, 'stall_printed'))}"
    gain = " / ".join(_gain(rows, end) for end in ("low", "point", "high")) if any(row.promised for row in rows) else "-"
    achieved = _median(rows, "achieved")
    remarks = sorted({miss for row in rows for miss in row.misses()})
    if wrong is None and not remarks:
        remarks = ["ok"]
    others = max(row.others for row in rows)
    remarks += [f"others used {others:.1f} cores"] if others > QUIET_CORES else []
    remarks += [first.fix, f"n={len(rows)}"] if first.fix else [f"n={len(rows)}"]
    name = first.name + (f" +{first.neighbours}" if first.neighbours else "")
    idle = _percent(_median(rows, "unexplained"))
    if (before := _median(rows, "unexplained_before")) is not None:
        idle = f"{_percent(before)} -> {idle}"
    return f"{name:21} {label:30} {stall:>21} {idle:>16} {gain:>20} {'-' if achieved is None else f'{achieved:.2f}':>8}  {'; '.join(remarks)}"


def _median(rows: list[Row], attribute: str) -> float | None:
    values = [value for row in rows if (value := getattr(row, attribute)) is not None]
    return statistics.median(values) if values else None


def _gain(rows: list[Row], end: str) -> str:
    """Return the median of an end of the promised gains. A gain with only a bound has no point."""
    values = [row.promised[end] for row in rows if row.promised and row.promised[end] is not None]
    return f"{statistics.median(values):.2f}" if values else "?"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


Results = dict[tuple[str, int], list[Row]]


def run_all(bench: Bench, scenarios: list[Scenario], repeat: int, beside: list[int]) -> Results:
    """Run everything `repeat` times, in rounds, so that slow phases of the machine affect all scenarios."""
    results: Results = {(scenario.name, count): [] for scenario in scenarios for count in beside}
    for number in range(repeat):
        for scenario in scenarios:
            for count in beside:
                print(f"\n# {scenario.name}: {scenario.why}" + (f"; {count} busy programs beside it" if count else ""))
                try:
                    with neighbours(bench, count):
                        row = run(bench, scenario, f"{scenario.name}-{number}" + (f"-beside-{count}" if count else ""))
                except (RuntimeError, OSError, ValueError, KeyError, subprocess.SubprocessError) as problem:
                    row = Row(scenario.name, scenario.expected, got="no verdict", notes=[f"{type(problem).__name__}: {problem}"])
                row.neighbours = count
                results[scenario.name, count].append(row)
                print(line([row]), flush=True)
    return results


def verdict_of(results: Results, strict: bool) -> int:
    rows = [row for of_one in results.values() for row in of_one if not row.skipped]
    wrong = [row for row in rows if not row.class_right]
    missed = [row for row in rows if row.misses()]
    skipped = sum(row.skipped != "" for of_one in results.values() for row in of_one)
    print(f"{len(rows) - len(wrong)} of {len(rows)} classes right, {len(missed)} with remarks, {skipped} scenarios skipped")
    return 1 if wrong or (strict and missed) else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME", help="run only this one; may be given again")
    parser.add_argument("--quick", action="store_true", help="the four scenarios that a busy machine spoils least")
    parser.add_argument("--list", action="store_true", help="print the scenarios and end")
    parser.add_argument("--seconds", type=float, default=22, help="length of a run (default 22)")
    parser.add_argument("--repeat", type=int, default=1, help="times each (default 1); the table then shows medians")
    parser.add_argument("--neighbours", type=_counts, default=[0], metavar="N,N", help="how many busy programs to run beside, each count in turn (default 0)")
    parser.add_argument("--before", type=Path, metavar="STOKER", help="a stoker from before a change: print its unexplained idle time of the same recordings too")
    parser.add_argument("--strict", action="store_true", help="fail on missed stalls and gains, too")
    parser.add_argument("--json", metavar="OUT", help="write everything to OUT as well")
    parser.add_argument("--out", type=Path, default=ROOT / "stoker-runs" / "labelled", help="folder for recordings (default stoker-runs/labelled)")
    parser.add_argument("--stoker", type=Path, default=ROOT / "bin" / "stoker")
    parser.add_argument("--python", type=Path, default=ROOT / "python" / ".venv" / "bin" / "python", help="interpreter with PyTorch")
    arguments = parser.parse_args()
    names = {scenario.name for scenario in SCENARIOS}
    for name in arguments.only or []:
        if name not in names:
            parser.error(f"no scenario {name!r}: choose from {', '.join(sorted(names))}")
    for path, how in ((arguments.stoker, "make build emulate"), (arguments.python, "python/install-torch")):
        if not arguments.list and not path.exists():
            parser.error(f"no {path}: {how}")
    return arguments


def _counts(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def from_root(path: Path) -> Path:
    """Return a path relative to the checkout. A venv's python is a link that must not be followed."""
    absolute = Path(os.path.abspath(path))
    return absolute.relative_to(ROOT) if absolute.is_relative_to(ROOT) else absolute


def main() -> int:
    arguments = parse_arguments()
    chosen = [s for s in SCENARIOS if (s.name in arguments.only if arguments.only else s.quick or not arguments.quick)]
    if arguments.list:
        for scenario in chosen:
            print(f"{scenario.name:19} {scenario.expected:30} {scenario.flags}\n{'':19} {scenario.why}")
        return 0
    started = time.monotonic()
    bench = Bench(from_root(arguments.stoker), from_root(arguments.python), from_root(arguments.out), arguments.seconds, arguments.before)
    results = run_all(bench, chosen, arguments.repeat, arguments.neighbours)
    print(f"\n{HEADER}")
    for rows in results.values():
        print(line(rows))
    print(f"{time.monotonic() - started:.0f} s; load average at the end {os.getloadavg()[0]:.1f}")
    if arguments.json:
        rows = [asdict(row) for of_one in results.values() for row in of_one]
        Path(arguments.json).write_text(json.dumps({"seconds": arguments.seconds, "rows": rows}, indent=1))
    return verdict_of(results, arguments.strict)


if __name__ == "__main__":
    sys.exit(main())
