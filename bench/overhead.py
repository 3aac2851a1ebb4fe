#!/usr/bin/env python3
"""The cost of observing: step time of a script of 5 ms steps with and without `stoker observe`, in turn.

    python3 bench/overhead.py

The host is the limit of this script (load 3 + launch 2, device 2), so that all
work of the hook in the loop makes the step longer. The two runs of a pair follow
each other within seconds, and their order alternates, because a shared machine
changes its speed. It also prints the core time of observe itself: from its
recording (facts.overhead), and from the kernel (that of the process tree minus
that of the script).

--workers 2 also measures sampling in workers, and --observe=--no-lines measures
without line profiles.
"""

import argparse
import gzip
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOOP = "bench/labelled/loop.py"


@dataclass
class Half:
    """A run of the script."""

    step_s: float  # median
    script_core_s: float
    tree_core_s: float  # of the script and its parent
    wall_s: float
    overhead: dict = field(default_factory=dict)  # from the recording


def run(arguments: argparse.Namespace, folder: Path, observed: bool) -> Half:
    """Run the script once and read its output."""
    truth, recording = folder / "truth.json", folder / "overhead.jsonl.gz"
    recording.unlink(missing_ok=True)
    half = f"--load-ms 3 --launch-ms 2 --device-ms 2 --batch 8 --workers {arguments.workers}".split()
    command = [str(arguments.python), LOOP, *half, "--seconds", f"{arguments.seconds:g}", "--truth", str(truth)]
    if observed:
        command = [str(arguments.stoker), "observe", *arguments.observe, "-o", str(recording), "--", *command]
    before = os.times()
    done = subprocess.run(command, cwd=ROOT, env=os.environ | {"STOKER_EMULATE": "1"}, capture_output=True, text=True, timeout=600)
    after = os.times()
    if done.returncode:
        sys.exit(f"overhead: error: {' '.join(command)}: exit code {done.returncode}: {done.stderr[-600:].strip()}")
    told = json.loads(truth.read_text())
    tree = after.children_user + after.children_system - before.children_user - before.children_system
    return Half(_median_step(told["steps"]), told["cpu_s"], tree, after.elapsed - before.elapsed, _facts(recording) if observed else {})


def _median_step(pairs: list[list[int]]) -> float:
    """Return the median time between batches, without the first fifth, in which caches and the hook warm up."""
    got = [got for _, got in pairs[len(pairs) // 5 :]]
    return statistics.median(b - a for a, b in itertools.pairwise(got)) / 1e9


def _facts(recording: Path) -> dict:
    """Return the newest facts.overhead in a recording; {} if it has none."""
    found: dict = {}
    try:
        with gzip.open(recording, "rt") as lines:
            for line in lines:
                found = (json.loads(line).get("facts") or {}).get("overhead") or found
    except EOFError:
        pass  # the last line may be incomplete
    return found


def pairs_of(arguments: argparse.Namespace) -> list[tuple[Half, Half]]:
    """Run the pairs, (without, with), the order changing."""
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.pairs):
            order = (False, True) if number % 2 == 0 else (True, False)
            halves = {observed: run(arguments, Path(folder), observed) for observed in order}
            pairs.append((halves[False], halves[True]))
            without, within = pairs[-1]
            print(f"  without {without.step_s * 1e3:.4f} ms, with {within.step_s * 1e3:.4f} ms per step: {_change(pairs[-1]):+.2f} %", flush=True)
    return pairs


def _change(pair: tuple[Half, Half]) -> float:
    return 100 * (pair[1].step_s / pair[0].step_s - 1)


def spread(values: list[float], digits: int = 2) -> str:
    """Median, least and most."""
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} .. {max(values):.{digits}f})"


def report(pairs: list[tuple[Half, Half]]) -> None:
    print(f"step without observe: {spread([a.step_s * 1e3 for a, _ in pairs], 3)} ms")
    print(f"step with observe:    {spread([b.step_s * 1e3 for _, b in pairs], 3)} ms")
    print(f"change:               {spread([_change(pair) for pair in pairs])} %, n = {len(pairs)} pairs, in turn")
    # What a tree uses beyond its script, less what the interpreter's own end takes in the plain half.
    own = [100 * ((b.tree_core_s - b.script_core_s) - (a.tree_core_s - a.script_core_s)) / b.wall_s for a, b in pairs]
    print(f"observe's own CPU:    {spread(own)} % of a core, by the kernel's account")
    print(f"                      {json.dumps(pairs[-1][1].overhead) or 'unknown'} in the last recording (facts.overhead)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=7, help="pairs of runs (default 7)")
    parser.add_argument("--seconds", type=float, default=12, help="length of a run (default 12)")
    parser.add_argument("--workers", type=int, default=0, help="loader workers of the script (default 0)")
    parser.add_argument("--observe", metavar="FLAG", action="append", default=[], help="a flag for observe: --observe=--no-lines")
    parser.add_argument("--stoker", type=Path, default=ROOT / "bin" / "stoker")
    parser.add_argument("--python", type=Path, default=ROOT / "python" / ".venv" / "bin" / "python", help="interpreter with PyTorch")
    parser.add_argument("--json", metavar="FILE", help="write the runs to FILE as well")
    arguments = parser.parse_args()
    for path, how in ((arguments.stoker, "make build emulate"), (arguments.python, "python/install-torch")):
        if not path.exists():
            parser.error(f"no {path}: {how}")
    pairs = pairs_of(arguments)
    report(pairs)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps([[vars(a), vars(b)] for a, b in pairs], indent=1))


if __name__ == "__main__":
    main()
