"""The start-up hook without PyTorch: protocol, device clock, guards, channel, chaining, Python versions.

A small package named torch, written to a folder of its own, has the functions that the hook replaces and a CUDA of
arithmetic on the clock which says so when it is used in a forbidden way. `test_hook_torch.py` uses the real one.
"""

import glob
import importlib.util
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest

import alone
import leash

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HOOK = os.path.join(REPOSITORY, "python", "hook", "hook.py")
CLIENT = os.path.join(REPOSITORY, "python")
PACKET_BYTES = 32 << 10
MICRO = 1000  # ns; the fake device counts in floating seconds


class Reader:
    """The other end of the socket: takes every packet, in threads, and checks what holds for each of them."""

    def __init__(self, path, backlog=64):
        self.packets = []
        self.faults = []
        self.threads = []
        self.path = path
        self.server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.server.bind(path)
        self.server.listen(backlog)

    def start(self):
        self.accepting = threading.Thread(target=self._accept, daemon=True)
        self.accepting.start()
        return self

    def _accept(self):
        while True:
            connection, _ = self.server.accept()
            who, _, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            if who == os.getpid():  # `finish`: behind all that came before
                connection.close()
                return
            thread = threading.Thread(target=self._read, args=(connection,), daemon=True)
            self.threads.append(thread)
            thread.start()

    def _read(self, connection):
        seq = 0
        with connection:
            while True:
                try:
                    data = connection.recv(1 << 17)
                except OSError:
                    return
                if not data:
                    return
                packet = json.loads(data)
                if len(data) > PACKET_BYTES:
                    self.faults.append("packet of %d bytes" % len(data))
                if packet["seq"] != seq or packet["v"] != 1:
                    self.faults.append("seq %d, expected %d" % (packet["seq"], seq))
                if seq == 0 and packet["records"][0]["k"] not in ("hello", "warn", "raised"):  # hello itself failed; no torch came
                    self.faults.append("first record is no hello")
                seq += 1
                self.packets.append(packet)

    def finish(self):
        """Wait until all writers are gone, and return the records by kind, each with its pid."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as last:
            last.connect(self.path)
            self.accepting.join()
        self.server.close()
        for thread in self.threads:
            thread.join(leash.PATIENCE)
            assert not thread.is_alive(), "somebody still holds a connection"
        records = {}
        for packet in self.packets:
            for record in packet["records"]:
                records.setdefault(record["k"], []).append(dict(record, pid=packet["pid"]))
        return records


class Result:
    def __init__(self, done, records, packets, faults):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.records, self.packets, self.faults = records, packets, faults

    def of(self, kind):
        return self.records.get(kind, [])


class HookCase(unittest.TestCase):
    """Runs programs under the hook, as `stoker observe` does."""

    paths = ()  # further folders on PYTHONPATH, behind the hook's

    def setUp(self):
        leash.hold(self)
        self.folder = tempfile.mkdtemp(prefix="hook-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.hook_folder = os.path.join(self.folder, "hook")
        os.mkdir(self.hook_folder, 0o700)
        for part in glob.glob(os.path.join(os.path.dirname(HOOK), "*.py")):
            shutil.copy(part, self.hook_folder)
        self.socket = os.path.join(self.folder, "s")

    def environment(self, hook=True, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith("STOKER_") and k not in ("RANK", "PYTHONPATH")}
        env["PYTHONPATH"] = os.pathsep.join(([self.hook_folder] if hook else []) + list(self.paths))
        if hook:
            env.update(STOKER_HOOK_SOCKET=self.socket, STOKER_HOOK_DIR=self.hook_folder)
        env.update(more)
        return env

    def script(self, source):
        path = os.path.join(self.folder, "program.py")
        with open(path, "w") as file:
            file.write(textwrap.dedent(source))
        return path

    def run_alone(self, source, *args, **more):
        """Run a program that imports PyTorch without the hook."""
        done = alone.run(self.script(source), *args, imports=("torch",), env=self.environment(hook=False, **more))
        return Result(done, {}, [], [])

    def run_program(self, source, hook=True, reader=True, python=sys.executable, args=(), **more):
        """Run a program; a reader of True takes all packets. Nothing may be printed by the hook: see `silent`."""
        script = self.script(source)
        if reader is True:
            if os.path.exists(self.socket):
                os.unlink(self.socket)
            reader = Reader(self.socket).start()
        done = subprocess.run(
            [python, script, *args], env=self.environment(hook, **more), capture_output=True, text=True, timeout=leash.PATIENCE
        )
        records = reader.finish() if reader else {}
        result = Result(done, records, reader.packets if reader else [], reader.faults if reader else [])
        self.assertEqual(result.faults, [])
        return result

    def silent(self, result, out=None):
        self.assertEqual((result.code, result.err), (0, ""), result.err)
        if out is not None:
            self.assertEqual(result.out, out)
        return result


# ----------------------------------------------------------------------------------------------------------------------
# The package that stands for torch.

FAKE = {
    "__init__.py": """
        __version__ = "9.9.9"
        class version: cuda = "99.1"
        class Tensor:
            dtype = "torch.float32"
            def __init__(self, *shape): self.shape = shape
            def dim(self): return len(self.shape)
            def numel(self):
                n = 1
                for s in self.shape: n *= s
                return n
            def element_size(self): return 4
            class device: type = "cpu"
            def is_pinned(self): return True
        def is_grad_enabled(): return True
        def is_autocast_enabled(): return False
        class _C:
            class DisableTorchFunction:
                def __enter__(self): pass
                def __exit__(self, *_): pass
            _get_float32_matmul_precision = staticmethod(lambda: "high")
            _get_cudnn_benchmark = staticmethod(lambda: True)
            _get_tracing_state = staticmethod(lambda: None)
            _cuda_getCurrentRawStream = staticmethod(lambda index: cuda.current_stream(index).cuda_stream)
        from . import compiler, cuda
        from .optim import optimizer
        from .utils.data import dataloader
    """,
    "compiler.py": "def is_compiling(): return False",
    "utils/__init__.py": "",
    "utils/data/__init__.py": "from .dataloader import DataLoader",
    "utils/data/sampler.py": """
        class SequentialSampler:
            def __init__(self, data): self.data = data
            def __iter__(self): return iter(range(len(self.data)))
        class BatchSampler:
            def __init__(self, sampler, batch_size, drop_last):
                self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last
            def __iter__(self):
                batch = []
                for i in self.sampler:
                    batch.append(i)
                    if len(batch) == self.batch_size:
                        yield batch
                        batch = []
                if batch and not self.drop_last: yield batch
    """,
    "utils/data/_utils/__init__.py": "from . import fetch, worker",
    "utils/data/_utils/worker.py": "_worker_info = None",
    "utils/data/_utils/fetch.py": """
        class _BaseDatasetFetcher:
            def __init__(self, dataset, auto_collation, collate_fn, drop_last):
                self.dataset, self.auto_collation, self.collate_fn, self.drop_last = dataset, auto_collation, collate_fn, drop_last
        class _MapDatasetFetcher(_BaseDatasetFetcher):
            def fetch(self, index):
                return self.collate_fn([self.dataset[i] for i in index])
        class _IterableDatasetFetcher(_BaseDatasetFetcher):
            def fetch(self, index): raise StopIteration
    """,
    "utils/data/dataloader.py": """
        from . import _utils
        from .sampler import SequentialSampler, BatchSampler
        class _DatasetKind: Map, Iterable = 0, 1
        class DataLoader:
            def __init__(self, dataset, batch_size=1, drop_last=False, collate_fn=list, pin_memory=False):
                self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
                self.num_workers, self.prefetch_factor, self.pin_memory = 0, None, pin_memory
                self.persistent_workers, self.in_order, self.collate_fn = False, True, collate_fn
                self.sampler = SequentialSampler(dataset)
                self.batch_sampler = BatchSampler(self.sampler, batch_size, drop_last)
            def __iter__(self): return _SingleProcessDataLoaderIter(self)
        class _BaseDataLoaderIter:
            def __init__(self, loader):
                self._dataset_kind, self._auto_collation = _DatasetKind.Map, True
                self._sampler_iter = iter(loader.batch_sampler)
                self._fetcher = _utils.fetch._MapDatasetFetcher(loader.dataset, True, loader.collate_fn, loader.drop_last)
            def __iter__(self): return self
            def __next__(self): return self._next_data()
        class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
            def _next_data(self): return self._fetcher.fetch(next(self._sampler_iter))
    """,
    "optim/__init__.py": "",
    "optim/optimizer.py": """
        hooks = {}
        class Handle:
            def remove(self): hooks.clear()
        def register_optimizer_step_post_hook(hook):
            hooks[0] = hook
            return Handle()
        class Parameter:
            dtype = "torch.bfloat16"
            class device:
                type, index = "cuda", 0
                def __str__(self): return "cuda:0"
            device = device()
        class Optimizer:
            def __init__(self): self.param_groups = [{"params": [Parameter()]}]
            def step(self):
                for hook in hooks.values(): hook(self, (), {})
    """,
    "cuda/__init__.py": """
        # One queue per device, in arithmetic on the clock. `violations` counts what a real device would not forgive.
        import os, time
        from . import graphs
        initialized, capturing, violations, events, owner = False, 0, [], 0, None
        reserved = {0: 100, 1: 0}
        done = {0: 0.0, 1: 0.0}
        class Stream:
            def __init__(self, raw): self.cuda_stream = raw
        stream = Stream(7)
        def _check(what):
            if capturing: violations.append(what + " while capturing")
            if owner != os.getpid(): violations.append(what + " in another process")
            if not initialized: violations.append(what + " initialises CUDA")
        def init():
            global initialized, owner
            initialized, owner = True, os.getpid()
        def is_initialized(): return initialized and owner == os.getpid()
        def is_current_stream_capturing(): return bool(capturing)
        def current_stream(index=0): return stream
        def device_count(): return len(reserved)
        def memory_stats_as_nested_dict(index):
            _check("memory_stats")
            return {"reserved_bytes": {"all": {"current": reserved[index], "peak": 11}}, "allocated_bytes": {"all": {"peak": 10}}}
        def launch(seconds, index=0):
            done[index] = max(done[index], time.monotonic()) + seconds
        def synchronize(index=0):
            time.sleep(max(0, done[index] - time.monotonic()))
        class Event:
            def __init__(self, enable_timing=False):
                global events
                events += 1
                assert enable_timing
            def record(self, stream):
                _check("record")
                self.at = max(done[0], time.monotonic())
            def query(self):
                _check("query")
                return time.monotonic() >= self.at
            def elapsed_time(self, other):
                _check("elapsed")
                assert self.query() and other.query()
                return (other.at - self.at) * 1e3
    """,
    "cuda/graphs.py": """
        class CUDAGraph:
            def capture_begin(self):
                import torch
                torch.cuda.capturing += 1
            def capture_end(self):
                import torch
                torch.cuda.capturing -= 1
    """,
}


class FakeCase(HookCase):
    def setUp(self):
        super().setUp()
        self.fake = os.path.join(self.folder, "fake")
        self.write(self.fake, "torch", FAKE)
        self.paths = [self.fake]

    def write(self, folder, package, files):
        for name, text in files.items():
            path = os.path.join(folder, package, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(textwrap.dedent(text))


# A clock that only sleeping moves, for the hook, the device and the program alike: what is timed comes out to the ns.
CLOCK = """
    import sys, time
    now = [10**12]
    def sleep(seconds): now[0] += round(seconds * 1e9)
    time.sleep, time.monotonic = sleep, lambda: now[0] / 1e9
    for part in ("channel", "device", "boundary", "fetch", "garbage", "process"):
        sys.modules["_stoker_hook"].part(part).monotonic_ns = lambda: now[0]
