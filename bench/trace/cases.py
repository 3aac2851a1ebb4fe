#!/usr/bin/env python3
"""Writes the made-up files under testdata/cases/made-*: each shows one thing that strangers' profiler files hold.

    python3 bench/trace/cases.py                   all of them
    python3 bench/trace/cases.py corrupt-length    this one

What the device did is known, because it is written here. In addition to the file a case gets a README.md with that truth and an
expect.json with what Stoker must and must not say of it.
"""

import gzip
import json
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "testdata" / "cases"

GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"
SGEMM = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x32"
CIJK = "Cijk_Alik_Bljk_BBS_BH_MT128x192x64_MI16x16x1"
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
PINNED = "Memcpy HtoD (Pinned -> Device)"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"
GPUS = {
    "a100": {"name": "NVIDIA A100-SXM4-80GB", "computeMajor": 8, "computeMinor": 0, "numSms": 108},
    "h100": {"name": "NVIDIA H100 80GB HBM3", "computeMajor": 9, "computeMinor": 0, "numSms": 132},
    "v100": {"name": "Tesla V100-SXM2-16GB", "computeMajor": 7, "computeMinor": 0, "numSms": 80},
    "p100": {"name": "Tesla P100-PCIE-16GB", "computeMajor": 6, "computeMinor": 0, "numSms": 56},
    "4090": {"name": "NVIDIA GeForce RTX 4090", "computeMajor": 8, "computeMinor": 9, "numSms": 128},
    "mi300": {"name": "AMD Instinct MI300X", "computeMajor": 9, "computeMinor": 4, "numSms": 304},
}


class Kineto:
    """A file of PyTorch's profiler. Times are microseconds from its begin."""

    def __init__(self, gpu: str = "a100", rank: int = 0, world: int = 1) -> None:
        self.gpu, self.rank, self.world = gpu, rank, world
        self.events: list[dict] = []
        self.correlation = 100

    def add(self, cat: str, name: str, ts: float, dur: float, **args: object) -> dict:
        pid, tid = (0, args.get("stream", 7)) if cat in ("kernel", "gpu_memcpy", "gpu_memset") else (10, 10)
        event = {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": 1_700_000_000_000_000 + ts,
                 "dur": dur, "args": args}
        self.events.append(event)
        return event

    def mark(self, name: str, ts: float, dur: float) -> None:
        self.add("user_annotation", name, ts, dur)

    def launch(self, op: str, call: str, ts: float, dur: float = 5) -> int:
        """An operator with its launching call. The number links its work."""
        self.correlation += 1
        self.add("cpu_op", op, ts, dur + 7)
        self.add("cuda_runtime", call, ts + 2, dur, correlation=self.correlation)
        return self.correlation

    def kernel(self, name: str, ts: float, dur: float, correlation: int, **args: object) -> dict:
        return self.add("kernel", name, ts, dur, device=0, context=1, stream=args.pop("stream", 7),
                        correlation=correlation, grid=[864, 1, 1], block=[128, 1, 1], **args)

    def copy(self, name: str, ts: float, dur: float, correlation: int, size: int) -> dict:
        return self.add("gpu_memcpy", name, ts, dur, device=0, context=1, stream=7, correlation=correlation,
                        bytes=size)

    def sync(self, ts: float, until: float, call: str = "cudaDeviceSynchronize") -> None:
        self.add("cuda_runtime", call, ts, until - ts)

    def text(self) -> str:
        head = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "totalGlobalMem": 85028110336, **GPUS[self.gpu]}]}
        if self.world > 1:
            head["distributedInfo"] = {"backend": "nccl", "rank": self.rank, "world_size": self.world}
        return json.dumps({**head, "traceEvents": self.events})


def fed_steps(trace: Kineto, steps: int, kernel: str = GEMM, each: float = 299) -> list[list[dict]]:
    """Steps of about 10 ms: 4 ms in the loader, 20 kernels of 0.3 ms one behind the other, and a wait for them."""
    out = []
    at = 0.0
    for step in range(steps):
        begin = at
        trace.mark(LOADER, at, 3980)
        kernels, free = [], at + 4020
        for n in range(20):
            number = trace.launch("aten::mm", "cudaLaunchKernel", at + 4000 + 14 * n)
            kernels.append(trace.kernel(kernel, free, each, number))
            free += each + 1
        trace.sync(at + 4300, free + 8)
        at = free + 20
        trace.mark(f"ProfilerStep#{step + 1}", begin, at - begin)
        out.append(kernels)
    return out


