"""stoker.DataLoader against a daemon in Python (feed_fake.py); no GPU."""

import contextlib
import copy
import gc
import json
import os
import pickle
import subprocess
import sys
import unittest
import unittest.mock
import warnings

try:
    import torch
    from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler, Subset, TensorDataset, WeightedRandomSampler, default_collate
    from torch.utils.data.distributed import DistributedSampler
    from torchvision import transforms as T
    from torchvision.datasets import ImageFolder
    from torchvision.transforms import v2

    import stoker.loader.dataloader as stoker_torch
except ImportError:
    torch = None

from feed_fixture import FeedCase
from private_folder import private_folder

import stoker

HERE = os.path.dirname(os.path.abspath(__file__))


def real(path):
    """A picture that Pillow can read as well."""
    from PIL import Image

    Image.new("RGB", (40, 30), (int(os.path.basename(path)[:4]) * 5, 100, 200)).save(path)


@unittest.skipIf(torch is None, "needs torch and torchvision")
class TorchCase(FeedCase):
    def setUp(self):
        super().setUp()
        self.enterContext(warnings.catch_warnings())
        warnings.filterwarnings("error", category=stoker.StokerWarning)
        warnings.filterwarnings("ignore", "3 batches are kept", stoker.StokerWarning)

    def data(self, *steps, **settings):
        steps = steps or (T.CenterCrop((4, 6)), T.PILToTensor())
        return ImageFolder(self.images(write=settings.pop("write", None)), T.Compose(steps), **settings)

    def loader(self, dataset=None, **settings):
        loader = stoker.DataLoader(self.data() if dataset is None else dataset, **{"batch_size": 8, "seed": 5, **settings})
        self.addCleanup(loader.close)
        return loader

    def sent(self, kind):
        with open(self.log) as log:
            return [packet for packet in map(json.loads, log) if packet["type"] == kind]