"""

LOOP = """
    import sys, time, torch
    from torch.utils.data import DataLoader
    data = [torch.Tensor(3, 4) for _ in range(10)]
    optimizer = torch.optim.optimizer.Optimizer()
"""


WRAPPED = """
import os, sys
folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages")
os.makedirs(folder, exist_ok=True)
with open(os.path.join(folder, "progress.py"), "w") as file:
    file.write("def bar(batches):\\n    for batch in batches:\\n        yield batch\\n")
sys.path.append(folder)
import progress
"""


class Protocol(FakeCase):
    def test_the_place_of_a_loader_is_the_program_s_own(self):
        """Not that of an installed package which iterates it, such as a progress bar."""
        result = self.silent(self.run_program(WRAPPED + textwrap.dedent(LOOP) + "for batch in progress.bar(DataLoader(data, 3)):\n    optimizer.step()\n"), "")
        (loader,) = result.of("loader")
        self.assertEqual(os.path.basename(loader["file"]), "program.py", loader)
        self.assertEqual(loader["function"], "<module>", loader)

    def test_records_of_a_loop(self):
        result = self.silent(
            self.run_program(
                LOOP
                + """
    loader = DataLoader(data, 3)
    for epoch in range(2):
        for batch in loader:
            time.sleep(0.002)
            optimizer.step()
                """,
                RANK="3",
                WORLD_SIZE="8",
            ),
            "",
        )
        (hello,) = result.of("hello")
        self.assertEqual((hello["role"], hello["torch"], hello["cuda"]), ("main", "9.9.9", "99.1"))
        self.assertEqual((hello["rank"], hello["local_rank"], hello["world"]), (3, None, 8))
        self.assertEqual(hello["tid"], hello["pid"])
        self.assertTrue(hello["import_file"].endswith("program.py") and hello["import_line"] > 0)
        (loader,) = result.of("loader")
        expected = {"num_workers": 0, "batch_size": 3, "drop_last": False, "dataset": "list", "length": 10, "iterable": False}
        self.assertEqual({name: loader[name] for name in expected}, expected)
        self.assertTrue(loader["file"].endswith("program.py"))
        self.assertEqual([i["iter"] for i in result.of("iter")], [0, 1])
        steps = result.of("step")
        self.assertEqual([s["n"] for s in steps], list(range(8)))
        self.assertEqual([s["iter"] for s in steps], [0] * 4 + [1] * 4)
        self.assertEqual([s["n"] for s in steps if s.get("first")], [0, 4])
        for step in steps:
            self.assertGreaterEqual(step["p"], step["w"] + 2_000_000)
            self.assertTrue(step["grad"])
        # Periods tile an epoch.
        for a, b in zip(steps[:3], steps[1:4]):
            self.assertEqual(a["t"] + a["p"], b["t"])
        fetch = result.of("fetch")[-1]
        self.assertEqual((fetch["count"], fetch["samples"], fetch["worker"]), (8, 20, None))
        self.assertGreaterEqual(fetch["wall"], fetch["collate"])
        self.assertAlmostEqual(fetch["wall2"], fetch["wall"] ** 2 / 8e18, delta=fetch["wall"] ** 2 / 1e18)
        optim = result.of("optim")[0]
        self.assertEqual((optim["device"], optim["dtype"]), ("cuda:0", "bfloat16"))
        batch = result.of("batch")[0]
        self.assertEqual((batch["bytes"], batch["tensors"], batch["samples"]), (3 * 48, 3, 3))
        (precision,) = result.of("precision")
        self.assertEqual((precision["matmul"], precision["cudnn_benchmark"], precision["autocast"]), ("high", True, None))
        self.assertEqual([c.get("x") for c in result.of("clock")][:1], ["no device"])
        self.assertEqual(result.of("warn"), [])

    def test_quick_fetches_are_sampled(self):
        """All of the first 32 are timed; after that all of 10 ms and more, and one in eight of quicker ones."""
        for took, count in ((0.012, 100), (0.009, 32 + 68 // 8)):
            body = "\n    for batch in DataLoader(data * 20, 2, collate_fn=lambda b: time.sleep(%s) or b): pass" % took
            fetch = self.silent(self.run_program(CLOCK + LOOP + body)).of("fetch")[-1]
            self.assertAlmostEqual(fetch["count"], count, delta=1)
            self.assertEqual(fetch["wall"], fetch["count"] * round(took * 1e9))

    def test_slow_fetches_are_told_with_their_samples(self):
        """The fifth of a batch takes four seconds in each epoch, on a clock that moves when it is told."""
        body = """
    class Clips(list):
        def __getitem__(self, i):
            time.sleep(4 if i == 17 else 0.02)
            return super().__getitem__(i)
    clips = Clips(data * 10)
    for _ in range(3):
        for batch in DataLoader(clips, 2): pass"""
        slow = self.silent(self.run_program(CLOCK + LOOP + body)).of("slow")[-1]["fetches"]
        self.assertEqual([items for _, items in slow], [[16, 17]] * 2)
        self.assertTrue(all(wall > 4e9 for wall, _ in slow))

    def test_workers_in_a_cluster_are_told_by_node(self):
        body = """
    import importlib.util
    spec = importlib.util.spec_from_file_location("stoker.remote.figures", sys.argv[1])
    figures = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(figures)
    node = figures.find_node("a")
    node.workers, node.ahead, node.store = 2, 3, 100
    for batch in DataLoader(data, 2):
        node.batches, node.fetch, node.bytes = node.batches + 1, node.fetch + 0.5, node.bytes + 7"""
        file = os.path.join(CLIENT, "stoker", "remote", "figures.py")
        told = self.silent(self.run_program(LOOP + body, args=[file])).of("remote")[-1]
        batches = told["count"]
        self.assertGreater(batches, 1)
        want = {"k": "remote", "pid": told["pid"], "node": "a", "workers": 2, "ahead": 3, "cpu": 0, "moved": 0, "store": 100, "spilled": None}
        self.assertEqual(told, dict(want, count=batches, fetch=batches * 10**9 // 2, bytes=7 * batches))

    def test_collections_of_garbage_are_counted(self):
        """Each takes 30 ms on a clock that moves when it is told, and no other callback of the program's is touched."""
        body = """
    import gc
    def last(phase, info):
        if phase == "start": time.sleep(0.030)
    for number, batch in enumerate(DataLoader(data * 20, 2)):
        if number == 0: gc.disable(); gc.callbacks.append(last)
        gc.collect()
    gc.callbacks.remove(last)
    gc.enable()
        """
        told = self.silent(self.run_program(CLOCK + LOOP + body)).of("garbage")[-1]
        self.assertGreater(told["count"], 9)
        self.assertGreaterEqual(told["wall"], 9 * 30_000_000)

    def test_collections_are_told_while_a_loop_without_steps_runs(self):
        """Where they take much of the time of a program that uses a device. One that ends like this tells nothing at its exit."""
        self.paths.append(CLIENT)
        for device, much, told in ((True, True, True), (False, True, False), (True, False, False)):
            body = """
    import gc, os
    from stoker import emulated
    emulated.monotonic_ns = lambda: now[0]
    device = emulated.Device(spin=False) if %r else None
    def last(phase, info):
        if phase == "start": time.sleep(0.4 if %r else 0.01)
    gc.disable()
    gc.callbacks.append(last)
    for _ in range(5):
        time.sleep(0.4)
        gc.collect()
    os._exit(0)
            """ % (device, much)
            result = self.silent(self.run_program(CLOCK + LOOP + body))
            self.assertEqual(bool(result.of("garbage")), told, (device, much))

    def test_break_leaves_a_step_without_a_period(self):
        result = self.silent(
            self.run_program(
                LOOP
                + """
    loader = DataLoader(data, 2)
    for batch in loader: break
    for batch in loader: break
                """
            )
        )
        self.assertEqual([(s["n"], s["p"]) for s in result.of("step")], [(0, 0), (1, 0)])

    def test_zip_of_two_and_of_the_same(self):
        result = self.silent(
            self.run_program(
                LOOP
                + """
    a, b = DataLoader(data, 2), DataLoader(data, 2)
    print(len(list(zip(a, b))), len(list(zip(a, a))))
                """
            ),
            "5 5\n",
        )
        steps = result.of("step")
        self.assertEqual(sorted(s["n"] for s in steps if s["loader"] == 1), list(range(5)))
        # zip asks the first once more than it gets from the second.
        self.assertEqual(sorted(s["n"] for s in steps if s["loader"] == 0), list(range(15)))
        # Each period is that of its own iterator: together they tile.
        for step in steps:
            follower = [s for s in steps if (s["loader"], s["iter"], s["t"]) == (step["loader"], step["iter"], step["t"] + step["p"])]
            self.assertLessEqual(len(follower), 1)

    def test_which_loader_trains(self):
        """A step says how often an optimizer stepped within: an evaluation in the middle is told by that."""
        result = self.silent(
            self.run_program(
                LOOP
                + """
    train, evaluate = DataLoader(data, 2), DataLoader(data, 5)
    for n, batch in enumerate(train):
        optimizer.step(); optimizer.step()
        if n == 2:
            for batch in evaluate: pass
        optimizer.step()
    next(iter(train))
                """
            ),
            "",
        )
        told = {loader: [s["o"] for s in result.of("step") if s["loader"] == loader] for loader in (0, 1)}
        self.assertEqual(told, {0: [3] * 5 + [None], 1: [0, 0]})

    def test_alike_loaders_are_one_across_epochs(self):
        """A loader made anew in each epoch goes on where the last one ended; those in use at one time stay two."""
        for body, want in {
            "for epoch in range(3):\n        for batch in DataLoader(data, 2): pass": [list(range(15))],
            "for epoch in range(3): loader = DataLoader(data, 2); [batch for batch in loader]": [list(range(15))],
            "for epoch in range(3): it = iter(DataLoader(data, 2)); list(it)": [list(range(15))],
            "for epoch in range(3): list(zip(DataLoader(data, 2), DataLoader(data, 2)))": [list(range(15))] * 2,
            "pair = [DataLoader(data, 2), DataLoader(data, 2)]; [list(x) for x in pair]": [list(range(5))] * 2,
            "for size in (2, 5, 2): [b for b in DataLoader(data, size)]": [list(range(10)), [0, 1]],
            "for kind in (list, tuple): [b for b in DataLoader(kind(data), 2)]": [list(range(5))] * 2,
            "for n in (2, 4, 6, 8, 10): [b for b in DataLoader(data[:n], 2)]": [[0], [0, 1], list(range(12))],
            "[b for b in DataLoader(data, 2)]\n    [b for b in DataLoader(data, 2)]": [list(range(5))] * 2,
        }.items():
            result = self.silent(self.run_program(LOOP + "\n    " + body))
            steps = result.of("step")
            count = {r["loader"] for r in result.of("loader")}
            self.assertEqual([[s["n"] for s in steps if s["loader"] == i] for i in sorted(count)], want, body)
            self.assertEqual({r["loader"] for r in result.of("loader") if r.get("anew")}, {i for i, n in enumerate(want) if max(n) > 4}, body)
            self.assertEqual(len(result.of("loader")), len(want) + sum(max(n) > 4 for n in want), body)
            self.assertEqual(len({(s["loader"], s["iter"], s["n"]) for s in steps}), len(steps), body)

    def test_no_reference_is_kept(self):
        source = (
            LOOP
            + """
    import gc, weakref
    gc.disable()
    class Batch(list): pass
    class Data(list): pass
    alive = []
    def collate(samples):
        batch = Batch(samples)
        alive.append(weakref.ref(batch))
        return batch
    held = []
    for epoch in range(2):
        dataset = Data(data)
        loader = DataLoader(dataset, 2, collate_fn=collate)
        iterator = iter(loader)
        for batch in iterator:
            held.append(sum(r() is not None for r in alive))
        refs = [weakref.ref(dataset), weakref.ref(loader), weakref.ref(iterator)]
        del dataset, loader, iterator, batch
        held.append([r() is None for r in refs])
    print(held)
            """
        )
        self.silent(self.run_program(source), self.silent(self.run_program(source, hook=False)).out)

    def test_tracebacks_have_one_frame_more(self):
        source = (
            LOOP
            + """
    import traceback
    class Bad(list):
        def __getitem__(self, i): raise KeyError("bad sample")
    def collate(samples): raise KeyError("bad collate")
    for loader in (DataLoader(Bad(data)), DataLoader(data, collate_fn=collate)):
        try:
            next(iter(loader))
        except KeyError as error:
            print(len(traceback.extract_tb(error.__traceback__)), repr(error), error.__context__, error.__cause__)
            """
        )
        plain = [line.split(maxsplit=1) for line in self.silent(self.run_program(source, hook=False)).out.splitlines()]
        hooked = [line.split(maxsplit=1) for line in self.silent(self.run_program(source)).out.splitlines()]
        self.assertEqual([[str(int(n) + 1), text] for n, text in plain], hooked)

    def test_unknown_torch(self):
        with open(os.path.join(self.fake, "torch/utils/data/dataloader.py"), "a") as file:
            file.write("del _BaseDataLoaderIter.__next__\n_BaseDataLoaderIter.next = _SingleProcessDataLoaderIter._next_data\n")
        result = self.silent(self.run_program(LOOP + "\n    print(DataLoader.__iter__.__code__.co_filename.endswith('dataloader.py'))"), "True\n")
        (warn,) = result.of("warn")
        self.assertIn("9.9.9", warn["text"])
        self.assertIn("__next__", warn["text"])