Case = Callable[[], tuple[dict[str, str | bytes], str, dict]]
cases: dict[str, Case] = {}


def case(make: Case) -> Case:
    cases[make.__name__.replace("_", "-")] = make
    return make


@case
def corrupt_length():
    t = Kineto()
    kernels = fed_steps(t, 12)
    kernels[3][5]["dur"] = 60_000
    return {"trace.json": t.text()}, (
        "12 steps of 10 ms, kernels 59.6 %, the loop loads for 4 ms. One kernel of 0.3 ms has a length of 60 ms, over "
        "120 that follow on its stream, as ROCm's tracer writes now and then (AMD-AGI/TraceLens#669)."
    ), {"class": "cpu-bound/main-thread-loader", "idle": [0.40, 0.41], "stall": [0.39, 0.40], "fix": "num_workers",
        "doubt": "lasted beyond what followed on the same stream", "most": 1.75}


@case
def corrupt_end():
    t = Kineto("mi300")
    kernels = fed_steps(t, 8, CIJK)
    kernels[-1][-1]["dur"] = 60_000
    return {"trace.json": t.text()}, (
        "The same, and it is the last kernel of the file that is too long: nothing follows it, and the wait for the device "
        "behind it returned 60 ms before its end."
    ), {"class": "cpu-bound/main-thread-loader", "idle": [0.40, 0.41],
        "doubt": "lasted beyond what followed on the same stream"}


@case
def unlinked_copies():
    t = Kineto("h100")
    at = 0.0
    for n in range(60):
        down, run = 5 + 2 * n, 6 + 2 * n
        if n >= 20:
            down = t.launch("aten::copy_", "cudaMemcpyAsync", 20 * (n - 20))
            run = t.launch("aten::mm", "cudaLaunchKernel", 20 * (n - 20) + 10)
        t.copy(PINNED, at, 6000, down, 168_000_000)
        t.kernel(SGEMM, at + 6002, 70, run)
        at += 6075
    t.add("cpu_op", "aten::_local_scalar_dense", 1000, at - 990)
    t.sync(1001, at + 5, "cudaStreamSynchronize")
    return {"trace.json": t.text()}, (
        "60 copies of 168 MB from page-locked memory fill 98.8 % of the time at the link's rate, each before a kernel of "
        "70 us. The first 20 pairs were launched before the recorder began. The bound of any overlap is 1.012x."
    ), {"class": "transfer-bound", "no_fix": True, "rejected": {"side_stream": "link"}}


@case
def full_link():
    t = Kineto()
    at = 0.0
    for step in range(6):
        begin = at
        for n in range(10):
            down = t.launch("aten::copy_", "cudaMemcpyAsync", at)
            run = t.launch("aten::mm", "cudaLaunchKernel", at + 14)
            t.copy(PINNED, at + 40, 6000, down, 168_000_000)
            t.kernel(SGEMM, at + 6042, 130, run)
            t.sync(at + 30, at + 6175)
            at += 6180
        t.mark(f"ProfilerStep#{step + 1}", begin, at - begin)
    return {"trace.json": t.text()}, (
        "Copies from page-locked memory fill 97 % of the time at the link's rate. Pinning them is done, and no overlap gains more "
        "than 1.03x: fewer bytes help."
    ), {"class": "transfer-bound", "do": "send fewer bytes", "no_fix": True}


@case
def two_starts():
    """A program's start on two ranks of a folder."""
    files = {}
    for rank in range(2):
        t = Kineto("4090", rank, 2)
        at = 5000.0 * rank
        for n, length in enumerate([350_000 + 25_000 * rank, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6]):
            number = t.launch("aten::mm", "cudaLaunchKernel", at, length)
            t.kernel(GEMM, at + length + 10, 300, number)
            at += length + 20
        number = t.launch("nccl:all_reduce", "cudaLaunchKernelExC", at)
        begin = max(at + 4000, 415_000 + 3000 * rank)
        t.kernel(ALL_REDUCE, begin, 445_000 - begin, number, stream=20)
        t.sync(at + 30, 445_010)
        files[f"rank{rank}.json"] = t.text()
    return files, (
        "Two ranks, each with a first launch of 350 and 375 ms, which loads the module, 11 more kernels and an all-reduce. "
        "Each file alone is a program's start, and so are both."
    ), {"class": "start-up", "rank": 1}


