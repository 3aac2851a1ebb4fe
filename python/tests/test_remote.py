"""A DataLoader's workers in a Ray cluster of this machine: the batches, errors and deaths of the script alone."""

import functools
import io
import os
import pickle
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

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
import PIL.ImageFile, own

own.chance.seed(6)
own.size, own.table["a"], own.Scale.factor, own.patched = 5, 7, 3, lambda: 11
PIL.ImageFile.LOAD_TRUNCATED_IMAGES = True

class Box:
    __slots__ = "value", "parts"
    def __init__(self, value):
        self.value, self.parts = value, torch.nested.nested_tensor([torch.ones(value, 2), torch.ones(1, 2)])

os.dup2(0, 900)

class Random(Dataset):
    def __init__(self, slow=False, fails=False):
        self.files = [("/proc/self/fd/900", 0)]  # this process has it, and a worker elsewhere does not
        self.slow, self.fails = slow, fails
    def __len__(self):
        return 40
    def __getitem__(self, i):
        if self.fails and i == 17:
            raise ValueError(f"sample {i}")
        worker = get_worker_info()
        time.sleep(0.05 * (self.slow and worker.id == 0))
        seen = [own.compute(), PIL.ImageFile.LOAD_TRUNCATED_IMAGES, list({f"class {number}" for number in range(20)}).index("class 7")]
        return {"x": torch.rand(3, 64, 64) * i, "n": np.random.rand(50, 50), "r": random.random(), "w": worker.id, "s": worker.seed, "o": torch.tensor(seen), "p": os.getpid()}

class Picky(Dataset):
    def __init__(self):
        self.factor = 3
    def __setstate__(self, state):
        if "ray" in sys.modules:  # on another node
            raise ModuleNotFoundError("No module named 'ours'")
        self.__dict__ = state
    def __len__(self):
        return 8
    def __getitem__(self, i):
        return torch.rand(3) * i * self.factor

class Counting(Dataset):
    def __len__(self):
        return 40
    def __getitem__(self, i):
        own.table["count"] = own.table.get("count", 0) + 1
        return {"x": torch.tensor([i, own.table["count"]]), "p": os.getpid()}

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
        digest.update(str((value.value, [part.tolist() for part in value.parts.unbind()])).encode())
    else:
        digest.update(value.numpy().tobytes())

LOADERS = {
    "map": lambda: DataLoader(Random(), 4, shuffle=True, num_workers=2, collate_fn=boxed),
    "picky": lambda: DataLoader(Picky(), 4, num_workers=1),
    "fails": lambda: DataLoader(Random(fails=True), 4, shuffle=True, num_workers=2),
    "persistent": lambda: DataLoader(Random(slow="slow" in sys.argv), 4, shuffle=True, num_workers=2, persistent_workers=True, prefetch_factor=3),
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

def train(kind):
    torch.manual_seed(3)
    digest, loader = hashlib.sha256(), LOADERS[kind]()
    for epoch in range(2 if kind == "persistent" else 1):
        for number, batch in enumerate(loader):
            add(batch, digest)
            victim = strikes.get(f"{kind}.{epoch}.{number}")
            if victim == "worker":
                fields = batch[0] if isinstance(batch, (list, tuple)) else batch
                os.kill(int(fields["p"][0]), signal.SIGKILL)
            elif victim:
                strike(victim)
        print(kind, epoch, number, digest.hexdigest(), flush=True)

strikes = dict(word.split("=") for word in sys.argv if "=" in word)
for kind in sys.argv[1].split(","):
    try:
        train(kind)
    except Exception as error:
        if "caught" not in sys.argv:
            raise
        # Torch may be reading from a worker when it dies.
        print(kind, "dead worker" if isinstance(error, (RuntimeError, OSError, EOFError)) else type(error).__name__, flush=True)
"""


#: A module beside the script, which sets its values.
OWN = """
import random
size, table, chance = 1, {"a": 1}, random.Random(3)
class Scale:
    factor = 1
def patched():
    return 0
def compute():
    return size + 10 * table["a"] + 100 * Scale.factor + 1000 * patched() + 10000 * (chance.getstate()[1][0] % 1000)
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
    lambda: DataLoader(Random(), 2, shuffle=True, generator=own, num_workers=2, persistent_workers=True),
    lambda: DataLoader(Random(), 2, shuffle=True, num_workers=1),
    lambda: DataLoader(Random(), 2, sampler=RandomSampler(range(61), True, generator=own), num_workers=1),
)
for number, make in enumerate(LOADERS):
    own.manual_seed(2)
    torch.manual_seed(1)
    loader = make()
    for epoch, last in enumerate(((11, 25, 99), (11, 7), (11,))[number]):
        for batch_number, batch in enumerate(loader):
            held = own.get_state().numpy().tobytes() + torch.get_rng_state().numpy().tobytes()
            content = repr({name: value.tolist() for name, value in batch.items()}).encode()
            print(number, epoch, batch_number, hashlib.sha256(content + held).hexdigest())
            if batch_number == last:
                break
