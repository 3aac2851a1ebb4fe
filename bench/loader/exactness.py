#!/usr/bin/env python3
"""Compares data sets that keep a state, fed and alone: batches, errors, exit codes, numbers of calls.

    python bench/loader/exactness.py                     every state with every consumer without workers, with a
                                                         quarter of them with two workers
    python bench/loader/exactness.py --quick             a part of them, in a minute
    python bench/loader/exactness.py --groups 6          the first 6 groups of consumers, which are drawn from all kinds
    python bench/loader/exactness.py --only numba sha256 consumers whose names have one of these words
    python bench/loader/exactness.py --python PYTHON     with another Python that has PyTorch, torchvision and Pillow

A state is kept from sample to sample: a generator, a counter, an open file, a socket. A consumer
is a function, mostly in C, that gets the array, picture or tensor of a sample. A cell is a DataLoader over a data set of
one state with one consumer. Each cell runs in the script alone, under `stoker feed --` and under `stoker feed
--verify 20 --`, and all that the program sees is compared. It ends with 1 where a cell differs.
"""

import argparse
import collections
import contextvars
import functools
import hashlib
import io
import itertools
import json
import os
import queue
import random
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SAMPLES, BATCH = 12, 3
WAYS = {"alone": [], "feed": ["feed", "--"], "feed --verify 20": ["feed", "--verify", "20", "--"]}
QUICK_STATES = ("own NumPy generator", "counter", "file", "error that comes once", "transform")
QUICK_CONSUMERS = ("python crc32", "python memoryview", "python random.shuffle", "torch from_numpy", "numpy frombuffer", "other cv2 resize")
TOGETHER = 12  # consumers of one process


# The program: what a user might have written. It knows nothing of Stoker.


def of_generator(generator):
    return lambda: int(generator())


def counting_file(opened):
    return lambda: int(opened().readline())


def lazily(make):
    """What each process makes for itself, when it needs it first."""
    made = []

    def get():
        if not made:
            made.append(make())
        return made[0]

    return get


def numbers_in_file():
    file = tempfile.TemporaryFile("w+")
    file.write("".join(f"{number * 7 % 97}\n" for number in range(999)))
    file.seek(0)
    return file


def filled_queue():
    made = queue.Queue()
    for number in range(999):
        made.put(number * 7 % 97)
    return made


def filled_socket():
    ours, theirs = socket.socketpair()
    theirs.sendall(bytes(number * 7 % 97 for number in range(999)))
    return ours, theirs


def table():
    made = sqlite3.connect(":memory:")
    made.execute("create table seen (number integer primary key autoincrement)")
    return made


def numbers():
    for number in itertools.count():
        yield number * 7 % 97


MODULE = {"count": 0}
CONTEXT = contextvars.ContextVar("count", default=0)


def states():
    """By name, a function that makes what gives the next number of a data set."""
    import numpy as np
    import torch

    def of_module():
        MODULE["count"] += 1
        return MODULE["count"]

    def of_context():
        CONTEXT.set(CONTEXT.get() + 1)
        return CONTEXT.get()

    def of_environment():
        os.environ["EXACTNESS"] = str(int(os.environ.get("EXACTNESS", 0)) + 1)
        return int(os.environ["EXACTNESS"])

    def closure():
        count = 0

        def following():
            nonlocal count
            count += 1
            return count

        return following

    def use_cache():
        seen = {}

        def following():
            seen.setdefault(len(seen) * 7 % 31, len(seen))
            return len(seen)

        return following

    def use_lru_cache():
        @functools.lru_cache(5)
        def square(number):
            return number * number

        following = itertools.cycle(range(7))
        return lambda: square(next(following)) + square.cache_info().misses

    def rows():
        base = lazily(table)
        return lambda: base().execute("insert into seen default values").lastrowid

    def read_socket():
        ends = lazily(filled_socket)
        return lambda: ends()[0].recv(1)[0]

    def descriptor():
        file = lazily(numbers_in_file)
        return lambda: os.read(file().fileno(), 1)[0]

    def rotate_deque():
        line = collections.deque(range(97))

        def following():
            line.rotate(7)
            return line[0]

        return following

    return {
        "global random": lambda: lambda: random.randrange(97),
        "global NumPy": lambda: lambda: int(np.random.randint(97)),
        "global torch": lambda: lambda: int(torch.randint(97, (1,))),
        "own random": lambda: functools.partial(random.Random(3).randrange, 97),
        "own NumPy generator": lambda: of_generator(functools.partial(np.random.default_rng(3).integers, 97)),
        "own NumPy RandomState": lambda: of_generator(functools.partial(np.random.RandomState(3).randint, 97)),
        "own torch generator": lambda: of_generator(functools.partial(torch.randint, 97, (1,), generator=torch.Generator().manual_seed(3))),
        "counter": lambda: itertools.count().__next__,
        "iterator": lambda: iter([number * 7 % 97 for number in range(999)]).__next__,
        "generator": lambda: numbers().__next__,
        "file": lambda: counting_file(lazily(numbers_in_file)),
        "offset of a descriptor": descriptor,
        "queue": lambda: (lambda made: lambda: made().get())(lazily(filled_queue)),
        "socket": read_socket,
        "table of sqlite3": rows,
        "cache": use_cache,
        "lru_cache": use_lru_cache,
        "class attribute": lambda: None,
        "module": lambda: of_module,
        "context variable": lambda: of_context,
        "environment": lambda: of_environment,
        "closure": closure,
        "deque": rotate_deque,
        "transform": lambda: None,
        "error that comes once": lambda: None,
        "error that is caught": lambda: None,
    }