class DataLoaderTest(TorchCase):
    def test_batches(self):
        loader = self.loader(shuffle=True)
        self.assertTrue(loader.translated)
        for _ in range(2):
            seen = []
            for batch in loader:
                images, labels = batch
                self.assertIsInstance(batch, list)
                self.assertEqual((images.dtype, labels.dtype, images.shape[1:]), (torch.uint8, torch.int64, (3, 4, 6)))
                self.assertTrue(torch.equal(images[:, 0, 0, 0], loader.indices.to(torch.uint8)))
                self.assertTrue(torch.equal(labels, loader.indices // 21))
                self.assertTrue(loader.mask.all())
                seen += images[:, 0, 0, 0].tolist()
            self.assertEqual(sorted(seen), list(range(42)))
        self.assertEqual((len(loader), len(loader.dataset), loader.batch_size), (6, 42, 8))
        self.assertEqual(loader.report["epoch"], 1)

    def test_views_keep_the_slot(self):
        loader = self.loader()
        iteration = iter(loader)
        images, labels = next(iteration)
        session = loader._feeder._session
        self.assertEqual(images.data_ptr() % 64, 0)
        view = images[2:4].flatten(1)[:, 3:]
        want = view.clone()
        del images, labels
        gc.collect()
        self.assertEqual(session.loans.count_held(), 1)
        for _ in zip(range(4), iteration):
            pass
        self.assertTrue(torch.equal(view, want))
        del view
        gc.collect()
        self.assertLessEqual(session.loans.count_held(), 1)

    def test_autograd_keeps_the_slot(self):
        loader = self.loader(self.data(T.CenterCrop((4, 6)), T.ToTensor()))
        iteration = iter(loader)
        images, labels = next(iteration)
        del labels
        weight = torch.ones(3, 1, 1, requires_grad=True)
        loss = (images * weight).sum()
        want = images.sum((0, 2, 3))
        del images
        for _ in zip(range(4), iteration):
            pass
        loss.backward()
        torch.testing.assert_close(weight.grad.flatten(), want)

    def test_copies_of_tensors(self):
        images, _ = next(iter(self.loader()))
        for other in (copy.deepcopy(images), pickle.loads(pickle.dumps(images)), images.clone()):
            self.assertTrue(torch.equal(other, images))
            self.assertNotEqual(other.data_ptr(), images.data_ptr())

    def test_dtypes_and_layout(self):
        dataset = self.data(T.CenterCrop((4, 6)), T.ToTensor())
        for dtype, expected in ((None, torch.float32), ("bfloat16", torch.bfloat16), (torch.float16, torch.float16)):
            with self.loader(dataset, dtype=dtype, channels_last=True) as loader:
                images, _ = next(iter(loader))
                self.assertEqual(images.dtype, expected)
                self.assertTrue(images.is_contiguous(memory_format=torch.channels_last))

    def test_subset(self):
        dataset = self.data()
        nested = Subset(Subset(dataset, list(range(10, 40))), torch.tensor([0, 5, 29]))
        loader = self.loader(nested, batch_size=2)
        found = [(images[:, 0, 0, 0].tolist(), loader.indices.tolist()) for images, _ in loader]
        self.assertEqual(found, [([10, 15], [0, 1]), ([39], [2])])
        self.assertEqual(len(loader), 2)

    def test_target_transform(self):
        loader = self.loader(self.data(target_transform=lambda label: float(label) + 0.5))
        _, labels = next(iter(loader))
        self.assertEqual((labels.tolist(), labels.dtype), ([0.5] * 8, torch.float64))

    def test_copies_and_forks_begin_sessions_of_their_own(self):
        loader = self.loader(shuffle=True, drop_last=True)
        iteration = iter(loader)
        next(iteration)
        for other in (copy.copy(loader), copy.deepcopy(loader), pickle.loads(pickle.dumps(loader))):
            self.addCleanup(other.close)
            self.assertEqual((other.translated, len(other), other.batch_size), (True, 5, 8))
            self.assertEqual([len(images) for images, _ in other], [8] * 5)
            self.assertEqual(self.sent("start")[-1]["epoch"], 1)
        child = os.fork()
        if child == 0:
            try:
                whole = [len(images) for images, _ in loader] == [8] * 5
                try:
                    next(iteration)
                except stoker.StokerError as error:
                    os._exit(7 if whole and "begun in another process" in str(error) else 2)
            finally:
                os._exit(3)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
        self.assertEqual(len(list(iteration)), 4)

    def test_state(self):
        loader = self.loader(shuffle=True)
        iteration = iter(loader)
        next(iteration), next(iteration)
        state = loader.state_dict()
        rest = [images.clone() for images, _ in iteration]
        other = self.loader(shuffle=True, seed=77)
        other.load_state_dict(state)
        found = [images for images, _ in other]
        self.assertEqual(len(found), 4)
        for a, b in zip(rest, found):
            self.assertTrue(torch.equal(a, b))

    def test_set_epoch_by_sampler(self):
        loader = self.loader(shuffle=True)
        for epoch in (0, 4):
            loader.sampler.set_epoch(epoch)
            for _ in loader:
                pass
        self.assertEqual([packet["epoch"] for packet in self.sent("start")], [0, 4])
        self.assertEqual(len(loader.sampler), 42)

    def test_samplers(self):
        dataset = self.data()
        self.assertTrue(self.loader(dataset, sampler=RandomSampler(dataset)).sampler is not None)
        generator = torch.Generator().manual_seed(12)
        for settings, shuffle, seed in (
            ({"sampler": RandomSampler(dataset, generator=generator)}, True, 12),
            ({"shuffle": True, "generator": generator}, True, 12),
            ({"sampler": SequentialSampler(dataset), "seed": 8}, False, 8),
            ({"shuffle": True}, True, torch.initial_seed() % 2**64),
        ):
            spec = self.loader(dataset, **{"seed": None, **settings})._feeder.spec
            self.assertEqual((spec["shuffle"], spec["seed"], spec["tail"], spec["world"]), (shuffle, seed, "short", 1))

    def test_distributed_sampler(self):
        dataset = self.data()
        sampler = DistributedSampler(dataset, num_replicas=3, rank=1, seed=9, drop_last=True)
        loader = self.loader(dataset, seed=None, batch_size=4, sampler=sampler)
        spec = loader._feeder.spec
        self.assertEqual((spec["shuffle"], spec["seed"], spec["tail"], spec["world"], loader._feeder.place.rank), (True, 9, "trim", 3, 1))
        self.assertEqual(len(loader), 4)
        for epoch in (0, 1, 5):
            sampler.set_epoch(epoch)
            for _ in loader:
                pass
        self.assertEqual([packet["epoch"] for packet in self.sent("start")], [0, 5])

    def test_batches_of_ranks_have_torchs_sizes(self):
        """Of a DistributedSampler, with and without drop_last here and there: what all ranks get, step by step."""
        dataset = self.data()
        for world, batch in ((4, 4), (4, 5), (5, 3), (3, 7), (9, 5), (41, 2)):
            for cut in (False, True):
                for drop_last in (False, True):
                    samplers = [DistributedSampler(dataset, world, rank, shuffle=False, drop_last=cut) for rank in range(world)]
                    loaders = [stoker.DataLoader(dataset, batch, sampler=sampler, drop_last=drop_last) for sampler in samplers]
                    want = [[len(indices) for indices in BatchSampler(sampler, batch, drop_last)] for sampler in samplers]
                    self.assertEqual([[len(indices) for indices in loader.batch_sampler] for loader in loaders], want, (world, batch, cut, drop_last))
                    self.assertEqual([len(loader) for loader in loaders], list(map(len, want)))
                    real = [index for loader in loaders[:1] for index in loader.batch_sampler]
                    self.assertEqual(len(real), len(want[0]))
                    images = [len(images) for images, _ in loaders[-1]]
                    self.assertEqual(images, want[-1])
                    loaders[-1].close()

    def test_ranks_from_the_environment(self):
        self.environment(RANK="1", WORLD_SIZE="4", LOCAL_WORLD_SIZE="1")
        with self.assertWarnsRegex(stoker.StokerWarning, "split among the 4 ranks"):
            loader = self.loader(seed=None, shuffle=True)
        spec = loader._feeder.spec
        self.assertEqual((spec["world"], spec["seed"], spec["tail"], len(loader)), (4, 0, "even", 2))
        everything = self.loader(rank=0, world=1)
        self.assertEqual(len(everything), 6)

    def test_arguments_of_torch(self):
        loader = self.loader(num_workers=3, pin_memory=True, prefetch_factor=4, persistent_workers=True, in_order=True, timeout=30, drop_last=True)
        self.assertEqual(len(list(loader)), 5)
        self.assertEqual(self.sent("open")[0]["options"], {"threads": 3})

    def test_arguments_that_are_wrong(self):
        for settings in (
            {"on_error": "panic"},
            {"tail": "cut"},
            {"drop_last": True, "tail": "pad"},
            {"normalize_on_device": True},
            {"normalize_on_device": True, "device": "cpu"},  # there are no floats
            {"dtype": "int8"},
            {"batch_size": 0},
            {"batch_size": 2.5},
            {"num_workers": -1},
            {"dtype": "float32"},  # the transform gives uint8
            {"shuffle": True, "sampler": SequentialSampler([])},
        ):
            with self.assertRaises(ValueError, msg=str(settings)):
                self.loader(**settings)

    def test_device_cpu(self):
        dataset = self.data(T.CenterCrop((4, 6)), T.ToTensor(), T.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4]))
        plain = self.loader(dataset, device="cpu")
        self.assertEqual(sum(len(images) for images, _ in plain), 42)
        loader = self.loader(dataset, device="cpu", normalize_on_device=True, dtype="float32")
        want = v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4])])
        for images, _ in loader:
            pixels = loader.indices.to(torch.uint8).reshape(-1, 1, 1, 1).expand(-1, 3, 4, 6)
            torch.testing.assert_close(images, want(pixels), rtol=0, atol=1e-6)
        self.assertEqual(self.sent("open")[-1]["spec"]["output"]["dtype"], "uint8")


