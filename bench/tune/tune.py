#!/usr/bin/env python3
"""How near `stoker tune` comes to an exhaustive search: scenarios of bench/labelled/loop.py, real PyTorch, an emulated device.

    python/.venv/bin/python bench/tune/tune.py                     all scenarios that the results lack: about 55 minutes
    python/.venv/bin/python bench/tune/tune.py --only decode-1     some of them, anew
    python/.venv/bin/python bench/tune/tune.py --table             what the results say, as the table of docs/tune.md

Of each scenario `stoker tune` gets the script as it is. Then the loop runs with every setting of a grid, a few seconds each; then
what tune's plan makes of the script, the script as it is and the two best of the grid in turn, so that the machine is the same for
all. The grid holds torch's defaults and "as many workers as cores", which PyTorch's own warning asks for, as well. Batches are
held against each other. Lightning's and Accelerate's tuners set batch sizes and learning rates, and no loader: they do not apply.
To load PyTorch takes seconds, so each run but tune's is a fork of this program.
"""

import argparse
import itertools
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "labelled"))

import loop  # noqa: E402

STOKER = ROOT / "bin" / "stoker"
LOOP = ROOT / "bench" / "labelled" / "loop.py"
WORKERS = (0, 1, 2, 3, 4, 6, 8)
PREFETCH = (2, 4)
CORES = len(os.sched_getaffinity(0))


def scenarios() -> dict[str, dict[str, object]]:
    """Arguments of the loop by name; "neighbours" are busy loops beside it."""
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


def rate(arguments: list[str], seconds: float) -> dict[str, object]:
    """Run the loop in a fork of us."""
    with tempfile.NamedTemporaryFile() as truth:
        child = os.fork()
        if child == 0:
            try:
                warnings.simplefilter("ignore")  # of more workers than cores
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                sys.argv = [str(LOOP), *arguments, "--seconds", str(seconds), "--digest", "--truth", truth.name]
                loop.main()
                os._exit(0)
            finally:
                os._exit(1)
        if os.waitpid(child, 0)[1]:
            sys.exit(f"tune: error: run loop.py {' '.join(arguments)}: see above")
        return measured(Path(truth.name)) or rate(arguments, 2 * seconds)


def planned(plan: Path, arguments: list[str], seconds: float) -> dict[str, object]:
    """Run the loop as it is, with what a plan sets."""
    truth = plan.with_suffix(".truth")
    command = [sys.executable, LOOP, *arguments, "--seconds", str(seconds), "--digest", "--truth", truth]
    subprocess.run([STOKER, "apply", "--force", plan, "--", *command], check=True, env=environment(), stdout=subprocess.DEVNULL)
    return measured(truth) or planned(plan, arguments, 2 * seconds)


def measured(truth: Path) -> dict[str, object] | None:
    """Batches a second of the later three quarters, by whole epochs where there are some; and which batches they were. None: too few."""
    written = json.loads(truth.read_text())
    came = [got for _, got in written["steps"]]
    if len(came) < 20:
        return None
    late = next(n for n, got in enumerate(came) if got >= came[0] + (came[-1] - came[0]) / 4)
    last, epoch = len(came) - 1, written["epoch_steps"]
    if last - late > epoch:
        last = late + (last - late) // epoch * epoch
    return {"rate": (last - late) / (came[last] - came[late]) * 1e9, "batches": written["batches"]}


def environment() -> dict[str, str]:
    return {**os.environ, "STOKER_EMULATE": "1", "PYTHONPATH": str(ROOT / "python")}


def tuned(folder: Path, arguments: list[str], options: argparse.Namespace) -> dict[str, object]:
    command = [sys.executable, LOOP, *arguments, "--seconds", "600"]
    words = [STOKER, "tune", "--yes", "--json", "--starts", str(options.starts), "--longest", "60s", "-o", "tuned.json", "--", *command]
    return json.loads(subprocess.run(words, check=True, env=environment(), cwd=folder, stdout=subprocess.PIPE).stdout)


def judge(scenario: dict[str, object], options: argparse.Namespace) -> dict[str, object]:
    beside = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(scenario.get("neighbours", 0))]
    try:
        with tempfile.TemporaryDirectory() as place:
            return compare(scenario, options, Path(place))
    finally:
        for one in beside:
            one.kill()
            one.wait()