class Clock(FakeCase):
    """The device's own clock, on the CUDA that checks how it is used."""

    def clocks(self, body, before="", **more):
        result = self.run_program(before + LOOP + body + "\n    print(torch.cuda.violations)", **more)
        self.silent(result)
        self.assertTrue(result.out.endswith("[]\n"), result.out)
        return result

    def test_idle_is_what_the_device_waited(self):
        result = self.clocks(
            """
    torch.cuda.init()
    class Slow(list):
        def __getitem__(self, i):
            time.sleep(0.004)
            return list.__getitem__(self, i)
    for sync in (False, True):
        for batch in DataLoader(Slow(data), 2):     # 8 ms of loading
            torch.cuda.launch(0.012)                # 12 ms of device work
            if sync: torch.cuda.synchronize()
            optimizer.step()
        torch.cuda.synchronize()
    for batch in DataLoader(data, 5): pass          # reads what is left
    print("events", torch.cuda.events)
            """,
            CLOCK,
        )
        clock = {(c["loader"], c["n"]): c for c in result.of("clock") if "i" in c}
        self.assertEqual({c["src"] for c in clock.values()}, {"cuda"})
        for n in range(1, 4):  # queued work covers the loading
            self.assertAlmostEqual(clock[0, n]["i"], 0, delta=MICRO)
            self.assertAlmostEqual(clock[0, n]["p"], 12_000_000, delta=MICRO)
        for n in range(6, 9):  # the loop waits for the device, then for the batch: all of it is idle
            self.assertAlmostEqual(clock[0, n]["i"], 8_000_000, delta=MICRO)
            self.assertAlmostEqual(clock[0, n]["p"], 20_000_000, delta=MICRO)
        # Few events exist, because they go back to the pool.
        self.assertLess(int(result.out.split()[1]), 16)

    def reasons(self, body, **more):
        return {c["x"] for c in self.clocks(body, **more).of("clock") if "x" in c}

    def test_not_initialised(self):
        self.assertEqual(self.reasons("\n    for batch in DataLoader(data, 2): pass"), {"no device"})

    def test_another_thread(self):
        body = """
    import threading
    torch.cuda.init()
    loader = DataLoader(data, 2)
    optimizer.step()
    thread = threading.Thread(target=lambda: [None for batch in loader])
    thread.start(); thread.join()
        """
        told = [c for c in self.clocks(body).of("clock") if "x" in c]
        self.assertEqual({c["x"] for c in told}, {"asked by another thread than the one that launches"})
        self.assertEqual({c.get("tid") for c in told}, {told[0]["pid"]})  # the main thread launches

    def test_side_stream(self):
        body = """
    torch.cuda.init()
    optimizer.step()
    torch.cuda.stream = torch.cuda.Stream(8)
    for batch in DataLoader(data, 2): pass
        """
        self.assertEqual(self.reasons(body), {"side stream"})

    def test_stream_changes_between_ask_and_got(self):
        body = """
    torch.cuda.init()
    class Data(list):
        def __getitem__(self, i):
            torch.cuda.stream = torch.cuda.Stream(i)
            return list.__getitem__(self, i)
    for batch in DataLoader(Data(data), 2): pass
        """
        self.assertIn("side stream", self.reasons(body))

    def test_several_devices(self):
        body = """
    torch.cuda.init()
    torch.cuda.reserved[1] = 5
    for batch in DataLoader(data, 2): pass
        """
        self.assertEqual(self.reasons(body), {"several devices"})

    def test_capture(self):
        body = """
    torch.cuda.init()
    graph = torch.cuda.graphs.CUDAGraph()
    for i, batch in enumerate(DataLoader(data, 1)):
        if i == 3: graph.capture_begin()
        if i == 6: graph.capture_end()
        """
        result = self.clocks(body)
        self.assertEqual({c["x"] for c in result.of("clock") if "x" in c}, {"graph capture"})
        self.assertLessEqual({1, 7, 8}, {c["n"] for c in result.of("clock") if "i" in c})

    def test_replays_after_a_warm_up_on_a_side_stream(self):
        """PyTorch's own way to make a graph of a whole step: the optimizer that warms up there steps in no replay."""
        body = """
    torch.cuda.init()
    main, graph = torch.cuda.stream, torch.cuda.graphs.CUDAGraph()
    torch.cuda.stream = torch.cuda.Stream(8)
    optimizer.step()
    graph.capture_begin(); optimizer.step(); graph.capture_end()
    torch.cuda.stream = main
    for batch in DataLoader(data, 2): pass
        """
        result = self.clocks(body)
        self.assertEqual({c["x"] for c in result.of("clock") if "x" in c}, set())
        self.assertGreater(len([c for c in result.of("clock") if "i" in c]), 1)
        self.assertEqual({s["o"] for s in result.of("step") if s["loader"] >= 0}, {None})  # steps in the graph, not: no step, as in evaluation

    def test_forked_child_leaves_the_device_alone(self):
        body = """
    import os
    torch.cuda.init()
    loader = DataLoader(data, 1)
    iterator = iter(loader)
    next(iterator); next(iterator)
    torch.cuda.launch(1e6)
    next(iterator)
    child = os.fork()
    if child == 0:
        for batch in iterator: pass
        for batch in loader: pass
        print(torch.cuda.violations, flush=True)
        os._exit(bool(torch.cuda.violations))
    assert os.waitpid(child, 0)[1] == 0
    for batch in iterator: pass
        """
        result = self.clocks(body)
        self.assertEqual(len(result.of("hello")), 2)
        child = [r for r in result.of("hello") if r["ppid"] in [h["pid"] for h in result.of("hello")]][0]["pid"]
        steps = [s for s in result.of("step") if s["pid"] == child]
        self.assertGreaterEqual(len(steps), 15)
        self.assertEqual({c.get("x") for c in result.of("clock") if c["pid"] == child}, {"no device"})

    def test_full_list_of_pairs(self):
        body = """
    torch.cuda.init()
    sys.modules["_stoker_hook"].part("device").PENDING_PAIRS = 4
    torch.cuda.launch(1e6)
    for batch in DataLoader(data, 1): pass
        """
        self.assertEqual(self.reasons(body), {"pool exhausted"})

    def test_work_between_iter_and_next(self):
        body = """
    torch.cuda.init()
    iterator = iter(DataLoader(data, 5))
    time.sleep(0.05)
    for batch in iterator: pass
        """
        result = self.clocks(body, CLOCK)
        self.assertEqual([c.get("x") for c in result.of("clock")][:1], ["work between iter() and next()"])
        self.assertEqual(result.of("step")[0]["w"], 0)

    def test_emulated_device(self):
        self.paths.append(CLIENT)
        if not os.path.exists(os.path.join(CLIENT, "stoker", "emulated.py")):
            self.skipTest("no stoker.emulated yet")
        body = """
    from stoker import emulated
    emulated.monotonic_ns = lambda: now[0]
    device = emulated.Device(spin=False)
    for sync in (False, True):
        for batch in DataLoader(data, 1, collate_fn=lambda b: time.sleep(0.004) or b):
            device.launch(0.008)
            if sync: device.synchronize()
        device.synchronize()
    for batch in DataLoader(data, 5): pass
        """
        result = self.clocks(body, CLOCK)
        clock = {(c["loader"], c["n"]): c for c in result.of("clock") if "i" in c}
        self.assertEqual({c["src"] for c in clock.values()}, {"emulated"})
        for n in range(1, 9):
            self.assertAlmostEqual(clock[0, n]["i"], 0, delta=MICRO)
            self.assertAlmostEqual(clock[0, 10 + n]["i"], 4_000_000, delta=MICRO)


