#!/usr/bin/env python3
"""Compares the cost of bringing a batch from a worker to the trainer, by PyTorch alone and under `stoker feed`.

    python/.venv/bin/python bench/loader/handover.py                 all kinds, 5 rounds in turn (10 minutes on a quiet machine)
    python/.venv/bin/python bench/loader/handover.py --rounds 1 mel  one kind, once
    python/.venv/bin/python bench/loader/handover.py --markdown      rows of HANDOVER.md
    python/.venv/bin/python bench/loader/handover.py --pipelines     whole pipelines of modalities.py instead

A kind's sample is a copy of one of four sources, so that all but nothing is paid for making it. CPU time and page faults are
those of all processes in two epochs, after one whose digest must be the same alone and fed: of bytes, types, strides and
aliases, and of what the generators draw next.
"""

import argparse
import collections
import contextlib
import dataclasses
import hashlib
import importlib
import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
import warnings

import account

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BATCHES, OF_SMALL = 40, 400  # of an epoch; of one of the kinds whose batches take less time than a worker's start
SMALL = ("tokens", "tables", "ragged text", "text")
COMPARED, COUNTED = 1, 2  # epochs
Ragged = collections.namedtuple("Ragged", "ids text")


@dataclasses.dataclass
class Frame:
    camera: object
    state: object


class Graph:
    """Like PyG's Data: attributes in a store."""

    def __init__(self, **parts):
        self.store = parts


def as_is(samples):
    return list(samples)


def kinds():
    """By name: shape and dtype of a source, samples in a batch, what a sample is, how they are put together."""
    import numpy as np
    import torch

    f4, u1, i8 = np.float32, np.uint8, np.int64
    zeros = torch.zeros
    return {
        "pictures, float32": ((3, 224, 224), f4, 64, lambda x, i: (x, i), None),
        "pictures, uint8": ((3, 224, 224), u1, 64, lambda x, i: (x, i), None),
        "clips": ((16, 3, 224, 224), f4, 4, lambda x, i: (x, i), None),
        "volumes": ((1, 96, 96, 96), f4, 4, lambda x, i: {"image": x, "label": x[:, ::2, ::2, ::2].clone()}, None),
        "mels": ((80, 3000), f4, 16, lambda x, i: {"mel": x, "ids": torch.arange(448)}, None),
        "latents": ((16, 64, 64), f4, 32, lambda x, i: (x, zeros(77, 768), i), None),
        "tokens": ((8192,), i8, 8, lambda x, i: {"ids": x, "labels": x.clone()}, None),
        "arrays, no collate": ((3, 224, 224), f4, 64, lambda x, i: x.numpy(), as_is),
        "detections, no collate": (
            (3, 640, 640),
            f4,
            16,
            lambda x, i: (x, {"boxes": zeros(9, 4), "labels": zeros(9), "masks": zeros(9, 80, 80), "id": torch.tensor(i)}),
            as_is,
        ),
        "robot": ((3, 480, 640), u1, 8, lambda x, i: {"top": x, "wrist": x.flip(0), "state": zeros(14), "action": zeros(50, 14)}, None),
        "graphs": ((20000, 3), f4, 16, lambda x, i: Graph(x=x, edges=zeros(2, 60000, dtype=torch.int64)), as_is),
        "point clouds": ((100000, 4), f4, 8, lambda x, i: x[: 60000 + 1000 * (i % 7)], as_is),
        "tables": ((64,), f4, 1024, lambda x, i: (x, i), None),
        "ragged text": ((600,), i8, 32, lambda x, i: Ragged(x[: 100 + i % 400], "word " * 200), as_is),
        "nested dicts": ((3, 128, 128), f4, 32, lambda x, i: {"a": {"b": [x, {"c": zeros(32, 32)}]}, "d": str(i)}, None),
        "dataclasses": ((3, 240, 320), u1, 32, lambda x, i: Frame(x, zeros(14)), as_is),
        "masks": ((1, 512, 512), i8, 8, lambda x, i: (x, x[:, :256].bool()), None),
        "audio": ((160000,), f4, 32, lambda x, i: (x, 16000, i), None),
        "views of a video": ((64, 3, 112, 112), f4, 4, lambda x, i: x[8:16], as_is),
        "225 small tensors": ((4,), f4, 225, lambda x, i: x, as_is),
        "text": ((4,), f4, 32, lambda x, i: "some text %d " % i * 40, None),
    }


def kind_loader(name):
    import numpy as np
    import torch
    from torch.utils.data import DataLoader, Dataset

    shape, dtype, size, sample, collate = kinds()[name]
    made = np.random.default_rng(7)
    batches = OF_SMALL if name in SMALL else BATCHES
    sources = [torch.from_numpy((made.standard_normal(shape) * 50).astype(dtype)) for _ in range(4)]

    class Data(Dataset):
        def __len__(self):
            return size * batches

        def __getitem__(self, i):
            return sample(sources[i % 4].clone(), i)

    return DataLoader(Data(), size, num_workers=1, collate_fn=collate)