@case
def external_ids():
    t = Kineto("mi300")
    fed_steps(t, 6, CIJK)
    number = 0
    for e in t.events:
        if e["cat"] == "cpu_op":
            number += 1
        if e["cat"] in ("cpu_op", "cuda_runtime", "kernel") and "Synchronize" not in e["name"]:
            e["args"].pop("correlation", None)
            e["args"]["External id"] = number
            e["name"] = e["name"].replace("cudaLaunch", "hipLaunch")
    return {"trace.json": t.text()}, (
        "Steps of 10 ms, the loop loads for 4 ms. No event has a correlation id, only the external id of its operator, as "
        "ROCm's profiles of before PyTorch 2.5 (mlcommons/chakra#128)."
    ), {"class": "cpu-bound/main-thread-loader", "stall": [0.39, 0.40], "fix": "num_workers"}


@case
def no_calls():
    t = Kineto()
    fed_steps(t, 6)
    t.events = [e for e in t.events if e["cat"] != "cuda_runtime"]
    return {"trace.json": t.text()}, (
        "The same without any call of the runtime, and no other link either: nothing tells which call launched what. The loop "
        "is in its loader through every gap, so it is known what the device waits for, and not by how much a change helps."
    ), {"class": "cpu-bound/main-thread-loader", "stall": [0.39, 0.40], "most": 1.7}


@case
def no_links():
    t = Kineto()
    fed_steps(t, 6)
    t.events = [e for e in t.events if e["cat"] != "cuda_runtime" and e["name"] != LOADER]
    return {"trace.json": t.text()}, (
        "The same, and nobody marked the loader: what the device waits for is not in the file."
    ), {"class": "unknown", "no_fix": True, "doubt": "links to no launch"}


@case
def negative_times():
    t = Kineto()
    for step in fed_steps(t, 6):
        for kernel in step[::7]:
            kernel["dur"] = -kernel["dur"]
    return {"trace.json": t.text()}, (
        "The same with every seventh kernel of a step of negative length: 59.6 % of kernels, and 50.7 % of those whose length "
        "is known."
    ), {"doubt": "18 of 120 pieces of device work", "no_fix": True, "rejected": {"num_workers": "has no right time"}}


@case
def first_at_zero():
    t = Kineto()
    for step in fed_steps(t, 6):
        for kernel in step[::5]:
            kernel["ts"] = kernel["dur"] = 0
    return {"trace.json": t.text()}, (
        "The same with every fifth kernel at the beginning of time and of no length (pytorch/kineto#109)."
    ), {"doubt": "24 of 120 pieces of device work", "no_fix": True}


@case
def missing_rank():
    files = {}
    for rank in (0, 1, 3):
        t = Kineto("a100", rank, 4)
        at = 0.0
        for step in range(6):
            t.mark(LOADER.replace("SingleProcess", "MultiProcessing"), at, 1980)
            free = at + 2020
            for n in range(20):
                t.kernel(GEMM, free, 299, t.launch("aten::mm", "cudaLaunchKernel", at + 2000 + 14 * n))
                free += 300
            t.kernel(ALL_REDUCE, free, 4000, t.launch("nccl:all_reduce", "cudaLaunchKernel", at + 2300), stream=20)
            t.sync(at + 2330, free + 4008)
            t.mark(f"ProfilerStep#{step + 1}", at, free + 4020 - at)
            at = free + 4020
        files[f"rank{rank}.json"] = t.text()
    return files, (
        "Ranks 0, 1 and 3 of four wait for each other 4 ms of 12 in an all-reduce, all three at once: rank 2 is the late one, "
        "and its file is missing."
    ), {"class": "unknown", "doubt": "rank 2 of 4 is missing", "rank": 0}


