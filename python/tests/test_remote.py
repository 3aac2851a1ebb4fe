"""A DataLoader's workers in a Ray cluster of this machine: the batches, errors and deaths of the script alone."""

import functools
import os
import subprocess
import sys
import tempfile
import unittest

import leash

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.environ.get("STOKER_BIN") or os.path.join(ROOT, "bin", "stoker")

try:
    import torch
    from ray.cluster_utils import Cluster
except ImportError:
    Cluster = None

SCRIPT = """
import hashlib, os, random, signal, sys, time
import numpy as np, torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
import torchdata.nodes as nodes
from torchdata.stateful_dataloader import StatefulDataLoader

class Box:
    def __init__(self, value):
        self.value = value

os.dup2(0, 900)

class Random(Dataset):
    def __init__(self):
        self.files = [("/proc/self/fd/900", 0)]  # this process has it, and a worker elsewhere does not
    def __len__(self):
        return 40
    def __getitem__(self, i):
        if "fails" in sys.argv and i == 17:
            raise ValueError(f"sample {i}")
        worker = get_worker_info()
        time.sleep(0.05 * ("slow" in sys.argv and worker.id == 0))
        return {"x": torch.rand(3, 64, 64) * i, "n": np.random.rand(50, 50), "r": random.random(), "w": worker.id, "s": worker.seed, "p": os.getpid()}

class Counting(Dataset):
    count = 0
    def __len__(self):
        return 40
    def __getitem__(self, i):
        self.count += 1
        return {"x": torch.tensor([i, self.count]), "p": os.getpid()}

class Stream(IterableDataset):
    def __iter__(self):
        worker = get_worker_info()
        for i in range(worker.id, 21, worker.num_workers):
            yield torch.full((3,), float(i)) + torch.rand(3)

def boxed(samples):
    return torch.utils.data.default_collate(samples), Box(len(samples))

def add(value, digest):
    if isinstance(value, dict):
        [add(part, digest) for name, part in value.items() if name != "p"]
    elif isinstance(value, (list, tuple)):
        [add(part, digest) for part in value]
    elif isinstance(value, Box):
        assert type(value) is Box
        digest.update(str(value.value).encode())
    else:
        digest.update(value.numpy().tobytes())

LOADERS = {
    "map": lambda: DataLoader(Random(), 4, shuffle=True, num_workers=2, collate_fn=boxed),
    "persistent": lambda: DataLoader(Random(), 4, shuffle=True, num_workers=2, persistent_workers=True, prefetch_factor=3),
    "stream": lambda: DataLoader(Stream(), 4, num_workers=2),
    "counting": lambda: DataLoader(Counting(), 4, num_workers=1),
    "stateful": lambda: StatefulDataLoader(Random(), 4, num_workers=1),
    "nodes": lambda: nodes.Loader(nodes.ParallelMapper(nodes.IterableWrapper(range(9)), torch.tensor, 1, method="thread")),
}
def children():
    return [int(pid) for task in os.listdir("/proc/self/task") for pid in open(f"/proc/self/task/{task}/children").read().split()]

def strike(victim):
    drivers = [pid for pid in children() if "driver.serve" in open(f"/proc/{pid}/cmdline").read()]
    assert len(drivers) == 1 and "ray" not in sys.modules
    os.kill(drivers[0] if victim == "driver" else int(victim), signal.SIGKILL)

strikes = dict(word.split("=") for word in sys.argv if "=" in word)
torch.manual_seed(3)
digest = hashlib.sha256()
for kind in sys.argv[1].split(","):
    loader = LOADERS[kind]()
    for epoch in range(2 if kind in ("persistent", "counting") else 1):
        for number, batch in enumerate(loader):
            add(batch, digest)
            if "kill" in sys.argv and (epoch, number) == (0, 2):
                fields = batch[0] if isinstance(batch, (list, tuple)) else batch
                os.kill(int(fields["p"][0]), signal.SIGKILL)
            if f"{epoch}.{number}" in strikes:
                strike(strikes[f"{epoch}.{number}"])
        print(kind, epoch, number, digest.hexdigest(), flush=True)
"""


#: Loops that end early, with workers that persist or not: batches, and what the trainer's generators hold meanwhile.
EARLY = """
import hashlib, queue, random, sys, threading, time
import numpy as np, torch
from torch.utils.data import DataLoader, RandomSampler

class Random:
    def __len__(self):
        return 61
    def __getitem__(self, i):
        time.sleep(0.01 * (i % 4))  # batches come before their turn
        return {"x": torch.rand(3) * i, "n": np.random.rand(), "r": random.random()}

if "late" in sys.argv:
    import stoker
    from stoker.remote import workers

    class Late:
        "Calls that end LATE seconds later."
        def __init__(self):
            self.queue = queue.SimpleQueue()
        def put(self, what):
            threading.Timer(LATE, self.queue.put, [(*what[:3], what[3] + LATE)]).start()
        def get(self, timeout):
            return self.queue.get(timeout=timeout)

    def make_late(self, *arguments, before=workers.Context.__init__):
        before(self, *arguments)
        self.arrivals = Late()

    LATE, workers.Context.__init__ = 0.1, make_late
    stoker.feed(ray=sys.argv[2])
own = torch.Generator()
LOADERS = (
    lambda: DataLoader(Random(), 2, shuffle=True, generator=own, num_workers=3, persistent_workers=True),
    lambda: DataLoader(Random(), 2, shuffle=True, num_workers=3),
    lambda: DataLoader(Random(), 2, sampler=RandomSampler(range(61), True, generator=own), num_workers=2),
)
for number, make in enumerate(LOADERS):
    own.manual_seed(2)
    torch.manual_seed(1)
    loader = make()
    for epoch, last in enumerate((11, 25, 99) if number == 0 else (11, 7)):
        for batch_number, batch in enumerate(loader):
            held = own.get_state().numpy().tobytes() + torch.get_rng_state().numpy().tobytes()
            content = repr({name: value.tolist() for name, value in batch.items()}).encode()
            print(number, epoch, batch_number, hashlib.sha256(content + held).hexdigest())
            if batch_number == last:
                break
"""