def consumers():
    sys.path.insert(0, os.path.join(ROOT, "python", "tests"))
    import array_consumers

    return array_consumers.consumers(), array_consumers.outcome


def program(names, wanted, workers):
    """Run the user's script and print the batches of each cell."""
    import warnings

    import numpy as np
    import torch
    import torchvision.transforms as T
    from PIL import Image
    from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

    warnings.simplefilter("ignore")
    files = []
    for seed in range(6):
        out = io.BytesIO()
        Image.fromarray(np.kron(np.random.default_rng(seed).integers(0, 255, (9, 12, 3), dtype=np.uint8), np.ones((9, 9, 1), np.uint8))).save(out, "JPEG")
        files.append(out.getvalue())
    acts, outcome = consumers()
    made = states()
    end = T.Compose([T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize([0.5] * 3, [0.2] * 3)])

    class Shifted:
        """A transform that counts its calls."""

        def __init__(self):
            self.count = 0

        def __call__(self, image):
            self.count += 1
            return image.rotate(self.count)

    class Data(Dataset):
        seen = 0

        def __init__(self, state, act):
            self.state, self.act, self.shift = state, act, Shifted()
            self.next = made[state]()
            self.calls = torch.zeros(1 + workers, dtype=torch.int64).share_memory_()  # of each process, as two would race
            self.count = 0

        def __len__(self):
            return SAMPLES

        def number(self):
            self.count += 1
            if self.state == "class attribute":
                type(self).seen += 1
                return type(self).seen
            if self.state == "error that comes once" and self.count == 5:
                raise ConnectionError("the label server is gone")
            if self.state == "error that is caught":
                try:
                    if self.count == 3:
                        raise ConnectionError("the label server is gone")
                except ConnectionError:
                    self.count += 40
            return self.next() if self.next else self.count

        def __getitem__(self, index):
            worker = get_worker_info()
            self.calls[0 if worker is None else 1 + worker.id] += 1
            image = Image.open(io.BytesIO(files[index % len(files)])).convert("RGB")
            if self.state == "transform":
                image = self.shift(image)
            number = self.number() % 40
            array = np.array(image.crop((number, number // 2, number + 13, number // 2 + 11)))
            given, error = outcome(self.act, array)
            return end(image), seen_of(given), repr(error), number

    class Stream(IterableDataset):
        def __init__(self, data):
            self.data, self.calls = data, data.calls

        def __iter__(self):
            return map(self.data.__getitem__, range(SAMPLES))

    def seen_of(value):
        into = hashlib.sha1()
        digest(value, into)
        return into.hexdigest()

    for name in names:
        for state in wanted:
            for kind in ("map", "stream") if state in QUICK_STATES and not workers else ("map",):
                torch.manual_seed(7)
                random.seed(7)
                np.random.seed(7)
                MODULE["count"] = 0
                CONTEXT.set(0)
                os.environ.pop("EXACTNESS", None)
                data = Data(state, acts[name])
                into, error = hashlib.sha1(), ""
                try:
                    for batch in DataLoader(data if kind == "map" else Stream(data), BATCH, num_workers=workers):
                        digest(batch, into)
                except Exception as raised:
                    error = f"{type(raised).__name__}: {str(raised).strip().splitlines()[-1]}"
                after = torch.rand(1).item(), random.random(), np.random.rand(), Data.seen if not workers else 0
                # After an error the other worker may have prepared one batch more, or not yet.
                calls = None if error and workers else int(data.calls.sum())
                print(json.dumps([f"{state} / {name} / {kind} / {workers} workers", into.hexdigest(), error, calls, repr(after)]), flush=True)
    unhandled = Data("error that comes once", next(iter(acts.values())))
    for _ in DataLoader(unhandled, BATCH, num_workers=workers):
        pass


def digest(value, into):
    """All that a program sees of a value."""
    import numpy as np
    import torch

    if isinstance(value, torch.Tensor):
        into.update(repr((type(value).__name__, value.dtype, tuple(value.shape), value.stride(), value.requires_grad)).encode())
        into.update(value.detach().contiguous().numpy().tobytes())
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        into.update(repr((type(value).__name__, value.dtype, value.shape)).encode() + np.ascontiguousarray(value).tobytes())
    elif isinstance(value, dict):
        for key, each in value.items():
            into.update(repr(key).encode())
            digest(each, into)
    elif isinstance(value, (list, tuple)):
        into.update(type(value).__name__.encode())
        for each in value:
            digest(each, into)
    else:
        into.update(repr(value).partition(" at 0x")[0].encode())


# The comparison.


def run(python, stoker, way, names, wanted, workers):
    """Cells and exit code of the program in one way."""
    words = [python, os.path.abspath(__file__), "--program", json.dumps([names, wanted, workers])]
    front = [stoker, *WAYS[way]] if WAYS[way] else []
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STOKER_FEED")}
    done = subprocess.run([*front, *words], capture_output=True, text=True, env={**environment, "PYTHONHASHSEED": "0", "STOKER_FEED_ALWAYS": "1"})
    cells = dict((cell, rest) for cell, *rest in map(json.loads, filter(lambda line: line.startswith("["), done.stdout.splitlines())))
    return cells, done.returncode, done.stderr


def compare(python, stoker, quick, most, only, progress):
    """The number of cells, and what differs."""
    listed = subprocess.run([python, os.path.abspath(__file__), "--list"], capture_output=True, text=True, check=True)
    names, wanted = json.loads(listed.stdout)
    if quick:
        names, wanted = [name for name in names if name in QUICK_CONSUMERS], [state for state in wanted if state in QUICK_STATES]
    if only:
        names = [name for name in names if any(word in name for word in only)]
    count, differing, fed = 0, [], 0
    groups = -(-len(names) // TOGETHER)
    groups = [names[at::groups] for at in range(groups)][:most]  # each with consumers of all kinds
    for number, group in enumerate(groups):
        for workers in (0, 2):
            group = group[:: 4 if workers and not quick else 1]
            alone, code, _ = run(python, stoker, "alone", group, wanted, workers)
            ways = list(WAYS)[1:]
            if quick:
                ways = ways[-1:] if workers else ways[:1]
            for way in ways:
                cells, other, said = run(python, stoker, way, group, wanted, workers)
                count += len(cells)
                fed += "of the pixels' work" in said
                if other != code:
                    differing.append(f"{way}: exit code {other}, alone {code}: {', '.join(group)} / {workers} workers")
                for cell in alone.keys() | cells.keys():
                    if alone.get(cell) != cells.get(cell):
                        differing.append(f"{way}: {cell}: {cells.get(cell)}, alone {alone.get(cell)}")
        progress(f"{number + 1} of {len(groups)} groups of consumers, {count} cells, {len(differing)} differ")
    return sum(map(len, groups)), len(wanted), count, differing, fed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--groups", type=int, help="of consumers, each about %d; all by default" % TOGETHER)
    parser.add_argument("--only", nargs="+", metavar="WORD", help="of the names of consumers; all by default")
    parser.add_argument("--python", default=os.path.join(ROOT, "python/.venv/bin/python"))
    parser.add_argument("--stoker", default=os.environ.get("STOKER_BIN") or os.path.join(ROOT, "bin/stoker"))
    parser.add_argument("--program", help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.program:
        return program(*json.loads(options.program))
    if options.list:
        return print(json.dumps([sorted(consumers()[0]), list(states())]))
    begun = time.time()
    names, wanted, count, differing, fed = compare(options.python, options.stoker, options.quick, options.groups, options.only, lambda line: print(line, file=sys.stderr))
    for line in differing:
        print(line)
    version = subprocess.run([options.python, "-V"], capture_output=True, text=True).stdout.strip()
    print(f"{version}: {wanted} states, {names} consumers, {count} cells in {time.time() - begun:.0f} s; pictures were fed in {fed} processes: {len(differing)} differ")
    return 1 if differing or not fed else 0


if __name__ == "__main__":
    sys.exit(main())
