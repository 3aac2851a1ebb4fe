#!/usr/bin/env python3
"""Loaders of odd kinds in a Ray cluster of three nodes, beside the script alone: what they return, draw, raise and leave behind.

    python/.venv/bin/python bench/loader/remote_odd.py                    all kinds
    python/.venv/bin/python bench/loader/remote_odd.py content timeout    these

Types of samples, start methods, worker_init_fn, generators, data sets with a state, errors with their tracebacks, timeouts, samplers.
A kind's text has its batches with types and strides, each error's class and message, and the random numbers that the trainer has
afterwards. Texts that differ are kept in a folder. Lambdas and generators as samples are left out: PyTorch alone hangs on them.
"""

import argparse
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import hashlib
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
import uuid
import warnings

import numpy as np
import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, Sampler, TensorDataset, WeightedRandomSampler, get_worker_info, random_split

OWN = """
import random
SIZE = 1
cache = {}
class Weird(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a}-{b}")
        self.a, self.b = a, b
def aug(x):
    return x * SIZE + random.random()
"""
if sys.argv[1:2] == ["train"]:
    import ownmod  # a module of the script's own, which lies where PYTHONPATH says

    ownmod.SIZE = 3

Point = collections.namedtuple("Point", "x y")


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Scene:
    a: object
    b: object


def content(i):
    k = i % 34
    t = torch
    return [
        lambda: t.rand(3).to(t.bfloat16),
        lambda: t.rand(2, 3).t(),
        lambda: t.empty(0, 4),
        lambda: t.tensor(5),
        lambda: t.rand(4) > 0.5,
        lambda: t.rand(4).to(t.complex64),
        lambda: t.rand(5, 5).to_sparse(),
        lambda: t.rand(4).to(t.float8_e4m3fn),
        lambda: t.arange(10)[::2],
        lambda: t.rand(3, requires_grad=True).detach(),
        lambda: np.random.rand(3, 4)[:, 1:],
        lambda: np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")]),
        lambda: np.array(["aé", "b"]),
        lambda: np.array([1, None, "x"], dtype=object),
        lambda: np.datetime64("2020-01-01T00:00"),
        lambda: np.asfortranarray(np.random.rand(3, 3)),
        lambda: np.float16(1.5),
        lambda: np.ma.masked_array([1, 2, 3], [0, 1, 0]),
        lambda: Point(1, t.rand(2)),
        lambda: Color.RED,
        lambda: Scene(t.rand(2), [1, {"z": np.random.rand(2)}]),
        lambda: None,
        lambda: 2**80 + i,
        lambda: float("nan"),
        lambda: "text\u20ac",
        lambda: b"bytes\0",
        lambda: {1, 2, 3},
        lambda: fractions.Fraction(1, 3),
        lambda: decimal.Decimal("1.10"),
        lambda: pathlib.Path("/a/b"),
        lambda: datetime.datetime(2020, 1, 2),
        lambda: uuid.UUID(int=i),
        lambda: ownmod.aug(2.0),
        lambda: t.ones(70000) * random.random(),
    ][k]()


def canon(v, out):
    if isinstance(v, torch.Tensor):
        if v.is_sparse:
            v = v.to_dense()
        out.append(f"T{v.dtype}{tuple(v.shape)}{v.stride()}{v.requires_grad}")
        out.append(v.contiguous().flatten().view(torch.uint8).numpy().tobytes().hex() if v.numel() else "")
    elif isinstance(v, np.ma.MaskedArray):
        out.append(repr(v))
    elif isinstance(v, np.ndarray):
        out.append(f"N{v.dtype}{v.shape}{v.flags.f_contiguous}{v.flags.writeable}" + (repr(v.tolist()) if v.dtype.hasobject else v.tobytes().hex()))
    elif dataclasses.is_dataclass(v):
        out.append(type(v).__name__)
        canon(vars(v), out)
    elif isinstance(v, dict):
        out.append(type(v).__name__)
        for key, each in v.items():
            out.append(repr(key))
            canon(each, out)
    elif isinstance(v, (list, tuple)):
        out.append(type(v).__name__)
        for each in v:
            canon(each, out)
    else:
        out.append(type(v).__name__ + repr(v))


class Content(Dataset):
    def __len__(self):
        return 68

    def __getitem__(self, i):
        return content(i)