@unittest.skipUnless(Cluster and os.access(BINARY, os.X_OK), "needs PyTorch, Ray and STOKER_BIN; make test-torch has them")
class RemoteTest(unittest.TestCase):
    """One cluster of two nodes serves all tests: the trainer's node has no core, so workers run on the other one."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        cls.addClassCleanup(cls.cluster.shutdown)
        cls.cluster.add_node(num_cpus=3)
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.script = os.path.join(cls.folder, "train.py")
        with open(cls.script, "w") as file:
            file.write(SCRIPT)

    def setUp(self):
        leash.hold(self)

    @classmethod
    @functools.cache
    def run_alone(cls, *words):
        return run([sys.executable, "-W", "ignore", cls.script, *words])

    def run_fed(self, *words, address=None):
        address = address or self.cluster.address
        return run([BINARY, "feed", "--ray", address, "--", sys.executable, "-W", "ignore", self.script, *words])

    def test_the_same_batches(self):
        alone, fed = self.run_alone("map,stream"), self.run_fed("map,stream")
        self.assertIn("2 workers run in the Ray cluster", fed.stderr)
        self.assertRegex(fed.stderr, "node .* has no /proc/self/fd/900, which the data set names")
        self.assertEqual((fed.returncode, fed.stdout), (alone.returncode, alone.stdout), fed.stderr)
        self.assertEqual(alone.returncode, 0, alone.stderr)

    def test_what_is_killed_is_replaced(self):
        """A worker, the driver when one worker has answered all, and the raylet that the next one uses, which Ray's driver does not survive.

        Other workers persist, and the batches are those of two epochs without a death.
        """
        raylet = self.cluster.head_node.all_processes["raylet"][0].process.pid
        alone, fed = self.run_alone("persistent"), self.run_fed("persistent", "slow", "kill", "0.5=driver", f"1.2={raylet}")
        self.assertIn("goes on with the same batches", fed.stderr)
        self.assertGreaterEqual(fed.stderr.count("Ray's driver beside this program ended"), 2, fed.stderr)
        self.assertEqual((fed.returncode, fed.stdout), (alone.returncode, alone.stdout), fed.stderr)

    def test_a_killed_worker_with_a_state_of_its_own_fails_as_alone(self):
        alone, fed = self.run_alone("counting", "kill"), self.run_fed("counting", "kill")
        for done in alone, fed:
            self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertIn("may have a state of its own", fed.stderr)

    def test_an_error_is_the_scripts_own_in_a_cluster_of_its_own(self):
        call = f"import runpy, sys, stoker; stoker.feed(ray='local', workers=3); del sys.argv[0]; runpy.run_path({self.script!r}, run_name='__main__')"
        alone = self.run_alone("map", "fails")
        fed = run([sys.executable, "-W", "ignore", "-c", call, self.script, "map", "fails"])
        self.assertIn("3 workers run in the Ray cluster", fed.stderr)
        ends = [done.stderr.strip().splitlines()[-1] for done in (alone, fed)]
        self.assertEqual((fed.returncode, ends), (alone.returncode, ["ValueError: sample 17"] * 2), fed.stderr)

    def test_batches_asked_for_ahead_of_a_slow_network(self):
        """The depth grows. A loop that ends early finds its sampler, its generators and its persistent workers as alone."""
        script = os.path.join(self.folder, "early.py")
        with open(script, "w") as file:
            file.write(EARLY)
        alone, fed = (run([sys.executable, "-W", "ignore", script, *words]) for words in ((), ("late", self.cluster.address)))
        self.assertRegex(fed.stderr, r"ms on its way: \d+ are asked for ahead of each worker, not 2")
        self.assertRegex(fed.stderr, r"prefetch_factor=\d+ would cover that, and stays 2: RandomSampler may draw what others see")
        self.assertEqual((fed.returncode, fed.stdout), (alone.returncode, alone.stdout), fed.stderr)
        self.assertEqual(alone.returncode, 0, alone.stderr)

    def test_what_feed_refuses(self):
        import stoker

        for wrong in {"ray": ""}, {"ray": "host"}, {"ray": "ray://host:10001"}, {"ray": 6379}, {"workers": 4}, {"ray": "auto", "workers": 0}, {"ray": "auto", "workers": "4"}:
            with self.assertRaisesRegex(ValueError, "expected"):
                stoker.feed(**wrong)

    def test_without_a_cluster_workers_run_here(self):
        alone, fed = self.run_alone("map,stateful,nodes"), self.run_fed("map,stateful,nodes", address="127.0.0.1:1")
        self.assertIn("workers run on this machine: Ray at", fed.stderr)
        self.assertIn("a StatefulDataLoader asks its workers for their state", fed.stderr)
        self.assertIn("torchdata.nodes has a pipeline where", fed.stderr)
        self.assertEqual((fed.returncode, fed.stdout), (alone.returncode, alone.stdout), fed.stderr)


def run(command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)


if __name__ == "__main__":
    unittest.main()