class FallbackTest(TorchCase):
    """What cannot be translated is torch's own."""

    def assertFallsBack(self, why, dataset=None, **settings):
        dataset = self.data(write=real) if dataset is None else dataset
        with self.assertWarnsRegex(stoker.StokerWarning, f"{why}.*torch's own DataLoader"):
            loader = stoker.DataLoader(dataset, **settings)
        self.assertFalse(loader.translated)
        got = list(loader)
        self.assertEqual(len(got), len(loader))
        return got

    def test_no_daemon_at_the_beginning(self):
        """Without a binary, or memory to start it, the loader is torch's own: said once, and an error of nobody."""
        data = self.data(write=real)
        self.environment(STOKER_BIN="/nowhere/stoker")
        loader = stoker.DataLoader(data, batch_size=5)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("default")
            for _ in range(2):
                got = list(loader)
                self.assertTrue(all(map(torch.equal, (y for _, y in got), (y for _, y in torch.utils.data.DataLoader(data, batch_size=5)))))
        self.assertEqual(sum("/nowhere/stoker" in str(each.message) for each in said), 1, [str(each.message) for each in said])

    def test_everything_unknown(self):
        data = self.data(write=real)
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            self.assertFallsBack("TensorDataset is not", TensorDataset(torch.arange(10)), batch_size=5)
            self.assertFallsBack("collate_fn <lambda>", collate_fn=lambda samples: default_collate(samples), batch_size=5)
            self.assertFallsBack("batch_sampler=", batch_sampler=BatchSampler(SequentialSampler(data), 4, False))
            self.assertEqual(self.assertFallsBack("the data set is empty", Subset(data, [])), [])
            self.assertFallsBack("batch_size=None", batch_size=None)
            self.assertFallsBack("batch_size 9000 is more", batch_size=9000)
            self.assertFallsBack("sampler WeightedRandomSampler", sampler=WeightedRandomSampler([1.0] * 42, 7))
            self.assertFallsBack("RandomSampler draws", sampler=RandomSampler(data, replacement=True))
            self.assertFallsBack("worker_init_fn=", worker_init_fn=lambda number: None)
            mine = lambda path: torch.zeros(3, 9, 9)  # noqa: E731
            self.assertFallsBack("a loader of its own", ImageFolder(data.root, loader=mine))
            self.assertFallsBack("ColorJitter is not known", self.data(T.ColorJitter(), T.CenterCrop(9), T.ToTensor(), write=real), batch_size=5)
            self.assertFallsBack("different sizes", self.data(T.Resize(20), T.ToTensor(), write=real), batch_size=5, device="cpu", dtype="float16")

    def test_same_as_torch(self):
        data = self.data(T.ColorJitter(0), T.CenterCrop(9), T.ToTensor(), write=real)
        own = torch.utils.data.DataLoader(data, 5, shuffle=True, generator=torch.Generator().manual_seed(4))
        got = self.assertFallsBack("ColorJitter", data, batch_size=5, shuffle=True, seed=4)
        for a, b in zip(own, got):
            self.assertTrue(torch.equal(a[0], b[0]) and torch.equal(a[1], b[1]))

    def test_goes_on_in_mid_epoch(self):
        """The state of a loader that is torch's own, of any data set: the rest of its epoch, and the epoch behind it."""

        class Stream(torch.utils.data.IterableDataset):
            def __iter__(self):
                return iter(range(20))

        ten = TensorDataset(torch.arange(20))
        cases = [(ten, {"shuffle": True, "seed": 5}), (ten, {"shuffle": True}), (ten, {"num_workers": 1, "shuffle": True, "seed": 5}), (Stream(), {})]
        for data, settings in cases:
            with self.subTest(type(data).__name__, **settings), warnings.catch_warnings():
                warnings.simplefilter("ignore")

                def make(seed, data=data, settings=settings):
                    torch.manual_seed(seed)
                    return stoker.DataLoader(data, 3, **settings)

                loader = make(1)
                whole, second = ([str(batch) for batch in loader] for _ in range(2))
                self.assertEqual(loader.state_dict(), {})
                loader, seen = make(1), []
                for batch in loader:
                    seen.append(str(batch))
                    if len(seen) == 2:
                        break
                state = json.loads(json.dumps(loader.state_dict()))
                again = make(2)
                again.load_state_dict(state)
                self.assertEqual(again.state_dict(), state)
                self.assertEqual(seen + [str(batch) for batch in again], whole)
                self.assertEqual([str(batch) for batch in again], second)
                with self.assertRaisesRegex(stoker.StokerError, "of 2 ranks"):
                    again.load_state_dict({**state, "world": 2})

    def test_ranks(self):
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            parts = []
            for rank in (0, 1):
                loader = stoker.DataLoader(TensorDataset(torch.arange(10)), 5, shuffle=True, rank=rank, world=2)
                loader.set_epoch(3)
                self.assertEqual(loader.state_dict(), {})
                loader.load_state_dict({})
                parts += [value for (batch,) in loader for value in batch.tolist()]
        self.assertEqual(sorted(parts), list(range(10)))


