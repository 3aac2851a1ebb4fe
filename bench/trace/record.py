#!/usr/bin/env python3
"""Records the traces under testdata/cases/trace-*: real PyTorch, real torch.profiler, an emulated device.

    python/.venv/bin/python bench/trace/record.py              all of them
    python/.venv/bin/python bench/trace/record.py loader gc    these

The bottleneck is known, because each loop below is written to have one fault. A
case has the trace, a README.md and an expect.json. The bounds in expect.json come
from the device's record (when it was idle, and how much of that while the loop was
inside next()), never from a reader of the trace. Operators of the emulated device
are real operators of PyTorch's dispatcher, so that a launch is within an operator
as on a GPU.
"""

import argparse
import contextlib
import gc
import gzip
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader, Dataset

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from stoker import emulated  # noqa: E402

MS, US = 1e-3, 1e-6
PIECE = bytes(512 << 10)
#: Names as CUDA libraries and PyTorch give them.
GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"
GEMM_FP32 = "ampere_sgemm_128x64_tn"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"


class Device(emulated.Device):
    """The emulated device with operators, and with calls of the runtime that compute nothing."""

    def call(self, name: str, seconds: float) -> None:
        """A call of the CUDA runtime that keeps the host busy, such as cudaMalloc."""
        called = time.monotonic_ns()
        burn(seconds)
        returned = time.monotonic_ns()
        with self._lock:
            self._log.add(emulated.SYNC, name, threading.get_native_id(), called, returned, called, returned, 0)

    def exchange(self, seconds: float, mine: Path, others: Path) -> None:
        """An all-reduce and reading its result. On the device it blocks until the other rank is ready.

        The ranks tell each other through files when their devices are ready;
        the host of a GPU would be blocked in the second call all the while.
        """
        called, ready = time.monotonic_ns(), max(self._done_ns, time.monotonic_ns())
        mine.write_text(str(ready))
        while not others.exists() or not others.read_text():
            time.sleep(0.1 * MS)
        end = max(ready, int(others.read_text())) + round(seconds * 1e9)
        thread, launched = threading.get_native_id(), called + 8_000
        with self._lock:
            self._done_ns = end
            self._log.add(emulated.KERNEL, ALL_REDUCE, thread, called, launched, ready, end, 0)
        while time.monotonic_ns() < end:
            time.sleep(0.1 * MS)
        with self._lock:
            self._log.add(emulated.SYNC, "cudaStreamSynchronize", thread, launched + 2_000, time.monotonic_ns(), 0, 0, 0)


class Tensor(torch.Tensor):
    """A tensor of the emulated device, without numbers. The work of its next operator is set beforehand."""

    todo: list[Callable[[], None]] = []

    @staticmethod
    def __new__(cls, *shape: int) -> "Tensor":
        return torch.Tensor._make_wrapper_subclass(cls, shape, dtype=torch.float32)

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):  # noqa: ANN001, ANN206
        if cls.todo:
            cls.todo.pop()()
        return 0.0 if function is torch.ops.aten._local_scalar_dense.default else args[0]


def burn(seconds: float) -> None:
    """Use this much core time of this thread, in pieces so large that recorded stacks stay small."""
    until = time.thread_time() + seconds
    while (left := until - time.thread_time()) > 0:
        zlib.crc32(PIECE if left > 500 * US else PIECE[:4096])


