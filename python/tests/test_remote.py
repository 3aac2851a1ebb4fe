"""A DataLoader's workers in a Ray cluster of this machine: the batches, errors and deaths of the script alone."""

import functools
import io
import os
import pickle
import subprocess
import sys
import tempfile
import threading
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
import hashlib, os, queue, random, signal, sys, threading, time
import numpy as np, torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, RandomSampler, get_worker_info
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
    def __init__(self, slow=False, fails=None):
        self.files = [("/proc/self/fd/900", 0)]  # this process has it, and a worker elsewhere does not
        self.slow, self.fails = slow, fails
    def __len__(self):
        return 40
    def __getitem__(self, i):
        if i == self.fails:
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
        return 61
    def __getitem__(self, i):
        time.sleep(0.01 * (i % 4))
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

chance = torch.Generator()
LOADERS = {
    "stream": lambda: DataLoader(Stream(), 4, num_workers=2),
    "counting": lambda: DataLoader(Counting(), 4, num_workers=1),
    "persistent": lambda: DataLoader(Random(slow="fed" in sys.argv), 2, shuffle=True, generator=chance, num_workers=2, persistent_workers=True, prefetch_factor=3, collate_fn=boxed),
    "away": lambda: DataLoader(Random(), 4, shuffle=True, num_workers=1),
    "stateful": lambda: StatefulDataLoader(Random(), 4, num_workers=1),
    "nodes": lambda: nodes.Loader(nodes.ParallelMapper(nodes.IterableWrapper(range(9)), torch.tensor, 1, method="thread")),
    "picky": lambda: DataLoader(Picky(), 2, shuffle=True, num_workers=1),
    "drawn": lambda: DataLoader(Random(fails=34), 2, sampler=RandomSampler(range(40), True, generator=chance), num_workers=1),
}
LASTS = {"persistent": (99, 11, 3, 99), "picky": (11,)}  # batches after which the epochs end

def delay_network():
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

def train(kind):
    if kind != "drawn":  # it goes on with what "picky" left
        torch.manual_seed(3)
        chance.manual_seed(2)
    digest, loader = hashlib.sha256(), LOADERS[kind]()
    for epoch, last in enumerate(LASTS.get(kind, (99,))):
        for number, batch in enumerate(loader):
            add([batch, chance.get_state(), torch.get_rng_state()], digest)
            if kind == "drawn":  # it ends with an error
                print(kind, number, digest.hexdigest(), flush=True)
            victim = strikes.get(f"{kind}.{epoch}.{number}")
            if victim == "worker":
                fields = batch[0] if isinstance(batch, (list, tuple)) else batch
                os.kill(int(fields["p"][0]), signal.SIGKILL)
            elif victim:
                assert "ray" not in sys.modules
                os.kill(int(victim), signal.SIGKILL)
            if number == last:
                break
        print(kind, epoch, number, digest.hexdigest(), flush=True)

strikes = dict(word.split("=") for word in sys.argv if "=" in word)
if "fed" in sys.argv:
    import stoker
    delay_network()
for kind in sys.argv[1].split(","):
    if kind == "away" and "fed" in sys.argv:
        stoker.feed(ray="127.0.0.1:1")
    if kind == "picky" and "fed" in sys.argv:
        stoker.feed(ray="local", workers=1)
    try:
        train(kind)
    except Exception as error:
        if "fed" in sys.argv and kind != "counting":
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


