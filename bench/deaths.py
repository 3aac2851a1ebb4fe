#!/usr/bin/env python3
"""Table of what remains after a process of Stoker dies, stops or runs out of something: a cell for each process and trouble.

    python3 bench/deaths.py                          all cells, with stops of 60 s
    python3 bench/deaths.py --quick                  stops of 5 s, one signal in three
    python3 bench/deaths.py observe watch --only SIGKILL "full disk"

Each cell runs a real job on a new terminal: a Python loop whose steps the hook times, which reads a line at its end and exits with 7.
The cell compares its output and exit code with a run without Stoker. It checks how much of the recording can be read, whether the
terminal is restored, and what remains: processes, folders of the run, temporary files, /dev/shm. The exit code is 1 if something of
the user's was lost. Full disks and /dev/shm are small mounts (needs root). capture and tune need PyTorch, jumps of CMD's clock need
faketime, and those of Stoker's clock also qemu-user. If a tool is missing, the cells say so.
"""

import argparse
import collections
import concurrent.futures
import ctypes
import datetime
import fcntl
import json
import os
import platform
import pty
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STOKER = os.environ.get("STOKER_BIN", str(ROOT / "bin/stoker"))
MARK = "STOKER_DEATHS"  # in the environment of every process of a cell
PATIENCE = 240  # seconds until a cell gives up; no verdict depends on it

JOB = """
import hashlib, os, select, sys, time
import stoker
beat, end = sys.argv[1:]
def batches():
    n = 0
    while n < 100 or not os.path.exists(end):
        select.select([], [], [], 0.02) # faketime breaks time.sleep
        yield n
        n += 1
digest, last, longest = hashlib.sha256(), time.monotonic(), 0.0
for n in stoker.watch(batches()):
    if n < 100: digest.update(b"%d" % n)
    now = time.monotonic()
    last, longest = now, max(longest, now - last)
    with open(beat + "~", "w") as file: file.write("%d %d %.3f" % (os.getpid(), n, longest))
    os.rename(beat + "~", beat)
print("digest", digest.hexdigest()[:16], "read", sys.stdin.readline().strip(), flush=True)
sys.exit(7)
"""

TORCH = """
import os, sys, time, torch
from torch.utils.data import DataLoader, Dataset
beat, end = sys.argv[1:]
class Numbers(Dataset):
    def __len__(self): return 400
    def __getitem__(self, i): time.sleep(0.002); return torch.full((8,), float(i))
model = torch.nn.Linear(8, 1)
best = torch.optim.SGD(model.parameters(), lr=1e-6)
steps, total = 0, 0.0
while not os.path.exists(end) or steps < 100:
    for batch in DataLoader(Numbers(), batch_size=4):
        loss = model(batch).sum(); best.zero_grad(); loss.backward(); best.step()
        steps += 1
        if steps <= 100: total += float(batch.sum())
        with open(beat + "~", "w") as file: file.write("%d %d 0" % (os.getpid(), steps))
        os.rename(beat + "~", beat)
        if steps > 100 and os.path.exists(end): break
print("digest", total, "read", sys.stdin.readline().strip(), flush=True)
sys.exit(7)
"""

# The session's leader. It adopts orphans, so that the exit code of a job is known even if its observer died.
LEADER = """
import ctypes, fcntl, json, os, signal, subprocess, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
for s in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGTTOU, signal.SIGCONT): signal.signal(s, lambda *_: None)
report, control = sys.argv[1], int(sys.argv[2])
child = subprocess.Popen(sys.argv[3:])
codes = {}
def write():
    with open(report + "~", "w") as file: json.dump({"child": child.pid, "codes": codes}, file)
    os.rename(report + "~", report)
write()
while True:
    try: pid, status = os.waitpid(-1, 0)
    except ChildProcessError: break
    codes[pid] = os.waitstatus_to_exitcode(status)
    write()
codes["all"] = True
write()
os.read(control, 1)
"""


class Failed(Exception):
    """An error that a cell found."""


class Skipped(Exception):
    """The reason why a cell cannot run here."""


