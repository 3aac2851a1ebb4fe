#!/usr/bin/env python3
"""Workers in a Ray cluster whose nodes are network namespaces of this machine: a delay, the head's death, a network that is cut.

    sudo python/.venv/bin/python bench/loader/remote_network.py latency    batches/s with round trips of 0, 1, 5 and 20 ms
    sudo python/.venv/bin/python bench/loader/remote_network.py head --times 5
    sudo python/.venv/bin/python bench/loader/remote_network.py cut --times 5 --seconds 30

A head, a trainer's node and two nodes with cores have a namespace of processes each, and addresses at 10.55.0.1 and on. A bridge joins
them; for `latency` a switch of ours, which passes each packet on later (tc's netem is not in every kernel). A cut takes a node's
link down and up again. The head gives a node up after --misses, and in every second cluster Ray stays away from the trainer's. `head`
kills all processes of the head's node; the nodes then give up after --patience seconds instead of Ray's 60. Each batch must come once,
in order, equal to the script alone. The exit code is 1 if one does not.
"""

import argparse
import collections
import contextlib
import ctypes
import fcntl
import itertools
import json
import os
import random
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import remote

SPACE, PORT, STORE = "stk55-", 6379, 200 << 20
NODES = ("head", "trainer", "one", "two")
RAY = str(Path(sys.executable).parent / "ray")
ROUND_TRIPS = (0, 1, 5, 20)  # ms
PACE = 0.2  # seconds of a step: the loop still runs while nodes give up
ENDS = 40  # seconds in which actors end after the script
#: As `stoker feed --ray` does, from this checkout.
FEED = "import runpy, sys, stoker; stoker.feed(ray=sys.argv[1]); del sys.argv[:2]; runpy.run_path(sys.argv[0], run_name='__main__')"


def sh(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def inside(name, *words):
    return ["ip", "netns", "exec", SPACE + name, *words]


def address(name):
    return f"10.55.0.{NODES.index(name) + 1}"


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    # Ray 2.60 asks for a token if it ever made one.
    return {**kept, "RAY_AUTH_MODE": "token", "PYTHONPATH": str(remote.ROOT / "python"), **more}


@contextlib.contextmanager
def network(delay=None):
    """Make the namespaces. delay: a file that says by how many seconds the switch holds packets back."""
    remove()
    try:
        sh("ip", "netns", "add", SPACE + "switch")
        if not delay:
            sh(*inside("switch", "ip", "link", "add", "br0", "type", "bridge"))
            sh(*inside("switch", "ip", "link", "set", "br0", "up"))
        for number, name in enumerate(NODES):
            sh("ip", "netns", "add", SPACE + name)
            sh(*inside(name, "ip", "link", "set", "lo", "up"))
            if delay:
                sh(*inside(name, "ip", "tuntap", "add", "net0", "mode", "tun"))
                sh(*inside(name, "ip", "link", "set", "net0", "mtu", "60000"))
            else:
                sh(*inside(name, "ip", "link", "add", "net0", "type", "veth", "peer", "name", f"to{number}"))
                sh(*inside(name, "ip", "link", "set", f"to{number}", "netns", SPACE + "switch"))
                sh(*inside("switch", "ip", "link", "set", f"to{number}", "master", "br0", "up"))
            sh(*inside(name, "ip", "addr", "add", f"{address(name)}/24", "dev", "net0"))
            bring_up(name)
        switch = subprocess.Popen([sys.executable, __file__, "switch", "--delay", delay]) if delay else None
        yield
    finally:
        remove()
        if delay:
            switch.kill()
            switch.wait()


def remove():
    """End what runs in the namespaces, and remove them."""
    for name in (*NODES, "switch"):
        kill_all(name)
        subprocess.run(["ip", "netns", "del", SPACE + name], capture_output=True)


def bring_up(name):
    sh(*inside(name, "ip", "link", "set", "net0", "up"))
    sh(*inside(name, "ip", "route", "replace", "default", "dev", "net0"))  # Ray asks for the way to the internet


def cut(name, seconds):
    sh(*inside(name, "ip", "link", "set", "net0", "down"))
    time.sleep(seconds)
    bring_up(name)


def kill_all(name):
    found = subprocess.run(["ip", "netns", "pids", SPACE + name], capture_output=True, text=True).stdout.split()
    for pid in found:
        with contextlib.suppress(OSError):
            os.kill(int(pid), signal.SIGKILL)


def switch(file):
    """Pass packets between the namespaces, each so many seconds later as a file says."""
    ends, libc = [], ctypes.CDLL(None, use_errno=True)
    for name in NODES:
        with open(f"/run/netns/{SPACE}{name}") as space:
            if libc.setns(space.fileno(), 0x40000000):  # CLONE_NEWNET
                raise OSError(ctypes.get_errno(), "setns")
        ends.append(os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK))
        fcntl.ioctl(ends[-1], 0x400454CA, struct.pack("16sH", b"net0", 0x1001))  # TUNSETIFF, IFF_TUN | IFF_NO_PI
    waiting, delay, looked = collections.deque(), 0.0, 0.0
    while True:
        now = time.monotonic()
        if now - looked > 0.2:
            delay, looked = float(Path(file).read_text() or 0), now
        while waiting and waiting[0][0] <= now:
            _, to, packet = waiting.popleft()
            with contextlib.suppress(OSError):
                os.write(to, packet)
        rest = max(0, waiting[0][0] - time.monotonic()) if waiting else 0.2
        for end in select.select(ends, [], [], rest)[0]:
            with contextlib.suppress(BlockingIOError):
                while packet := os.read(end, 65536):
                    if packet[0] >> 4 == 4 and packet[16:19] == b"\x0a\x37\x00" and 1 <= packet[19] <= len(ends):
                        waiting.append((time.monotonic() + delay, ends[packet[19] - 1], packet))