class Chain(FakeCase):
    """The program's own sitecustomize, and programs that have nothing to do with torch."""

    SHOW = """
    import sys
    try:
        import sitecustomize
        print(sitecustomize.__file__, getattr(sys, "marker", None))
    except ImportError as error:
        print(error)
    print(sys.path[1:], sorted(n for n in sys.modules if "sitecustomize" in n))
    """

    def same_as_without(self, source):
        self.assertEqual(self.silent(self.run_program(source)).out, self.silent(self.run_program(source, hook=False)).out)

    def test_without_a_sitecustomize(self):
        # Not in one of ours: a distribution may bring its own.
        self.same_as_without(self.SHOW)

    def test_with_a_sitecustomize(self):
        self.write(self.folder, "own", {"sitecustomize.py": "import sys; sys.marker = 'ran'"})
        self.paths.insert(0, os.path.join(self.folder, "own"))
        self.same_as_without(self.SHOW)
        self.assertIn("ran", self.run_program(self.SHOW).out)

    def test_with_a_sitecustomize_that_fails(self):
        self.write(self.folder, "own", {"sitecustomize.py": "raise ValueError('mine')"})
        self.paths.insert(0, os.path.join(self.folder, "own"))
        results = [self.run_program("print(1)", hook=hook) for hook in (True, False)]
        self.assertEqual(*[(r.code, r.out, r.err) for r in results])
        self.assertIn("mine", results[0].err)

    def test_children_have_it_too(self):
        source = "import subprocess, sys; subprocess.run([sys.executable, '-c', %r])" % textwrap.dedent(
            LOOP + "\n    for b in DataLoader(data, 5): pass"
        )
        self.assertEqual(len(self.silent(self.run_program(source)).of("step")), 2)

    def test_what_is_waited_for_is_known(self):
        """The start has names of modules alone; what is done with each stands in the parts."""
        source = """
        import sys
        hook = sys.modules["_stoker_hook"]
        print(sorted([*hook.part("patches").PATCHES, *hook.part("inputs").LOADERS]) == sorted(hook.WANTED))
        print(sorted(hook.PARTS) == sorted(sys.argv[1].split(",")))
        """
        parts = {os.path.basename(path)[:-3] for path in glob.glob(os.path.join(os.path.dirname(HOOK), "*.py"))} - {"sitecustomize", "hook"}
        self.assertEqual(self.silent(self.run_program(source, args=(",".join(parts),))).out, "True\nTrue\n")

    def test_inert_without_a_socket(self):
        source = "import sys; print([type(f).__name__ for f in sys.meta_path if type(f).__name__ == '_Follower'])"
        self.assertEqual(self.silent(self.run_program(source)).out, "['_Follower']\n")
        os.unlink(self.socket)
        self.assertEqual(self.silent(self.run_program(source, reader=None)).out, "[]\n")
        self.assertEqual(self.silent(self.run_program(source, reader=None, STOKER_HOOK_SOCKET="")).out, "[]\n")

    def test_a_path_that_is_too_long_for_a_socket(self):
        folder = os.path.join(self.folder, *["x" * 60] * 3)
        os.makedirs(folder)
        number = os.open(folder, os.O_PATH)
        self.addCleanup(os.close, number)
        reader = Reader("/proc/self/fd/%d/s" % number).start()
        source = LOOP + "\n    for b in DataLoader(data, 5): pass"
        result = self.silent(self.run_program(source, reader=reader, STOKER_HOOK_SOCKET=os.path.join(folder, "s")))
        self.assertEqual(len(result.of("step")), 2)

    @unittest.skipIf(os.geteuid(), "needs root to become somebody else")
    def test_another_user_who_listens_is_told_nothing(self):
        listener = (
            "import os, socket, sys\n"
            "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.bind(sys.argv[1])\n"
            "os.setuid(65534); s.listen(); print(flush=True); end, _ = s.accept(); print(repr(end.recv(100)))"
        )
        with subprocess.Popen([sys.executable, "-c", listener, self.socket], stdout=subprocess.PIPE, text=True) as other:
            try:
                other.stdout.readline()
                source = LOOP + "\n    for b in DataLoader(data, 5): pass\n    print(sys.modules['_stoker_hook'].now.off)"
                self.assertEqual(self.silent(self.run_program(source, reader=None)).out, "True\n")
                self.assertEqual(other.stdout.read(), "b''\n")
            finally:
                other.kill()

    def test_nothing_is_connected_without_a_loader(self):
        result = self.silent(self.run_program("import torch"))
        self.assertEqual(result.packets, [])

    def test_loaded_by_other_ways(self):
        for line in (
            "import torch.utils.data.dataloader as m",
            "import importlib; m = importlib.import_module('torch.utils.data.dataloader')",
            "import importlib.util; importlib.util.find_spec('torch.utils.data.dataloader'); import torch.utils.data.dataloader as m",
            "import threading; t = threading.Thread(target=lambda: __import__('torch')); t.start(); t.join(); import torch.utils.data.dataloader as m",
        ):
            source = line + "\nfor b in m.DataLoader([1, 2]): pass\nprint(type(m.__loader__).__name__, vars(m.__loader__).keys(), m.__spec__.loader is m.__loader__)"
            result = self.silent(self.run_program(source))
            self.assertEqual(len(result.of("step")), 2, line)
            self.assertEqual(result.out, self.run_program(source, hook=False).out)

    def test_every_python_here(self):
        pythons = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python")))
        if not pythons:
            self.skipTest("no other Python here")
        for python in pythons:
            with self.subTest(python=python):
                version = tuple(int(part) for part in python.split(os.sep)[-3].split(".")[:2])
                if version < (3, 8):
                    self.silent(self.run_program("print(1)", python=python), "1\n")
                    continue
                result = self.silent(self.run_program(LOOP + "\n    torch.cuda.init()\n    for b in DataLoader(data, 2): optimizer.step()\n    print(1)", python=python), "1\n")
                self.assertEqual(len(result.of("step")), 5)
                self.assertEqual(result.of("warn"), [])
                self.assertTrue(any("i" in c for c in result.of("clock")))

    def test_compiled_form_is_kept_in_our_folder_only(self):
        start, torch = ["guard", "hook", "sitecustomize"], ["boundary", "channel", "classes", "describe", "device", "fetch", "patches", "process"]
        for source, kept in (("pass", start), (LOOP, sorted(start + torch))):
            self.silent(self.run_program(source, PYTHONDONTWRITEBYTECODE="1"))
            found = sorted(name.partition(".")[0] for name in os.listdir(os.path.join(self.hook_folder, "__pycache__")))
            self.assertEqual(found if source == "pass" else [name for name in found if name in kept], kept)
        self.assertFalse(glob.glob(os.path.join(self.fake, "**", "__pycache__"), recursive=True))