class Samples(Dataset):
    """Samples that take a given core time each."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __len__(self) -> int:
        return 10_000

    def __getitem__(self, index: int) -> torch.Tensor:
        burn(self.seconds)
        return torch.full((8, 8), float(index % 256))


SAMPLES = 4  # per batch
HOST = torch.zeros(64, 64)


class Job:
    """A recording: the device, and its record, which is independent of the trace."""

    def __init__(self, rank: int = 0, scratch: Path | None = None, spin: bool = True) -> None:
        self.device, self.x, self.loss = Device(index=rank, spin=spin), Tensor(64, 64), Tensor(1)
        self.rank, self.scratch, self.number = rank, scratch, 0
        self.waits: list[tuple[float, float]] = []

    def batches(self, milliseconds: float, **settings: object) -> Iterator[torch.Tensor]:
        loader = DataLoader(Samples(milliseconds * MS / SAMPLES), batch_size=SAMPLES, **settings)
        iterator = iter(loader)
        while True:
            asked = time.monotonic()
            batch = next(iterator)
            self.waits.append((asked, time.monotonic()))
            yield batch

    # Operators on the device, as they are known to the profiler: aten::mm and so on.

    def matmuls(self, count: int, milliseconds: float, name: str = GEMM) -> None:
        for _ in range(count):
            Tensor.todo.append(lambda: self.device.launch(milliseconds * MS, name))
            torch.mm(self.x, self.x)

    def adds(self, count: int, milliseconds: float) -> None:
        for _ in range(count):
            Tensor.todo.append(lambda: self.device.launch(milliseconds * MS, ADD))
            torch.add(self.x, self.x)

    def copy(self, nbytes: int, pinned: bool = False) -> None:
        Tensor.todo.append(lambda: self.device.copy(nbytes, pinned=pinned))
        self.x.copy_(HOST)

    def read_loss(self, work: Callable[[], object] | None = None) -> None:
        Tensor.todo.append(work or self.device.item)
        self.loss.item()


# The loops. One fault each; every `yield` ends a step.


def loader(job: Job) -> Iterator[None]:
    for _ in job.batches(16):
        job.copy(1_000_000, pinned=True)
        job.matmuls(3, 3)
        job.read_loss()
        yield


def workers(job: Job) -> Iterator[None]:
    for _ in job.batches(24, num_workers=1, prefetch_factor=2):
        job.matmuls(3, 3)
        yield


def pageable(job: Job) -> Iterator[None]:
    for _ in job.batches(1, num_workers=1):
        job.copy(120_000_000)
        job.matmuls(2, 4)
        yield


def sync(job: Job) -> Iterator[None]:
    while True:
        burn(6 * MS)
        job.matmuls(4, 3)
        job.read_loss()
        yield


def launches(job: Job) -> Iterator[None]:
    while True:
        for _ in range(100):
            job.matmuls(1, 2e-3)
            torch.relu(HOST)  # an operator's core time on the host
        yield


def gpu(job: Job) -> Iterator[None]:
    for _ in job.batches(1, num_workers=1):
        job.matmuls(12, 2)
        if job.number % 4 == 3:
            job.device.synchronize(spin=False)
        yield


def precision(job: Job) -> Iterator[None]:
    for _ in job.batches(1, num_workers=1):
        job.matmuls(12, 2, GEMM_FP32)
        yield


def chains(job: Job) -> Iterator[None]:
    for _ in job.batches(1, num_workers=1):
        for _ in range(8):
            job.matmuls(1, 0.5)
            job.adds(4, 0.5)
        yield


def tiny_copies(job: Job) -> Iterator[None]:
    while True:
        for _ in range(60):
            job.copy(4096)
        job.matmuls(2, 0.2)
        yield


def garbage(job: Job) -> Iterator[int]:
    gc.freeze()  # PyTorch's own objects are not to blame
    cycles = [[] for _ in range(300_000)]
    while True:
        job.matmuls(4, 2)
        job.read_loss()
        gc.collect()
        yield len(cycles)


def allocator(job: Job) -> Iterator[None]:
    while True:
        job.matmuls(4, 1)
        job.read_loss()
        for _ in range(3):
            job.device.call("cudaFree", 0.5 * MS)
            job.device.call("cudaMalloc", 1 * MS)
        yield


def warm_up(job: Job) -> Iterator[None]:
    job.device.call("cudaFree", 180 * MS)  # makes the context
    job.device.call("cudaGetDeviceProperties", 20 * MS)
    for layer in range(12):
        job.device.call("cudaMalloc", 4 * MS)
        job.device.call("cuModuleLoadData", 25 * MS)
        job.matmuls(1, 0.2, f"{GEMM}_{layer}")
    job.device.synchronize()
    yield


def stack(job: Job) -> Iterator[None]:
    while True:
        augment(HOST)
        job.matmuls(12, 0.75)
        job.read_loss()
        yield


def augment(batch: torch.Tensor) -> torch.Tensor:
    """Preprocess in the loop, outside of any span of a loader."""
    until = time.thread_time() + 9 * MS
    while time.thread_time() < until:
        zlib.crc32(PIECE)
    return batch


def ranks(job: Job) -> Iterator[None]:
    """Rank 1 loads slowly. Rank 0 blocks in the all-reduce, and its device seems busy."""
    for _ in job.batches(30 if job.rank else 4):
        job.matmuls(3, 3)
        told = [job.scratch / f"{rank}-{job.number}" for rank in (0, 1)]
        job.read_loss(lambda told=told: job.device.exchange(1 * MS, told[job.rank], told[1 - job.rank]))
        yield


@dataclass
class Case:
    """A loop, how it is recorded, and the expected verdict."""

    loop: Callable[[Job], Iterator[object]]
    fault: str
    expect: dict[str, object]
    options: dict[str, object] = field(default_factory=dict)
    warm: int = 2
    steps: int = 6
    ranks: int = 1
    cut: float = 1.0  # share of the file that a killed run has written
    loads: bool = True  # its loop has a DataLoader


CASES = {
    "loader": Case(
        loader,
        "num_workers=0: 16 ms of loading in the loop before 9 ms of device work, and item() in each step.",
        {"class": "cpu-bound/main-thread-loader", "leading": "data-loader", "first": "data-loader-wait", "fix": "num_workers"},
    ),
    "workers": Case(
        workers,
        "One worker that needs 24 ms per batch, 9 ms of device work.",
        {"class": "cpu-bound/too-few-workers", "leading": "data-loader", "first": "data-loader-wait", "fix": "num_workers"},
    ),
    "pageable": Case(
        pageable,
        "120 MB per step from pageable memory: 12 ms, in which the host is blocked, before 8 ms of kernels.",
        {"class": "transfer-bound", "first": "pageable-copies", "fix": "pin_memory"},
    ),
    "sync": Case(
        sync,
        "item() in each step: 6 ms of host work that the 12 ms of device work could have hidden.",
        {"class": "cpu-bound", "findings": ["hidden-sync"]},
        loads=False,
    ),
    "launches": Case(
        launches,
        "100 kernels of 2 us per step, each from an operator that costs the host more.",
        {"class": "launch-bound", "first": "launch-bound"},
        steps=5,
        loads=False,
    ),
    "gpu": Case(gpu, "24 ms of matrix products on Tensor Cores per step, nothing else to wait for.", {"class": "gpu-bound/tensor", "no_fix": True}),
    "precision": Case(
        precision,
        "24 ms of FP32 matrix products per step, on a device with Tensor Cores (A100).",
        {"class": "gpu-bound/precision", "first": "no-tensor-cores"},
    ),
    "chains": Case(
        chains,
        "Four elementwise kernels in a row after each matrix product, 4 of 5 parts of the kernel time.",
        {"class": "gpu-bound/memory", "first": "elementwise-chains"},
    ),
    "tiny-copies": Case(
        tiny_copies,
        "60 copies of 4 kB per step, 0.4 ms of kernels.",
        {"not_class": "gpu-bound", "first": "tiny-copies"},
        steps=5,
        loads=False,
    ),
    "gc": Case(
        garbage,
        "gc.collect() over 300,000 objects at the end of each step, 8 ms of device work.",
        {"class": "cpu-bound", "leading": "gc", "first": "garbage-collection"},
        {"with_stack": True, "experimental_config": _ExperimentalConfig(record_python_gc_info=True)},
        steps=5,
        loads=False,
    ),
    "allocator": Case(
        allocator,
        "cudaFree and cudaMalloc, 4.5 ms per step, after item(); 4 ms of device work.",
        {"class": "cpu-bound", "leading": "allocator", "first": "allocator"},
        loads=False,
    ),
    "warm-up": Case(
        warm_up,
        "A program's start: context, modules and first allocations, 550 ms, around 2.4 ms of kernels.",
        {"class": "unknown", "leading": "warm-up"},
        warm=0,
        steps=1,
        loads=False,
    ),
    "stack": Case(
        stack,
        "9 ms of Python in augment() of record.py before 9 ms of device work, with_stack=True and no DataLoader.",
        {"class": "cpu-bound", "leading": "python", "source": "augment"},
        {"with_stack": True},
        steps=4,
        loads=False,
    ),
    "two-ranks": Case(
        ranks,
        "Two ranks, num_workers=0: rank 1 loads for 30 ms, rank 0 for 4 ms and then waits in the all-reduce, its device busy.",
        {"class": "cpu-bound/main-thread-loader", "rank": 1, "leading": "data-loader", "findings": ["ranks"]},
        ranks=2,
    ),
    "killed": Case(
        loader,
        "The loop of trace-loader; the file ends in the middle of an event, as a killed run leaves it.",
        {"class": "cpu-bound/main-thread-loader", "leading": "data-loader", "warning": "killed run"},
        steps=8,
        cut=0.95,
    ),
}


def record(case: Case, path: Path, job: Job) -> dict[str, list[float]]:
    """Record the loop into a file; return the bounds by the device's record."""
    begun: list[float] = []
    settings = {"activities": [ProfilerActivity.CPU], "acc_events": True, **case.options}
    plan = schedule(wait=0, warmup=case.warm, active=case.steps, repeat=1)
    if case.warm == 0:
        plan = None
    done = threading.Event()

    def ready(prof: profile) -> None:
        prof.export_chrome_trace(str(path))
        done.set()

    with profile(schedule=plan, on_trace_ready=ready, **settings) as prof:
        for job.number, _ in enumerate(case.loop(job), 1):
            begun.append(time.monotonic())
            prof.step()
            if done.is_set() or job.number == case.warm + case.steps:
                break
    gc.unfreeze()
    job.device.trace(str(path))
    if case.steps < 3:
        return {}
    # The first recorded step has the profiler's start in it.
    first, last = begun[case.warm], begun[case.warm + case.steps - 1]
    idle = job.device.idle_between(first, last) / (last - first)
    waits = [(max(a, first), min(b, last)) for a, b in job.waits if a < last and b > first]
    stall = sum(job.device.idle_between(a, b) for a, b in waits) / (last - first)
    return {"idle": around_share(idle), "stall": around_share(stall)}