class Rand(Dataset):
    def __init__(self, n=24, fail=None, slow=None):
        self.n, self.fail, self.slow = n, fail, slow

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if self.fail and i == 5:
            self.fail()
        if self.slow and i == 7:
            time.sleep(self.slow)
        w = get_worker_info()
        return {
            "i": i,
            "t": torch.rand(2),
            "n": np.random.rand(),
            "r": random.random(),
            "g": w.seed,
            "id": w.id,
            "num": w.num_workers,
            "d": w.dataset is self or type(w.dataset).__name__,
            "o": ownmod.aug(1.0),
        }


def f_value():
    raise ValueError("bad sample")


def f_key():
    {}["missing key"]


def f_own():
    raise ownmod.Weird(1, 2)


def f_chain():
    try:
        f_key()
    except KeyError as e:
        raise RuntimeError("outer") from e


def f_stop():
    raise StopIteration("s")


def f_exit():
    sys.exit(3)


def f_group():
    raise ExceptionGroup("g", [ValueError(1), TypeError(2)])


class Main(Exception):
    pass


def f_main():
    raise Main("of the script")


def f_uni():
    raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x")


class Stateful(Dataset):
    def __init__(self):
        self.count, self.cache = 0, {}

    def __len__(self):
        return 20

    def __getitem__(self, i):
        self.count += 1
        self.cache.setdefault(i % 4, random.random())
        return self.count, self.cache[i % 4]


class Lines(IterableDataset):
    def __init__(self, n=21):
        self.n = n

    def __iter__(self):
        w = get_worker_info()
        for i in range(w.id, self.n, w.num_workers):
            yield i, torch.rand(2), random.random()

    def __len__(self):
        return self.n


class BadStream(Lines):
    def __iter__(self):
        for k, x in enumerate(super().__iter__()):
            if k == 6:
                raise ValueError("stream broke")
            yield x


class Unequal(IterableDataset):
    def __iter__(self):
        w = get_worker_info()
        yield from range((w.id + 1) * 3)


def init(i):
    np.random.seed(100 + i)
    random.seed(5 + i)
    get_worker_info().dataset.extra = i
    ownmod.cache["w"] = i


class Init(Rand):
    def __getitem__(self, i):
        return super().__getitem__(i), self.extra, ownmod.cache.get("w")


def bad_init(i):
    raise RuntimeError("init fails")


def bad_collate(s):
    raise TypeError("collate fails")


class Fetch(Rand):
    def __getitems__(self, ids):
        return [(i, torch.rand(1)) for i in ids]


class BatchS(Sampler):
    def __iter__(self):
        for n in (1, 3, 2, 5):
            yield [random.randrange(24) for _ in range(n)]


class BadSampler(Sampler):
    def __iter__(self):
        yield from range(7)
        raise ValueError("sampler broke")


class Unpicklable(Rand):
    def __getitem__(self, i):
        return (lambda: i) if i == 5 else i


class Gen(Rand):
    def __getitem__(self, i):
        return (x for x in range(3)) if i == 5 else i


class Warn(Rand):
    def __getitem__(self, i):
        warnings.warn("w")
        return i, torch.get_num_threads(), torch.initial_seed() % 1000, os.getcwd(), sys.argv[1:2], os.environ.get("ODD"), torch.get_default_dtype()


class Numpy64(Rand):
    def __getitem__(self, i):
        return np.random.default_rng(torch.initial_seed() % 2**32 + i).random(3), rng.random()


rng = np.random.default_rng(4)


def as_is(s):
    return s


def L(d, n=4, w=2, **k):
    return DataLoader(d, n, num_workers=w, **k)