class Ending(FakeCase):
    """The exception that ends a program is told, and nothing of the program is another for it."""

    def ended(self, source, **more):
        """Run a failing program with and without the hook, and return what was told of its end."""
        result, alone = self.run_program(source, **more), self.run_program(source, hook=False, **more)
        self.assertEqual((result.code, result.out, result.err), (alone.code, alone.out, alone.err))
        return [{name: value for name, value in record.items() if name not in ("k", "t", "pid")} for record in result.of("raised")]

    def test_without_torch(self):
        """A packet of one record: nothing else is said of a process that is not watched."""
        told = self.ended("import sys\nprint(sys.excepthook is sys.__excepthook__)\nimport nosuch.module")
        self.assertEqual(told, [{"type": "ModuleNotFoundError", "about": "nosuch", "file": os.path.join(self.folder, "program.py"), "line": 3}])

    def test_with_torch(self):
        """The message may quote a sample, and is not told."""
        source = LOOP + "\n    class Lost(Exception): pass\n    def load(key):\n        raise Lost(key)\n    for b in DataLoader(data, 2): pass\n    load('patient 4711')"
        (told,) = self.ended(source)
        self.assertEqual((told["type"], os.path.basename(told["file"])), ("Lost", "program.py"))
        result = self.run_program(source)
        self.assertIn("Lost: patient 4711", result.err)
        self.assertNotIn("4711", json.dumps(result.packets))
        self.assertEqual(result.packets[0]["records"][0]["k"], "hello")

    def test_memory_that_ran_out(self):
        """PyTorch tells these errors apart by their messages alone, of which no other word is told."""
        pinned = "Caught RuntimeError in pin memory thread for device 0.\nOriginal Traceback: CUDA error: out of memory"
        shared = "DataLoader worker (pid 7) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory."
        killed = "DataLoader worker (pid 7) is killed by signal: Killed. "
        said = ((pinned, "pinned memory"), ("CUDA error: out of memory", "CUDA memory"), (shared, "shared memory"), (killed, "worker killed"))
        for message, about in said + (("patient 4711", None), (None, None), ("CUDA error: device-side assert", None)):
            (told,) = self.ended("raise RuntimeError(%r)" % (message,))
            self.assertEqual((told["type"], told.get("about")), ("RuntimeError", about))
        self.assertNotIn("about", self.ended("class Mine(RuntimeError): pass\nraise Mine('CUDA error: out of memory')")[0])

    def test_the_line_is_the_program_s_own(self):
        """Where an installed package raised, the line that called it."""
        source = WRAPPED + "def call():\n    list(progress.bar(1))\ncall()"
        (told,) = self.ended(source)
        self.assertEqual((told["type"], os.path.basename(told["file"])), ("TypeError", "program.py"))
        with open(told["file"]) as file:
            self.assertEqual(file.read().splitlines()[told["line"] - 1].strip(), "list(progress.bar(1))")

    def test_ends_without_an_exception(self):
        for end in ("pass", "import sys; sys.exit(3)", "import sys; sys.exit('why')", "import os; os._exit(3)", "import os; os.kill(os.getpid(), 9)"):
            self.assertEqual(self.ended(end), [], end)
            self.assertEqual(self.ended("try: 1 / 0\nexcept ZeroDivisionError: pass\n" + end), [], end)

    def test_odd_exceptions(self):
        """Their own code does not run: a name or a message that raises, a class whose names are properties."""
        odd = "class Odd(ImportError):\n    name = property(lambda self: 1 / 0)\n    __str__ = __repr__ = lambda self: 'odd'\nraise Odd"
        self.assertEqual(self.ended(odd)[0]["type"], "Odd")
        self.assertEqual(self.ended("raise ImportError(name='a b;c')"), [{"type": "ImportError", "file": os.path.join(self.folder, "program.py"), "line": 1}])
        self.assertEqual(self.ended("exec('1 +')")[0]["type"], "SyntaxError")
        self.assertEqual(self.ended("a = = 1")[0]["line"], 1)
        self.assertEqual(self.ended("raise type('N' * 9000, (Exception,), {})")[0]["type"], "N" * 200)