@unittest.skipUnless(Cluster and os.access(BINARY, os.X_OK), "needs PyTorch, Ray and STOKER_BIN; make test-torch has them")
class RemoteTest(unittest.TestCase):
    """One cluster of two nodes serves all tests: the trainer's node has no core, so workers run on the other one.

    Every process that imports PyTorch or Ray costs seconds of a core. So one run of the script has the loaders of all tests.
    """

    KINDS = "stream,counting,persistent,away,stateful,nodes,picky,drawn"

    @classmethod
    def setUpClass(cls):
        unused = {"prestart_worker_first_driver": False, "enable_worker_prestart": False}  # actors with variables take none of these
        head = {"num_cpus": 0, "include_dashboard": False, "no_monitor": True, "include_log_monitor": False, "_system_config": unused}
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
        done = run([sys.executable, "-W", "ignore", cls.script, cls.KINDS, "counting.0.2=worker"])
        assert done.returncode == 0, done.stderr
        return done

    @classmethod
    @functools.cache
    def run_in_cluster(cls):
        """Return what it says in the cluster, where the network is slow; its last loaders have one of their own.

        There a worker that counts is killed, one that persists, and, when one worker has answered all, the raylet of the trainer's node,
        which Ray's driver does not survive. From "away" on no cluster is there, from "picky" on its own one.
        """
        raylet = cls.cluster.head_node.all_processes["raylet"][0].process.pid
        strikes = "counting.0.2=worker", "persistent.0.2=worker", f"persistent.0.9={raylet}"
        words = sys.executable, "-W", "ignore", cls.script, cls.KINDS, "fed", *strikes
        return run([BINARY, "feed", "--ray", cls.cluster.address, "--", *words])

    def assert_same(self, fed, *kinds):
        """Compare the lines of kinds with those of the script alone."""
        one, other = ([line for line in done.stdout.splitlines() if line.split()[0] in kinds and line != "drawn ValueError"] for done in (fed, self.run_alone()))
        self.assertEqual(one, other, fed.stderr)
        self.assertEqual({line.split()[0] for line in one}, set(kinds))

    def test_the_same_batches(self):
        fed = self.run_in_cluster()
        self.assertIn("2 workers run in the Ray cluster", fed.stderr)
        self.assertRegex(fed.stderr, "node .* has no /proc/self/fd/900, which the data set names")
        self.assert_same(fed, "stream")

    def test_what_is_killed_is_replaced(self):
        """Other workers persist, and the batches are those without a death."""
        fed = self.run_in_cluster()
        self.assertIn("goes on with the same batches", fed.stderr)
        self.assertIn("Ray's driver beside this program ended", fed.stderr)
        self.assert_same(fed, "persistent")

    def test_a_killed_worker_with_a_state_of_its_own_fails_as_alone(self):
        fed = self.run_in_cluster()
        self.assertIn("may have a state of its own", fed.stderr)
        self.assertIn("counting dead worker\n", fed.stdout)
        self.assert_same(fed, "counting")

    def test_a_data_set_that_cannot_be_loaded_there_is_loaded_here(self):
        fed = self.run_in_cluster()
        self.assertIn("cannot load the data set (ModuleNotFoundError: No module named 'ours'): its workers run on this machine", fed.stderr)
        self.assert_same(fed, "picky")

    def test_an_error_is_the_scripts_own_in_a_cluster_of_its_own(self):
        fed, alone = self.run_in_cluster(), self.run_alone()
        self.assertIn("1 worker runs in the Ray cluster", fed.stderr)
        self.assertEqual(fed.returncode, 1)
        self.assertIn("\nValueError: sample 34\n", fed.stderr)
        self.assertEqual(alone.stdout.splitlines()[-1], "drawn ValueError")

    def test_batches_asked_for_ahead_of_a_slow_network(self):
        """The depth grows. A loop that ends early finds its sampler, its generators and its persistent workers as alone."""
        fed = self.run_in_cluster()
        self.assertRegex(fed.stderr, r"ms on its way: \d+ are asked for ahead of each worker, not [23]")
        self.assertRegex(fed.stderr, r"prefetch_factor=\d+ would cover that, and stays 2: RandomSampler may draw what others see")
        self.assert_same(fed, "persistent", "drawn")

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

    def test_a_wait_in_vain_is_not_repeated_by_each_loader(self):
        from stoker.remote import beside, cluster

        clock = [100.0]

        def start(*_):
            clock[0] += 180
            raise cluster.Lack("no room")

        driver = mock.Mock(start=mock.Mock(side_effect=start))
        with mock.patch.multiple(beside, time=mock.Mock(monotonic=lambda: clock[0]), _find_driver=lambda address: driver, _vain={}):
            for seconds, calls in (0, 1), (3590, 1), (20, 2):
                clock[0] += seconds
                with self.assertRaisesRegex(cluster.Lack, "no room"):
                    beside.start_actors(5, "head:1", 4)
                self.assertEqual(driver.start.call_count, calls)

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
        fed = self.run_in_cluster()
        self.assertIn("workers run on this machine: Ray at 127.0.0.1:1", fed.stderr)
        self.assertIn("a StatefulDataLoader asks its workers for their state", fed.stderr)
        self.assertIn("torchdata.nodes has a pipeline where", fed.stderr)
        self.assert_same(fed, "away", "stateful", "nodes")


def run(command):
    """Run a script. Its hashes, and so the order of sets, are those of other runs."""
    environment = {**os.environ, "PYTHONHASHSEED": "5"}
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)


if __name__ == "__main__":
    unittest.main()
