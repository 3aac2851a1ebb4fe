"""Counts CPU time and memory of a contestant and of all processes that it started.

The contestant runs in its own control group where the kernel lets us make
one (root, or a delegated group): then every process counts from its first
instruction to its last, also one that has ended, and also a daemon in its
own session. Elsewhere the processes are found by a mark in their environment,
which children and daemons inherit: exact for what lives or was waited for by
something that lives, blind for daemons that ended.
"""

import os
import signal
import time
import uuid
from contextlib import suppress
from pathlib import Path

#: The mark, and where the group's counter lies, in the contestant's environment.
MARK = "STOKER_BENCH_MARK"
COUNTER = "STOKER_BENCH_COUNTER"

TICK = os.sysconf("SC_CLK_TCK")
PATIENCE = 2.0  # seconds that processes have to go away after their parent


class Group:
    """The processes of one contestant. Use it in a `with`: nothing of it outlives that."""

    def __init__(self):
        self.mark = uuid.uuid4().hex
        self.folder = _make_folder(self.mark)
        self.counter = _counter_of(self.folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        deadline = time.monotonic() + PATIENCE
        while self.folder:
            try:
                self.folder.rmdir()
                break
            except OSError:  # busy: version 2, until the last process is reaped
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    @property
    def how(self) -> str:
        return "control group" if self.folder else "processes found by a mark in their environment"

    def environment(self) -> dict[str, str]:
        return {MARK: self.mark, COUNTER: str(self.counter or "")}

    def enter(self) -> None:
        """Called in the child between fork and exec."""
        if self.folder:
            (self.folder / "cgroup.procs").write_text("0")

    def processes(self) -> list[int]:
        if self.folder:
            return [int(pid) for pid in (self.folder / "cgroup.procs").read_text().split()]
        return marked_processes(self.mark)

    def names(self) -> list[str]:
        return sorted(_name(pid) for pid in self.processes())

    def pss(self) -> int:
        """Proportional set size of all processes together, bytes: a shared page counts once."""
        return sum(_pss(pid) for pid in self.processes())

    def left_behind(self) -> int:
        """How many processes are still there after a fair time; call it once the contestant has ended."""
        deadline = time.monotonic() + PATIENCE
        while (left := len(self.processes())) and time.monotonic() < deadline:
            time.sleep(0.02)
        return left

    def kill(self) -> None:
        deadline = time.monotonic() + 10
        while (left := self.processes()) and time.monotonic() < deadline:
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)


def cpu_seconds() -> float:
    """CPU time so far of the contestant that calls this, user and system, with all that it started."""
    counter = os.environ.get(COUNTER)
    if not counter:
        return sum(cpu_of(pid) for pid in marked_processes(os.environ[MARK]))
    text = Path(counter).read_text()
    if counter.endswith("cpu.stat"):
        return int(text.split()[1]) / 1e6
    return int(text) / 1e9


def faults() -> int:
    """Page faults so far that needed no disk, of the contestant that calls this and of all that it started and waited for."""
    counter = os.environ.get(COUNTER)
    processes = (Path(counter).parent / "cgroup.procs").read_text().split() if counter else marked_processes(os.environ[MARK])
    return sum(_faults_of(int(pid)) for pid in processes)


def marked_processes(mark: str) -> list[int]:
    """Processes that carry the mark in their environment."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if wanted in Path(f"/proc/{entry}/environ").read_bytes():
                    found.append(int(entry))
            except OSError:
                pass  # ended meanwhile, or another user's
    return found


def _make_folder(name: str) -> Path | None:
    """A fresh control group: of version 1's cpuacct, or below our own group in version 2."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, ours = line.split(":", 2)
        if "cpuacct" in controllers.split(","):
            parent = Path(f"/sys/fs/cgroup/{controllers}")
            parent = (parent if parent.exists() else Path("/sys/fs/cgroup/cpuacct")) / ours.lstrip("/")
        elif controllers == "":
            parent = Path("/sys/fs/cgroup") / ours.lstrip("/")
        else:
            continue
        folder = parent / f"stoker-bench-{name}"
        try:
            folder.mkdir()
        except OSError:
            continue
        if _counter_of(folder):
            return folder
        folder.rmdir()
    return None


def _counter_of(folder: Path | None) -> Path | None:
    if not folder:
        return None
    for name in ("cpuacct.usage", "cpu.stat"):
        if (folder / name).exists():
            return folder / name
    return None


def cpu_of(pid: int) -> float:
    """CPU seconds of one process and of those children that it has waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(int(value) for value in fields[11:15]) / TICK  # utime, stime, cutime, cstime


def _faults_of(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[7]) + int(fields[8])  # minflt, cminflt


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "ended"


def _pss(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass  # ended meanwhile
    return 0


def machine_cpu() -> float:
    """CPU seconds of the whole machine so far: used by anyone, or taken by the host that it runs on."""
    fields = [int(value) for value in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    user, nice, system, _, _, irq, softirq, steal = fields[:8]
    return (user + nice + system + irq + softirq + steal) / TICK