MANY = (
    LOOP
    + """
    total = 0
    for epoch in range(3):
        for batch in DataLoader(data * 100, 1):
            total += len(batch)
            optimizer.step()
    print(total)
"""
)


# A busy reader falls behind 200 KB at once, and what does not fit is dropped: this waits until it has taken all.
TAKEN = """
    def taken():
        import fcntl, struct, termios
        channel = sys.modules["_stoker_hook"].now.state.channel
        while channel.socket is not None and struct.unpack("i", fcntl.ioctl(channel.socket.fileno(), termios.TIOCOUTQ, b"1234"))[0]: time.sleep(0.001)
"""


class Channel(FakeCase):
    def test_reader_that_never_reads(self):
        server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(server.close)
        server.bind(self.socket)
        server.listen(4)  # and never accepts
        source = MANY + '    print(sys.modules["_stoker_hook"].now.state.channel.socket.getblocking())'  # it may wait for nothing
        self.silent(self.run_program(source, reader=None), "3000\nFalse\n")

    def test_full_socket_drops_and_counts(self):
        server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(server.close)
        server.bind(self.socket)
        server.listen(4)
        # Two small sends fill a socket like this one; then it is emptied, and the count of the lost must come.
        source = MANY.replace("    print(total)", "")
        source += """
    import os
    print("go", flush=True); sys.stdin.readline()
    for batch in DataLoader(data, 1): pass
        """
        script = os.path.join(self.folder, "program.py")
        with open(script, "w") as file:
            file.write(textwrap.dedent(source))
        child = subprocess.Popen([sys.executable, script], env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        connection, _ = server.accept()
        self.assertEqual(child.stdout.readline(), "go\n")
        packets = []
        connection.setblocking(False)
        try:
            while True:
                packets.append(json.loads(connection.recv(1 << 17)))
        except BlockingIOError:
            pass  # all that it sent before it said go
        child.stdin.write("\n")
        child.stdin.close()
        connection.setblocking(True)
        while data := connection.recv(1 << 17):
            packets.append(json.loads(data))
        child.stdout.close()
        self.assertEqual(child.wait(), 0)
        connection.close()
        self.assertEqual([p["seq"] for p in packets], list(range(len(packets))))
        records = sum(len(p["records"]) for p in packets)
        dropped = sum(p["dropped"] for p in packets)
        self.assertGreater(dropped, 100)
        steps = sum(r["k"] == "step" for p in packets for r in p["records"])
        self.assertGreaterEqual(steps + dropped, 3010)
        self.assertGreater(records, 100)

    def test_backlog_full(self):
        server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(server.close)
        server.bind(self.socket)
        server.listen(0)
        waiting = []
        while True:
            other = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.addCleanup(other.close)
            other.setblocking(False)
            try:
                other.connect(self.socket)
            except BlockingIOError:
                break
            waiting.append(other)
        self.silent(self.run_program(MANY, reader=None), "3000\n")

    def test_reader_that_dies(self):
        for after in (0, 1, 3):
            with self.subTest(after=after):
                if os.path.exists(self.socket):
                    os.unlink(self.socket)
                server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                server.bind(self.socket)
                server.listen(4)

                def read_some(server=server, after=after):
                    connection, _ = server.accept()
                    for _ in range(after):
                        connection.recv(1 << 17)
                    connection.close()
                    server.close()

                thread = threading.Thread(target=read_some)
                thread.start()
                # SIGPIPE as in a shell: to send without MSG_NOSIGNAL would kill the program.
                source = "import signal; signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n" + textwrap.dedent(MANY)
                source += "while not sys.modules['_stoker_hook'].now.off: list(DataLoader(list(range(8)), 1))  # until the reader's end is felt\n"
                source += "print(sys.modules['_stoker_hook'].now.off, DataLoader.__iter__.__code__.co_filename.endswith('dataloader.py'))"
                self.silent(self.run_program(source, reader=None), "3000\nTrue True\n")
                thread.join()

    def test_descriptors(self):
        source = (
            LOOP
            + """
    import os, subprocess
    os.close(0)
    for batch in DataLoader(data, 2): pass
    def sockets(pid="self"):
        found = []
        for fd in os.listdir("/proc/%s/fd" % pid):
            try:
                if os.readlink("/proc/%s/fd/%s" % (pid, fd)).startswith("socket:"): found.append(int(fd))
            except OSError: pass
        return found
    ours = sockets()
    assert len(ours) == 1 and ours[0] > 2, ours
    assert not os.path.exists("/proc/self/fd/0")
    assert os.get_inheritable(ours[0]) is False
    child = os.fork()
    if child == 0:
        assert sockets() == [], sockets()
        for batch in DataLoader(data, 2): pass
        assert len(sockets()) == 1
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    # A daemon closes everything; the number then belongs to somebody else.
    import socket
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    os.close(ours[0])
    moved = os.dup2(a.fileno(), ours[0])
    b.setblocking(False)
    time.sleep(0.11)
    for batch in DataLoader(data, 2): pass
    try:
        print(b.recv(1 << 17))
    except BlockingIOError:
        print("not ours")
    os.fstat(moved)
            """
        )
        result = self.silent(self.run_program(source + "\n    import atexit; atexit.register(lambda: os.fstat(moved))"), "not ours\n")
        self.assertEqual(len(result.of("hello")), 2)

    def test_ways_to_the_exit(self):
        for end, code in (("os._exit(3)", 3), ("sys.exit(4)", 4), ("raise SystemExit(5)", 5), ("os.kill(os.getpid(), 9)", -9)):
            with self.subTest(end=end):
                result = self.run_program(LOOP + "\n    import os\n    for b in DataLoader(data, 2): pass\n    " + end)
                self.assertEqual((result.code, result.err), (code, ""))
                self.assertGreaterEqual(len(result.of("step")), 4)

    def test_resource_warnings_are_errors(self):
        self.silent(self.run_program(LOOP + "\n    for b in DataLoader(data, 2): pass", PYTHONDEVMODE="1", PYTHONWARNINGS="error"))

    def test_many_loaders_and_long_names(self):
        source = (
            LOOP
            + TAKEN
            + """
    kinds = [type("D%04d" % i + "x" * 3000, (list,), {}) for i in range(150)]
    for kind in kinds:
        for batch in DataLoader(kind(data), 5): pass
        taken()
            """
        )
        result = self.silent(self.run_program(source))
        self.assertEqual(len({r["loader"] for r in result.of("loader")}), 150)

    def test_optimizer_steps_are_told_at_once(self):
        """A loop over no DataLoader has no batch with which to send; its end may be a signal, which runs no atexit."""
        source = LOOP + "\n    import os, signal\n    optimizer.step()\n    os.kill(os.getpid(), signal.SIGKILL)"
        result = self.run_program(source)
        self.assertEqual((result.code, result.out, result.err), (-signal.SIGKILL, "", ""))
        (optim,) = result.of("optim")
        self.assertEqual((optim["device"], optim["steps"]), ("cuda:0", 1))
        self.assertEqual([hello["role"] for hello in result.of("hello")], ["main"])


class Guards(FakeCase):
    """An error of ours costs the program nothing; an exception of the user's is never ours."""

    BODY = """
    torch.cuda.init()
    results = []
    for epoch in range(2):
        for batch in DataLoader(data, 3):
            results.append([t.shape for t in batch])
            torch.cuda.launch(0.0001)
            optimizer.step()
    print(results)
    """

    def targets(self):
        """Every function and method of the start and of what it loads with torch, by its name: PART.CLASS.METHOD."""
        spec = importlib.util.spec_from_file_location("hook_for_names", HOOK)
        sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        parts = [module.part(name) for name in ("guard", "channel", "classes", "describe", "device", "boundary", "fetch", "process", "patches")]
        for part in [module, *parts]:
            name = part.__name__.partition(".")[2]
            yield from Guards.names(part, name + "." if name else "")
        del sys.modules[spec.name]

    @staticmethod
    def names(part, prefix):
        for name, value in sorted(vars(part).items()):
            if getattr(value, "__name__", "") != "guarded" and getattr(value, "__module__", None) != part.__name__:
                continue
            if isinstance(value, type):
                for method, function in sorted(vars(value).items()):
                    if callable(function) and method not in ("__module__", "__weakref__"):
                        yield prefix + name + "." + method
            elif callable(value):
                yield prefix + name

    def test_every_function_may_raise(self):
        """In one process for speed: each function in turn is replaced by one that raises, below the guard."""
        source = (
            LOOP
            + """
    import importlib.util, os
    hook_file, targets = sys.argv[1], sys.argv[2].split(",")
    def load():
        spec = importlib.util.spec_from_file_location("_stoker_hook_again", hook_file)
        sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    def state():
        base = sys.modules["torch.utils.data.dataloader"]
        owners = (base._BaseDataLoaderIter, base.DataLoader, base._utils.fetch._BaseDatasetFetcher, base._utils.fetch._MapDatasetFetcher)
        return [owner.__dict__.get(name) for owner, name in zip(owners, ("__next__", "__iter__", "__init__", "fetch"))]
    sys.modules["_stoker_hook"].part("guard").step_aside()
    sys.modules.pop("_stoker_hook")
    clean = state()
    def train():
        results = []
        for epoch in range(2):
            for batch in DataLoader(data, 3):
                results.append([t.shape for t in batch])
                torch.cuda.launch(0.0001)
                optimizer.step()
        return results
    torch.cuda.init()
    expected = train()
    raised = []
    for target in targets:
        def broken(*args, **kwargs):
            raised.append(target)
            raise ArithmeticError(target)
        module = load()
        *owners, method = target.split(".")
        place = module
        for owner in owners: place = getattr(place, owner)
        if getattr(place, method).__name__ == "guarded":
            getattr(place, method).__closure__[0].cell_contents = broken
        else:
            setattr(place, method, broken)
        module.begin()
        try:
            assert train() == expected, target
            assert train() == expected, target
        finally:
            module.part("process").at_exit()
        if target in raised:
            assert module.now.off, target
            assert state() == clean, target
        module.part("guard").step_aside()
    print(len(set(raised)), torch.cuda.violations)
            """
        )
        # Not below a guard: what is called with the user's own call inside, and the guard itself.
        skip = ("_in_place_of", "guarded", "guard.", "fetch.Collate.", "_Follower.", "_Now.", "begin", "after_optimizer_step", "part", "__getattr__")
        skip += ("_start", "code_of", "keep_compiled", "_fetcher_", "ByObject.__init__")
        targets = [t for t in self.targets() if not any(part in t for part in skip)]
        result = self.silent(self.run_program(source, args=(HOOK, ",".join(targets))))
        count, violations = result.out.split(None, 1)
        self.assertGreater(int(count), 45)
        self.assertEqual(violations, "[]\n")
        pids = {}
        for warn in result.of("warn"):
            pids[warn["text"]] = pids.get(warn["text"], 0) + 1
        self.assertTrue(all(n == 1 for n in pids.values()), pids)

    def test_error_warns_once_and_steps_aside(self):
        source = LOOP + "\n    hook = sys.modules['_stoker_hook']\n    del hook.part('describe').samples_of\n" + self.BODY
        source += "\n    print(hook.now.off, hook.now.patches)"
        result = self.silent(self.run_program(source))
        self.assertTrue(result.out.endswith("True []\n"))
        (warn,) = result.of("warn")
        self.assertIn("AttributeError", warn["text"])

    def test_exceptions_from_signal_handlers_are_the_users(self):
        """A handler that raises, run at every moment of our code: the program sees each of its exceptions."""
        source = (
            LOOP
            + """
    import signal
    class Mine(Exception): pass
    sent = seen = 0
    hook = sys.modules["_stoker_hook"]
    clocks = [hook.part(name) for name in ("channel", "device", "boundary", "fetch", "process")]
    def handler(number, frame):
        raise Mine()
    signal.signal(signal.SIGUSR1, handler)
    import os
    original = clocks[0].monotonic_ns
    def interrupting():
        global sent
        sent += 1
        if sent % 7 == 0: os.kill(os.getpid(), signal.SIGUSR1)
        return original()
    for part in clocks: part.monotonic_ns = interrupting
    got = 0
    for epoch in range(30):
        try:
            for batch in DataLoader(data, 2): got += 1
        except Mine: seen += 1
    print(seen > 5, hook.now.off)
            """
        )
        result = self.silent(self.run_program(source), "True False\n")
        self.assertEqual(result.of("warn"), [])

    def test_keyboard_interrupt_passes(self):
        source = (
            LOOP
            + """
    import signal, os
    hook = sys.modules["_stoker_hook"]
    clocks = [hook.part(name) for name in ("channel", "device", "boundary", "fetch", "process")]
    original = clocks[0].monotonic_ns
    sent = seen = 0
    def interrupting():
        global sent
        sent += 1
        if sent % 11 == 0: os.kill(os.getpid(), signal.SIGINT)
        return original()
    for part in clocks: part.monotonic_ns = interrupting
    for epoch in range(30):
        try:
            for batch in DataLoader(data, 2): pass
        except KeyboardInterrupt: seen += 1
    for part in clocks: part.monotonic_ns = original
    print(seen > 5, hook.now.off, len([b for b in DataLoader(data, 2)]))
            """
        )
        self.assertEqual(self.silent(self.run_program(source), "True False 5\n").of("warn"), [])

    def test_threads(self):
        source = (
            LOOP
            + TAKEN
            + """
    import threading
    torch.cuda.init()
    shared = DataLoader(data * 20, 1)
    counts = []
    def epoch():
        n = sum(1 for _ in shared)
        taken()
        return n
    def work(): counts.append(sum(epoch() for _ in range(3)))
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(counts, torch.cuda.violations)
    def forever():
        while True:
            for batch in shared: pass
    threading.Thread(target=forever, daemon=True).start()
    time.sleep(0.05)
            """
        )
        result = self.silent(self.run_program(source), "[600, 600, 600, 600] []\n")
        self.assertGreaterEqual(len(result.of("step")), 2400)
        self.assertEqual(result.of("warn"), [])


if __name__ == "__main__":
    unittest.main()
