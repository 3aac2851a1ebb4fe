"""The start-up hook under real PyTorch on the CPU: same results bit for bit, and the ways in which programs use loaders.

To start PyTorch takes seconds, so each program here tries many things and is run once with the hook and once without.
"""

import glob
import os
import socket
import sys
import threading
import unittest

from test_hook import CLIENT, HOOK, REPOSITORY, HookCase

TORCH = glob.glob(os.path.join(os.path.dirname(os.path.dirname(sys.executable)), "lib", "python*", "site-packages", "torch", "version.py"))

TRAIN = """
import sys, warnings
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

class Noise(Dataset):
    def __len__(self): return 24
    def __getitem__(self, i):
        return torch.randn(8, generator=torch.Generator().manual_seed(i)) + torch.rand(1), torch.tensor([float(i)])

def train(loader, epochs=2):
    torch.manual_seed(7)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    losses = []
    for epoch in range(epochs):
        for x, y in loader:
            loss = ((model(x) - y) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item().hex())
    return losses + [model.weight.sum().item().hex(), torch.rand(1).item().hex()]
"""

WAYS = (
    TRAIN
    + """
if __name__ == "__main__":
    torch.set_num_threads(1)
    way = sys.argv[1]
    if way == "0":
        print(train(DataLoader(Noise(), 5, shuffle=True)))
        print(train(DataLoader(Noise(), batch_size=None)))
    else:
        context = "fork" if way == "kept" else way
        print(train(DataLoader(Noise(), 5, shuffle=True, num_workers=2, persistent_workers=way != "fork", multiprocessing_context=context)))
"""
)

SURVIVAL = (
    TRAIN
    + """
import gc, itertools, multiprocessing, os, pickle, random, signal, threading, time, weakref
from torch.utils.data import BatchSampler, RandomSampler, TensorDataset

class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        return iter(range(info.id if info else 0, 20, info.num_workers if info else 1))
    def __len__(self): raise AssertionError("nobody may ask")

class Bad(Dataset):
    def __len__(self): return 8
    def __getitem__(self, i):
        if i == 5: raise ValueError("bad sample")
        return torch.tensor([i])

class Mine(DataLoader):
    def __iter__(self):
        for batch in super().__iter__(): yield batch

def seen(loader):
    return [batch.tolist() if isinstance(batch, torch.Tensor) else str(batch) for batch in loader]

def caught(loader):
    got = []
    try:
        for batch in loader: got.append(batch.tolist())
    except Exception as error:
        got.append((type(error).__name__, "bad sample" in str(error)))
    gc.collect()  # of the iterator: torch complains where it is collected in a forked worker
    return got

def main():
    torch.set_num_threads(1)
    torch.manual_seed(3)
    random.seed(3)
    data = TensorDataset(torch.arange(12.0))
    print("nested", [(a[0].tolist(), [b[0].tolist() for b in DataLoader(data, 6)]) for a in DataLoader(data, 4)])
    loader = DataLoader(data, 4, shuffle=True)
    print("zip", [(a[0].tolist(), b[0].tolist()) for a, b in zip(loader, DataLoader(data, 3))], len(list(zip(loader, loader))))
    for workers in (0, 2):
        loader = DataLoader(data, 4, num_workers=workers)
        for batch in loader: break
        print("break", workers, batch, [b[0].tolist() for b in itertools.islice(loader, 2)])
        print("iterable", workers, seen(DataLoader(Stream(), 3, num_workers=workers)))
        print("exception", workers, caught(DataLoader(Bad(), 2, num_workers=workers)))
    loader = DataLoader(data, 4, num_workers=2, persistent_workers=True)
    print("persistent", [[b[0].tolist() for b in loader] for _ in range(3)])
    del loader
    print("no batch", seen(DataLoader(Stream(), None)), len(list(DataLoader(data, None))))
    print("generator", [x * 2 for (x,) in (b for b in DataLoader(data, 4))])
    print("subclass", len(list(Mine(data, 5))))
    sampler = BatchSampler(RandomSampler(data), 5, False)
    print("batch sampler", [b[0].tolist() for b in DataLoader(data, batch_sampler=sampler)])
    loader = DataLoader(data, 4)
    list(loader)
    copy = pickle.loads(pickle.dumps(loader))
    print("pickle", sorted(vars(loader)), copy.collate_fn is loader.collate_fn, len(list(copy)))
    counts = []
    threads = [threading.Thread(target=lambda: counts.append(len(list(DataLoader(data, 1))))) for _ in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print("threads", counts)
    print("mapping", [sorted(b) for b in DataLoader([{"a": torch.ones(2), "b": {"c": 1.0}}] * 4, 2)])
    class Custom:
        def __init__(self, samples): self.x = torch.stack([s[0] for s in samples])
    print("custom", [b.x.shape for b in DataLoader(data, 4, collate_fn=Custom)])

    # Memory is freed as without us, and by reference counts alone.
    gc.collect(); gc.disable()
    alive = []
    for batch in DataLoader(data, 2):
        alive.append(weakref.ref(batch[0]))
        print(sum(r() is not None for r in alive), end=" ")
    del batch
    big = TensorDataset(torch.arange(4.0))
    gone = weakref.ref(big)
    list(DataLoader(big, 2)); del big
    print("memory", sum(r() is not None for r in alive), gone() is None)
    gc.enable()

    # Ctrl-C in the loader, in both kinds.
    three, me = multiprocessing.Event(), os.getpid()
    class Slow(Dataset):
        def __len__(self): return 4
        def __getitem__(self, i):
            if i == 3:
                three.wait()
                os.kill(me, signal.SIGINT)
                time.sleep(2)
            return i
    for workers in (0, 1):
        got = []
        three.clear()
        try:
            for batch in DataLoader(Slow(), 1, num_workers=workers):
                got.append(batch.tolist())
                if len(got) == 3: three.set()
        except KeyboardInterrupt:
            print("interrupt", workers, got)
        gc.collect()

    # A user's mode sees the program's operations, and none of ours.
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode
    class Functions(TorchFunctionMode):
        calls = []
        def __torch_function__(self, function, types, args=(), kwargs=None):
            self.calls.append(getattr(function, "__name__", "?"))
            return function(*args, **(kwargs or {}))
    class Dispatches(TorchDispatchMode):
        calls = []
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            self.calls.append(str(function))
            return function(*args, **(kwargs or {}))
    with Functions(), Dispatches():
        for batch in DataLoader(data, 4): batch[0] + 1
    print("modes", Functions.calls, Dispatches.calls)

    # Compiled code: the same numbers, as few compilations.
    import logging
    logging.disable(logging.WARNING)
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    @torch.compile(backend="eager")
    def step(x):
        loss = (model(x[:, None]) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()
    @torch.compile(backend="eager")
    def epoch(loader):
        total = 0
        for (x,) in loader: total += x.sum()
        return total
    print("compiled", [step(x).item().hex() for _ in range(5) for (x,) in DataLoader(data, 4)], [epoch(DataLoader(data, 4)).item() for _ in range(12)])
    from torch._dynamo.utils import counters
    print(dict(counters["stats"]))
    print("random", torch.rand(1).item().hex(), random.random())
    import numpy
    print(numpy.random.seed(1), numpy.random.rand())

if __name__ == "__main__":
    main()
"""
)