class Clock:
    """A stand-in for torch.cuda: streams and events that are done when told so."""

    class Event:
        def __init__(self, clock):
            self.clock, self.time = clock, clock.now

        def query(self):
            return self.clock.done >= self.time

    class Stream:
        def __init__(self):
            self.waits = []

        def wait_event(self, event):
            self.waits.append(event)

    def __init__(self):
        self.now = self.done = 0
        self.is_live = True
        self.pinned, self.refuse = [], ""
        self.main, self.side = self.Stream(), None

    def live(self):
        return self.is_live

    def start(self, device):
        self.is_live = True

    def pin(self, address, size):
        self.pinned.append((address, size))
        return self.refuse

    def unpin(self, address):
        self.pinned = [pair for pair in self.pinned if pair[0] != address]

    def fence(self):
        return self.event_on(self.main) if self.is_live else None

    def stream(self, device):
        self.side = self.Stream()
        return self.side

    @contextlib.contextmanager
    def on(self, stream):
        yield

    def event_on(self, stream):
        self.now += 1
        return self.Event(self)

    def current(self, device):
        return self.main


class DeviceTest(TorchCase):
    """The device side, with a stand-in for CUDA."""

    def setUp(self):
        super().setUp()
        self.clock = Clock()
        self.enterContext(unittest.mock.patch.object(stoker_torch, "_cuda", self.clock))

    def test_slot_waits_for_the_device(self):
        loader = self.loader(depth=4)
        iteration = iter(loader)
        for _ in range(3):
            next(iteration)
        loans = loader._feeder._session.loans
        self.assertTrue(loans.is_waiting())
        self.assertEqual(len(self.sent("release")), 0)
        self.clock.done = self.clock.now
        next(iteration)
        self.assertSoon(lambda: len(self.sent("release")) >= 3)

    def test_device_that_is_done_while_the_loader_waits(self):
        loader = self.loader(depth=3)
        iteration = iter(loader)
        for _ in range(3):
            next(iteration)
        import threading

        threading.Timer(0.2, lambda: setattr(self.clock, "done", 100)).start()
        next(iteration)  # only now there is a slot

    def test_page_locking(self):
        loader = self.loader()
        self.clock.is_live = False
        iteration = iter(loader)
        next(iteration)
        self.assertEqual(self.clock.pinned, [])
        self.clock.is_live = True
        self.clock.done = 100
        images = next(iteration)[0]
        next(iteration)
        ((address, size),) = self.clock.pinned
        self.assertTrue(address <= images.data_ptr() < address + size)
        loader.close()
        iteration = None
        gc.collect()
        self.assertEqual(len(self.clock.pinned), 1)  # a tensor is left
        del images
        gc.collect()
        self.assertEqual(self.clock.pinned, [])

    def test_page_locking_refused(self):
        self.clock.refuse, self.clock.done = "no memory", 10**6
        loader = self.loader()
        with self.assertWarnsRegex(stoker.StokerWarning, r"cannot be page-locked \(no memory\)"):
            next(iter(loader))
        self.assertEqual(sum(len(images) for images, _ in loader), 42)

    def test_prefetcher(self):
        self.clock.done = 10**6
        device = stoker_torch.Uploader(self.clock, torch.device("cpu"))
        self.enterContext(unittest.mock.patch.object(stoker_torch, "_make_uploader", lambda _: Copying(device)))
        dataset = self.data(T.CenterCrop((4, 6)), T.ToTensor())
        loader = self.loader(dataset, shuffle=True, device="cpu", normalize_on_device=True)
        for epoch in range(2):
            seen = []
            for number, (images, _) in enumerate(loader, 1):
                torch.testing.assert_close(images[:, 1, 2, 3] * 255, loader.indices.float(), rtol=0, atol=1e-4)
                self.assertEqual(loader.state_dict()["consumed"], min(42, 8 * number))  # what is ahead is not consumed
                seen += loader.indices.tolist()
            self.assertEqual(sorted(seen), list(range(42)))
            self.assertEqual(loader.report["epoch"], epoch)
        self.assertEqual(len(self.clock.main.waits), 12)


class Copying:
    """An Uploader whose device is the host: .to() would copy nothing."""

    def __init__(self, uploader):
        self.uploader = uploader

    def send(self, tensors, finish):
        return self.uploader.send([tensor.clone() for tensor in tensors], finish)

    def receive(self, tensors, done):
        return self.uploader.receive(tensors, done)


class TorchrunTest(TorchCase):
    def test_two_ranks(self):
        root, out = self.images(), os.path.join(self.folder, "out")
        run = self.enterContext(private_folder())
        place = {**os.environ, "PYTHONPATH": os.path.dirname(HERE), "XDG_RUNTIME_DIR": run, "OMP_NUM_THREADS": "1"}
        for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
            place.pop(name, None)
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", os.path.join(HERE, "feed_torchrun.py"), root, out]
        done = subprocess.run(command, env=place, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(out + "0") as zero, open(out + "1") as one:
            epochs = list(zip(json.load(zero), json.load(one)))
        self.assertEqual(len(epochs), 2)
        for mine, others in epochs:
            self.assertEqual(len(mine), len(others))
            self.assertEqual(sorted(sum(mine + others, [])), list(range(42)))


if __name__ == "__main__":
    unittest.main()