def around_share(share: float) -> list[float]:
    return [round(max(0.0, share - 0.04), 3), round(min(1.0, share + 0.04), 3)]


def tidy(path: Path, cut: float) -> None:
    """Pack the trace with names of this machine's folders shortened, whole or cut."""
    text = path.read_text().replace(str(ROOT) + "/", "")
    path.unlink()
    text = text[: int(len(text) * cut)]
    with gzip.GzipFile(path.with_suffix(".json.gz"), "wb", mtime=0) as packed:
        packed.write(text.encode())


def child(name: str, rank: int, folder: Path) -> None:
    """Run one rank of a case in a separate process."""
    import torch.distributed as dist

    case = CASES[name]
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=case.ranks)
    dist.barrier()
    bounds = record(case, folder / f"rank{rank}.json", Job(rank, folder))
    (folder / f"bounds{rank}").write_text(json.dumps(bounds))
    dist.destroy_process_group()


def bounds_of(name: str, folder: Path) -> dict[str, list[float]]:
    case = CASES[name]
    with tempfile.TemporaryDirectory() as scratch:
        at = Path(scratch)
        if case.ranks == 1:
            found = record(case, at / "trace.json", Job(spin="with_stack" not in case.options))
        else:
            command = [sys.executable, __file__, name, "--scratch", scratch, "--rank"]
            running = [subprocess.Popen([*command, str(rank)]) for rank in range(case.ranks)]
            if any(process.wait() for process in running):
                sys.exit(f"record: error: a rank of {name} failed")
            found = json.loads((at / f"bounds{case.expect.get('rank', 0)}").read_text())
        for old in folder.glob("*.json.gz"):
            old.unlink()
        for file in at.glob("*.json"):
            tidy(file, case.cut)
        for file in at.glob("*.json.gz"):
            (folder / file.name).write_bytes(file.read_bytes())
    return found