def describe(thing, into, seen):
    """Add all that a program can see of a batch to a digest: also which tensors share their memory, and which objects are one."""
    import numpy as np
    import torch

    if not isinstance(thing, (str, bytes, int, float, bool, type(None))):
        if id(thing) in seen:
            return into.update(f"object {seen[id(thing)][0]}".encode())
        seen[id(thing)] = len(seen), thing
    into.update(type(thing).__name__.encode())
    if isinstance(thing, torch.Tensor):
        _describe_tensor(thing, into, seen)
    elif isinstance(thing, np.ndarray) and thing.dtype != object:
        into.update(repr((thing.dtype, thing.shape, thing.strides, thing.flags.writeable, thing.flags.aligned)).encode() + thing.tobytes())
    elif isinstance(thing, dict):
        describe([*thing.items()], into, seen)
    elif isinstance(thing, (list, tuple, np.ndarray)):
        for part in thing:
            describe(part, into, seen)
        into.update(b";")
    elif hasattr(thing, "tobytes") and hasattr(thing, "mode"):  # Pillow's
        into.update(repr((thing.mode, thing.size)).encode() + thing.tobytes())
    elif hasattr(thing, "to_numpy"):  # of pandas
        describe([*thing.columns, thing.to_numpy()], into, seen)
    elif hasattr(thing, "to_dict"):
        describe(thing.to_dict(), into, seen)
    elif hasattr(thing, "__dict__") and not isinstance(thing, type):
        describe(vars(thing), into, seen)
    else:
        into.update(repr(thing).encode())


def _describe_tensor(tensor, into, seen):
    import torch

    into.update(repr((tensor.dtype, tensor.shape, tensor.layout, tensor.requires_grad, tensor.is_leaf, tensor.device)).encode())
    if tensor.layout is not torch.strided:
        parts = (tensor.indices(), tensor.values()) if tensor.layout is torch.sparse_coo else (tensor.crow_indices(), tensor.col_indices(), tensor.values())
        return describe(list(parts), into, seen)
    memory = tensor.untyped_storage()._cdata
    first = seen.setdefault(("memory", memory), (len(seen), tensor))[0]
    plain = tensor.detach().as_subclass(torch.Tensor).contiguous().flatten()
    into.update(repr((tensor.stride(), first)).encode() + plain.view(torch.uint8).numpy().tobytes() if plain.numel() else b"")


def measure(name, folder):
    """Print CPU-ms a batch, page faults a batch and the digest of a kind or a pipeline, of all its processes."""
    import random

    import account
    import numpy as np
    import torch

    torch.set_num_threads(1)
    for seed in (torch.manual_seed, random.seed, np.random.seed):
        seed(7)
    if folder:
        import modalities

        loader = modalities.build(name, folder)
    else:
        loader = kind_loader(name)
    digest = hashlib.blake2b(digest_size=8)
    for _ in range(COMPARED):
        for batch in loader:
            describe(batch, digest, {})
    digest.update(repr((torch.rand(1).item(), random.random(), np.random.rand())).encode())
    before, count = (account.cpu_seconds(), account.faults()), 0
    for _ in range(COUNTED):
        for batch in loader:
            count += 1
    cpu, faults = account.cpu_seconds() - before[0], account.faults() - before[1]
    if "stoker" in sys.modules:
        from stoker.handover import receiving

        print("stoker:", receiving.say() or "nothing was handed over", file=sys.stderr)
    print(f"cost {cpu * 1e3 / count:.3f} {faults / count:.0f} {digest.hexdigest()}")


def soak(count):
    """Hand over so many small batches, each looked at, and print what trainer and workers hold meanwhile."""
    import stoker

    stoker.feed()
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Data(Dataset):
        def __len__(self):
            return count

        def __getitem__(self, i):
            return {"id": torch.tensor([i]), "x": torch.full((18000,), i % 1000, dtype=torch.float32)}

    started = time.monotonic()
    for i, batch in enumerate(DataLoader(Data(), batch_size=None, num_workers=2)):
        if batch["id"].item() != i or batch["x"][0].item() != i % 1000 or batch["x"][-1].item() != i % 1000:
            sys.exit(f"batch {i} is {batch}")
        if i in (1000, count // 4, count // 2, 3 * count // 4, count - 1):
            held, files = [], 0
            for pid in (os.getpid(), *(child.pid for child in multiprocessing.active_children())):
                rss = re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{pid}/status").read())[1]
                rooms = open(f"/proc/{pid}/maps").read().count("stoker-batch")
                files += sum(f"_{pid}_" in name for name in os.listdir("/dev/shm"))
                held.append(f"{int(rss) / 1024:.0f} MB, {len(os.listdir(f'/proc/{pid}/fd'))} descriptors, {rooms} rooms")
            print(f"{i + 1:,} batches, {time.monotonic() - started:.0f} s: {'; '.join(held)}; {files} files in /dev/shm", flush=True)


def run(name, fed, folder, forked):
    """Run one kind or pipeline. Returns (CPU-ms, faults, digest, what Stoker said), or a sentence if it failed."""
    with account.Group() as group:
        code, out, said = (_fork if forked else _start)(name, fed, folder, group)
    found = re.search(r"^cost (\S+) (\S+) (\S+)$", out, re.MULTILINE)
    if code or not found:
        return f"{'fed' if fed else 'alone'}: exit code {code}: {(said.strip().splitlines() or [''])[-1]}"
    return float(found[1]), float(found[2]), found[3], [line for line in said.splitlines() if line.startswith("stoker")]


def _start(name, fed, folder, group):
    """Run `stoker feed -- python`, or Python alone."""
    before = [os.path.join(ROOT, "bin", "stoker"), "feed", "--"] if fed else []
    command = [*before, sys.executable, "-W", "ignore", __file__, "--measure", name, "--folder", folder]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=group.enter, env={**os.environ, **group.environment()})
    return done.returncode, done.stdout, done.stderr