class Terminal:
    """A pseudo-terminal with a command on it. The leader of its session outlives the command."""

    def __init__(self, stage, command, env=(), before=()):
        self.stage, self.shown = stage, b""
        self.ours, self.its = pty.openpty()
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.modes = termios.tcgetattr(self.its)
        self.report = stage.path / f"report-{id(self)}.json"
        control, self.control = os.pipe()
        self.leader = subprocess.Popen(
            [*before, sys.executable, "-c", LEADER, self.report, str(control), *map(str, command)], stdin=self.its, stdout=self.its, stderr=self.its,
            start_new_session=True, pass_fds=[control], env={**stage.env, **dict(env)}, cwd=stage.path)
        os.close(control)
        threading.Thread(target=self.read, daemon=True).start()
        wait(lambda: self.report.exists(), "the leader")
        self.pid = self.state()["child"]

    def read(self):
        try:
            while chunk := os.read(self.ours, 65536):
                self.shown += chunk
        except OSError:
            pass

    def state(self):
        return json.loads(self.report.read_text())

    def code(self, pid):
        wait(lambda: str(pid) in self.state()["codes"], f"process {pid} to end")
        return self.state()["codes"][str(pid)]

    def has_ended(self, pid):
        return str(pid) in self.state()["codes"]

    def text(self):
        return self.shown.decode(errors="replace")

    def press(self, keys):
        os.write(self.ours, keys.encode())

    def whole(self):
        """Return the fault of the terminal, or nothing."""
        time.sleep(0.2)
        text, wrong = self.text(), []
        if termios.tcgetattr(self.its) != self.modes:
            wrong.append("modes changed")
        if text.rfind("\x1b[?1049h") > text.rfind("\x1b[?1049l"):
            wrong.append("other screen left on")
        if text.rfind("\x1b[?25l") > text.rfind("\x1b[?25h"):
            wrong.append("cursor hidden")
        return " and ".join(wrong)

    def close(self):
        os.close(self.control)
        self.leader.wait()


