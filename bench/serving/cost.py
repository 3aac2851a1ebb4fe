#!/usr/bin/env python3
"""What observing costs a request: the same server with and without, in turn.

    bench/serving/cost.py --python ~/serve/bin/python --pairs 10

One client asks one request after the other. The server's core time per request is read from /proc when the load is over; the
client's median latency is printed too.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from time import monotonic

import situations


def cpu_of(pid):
    """Core seconds of a process's threads, which the kernel counts in nanoseconds: ticks are too coarse."""
    return sum(int(open(f"/proc/{pid}/task/{t}/schedstat").read().split()[0]) for t in os.listdir(f"/proc/{pid}/task")) / 1e9


def python_below(pid):
    """The server's own process, which observe started."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        for child in open(f"/proc/{pid}/task/{thread}/children").read().split():
            if b"server.py" in open(f"/proc/{child}/cmdline", "rb").read():
                return int(child)
    sys.exit("observe has no server below it")


def once(o, observed):
    port = situations.free_port()
    server = [o.python, str(situations.HERE / "server.py"), "no-load", str(port)]
    if observed:
        server = [o.stoker, "observe", "--no-trace", "-o", "/tmp/serving-cost.jsonl.gz", "--", *server]
    env = dict(os.environ, STOKER_EMULATE="1", PYTHONPATH=str(situations.ROOT / "python"))
    process = subprocess.Popen(server, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        if not situations.wait_until_open(port, process):
            sys.exit("the server did not open its port")
        pid = python_below(process.pid) if observed else process.pid
        load = [o.python, str(situations.HERE / "load.py"), "--port", str(port), "--clients", "1", "--seconds"]
        subprocess.run([*load, "2"], capture_output=True, check=True)
        before = cpu_of(pid)
        done = json.loads(subprocess.run([*load, str(o.seconds)], capture_output=True, check=True, text=True).stdout)
        return (cpu_of(pid) - before) / done["answered"], done["p50"]
    finally:
        process.terminate()
        process.wait()
        if observed:
            os.unlink("/tmp/serving-cost.jsonl.gz")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--stoker", default=str(situations.ROOT / "bin/stoker"))
    p.add_argument("--pairs", type=int, default=10)
    p.add_argument("--seconds", type=float, default=7)
    p.add_argument("--most", type=float, default=340, help="seconds after which no further pair begins")
    o = p.parse_args()
    core, share, time, begun = [], [], [], monotonic()
    for i in range(o.pairs):
        if monotonic() - begun > o.most:
            break
        pair = {observed: once(o, observed) for observed in ((True, False) if i % 2 else (False, True))}
        core.append((pair[True][0] - pair[False][0]) * 1e6)
        share.append((pair[True][0] - pair[False][0]) / pair[False][1] * 100)
        time.append((pair[True][1] / pair[False][1] - 1) * 100)
        print(f"{pair[False][0] * 1e6:.0f} -> {pair[True][0] * 1e6:.0f} us of core a request, p50 {pair[False][1] * 1e3:.2f} -> {pair[True][1] * 1e3:.2f} ms", flush=True)
    core.sort()
    print(f"core time a request: {statistics.median(core):+.0f} us in the median ({core[0]:+.0f} to {core[-1]:+.0f}), {statistics.median(share):+.2f} % of a request; "
          f"p50 {statistics.median(time):+.2f} % in the median of {len(core)} pairs; load {os.getloadavg()[0]:.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
