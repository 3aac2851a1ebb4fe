#!/usr/bin/env python3
"""How near `stoker tune` comes to an exhaustive search: scenarios of bench/labelled/loop.py, real PyTorch, an emulated device.

    python3 bench/tune/tune.py                     all scenarios: hours
    python3 bench/tune/tune.py --only decode-1     some of them
    python3 bench/tune/tune.py --list

Of each scenario the loop runs with every setting of a grid, then `stoker tune` gets the script as it is. Its plan and the best of
the grid are then run in turn, so that the machine is the same for both. Beside them: as many workers as cores, which is what
PyTorch's own warning asks for. A healthy scenario has to be left alone. Lightning's tuner sets batch sizes and learning rates alone.
"""

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "python" / ".venv" / "bin" / "python"
STOKER = ROOT / "bin" / "stoker"
LOOP = ROOT / "bench" / "labelled" / "loop.py"
WORKERS = (0, 1, 2, 3, 4, 6, 8)
PREFETCH = (2, 4)


def scenarios() -> dict[str, dict[str, object]]:
    """Arguments of the loop by name; "neighbours" are busy loops beside it, "quota" cores."""
    chance, made = random.Random(18), {}

    def add(name: str, count: int, make) -> None:
        for number in range(1, count + 1):
            made[f"{name}-{number}"] = make()

    ms = lambda low, high: str(round(chance.uniform(low, high), 1))
    add("decode", 5, lambda: dict(args=["--load-ms", ms(20, 60), "--device-ms", ms(15, 40), "--launch-ms", "2", "--item"]))
    add("sleep", 5, lambda: dict(args=["--load-kind", "sleep", "--load-ms", ms(40, 150), "--device-ms", ms(15, 40), "--launch-ms", "1", "--item"]))
    add("too-few", 3, lambda: dict(args=["--load-kind", "sleep", "--load-ms", ms(90, 160), "--device-ms", ms(20, 30), "--workers", "1", "--item"]))
    add("uneven", 3, lambda: dict(args=["--load-kind", "sleep", "--load-ms", ms(50, 80), "--device-ms", ms(25, 35), "--workers", "2", "--slow-every", "64", "--slow-times", "20", "--item"]))
    add("epochs", 2, lambda: dict(args=["--load-kind", "sleep", "--load-ms", ms(60, 90), "--device-ms", "30", "--workers", "2", "--epoch", "400", "--item"]))
    add("neighbour", 3, lambda: dict(args=["--load-ms", ms(20, 40), "--device-ms", ms(20, 40), "--item"], neighbours=1))
    add("copies", 2, lambda: dict(args=["--load-ms", "5", "--device-ms", ms(15, 25), "--pageable-mb", "60", "--copy", "--workers", "2", "--item"]))
    add("launches", 2, lambda: dict(args=["--load-ms", "2", "--device-ms", "5", "--launch-ms", ms(20, 30), "--launches", "50", "--workers", "1"], healthy=True))
    add("healthy", 4, lambda: dict(args=["--load-ms", ms(2, 8), "--device-ms", ms(50, 80), "--launch-ms", "2", "--workers", "2"], healthy=True))
    return made


def set_to(arguments: list[str], workers: int, prefetch: int) -> list[str]:
    """The loop's arguments with other settings: it is the plan written by hand. The last of two counts."""
    return [*arguments, "--workers", str(workers), *(["--prefetch-factor", str(prefetch)] if workers else [])]


def environment() -> dict[str, str]:
    return {**os.environ, "STOKER_EMULATE": "1", "PYTHONPATH": str(ROOT / "python")}


def throughput(folder: Path, arguments: list[str], seconds: float, plan: Path | None = None) -> float:
    """Samples a second, as `stoker diagnose` has them."""
    file = folder / f"run-{len(list(folder.iterdir()))}.jsonl.gz"
    command = [str(PYTHON), str(LOOP), *arguments, "--seconds", str(seconds)]
    apply = [str(STOKER), "apply", "--force", str(plan), "--"] if plan else []
    subprocess.run([STOKER, "observe", "-q", "-o", file, "--", *apply, *command], check=True, env=environment(), cwd=folder, stdout=subprocess.DEVNULL)
    judged = json.loads(subprocess.run([STOKER, "diagnose", "--json", file], check=True, capture_output=True).stdout)
    return judged["settings"]["batch_size"] / judged["step"]["mean_s"]


def tuned(folder: Path, arguments: list[str], starts: int) -> dict[str, object]:
    command = [str(PYTHON), str(LOOP), *arguments, "--seconds", "600"]
    words = [STOKER, "tune", "--yes", "--json", "--starts", str(starts), "--longest", "40s", "-o", "tuned.json", "--", *command]
    done = subprocess.run(words, check=True, env=environment(), cwd=folder, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def judge(name: str, scenario: dict[str, object], options: argparse.Namespace) -> dict[str, object]:
    beside = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(scenario.get("neighbours", 0))]
    try:
        with tempfile.TemporaryDirectory() as place:
            return compare(name, scenario, options, Path(place))
    finally:
        for one in beside:
            one.kill()
            one.wait()


def compare(name: str, scenario: dict[str, object], options: argparse.Namespace, folder: Path) -> dict[str, object]:
    arguments = list(scenario["args"])
    result = tuned(folder, arguments, options.starts)
    plan = folder / "tuned.json"
    grid = {(workers, prefetch): 0.0 for workers, prefetch in itertools.product(options.workers, PREFETCH) if workers or prefetch == 2}
    for setting in grid:
        grid[setting] = throughput(folder, set_to(arguments, *setting), options.seconds)
    best, cores = max(grid, key=grid.get), len(os.sched_getaffinity(0))
    found = []
    for _ in range(options.rounds):  # in turn: the grid was run earlier, on another hour's machine
        ours = throughput(folder, arguments, options.seconds, plan if plan.exists() else None)
        found.append({
            "as it is": throughput(folder, arguments, options.seconds),
            "tune": ours,
            "search": throughput(folder, set_to(arguments, *best), options.seconds),
            "workers = cores": throughput(folder, set_to(arguments, cores, 2), options.seconds),
        })  # fmt: skip
    mean = {way: sum(one[way] for one in found) / len(found) for way in found[0]}
    return {
        "scenario": name, "starts": result["starts"], "kept": [trial["fix"] for trial in result["trials"] if trial["kept"]], "stopped": result["stopped"],
        "best": best, "healthy": scenario.get("healthy", False), "samples_s": mean, "share_of_search": mean["tune"] / mean["search"],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--seconds", type=float, default=20, help="of each run of the grid and of the comparison")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--workers", type=int, nargs="+", default=WORKERS, help="the grid")
    options = parser.parse_args()
    every = scenarios()
    if options.list:
        for name, scenario in every.items():
            print(f"{name:14} {' '.join(scenario['args'])}" + (f"  [{scenario['neighbours']} neighbours]" if "neighbours" in scenario else ""))
        return
    worst = 0
    for name in options.only or every:
        result = judge(name, every[name], options)
        print(json.dumps(result), flush=True)
        wrong = bool(result["kept"]) if result["healthy"] else result["share_of_search"] < 0.95
        worst += wrong
    sys.exit(1 if worst else 0)


if __name__ == "__main__":
    main()
