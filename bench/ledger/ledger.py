#!/usr/bin/env python3
"""The rows of `stoker diagnose --json`'s ledger compared with a clock inside the script (clock.py).

    python3 bench/ledger/ledger.py                    # all, 12 s each
    python3 bench/ledger/ledger.py evaluation ranks   # some

Two things are asked of each run: the rows add up to the wall clock within 1 %, and no row is further than 3 % of the
run from what the script's own clock says. The warm-up counts as steps, and the exchange between ranks does: it runs in
them. The verdict judges one of two ranks and does not name it, so that the clock which fits better is taken. A
framework's callbacks do not tell the host's work between steps from the wait for a batch: there both count as steps.

Needs bin/stoker, bin/libnvidia-ml.so.1 and python/.venv (or --python). Exit code 1: a row is further off.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import clock

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
OFF = 0.03  # of the run
SUM = 0.01

PLAIN = (
    "steady by-itself starved evaluation validation checkpoint epochs uploads logging garbage edges sampler start tail skipping inference"
).split()
RANKS = "ranks late-rank ranks-evaluate".split()
FRAMEWORKS = [f"{name}{what}" for name in ("lightning", "trainer", "accelerate") for what in ("", "-evaluate", "-save", "-evaluate-save")]
STEPS = {"warm-up": "training", "ranks": "training"}
COARSE = STEPS | {"between-steps": "training"}  # callbacks do not tell the host's work from the wait for a batch


def command(kind: str, python: Path) -> list[str]:
    if kind in FRAMEWORKS:
        return [str(python), str(HERE / "frameworks.py"), kind]
    script = [str(HERE / "plain.py"), kind]
    if kind in RANKS:
        return [str(python), "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", *script]
    return [str(python), *script]


def observe(kind: str, options: argparse.Namespace) -> Path:
    """Run a script, and return the file of its clocks and its recording."""
    recording, kept = options.out / f"{kind}.jsonl.gz", options.out / f"{kind}.clocks.json"
    recording.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        times, marks = folder / "times", folder / "marks"
        timed = f'echo $EPOCHREALTIME >{times}; "$@"; code=$?; echo $EPOCHREALTIME >>{times}; exit $code'
        done = subprocess.run(
            [str(options.stoker), "observe", "-q", "-o", str(recording), "--", "bash", "-c", timed, "bash", *command(kind, options.python)],
            env=os.environ | {
                "STOKER_EMULATE": "1", "STOKER_BIN": str(options.stoker), "SECONDS_EACH": f"{options.seconds:g}",
                "CLOCK_FILE": str(marks), "PYTHONPATH": f"{ROOT}/python:{HERE}", "PYTHONWARNINGS": "ignore",
                "PYTHONDONTWRITEBYTECODE": "1", "CUDA_VISIBLE_DEVICES": "", "TOKENIZERS_PARALLELISM": "false",
            },
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=10 * options.seconds + 200, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{kind}: exit code {done.returncode}: {done.stdout[-800:]}")
        start, end = map(float, times.read_text().split())
        clocks = [clock.add_up(json.loads(file.read_text()), start, end) for file in sorted(folder.glob("marks*"))]
    kept.write_text(json.dumps({"wall": end - start, "clocks": clocks}))
    return kept


def judge(kind: str, options: argparse.Namespace) -> dict[str, float]:
    """The ledger's rows."""
    said = subprocess.run([str(options.stoker), "diagnose", "--json", str(options.out / f"{kind}.jsonl.gz")], check=True, capture_output=True)
    return join(kind, ((row["row"], row["seconds"]) for row in json.loads(said.stdout)["ledger"]))


def join(kind: str, parts: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Seconds by row, those that the clock does not tell apart as one."""
    rows: dict[str, float] = {}
    for name, seconds in parts:
        name = (COARSE if kind in FRAMEWORKS else STEPS).get(name, name)
        rows[name] = rows.get(name, 0) + seconds
    return rows


def compare(rows: dict, own: dict, wall: float) -> tuple[float, str]:
    """How far the furthest row is off, as a share of the run, and its name."""
    return max(((abs(rows.get(name, 0) - own.get(name, 0)) / wall, name) for name in rows | own))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(PLAIN + FRAMEWORKS + RANKS))
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--stoker", type=Path, default=ROOT / "bin/stoker")
    parser.add_argument("--python", type=Path, default=ROOT / "python/.venv/bin/python")
    parser.add_argument("--out", type=Path, default=ROOT / "bin/ledger")
    parser.add_argument("--again", action="store_true", help="judge the recordings of the last time once more")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True, mode=0o700)
    missed, runs = 0, options.kinds or PLAIN + FRAMEWORKS + RANKS
    print("| run | wall clock | rows' sum | furthest row | ledger | clock | of the run |\n|---|---|---|---|---|---|---|")
    for kind in runs:
        kept = json.loads((options.out / f"{kind}.clocks.json" if options.again else observe(kind, options)).read_text())
        rows, clocks, wall = judge(kind, options), [join(kind, own.items()) for own in kept["clocks"]], kept["wall"]
        own = min(clocks, key=lambda own: compare(rows, own, wall))
        off, worst = compare(rows, own, wall)
        summed = sum(rows.values())
        bad = off > OFF or abs(summed / wall - 1) > SUM
        missed += bad
        print(
            f"| {kind} | {wall:.2f} s | {100 * (summed / wall - 1):+.2f} % | {worst} | {rows.get(worst, 0):.2f} s | "
            f"{own.get(worst, 0):.2f} s | {100 * off:.2f} %{' **off**' if bad else ''} |", flush=True,
        )  # fmt: skip
        if bad:
            print(f"<!-- ledger {round_rows(rows)}, clock {round_rows(own)} -->", flush=True)
    print(f"{len(runs) - missed} of {len(runs)} hold")
    return 1 if missed else 0


def round_rows(rows: dict[str, float]) -> dict[str, float]:
    return {name: round(seconds, 2) for name, seconds in rows.items()}


if __name__ == "__main__":
    sys.exit(main())
