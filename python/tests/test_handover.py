"""What a worker returns reaches the trainer as PyTorch alone would bring it."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import types
import unittest

import alone
import leash

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.environ.get("STOKER_BIN") or os.path.join(ROOT, "bin", "stoker")

try:
    import torch
except ImportError:
    torch = None

# What batches may hold, by name: each is what a sample is, and how samples are put together (None: default_collate).
KINDS = '''
import collections, dataclasses, json, os, signal, sys, time
import numpy as np, torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

torch.set_num_threads(1)
Pair = collections.namedtuple("Pair", "image label")

@dataclasses.dataclass
class Robot:
    camera: torch.Tensor
    state: torch.Tensor
    name: str

class Graph:
    def __init__(self, **parts):
        self._store = parts
    def __getstate__(self):
        return dict(self._store)
    def __setstate__(self, state):
        self._store = state

class Mask(torch.Tensor):
    pass

def large(i, *shape):
    return torch.arange(i, i + int(np.prod(shape)), dtype=torch.float32).reshape(shape)

def as_is(samples):
    return samples

def first(samples):
    return samples[0]

def with_attribute(samples):
    mask = torch.stack(samples).as_subclass(Mask)
    mask.origin = "here"
    return mask

def aliases(samples):
    whole = torch.stack(samples)
    return {"whole": whole, "half": whole[:, :100], "again": whole, "flat": whole.view(-1)}

def view_of_large(samples):
    video = torch.stack([large(i, 64, 1000) for i in range(16)])
    return video[3:5], video[5, 1:9].t()

def transposed(samples):
    whole = torch.stack(samples)
    return whole.t(), whole, whole[:, :9000], torch.stack(samples)[:, ::3], torch.stack(samples).expand(2, 4, 20000)

def of_grad(samples):
    return torch.stack(samples).requires_grad_(), torch.nn.Parameter(torch.stack(samples))

def odd_types(samples):
    x = torch.stack(samples)
    return [x.to(torch.bfloat16), x.to(torch.complex64).conj(), x > 5, x.to(torch.int16).view(torch.uint8), x.to_sparse(),
            torch.quantize_per_tensor(x, 0.1, 0, torch.qint8), torch.empty(0, 3), x[:0], torch.tensor(5), x.double().neg(),
            torch.nested.nested_tensor([x, x[:3]])]

def arrays(samples):
    x = torch.stack(samples).numpy()
    kept = np.array(x)
    kept.flags.writeable = False
    return [x, np.asfortranarray(x), x[:, ::2], x.astype(">f4"), kept, np.array([{"a": 1}] * 4), x.view(np.recarray), x.astype("M8[s]"),
            np.zeros(30000, dtype=[("a", "i4"), ("b", "f8")]), np.float64(3), x[:0]]

def ragged(samples):
    return [torch.arange(1000 * (k + 1)) for k in range(len(samples))], "text" * 9000, b"bytes" * 9000

class Data(Dataset):
    def __init__(self, sample, n=12):
        self.sample, self.n = sample, n
    def __len__(self):
        return self.n
    def __getitem__(self, i):
        return self.sample(i)

def plain(i): return large(i, 20000)
def nested(i): return {"a": [large(i, 20000), (i, "x")], "b": Pair(large(i, 300, 40), i), "c": np.full((200, 50), i)}
def robot(i): return Robot(large(i, 3, 90, 90), large(i, 14), str(i))
def graph(i): return Graph(x=large(i, 9000, 3), edges=torch.arange(30000).reshape(2, -1))
def small(i): return {"id": i, "boxes": large(i, 3, 4)}

CASES = {
    "stacked": (plain, None), "nested": (nested, None), "dataclass": (robot, as_is), "object": (graph, as_is), "small": (small, None),
    "subclass": (plain, with_attribute), "aliases": (plain, aliases), "views": (plain, view_of_large), "strides": (plain, transposed),
    "grad": (plain, of_grad), "types": (plain, odd_types), "arrays": (plain, arrays), "ragged": (plain, ragged), "list": (plain, as_is), "bare": (plain, first),
}

def describe(x):
    """All that a program can see of it, but where it lies."""
    if isinstance(x, torch.Tensor) and x.is_nested:
        return ["nested", str(x.layout), [describe(part) for part in x.unbind()]]
    if isinstance(x, torch.Tensor):
        what = [type(x).__name__, str(x.dtype), list(x.shape), x.requires_grad, x.is_leaf, str(x.layout), sorted(vars(x))]
        if x.layout is torch.strided and not x.is_quantized:
            what += [list(x.stride()), x.is_conj(), x.is_neg(), x.is_shared(), x.untyped_storage().resizable()]
        plain = x.dequantize() if x.is_quantized else x.to_dense() if x.is_sparse else x
        return what + [plain.detach().to(torch.complex128).sum().item().__repr__(), plain.detach().flatten()[-3:].tolist().__repr__()]
    if isinstance(x, np.ndarray):
        return [type(x).__name__, str(x.dtype), x.shape, x.strides, x.flags.writeable, x.flags.c_contiguous, x.flags.f_contiguous, x.flags.aligned,
                str(x.reshape(-1)[-3:].tolist()), str(x.sum()) if x.dtype.kind in "ifc" else ""]
    if isinstance(x, dict):
        return [type(x).__name__, [[str(k), describe(v)] for k, v in x.items()]]
    if isinstance(x, (list, tuple)):
        return [type(x).__name__, [describe(v) for v in x]]
    if hasattr(x, "__dict__"):
        return [type(x).__name__, describe(vars(x))]
    return [type(x).__name__, repr(x)]
'''

EQUAL = """
if __name__ == "__main__":
    torch.manual_seed(0)
    for name, (sample, collate) in CASES.items():
        for settings in json.loads(sys.argv[1]):
            kept = []
            loader = DataLoader(Data(sample), batch_size=4, collate_fn=collate, num_workers=2, **settings)
            for epoch in range(1 + loader.persistent_workers):
                for batch in loader:
                    kept.append(batch)
                    if name == "aliases":  # what is written to one is seen in the other
                        batch["whole"][0, 5] = -7
                        assert batch["half"][0, 5] == -7 and batch["flat"][5] == -7 and batch["again"] is batch["whole"]
            print(name, json.dumps([describe(batch) for batch in kept], default=str))