G = lambda: torch.Generator().manual_seed(9)
KINDS = {
    "content": lambda: L(Content(), 3, collate_fn=as_is),
    "spawn": lambda: L(Rand(), w=1, multiprocessing_context="spawn", shuffle=True),
    "forkserver": lambda: L(Rand(), w=1, multiprocessing_context="forkserver", shuffle=True, generator=G()),
    "generator": lambda: L(Rand(), shuffle=True, generator=G()),
    "init": lambda: L(Init(), worker_init_fn=init),
    "init_lambda": lambda: L(Rand(), w=1, worker_init_fn=lambda i: random.seed(i)),
    "bad_init": lambda: L(Rand(), w=1, worker_init_fn=bad_init),
    "stateful": lambda: L(Stateful(), persistent_workers=True),
    "errors": lambda: L(Errs(), 1, w=1),
    "bad_collate": lambda: L(Rand(), w=1, collate_fn=bad_collate),
    "bad_stream": lambda: L(BadStream(), w=2),
    "bad_sampler": lambda: L(Rand(), w=1, sampler=BadSampler()),
    "timeout": lambda: L(Rand(slow=20), 2, w=1, timeout=2, prefetch_factor=1),
    "stream": lambda: L(Lines(), w=2, persistent_workers=True),
    "stream_long": lambda: L(Lines(9), 2, w=3, drop_last=True),
    "unequal": lambda: L(Unequal(), 2, w=3),
    "none": lambda: L(Rand(), None, w=1),
    "batch_sampler": lambda: DataLoader(Rand(), batch_sampler=BatchS(), num_workers=1),
    "getitems": lambda: L(Fetch(), w=1, shuffle=True),
    "subset": lambda: L(random_split(ConcatDataset([Rand(), Rand(9)]), [20, 13], G())[0], w=1, shuffle=True, drop_last=True),
    "warn": lambda: L(Warn(), w=1, collate_fn=as_is),
    "numpy": lambda: L(Numpy64(), w=2, collate_fn=as_is),
    "tensors": lambda: L(TensorDataset(torch.rand(20, 3), torch.arange(20)), w=1, shuffle=True),
    "weighted": lambda: L(Rand(), w=1, sampler=WeightedRandomSampler([1.0] * 24, 30, generator=G())),
    "unordered": lambda: L(Rand(), w=1, in_order=False),
    "exit": lambda: L(Rand(fail=f_exit), w=1),
    "early": lambda: L(Rand(60), 2, w=2, shuffle=True, persistent_workers=True),
}
ERRORS = [f_value, f_key, f_own, f_chain, f_stop, f_group, f_main, f_uni]


class Errs(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, i):
        if i % 5 == 3:
            ERRORS[i // 5]()
        return i, torch.rand(1)


def clean(text):
    """Return the lines of an error that are the script's: PyTorch's own have other numbers in a cluster."""
    lines = [line.strip() for line in re.sub("0x[0-9a-f]+", "0x", text).splitlines()]
    return [line for line in lines if "torch/" not in line and "_utils" not in line and not set(line) <= set("^~ ")]


def describe(kind):
    """Play a kind; returns its text."""
    torch.manual_seed(3)
    random.seed(1)
    np.random.seed(2)
    out = []
    loader = KINDS[kind]()
    for epoch in range(2 if kind in TWICE else 1):
        batches, count = None, 0
        while True:
            try:
                batches = iter(loader) if batches is None else batches  # it asks for the first batches: a sampler may fail there
                batch = next(batches)
            except StopIteration:
                break
            except Exception as error:
                if kind == "exit":  # how many batches come before a worker's end is chance
                    return type(error).__name__
                text = re.sub("[0-9]+", "N", str(error))[:60] if kind == "timeout" else clean(str(error))
                out.append(f"{type(error).__name__} {text} cause {error.__cause__!r}")
                if kind == "errors":
                    continue
                break
            canon(batch, out)
            count += 1
            if kind == "early" and epoch == 0 and count == 4:
                break
        del batches
        out.append(f"{hashlib.md5(torch.get_rng_state().numpy().tobytes()).hexdigest()} {random.getrandbits(8)} {np.random.randint(99)} {count}")
    return "\n".join(out)


TWICE = ("stateful", "stream", "early", "generator")


def train(folder, kinds):
    os.environ["ODD"] = "yes"
    for kind in kinds:
        pathlib.Path(folder, kind).write_text(describe(kind))


def main():
    if sys.argv[1:2] == ["train"]:
        return train(sys.argv[2], sys.argv[3:])
    import remote

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    kinds = parser.parse_args().kinds
    folder = pathlib.Path(tempfile.mkdtemp(prefix="odd-"))
    (folder / "ownmod.py").write_text(OWN)
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(folder)}

    def play(place, *before):
        (folder / place).mkdir()
        command = [*before, sys.executable, "-W", "ignore", os.path.abspath(__file__), "train", str(folder / place), *kinds]
        return subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)

    play("alone")
    with remote.cluster(8, _system_config=remote.NO_SPARES) as (own, _):
        told = play("fed", remote.STOKER, "feed", "--ray", own.address, "--").stderr
    texts = {place: {kind: (folder / place / kind).read_text() if (folder / place / kind).exists() else None for kind in kinds} for place in ("alone", "fed")}
    differ = [kind for kind in kinds if texts["alone"][kind] is None or texts["alone"][kind] != texts["fed"][kind]]
    print(f"{len(kinds)} kinds, {len(differ)} differ {' '.join(differ)}")
    if differ:
        print(told[-2000:], folder)
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
