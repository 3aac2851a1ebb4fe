#!/usr/bin/env python3
"""Random chains of operations on pictures, by Pillow and torchvision alone and with deferred pictures.

    python/.venv/bin/python bench/loader/chains.py --count 30000 --seed 3

feed/picture/testdata/chains.py draws them, here each of a JPEG, as only JPEGs are deferred. Its Go test checks the daemon's operations alone. This one
also checks the recording, the errors raised at once and the warnings. Each chain runs twice from one seed, and differences are printed.
"""

import argparse
import itertools
import os
import random
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:1] = [str(ROOT / "python"), str(ROOT / "feed/picture/testdata")]  # not this folder, whose chains is this


def run_chain(chains, seed):
    """Return the chain's result or error, and its warnings."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            out = chains.chain(random.Random(seed), files=1.0)
        except Exception as error:
            out = f"{type(error).__name__}: {error}"
    return out, [f"{each.category.__name__}: {each.message}" for each in said]


def is_of_jpeg(out):
    """Whether the chain's file may be deferred; a chain that raises is tried with any file."""
    return isinstance(out, str) or out[3].startswith(b"\xff\xd8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", default="1")
    arguments = parser.parse_args()
    sys.argv[1:] = []  # which chains.py reads
    os.environ["STOKER_BIN"] = str(ROOT / "bin/stoker")
    import chains
    import torch

    from stoker.deferred import deferring
    from stoker.deferred.materialize.line import Line
    from stoker.deferred.recipes.pictures import Recording, Tally

    torch.set_num_threads(1)
    deferring._install()
    deferring._reported_needs |= {1, 2, 3}  # nothing is said of pixels that are asked for
    assert deferring._ensure_line() and deferring._make_ready()
    made, differ, call = 0, 0, Line.__call__

    def counting(line, jobs):
        nonlocal made
        left = call(line, jobs)
        made += len(jobs) - len(left)
        return left

    Line.__call__ = counting
    tried = 0
    for number in itertools.count():
        seed = f"{arguments.seed} {number}"
        alone, recording = run_chain(chains, seed), Recording(Tally())
        if not is_of_jpeg(alone[0]):
            continue
        fed = deferring._run_deferred(lambda: run_chain(chains, seed), recording)  # noqa: B023 # called at once
        tried += 1
        if alone != fed:
            differ += 1
            print(f"chain {number} differs: {str(alone)[:600]}\n  {str(fed)[:600]}", flush=True)
        if tried == arguments.count:
            break
    print(f"{arguments.count} chains, {made} pictures made by the daemon; {differ} differ")
    sys.exit(differ > 0)


if __name__ == "__main__":
    main()
