"""Writes exports like those of Nsight Systems, small and made up, for the tests.

    python3 make.py OUT [CHANGE …]

Two processes with the same correlation ids, each with a device, three marked steps
and a loader that is waited for in poll. A CHANGE is SQL that is run at the end.
"""

import sqlite3
import sys

PID = {0: 100 << 24, 1: 200 << 24}
MS = 1_000_000


def table(db, name, columns, rows):
    db.execute(f"CREATE TABLE {name} ({columns})")
    marks = ",".join("?" * len(columns.split(",")))
    db.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)


def main():
    out, changes = sys.argv[1], sys.argv[2:]
    db = sqlite3.connect(out)
    db.execute("PRAGMA page_size = 512")
    names = ["cudaLaunchKernel_v7000", "cudaMemcpyAsync_ptsz_v7000", "void gemm<float, 128>(Params)", "gemm", "iteration", "poll", "pt_main",
             "ncclDevKernel_AllReduce_Sum_f32", "cudaGraphLaunch_v10000", "cuMemcpyHtoDAsync_v2", "GR Active [Throughput %]"]
    table(db, "StringIds", "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL", list(enumerate(names, 1)))
    table(db, "META_DATA_EXPORT", "name TEXT, value TEXT", [("EXPORT_SCHEMA_VERSION", "3.16.4")])
    # Numbers differ from those of 3.25 on purpose: the tables decide.
    table(db, "ENUM_CUDA_MEMCPY_OPER", "id INTEGER, name TEXT, label TEXT", [(71, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device"), (72, "CUDA_MEMCPY_KIND_DTOH", "Device-to-Host")])
    table(db, "ENUM_CUDA_MEM_KIND", "id INTEGER, name TEXT, label TEXT", [(5, "X_PAGEABLE", "Pageable"), (6, "X_PINNED", "Pinned"), (7, "X_DEVICE", "Device")])
    table(db, "ENUM_NSYS_EVENT_TYPE", "id INTEGER, name TEXT, label TEXT", [(34, "NvtxMark", ""), (90, "NvtxPushPopRange", "")])
    table(db, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs INTEGER", [(1_700_000_000_000_000_000,)])
    table(db, "TARGET_INFO_GPU", "id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER, computeMajor INTEGER, computeMinor INTEGER",
          [(0, "NVIDIA H100 80GB HBM3", 85 * 10**9, 132, 9, 0), (1, "NVIDIA H100 80GB HBM3", 85 * 10**9, 132, 9, 0)])
    table(db, "TARGET_INFO_CUDA_DEVICE", "gpuId INTEGER, cudaId INTEGER, pid INTEGER", [(0, 0, 100), (1, 0, 200)])
    table(db, "TARGET_INFO_SYSTEM_ENV", "name TEXT, value TEXT", [("CpuCores", "18"), ("NvDriverVersion", "580.95.05"), ("DeviceEnvironment", "TOKEN=secret")])
    kernels, copies, calls, ranges, waits = [], [], [], [], []
    for r, pid in PID.items():
        tid = pid | (pid >> 24)
        for step in range(3):
            t = (10 + 10 * step + r) * MS
            c = 10 * step + 1
            ranges.append((t, t + 10 * MS, 90, f"iteration {step}", None, tid))
            ranges.append((t, t + 4 * MS, 90, f"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__, op_id = {c}", None, tid))
            ranges.append((t + 5 * MS, t + 6 * MS, 90, f"aten::linear, seq = {step}, op_id = {c + 1}, sizes = [[32, 128], [128, 64], []], input_op_ids = [(1,0)]", None, tid))
            waits.append((t + 100_000, t + 3 * MS, tid, 6))
            calls.append((t + 4 * MS, t + 4 * MS + 50_000, tid, c, 2))
            copies.append((t + 4 * MS + 20_000, t + 4 * MS + 900_000, 0, 7, c, pid, 3_000_000, 71, 5 + r, 7))
            calls.append((t + 5 * MS, t + 5 * MS + 10_000, tid, c + 1, 1))
            kernels.append((t + 5 * MS + 20_000, t + 8 * MS, 0, 7, c + 1, pid, 3, 4, 64, 2, 1, 256, 1, 1, None))
            calls.append((t + 5 * MS + 12_000, t + 5 * MS + 20_000, tid, c + 2, 1))
            kernels.append((t + 8 * MS, t + 9 * MS, 0, 7, c + 2, pid, 8, 8, 16, 1, 1, 512, 1, 1, None))
        waits.append((11 * MS, 39 * MS, tid + 1, 6))
    ranges.append((12 * MS, None, 90, "open at the end", None, PID[0] | 100))
    ranges.append((12 * MS, None, 34, "a mark", None, PID[0] | 100))
    table(db, "CUPTI_ACTIVITY_KIND_KERNEL", "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, "
          "demangledName INTEGER, shortName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, graphNodeId INTEGER", kernels)
    table(db, "CUPTI_ACTIVITY_KIND_MEMCPY", "start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, "
          "bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER", copies)
    table(db, "CUPTI_ACTIVITY_KIND_RUNTIME", "start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER", calls)
    table(db, "NVTX_EVENTS", "start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER, globalTid INTEGER", ranges)
    table(db, "OSRT_API", "start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER", waits)
    table(db, "ThreadNames", "nameId INTEGER, globalTid INTEGER", [(7, PID[0] | 100)])
    table(db, "TARGET_INFO_GPU_METRICS", "typeId INTEGER, metricId INTEGER, metricName TEXT", [(256, 1, names[-1]), (256, 2, "SMs Active [Throughput %]")])
    table(db, "GPU_METRICS", "timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER",
          [(t * MS, 256, m, v) for t in range(10, 40) for m, v in ((1, 40), (2, 7))])
    table(db, "DIAGNOSTIC_EVENT", "severity INTEGER, text TEXT", [(1, "fine"), (2, "12 events\n were \x1b[31mlost"), (3, "12 events\n were \x1b[31mlost")])
    for change in changes:
        db.execute(change)
    db.commit()
    db.close()


if __name__ == "__main__":
    main()