class Stage:
    """The folders of a cell and its job. At the end it lists what remains."""

    def __init__(self, base, options):
        self.path, self.options, self.terminals, self.mounts = Path(tempfile.mkdtemp(prefix="", dir=base)), options, [], []
        for name in ("r", "tmp", "out", "home"):
            (self.path / name).mkdir(mode=0o700)
        self.beat, self.end, self.file = self.path / "beat", self.path / "end", self.path / "out/run.jsonl.gz"
        (self.path / "job.py").write_text(JOB)
        (self.path / "torch_job.py").write_text(TORCH)
        self.env = {**os.environ, MARK: str(self.path), "XDG_RUNTIME_DIR": str(self.path / "r"), "TMPDIR": str(self.path / "tmp"), "TERM": "xterm-256color",
                    "HOME": str(self.path / "home"), "PYTHONPATH": str(ROOT / "python"), "STOKER_BIN": STOKER, "LANG": "C.UTF-8"}
        self.shared = set(os.listdir("/dev/shm"))
        self.stoker = STOKER  # the program that the trouble hits

    def on_terminal(self, *command, **more):
        self.terminals.append(Terminal(self, command, **more))
        return self.terminals[-1]

    def job(self, torch=False):
        return [self.options.torch if torch else sys.executable, self.path / ("torch_job.py" if torch else "job.py"), self.beat, self.end]

    def beating(self, more=40):
        """Wait until the job has done some more steps, and return (pid, steps, longest)."""
        now = self.steps()
        wait(lambda: self.steps() >= now + more, "the job to step")
        return self.said()

    def said(self):
        pid, steps, longest = self.beat.read_text().split()
        return int(pid), int(steps), float(longest)

    def steps(self):
        return self.said()[1] if self.beat.exists() else 0

    def mount(self, folder, size):
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True).returncode:
            raise Skipped("no mounts here")
        self.mounts.append(folder)
        os.chmod(folder, 0o700)

    def finish(self):
        """End all processes, and return what Stoker had left behind before that."""
        left = []
        deadline = time.monotonic() + 10
        while (names := self.alive()) and time.monotonic() < deadline:
            time.sleep(0.1)
        left += [f"process {name}" for name in names.values()]
        left += [path.name for path in (self.path / "tmp").iterdir() if not path.name.startswith("torch")]  # PyTorch's own
        left += [name for name in set(os.listdir("/dev/shm")) - self.shared if "filler" not in name and "faketime" not in name]
        left += ["a folder of the run" for _ in (self.path / "r/stoker").glob("run-*")]
        return left

    def alive(self):
        found, leaders = {}, {t.leader.pid for t in self.terminals}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if f"{MARK}={self.path}".encode() in (entry / "environ").read_bytes().split(b"\0") and int(entry.name) not in leaders:
                    if (entry / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z":
                        found[int(entry.name)] = (entry / "comm").read_text().strip()
            except OSError:
                continue
        return found

    def clear(self):
        for pid in self.alive():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for terminal in self.terminals:
            terminal.close()
        for folder in self.mounts:
            subprocess.run(["umount", "-l", folder], check=False, capture_output=True)
        subprocess.run(["chmod", "-R", "u+rwX", self.path], check=False, capture_output=True)
        shutil.rmtree(self.path, ignore_errors=True)


def wait(holds, what):
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise Failed(f"waited in vain for {what}")
        time.sleep(0.05)


def stoker(stage, *args, env=()):
    return subprocess.run([STOKER, *map(str, args)], env={**stage.env, **dict(env)}, cwd=stage.path, capture_output=True, text=True)


def seconds(stage, file):
    """Return how much of a recording can be read, and what reading it prints."""
    answer = stoker(stage, "runs", "check", file)
    found = re.search(r"(\d+(?:\.\d+)?) s\b", answer.stdout)
    return float(found[1]) if found else None, (answer.stdout + answer.stderr).strip()


# ---------------------------------------------------------------------------------------------------------------------
# Troubles. Each hits a process (pid) of a stage whose file is the recording.


def strike(stage, trouble, pid):
    if trouble in SIGNALS:
        os.kill(pid, SIGNALS[trouble])
    elif trouble == "stopped":
        os.kill(pid, signal.SIGSTOP)
        time.sleep(stage.options.stop)
        os.kill(pid, signal.SIGCONT)
    elif trouble == "no memory":
        for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            resource.prlimit(pid, kind, (1 << 20, 1 << 20))
    elif trouble == "full disk":
        fill(stage.file.parent)
    elif trouble == "full /dev/shm":
        fill(Path("/dev/shm"))
    elif trouble == "file removed":
        stage.file.unlink()
    elif trouble == "file emptied":
        os.truncate(stage.file, 0)
    elif trouble == "file cut":
        os.truncate(stage.file, stage.file.stat().st_size // 2)
    elif trouble == "file replaced":
        shutil.copy(ROOT / "testdata/cases/labelled-healthy/run.jsonl.gz", stage.path / "new")
        os.rename(stage.path / "new", stage.file)
    elif trouble == "no permission":
        os.chmod(stage.file, 0)
        os.chmod(stage.file.parent, 0)
    elif trouble == "hook's socket removed":
        for socket in (stage.path / "r/stoker").glob("run-*/hook.sock"):
            socket.unlink()
    elif jump := (CLOCKS | OWN_CLOCKS).get(trouble):
        (stage.path / "clock").write_text(jump)
    else:
        raise Skipped("not a trouble of it")


def fill(folder):
    try:
        with open(folder / f"filler-{os.getpid()}", "ab", buffering=0) as file:
            while True:
                file.write(bytes(65536))
    except OSError:
        pass


SIGNALS = {"SIGKILL": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT, "SIGHUP": signal.SIGHUP}
CLOCKS = {"clock +1 h": "+1h", "clock -1 h": "-1h"}
OWN_CLOCKS = {"machine's " + name: jump for name, jump in CLOCKS.items()}  # the clock of Stoker jumps, too
STARVED = ["stopped", "no memory", "full disk", "full /dev/shm"]
FILES = ["file removed", "file emptied", "file cut", "file replaced", "no permission"]
TROUBLES = [*SIGNALS, *STARVED, *FILES, "hook's socket removed", *CLOCKS, *OWN_CLOCKS]
WITHOUT_ROOT = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]  # root that must obey permissions
DIGEST = __import__("hashlib").sha256(b"".join(b"%d" % n for n in range(100))).hexdigest()[:16]
TORCH_DIGEST = str(float(8 * sum(range(400))))
LINE = "a line"


def job_ended(stage, terminal, pid, want, digest=DIGEST):
    """End the job of a cell as its user would, and compare it with one without Stoker."""
    stage.end.touch()
    terminal.press(LINE + "\n")
    wait(lambda: terminal.has_ended("all"), "CMD to end")
    orphan = stage.beat.exists() and stage.said()[0]
    code = terminal.code(orphan if terminal.has_ended(orphan) else pid)
    if code != want:
        raise Failed(f"CMD's code is {code}, want {want}")
    if want == 7:
        wait(lambda: f"digest {digest} read {LINE}" in terminal.text(), "what CMD prints")
    return f"code {code}" + (", output equal" if want == 7 else "")


def prepare(stage, trouble):
    """Return the environment and the command prefix for a trouble that begins before the command."""
    env, before = {}, []
    if trouble == "full disk":
        stage.mount(stage.file.parent, "1m")
    if trouble == "full /dev/shm":
        fill(Path("/dev/shm"))
    if trouble == "no permission":
        before = WITHOUT_ROOT
    if trouble in CLOCKS:
        library = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
        if library is None:
            raise Skipped("no faketime here")
        (stage.path / "clock").write_text("+0")
        env = {"LD_PRELOAD": str(library), "FAKETIME_TIMESTAMP_FILE": str(stage.path / "clock"), "FAKETIME_CACHE_DURATION": "1", "DONT_FAKE_MONOTONIC": "1"}
    if trouble in OWN_CLOCKS:
        stage.stoker = start_with_jumping_clock(stage)
    return env, before


def start_with_jumping_clock(stage):
    """Return a stoker whose clock jumps. Go asks the kernel for the time, so it runs in qemu, which faketime can reach."""
    library = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
    emulator = shutil.which(f"qemu-{platform.machine()}")
    if library is None or emulator is None:
        raise Skipped("no faketime or no qemu here")
    (stage.path / "clock").write_text("+0")
    settings = f"LD_PRELOAD={library} FAKETIME_TIMESTAMP_FILE={stage.path}/clock FAKETIME_NO_CACHE=1 DONT_FAKE_MONOTONIC=1"
    wrapper = stage.path / "clocked"
    wrapper.write_text(f'#!/bin/sh\nexec env {settings} {emulator} {STOKER} "$@"\n')
    wrapper.chmod(0o755)
    return wrapper


def kept_seconds(stage, began, text):
    """Return how many seconds of the run can be read from the recording."""
    if "by others" in text: # it was continued in another file
        stage.file = max(stage.file.parent.glob("run*.jsonl.gz"), key=lambda file: (len(file.name), file.name), default=stage.file)
    if not os.path.exists(stage.file):
        return "no file"
    length, said = seconds(stage, stage.file)
    if length is None:
        return f"does not open: {said[:160]}"
    return f"opens, {length:.0f} of {time.monotonic() - began:.0f} s"


def play_observe(stage, trouble, hook=False, torch=False):
    env, before = prepare(stage, trouble)
    more = ["--trace", "2"] if torch else []
    digest = TORCH_DIGEST if torch else DIGEST
    began = time.monotonic()
    terminal = stage.on_terminal(stage.stoker, "observe", *more, "-o", stage.file, "--", *stage.job(torch), env=env, before=before)
    wait(stage.beat.exists, "the job to begin")
    job, _, _ = stage.beating(100 if torch else 150)
    if torch:
        wait(lambda: "is asked for" in terminal.text() or terminal.has_ended(terminal.pid), "a trace to be asked for")
    strike(stage, trouble, job if hook else terminal.pid)
    if hook and trouble in SIGNALS:
        want = 128 + SIGNALS[trouble]
    else:
        want = {"SIGTERM": 143, "SIGHUP": 129}.get(trouble, 7) # the signal's, as CMD's
        if want == 7:
            stage.beating()
            time.sleep(2)
    if stage.beat.exists():
        _, _, longest = stage.said()
    cmd = job_ended(stage, terminal, terminal.pid, want, digest)
    note = ""
    if terminal.code(terminal.pid) != want:
        note = f"observe ends with {terminal.code(terminal.pid)}"
    if not torch and want == 7:
        cmd += f", longest step {longest:.2f} s"
    if trouble == "no permission":
        os.chmod(stage.file.parent, 0o700)
        stage.file.exists() and os.chmod(stage.file, 0o600)
    lost = kept_seconds(stage, began, terminal.text())
    if trouble in CLOCKS | OWN_CLOCKS:
        note = "steps " + steps_of(stage)
    note = (note + said_by(terminal)).strip("; ")
    return cmd, lost, note, terminal.whole()


def said_by(terminal):
    """Return what observe prints about its recording."""
    said = re.findall(r"(free some space|was \w+ by others)", re.sub(r"\s+", " ", terminal.text()))
    return f"; says: {said[0]}" if said else ""


def steps_of(stage):
    """Return the median and the longest step of the recording, and whether the steps are in order."""
    text = subprocess.run(["zcat", stage.file], capture_output=True).stdout
    starts, periods = [], []
    for line in text.splitlines():
        record = json.loads(line)
        if record.get("kind") == "step":
            starts.append(record.get("start", 0))
            periods.append(record.get("period", 0))
    if not periods:
        return "none seen"
    if starts != sorted(starts) or max(periods) > 60 or min(periods) < 0:
        raise Failed(f"steps of {min(periods)} to {max(periods)} s, in order: {starts == sorted(starts)}")
    return f"{sorted(periods)[len(periods) // 2] * 1000:.0f} ms in the middle, {max(periods):.2f} s at most, in order"


def play_hook(stage, trouble):
    return play_observe(stage, trouble, hook=True)


def play_capture(stage, trouble):
    if not Path(stage.options.torch).exists():
        raise Skipped("no PyTorch here")
    return play_observe(stage, trouble, torch=True)


def play_pid(stage, trouble):
    env, before = prepare(stage, trouble)
    plain = stage.on_terminal(*stage.job(), env=env)
    wait(stage.beat.exists, "the job to begin")
    began = time.monotonic()
    terminal = stage.on_terminal(stage.stoker, "observe", "--pid", plain.pid, "-o", stage.file, before=before)
    wait(stage.file.exists, "the recording")
    stage.beating(150)
    strike(stage, trouble, terminal.pid)
    stage.beating()
    time.sleep(2)
    cmd = job_ended(stage, plain, plain.pid, 7)
    note = f"observe ends with {terminal.code(terminal.pid)}" + said_by(terminal)
    if trouble == "no permission":
        os.chmod(stage.file.parent, 0o700)
        stage.file.exists() and os.chmod(stage.file, 0o600)
    return cmd, kept_seconds(stage, began, terminal.text()), note, plain.whole() or terminal.whole()


def live(stage, trouble):
    """Start an observed job, for verbs that watch it."""
    observed = stage.on_terminal(STOKER, "observe", "-q", "-o", stage.file, "--", *stage.job())
    wait(stage.beat.exists, "the job to begin")
    stage.beating(100)
    return observed


def play_watch(stage, trouble):
    _, before = prepare(stage, trouble)
    observed = live(stage, trouble)
    terminal = stage.on_terminal(stage.stoker, "watch", stage.file, before=before)
    wait(lambda: "so far" in terminal.text(), "a screen")
    strike(stage, trouble, terminal.pid)
    stage.beating(150)
    mark = len(terminal.text())
    if not terminal.has_ended(terminal.pid):
        terminal.press("q")
    note = f"watch ends with {terminal.code(terminal.pid)}"
    if "goroutine " in terminal.text() and trouble != "no memory":
        raise Failed("it prints Go's goroutines")
    wrong = terminal.whole()
    if trouble in ("SIGKILL", "no memory") and wrong: # no process can restore it
        note, wrong = note + ", terminal: " + wrong, ""
    if trouble == "no permission":
        os.chmod(stage.file.parent, 0o700)
    said = re.findall(r"(follow recording[^\x1b\r\n]*|a fault[^\x1b\r\n]*)", terminal.text())
    return job_ended(stage, observed, observed.pid, 7), "", note + (f": {said[-1][:150]}" if said else ""), wrong


def interrupt(stage, trouble, terminal):
    """End a server by Ctrl-C, unless the trouble ended it."""
    if trouble == "no permission":
        os.chmod(stage.file.parent, 0o700)
    if not terminal.has_ended(terminal.pid):
        os.kill(terminal.pid, signal.SIGINT)


def run_server(stage, trouble, observed, terminal, note):
    """Run the row of a server that watches an observed job."""
    if "goroutine " in terminal.text() and trouble != "no memory":
        raise Failed("it prints Go's goroutines")
    return job_ended(stage, observed, observed.pid, 7), "", note, terminal.whole()


def play_serve(stage, trouble):
    _, before = prepare(stage, trouble)
    observed = live(stage, trouble)
    terminal = stage.on_terminal(stage.stoker, "report", "--serve", stage.file.parent, before=before)
    wait(lambda: "http://" in terminal.text() and "\n" in terminal.text(), "the address")
    address = re.search(r"http://\S+", terminal.text())[0]

    def ask(path=""):
        try:
            with urllib.request.urlopen(urllib.parse.urljoin(address, path), timeout=PATIENCE) as answer:
                return answer.status, answer.read().decode(errors="replace")
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")
        except OSError as error:
            return type(error).__name__, ""

    first = ask()
    page = re.search(r'href="([^"]*run/[^"]+)"', first[1])
    if page is None:
        raise Failed("its list has no link to the recording")
    before_it = [first[0], ask(page[1])[0]]
    strike(stage, trouble, terminal.pid)
    stage.beating(100)
    after = [ask()[0], ask(page[1])[0]]
    interrupt(stage, trouble, terminal)
    note = f"list and page: {before_it[0]} {before_it[1]}, then {after[0]} {after[1]}; report --serve ends with {terminal.code(terminal.pid)}"
    return run_server(stage, trouble, observed, terminal, note)


def play_agent(stage, trouble):
    _, before = prepare(stage, trouble)
    stage.file = stage.path / "out/token"
    stage.file.write_text("0123456789abcdefghij\n")
    stage.file.chmod(0o600)
    observed = stage.on_terminal(STOKER, "observe", "-q", "-o", stage.path / "run.jsonl.gz", "--prometheus", stage.path / "out/job.prom", "--", *stage.job())
    wait(stage.beat.exists, "the job to begin")
    terminal = stage.on_terminal(stage.stoker, "agent", "--listen", "127.0.0.1:0", "--figures", stage.path / "out", "--token-file", stage.file, before=before)
    wait(lambda: "serving http://" in terminal.text(), "the address")
    address = re.search(r"http://\S+/metrics", terminal.text())[0]

    def ask():
        try:
            request = urllib.request.Request(address, headers={"Authorization": "Bearer 0123456789abcdefghij"})
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError as error:
            return type(error).__name__

    first = ask()
    stage.beating(50)
    strike(stage, trouble, terminal.pid)
    stage.beating(50)
    after = ask()
    interrupt(stage, trouble, terminal)
    note = f"/metrics: {first}, then {after}; agent ends with {terminal.code(terminal.pid)}"
    return run_server(stage, trouble, observed, terminal, note)


def play_tune(stage, trouble):
    if not Path(stage.options.torch).exists():
        raise Skipped("no PyTorch here")
    env, before = prepare(stage, trouble)
    terminal = stage.on_terminal(STOKER, "tune", "--yes", "--starts", "2", "--longest", "90s", "-o", stage.path / "plan.json", "--", *stage.job(True), env=env, before=before)
    wait(stage.beat.exists, "the job to begin")
    job, _, _ = stage.beating(50)
    files = list(stage.path.glob("stoker-runs/**/*.jsonl.gz"))
    if trouble in FILES + ["full disk"]:
        raise Skipped("its recordings are those of observe")
    strike(stage, trouble, terminal.pid)
    deadline = time.monotonic() + PATIENCE
    while not terminal.has_ended(terminal.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    end = "ended by tune" if job not in stage.alive() else "goes on alone"
    stage.end.touch()
    note = f"tune ends with {terminal.code(terminal.pid)}; {len(files)} recording"
    return f"a trial, {end}", "", note, terminal.whole()


def play_trace(stage, trouble):
    _, before = prepare(stage, trouble)
    stage.file = stage.path / "out/trace.json"
    if trouble != "full disk":
        write_trace(stage.file)
        if trouble in ("file emptied", "no permission", "file cut"):
            strike(stage, trouble, 0)
    else:
        raise Skipped("it writes nothing")
    terminal = stage.on_terminal(STOKER, "trace", stage.file, before=before)
    if trouble not in ("file emptied", "no permission", "file cut"):
        time.sleep(0.4)
        if terminal.has_ended(terminal.pid):
            raise Failed("the file is too short for this machine")
        strike(stage, trouble, terminal.pid)
    code = terminal.code(terminal.pid)
    if trouble == "no permission":
        os.chmod(stage.file.parent, 0o700)
    text = re.sub(r"\x1b\[[0-9;]*[mK]|\r", "", terminal.text())
    said = [line for line in text.splitlines() if line.startswith("stoker: error")]
    if "goroutine " in text and trouble != "no memory":
        raise Failed("it prints Go's goroutines")
    return "none", "", f"trace ends with {code}" + (f": {said[0][:150]}" if said else ""), terminal.whole()


def write_trace(file):
    """Write a profiler's file of some 60 MB with steps, operators and linked kernels."""
    with open(file, "w") as out:
        out.write('{"schemaVersion": 1, "traceEvents": [\n')
        for n in range(100_000):
            at = 100 * n
            out.write(f'{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{at},"dur":5,"args":{{"correlation":{n},"External id":{n}}}}},\n')
            out.write(f'{{"ph":"X","cat":"kernel","name":"gemm_{n % 7}","pid":0,"tid":7,"ts":{at + 10},"dur":60,"args":{{"correlation":{n},"device":0,"stream":7,"External id":{n}}}}},\n')
            out.write(f'{{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":{at},"dur":20,"args":{{"External id":{n}}}}},\n')
            if n % 100 == 0:
                out.write(f'{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{n // 100}","pid":1,"tid":1,"ts":{at},"dur":9990}},\n')
        out.write('{"ph":"M","name":"process_name","pid":1,"tid":0,"ts":0,"args":{"name":"python"}}]}\n')


PLAYS = collections.OrderedDict([
    ("hook", (play_hook, [*SIGNALS, *STARVED, *FILES, "hook's socket removed", *CLOCKS])),
    ("observe", (play_observe, [*SIGNALS, *STARVED, *FILES, "hook's socket removed", *CLOCKS, *OWN_CLOCKS])),
    ("observe --pid", (play_pid, [*SIGNALS, *STARVED, *FILES, *OWN_CLOCKS])),
    ("capture", (play_capture, [*SIGNALS, "stopped", "full disk", "file removed"])),
    ("watch", (play_watch, [*SIGNALS, *STARVED, *FILES, *OWN_CLOCKS])),
    ("serve", (play_serve, [*SIGNALS, *STARVED, *FILES, *OWN_CLOCKS])),
    ("agent", (play_agent, [*SIGNALS, *STARVED, "file removed", "file emptied", "no permission", *OWN_CLOCKS])),
    ("tune", (play_tune, [*SIGNALS, "stopped", "full /dev/shm"])),
    ("trace", (play_trace, [*SIGNALS, *STARVED[:2], *FILES])),
])
QUICK = {"SIGKILL", "stopped", "full disk", "file removed", "file cut", "clock -1 h"}


def play(options, process, trouble):
    """Run one cell in a new mount namespace."""
    stage = Stage(options.base, options)
    try:
        cmd, lost, note, terminal = PLAYS[process][0](stage, trouble)
        left = stage.finish()
        if "a folder of the run" in left: # the next run sweeps it
            stoker(stage, "observe", "-q", "-o", stage.path / "next.jsonl.gz", "--", "true")
            left = [name for name in left if name != "a folder of the run"]
            left += ["a folder of the run" + ("" if list((stage.path / "r/stoker").glob("run-*")) else " until the next run")]
        bad = terminal or any("until the next run" not in name for name in left)
        return {"cmd": cmd, "lost": lost, "note": note, "left": ", ".join(sorted(left)) or "nothing", "terminal": terminal or "whole", "ok": not bad}
    except Skipped as why:
        return {"skipped": str(why)}
    except (Failed, OSError, AttributeError, ValueError, TypeError) as why:
        shown = stage.terminals[-1].text()[-300:] if stage.terminals else ""
        return {"cmd": f"FAILED: {type(why).__name__} {why} {shown!r}"[:700], "lost": "", "note": "", "left": "", "terminal": "", "ok": False}
    finally:
        stage.clear()


RUNNING = set()  # cells


def stop(*_):
    """End all cells. Each removes its files."""
    for cell in list(RUNNING):
        cell.terminate()
    sys.exit(1)


def spawn(options, process, trouble):
    command = [sys.executable, __file__, "--cell", process, trouble, "--stop", str(options.stop), "--base", options.base, "--torch", options.torch]
    if os.getuid() == 0:
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", 'mount -t tmpfs -o size=64m tmpfs /dev/shm; exec "$@"', "sh", *command]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as cell:
        RUNNING.add(cell)
        out, errors = cell.communicate()
        RUNNING.discard(cell)
    try:
        return json.loads(out.splitlines()[-1])
    except (IndexError, ValueError):
        return {"cmd": "FAILED: " + errors[-300:].replace("\n", " "), "lost": "", "note": "", "left": "", "terminal": "", "ok": False}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("processes", nargs="*", help="of " + ", ".join(PLAYS))
    parser.add_argument("--only", nargs="+", default=TROUBLES, help="troubles")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--stop", type=float, default=60, help="seconds of a stop")
    parser.add_argument("--jobs", type=int, default=3, help="cells at a time")
    parser.add_argument("--torch", default=str(ROOT / "python/.venv/bin/python"), help="a Python that has PyTorch")
    parser.add_argument("--base", help=argparse.SUPPRESS)
    parser.add_argument("--cell", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    if options.cell:
        print(json.dumps(play(options, *options.cell)))
        return 0
    if options.quick:
        options.stop = 5
    home = Path.home() / ".cache" # folders of runs are never below /tmp
    home.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="d-", dir=home) as options.base:
        cells = [(p, t) for p in options.processes or PLAYS for t in PLAYS[p][1] if t in options.only and (not options.quick or t in QUICK)]
        pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
        try:
            results = list(pool.map(lambda cell: run_cell(options, *cell), cells))
        finally:
            pool.shutdown(cancel_futures=True)
    print_table(options, cells, results)
    return 0 if all(r.get("ok", True) for r in results) else 1


def run_cell(options, process, trouble):
    result = spawn(options, process, trouble)
    print(f"{process}, {trouble}: {result}", file=sys.stderr, flush=True)
    return result


def print_table(options, cells, results):
    print(f"{datetime.date.today()}, {os.cpu_count()} cores, Linux {platform.release()}, load {os.getloadavg()[0]:.0f}, a stop of {options.stop:.0f} s, n = 1 a cell\n")
    print("| process | trouble | CMD | recording | terminal | left behind | also |")
    print("|---|---|---|---|---|---|---|")
    for (process, trouble), r in zip(cells, results):
        if "skipped" in r:
            print(f"| {process} | {trouble} | not played: {r['skipped']} | | | | |")
        else:
            print("| " + " | ".join(str(text).replace("|", "/") for text in (process, trouble, r["cmd"], r["lost"], r["terminal"], r["left"], r["note"])) + " |")


if __name__ == "__main__":
    sys.exit(main())
