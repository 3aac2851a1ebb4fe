#!/usr/bin/env python3
"""Public reports of idle GPUs with a known cause, rewritten as scripts, and the verdict of each.

    python3 bench/reports/reports.py                    # all
    python3 bench/reports/reports.py anew missing       # some
    python3 bench/reports/reports.py --set fresh        # those of fresh/, by somebody who did not write the rules
    python3 bench/reports/reports.py --set fresh2       # those for practice, by somebody who did not know the rules; fresh7 too
    python3 bench/reports/reports.py --set fresh5       # those for practice, by the one who writes the rules (fresh4 too)
    python3 bench/reports/reports.py --set exam         # those of exam/, by somebody else who did not
    python3 bench/reports/reports.py --set exam3        # those of exam3/, by a third who did not; exam4 to exam13 as well
    python3 bench/reports/reports.py --quiet            # healthy scripts: nothing may be advised with a gain
    python3 bench/reports/reports.py --fix              # and what came of the reporter's fix
    python3 bench/reports/reports.py --neighbours 4     # with so many busy programs

A truth is a row of truths.csv: the report's address, its cause, the classes that
say so, and patterns of the place, of the fix and of harmful advice. Each script
has the reporter's fix behind --fix, which shows that the cause is the cause. Truths
were written before Stoker was asked.

Needs bin/stoker, bin/libnvidia-ml.so.1 and python/.venv. Exit code 1: something missing or harmful.
"""

import argparse
import contextlib
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "bench/reports"
sys.path.insert(0, str(ROOT / "bench/labelled"))


def environment(stoker: Path, seconds: float) -> dict:
    return os.environ | {
        "STOKER_EMULATE": "1", "STOKER_BIN": str(stoker), "SECONDS_EACH": f"{seconds:g}", "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": f"{ROOT}/python:{HERE}/scripts", "PYTHONWARNINGS": "ignore",
    }


class Bench:
    """Where things are, and how long runs take."""

    def __init__(self, options):
        self.stoker, self.python, self.seconds = options.stoker.resolve(), options.python, options.seconds
        self.out = options.out.resolve()
        self.out.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.environment = environment(self.stoker, self.seconds)

    def observe(self, folder: str, name: str, arguments: list[str], group: Path | None = None) -> tuple[Path, float]:
        """Observe a script: its recording, and the samples a second that it says itself."""
        recording = self.out / f"{name}{'-fix' if '--fix' in arguments else ''}.jsonl.gz"
        recording.unlink(missing_ok=True)
        command = [str(self.stoker), "observe", "-q", "-o", str(recording), "--", str(self.python), f"{name}.py", *arguments]
        if group:
            command = ["sh", "-c", f'echo $$ >{group}/cgroup.procs; exec "$@"', "sh", *command]
        done = subprocess.run(
            command, cwd=HERE / folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=5 * self.seconds + 120,
        )
        if done.returncode:
            raise RuntimeError(f"{name}: exit code {done.returncode}: {done.stdout[-800:]}")
        rates = re.findall(r": ([\d.]+) a second", done.stdout)
        return recording, float(rates[-1]) if rates else float("nan")

    def screen(self, recording: Path) -> str:
        """What a reader sees."""
        return self.ask("diagnose", str(recording))

    def json(self, recording: Path) -> dict:
        return json.loads(self.ask("diagnose", "--json", str(recording)))

    def ask(self, *arguments: str) -> str:
        return subprocess.run([str(self.stoker), *arguments], check=True, capture_output=True, text=True).stdout


def fixes_in_words(plan: list[dict]) -> str:
    """Return the advice as one text."""
    words = []
    for fix in plan or []:
        changes = (f"{c['setting']} {c['from']} -> {c['to']}" for c in fix["changes"])
        words.append(" ".join([fix["fix"], fix.get("title") or "", *changes, *(fix.get("notes") or [])]))
    return "\n".join(words)