def start_node(name, folder, cores, back=False, **variables):
    """Start Ray there. A namespace of processes and files each, because Ray finds its node among the processes."""
    own = Path(tempfile.mkdtemp(prefix=name, dir=folder))
    os.makedirs("/tmp/ray", exist_ok=True)
    place = ["--head", f"--port={PORT}", "--include-dashboard=false"] if name == "head" else [f"--address={address('head')}:{PORT}"]
    sizes = [f"--num-cpus={cores}", f"--object-store-memory={STORE}", f"--node-ip-address={address(name)}"]
    # with its first process all end, and the script is one of them
    stay = "" if name != "trainer" else '; while sleep 5; do "$@"; done' if back else "; sleep infinity"
    apart = ["unshare", "-p", "-f", "--mount-proc", "--kill-child", "sh", "-c", f'mount --bind {own} /tmp/ray && "$@"{stay}', "sh"]
    with open(own / "log", "w") as log:
        line = inside(name, *apart, RAY, "start", *place, *sizes, "--disable-usage-stats", "--block")
        return subprocess.Popen(line, stdout=log, stderr=log, env=environment(**variables), start_new_session=True)


def beside(node, *line):
    """A command on a node that runs."""
    first = node.pid
    while os.readlink(f"/proc/{first}/ns/pid") == os.readlink("/proc/self/ns/pid"):
        first = remote.children(first)[0]
    return ["nsenter", "-t", str(first), "-m", "-p", "-n", f"--wd={os.getcwd()}", *line]


@contextlib.contextmanager
def cluster(cores=4, delay=None, back=False, **variables):
    """Yields the processes of the nodes, by name. back: Ray is restarted on the trainer's node if it ends there."""
    with tempfile.TemporaryDirectory() as folder, network(delay):
        nodes = {}
        for name in NODES:
            nodes[name] = start_node(name, folder, cores if name in NODES[2:] else 0, back, **variables)
            if name == "head":
                wait_for(1)
        wait_for(len(NODES))
        nodes["start"] = lambda name: start_node(name, folder, cores, **variables)
        yield nodes


def wait_for(count):
    code = f"from ray._raylet import GcsClient; print(sum(n.state == 0 for n in GcsClient('{address('head')}:{PORT}').get_all_node_info().values()))"
    end = time.monotonic() + 180
    while time.monotonic() < end:
        done = subprocess.run(inside("head", sys.executable, "-c", code), capture_output=True, text=True, env=environment())
        if done.stdout.split()[-1:] == [str(count)]:
            return
        time.sleep(1)
    raise SystemExit(f"{count} nodes do not come up: {done.stdout} {done.stderr[-500:]}")


def actors():
    """Return the actors that run."""
    pids = [pid for name in NODES for pid in subprocess.run(["ip", "netns", "pids", SPACE + name], capture_output=True, text=True).stdout.split()]
    return [pid for pid in pids if remote.command_of(pid).startswith("ray::Worker")]


def play(kind, nodes, epochs, strike, chance):
    """Run the script, and do something to the cluster after some batches. Returns what came of it."""
    alone = remote.run(kind, 3, epochs)
    script = [sys.executable, "-W", "ignore", "-c", FEED, f"{address('head')}:{PORT}", os.path.abspath(remote.__file__), "train", kind, "3", str(epochs)]
    hits, lines = 0, []
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(beside(nodes["trainer"], *script), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment(**{remote.PACE: str(PACE)}))
        for line in process.stdout:
            lines.append(line.strip())
            if process.poll() is None and random.random() < chance:  # its lines may come long after it has printed them
                hits += strike()
        code = process.wait()
        errors.seek(0)
        told = remote.said_of(errors.read())
    end = time.monotonic() + ENDS
    while actors() and time.monotonic() < end:
        time.sleep(1)
    came = collections.Counter(lines)
    lost, twice = collections.Counter(alone) - came, came - collections.Counter(alone)
    found = {"kind": kind, "hits": hits, "code": code, "batches": len(lines), "equal": lines == alone, "prefix": lines == alone[: len(lines)]}
    # what would come after an error that the script was told of is not lost
    raised = code and found["prefix"] and any(line.startswith("Traceback") for line in told)
    return {**found, "lost": 0 if raised else lost.total(), "twice": twice.total(), "stay": len(actors()), "load": os.getloadavg()[0], "said": told}


