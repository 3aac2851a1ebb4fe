package trace

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// made is a small trace as PyTorch 2.x writes it: steps of 10 ms with a fetch of
// 4 ms, an operator, a launch, a kernel, a copy and a Python stack.
func made(rank, world, steps int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{
  "schemaVersion": 1,
  "deviceProperties": [{"id": %d, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85031714816, "computeMajor": 8, "computeMinor": 0, "numSms": 108}],
  "distributedInfo": {"backend": "nccl", "rank": %[1]d, "world_size": %d},
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1700000000000000000,
  "traceEvents": [`, rank, world)
	pid, tid := 100+rank, 100+rank
	comma := ""
	put := func(format string, args ...any) {
		b.WriteString(comma + "\n  ")
		fmt.Fprintf(&b, format, args...)
		comma = ","
	}
	for s := range steps {
		at := 1000.5 + 10_000*float64(s)
		c := 10 * (s + 1)
		put(`{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "pid": %d, "tid": %d, "ts": %.3f, "dur": 9999.000, "args": {"External id": %d, "Ev Idx": 0}}`, s+5, pid, tid, at, c)
		put(`{"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "pid": %d, "tid": %d, "ts": %.3f, "dur": 4000.250, "args": {"External id": %d}}`, pid, tid, at+1, c+1)
		put(`{"ph": "X", "cat": "python_function", "name": "train.py(41): forward", "pid": %d, "tid": %d, "ts": %.3f, "dur": 20.125, "args": {"Python parent id": null, "Python id": %d}}`, pid, tid, at+4100, c)
		put(`{"ph": "X", "cat": "python_function", "name": "torch/nn/modules/conv.py(456): forward", "pid": %d, "tid": %d, "ts": %.3f, "dur": 18, "args": {"Python parent id": %d, "Python id": %d}}`, pid, tid, at+4101, c, c+1)
		put(`{"ph": "X", "cat": "cpu_op", "name": "aten::conv2d", "pid": %d, "tid": %d, "ts": %.3f, "dur": 16.000, "args": {"External id": %d, "Input type": ["float", "float", "Scalar"], "Input Dims": [[32, 3, 224, 224], [64, 3, 7, 7], []]}}`, pid, tid, at+4102, c+2)
		put(`{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": %d, "tid": %d, "ts": %.3f, "dur": 5.000, "args": {"External id": %d, "cbid": 211, "correlation": %d}}`, pid, tid, at+4105, c+2, c)
		put(`{"ph": "s", "id": %d, "pid": %d, "tid": %d, "ts": %.3f, "cat": "ac2g", "name": "ac2g"}`, c, pid, tid, at+4105)
		put(`{"ph": "X", "cat": "kernel", "name": "sm80_xmma_fprop_implicit_gemm_f32f32<float>(a, b)", "pid": %d, "tid": 7, "ts": %.3f, "dur": 5000.125, "args": {"External id": %d, "queued": 0, "device": %[1]d, "context": 1, "stream": 7, "correlation": %[4]d, "blocks per SM": 5.925926, "grid": [8, 16, 5], "block": [128, 1, 1], "est. achieved occupancy %%": 25}}`, rank, at+4112, c+2, c)
		put(`{"ph": "f", "id": %d, "pid": %d, "tid": 7, "ts": %.3f, "cat": "ac2g", "name": "ac2g", "bp": "e"}`, c, rank, at+4112)
		put(`{"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": %d, "tid": %d, "ts": %.3f, "dur": 50.000, "args": {"cbid": 41, "correlation": %d}}`, pid, tid, at+4200, c+1)
		put(`{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": %d, "tid": 7, "ts": %.3f, "dur": 100.500, "args": {"device": %[1]d, "context": 1, "stream": 7, "correlation": %[3]d, "bytes": 19267584, "memory bandwidth (GB/s)": 11.5}}`, rank, at+9200, c+1)
		if world > 1 {
			put(`{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "pid": %d, "tid": 30, "ts": %.3f, "dur": 300.000, "args": {"device": %[1]d, "stream": 30, "correlation": 0, "Collective name": "allreduce", "In msg nelems": 1000, "dtype": "Float", "Process Group Name": "0"}}`, rank, at+9310)
		}
	}
	put(`{"name": "thread_name", "ph": "M", "ts": 1000.5, "pid": %d, "tid": %d, "args": {"name": "thread %d (python3)"}}`, pid, tid, tid)
	put(`{"ph": "X", "cat": "Trace", "ts": 900.000, "dur": 99999.000, "pid": "Spans", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)", "args": {"Op count": 0}}`)
	put(`{"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 18446744073709551.615}`)
	b.WriteString("\n  ],\n  \"traceName\": \"/tmp/trace.json\"\n}\n")
	return b.Bytes()
}

func zipped(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(data)
	_ = z.Close()
	return b.Bytes()
}

func generated(t testing.TB, steps int) string {
	t.Helper()
	return written(t, t.TempDir(), "trace.json.gz", zipped(made(0, 1, steps)))
}

func written(t testing.TB, dir, name string, data []byte) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