@unittest.skipUnless(TORCH, "PyTorch is not installed in this Python")
class Torch(HookCase):
    def both(self, source, *args, plain=None):
        plain = plain or self.run_alone(source, *args)
        hooked = self.run_program(source, args=args)
        self.assertEqual((plain.code, plain.err), (0, ""))
        self.assertEqual((hooked.code, hooked.err), (0, ""))
        self.assertEqual(plain.out.splitlines(), hooked.out.splitlines())
        self.assertEqual(hooked.of("warn"), [])
        return hooked

    def test_same_losses_in_one_process(self):
        result = self.both(WAYS, "0")
        self.assertEqual([(r["dataset"], r["batch_size"], r["shuffle"]) for r in result.of("loader")], [("Noise", 5, True), ("Noise", None, False)])
        self.assertEqual(len(result.of("step")), 2 * 5 + 2 * 24)
        self.assertEqual([s["b"] for s in result.of("step")][:5], [5, 5, 5, 5, None if result.of("step")[4]["b"] is None else 4])
        fetched = result.of("fetch")[-1]
        self.assertTrue(32 <= fetched["count"] <= 2 * 5 + 2 * 24, fetched)  # of quick ones fewer are timed: test_hook
        self.assertTrue(32 <= fetched["samples"] <= 4 * 24, fetched)
        self.assertEqual({o["device"] for o in result.of("optim")}, {"cpu"})

    def test_a_pass_that_is_traced_has_no_number_of_samples(self):
        """torch.jit.trace gives a tensor in its place, which is no JSON: the packet, with all else in it, was lost."""
        result = self.both("""
    import time, warnings, torch, torch.utils.data
    warnings.simplefilter("ignore")
    model = torch.nn.Linear(3, 1)
    for n in range(6):
        torch.jit.trace(model, torch.zeros(2, 3), check_trace=False)
        print(model(torch.zeros(5, 3)).shape)
        time.sleep(0.01)
        """)
        self.assertEqual({s["b"] for s in result.of("step")}, {None, 5})

    def test_ranks_that_the_program_numbers_itself(self):
        """init_process_group is given them: the environment need not name any."""
        result = self.both("""
    import os, tempfile, torch, torch.distributed as dist, torch.utils.data
    for batch in torch.utils.data.DataLoader(range(4)):
        print(batch)
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
        print(dist.get_world_size(), dist.init_process_group.__name__)
        dist.destroy_process_group()
        """)
        self.assertEqual([(h["rank"], h["world"]) for h in result.of("hello")][-1], (0, 1))

    def test_same_losses_with_workers(self):
        kept = self.run_alone(WAYS, "kept")  # forked workers that live for both epochs: how they start changes no loss
        for way in ("fork", "spawn", "forkserver"):
            with self.subTest(way=way):
                result = self.both(WAYS, way, plain=None if way == "fork" else kept)
                (loader,) = result.of("loader")
                self.assertEqual((loader["num_workers"], loader["start_method"], loader["prefetch_factor"]), (2, way, 2))
                self.assertEqual([s["n"] for s in result.of("step")], list(range(10)))
                self.assertEqual([s["n"] for s in result.of("step") if s.get("first")], [0, 5])
                workers = [h for h in result.of("hello") if h["role"] == "worker"]
                self.assertEqual({h["worker"] for h in workers}, {0, 1})
                self.assertEqual(len(workers), 4 if way == "fork" else 2)
                # PyTorch computes with one thread in a worker, and says so once.
                self.assertEqual([t["pools"]["torch"] for t in result.of("threads")], [1] * len(workers))
                # All is counted: 48 samples in 10 batches, wherever they were fetched.
                last = {f["pid"]: f for f in result.of("fetch")}
                self.assertEqual(sum(f["samples"] for f in last.values()), 48)
                self.assertEqual(sum(f["count"] for f in last.values()), 10)

    def test_survival(self):
        result = self.both(SURVIVAL)
        self.assertIn("interrupt 1 ", result.out)
        # What the hook saw of it.
        kinds = {r["dataset"] for r in result.of("loader")}
        self.assertLessEqual({"TensorDataset", "Stream", "Bad", "Slow", "list"}, kinds)
        self.assertEqual({r["length"] for r in result.of("loader") if r["dataset"] == "Stream"}, {None})

    def test_reader_that_never_reads_and_reader_that_dies(self):
        plain = self.run_alone(WAYS, "fork")
        for dies in (False, True):
            if os.path.exists(self.socket):
                os.unlink(self.socket)
            server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            server.bind(self.socket)
            server.listen(2)

            def die(server=server):
                connection, _ = server.accept()
                connection.recv(100)
                connection.close()
                server.close()

            thread = threading.Thread(target=die) if dies else None
            if thread:
                thread.start()
            hooked = self.run_program(WAYS, reader=None, args=("fork",))
            self.assertEqual((hooked.code, hooked.err, hooked.out), (0, "", plain.out))
            if thread:
                thread.join()
            server.close()

    def test_every_function_may_raise(self):
        from test_hook import Guards

        targets = [t for t in Guards.targets(None) if t.partition(".")[2].startswith(("tell_batch", "samples_of", "settings_of", "hello", "_length", "ask", "got", "begun", "end_fetch"))]
        targets += ["process._Process.close", "channel.Channel.packet", "device.Devices.point", "fetch._end_collate", "fetch.time_collate", "device._optimizer_stepped"]
        source = (
            TRAIN
            + """
import importlib.util, logging
torch.set_num_threads(1)
sys.modules["_stoker_hook"].part("guard").step_aside()
sys.modules.pop("_stoker_hook")
expected = train(DataLoader(Noise(), 5, shuffle=True))
for target in sys.argv[2].split(","):
    spec = importlib.util.spec_from_file_location("_again", sys.argv[1])
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    def broken(*args): raise ArithmeticError(target)
    *owners, name = target.split(".")
    place = module
    for owner in owners: place = getattr(place, owner)
    if getattr(place, name).__name__ == "guarded":
        getattr(place, name).__closure__[0].cell_contents = broken
    else:
        setattr(place, name, broken)
    module.begin()
    assert train(DataLoader(Noise(), 5, shuffle=True)) == expected, target
    assert module.now.off, target
    assert DataLoader.__iter__.__code__.co_filename.endswith("dataloader.py"), target
    module.part("guard").step_aside()
print("fine")
"""
        )
        self.silent(self.run_program(source, args=(HOOK, ",".join(targets))), "fine\n")


if __name__ == "__main__":
    assert REPOSITORY and CLIENT
    unittest.main()
