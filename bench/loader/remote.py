#!/usr/bin/env python3
"""Workers in a Ray cluster of three nodes on this machine, compared with the script alone: equality of batches, cost, deaths.

    python/.venv/bin/python bench/loader/remote.py equal            digests of each kind of data set
    python/.venv/bin/python bench/loader/remote.py cost             CPU of the trainer's node, batches and bytes a second
    python/.venv/bin/python bench/loader/remote.py deaths --minutes 20            actors, nodes, heads and drivers in turn
    python/.venv/bin/python bench/loader/remote.py record network --recording run.jsonl.gz    a loop that is starved in one way

The trainer's node has no core. Two others have --cores each, which Ray takes on trust, so workers share this machine's cores. h5py, webdataset,
soundfile and PyAV are used where they are installed; a kind whose library is missing is left out, with a line. The exit code is 1 if a batch differs.
"""

import argparse
import collections
import contextlib
import dataclasses
import hashlib
import importlib.util
import io
import itertools
import json
import os
import random
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STOKER = os.environ.get("STOKER_BIN") or str(ROOT / "bin/stoker")
COST = 0.02  # seconds a sample takes in `cost`: asleep, as this machine has no cores for more workers
BIG_STORE = 1 << 30  # in `cost`
STORE = 200 << 20  # bytes of each node's object store: /dev/shm is shared by all three
SILENCE = 3  # seconds in which a node answers nothing
#: The head gives a node up after some 2 s without an answer, in place of some 30 s. So 3 s do what 30 s do to a cluster as it comes.
HASTY = {"health_check_period_ms": 500, "health_check_timeout_ms": 500, "health_check_failure_threshold": 2, "health_check_initial_delay_ms": 0}
AFTERWARDS = 3  # seconds in which a node that was given up notices it
SHAPE = (3, 224, 224)  # of a sample in `cost`, float32: 0.6 MB


def train():
    """The script. It knows nothing of Stoker: `remote.py train KIND WORKERS EPOCHS` prints a digest of each batch."""
    import torch

    kind, workers, epochs = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    torch.manual_seed(7)
    loader = KINDS[kind](workers)
    for _ in range(epochs):
        begun, count, size = time.perf_counter(), 0, 0
        for batch in loader:
            count += 1
            if kind in TIMED:
                size += (batch if kind == "asleep" else batch[0]).nbytes
                continue
            time.sleep(float(os.environ.get(PACE, 0)))
            digest = hashlib.sha256()
            add(batch, digest)
            print(digest.hexdigest()[:16], flush=True)
        if kind in TIMED:
            print(json.dumps({"batches": count, "seconds": time.perf_counter() - begun, "bytes": size}), flush=True)
            time.sleep(1)  # others look at the CPU that it has used


def add(value, digest):
    if dataclasses.is_dataclass(value):
        value = dataclasses.asdict(value)
    if isinstance(value, dict):
        value = [part for item in sorted(value.items()) for part in item]
    if isinstance(value, (list, tuple)):
        for part in value:
            add(part, digest)
    elif hasattr(value, "numpy"):
        digest.update(str((value.dtype, tuple(value.shape))).encode() + value.numpy().tobytes())
    else:
        digest.update(repr(value).encode())


def load(dataset, workers, batch=4, **more):
    from torch.utils.data import DataLoader

    return DataLoader(dataset, batch, num_workers=workers, persistent_workers=workers > 0, **more)


def pictures(workers):
    from torchvision import transforms as T
    from torchvision.datasets import ImageFolder

    return load(ImageFolder("pictures", T.Compose([T.RandomResizedCrop(64), T.RandomHorizontalFlip(), T.ToTensor()])), workers, shuffle=True)


class Clips:
    def __len__(self):
        return 24

    def __getitem__(self, index):
        import av
        import numpy as np

        first = random.randrange(20)
        with av.open("clip.mp4") as file:
            frames = [frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)]
        return np.stack(frames[first : first + 8])