@case
def not_recorded():
    t = Kineto("v100")
    at = 0.0
    for step in range(5):
        begin = at
        for n in range(10):
            t.add("cpu_op", "aten::cudnn_convolution", at, 300)
            t.add("cpu_op", "aten::cudnn_batch_norm", at + 310, 90)
            at += 410
        t.mark("Optimizer.step#FusedAdam.step", at, 200)
        at += 600
        t.mark(f"ProfilerStep#{step + 1}", begin, at - begin)
    return {"trace.json": t.text()}, (
        "Operators of cuDNN and apex' FusedAdam, which only a GPU runs, and none of the GPU's work: it was not recorded."
    ), {"class": "unknown", "says": "the GPU was used and not recorded"}


@case
def pascal_launches():
    t = Kineto("p100")
    at = 0.0
    add = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >"
    for step in range(8):
        begin = at
        for n in range(60):
            t.kernel(add, at + 95, 3, t.launch("aten::add", "cudaLaunchKernel", at + 80))
            t.add("cpu_op", "aten::add", at, 90)
            at += 100
        t.mark(f"ProfilerStep#{step + 1}", begin, at - begin)
    return {"trace.json": t.text()}, (
        "60 kernels of 3 us a step, 100 us apart, on a P100: launch-bound, and torch.compile needs compute capability 7.0."
    ), {"class": "launch-bound", "not_fixes": ["compile"], "rejected": {"compile": "compute capability 7.0"}, "fix": "cuda_graphs"}


@case
def kernels_lead():
    t = Kineto("mi300")
    frames = [(0, 12_000, "pipe.py(10): prepare"), (37_000, 7_000, "pipe.py(20): context"), (148_000, 12_000, "pipe.py(30): postprocess")]
    for at, length, name in frames:
        t.add("python_function", name, at, length)
    free = 12_010.0
    for n in range(250):
        t.kernel(CIJK, free, 99, t.launch("aten::mm", "hipModuleLaunchKernel", 12_000 + 10 * n, 4))
        free += 100
    free = 44_020.0
    for n in range(1040):
        t.kernel(CIJK, free, 99, t.launch("aten::mm", "hipModuleLaunchKernel", 44_000 + 5 * n, 2))
        free += 100
    number = t.launch("aten::copy_", "hipMemcpyWithStream", 49_900, free - 49_900 + 10)
    t.copy("Memcpy DtoH (Device -> Host)", free + 2, 5, number, 400_000)
    t.mark("execute_diffusion_1_256x256", 0, 160_500)
    return {"trace.json": t.text()}, (
        "One pass of a diffusion model: kernels 80 % of it, preparing, conditioning and post-processing on the host 19 %. Without "
        "the host's part it is 1.24x as fast, on a device twice as fast 1.67x."
    ), {"class": "gpu-bound/tensor", "findings": ["host-work"], "most": 1.3}


@case
def recorded_frames():
    t = Kineto("h100")
    at = 0.0
    for step in range(6):
        begin = at
        for n in range(100):
            for k in range(60):
                t.add("python_function", "model.py(12): scale", at + k, 1)
            t.kernel(GEMM, at + 82, 40, t.launch("aten::mm", "cudaLaunchKernel", at + 62))
            at += 125
        t.sync(at, at + 10)
        at += 30
        t.mark(f"ProfilerStep#{step + 1}", begin, at - begin)
    return {"trace.json": t.text()}, (
        "100 kernels of 40 us a step, 85 us apart, in which the host runs 60 calls of Python that the recorder wrote down. At 0.3 us "
        "each that is 18 us of every 85: a program that nobody records does not have them."
    ), {"class": "launch-bound", "doubt": "calls of Python were recorded", "most": 2.8}