def readme(name: str) -> str:
    case = CASES[name]
    options = ", ".join(f"{key}={'...' if key.startswith('exp') else value}" for key, value in case.options.items())
    return f"""A trace of torch.profiler's with known cause. {case.fault}

    python/.venv/bin/python bench/trace/record.py {name}

The loop is `{case.loop.__name__}` in that file, the profiler's options {options or "its defaults"}. Recorded {time.strftime("%Y-%m-%d")} on {machine()}
with real PyTorch and the emulated device, whose rows `device.trace` added. Bounds of idle and stall in expect.json are
the device's own record during the recorded steps without the first, 4 points either way.
"""


def machine() -> str:
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), "")
    kernel = ".".join(platform.release().split(".")[:2])
    return f"{os.cpu_count()} cores {model} (Linux {kernel}, Python {platform.python_version()}, torch {torch.__version__.split('+')[0]})"


def make(names: Iterable[str], out: Path) -> None:
    for name in names:
        folder = out / f"trace-{name}"
        folder.mkdir(parents=True, exist_ok=True)
        bounds = bounds_of(name, folder)
        case = CASES[name]
        if not case.loads:
            bounds.pop("stall", None)
        expect = {**case.expect, **bounds}
        if bounds:
            expect["stall_source"] = "trace"
        (folder / "expect.json").write_text(json.dumps(expect, indent=2) + "\n")
        (folder / "README.md").write_text(readme(name))
        size = sum(file.stat().st_size for file in folder.glob("*.json.gz"))
        print(f"{folder}: {size / 1e3:.0f} kB, {bounds}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CASES)} (default: all)")
    parser.add_argument("--out", type=Path, default=ROOT / "testdata/cases")
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in CASES]:
        parser.error(f"unknown case {', '.join(unknown)}: choose of {', '.join(CASES)}")
    torch.set_num_threads(1)
    with contextlib.suppress(KeyboardInterrupt):
        if arguments.rank is not None:
            child(arguments.names[0], arguments.rank, arguments.scratch)
        else:
            make(arguments.names or CASES, arguments.out)


if __name__ == "__main__":
    main()