class Sounds:
    def __len__(self):
        return 40

    def __getitem__(self, index):
        import soundfile
        import torch

        first = int(torch.randint(8000, (1,)))
        return torch.from_numpy(soundfile.read("sound.flac", 4000, first, dtype="float32")[0]), {"first": first}


class Rows:
    file = None

    def __len__(self):
        return 64

    def __getitem__(self, index):
        import h5py

        if self.file is None:  # each worker opens it
            self.file = h5py.File("rows.h5")
        return self.file["x"][index], self.file["y"][index]


class Tokens:
    def __init__(self, count=80, length=128):
        import numpy as np

        self.all, self.count, self.length = np.memmap("tokens.bin", np.uint16), count, length

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        import numpy as np
        import torch

        first = np.random.randint(len(self.all) - self.length - 1)
        row = torch.from_numpy(self.all[first : first + self.length + 1].astype(np.int64))
        return row[:-1], row[1:]


def shards(workers):
    import webdataset

    stream = webdataset.WebDataset("shards/{0..3}.tar", shardshuffle=4, seed=5, empty_check=False).shuffle(20, seed=5).decode("torchrgb").to_tuple("jpg", "cls")
    return load(stream, workers)


@dataclasses.dataclass
class Scene:
    points: object
    boxes: list
    name: str


class Scenes:
    def __len__(self):
        return 40

    def __getitem__(self, index):
        import torch

        return Scene(torch.rand(500 + index, 3), [torch.rand(4) for _ in range(index % 5)], f"scene {index}")


def photos(workers):
    from torch.utils.data import ConcatDataset
    from torchvision import transforms as T
    from torchvision.datasets import ImageFolder

    folder = ImageFolder("photos", T.Compose([T.RandomResizedCrop(SHAPE[1:]), T.RandomHorizontalFlip(), T.ToTensor()]))
    return load(ConcatDataset([folder] * 100), workers, 32, shuffle=True)


def make_stream():
    """An IterableDataset: torch knows it by its class."""
    import torch
    from torch.utils.data import IterableDataset, get_worker_info

    class Stream(IterableDataset):
        def __iter__(self):
            worker = get_worker_info()
            for index in range(worker.id, 80, worker.num_workers):
                yield torch.rand(20) + index

    return Stream()


def as_is(samples):
    return samples


class Asleep:
    def __len__(self):
        return 640

    def __getitem__(self, index):
        import torch

        time.sleep(COST)
        return torch.full(SHAPE, float(index))


