#!/usr/bin/env python3
"""What it costs to bring a batch from a worker to the trainer, by PyTorch alone and under `stoker feed`.

    python/.venv/bin/python bench/loader/handover.py                 all kinds, 5 rounds in turn (10 minutes on a quiet machine)
    python/.venv/bin/python bench/loader/handover.py --rounds 1 mel  one kind, once
    python/.venv/bin/python bench/loader/handover.py --markdown      rows of HANDOVER.md

A sample is a copy of one of four sources, so that all but nothing is paid for making it. CPU time is that of the trainer
and its worker, in the second of two epochs; a digest of all bytes must be the same in both.
"""

import argparse
import collections
import dataclasses
import hashlib
import os
import re
import resource
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BATCHES = 40
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


def measure(name):
    """Print CPU-ms a batch, page faults a batch and the digest of one kind, in this process and its worker."""
    import numpy as np
    import torch
    from torch.utils.data import DataLoader, Dataset

    torch.set_num_threads(1)
    shape, dtype, size, sample, collate = kinds()[name]
    made = np.random.default_rng(7)
    sources = [torch.from_numpy((made.standard_normal(shape) * 50).astype(dtype)) for _ in range(4)]

    class Data(Dataset):
        def __len__(self):
            return size * BATCHES

        def __getitem__(self, i):
            return sample(sources[i % 4].clone(), i)

    def walk(thing, digest):
        if isinstance(thing, (torch.Tensor, np.ndarray)):
            digest.update(np.ascontiguousarray(thing).tobytes())
        elif isinstance(thing, dict):
            walk(list(thing.values()), digest)
        elif isinstance(thing, (list, tuple)):
            for part in thing:
                walk(part, digest)
        elif hasattr(thing, "__dict__"):
            walk(vars(thing), digest)
        else:
            digest.update(repr(thing).encode())

    def used():
        of = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(each.ru_utime + each.ru_stime for each in of), sum(each.ru_minflt for each in of)

    loader, digest = DataLoader(Data(), size, num_workers=1, collate_fn=collate), hashlib.blake2b(digest_size=8)
    for batch in loader:
        walk(batch, digest)
    before = used()
    for batch in loader:
        pass
    after = used()
    print(f"cost {(after[0] - before[0]) * 1e3 / BATCHES:.3f} {(after[1] - before[1]) / BATCHES:.0f} {digest.hexdigest()}")


def run(name, fed):
    before = [os.path.join(ROOT, "bin", "stoker"), "feed", "--"] if fed else []
    done = subprocess.run([*before, sys.executable, __file__, "--measure", name], capture_output=True, text=True)
    found = re.search(r"^cost (\S+) (\S+) (\S+)$", done.stdout, re.MULTILINE)
    if done.returncode or not found:
        sys.exit(f"error: {name}: exit code {done.returncode}\n{done.stderr}")
    return float(found[1]), float(found[2]), found[3]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", help="some kinds only; a part of the name is enough")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--markdown", action="store_true", help="print a table")
    parser.add_argument("--measure", metavar="KIND", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure(options.measure)
    names = [name for name in kinds() if not options.kinds or any(part in name for part in options.kinds)]
    shares = []
    line = "| {} | {} | {} | {} | {} | {} | {} |" if options.markdown else "{:24} {:>8} {:>8} {:>6} {:>14} {:>15} {}"
    print(line.format("kind", "PyTorch", "fed", "share", "least to most", "faults", "bytes"))
    if options.markdown:
        print(line.format("---", *["---:"] * 5, "---"))
    for name in names:
        alone, fed = zip(*[(run(name, False), run(name, True)) for _ in range(options.rounds)])
        ratios = sorted(b[0] / a[0] for a, b in zip(alone, fed))
        shares.append(statistics.median(ratios))
        digests = {each[2] for each in (*alone, *fed)}
        print(
            line.format(
                name,
                f"{statistics.median(a[0] for a in alone):.2f}",
                f"{statistics.median(b[0] for b in fed):.2f}",
                f"{shares[-1]:.2f}",
                f"{ratios[0]:.2f} to {ratios[-1]:.2f}",
                f"{statistics.median(a[1] for a in alone):,.0f} to {statistics.median(b[1] for b in fed):,.0f}",
                "equal" if len(digests) == 1 else "DIFFERENT",
            ),
            flush=True,
        )
    print(f"median of {len(shares)} kinds: {statistics.median(shares):.2f}, most {max(shares):.2f}; {options.rounds} rounds in turn")


if __name__ == "__main__":
    sys.exit(main())
