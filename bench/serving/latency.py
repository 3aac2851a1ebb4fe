#!/usr/bin/env python3
"""Latency at a load that was not recorded: the forecast of predict serve --run, and the measured latency.

    bench/serving/latency.py --python ~/serve/bin/python
    bench/serving/latency.py --python ~/serve/bin/python --only no-load,thread-lock,queue-full --at-once 4    # 6 minutes, 13 loads

Each server is recorded once, at its base load. Its latencies at the other loads are predicted from that recording, and
then measured by recording each of them, for the minute that a forecast is about. Times are the server's own, or its
clients' if it blocks its event loop. A figure is inside if the measured p50 (p99) is in the predicted interval.
"""

import argparse
import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import situations

#: (file, its case, base load, other loads, requests of a pass at most, whether it blocks its event loop)
SERVERS = (
    ("server.py", "no-load", 8, (3, 5, 14, 20, 26), 16, False),
    ("server.py", "batch-of-one", 10, (4, 7, 16, 22, 28), 1, False),
    ("server.py", "downstream", 3, (2, 4, 5, 6, 7), 1, True),
    # Held out.
    ("unseen/api.py", "thread-lock", 3, (1.5, 5, 7, 8), 1, False),
    ("unseen/api.py", "queue-full", 8, (4, 14, 20, 28), 8, False),
)


def ask(o, *args):
    done = subprocess.run([o.stoker, "predict", "serve", "--json", "--run", *args], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def measure(o, file):
    """What the requests of a recording took, by the server's own clock."""
    figures = {f["name"]: f["value"] for f in situations.judge(o, file)["measured"]}
    return {"requests_per_s": figures["requests"], "p50_s": figures["request_p50"], "p99_s": figures["request_p99"]}


def asked_of_clients(file):
    """Latencies by the clients' clock: a request stays in the socket while the event loop is blocked."""
    load = json.loads(file.with_suffix(".load.json").read_text())
    return {"requests_per_s": load["rate"], "p50_s": load["p50"], "p99_s": load["p99"]}


def record_all(o, folder, servers):
    """Record each server at each of its loads, so many at once, and begin their loads together once all of them are open."""
    wanted = [(file, case, rate) for file, case, base, loads, *_ in servers for rate in (base, *loads)]

    def record(one):
        file, case, rate = one
        s = situations.Situation(case, file, f"--poisson {rate} --seed {int(10 * rate)}", (), "")
        to = folder / f"{case}-{rate}.jsonl.gz"
        load = situations.record(o, s, to)
        if load.get("error"):
            print(case, rate, load["error"], flush=True)
        else:
            to.with_suffix(".load.json").write_text(json.dumps(load))

    for i in range(0, len(wanted), o.at_once):
        part = wanted[i : i + o.at_once]
        o.begin_together = threading.Barrier(len(part))
        with ThreadPoolExecutor(len(part)) as pool:
            list(pool.map(record, part))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--stoker", default=str(situations.ROOT / "bin/stoker"))
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--keep", default="stoker-runs/latency")
    p.add_argument("--only", default="", help="cases, with commas")
    p.add_argument("--at-once", type=int, default=1, help="servers that are recorded side by side: each needs little of a core")
    p.add_argument("--again", action="store_true", help="predict from the recordings of --keep once more")
    p.add_argument("--trace", action="store_true", help=argparse.SUPPRESS)
    o = p.parse_args()
    folder = Path(o.keep)
    folder.mkdir(parents=True, exist_ok=True)
    inside = count = 0
    servers = [s for s in SERVERS if not o.only or s[1] in o.only.split(",")]
    if not o.again:
        record_all(o, folder, servers)
    for file, case, base, loads, most, blocks in servers:
        files = {rate: folder / f"{case}-{rate}.jsonl.gz" for rate in (base, *loads)}
        said = ask(o, str(files[base]), "--max-batch", str(most), "--load", ",".join(map(str, loads)))
        print(f"{case}: recorded at {base}/s, capacity {said['capacity_per_s']}", flush=True)
        for rate, one in zip(loads, said["loads"]):
            came = asked_of_clients(files[rate]) if blocks else measure(o, files[rate])
            row = f"{case:14} {rate:4}/s came {came['requests_per_s']:.1f}/s"
            for name in ("p50_s", "p99_s"):
                told, was = one[name], came[name]
                held = bool(told) and told["low"] is not None and told["low"] <= was <= told["high"]
                inside, count = inside + held, count + 1
                row += f"  {name[:3]} {told['point'] * 1e3:.0f} ms ({told['low'] * 1e3:.0f} to {told['high'] * 1e3:.0f}) came {was * 1e3:.0f} {'in' if held else 'OUT'}"
            seen = files[rate].with_suffix(".load.json")
            if seen.exists():
                load = json.loads(seen.read_text())
                row += f"  clients {load['p50'] * 1e3:.0f} and {load['p99'] * 1e3:.0f} ms"
            print(row, flush=True)
    print(f"inside {inside} of {count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