class Starving:
    """Samples of so many bytes that sleep, longer on a slow node."""

    def __init__(self, limit):
        self.limit = limit

    def __len__(self):
        return 10**6

    def __getitem__(self, index):
        import ray
        import torch

        slow = self.limit.slow_node and ray.get_runtime_context().get_node_id() == self.limit.slow_node
        time.sleep(self.limit.sample * (SLOWER if slow else 1))
        return torch.full((self.limit.bytes // 4,), float(index))


@dataclasses.dataclass
class Limit:
    """What limits a loop: `record` starts its cluster with `store` and `cores`."""

    workers: int
    sample: float  # seconds
    step: float
    bytes: int = 100_000  # of a sample
    store: int = STORE
    cores: int = 8
    ahead: int = 2
    rate: str = ""  # of the network, in tc's words
    slow_node: str = ""  # Ray's number of it


SLOWER = 5  # times
LIMITS = {
    "too-few-workers": Limit(workers=3, sample=0.02, step=0.012),
    "slow-node": Limit(workers=4, sample=0.005, step=0.012, cores=2),
    "network": Limit(workers=6, sample=0.004, step=0.012, bytes=600_000, rate="400mbit"),
    "object-store": Limit(workers=6, sample=0.03, step=0.012, bytes=5_000_000, store=80 << 20, ahead=4),
}


def starve():
    """The script of `record`: `remote.py starve KIND SLOW_NODE SECONDS`, a loop on the emulated device."""
    import torch
    from stoker.emulated import Device
    from torch.utils.data import DataLoader

    limit = dataclasses.replace(LIMITS[sys.argv[2]], slow_node=sys.argv[3])
    loader = DataLoader(Starving(limit), 4, num_workers=limit.workers, prefetch_factor=limit.ahead, pin_memory=False)
    device, end = Device(), None
    for batch in loader:
        end = end or time.monotonic() + float(sys.argv[4])  # after the cluster's start
        device.copy(batch.nbytes, pinned=True, non_blocking=True)
        device.launch(limit.step, "step")
        if time.monotonic() > end:
            break
    device.synchronize(spin=False)


def record(arguments):
    """Observe a loop that its cluster starves. A limit with a rate runs in a network namespace."""
    kind = arguments.kind
    limit = LIMITS[kind]
    if limit.rate and not os.environ.get(WITHIN):
        again = shlex.join([sys.executable, os.path.abspath(__file__), "record", kind, "--recording", arguments.recording, "--seconds", str(arguments.seconds)])
        inside = f"ip link set lo up && tc qdisc add dev lo root tbf rate {limit.rate} burst 256k latency 400ms && exec {again}"
        return subprocess.run(["unshare", "-n", "sh", "-c", inside], env={**os.environ, WITHIN: "1"}, check=False).returncode
    with cluster(limit.cores, limit.store, _system_config=FULL_DISK) as (own, nodes):
        slow = nodes[0].node_id if kind == "slow-node" else ""
        train = [sys.executable, "-W", "ignore", __file__, "starve", kind, slow, str(arguments.seconds)]
        command = [STOKER, "observe", "-q", "-o", arguments.recording, "--", STOKER, "feed", "--ray", own.address, "--", *train]
        return subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode


NO_SPARES = {"prestart_worker_first_driver": False, "enable_worker_prestart": False}  # actors with variables take no Python of these
FULL_DISK = {"local_fs_capacity_threshold": 0.99}  # Ray writes nothing from 0.95 on, and this machine's disk is that full
WITHIN = "STOKER_BENCH_NAMESPACE"
DEATHS = ("actor", "node", "silence", "head", "driver")
PACE = "STOKER_BENCH_PACE"  # seconds of the loop's own for each batch
KINDS = {
    "pictures": pictures,
    "video": lambda workers: load(Clips(), workers),
    "audio": lambda workers: load(Sounds(), workers, shuffle=True),
    "HDF5": lambda workers: load(Rows(), workers, shuffle=True),
    "tokens": lambda workers: load(Tokens(), workers, shuffle=True),
    "webdataset": shards,
    "scenes": lambda workers: load(Scenes(), workers, collate_fn=as_is),
    "stream": lambda workers: load(make_stream(), workers),
    "asleep": lambda workers: load(Asleep(), workers),
    "photos": photos,
    "sequences": lambda workers: load(Tokens(9600, 2048), workers, 32, shuffle=True),
}
TIMED = ("asleep", "photos", "sequences")  # of `cost`
NEEDS = {"video": "av", "audio": "soundfile", "HDF5": "h5py", "webdataset": "webdataset"}


def prepare():
    """Write the files of all kinds into the folder that this process is in."""
    import numpy as np
    import tarfile
    from PIL import Image

    chance = np.random.default_rng(1)
    os.makedirs("pictures/a")
    os.makedirs("photos/a")
    os.makedirs("shards")
    for number in range(12):
        noise = chance.integers(0, 255, (30, 40, 3), np.uint8)
        Image.fromarray(noise).resize((500, 375), Image.BICUBIC).save(f"photos/a/{number}.jpg")
    tars = [tarfile.open(f"shards/{number}.tar", "w") for number in range(4)]
    for number in range(48):
        out = io.BytesIO()
        Image.fromarray(chance.integers(0, 255, (90, 120, 3), np.uint8)).save(out, "JPEG")
        Path(f"pictures/a/{number:02}.jpg").write_bytes(out.getvalue())
        for name, content in ((f"{number:02}.jpg", out.getvalue()), (f"{number:02}.cls", b"3")):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tars[number % 4].addfile(entry, io.BytesIO(content))
    for tar in tars:
        tar.close()
    chance.integers(0, 1000, 100_000, np.uint16).tofile("tokens.bin")
    if importlib.util.find_spec("h5py"):
        import h5py

        with h5py.File("rows.h5", "w") as file:
            file["x"], file["y"] = chance.random((64, 50, 7)), np.arange(64)
    if importlib.util.find_spec("soundfile"):
        import soundfile

        soundfile.write("sound.flac", chance.uniform(-0.5, 0.5, 16_000), 16_000)
    if importlib.util.find_spec("av"):
        import av

        with av.open("clip.mp4", "w") as file:
            stream = file.add_stream("mpeg4", rate=10)
            stream.width, stream.height, stream.pix_fmt = 96, 64, "yuv420p"
            for _ in range(30):
                file.mux(stream.encode(av.VideoFrame.from_ndarray(chance.integers(0, 255, (64, 96, 3), np.uint8), format="rgb24")))
            file.mux(stream.encode())


def command(kind, workers, epochs, address=None):
    ours = [STOKER, "feed", "--ray", address, "--"] if address else []
    return [*ours, sys.executable, "-W", "ignore", __file__, "train", kind, str(workers), str(epochs)]


def run(kind, workers, epochs, address=None):
    done = subprocess.run(command(kind, workers, epochs, address), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{kind}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    if address and "run in the Ray cluster" not in done.stderr:
        raise SystemExit(f"{kind}: not in the cluster\n{done.stderr}")
    return done.stdout.splitlines()


@contextlib.contextmanager
def cluster(cores, store=STORE, **head):
    """Start three nodes; yields the cluster and the two that have cores."""
    from ray.cluster_utils import Cluster

    own = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": store, **head})
    try:
        yield own, [own.add_node(num_cpus=cores, object_store_memory=store) for _ in range(2)]
    finally:
        own.shutdown()


def compare(arguments):
    """Print for each kind how many batches came, and how many differ."""
    wrong = 0
    with cluster(arguments.cores) as (own, _):
        for kind in KINDS:
            library = NEEDS.get(kind)
            if kind in TIMED or (library and not importlib.util.find_spec(library)):
                if library:
                    print(f"{kind}: left out, {library} is not installed")
                continue
            alone, fed = (run(kind, 3, 2, address) for address in (None, own.address))
            differ = sum(one != other for one, other in zip(alone, fed)) + abs(len(alone) - len(fed))
            wrong += differ
            print(f"{kind}: {len(alone)} batches, {differ} differ", flush=True)
    return wrong


def measure(arguments):
    """Print the trainer's node's CPU a batch, batches and MB a second, by workers; the median of rounds in turn.

    Of two epochs with the same workers the second counts. Ray's own processes are those of the trainer's node. With --held they, the
    script and its local workers share so many cores.
    """
    print("| work | workers | where | batches/s | MB/s | CPU-ms a batch: trainer | its local workers | Ray there |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    with cluster(arguments.cores, BIG_STORE) as (own, _):
        for kind in arguments.work:
            for workers in arguments.workers:
                found = {"this node": [], "Ray": []}
                for _ in range(arguments.rounds):
                    for where, address in (("this node", None), ("Ray", own.address)):
                        found[where].append(time_epoch(kind, workers, address, own.head_node, arguments.held))
                for where, rounds in found.items():
                    rates = [each["batches"] / each["seconds"] for each in rounds]
                    size = rounds[0]["bytes"] / rounds[0]["batches"] / 1e6
                    cells = " | ".join(say_spread([1000 * each["used"][who] / each["batches"] for each in rounds]) for who in ("trainer", "workers", "Ray"))
                    print(f"| {kind} | {workers} | {where} | {statistics.median(rates):.1f} | {size * statistics.median(rates):.0f} | {cells} |", flush=True)
    return 0


def say_spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


@contextlib.contextmanager
def held(cores):
    """Yields a function that holds processes to so many cores together. It takes root."""
    if not cores:
        yield lambda pids: None
        return
    old = Path("/sys/fs/cgroup/cpu")
    group = (old if old.is_dir() else old.parent) / f"stoker-bench-{os.getpid()}"
    group.mkdir()

    def move(pids, to=group):
        for pid in pids:
            with contextlib.suppress(OSError):  # it has ended
                (to / "cgroup.procs").write_text(str(pid))

    try:
        (group / ("cpu.cfs_quota_us" if old.is_dir() else "cpu.max")).write_text(str(int(100_000 * cores)))
        yield move
    finally:
        move((group / "cgroup.procs").read_text().split(), group.parent)
        group.rmdir()


def processes_of(node):
    return [each.process.pid for group in node.all_processes.values() for each in group]


def time_epoch(kind, workers, address, head, cores=None):
    """Run the script; returns the figures of its second epoch, with the CPU that each used meanwhile."""
    script = subprocess.Popen(command(kind, workers, 2, address), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    rays = processes_of(head) if address else []
    looks = []
    with held(cores) as hold:
        for line in script.stdout:
            below = children(script.pid)
            hold([script.pid, *below, *rays])
            looks.append({"trainer": cpu_of(script.pid), "workers": sum(map(cpu_of, below)), "Ray": sum(map(cpu_of, rays))})
        told = script.stderr.read()
    if script.wait() or len(looks) != 2 or bool(address) != ("run in the Ray cluster" in told):
        raise SystemExit(f"{kind}: {told[-2000:]}")
    return {**json.loads(line), "used": {who: looks[1][who] - looks[0][who] for who in looks[0]}}


def cpu_of(pid):
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def kill(arguments):
    """Kill actors, drivers, nodes and heads while scripts train, in turn: each batch must come once, in order, equal."""
    end, wrong = time.monotonic() + 60 * arguments.minutes, 0
    totals = {what: collections.Counter() for what in arguments.of}
    alone = {what: run("tokens", WORKERS.get(what, 3), EPOCHS_OF_A_HEAD if what == "head" else arguments.epochs) for what in arguments.of}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and the cluster ends
    with contextlib.ExitStack() as stack:
        ground = Ground(stack, arguments.cores, NODES_DIE.intersection(arguments.of))
        for what in itertools.cycle(arguments.of):
            if time.monotonic() > end or all(total["deaths"] >= arguments.kills for total in totals.values()):
                break
            if totals[what]["deaths"] < arguments.kills:
                totals[what] += train_under_fire(what, alone[what], ground, end, arguments.chance)
                print(json.dumps({"of": what, **{name: totals[what][name] for name in TOLD}, "load": os.getloadavg()[0]}), flush=True)
    print(f"| killed | {' | '.join(TOLD)} |\n| --- |{' ---: |' * len(TOLD)}")
    for what, total in totals.items():
        print(f"| {what} | {' | '.join(str(total[name]) for name in TOLD)} |")
        wrong += total["differ"] + total["left over"]
    return wrong


TOLD = ("deaths", "runs", "batches", "differ", "lost", "twice", "left over")
NODES_DIE = {"node", "silence"}
#: Workers of a script, by what is killed; 3 elsewhere. Each one that is started again imports PyTorch.
WORKERS = {"head": 1, "driver": 2}
EPOCHS_OF_A_HEAD = 3  # the whole cluster ends with it
TURN = 60  # seconds in which one script is struck: the others have their turn
STEP = 0.05  # seconds of the loop's own for each batch, so that it outlives a strike
RAYLETS_STAY = 4  # seconds that nodes live without a head, in place of 60
STARTS = 4  # times that a cluster is started
WAIT = 60  # seconds for nodes to come up
ENDS = 20  # seconds in which processes end after their script
MARK = "STOKER_BENCH_MARK"  # a variable of all processes that a script begins


class Ground:
    """A cluster, and another one once its head is dead."""

    def __init__(self, stack, cores, nodes_die):
        self.cores, self.cluster, self.nodes, self.seen = cores, None, [], set()
        self.count, self.hasty = (2, HASTY) if nodes_die else (1, {})
        os.environ["RAY_gcs_rpc_server_reconnect_timeout_s"] = str(RAYLETS_STAY)
        stack.callback(self.end)

    def begin(self):
        """Start nodes until all are alive. On a busy machine, 30 s may be too short for one: Ray gives it no more."""
        for left in reversed(range(STARTS)):
            try:
                return self._begin()
            except Exception as error:
                self.end()
                print(json.dumps({"nodes do not come up": str(error)[:80], "tries left": left}), flush=True)
        raise SystemExit("no cluster")

    def _begin(self):
        from ray.cluster_utils import Cluster

        if self.cluster is None:
            system = {"_system_config": {**self.hasty, **NO_SPARES, **FULL_DISK}}
            head = {"num_cpus": 0, "include_dashboard": False, "no_monitor": True, "include_log_monitor": False, "object_store_memory": STORE, **system}
            self.cluster, self.nodes = Cluster(initialize_head=True, head_node_args=head), []
        elif raylet_of(self.cluster.head_node).poll() is not None:  # the head gave it up
            self.end()
            return self._begin()
        for node in [each for each in self.nodes if raylet_of(each).poll() is not None]:
            self.remove(node)
        while len(self.nodes) < self.count:
            self.nodes.append(self.cluster.add_node(wait=False, num_cpus=self.cores, object_store_memory=STORE, include_log_monitor=False))
        self.cluster.wait_for_nodes(WAIT)

    def remove(self, node):
        self.nodes.remove(node)
        with contextlib.suppress(Exception):  # Ray's own checks of what has ended
            self.cluster.remove_node(node, allow_graceful=False)

    def end(self):
        if self.cluster is not None:
            with contextlib.suppress(Exception):
                self.cluster.shutdown()
            self.cluster = None

    def actors(self):
        """Return the actors that run, of this cluster alone. They may outlive their nodes."""
        raylets = [raylet_of(node).pid for node in self.nodes if raylet_of(node).poll() is None]
        self.seen.update(pid for raylet in raylets for pid in children(raylet))
        self.seen = {pid for pid in self.seen if command_of(pid).startswith("ray::")}
        return [pid for pid in self.seen if command_of(pid).startswith("ray::Worker")]


def raylet_of(node):
    return node.all_processes["raylet"][0].process


def train_under_fire(what, alone, ground, end, chance):
    """Run the script once, and strike until the turn ends; returns how many deaths there were, and what they did to its batches."""
    ground.begin()
    hit, lines, errors, mark = 0, [], [], f"{os.getpid()}-{time.monotonic_ns()}"
    words = command("tokens", WORKERS.get(what, 3), len(alone) // EPOCH, ground.cluster.address)
    head_at = random.randrange(1, len(alone))  # a cluster has one head to lose
    script = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, PACE: str(STEP), MARK: mark})
    reader = threading.Thread(target=lambda: errors.append(script.stderr.read()))
    reader.start()
    for line in script.stdout:
        if not lines:
            end = min(end, time.monotonic() + TURN)
        lines.append(line.strip())
        ground.actors()
        struck = len(lines) == head_at if what == "head" else random.random() < chance
        if struck and time.monotonic() < end and len(lines) < len(alone):
            hit += strike(what, ground, mark)
    code = script.wait()
    reader.join()
    if "in the Ray cluster" not in errors[0]:  # "workers run", "1 worker runs"
        print(json.dumps({"of": what, "not in the cluster": said_of(errors[0])}), flush=True)
        ground.end()
        return collections.Counter()
    left = list_left(mark, ground)
    if hit and what == "head":
        ground.end()
    came = collections.Counter(lines)
    lost, twice = collections.Counter(alone) - came, came - collections.Counter(alone)
    if (code, lines) != (0, alone) or left:
        equal = next((number for number, pair in enumerate(zip(lines, alone)) if pair[0] != pair[1]), len(lines))
        print(json.dumps({"of": what, "exit code": code, "batches": len(lines), "equal": equal, "left": left, "said": said_of(errors[0])}), flush=True)
    found = {"differ": (code, lines) != (0, alone), "lost": lost.total(), "twice": twice.total(), "left over": len(left)}
    return collections.Counter(deaths=hit, runs=1, batches=len(lines), **found)


EPOCH = 20  # batches of `tokens`


def list_left(mark, ground):
    """Return what a script that has ended left running, once it had the time to end."""
    end = time.monotonic() + ENDS
    while (left := [command_of(pid) for pid in [*find_marked(mark), *ground.actors()]]) and time.monotonic() < end:
        time.sleep(0.5)
    return left


def find_marked(mark):
    """Return the processes that a script began: its driver, and workers beside it."""
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"{MARK}={mark}".encode() in place.read_bytes().split(b"\0"):
                found.append(int(place.parent.name))
    return found


def said_of(errors):
    """Return what Stoker and Python said, without Ray's own words."""
    lines = errors.splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith("Traceback")), len(lines))
    return [line for line in lines if line.startswith("stoker")][-6:] + lines[start:][:40]


def strike(what, ground, mark):
    """Do it to one at random; returns how many were hit."""
    if what in ("actor", "driver"):
        found = ground.actors() if what == "actor" else [pid for pid in find_marked(mark) if "driver.serve" in command_of(pid)]
        if found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(random.choice(sorted(found)), signal.SIGKILL)
        return len(found[:1])
    if what == "head":
        ground.cluster.head_node.all_processes["gcs_server"][0].process.kill()
        return 1
    node = random.choice(ground.nodes)
    if what == "silence":
        raylet = raylet_of(node)
        be_silent([raylet.pid, *children(raylet.pid)])
        with contextlib.suppress(subprocess.TimeoutExpired):
            raylet.wait(AFTERWARDS)
    else:
        ground.remove(node)
    ground.begin()
    return 1


def be_silent(pids):
    """Stop these processes for a while: to the others the node's network is cut."""
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        if number == signal.SIGSTOP:
            time.sleep(SILENCE)


def children(pid):
    found = []
    with contextlib.suppress(OSError):  # it has ended
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    return found


def command_of(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


def main():
    if sys.argv[1:2] == ["train"]:
        return train()
    if sys.argv[1:2] == ["starve"]:
        return starve()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("equal", "cost", "deaths", "record"))
    parser.add_argument("kind", nargs="?", choices=tuple(LIMITS), default="too-few-workers", help="of a recording")
    parser.add_argument("--recording", type=os.path.abspath, default="run.jsonl.gz", help="its file")
    parser.add_argument("--seconds", type=float, default=32, help="of a recording's loop")
    parser.add_argument("--cores", type=int, default=16, help="of each of two nodes")
    parser.add_argument("--workers", type=int, nargs="+", default=[4, 8, 16])
    parser.add_argument("--work", nargs="+", choices=TIMED, default=list(TIMED), help="in cost: asleep, photos that are decoded, or sequences of 2,048 tokens")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--held", type=float, help="in cost: cores of the trainer's node")
    parser.add_argument("--of", nargs="+", choices=DEATHS, default=DEATHS, help=f"silence: a node stands still for {SILENCE} s, as if its network were cut")
    parser.add_argument("--kills", type=int, default=75, help="of each")
    parser.add_argument("--minutes", type=float, default=20, help="after which no further script is killed, however many deaths there were")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--chance", type=float, default=0.1, help="of a death, after each batch")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        prepare()
        wrong = {"equal": compare, "cost": measure, "deaths": kill, "record": record}[arguments.what](arguments)
        os.chdir(ROOT)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
