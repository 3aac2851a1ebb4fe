#!/usr/bin/env python3
"""Prints a table: how a training ends when its daemon dies or lacks a resource, or when a file is damaged.

    make build && python/.venv/bin/python bench/loader/deaths.py                       # about 10 minutes
    python/.venv/bin/python bench/loader/deaths.py --only killed "no descriptor" --stopped 60

A training is a separate process tree with two workers and 96 pictures in 12 batches, told to go on batch by batch. After the third
batch the trouble comes. Each batch is held against that of a training without trouble; with a bad file, against the script alone.
stoker.DataLoader has on_error="substitute" and max_bad=1, under which a sound file that counts as bad is silently another one.
The pictures at which a decoder crashes need a daemon with the build tag stokercrash, which is built here. Root is needed for small
disks and groups of memory, the package faketime for the clock, and qemu-user for that of the daemon; a cell says what is missing.
"""

import argparse
import hashlib
import os
import platform
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import account
import loaders

ROOT = Path(__file__).resolve().parents[2]
COUNT, BATCH, VICTIM = 96, 8, 60
LIMIT = 150  # seconds without a batch, then it hangs
WAYS = {"translated": "stoker.DataLoader", "deferred": "stoker feed -- script"}
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"


# The training, in a separate process.


def train(way, root, policy):
    import torch
    from torchvision import transforms as T
    from torchvision.datasets import ImageFolder

    data = ImageFolder(root, T.Compose([T.Resize((32, 32)), T.ToTensor()]))
    settings = {"batch_size": BATCH, "num_workers": 2}
    if way == "translated":
        import stoker

        loader = stoker.DataLoader(data, **settings, depth=2, on_error=policy, max_bad=1.0)
    else:
        if way == "deferred":
            import stoker

            stoker.feed()
        loader = torch.utils.data.DataLoader(data, **settings)
    try:
        for images, labels in loader:
            print("batch", hashlib.sha256(images.numpy().tobytes() + labels.numpy().tobytes()).hexdigest()[:16], flush=True)
            sys.stdin.readline()
        print("end done", flush=True)
    except BaseException as error:
        print("end", type(error).__name__, " ".join(str(error).split("\n")[-2:]).strip(), flush=True)


class Training:
    """A running training and the digests that it printed."""

    def __init__(self, way, root, group, policy="substitute", binary=None, before=(), environment=None):
        self.root, self.told, self.end = Path(root), [], "hangs"
        command = [*before, sys.executable, __file__, "--train", way, str(root), policy]
        environment = {**os.environ, **group.environment(), "STOKER_BIN": str(binary or ROOT / "bin/stoker"), "OMP_NUM_THREADS": "1", **(environment or {})}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment, preexec_fn=group.enter
        )
        self.group = group

    def run(self, trouble):
        while select.select([self.process.stdout], [], [], LIMIT)[0]:
            word, _, rest = self.process.stdout.readline().strip().partition(" ")
            if word != "batch":
                self.end = rest or "the training's process died"
                break
            self.told.append(rest)
            if len(self.told) == 3 and trouble:
                trouble(self)
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        self.process.stdin.close()
        if self.end != "hangs":
            self.process.wait()
        return self

    def daemon(self):
        for pid in self.group.processes():
            if Path(f"/proc/{pid}/comm").read_text().strip() == "stoker":
                return pid
        raise ProcessLookupError("there is no daemon")

    def outcome(self, whole):
        """Compare it with a training that printed all batches and its end."""
        wrong = next((i for i, (one, other) in enumerate(zip(self.told, whole.told)) if one != other), None)
        left = self.group.left_behind() if self.end != "hangs" else 0
        also = f"; {left} processes left" if left else ""
        if wrong is not None:
            return f"**batch {wrong} is wrong**, {self.end[:60]}{also}"
        if (self.told, self.end) == (whole.told, whole.end):
            return ("all batches, equal" if self.end == "done" else "the script's own error") + also
        return f"{len(self.told)} batches equal, then {self.end[:110]}{also}".replace("|", "/").replace(str(self.root), "…")


# Troubles.


def send_signal(number):
    return lambda training: os.kill(training.daemon(), number)


def stop_for(seconds):
    def trouble(training):
        pid = training.daemon()
        os.kill(pid, signal.SIGSTOP)

        def go_on():
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass

        threading.Timer(seconds, go_on).start()

    return trouble


def set_limit(which, most):
    """A limit of the daemon's, as it is now."""

    def trouble(training):
        pid = training.daemon()
        resource.prlimit(pid, which, (most(pid),) * 2)

    return trouble


def descriptors(pid):
    return max(map(int, os.listdir(f"/proc/{pid}/fd"))) + 1