def nsight(rows: dict[str, tuple[str, list[tuple]]], gpu: tuple = ("Tesla T4", 40, 7, 5)) -> bytes:
    """An export of Nsight Systems: tables with their columns and rows."""
    strings: dict[str, int] = {}
    tables = {**rows, "TARGET_INFO_GPU": (
        "id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER, computeMajor INTEGER, computeMinor INTEGER",
        [(0, gpu[0], 16 << 30, *gpu[1:])])}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "made.sqlite"
        with sqlite3.connect(file) as db:
            for name, (columns, values) in tables.items():
                db.execute(f"CREATE TABLE {name} ({columns})")
                for row in values:
                    row = [strings.setdefault(v[1:], len(strings) + 1) if isinstance(v, str) and v[0] == "@" else v
                           for v in row]
                    db.execute(f"INSERT INTO {name} VALUES ({','.join('?' * len(row))})", row)
            db.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
            db.executemany("INSERT INTO StringIds VALUES (?, ?)", [(i, s) for s, i in strings.items()])
        db.close()
        return file.read_bytes()


RUNTIME = "start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER"
KERNEL = ("start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, "
          "demangledName INTEGER, shortName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, "
          "blockY INTEGER, blockZ INTEGER")
PROCESS = 4242 << 24


@case
def late_starts():
    us, calls, kernels, at = 1000, [], [], 100_000
    for n in range(50):
        calls.append((at * us, (at + 10) * us, PROCESS + 4242, 10 + n, "@cuLaunchKernel"))
        start, end = at + 4410, at + 4410 + 13_270
        kernels.append((start * us, end * us, 0, 7, 10 + n, PROCESS, "@nvkernel_solve_F1L210_2", "@nvkernel_solve",
                        5000, 1, 1, 128, 1, 1))
        calls.append(((at + 11) * us, (end + 4) * us, PROCESS + 4242, 1000 + n, "@cuStreamSynchronize"))
        at = end + 8
    return {"trace.sqlite": nsight({
        "CUPTI_ACTIVITY_KIND_RUNTIME": (RUNTIME, calls), "CUPTI_ACTIVITY_KIND_KERNEL": (KERNEL, kernels),
    })}, (
        "An OpenMP solver, C++: 50 kernels of 13.27 ms, each waited for, each started 4.4 ms after its launch. Nothing in "
        "the file says why, so nobody knows whether launching earlier would help."
    ), {"not_class": "launch-bound", "no_fix": True, "rejected": {"sync_every": "no reason"}}


COPY = ("start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, "
        "bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER")


@case
def copies_back():
    us, calls, kernels, copies, at = 1000, [], [], [], 100_000
    number = 10
    for n in range(40):
        for kind, call, length in ((1, "@cudaMemcpy", 1000), (0, "@cudaLaunchKernel", 300), (2, "@cudaMemcpy", 4000)):
            number += 1
            calls.append((at * us, (at + length if kind else at + 5) * us, PROCESS + 4242, number, call))
            row = ((at + 8) * us, (at + 8 + length - 10) * us, 0, 7, number, PROCESS)
            if kind:
                copies.append((*row, 12_000_000, kind, 0 if kind == 1 else 2, 2 if kind == 1 else 0))
            else:
                kernels.append((*row, "@stencil(float*)", "@stencil", 5000, 1, 1, 128, 1, 1))
            at += length + 2
    return {"trace.sqlite": nsight({
        "CUPTI_ACTIVITY_KIND_RUNTIME": (RUNTIME, calls), "CUPTI_ACTIVITY_KIND_KERNEL": (KERNEL, kernels),
        "CUPTI_ACTIVITY_KIND_MEMCPY": (COPY, copies),
    })}, (
        "A C++ program copies 12 MB down, computes for 0.3 ms and copies 12 MB back, 40 times: the copies back take 75 % of the "
        "time, those to the device 19 %."
    ), {"class": "transfer-bound", "says": "40 copies to the host take 160 ms", "do": "copy less back to the host"}


def write(name: str) -> None:
    files, truth, expect = cases[name]()
    folder = CASES / f"made-{name}"
    folder.mkdir(exist_ok=True)
    for file, data in files.items():
        data = data.encode() if isinstance(data, str) else data
        if file.endswith(".json"):
            file, data = file + ".gz", gzip.compress(data, mtime=0)
        (folder / file).write_bytes(data)
    (folder / "README.md").write_text(
        f"{truth}\n\n    python3 bench/trace/cases.py {name}\n\nWritten by hand, nothing was run.\n")
    (folder / "expect.json").write_text(json.dumps(expect, indent=2) + "\n")


if __name__ == "__main__":
    for case_name in sys.argv[1:] or cases:
        write(case_name)