def _fork(name, fed, folder, group):
    """Run in a fork of this process, which has imported PyTorch already, behind stoker.feed() or alone."""
    out, said = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
    child = os.fork()
    if not child:
        code = 1
        try:
            group.enter()
            os.environ.update(group.environment())
            os.dup2(out.fileno(), 1)
            os.dup2(said.fileno(), 2)
            if fed:
                import stoker

                stoker.feed()
            measure(name, folder)
            code = 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code, *(file.seek(0) or file.read() for file in (out, said))


def compare(name, rounds, *how):
    """Run a kind or pipeline alone and fed, in turn. Returns the cells of its row and its share, None if it failed."""
    alone, fed = [], []
    for _ in range(rounds):
        for fed_too, into in ((False, alone), (True, fed)):
            into.append(run(name, fed_too, *how))
            if isinstance(into[-1], str):
                return [name, *[""] * 5, into[-1]], None
    ratios = sorted(b[0] / a[0] for a, b in zip(alone, fed))
    medians = [statistics.median(each[k] for each in runs) for k in (0, 1) for runs in (alone, fed)]
    equal = "equal" if len({each[2] for each in (*alone, *fed)}) == 1 else "DIFFERENT"
    share = statistics.median(ratios)
    return [name, f"{medians[0]:.2f}", f"{medians[1]:.2f}", f"{share:.2f}", f"{ratios[0]:.2f} to {ratios[-1]:.2f}", f"{medians[2]:,.0f} to {medians[3]:,.0f}", equal], share


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", help="some kinds or pipelines only; a part of the name is enough")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--markdown", action="store_true", help="print a table")
    parser.add_argument("--pipelines", action="store_true", help="whole pipelines of modalities.py instead of kinds")
    parser.add_argument("--folder", default="", help="where pipelines keep their files (a temporary folder)")
    parser.add_argument("--soak", type=int, metavar="N", help="hand over so many small batches instead, and print memory and descriptors")
    parser.add_argument("--forked", action="store_true", help="run in forks of this process behind stoker.feed(), which saves importing PyTorch each time")
    parser.add_argument("--said", action="store_true", help="print what Stoker says of each as well")
    parser.add_argument("--measure", metavar="KIND", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure(options.measure, options.folder)
    if options.forked or options.soak:
        os.environ["STOKER_BIN"] = os.path.join(ROOT, "bin", "stoker")
        sys.path.insert(0, os.path.join(ROOT, "python"))
    if options.soak:
        return soak(options.soak)
    if options.forked:
        warnings.simplefilter("ignore")
        for module in ("torch", "av", "datasets", "h5py", "librosa", "pandas", "torch_geometric.loader", "torchaudio", "torchcodec", "webdataset"):
            with contextlib.suppress(ImportError):
                importlib.import_module(module)
        import torch

        torch.set_num_threads(1)
    line = "| {} | {} | {} | {} | {} | {} | {} |" if options.markdown else "{:60} {:>8} {:>8} {:>6} {:>14} {:>18} {}"
    print(line.format("kind", "PyTorch", "fed", "share", "least to most", "faults", "bytes"))
    if options.markdown:
        print(line.format("---", *["---:"] * 5, "---"))
    with contextlib.ExitStack() as stack:
        folder = ""
        names = kinds()
        if options.pipelines:
            import modalities

            names = modalities.PIPELINES
            folder = options.folder or stack.enter_context(tempfile.TemporaryDirectory())
        shares = []
        for name in names:
            if options.kinds and not any(part in name for part in options.kinds):
                continue
            if options.said:
                print(name, *run(name, True, folder, options.forked)[3:], sep="\n    ")
                continue
            cells, share = compare(name, options.rounds, folder, options.forked)
            shares += [] if share is None else [share]
            print(line.format(*cells), flush=True)
    if shares:
        print(f"median of {len(shares)} kinds: {statistics.median(shares):.2f}, most {max(shares):.2f}; {options.rounds} rounds in turn")


if __name__ == "__main__":
    sys.exit(main())