def judge(truth: dict, diagnosis: dict, screen: str) -> dict:
    """Which parts of the truth were said, in the first two pieces of advice or on the screen."""
    text, advice = " ".join(screen.split()), " ".join(fixes_in_words([f for f in diagnosis["plan"][:2] if f["fix"] != "cores"]).split())
    said = {
        "class": bool(re.fullmatch(f"(?:.*/)?(?:{truth['class']})(?:/.*)?", diagnosis["verdict"]["class"])),
        "place": bool(re.search(truth["place"], text)),
        "fix": bool(re.search(truth["fix"], text)),
        "harm": bool(truth["harm"] and re.search(truth["harm"], advice)),
    }
    said["right"] = said["class"] and said["place"] and said["fix"] and not said["harm"]
    return said


def gains(diagnosis: dict) -> list[str]:
    """Changes that are advised with a gain."""
    return [fix["fix"] for fix in diagnosis["plan"] or [] if (fix.get("speedup") or {}).get("point") or (fix.get("run_speedup") or {}).get("high")]


def run_reports(bench: Bench, names: list[str], with_fix: bool, folder: str) -> int:
    missed = 0
    for truth in csv.DictReader((HERE / ("." if folder == "scripts" else folder) / "truths.csv").open()):
        name = truth["script"]
        if names and name not in names:
            continue
        with files_of(name, bench) as (arguments, group):
            recording, rate = bench.observe(folder, name, arguments, group)
            mended = bench.observe(folder, name, [*arguments, "--fix"], group)[1] / rate if with_fix else float("nan")
        diagnosis = bench.json(recording)
        said = judge(truth, diagnosis, bench.screen(recording))
        first = (diagnosis["plan"] or [{}])[0]
        row = [name, diagnosis["verdict"]["class"], *("yes" if said[k] else "no" for k in ("class", "place", "fix", "harm"))]
        print("| " + " | ".join([*row, first.get("fix", "-"), f"{mended:.2f}"]) + " |", flush=True)
        missed += not said["right"]
    return missed


@contextlib.contextmanager
def files_of(name: str, bench: Bench):
    """The arguments of a script, and the control group that it needs."""
    if name != "disk":
        yield [], None
        return
    import labelled

    with tempfile.TemporaryDirectory(dir=ROOT / "bin") as folder:
        labelled.make_files(Path(folder), bench.seconds)
        labelled.evict(Path(folder))
        with labelled.slow_disk(Path(folder)) as group:
            yield [folder], group


def run_quiet(bench: Bench, names: list[str]) -> int:
    missed = 0
    for path in sorted((HERE / "healthy").glob("*.py")):
        name = path.stem
        if name == "common" or names and name not in names:
            continue
        recording, _ = bench.observe("healthy", name, [])
        diagnosis = bench.json(recording)
        advised = gains(diagnosis)
        print("| " + " | ".join([name, diagnosis["verdict"]["class"], ", ".join(advised) or "-"]) + " |", flush=True)
        missed += bool(advised)
    return missed


@contextlib.contextmanager
def neighbours(count: int):
    """Run so many busy programs meanwhile."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"], stdin=subprocess.DEVNULL) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--quiet", action="store_true")
    fresh = ["fresh", "fresh2", "fresh3", "fresh4", "fresh5", "fresh7"]
    sets = ["scripts", *fresh, "exam", *(f"exam{n}" for n in range(3, 15))]
    parser.add_argument("--set", choices=sets, default="scripts")
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("--neighbours", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--stoker", type=Path, default=ROOT / "bin/stoker")
    parser.add_argument("--python", type=Path, default=ROOT / "python/.venv/bin/python")
    parser.add_argument("--out", type=Path, default=ROOT / "bin/reports")
    options = parser.parse_args()
    bench = Bench(options)
    with neighbours(options.neighbours):
        missed = run_quiet(bench, options.names) if options.quiet else run_reports(bench, options.names, options.fix, options.set)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