def address_space(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize() + (1 << 20)


MEMORY = Path("/sys/fs/cgroup/memory") / f"stoker-deaths-{os.getpid()}"
HOG = "import os; open('/proc/self/oom_score_adj', 'w').write('-900'); held = [bytearray(1 << 20) for _ in range(600)]"


def start_in_group(scratch):
    """Start a daemon in its own memory group."""
    MEMORY.mkdir(exist_ok=True)
    (MEMORY / "memory.limit_in_bytes").write_text(str(512 << 20))
    wrapper = Path(scratch) / "grouped"
    wrapper.write_text(f'#!/bin/sh\necho $$ > {MEMORY}/cgroup.procs && exec {ROOT}/bin/stoker "$@"\n')
    wrapper.chmod(0o755)
    return wrapper


def outgrow_memory(training):
    """Another process uses up the daemon's group: the kernel kills the daemon."""
    pid = training.daemon()
    Path(f"/proc/{pid}/oom_score_adj").write_text("1000")
    subprocess.run(["sh", "-c", f'echo $$ > {MEMORY}/cgroup.procs; exec {sys.executable} -c "$1"', "sh", HOG], capture_output=True)
    if b"State:\tR" in (state := Path(f"/proc/{pid}/status").read_bytes() if Path(f"/proc/{pid}").exists() else b"") or b"State:\tS" in state:
        raise OSError("the kernel did not kill the daemon")


def victim(training):
    return sorted(training.root.glob("*/*.jpg"))[VICTIM]


def cut(training):
    file = victim(training)
    os.truncate(file, file.stat().st_size // 2)


DAEMON = {
    "killed": send_signal(signal.SIGKILL),
    "SIGTERM": send_signal(signal.SIGTERM),
    "stopped": None,  # main says for how long
    "no address space left": set_limit(resource.RLIMIT_AS, address_space),
    "no descriptor left": set_limit(resource.RLIMIT_NOFILE, descriptors),
    "fewer descriptors than it has": set_limit(resource.RLIMIT_NOFILE, lambda pid: 3),
}
FILES = {
    "a file vanishes": lambda training: victim(training).unlink(),
    "a file is cut": cut,
    "a file is emptied": lambda training: os.truncate(victim(training), 0),
    "a file may not be read": lambda training: victim(training).chmod(0),
}
CRASHES = {
    "panic": "a decoder panics at a picture",
    "nil": "a decoder uses no pointer",
    "wild": "a decoder writes anywhere (SIGSEGV)",
    "ill": "a kernel is illegal (SIGILL)",
    "oom": "a decoder asks for all memory",
}
#: Without it root reads what is forbidden.
UNPRIVILEGED = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
SMALL_SHM = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=64k none /dev/shm && exec "$@"', "sh")
CLOCK = {"LD_PRELOAD": FAKETIME, "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_NO_CACHE": "1"}


def pictures(root):
    import numpy as np
    from PIL import Image

    chance = np.random.default_rng(0)
    for i in range(COUNT):
        folder = Path(root) / f"class{i * 4 // COUNT}"
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(chance.integers(0, 256, (9, 12, 3), np.uint8)).resize((200, 150)).save(folder / f"{i:03d}.jpg")


def mark_pictures(root, kind):
    """Pictures as they are, one of which says in a comment how to crash at it."""
    file = sorted(Path(root).glob("*/*.jpg"))[VICTIM]
    data = file.read_bytes()
    comment = f"stoker-crash:{kind}".encode()
    file.write_bytes(data[:2] + b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment + data[2:])


def one(way, source, whole, trouble=None, prepare=None, **more):
    with tempfile.TemporaryDirectory() as scratch, account.Group() as group:
        root = Path(scratch) / "train"
        shutil.copytree(source, root)
        if prepare:
            prepare(root)
        try:
            return Training(way, root, group, **more).run(trouble).outcome(whole)
        except OSError as error:
            return f"not tried: {error}"


def ahead(file):
    """A clock that a file sets: a day ahead after the third batch, an hour back before."""
    file.write_text("-1h")
    return lambda training: file.write_text("+1d")


def start_emulated(scratch):
    """A daemon whose clock jumps as well: Go asks the kernel for the time, so it runs in qemu, which faketime reaches."""
    emulator = shutil.which(f"qemu-{platform.machine()}")
    if not emulator:
        return None
    wrapper = Path(scratch) / "emulated"
    wrapper.write_text(f'#!/bin/sh\nexec {emulator} {ROOT}/bin/stoker "$@"\n')
    wrapper.chmod(0o755)
    return wrapper


def training_rows(source, seconds, wanted):
    """Rows of the first table, one after the other."""
    crash = Path(tempfile.mkdtemp()) / "stoker"
    try:
        with account.Group() as group:
            whole = {way: Training(way, source, group).run(None) for way in WAYS}

        def row(name, make):
            if not wanted or any(word in name for word in wanted):
                cells = [name, *(make(way) for way in WAYS)]
                print("deaths: | " + " | ".join(cells) + " |", file=sys.stderr, flush=True)
                yield cells

        for name, trouble in DAEMON.items():
            trouble = trouble or stop_for(seconds)
            name = name if name != "stopped" else f"stopped for {seconds} s"
            yield from row(f"daemon: {name}", lambda way: one(way, source, whole[way], trouble))
        wrapper = start_in_group(crash.parent) if MEMORY.parent.exists() else None
        if wrapper:
            yield from row("daemon: killed by the kernel (a group's memory limit)", lambda way: one(way, source, whole[way], outgrow_memory, binary=wrapper))
            MEMORY.rmdir()
        clock = crash.with_name("clock")
        faked = {**CLOCK, "FAKETIME_TIMESTAMP_FILE": str(clock)}
        jumps = {"environment": faked, "trouble": None, "binary": start_emulated(crash.parent)}
        for name, more in {"/dev/shm of 64 kB": {"before": SMALL_SHM}, "the clock jumps a day ahead": jumps}.items():
            if "trouble" in more:
                more["trouble"] = ahead(clock)
                if not Path(FAKETIME).exists():
                    continue
            yield from row(name, lambda way: one(way, source, whole[way], **more))
        if not wanted or any(word in name for name in CRASHES.values() for word in wanted):
            build = ["go", "build", "-tags", "stokercrash", "-o", str(crash), "./cmd/stoker"]
            subprocess.run(build, cwd=ROOT, check=True, env={**os.environ, "CGO_ENABLED": "0"})
        for kind, name in CRASHES.items():
            yield from row(name, lambda way: one(way, source, whole[way], prepare=lambda root: mark_pictures(root, kind), binary=crash))
        yield from file_rows(source, row)
    finally:
        shutil.rmtree(crash.parent)


def file_rows(source, row):
    for name, trouble in FILES.items():

        def beside(way):
            """The same trouble for the script alone, in the same folder; a translated loader is to raise and name the file."""
            with tempfile.TemporaryDirectory() as scratch, account.Group() as group:
                root = Path(scratch) / "train"
                shutil.copytree(source, root)
                alone = Training("alone", root, group, before=UNPRIVILEGED).run(trouble)
                shutil.rmtree(root)
                shutil.copytree(source, root)
                with account.Group() as other:
                    return Training(way, root, other, "fail", before=UNPRIVILEGED).run(trouble).outcome(alone)

        yield from row(name, beside)


# Packs.


def digest_pack(folder):
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(Path(folder).glob("*")) if not file.name.startswith(".")}


def pack(source, out, before=(), more=()):
    command = [*before, str(ROOT / "bin/stoker"), "pack", str(source), "-o", str(out), "--shard-samples", "8", "--skip-bad", *more]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def judge_pack(first, source, out, whole):
    """Return how a pack that met trouble ended, and how the same command continues it."""
    said = first.communicate()[1].strip().splitlines()
    errors = [line for line in said if "error:" in line]
    end = f"code {first.returncode}" + (f": {errors[-1].split('error: ', 1)[1][-100:]}" if errors else "")
    again = pack(source, out)
    again.communicate()
    return f"{end}; again: " + ("same bytes" if again.returncode == 0 and digest_pack(out) == whole else "**other bytes**")


def pack_rows(source, wanted):
    with tempfile.TemporaryDirectory() as scratch:
        pack(source, f"{scratch}/whole").communicate()
        whole = digest_pack(f"{scratch}/whole")
        troubles = {
            "killed": lambda out: killed_pack(source, out),
            "no descriptor for a file": lambda out: pack(source, out, ("prlimit", "--nofile=14:14")),
            "64 MiB of data": lambda out: pack(source, out, ("prlimit", f"--data={64 << 20}")),
            "a disk of 200 kB": lambda out: pack(source, out),
        }
        for name, begin in troubles.items():
            if wanted and not any(word in f"pack: {name}" for word in wanted):
                continue
            out = Path(scratch) / name
            out.mkdir()
            if small := name.startswith("a disk"):
                subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "none", out], check=True)
            first = begin(out)
            said = first.communicate()[1] if small else None
            if small:  # there is room again
                subprocess.run(["mount", "-o", "remount,size=64m", out], check=True)
                first.communicate = lambda: (None, said)
            yield [name, judge_pack(first, source, out, whole)]
            if small:
                subprocess.run(["umount", out], check=True)


def killed_pack(source, out):
    first = pack(source, out)
    while first.poll() is None and not any(out.glob("shard-*.json")):
        time.sleep(0.001)
    first.kill()
    return first


def table(head, rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", nargs=3, metavar=("WAY", "ROOT", "POLICY"), help=argparse.SUPPRESS)
    parser.add_argument("--stopped", type=int, default=10, metavar="SECONDS", help="how long the stopped daemon is stopped")
    parser.add_argument("--only", nargs="+", default=[], metavar="WORDS", help="rows with such a name")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="put the tables between this script's marks in the document")
    arguments = parser.parse_args()
    if arguments.train:
        sys.path.insert(0, os.environ.get("STOKER_CLIENT", str(ROOT / "python")))
        train(*arguments.train)
        return
    place = loaders.Place(arguments.markdown, "deaths.py")
    with tempfile.TemporaryDirectory() as source:
        pictures(source)
        text = table(["trouble", *WAYS.values()], training_rows(source, arguments.stopped, arguments.only))
        text += "\n\n" + table(["trouble", "stoker pack --skip-bad"], pack_rows(source, arguments.only))
    print(text)
    place.put(text)


if __name__ == "__main__":
    main()