"""


@unittest.skipUnless(Cluster and os.access(BINARY, os.X_OK), "needs PyTorch, Ray and STOKER_BIN; make test-torch has them")
class RemoteTest(unittest.TestCase):
    """One cluster of two nodes serves all tests: the trainer's node has no core, so workers run on the other one.

    An actor takes seconds to import PyTorch. So one run has the loaders of several tests.
    """

    KINDS = "map,stream,counting,persistent,picky,fails,stateful,nodes"

    @classmethod
    def setUpClass(cls):
        unused = {"prestart_worker_first_driver": False, "enable_worker_prestart": False}  # actors with variables take none of these
        head = {"num_cpus": 0, "include_dashboard": False, "no_monitor": True, "_system_config": unused}
        cls.cluster = Cluster(initialize_head=True, head_node_args=head)
        cls.addClassCleanup(cls.cluster.shutdown)
        cls.cluster.add_node(num_cpus=3)
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.script = os.path.join(cls.folder, "train.py")
        with open(cls.script, "w") as file:
            file.write(SCRIPT)
        with open(os.path.join(cls.folder, "own.py"), "w") as file:
            file.write(OWN)

    def setUp(self):
        leash.hold(self)

    @classmethod
    @functools.cache
    def run_alone(cls):
        """Return what the script says by itself; its worker that counts is killed."""
        done = run([sys.executable, "-W", "ignore", cls.script, cls.KINDS, "caught", "counting.0.2=worker"])
        assert done.returncode == 0, done.stderr
        return done

    @classmethod
    @functools.cache
    def run_in_cluster(cls):
        """Return what it says in the cluster.

        There a worker that counts is killed, one that persists, the driver when one worker has answered all, and the raylet that the
        next driver uses, which Ray's driver does not survive.
        """
        raylet = cls.cluster.head_node.all_processes["raylet"][0].process.pid
        strikes = "counting.0.2=worker", "persistent.0.2=worker", "persistent.0.5=driver", f"persistent.1.2={raylet}"
        return cls.run_fed("map,stream,counting,persistent", "slow", "caught", *strikes)

    @classmethod
    def run_fed(cls, *words, address=None):
        address = address or cls.cluster.address
        return run([BINARY, "feed", "--ray", address, "--", sys.executable, "-W", "ignore", cls.script, *words])

    def assert_same(self, fed, *kinds):
        """Compare the lines of kinds with those of the script alone."""
        one, other = ([line for line in done.stdout.splitlines() if line.split()[0] in kinds] for done in (fed, self.run_alone()))
        self.assertEqual((fed.returncode, one), (0, other), fed.stderr)
        self.assertEqual({line.split()[0] for line in one}, set(kinds))

    def test_the_same_batches(self):
        fed = self.run_in_cluster()
        self.assertIn("2 workers run in the Ray cluster", fed.stderr)
        self.assertRegex(fed.stderr, "node .* has no /proc/self/fd/900, which the data set names")
        self.assert_same(fed, "map", "stream")

    def test_what_is_killed_is_replaced(self):
        """Other workers persist, and the batches are those of two epochs without a death."""
        fed = self.run_in_cluster()
        self.assertIn("goes on with the same batches", fed.stderr)
        self.assertGreaterEqual(fed.stderr.count("Ray's driver beside this program ended"), 2, fed.stderr)
        self.assert_same(fed, "persistent")

    def test_a_killed_worker_with_a_state_of_its_own_fails_as_alone(self):
        fed = self.run_in_cluster()
        self.assertIn("may have a state of its own", fed.stderr)
        self.assertIn("counting dead worker\n", fed.stdout)
        self.assert_same(fed, "counting")

    def test_an_error_is_the_scripts_own_in_a_cluster_of_its_own(self):
        """A data set that cannot be loaded there is loaded here."""
        call = f"import runpy, sys, stoker; stoker.feed(ray='local', workers=1); del sys.argv[0]; sys.path.insert(0, {self.folder!r}); "
        call += f"runpy.run_path({self.script!r}, run_name='__main__')"
        fed = run([sys.executable, "-W", "ignore", "-c", call, self.script, "picky,fails"])
        self.assertIn("1 worker runs in the Ray cluster", fed.stderr)
        self.assertIn("cannot load the data set (ModuleNotFoundError: No module named 'ours'): its workers run on this machine", fed.stderr)
        alone = self.run_alone().stdout.splitlines()
        self.assertEqual(fed.stdout.splitlines(), [line for line in alone if line.startswith("picky")])
        self.assertEqual((fed.returncode, fed.stderr.strip().splitlines()[-1]), (1, "ValueError: sample 17"), fed.stderr)
        self.assertIn("fails ValueError", alone)

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

    def test_what_is_shared_or_mapped(self):
        """A tensor that the program shares is refused, a large file is mapped again, and a module's values are those of now."""
        import numpy as np
        from stoker.remote import modules, packing

        def send(what):
            packing.DatasetPickler(out := io.BytesIO()).dump(what)
            return out.getvalue()

        with self.assertRaisesRegex(ValueError, "shared memory"):
            send([torch.zeros(1).share_memory_()])
        file = os.path.join(self.folder, "tokens.bin")
        np.arange(9000, dtype=np.uint16).tofile(file)
        part = np.memmap(file, np.uint16, "r", offset=20, shape=(100, 80))[10:90]
        self.assertGreater(len(send(part)), part.nbytes)
        with mock.patch.object(packing, "_MAPPED", 100):
            packed = send({"part": part})
        self.assertLess(len(packed), 1000)
        again = pickle.loads(packed)["part"]
        self.assertTrue(isinstance(again, np.memmap) and not again.flags.writeable and np.array_equal(again, part))
        module = types.ModuleType("later")
        module.__file__, module.size, module.chance, module.log = os.path.join(self.folder, "later.py"), 4, np.random.default_rng(5), sys.stderr
        with open(module.__file__, "w") as file:
            file.write("size, more = 1, 2")
        expected = np.random.default_rng(5).random()
        with mock.patch.dict(sys.modules, later=module), mock.patch.object(sys, "path", [self.folder, *sys.path]), mock.patch.object(sys, "meta_path", [*sys.meta_path]):
            state = {"later": modules.collect()["later"]}
            del sys.modules["later"]
            modules.take_over(state)
            import later
        self.assertEqual((later.size, later.more, later.chance.random(), hasattr(later, "log")), (4, 2, expected, False))

    def test_what_fetching_changes_is_seen(self):
        from stoker.remote import actor

        dataset = types.SimpleNamespace(count=0)
        watched = actor._Watched(dataset)
        self.assertFalse(watched.has_changed())
        dataset.count += 1
        self.assertTrue(watched.has_changed())

    def test_how_long_the_program_waits_for_ray(self):
        """A minute for a network that is away, and less for a head that has ended."""
        from stoker.remote import beside, cluster

        for lack, longest in (cluster.Away("no answer"), 60), (cluster.Refused("nothing listens"), 15):
            clock = [100.0]
            time = mock.Mock(monotonic=lambda: clock[0], sleep=lambda seconds: clock.append(clock.pop() + seconds))
            driver = mock.Mock(start=mock.Mock(side_effect=lack))
            with mock.patch.multiple(beside, time=time, _find_driver=lambda address: driver, say=mock.DEFAULT, say_once=mock.DEFAULT, here=mock.DEFAULT, _missed=0.0) as said:
                actors = beside.start_others(2, "head:1", 4, lambda: False)
            self.assertEqual([actor.node for actor in actors], [beside.HERE] * 2)
            self.assertTrue(longest - 3 < clock[0] - 100 <= longest, clock)
            self.assertIn(f"up to {longest} s", said["say"].call_args[0][0])

    def test_what_feed_refuses(self):
        import stoker

        for wrong in {"ray": ""}, {"ray": "host"}, {"ray": "ray://host:10001"}, {"ray": 6379}, {"workers": 4}, {"ray": "auto", "workers": 0}, {"ray": "auto", "workers": "4"}:
            with self.assertRaisesRegex(ValueError, "expected"):
                stoker.feed(**wrong)

    def test_without_a_cluster_workers_run_here(self):
        fed = self.run_fed("map,stateful,nodes", address="127.0.0.1:1")
        self.assertIn("workers run on this machine: Ray at", fed.stderr)
        self.assertIn("a StatefulDataLoader asks its workers for their state", fed.stderr)
        self.assertIn("torchdata.nodes has a pipeline where", fed.stderr)
        self.assert_same(fed, "map", "stateful", "nodes")


def run(command):
    """Run a script. Its hashes, and so the order of sets, are those of other runs."""
    environment = {**os.environ, "PYTHONHASHSEED": "5"}
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)


if __name__ == "__main__":
    unittest.main()
