#!/usr/bin/env python3
"""Compare `stoker tune` with an exhaustive search: scenarios of bench/labelled/loop.py, real PyTorch, an emulated device.

    python/.venv/bin/python bench/tune/tune.py --minutes 55        all scenarios without a result, as many as there is time for
    python/.venv/bin/python bench/tune/tune.py --only decode-1     some of them again
    python/.venv/bin/python bench/tune/tune.py --table             print the table of bench/tune/RESULTS.md

For each scenario, `stoker tune` gets the unchanged script. Then the loop runs with every setting of a grid, for a few seconds each.
Finally the script with tune's plan and with the two best settings of the grid run the same number of steps in turn (A B C C B A), so
that changes of the machine affect all. If tune is slower, this is repeated, and all four rounds count. The grid includes torch's
defaults and "as many workers as cores", as PyTorch's warning recommends. Batches are compared with those of the unchanged script. A
healthy script passes if nothing was changed. Lightning's and Accelerate's tuners set batch sizes and learning rates but no loader, so
they are not compared. Loading PyTorch takes seconds, so each run except tune's is a fork of this program.
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
import time
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
ENOUGH = 0.95  # of the search's throughput


def scenarios() -> dict[str, dict[str, object]]:
    """Arguments of the loop by name; "neighbours" are busy loops at the same time."""
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
    names = sorted(made, key=lambda name: int(name.rpartition("-")[2]))  # one of each kind first, as time may run out
    return {name: made[name] for name in names}


def set_to(arguments: list[str], workers: int, prefetch: int) -> list[str]:
    """Return the loop's arguments with other settings, as if the plan were written by hand. Later ones override."""
    return [*arguments, "--workers", str(workers), *(["--prefetch-factor", str(prefetch)] if workers else [])]


def rate(arguments: list[str], steps: int | None, seconds: float) -> dict[str, object]:
    """Run the loop in a fork, for a number of steps or seconds."""
    with tempfile.NamedTemporaryFile() as truth:
        child = os.fork()
        if child == 0:
            try:
                os.setpgid(0, 0)
                warnings.simplefilter("ignore")  # the warning about more workers than cores
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                sys.argv = [str(LOOP), *arguments, *until(steps, seconds), "--truth", truth.name]
                loop.main()
                os._exit(0)
            finally:
                os._exit(1)
        code = None
        try:
            _, code = os.waitpid(child, 0)
        finally:
            if code is None:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
        if code:
            raise RuntimeError(f"run loop.py {' '.join(arguments)}: see above")
        return measure_rate(Path(truth.name)) or rate(arguments, steps, 2 * seconds)


def until(steps: int | None, seconds: float) -> list[str]:
    return ["--digest", "--seconds", str(seconds), *(["--steps", str(steps)] if steps else [])]


def run_plan(plan: Path, arguments: list[str], steps: int, seconds: float) -> dict[str, object]:
    """Run the unchanged loop with the settings of a plan."""
    truth = plan.with_suffix(".truth")
    run_command([STOKER, "tune", "--force", "--plan", plan, "--", sys.executable, LOOP, *arguments, *until(steps, seconds), "--truth", truth])
    return measure_rate(truth) or run_plan(plan, arguments, steps, 2 * seconds)


def measure_rate(truth: Path) -> dict[str, object] | None:
    """Return batches a second after the first quarter of the steps, over whole epochs if possible, and the batches. None: too few."""
    written = json.loads(truth.read_text())
    came = [got for _, got in written["steps"]]
    if len(came) < 12:
        return None
    late, last, epoch = len(came) // 4, len(came) - 1, written["epoch_steps"]
    if last - late > epoch:
        last = late + (last - late) // epoch * epoch
    return {"rate": (last - late) / (came[last] - came[late]) * 1e9, "batches": written["batches"]}


def environment() -> dict[str, str]:
    return {**os.environ, "STOKER_EMULATE": "1", "PYTHONPATH": str(ROOT / "python")}


def run_command(words: list[object], folder: Path | None = None) -> str:
    """Return the output of a command. If this program is ended, the command gets SIGTERM, and tune ends its own processes."""
    with subprocess.Popen(words, env=environment(), cwd=folder, stdout=subprocess.PIPE, text=True) as command:
        try:
            printed, _ = command.communicate()
        except BaseException:
            command.terminate()
            raise
    if command.returncode:
        raise RuntimeError(f"{words[1]}: code {command.returncode}: see above")
    return printed


def run_tune(folder: Path, arguments: list[str], options: argparse.Namespace) -> dict[str, object]:
    command = [sys.executable, LOOP, *arguments, "--seconds", "600"]
    return json.loads(run_command([STOKER, "tune", "--yes", "--json", "--starts", str(options.starts), "--longest", "90s", "-o", "tuned.json", "--", *command], folder))


def judge(scenario: dict[str, object], options: argparse.Namespace) -> dict[str, object]:
    beside = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(scenario.get("neighbours", 0))]
    signal.alarm(options.most)
    try:
        with tempfile.TemporaryDirectory() as place:
            return compare(scenario, options, Path(place))
    except (TimeoutError, RuntimeError) as failed:
        return {"failed": str(failed)}
    finally:
        signal.alarm(0)
        for one in beside:
            one.kill()
            one.wait()


def compare(scenario: dict[str, object], options: argparse.Namespace, folder: Path) -> dict[str, object]:
    arguments, plan, load = list(scenario["args"]), folder / "tuned.json", os.getloadavg()[0]
    result = run_tune(folder, arguments, options)
    found = {
        "healthy": scenario.get("healthy", False), "starts": result["starts"], "stopped": result["stopped"], "load": load,
        "kept": [str(change["setting"]) + "=" + str(change["to"]) for loader in result["plan"]["loaders"] for change in loader["changes"]],
        "tried": [str(change["setting"]) + "=" + str(change["to"]) for trial in result["trials"] for change in trial["changes"]],
    }  # fmt: skip
    return found if found["healthy"] else found | search_grid(arguments, plan, options)