def kill_heads(arguments):
    wrong = 0
    for number in range(arguments.times):
        with cluster(RAY_gcs_rpc_server_reconnect_timeout_s=str(arguments.patience)) as nodes:

            def strike(done=[]):  # noqa: B006, once in a cluster
                if done:
                    return 0
                done.append(1)
                kill_all("head")
                return 1

            found = play(arguments.kinds[number % len(arguments.kinds)], nodes, arguments.epochs, strike, arguments.chance)
            print(json.dumps(found), flush=True)
            wrong += bool(found["lost"] or found["twice"] or not found["prefix"] or found["stay"])
    return wrong


def cut_network(arguments):
    wrong = done = 0
    for number in itertools.count():
        if done >= arguments.times:
            return wrong
        back = number % 2 == 0
        with cluster(back=back, RAY_health_check_failure_threshold=str(arguments.misses)) as nodes:

            def strike():
                name = random.choice(arguments.nodes)
                cut(name, arguments.seconds)
                for each in NODES[2:]:
                    if nodes[each].poll() is not None:  # the head gave it up
                        nodes[each] = nodes["start"](each)
                return 1

            found = play(arguments.kinds[0], nodes, arguments.epochs, strike, arguments.chance)
            print(json.dumps({"back": back, **found}), flush=True)
            done += found["hits"]
            wrong += bool(found["code"] or not found["equal"] or found["stay"])


class Asleep:
    """40 ms a batch of 4."""

    def __len__(self):
        return 800

    def __getitem__(self, index):
        import torch

        time.sleep(0.01)
        return torch.full((3, 112, 112), float(index))


def time_epochs(file, rounds):
    """The script of `latency`: two loaders in turn, one with a sampler from which nothing is drawn early."""
    from torch.utils.data import DataLoader, RandomSampler

    class Own(RandomSampler):
        pass

    for trip in sorted(ROUND_TRIPS, reverse=True):
        Path(file).write_text(str(trip / 2000))
        time.sleep(1)
        loaders = {each: DataLoader(Asleep(), 4, sampler=each(range(800)), num_workers=2, persistent_workers=True) for each in (Own, RandomSampler)}
        for number in range(rounds + 1):
            for kind, loader in loaders.items():
                batches = iter(loader)
                next(batches)
                begun = time.monotonic()
                count = sum(1 for _ in batches)
                rate = count / (time.monotonic() - begun)
                if number:  # the first finds out
                    print(json.dumps({"ms": trip, "grows": kind is RandomSampler, "rate": rate, "ahead": loader._iterator._prefetch_factor, "load": os.getloadavg()[0]}), flush=True)
        del loaders, loader, batches


def delay_packets(arguments):
    with tempfile.NamedTemporaryFile("w") as file, cluster(delay=file.name) as nodes:
        line = [sys.executable, "-W", "ignore", "-c", FEED, f"{address('head')}:{PORT}", os.path.abspath(__file__), "epochs", "--delay", file.name, "--times", str(arguments.times)]
        done = subprocess.run(beside(nodes["trainer"], *line), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=environment())
    found = collections.defaultdict(list)
    for each in map(json.loads, filter(lambda line: line.startswith("{"), done.stdout.splitlines())):
        found[each["ms"], each["grows"]].append(each)
    for trip in ROUND_TRIPS:
        cells = []
        for grows in (False, True):
            rates = [each["rate"] for each in found[trip, grows]]
            cells.append(f"{statistics.median(rates):.1f} ({min(rates):.1f} to {max(rates):.1f}) | {found[trip, grows][-1]['ahead']}")
        print(f"| {trip} ms | {' | '.join(cells)} |")
    return done.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("latency", "head", "cut", "switch", "epochs"))
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=30, help="of a cut")
    parser.add_argument("--patience", type=int, default=8)
    parser.add_argument("--misses", type=int, default=20, help="answers that the head waits for in `cut`; with Ray's own 5 it gives a node up")
    parser.add_argument("--nodes", nargs="+", choices=NODES[1:], default=NODES[1:], help="to cut")
    parser.add_argument("--kinds", nargs="+", default=["tokens", "stream"])
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--chance", type=float, default=0.03, help="of a cut or a death, after each batch")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delay", help="a file, for the switch")
    arguments = parser.parse_args()
    if arguments.what in ("switch", "epochs"):
        return switch(arguments.delay) if arguments.what == "switch" else time_epochs(arguments.delay, arguments.times)
    random.seed(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        remote.prepare()
        wrong = {"latency": delay_packets, "head": kill_heads, "cut": cut_network}[arguments.what](arguments)
        os.chdir(remote.ROOT)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
