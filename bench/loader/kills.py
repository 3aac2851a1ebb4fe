#!/usr/bin/env python3
"""Kills and stops processes of fed trainings at random moments: every batch must be the script's own until it ends.

    python/.venv/bin/python bench/loader/kills.py --kills 1000
    python/.venv/bin/python bench/loader/kills.py --total 1000 --minutes 15 --at-once 2   of all ways together; what fits into the time
    python/.venv/bin/python bench/loader/kills.py --kills 100 --ways DataLoader ranks --signals KILL STOP

A training is a process forked here that iterates a loader in one of the ways below, epoch after epoch, and prints the digest of each batch, and at the end
of an epoch of the random numbers and the account of its samples. In each epoch something happens to one of its processes, after some batch or
before the first. Whatever happens to the daemon (SIGKILL, SIGTERM, SIGSTOP, of which it is woken again at times), all batches of that epoch
come, equal to those of the script alone, and the batch before is unchanged. After a worker's death those before it are
equal and torch's own error ends the epoch; the training continues with the next one. After the trainer's death another one
begins, and nothing is left of the first as soon as its workers look for it, which torch has them do every five seconds.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import hashlib
import io
import json
import math
import multiprocessing
import os
import random
import re
import signal
import sys
import tarfile
import tempfile
import threading
import time
import warnings
from pathlib import Path

import account

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python/tests")]
PATIENCE = 180  # seconds that processes have to end after the trainer: a spawned worker first imports torch
SILENCE = "1"  # seconds after which a daemon that hangs is given up here


def transform(chance):
    from torchvision import transforms as T

    first = [T.RandomResizedCrop(40), T.RandomHorizontalFlip()] if chance else [T.Resize(48), T.CenterCrop(40)]
    return T.Compose([*first, T.ToTensor(), T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])


def folder(root, chance=True):
    from torchvision.datasets import ImageFolder

    return ImageFolder(os.path.join(root, "train"), transform(chance))


# The ways: each gives a function that iterates an epoch, which is always the same.


def data_loader(root, fed, **more):
    import stoker

    loader = stoker.DataLoader(folder(root), 2, shuffle=True, seed=1, **more)

    def epoch():
        loader.set_epoch(0)
        for batch in loader:
            yield batch
            yield loader.state_dict()
        report = loader.report or {}
        yield {name: report.get(name) for name in ("digest", "expected", "samples")}
        assert report.get("exactly_once") is not False

    return epoch


def on_device(root, fed):
    return data_loader(root, fed, device="cpu", normalize_on_device=True)


def arrays(root, fed, where=None, **more):
    import stoker

    ops = [{"op": "random_resized_crop", "size": [40, 40]}, {"op": "random_horizontal_flip"}, {"op": "to_tensor"}]
    loader = stoker.Loader(where or os.path.join(root, "train"), ops, batch_size=2, shuffle=True, seed=1, **more)

    def epoch():
        loader.set_epoch(0)
        for images, labels in loader:
            yield images, labels, loader.state_dict()
        yield loader.report["exactly_once"]

    return epoch


def bucket(root, fed):
    return arrays(root, fed, "s3://bucket/train")


def defer(root, fed, workers=2, **more):
    import deferred_pipelines as pipelines

    return lambda: pipelines.loader("reference", root, workers, batch_size=2, **more)


def keep_workers(root, fed):
    from torch.utils.data import DataLoader

    import torch

    loader = DataLoader(folder(root, False), 2, num_workers=2, persistent_workers=True)

    def epoch():
        batches = iter(loader)
        torch.manual_seed(7)  # the first of them draws more
        return batches

    return epoch


def packs(root, fed):
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info
    from PIL import Image

    class Shards(IterableDataset):
        def __iter__(self):
            make = transform(False)
            for path in sorted(Path(root, "packs").iterdir())[get_worker_info().id :: 2]:
                with tarfile.open(path) as shard:
                    for member in shard:
                        yield make(Image.open(io.BytesIO(shard.extractfile(member).read())).convert("RGB"))

    return lambda: iter(DataLoader(Shards(), 2, num_workers=2))


def handed_over(root, fed, stateful=False, **more):
    """Tensors, arrays, views and aliases, which hold no picture."""
    import numpy as np
    import torch
    from torch.utils.data import DataLoader, Dataset

    if stateful:
        from torchdata.stateful_dataloader import StatefulDataLoader as DataLoader

    class Parts(Dataset):
        def __len__(self):
            return 48

        def __getitem__(self, i):
            time.sleep(0.002)
            x = torch.arange(i, i + 20000, dtype=torch.float32)
            return {"x": x, "part": x[5000:9000], "array": np.arange(i, i + 9000.0), "id": torch.tensor([i]), "text": str(i)}

    return lambda: DataLoader(Parts(), 2, shuffle=True, num_workers=2, collate_fn=list, **more)


def decode(root, fed):
    import stoker

    files = [path.read_bytes() for path in sorted(Path(root, "train").glob("*/*.jpg"))]
    parts = [files[i : i + 2] for i in range(0, len(files), 2)]
    made = stoker.Decode(transform(False)) if fed else lambda columns: {"image": stoker.Decode(transform(False))._decode(columns["bytes"]).numpy()}
    return lambda: (made({"bytes": part}) for part in parts)


def ranks(root, fed):
    """Two processes on one daemon, in step; prints the batches of both."""
    ends = []
    for rank in (0, 1):
        reading, writing = os.pipe()
        if not os.fork():
            for end in (*ends, os.fdopen(reading)):  # or a rank would not see the end of their reader
                end.close()
            os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", LOCAL_WORLD_SIZE="2", MASTER_PORT=str(os.getppid()))
            os.register_at_fork(after_in_child=lambda writing=writing: os.close(writing))
            tell(seed_epoch(data_loader(root, fed)), os.fdopen(writing, "w", buffering=1))
        os.close(writing)
        ends.append(os.fdopen(reading))

    def epoch():
        lines = ["", ""]
        while True:
            lines = [end.readline().strip() for end in ends]
            if lines == ["begin", "begin"]:
                continue
            if "done" in lines or "" in lines:
                if lines != ["done", "done"]:
                    raise RuntimeError(f"ranks end with {lines}")
                return
            yield lines

    return epoch


WAYS = {
    "DataLoader": data_loader,
    "DataLoader, device": on_device,
    "Loader": arrays,
    "bucket": bucket,
    "feed, fork": defer,
    "feed, spawn": lambda root, fed: defer(root, fed, multiprocessing_context="spawn"),
    "feed, forkserver": lambda root, fed: defer(root, fed, multiprocessing_context="forkserver"),
    "feed, 0": lambda root, fed: defer(root, fed, 0),
    "feed, persistent": keep_workers,
    "feed, packs": packs,
    "feed, hand-over": handed_over,
    "feed, hand-over, stateful": lambda root, fed: handed_over(root, fed, stateful=True),
    "Decode": decode,
    "ranks": ranks,
}
WORKERS = ("feed, fork", "feed, packs", "feed, hand-over", "feed, hand-over, stateful")  # whose workers are killed as well


def digest_of(value):
    import deferred_pipelines as pipelines

    seen = hashlib.sha256()
    pipelines.digest(value, seen)
    return seen.hexdigest()[:16]


def seed_epoch(epoch):
    """With the same random numbers each time."""
    import torch

    def begin():
        torch.manual_seed(7)
        random.seed(7)
        return epoch()

    return begin


def tell(epoch, out):
    """Iterate until the pipe is closed; never returns."""
    try:
        while True:
            out.write("begin\n")
            out.write(_tell_epoch(epoch, out) + "\n")
    finally:
        os._exit(0)


def _tell_epoch(epoch, out):
    """How it ends. Where a worker is gone, torch says so, or that tensors which were under way are."""
    import torch

    before, was = None, ""
    try:
        for value in epoch():
            digest = digest_of(value)
            if before is not None and digest_of(before) != was:
                raise RuntimeError("the batch before was written over")
            before, was = value, digest
            out.write(digest + "\n")
        out.write(digest_of((torch.rand(1), random.random())) + "\n")
        return "done"
    except BrokenPipeError:
        raise
    except BaseException as error:
        own = isinstance(error, (ConnectionError, FileNotFoundError, EOFError)) or "DataLoader worker" in str(error)
        return "worker" if own else f"{type(error).__name__}: {error}".splitlines()[0]


class Training:
    """A process that tells its batches, line by line, and how each epoch ends."""

    def __init__(self, way, root, fed=True):
        self.group = account.Group()
        reading, writing = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(reading)
            self._train(way, root, fed, os.fdopen(writing, "w", buffering=1))
        os.close(writing)
        self.lines = os.fdopen(reading)
        self.stopped, self.pids = set(), {self.pid}

    def _train(self, way, root, fed, out):
        """In the child."""
        try:
            self.group.enter()
            os.environ.update(self.group.environment())
            os.dup2(os.open(os.environ.get("KILLS_STDERR", os.devnull), os.O_WRONLY | os.O_APPEND | os.O_CREAT), 2)
            os.register_at_fork(after_in_child=out.close)  # it ends with the trainer
            if fed and "feed" in way:
                import stoker

                stoker.feed()
            tell(seed_epoch(WAYS[way](root, fed)), out)
        finally:
            os._exit(0)

    def members(self):
        """Its living processes by kind."""
        found = collections.defaultdict(list, trainer=[self.pid])
        for pid in self.group.processes():
            self.pids.add(pid)
            if pid != self.pid and (stat := stat_of(pid)) and stat[1] != "Z":
                found["daemon" if stat[0] == "stoker" else "worker"].append(pid)
        return found

    def epoch(self, kind, number, at, delay, chance):
        """Return what it prints until the epoch or the process ends, and which process was hit after how many batches."""
        told, hit = [], "nobody"
        for line in self.lines:
            told += [line.strip()] if line != "begin\n" else []
            if len(told) == at and hit == "nobody":
                time.sleep(delay)
                if victims := self.members()[kind]:
                    hit = kind
                    self.hit(chance.choice(victims), number, chance)
            if told and len(told[-1]) != 16:
                break
        self.wake()
        return told, hit

    def hit(self, pid, number, chance):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
            if number == signal.SIGSTOP:
                self.stopped.add(pid)
                if chance.random() < 0.5:
                    threading.Timer(chance.uniform(0, 4), self.wake, [pid]).start()

    def wake(self, *pids):
        for pid in pids or [*self.stopped]:
            self.stopped.discard(pid)
            with contextlib.suppress(OSError):  # all of it has gone
                if pid in self.group.processes():
                    os.kill(pid, signal.SIGCONT)

    def end(self):
        self.lines.close()
        os.waitpid(self.pid, 0)
        self.deadline = time.monotonic() + PATIENCE

    def left(self):
        """Its processes, and its files of shared memory, that are there still, a fair time after its end; None: that is not over."""
        processes = self.group.processes()
        if processes and time.monotonic() < self.deadline:
            return None
        files = [name for name in os.listdir("/dev/shm") if self.pids & {int(part) for part in re.findall(r"_(\d+)_", name)}]
        with self.group:
            return [*files, *(" ".join(map(str, (pid, *stat_of(pid), wait_of(pid), command_of(pid)))) for pid in processes)]


def stat_of(pid):
    """Name, state and parent of a process; nothing if it has ended."""
    try:
        name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
    except OSError:
        return ()
    return name, *rest.split()[:2]


def wait_of(pid):
    """Where its threads wait, in the kernel."""
    return {file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/wchan")}


def command_of(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:200]


def find_fault(kind, told, plain):
    """Return the fault of an epoch, or ""."""
    count = next((i for i, (one, other) in enumerate(zip(told, plain)) if one != other), min(len(told), len(plain)))
    end = told[count:]
    whole, stopped = [*plain, "done"] == told, end == ["worker"]
    fine = {"daemon": whole, "nobody": whole, "worker": whole or stopped, "trainer": not end or whole}[kind]
    return "" if fine else f"{kind}: {count} batches, then {end[:2]}"


def kill(way, wanted, deadline, numbers, chance, root, plain):
    """For each epoch the process and the signal, and the fault; at the end the processes that outlived their training."""
    training, ended, late = Training(way, root), [], "nobody"
    # Workers of a forkserver outlive a killed trainer without stoker as well: torch's watchdog asks for their parent, which is the server.
    kinds = ["daemon"] * 4 + ["trainer"] * (way != "feed, forkserver") + ["worker"] * (2 if way in WORKERS else 0)
    while wanted:
        kind = chance.choice(kinds)
        number = chance.choice(numbers) if kind == "daemon" else signal.SIGKILL
        told, killed = training.epoch(kind, number, chance.randrange(len(plain)), chance.choice((0, chance.uniform(0, 0.05))), chance)
        wanted = (wanted - (killed != "nobody")) * (time.monotonic() < deadline)
        wrong = find_fault(killed, told, plain)
        yield f"{killed} {number.name}" if killed == "daemon" else killed, wrong and find_fault(late, told, plain) and wrong
        late = killed if told[-1:] == ["done"] else "nobody"  # it may have hit the epoch that had begun meanwhile
        if killed == "trainer" or not told or not wanted:
            if killed != "trainer":
                with contextlib.suppress(ProcessLookupError):
                    os.kill(training.pid, signal.SIGTERM)
            training.end()
            ended.append(training)
            training = Training(way, root) if wanted else None
        yield from left(ended)
    while ended:
        time.sleep(0.1)
        yield from left(ended)


def left(ended):
    """What went wrong with those trainings that nothing is left of, or that have had their time."""
    for training in [*ended]:
        if (found := training.left()) is not None:
            ended.remove(training)
            if found:
                yield "nobody", f"left: {found}"


def plain_of(way, root):
    """What an epoch tells of which nothing was hit; where a script is fed, by the script alone."""
    training = Training(way, root, fed=False)
    told, _ = training.epoch("daemon", 0, -1, 0, None)
    os.kill(training.pid, signal.SIGKILL)
    training.end()
    while training.left() is None:
        time.sleep(0.1)
    if told[-1] != "done":
        raise SystemExit(f"{way}: {told[-1]}")
    return told[:-1]


def prepare(root):
    """Pictures, the same in shards, and a store that has them; its address."""
    import deferred_pipelines as pipelines
    from bucket_store import serve

    pipelines.make_images(root)
    files = sorted(Path(root, "train").glob("*/*.jpg"))
    os.mkdir(os.path.join(root, "packs"))
    for number in range(4):
        with tarfile.open(os.path.join(root, "packs", f"{number}.tar"), "w") as shard:
            for path in files[number::4]:
                shard.add(path, path.name)
    return serve(root)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=30, help="of each way")
    parser.add_argument("--total", type=int, default=0, metavar="N", help="of all ways together, in equal parts, instead")
    parser.add_argument("--minutes", type=float, default=math.inf, help="of which each way gets an equal part")
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="ways that are played at the same time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS), metavar="WAY", help=f"of {', '.join(WAYS)}")
    parser.add_argument("--signals", nargs="+", choices=("KILL", "TERM", "STOP"), default=("KILL", "TERM", "STOP"), help="to the daemon")
    arguments = parser.parse_args()
    os.environ.update(STOKER_BIN=str(ROOT / "bin/stoker"), STOKER_FEED_PATIENCE=SILENCE)
    warnings.simplefilter("ignore")
    import torch
    import torchdata.stateful_dataloader  # noqa: F401  stoker.feed() finds the loaders that are imported

    torch.set_num_threads(1)
    ways = arguments.ways
    part = arguments.minutes * 60 * arguments.at_once / len(ways)
    wanted = math.ceil(arguments.total / len(ways)) if arguments.total else arguments.kills
    numbers, all_counts = [signal.Signals[f"SIG{name}"] for name in arguments.signals], collections.Counter()
    with tempfile.TemporaryDirectory() as root:
        cache = os.path.join(root, "cache")
        os.environ.update(STOKER_CACHE_DIR=cache, AWS_ENDPOINT_URL=prepare(root), AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY="secret")
        with concurrent.futures.ProcessPoolExecutor(arguments.at_once, multiprocessing.get_context("fork")) as pool:
            for counts in concurrent.futures.as_completed([pool.submit(play, way, wanted, part, numbers, arguments.seed, root) for way in ways]):
                all_counts.update(counts.result())
    print(json.dumps({**all_counts, "load": round(os.getloadavg()[0], 1)}))
    sys.exit(bool(all_counts["wrong"] + all_counts["left over"]))


def play(way, wanted, seconds, numbers, seed, root):
    """Play so many kills of a way, or what fits into the time. Returns how many, and how many epochs went wrong."""
    os.environ["XDG_RUNTIME_DIR"] = private(os.path.join(root, f"run{os.getpid()}"))
    counts, totals = collections.Counter(), collections.Counter({"kills": 0, "wrong": 0, "left over": 0})
    deadline, plain = time.monotonic() + seconds, plain_of(way, root)
    for epoch, (killed, wrong) in enumerate(kill(way, wanted, deadline, numbers, random.Random(seed), root, plain)):
        counts[killed] += 1
        totals["kills"] += killed != "nobody"
        if wrong:
            counts["wrong"] += 1
            totals["left over" if wrong.startswith("left") else "wrong"] += 1
            print(json.dumps({"way": way, "epoch": epoch, "wrong": wrong}), flush=True)
    print(json.dumps({"way": way, "epochs": epoch + 1, **counts}), flush=True)
    return totals


def private(path):
    """A folder for sockets: no other user can write to a folder above it, which /tmp does not promise."""
    import stoker.daemon.private

    try:
        os.makedirs(path, 0o700, exist_ok=True)
        return stoker.daemon.private.check(path)
    except stoker.daemon.private.Shared:
        return os.environ.get("XDG_RUNTIME_DIR", "")


if __name__ == "__main__":
    main()