"""

@unittest.skipIf(torch is None, "needs torch")
@unittest.skipUnless(os.path.exists(BINARY), "needs bin/stoker (make build)")
class HandoverTest(unittest.TestCase):
    def setUp(self):
        leash.hold(self)
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def run_program(self, body, *arguments, fed):
        path = os.path.join(self.folder, "train.py")
        with open(path, "w") as file:
            file.write(KINDS + body)
        if not fed:
            return alone.run(path, *arguments)
        return subprocess.run([BINARY, "feed", "--", sys.executable, path, *arguments], capture_output=True, text=True, timeout=600)

    def hold_equal(self, body, *arguments):
        plain = self.run_program(body, *arguments, fed=False)
        fed = self.run_program(body, *arguments, fed=True)
        self.assertTrue(plain.stdout, plain.stderr)
        for left, right in zip(plain.stdout.splitlines(), fed.stdout.splitlines()):
            self.assertEqual(left, right)
        self.assertEqual((plain.returncode, plain.stdout), (fed.returncode, fed.stdout), fed.stderr)
        return fed

    def test_whatever_a_batch_holds_is_equal(self):
        self.hold_equal(EQUAL, json.dumps([{}]))

    def test_what_nobody_keeps_crosses_in_rooms(self):
        names = ("stacked", "nested", "dataclass", "object", "views", "strides", "arrays", "ragged", "list", "bare")
        body = EQUAL.replace("CASES.items()", f"[(name, CASES[name]) for name in {names}]")
        fed = self.hold_equal(body, json.dumps([{"persistent_workers": True, "prefetch_factor": 3}]))
        self.assertIn("through memory that is used again", fed.stderr)
        self.assertNotIn("PyTorch's way", fed.stderr)

    def test_workers_that_are_not_forked(self):
        self.hold_equal(EQUAL.replace("CASES.items()", '[(name, CASES[name]) for name in ("nested", "arrays")]'), json.dumps([{"multiprocessing_context": "spawn"}]))

    def test_what_a_worker_keeps_is_shared_with_the_trainer_as_before(self):
        """PyTorch moves a tensor that it sends into shared memory: a trainer that changes it changes the worker's."""
        fed = self.hold_equal(
            """
class Keeps(Dataset):
    def __init__(self):
        self.samples = [large(i, 20000) for i in range(4)]
        self.whole = large(0, 4, 20000)
        self.cache = {}
    def __len__(self):
        return 4
    def __getitem__(self, i):
        late = self.cache.setdefault(i, large(i, 30000))
        return {"sample": self.samples[i], "view": self.whole[i], "detached": self.samples[i].detach(), "late": late, "part": late[10:20000]}

if __name__ == "__main__":
    for batch_size in (None, 2):
        loader = DataLoader(Keeps(), batch_size=batch_size, collate_fn=None if batch_size is None else as_is, num_workers=1, persistent_workers=True)
        for epoch in range(3):
            for batch in loader:
                for sample in [batch] if batch_size is None else batch:
                    print([value[0].item() for value in sample.values()])
                    for value in sample.values():
                        value.mul_(2).add_(1)
"""
        )
        self.assertIn("[3.0, 1.0, 3.0, 1.0, 43.0]", fed.stdout)  # as the trainer left it

    def test_a_kept_batch_is_never_written_again(self):
        """Also one that a collate function keeps, and one that a forked child still has."""
        self.hold_equal(
            """
last = []
def keeping(samples):
    batch = torch.utils.data.default_collate(samples)
    out = batch + (last[0][:, :1] if last else 0)
    last[:] = [batch]
    return out

if __name__ == "__main__":
    loader = DataLoader(Data(plain, 200), batch_size=4, collate_fn=keeping, num_workers=2)
    kept = [batch for batch in loader]
    print([batch.sum().item() for batch in kept])
    early = next(iter(DataLoader(Data(plain, 400), batch_size=4, num_workers=1)))
    loader = iter(DataLoader(Data(plain, 400), batch_size=4, num_workers=1))
    early = next(loader)
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.read(read, 1)
        ok = early.sum().item() == sum(plain(i).sum().item() for i in range(4))
        os._exit(0 if ok else 1)
    del early
    print(sum(batch.sum().item() for batch in loader))
    os.write(write, b"x")
    print("child", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
        )

    def test_an_array_over_a_batch_that_is_shared_afterwards(self):
        """PyTorch moves what it shares or sends to another process, unless it is shared already as
        a worker's batch. An array over it stays as it was."""
        self.hold_equal(
            """
def both(i): return large(i, 20000), large(i, 3)

if __name__ == "__main__":
    for keeps in (False, True):
        arrays, kept = [], []
        sent = torch.multiprocessing.get_context("fork").SimpleQueue()
        for number, batch in enumerate(DataLoader(Data(both, 240), batch_size=4, num_workers=2)):
            arrays.append([tensor.numpy() for tensor in batch])
            for tensor in batch:
                tensor.share_memory_() if number % 2 else sent.put(tensor)
            del tensor
            if keeps:
                kept.append(batch)
            elif len(arrays) > 3:
                print([float(array.sum()) for array in arrays.pop(0)])
        print([[float(array.sum()) for array in both] for both in arrays])
"""
        )

    def test_a_forked_child_of_the_trainer_shares_what_pytorch_alone_shares(self):
        """Tensors of workers it shares, small ones too; arrays and what this process makes by itself it does not."""
        fed = self.hold_equal(
            """
import io
from PIL import Image
from torchvision.transforms.functional import to_tensor
file = io.BytesIO()
Image.new("RGB", (96, 64), (9, 90, 200)).save(file, "JPEG")

def picture(i): return to_tensor(Image.open(file).resize((96, 60)))
def mixed(i): return {"tensor": large(i, 20000), "array": np.full(20000, i), "small": large(i, 5), "short": np.full(5, i)}
def few(i): return {"array": np.full(5000, i), "small": large(i, 5)}

def leaves(batch):
    if isinstance(batch, (list, tuple, dict)):
        return [leaf for part in (batch.values() if isinstance(batch, dict) else batch) for leaf in leaves(part)]
    return [batch.reshape(-1)]

if __name__ == "__main__":
    for sample, collate, workers in ((picture, None, 0), (picture, None, 1), (mixed, as_is, 1), (few, as_is, 1)):
        kept = []
        for batch in DataLoader(Data(sample), batch_size=4, collate_fn=collate, num_workers=workers):
            (read, write), (hears, says) = os.pipe(), os.pipe()
            pid = os.fork()
            if not pid:
                for leaf in leaves(batch):
                    leaf[0] = 77
                os.write(says, b"x")
                os.read(read, 1)
                print([leaf[1].item() for leaf in leaves(batch)], flush=True)
                os._exit(0)
            while workers and not sample is picture and leaves(batch)[-1 if sample is few else 0][0] != 77:
                time.sleep(0.01)
            for leaf in leaves(batch):
                leaf[1] = 55
            os.write(write, b"x")
            os.waitpid(pid, 0)
            for end in (read, write, hears, says):
                os.close(end)
            kept.append(batch)
        print([[(leaf[0].item(), float(leaf.sum())) for leaf in leaves(batch)] for batch in kept])
"""
        )
        self.assertIn("pictures whole", fed.stderr)

    def test_a_child_of_a_worker_writes_elsewhere(self):
        self.hold_equal(
            """
def forking(samples):
    first, (read, write) = torch.utils.data.default_collate(samples), os.pipe()
    pid = os.fork()
    if not pid:
        os.read(read, 1)
        torch.utils.data.default_collate([-sample for sample in samples])
        os._exit(0)
    second = torch.utils.data.default_collate(samples)
    os.write(write, b"x")
    os.waitpid(pid, 0)
    os.close(read), os.close(write)
    return first, second

if __name__ == "__main__":
    for batch in DataLoader(Data(plain, 40), batch_size=4, collate_fn=forking, num_workers=1):
        print(describe(batch))
"""
        )

    def test_errors_and_deaths(self):
        """The error of a sample has its traceback, what cannot be pickled is said, and a worker that is killed is named."""
        errors = """
class Bad(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, i):
        if i == 5:
            %s
        return large(i, 20000)

if __name__ == "__main__":
    try:
        for batch in DataLoader(Bad(), batch_size=2, num_workers=2, timeout=60):
            print(batch.sum().item(), flush=True)
    except Exception as error:
        print(type(error).__name__, error if type(error) is not RuntimeError else str(error)[:20])
"""
        self.hold_equal(errors % "raise ValueError('no such sample')")
        self.hold_equal(errors % "time.sleep(1); os.kill(os.getpid(), signal.SIGKILL)")

    def test_workers_leave_an_iterator_that_raised_alone(self):
        """It lives on in a cycle with its traceback. A worker that collects it prints nothing, and ends nobody's workers."""
        body = """
class Bad(Dataset):
    def __init__(self, at):
        self.at = at
    def __len__(self):
        return 8
    def __getitem__(self, i):
        gc.collect()
        if i == self.at:
            raise ValueError("no such sample")
        return large(i, 20000)

if __name__ == "__main__":
    import gc
    gc.disable()
    for at in (5, 5, 9):
        try:
            print([describe(batch) for batch in DataLoader(Bad(at), batch_size=2, num_workers=2)], flush=True)
        except ValueError:
            print("raised")
"""
        fed = self.run_program(body, fed=True)
        self.assertEqual(fed.stdout.count("raised"), 2, fed.stderr)
        self.assertNotIn("AssertionError", fed.stderr)

    def test_a_part_of_each_batch_that_is_kept_keeps_no_rooms(self):
        """Labels of a whole epoch, while the pictures are dropped: their memory is not held by the labels."""
        fed = self.hold_equal(
            """
def pair(i): return large(i, 100000), large(i, 2500)

def rooms():
    return sum("stoker-batch" in line for line in open("/proc/self/maps"))

if __name__ == "__main__":
    kept = [label for _, label in DataLoader(Data(pair, 400), batch_size=4, num_workers=2)]
    print(sum(label.sum().item() for label in kept), rooms() <= 17 + 8)  # those at rest too
"""
        )
        self.assertIn("100 batches came from workers through memory that is used again", fed.stderr)

    def test_a_default_device_changes_nothing(self):
        """A trainer that makes its tensors on a device by default still gets its batches in memory, kept ones too."""
        self.hold_equal(
            """
if __name__ == "__main__":
    batches = iter(DataLoader(Data(lambda i: (large(i, 30000), large(i, 3)), 80), batch_size=2, num_workers=1, collate_fn=as_is))
    torch.set_default_device("meta")
    kept = list(batches)
    print([(x.device.type, small.device.type, float(x.numpy().sum())) for batch in kept for x, small in batch])
"""
        )

    def test_batches_of_text_go_pytorchs_way_from_the_second_epoch_on(self):
        fed = self.hold_equal(
            """
if __name__ == "__main__":
    text, tensors = Data(str, 40), Data(small, 40)
    for data in (text, text, tensors, tensors):
        batches = iter(DataLoader(data, batch_size=4, num_workers=1))
        receiving = sys.modules.get("stoker.handover.receiving")
        print("handed over:", receiving and len(receiving._ends), file=sys.stderr)
        print([describe(batch) for batch in batches])
        del batches
"""
        )
        self.assertEqual([line for line in fed.stderr.splitlines() if line.startswith("handed")], [f"handed over: {count}" for count in (1, 0, 1, 1)])

    def test_samples_that_are_stacked_as_they_come(self):
        """What nobody keeps is not stacked again; whatever may change, until the batch is complete, is stacked by PyTorch."""
        fed = self.hold_equal(
            """
import weakref

class Early(Dataset):
    def __init__(self, name):
        self.name, self.buffer, self.array, self.kept, self.weak = name, torch.zeros(40000), np.zeros(40000, "f4"), {}, weakref.WeakValueDictionary()
    def __len__(self):
        return 55
    def __getitem__(self, i):
        assert self in (found := torch.utils.data.get_worker_info().dataset, getattr(found, "dataset", None))
        if self.name == "raising" and i == 25:
            raise KeyError(i)
        return getattr(self, self.name)(i, torch.full((40000,), float(i)))
    def own(self, i, x): return x, i
    def bare(self, i, x): return x
    def mapped(self, i, x): return {"a": [x, (x + 1).view(200, 200)], "b": {"c": (x > 20).repeat(4), "d": str(i)}}
    def part(self, i, x): return x[10:39000], (x + 1).view(1, 100, 400)
    def raising(self, i, x): return x
    def small(self, i, x): return x[:5].clone(), i
    def strided(self, i, x): return x.view(200, 200).t(), x.to(torch.complex64).conj()
    def twice(self, i, x): return x, x, x[1:]
    def one_buffer(self, i, x): return self.buffer.add_(1), i
    def in_one_dict(self, i, x):
        if not self.kept:
            self.kept["x"] = x
        self.kept["x"].add_(i)
        return self.kept
    def of_array(self, i, x):
        self.array += 1
        return torch.from_numpy(self.array), torch.from_numpy(x.numpy() + 1)
    def seen_by_array(self, i, x):
        for array in self.kept.values():
            array += 1
        self.kept[i] = x.numpy()
        return x
    def seen_by_view(self, i, x):
        for view in self.kept.values():
            view += 1
        self.kept[i] = x[100:]
        return x
    def base_is_kept(self, i, x):
        for base in self.kept.values():
            base += 1
        self.kept[i] = x
        return x.view(200, 200)
    def by_dlpack(self, i, x):
        for other in self.kept.values():
            torch.from_dlpack(other).add_(1)
        self.kept[i] = x.view(-1)
        return torch.from_dlpack(x)
    def weakly(self, i, x):
        x += i % 2 and sum(float(other[0]) for other in self.weak.values())
        self.weak[i] = x
        return x
    def grows(self, i, x): return (x, x[: 20000 + i].clone()) if i < 20 else x[: 20000 + i].clone()
    def changes(self, i, x): return x if i % 20 < 15 else x.double() if i < 40 else x.view(1, -1)
    def requires(self, i, x): return x.requires_grad_()
    def named(self, i, x): return Pair(x, i)
    def listed(self, i, x): return [x, np.full(20000, i)]

real = torch.stack
def stack(tensors, *args, **kwargs):
    if tensors[0].numel() > 9999:
        print("stacked:", getattr(torch.utils.data.get_worker_info().dataset, "name", "bare"), file=sys.stderr)
    return real(tensors, *args, **kwargs)

if __name__ == "__main__":
    torch.stack = stack
    for name in [name for name in vars(Early) if name[0] != "_"]:
        for data in [Early(name)] + [torch.utils.data.Subset(Early(name), range(5, 45))] * (name == "bare"):
            kept = []
            try:
                for batch in DataLoader(data, 20, num_workers=1):
                    kept.append(batch)
            except Exception as error:
                print(error)
            print(name, json.dumps([describe(batch) for batch in kept]))
            print([[float(x[k].sum()) for k in (0, len(x) // 2, -1)] for batch in kept for x in (batch if isinstance(batch, list) else [batch]) if isinstance(x, torch.Tensor)])
"""
        )
        stacked = {line.split()[1] for line in fed.stderr.splitlines() if line.startswith("stacked:")}
        self.assertEqual(stacked & {"own", "bare", "mapped", "part", "raising"}, set())
        self.assertLessEqual({"twice", "one_buffer", "in_one_dict", "of_array", "seen_by_array", "seen_by_view", "base_is_kept", "weakly"}, stacked)

    def test_no_warning_of_ours(self):
        """However workers start and iterators end, also where warnings are errors."""
        body = """
if __name__ == "__main__":
    kinds, left = [DataLoader], []
    try:
        from torchdata.stateful_dataloader import StatefulDataLoader
        kinds.append(StatefulDataLoader)
    except ImportError:
        pass
    for kind, context in [(kinds[0], "spawn"), (kinds[0], "forkserver"), *((kind, "fork") for kind in kinds)]:
        loader = kind(Data(nested), 4, num_workers=1, multiprocessing_context=context, persistent_workers=context == "spawn")
        batches = iter(loader)
        print(len(describe(next(batches))), len([*loader]))
        if context == "fork":
            left.append(batches)
    del batches, loader
"""
        path = os.path.join(self.folder, "train.py")
        with open(path, "w") as file:
            file.write(KINDS + body)
        options = ("-X", "dev", "-W", "error::ResourceWarning", "-W", "error:::_stoker")
        fed = subprocess.run([BINARY, "feed", "--", sys.executable, *options, path], capture_output=True, text=True, timeout=600)
        self.assertEqual((fed.returncode, len(fed.stdout.splitlines()) > 2), (0, True), fed.stderr)
        self.assertNotRegex(fed.stderr, "ResourceWarning|AssertionError|Exception ignored|_stoker.*Warning|<stoker>")

    def test_a_worker_whose_trainer_has_died_sends_nothing_more(self):
        """PyTorch's pipe would take some batches, and then keep the worker from ending."""
        from stoker.handover import memory, sending

        sent = []
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sends = sending.Queue(types.SimpleNamespace(put=sent.append), theirs, "key", 0, memory.Memory([]), False)
        sends.put((0, [torch.zeros(100_000)]))
        ours.close()
        sends.put((1, [torch.zeros(100_000)]))
        theirs.close()
        self.assertEqual(len(sent), 1)

    def test_two_workers_never_write_to_one_room(self):
        """One of an earlier iteration may still run when the next one inherits its rooms."""
        from stoker.daemon.room import Room

        room = Room(1 << 16)
        other = Room(room.size, os.dup(room.descriptor))
        first = room.lend()
        self.assertEqual((other.lend(), room.lend()), (None, None))
        os.close(first)
        loan = other.lend()
        self.assertEqual(room.lend(), None)
        os.close(loan)

    def test_an_iteration_that_is_left_early(self):
        """The next one begins with the rooms of the last, but for those of a batch that is kept, which stays as it is."""
        fed = self.hold_equal(
            """
def rooms():
    return {line.split()[4] for line in open("/proc/self/maps") if "stoker-batch" in line}

if __name__ == "__main__":
    kept, seen = [], []
    for epoch in range(8):
        for batch in DataLoader(Data(plain, 40), batch_size=4, num_workers=2):
            if epoch > 3:
                break
            print(describe(batch))
        if epoch < 4:
            kept.append(batch)
            seen.append(rooms())
        if epoch == 4:  # the rooms of the last iteration stay open
            before = len(os.listdir("/proc/self/fd"))
    print([describe(batch) for batch in kept], len(os.listdir("/proc/self/fd")) - before < 8)
    print("again:", *(len(a & b) > 2 for a, b in zip(seen, seen[1:])), file=sys.stderr)
"""
        )
        self.assertIn("again: True True True", fed.stderr)


if __name__ == "__main__":
    unittest.main()