def compare(scenario: dict[str, object], options: argparse.Namespace, folder: Path) -> dict[str, object]:
    arguments, plan = list(scenario["args"]), folder / "tuned.json"
    result = tuned(folder, arguments, options)
    settings = [(workers, prefetch) for workers, prefetch in itertools.product(WORKERS, PREFETCH) if workers or prefetch == 2]
    grid = {setting: rate(set_to(arguments, *setting), options.seconds)["rate"] for setting in settings}
    best = sorted(grid, key=grid.get)[-2:]
    ways = {"as it is": lambda: rate(arguments, options.seconds), "tune": lambda: planned(plan, arguments, options.seconds)}
    ways |= {setting: lambda setting=setting: rate(set_to(arguments, *setting), options.seconds) for setting in best}
    if not plan.exists():
        del ways["tune"]
    found = {way: [] for way in ways}
    for _ in range(options.rounds):  # in turn: the grid was run in other seconds of the machine
        for way, run in ways.items():
            found[way].append(run())
    mean = {way: statistics.mean(one["rate"] for one in runs) for way, runs in found.items()}
    best.sort(key=mean.get)
    ours = found.get("tune", found["as it is"])
    pairs = zip(ours[0]["batches"], found["as it is"][0]["batches"])  # no run lasts as many steps as the other
    return {
        "healthy": scenario.get("healthy", False), "starts": result["starts"], "stopped": result["stopped"],
        "kept": [str(change["setting"]) + "=" + str(change["to"]) for loader in result["plan"]["loaders"] for change in loader["changes"]],
        "best": best[-1], "same": all(one == other for one, other in pairs),
        "rates": {"as it is": mean["as it is"], "torch's defaults": grid[0, 2], "workers = cores": grid[CORES, 2], "tune": mean.get("tune", mean["as it is"]), "search": mean[best[-1]]},
    }  # fmt: skip


def wrong(result: dict[str, object]) -> str:
    """What tune did wrong, "" where nothing."""
    share = result["rates"]["tune"] / result["rates"]["search"]
    if not result["same"]:
        return "batches differ"
    if result["healthy"]:
        return "not left alone" if result["kept"] else ""
    return "" if share >= 0.95 else f"{share:.0%} of the search"


def table(results: dict[str, dict[str, object]]) -> None:
    """The rates are shares of the search's."""
    ways = ("as it is", "torch's defaults", "workers = cores", "tune")
    print("| scenario | " + " | ".join(ways) + " | best of the grid | tune kept | starts | |\n|" + "---|" * 9)
    for name, one in results.items():
        shares = [f"{one['rates'][way] / one['rates']['search']:.0%}" for way in ways]
        best = "%d workers, prefetch %d" % tuple(one["best"])
        print(f"| {name} | " + " | ".join(shares) + f" | {best} | {', '.join(one['kept']) or 'nothing'} | {one['starts']} | {wrong(one)} |")
    bad = [name for name, one in results.items() if wrong(one)]
    print(f"\n{len(results) - len(bad)} of {len(results)} as they should be" + (": not " + ", ".join(bad) if bad else ""))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--table", action="store_true", help="run nothing")
    parser.add_argument("--results", type=Path, default=ROOT / "bin" / "tune.json", help="where they are kept, after each scenario")
    parser.add_argument("--seconds", type=float, default=4, help="of each run of the grid and of the comparison")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--starts", type=int, default=5)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that neighbours end with us
    every = scenarios()
    results = json.loads(options.results.read_text()) if options.results.exists() else {}
    if options.list:
        for name, scenario in every.items():
            print(f"{name:14} {' '.join(scenario['args'])}" + (f"  [{scenario['neighbours']} neighbours]" if "neighbours" in scenario else ""))
        return
    for name in () if options.table else options.only or [name for name in every if name not in results]:
        results[name] = judge(every[name], options)
        print(name, json.dumps(results[name]), flush=True)
        options.results.write_text(json.dumps(results, indent=1))
    table({name: results[name] for name in every if name in results})
    sys.exit(any(map(wrong, results.values())))


if __name__ == "__main__":
    main()