def search_grid(arguments: list[str], plan: Path, options: argparse.Namespace) -> dict[str, object]:
    """Compare tune's plan with the two best settings of the grid."""
    settings = [(workers, prefetch) for workers, prefetch in itertools.product(WORKERS, PREFETCH) if workers or prefetch == 2]
    grid = {setting: rate(set_to(arguments, *setting), None, options.seconds)["rate"] for setting in settings}
    best = sorted(grid, key=grid.get)[-2:]
    steps = max(40, round(1.5 * options.seconds * grid[best[-1]]))
    most = 8 * options.seconds  # if tune found little
    asis = rate(arguments, steps, options.seconds)
    ways = {setting: lambda setting=setting: rate(set_to(arguments, *setting), steps, most) for setting in best}
    ways["tune"] = lambda: run_plan(plan, arguments, steps, most) if plan.exists() else rate(arguments, steps, most)
    runs = {way: [] for way in ways}
    in_turn(ways, runs)
    if shares(runs)[0] < ENOUGH:
        in_turn(ways, runs)
    share, setting = shares(runs)
    pairs = zip(runs["tune"][0]["batches"], asis["batches"])  # no run lasts as many steps as the other
    mean = statistics.mean(one["rate"] for one in runs[setting])
    return {
        "best": setting, "same": all(one == other for one, other in pairs), "rounds": len(runs[setting]),
        "rates": {"as it is": asis["rate"], "torch's defaults": grid[0, 2], "workers = cores": grid[CORES, 2], "tune": share * mean, "search": mean},
    }  # fmt: skip


def in_turn(ways: dict[object, object], runs: dict[object, list]) -> None:
    """Run one round and its mirror image, so that a steady drift cancels."""
    for way in [*ways, *reversed(ways)]:
        runs[way].append(ways[way]())


def shares(runs: dict[object, list]) -> tuple[float, object]:
    """Return tune's rate over that of the better grid setting, as the geometric mean over rounds, and that setting."""
    against = {
        way: statistics.geometric_mean([one["rate"] / other["rate"] for one, other in zip(runs["tune"], theirs)]) for way, theirs in runs.items() if way != "tune"
    }
    setting = min(against, key=against.get)
    return against[setting], setting


def wrong(result: dict[str, object]) -> str:
    """Return what tune did wrong; "" if nothing."""
    if "failed" in result:
        return result["failed"]
    if result["healthy"]:
        return "not left alone" if result["kept"] else ""
    if not result["same"] and result["kept"]:  # nothing kept sets nothing: the script's batches are then not the same from run to run
        return "batches differ"
    share = result["rates"]["tune"] / result["rates"]["search"]
    return "" if share >= ENOUGH else f"{share:.0%} of the search"


def table(results: dict[str, dict[str, object]]) -> None:
    """Return the table. Rates are shares of those of the search."""
    ways = ("as it is", "torch's defaults", "workers = cores", "tune")
    print("| scenario | " + " | ".join(ways) + " | best of the grid | tune kept | starts | |\n|" + "---|" * 9)
    for name, one in results.items():
        rates = one.get("rates", {})  # none of a healthy script, and of a scenario that failed
        reached = [f"{rates[way] / rates['search']:.0%}" if rates else "" for way in ways]
        own = "" if one.get("same", True) else "the script's own batches differ from run to run"
        best = "%d workers, prefetch %d" % tuple(one["best"]) if rates else ""
        print(f"| {name} | {' | '.join(reached)} | {best} | {', '.join(one.get('kept', [])) or 'nothing'} | {one.get('starts', '')} | {wrong(one) or own} |")
    bad = [name for name, one in results.items() if wrong(one)]
    print(f"\n{len(results) - len(bad)} of {len(results)} as they should be" + (": not " + ", ".join(bad) if bad else ""))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--table", action="store_true", help="run nothing")
    parser.add_argument("--results", type=Path, default=ROOT / "bin" / "tune.json", help="where they are kept, after each scenario")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no scenario that may not end within so many")
    parser.add_argument("--most", type=int, default=420, help="end a scenario after so many seconds, as failed")
    parser.add_argument("--seconds", type=float, default=3, help="of each run of the grid; those of the comparison take half as long again")
    parser.add_argument("--starts", type=int, default=5)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that neighbours end, too
    signal.signal(signal.SIGALRM, too_long)
    every = scenarios()
    results = json.loads(options.results.read_text()) if options.results.exists() else {}
    if options.list:
        for name, scenario in every.items():
            print(f"{name:14} {' '.join(scenario['args'])}" + (f"  [{scenario['neighbours']} neighbours]" if "neighbours" in scenario else ""))
        return
    began, longest = time.monotonic(), 0.0
    for name in () if options.table else options.only or [name for name in every if "failed" in results.get(name, {"failed": ""})]:
        start = time.monotonic()
        if start - began + longest > 60 * options.minutes:
            break
        results[name] = judge(every[name], options)
        longest = max(longest, time.monotonic() - start)
        print(name, f"{time.monotonic() - start:.0f} s", json.dumps(results[name]), flush=True)
        options.results.write_text(json.dumps(results, indent=1))
    table({name: results[name] for name in every if name in results})
    sys.exit(any(map(wrong, results.values())))


def too_long(*_: object) -> None:
    raise TimeoutError("took too long")


if __name__ == "__main__":
    main()
