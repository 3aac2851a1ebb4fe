package kineto

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

// one is an event of each kind, as PyTorch writes them and as it does not.
var one = []string{
	`{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 100.123, "dur": 5.5, "args": {"External id": 2, "Input type": ["float", ""], "Input Dims": [[1, 2], []]}}`,
	`{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 101, "dur": 2, "args": {"correlation": 7}}`,
	`{"ph": "X", "cat": "kernel", "name": "void k<(int)1>(float*)", "pid": 0, "tid": 7, "ts": 103.0005, "dur": 2.25, "args": {"device": 0, "stream": 7, "correlation": 7, "blocks per SM": 0.074074, "grid": [8, 16, 5], "block": [128, 1, 1], "est. achieved occupancy %": 31}}`,
	`{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7, "ts": 110, "dur": 1, "args": {"stream": 7, "bytes": "2048", "memory bandwidth (GB/s)": 1.28}}`,
	`{"ph": "s", "id": 9, "pid": 1, "tid": 1, "ts": 101, "cat": "ac2g", "name": "ac2g"}`,
	`{"ph": "f", "id": 9, "pid": 0, "tid": 7, "ts": 110, "cat": "ac2g", "name": "ac2g", "bp": "e"}`,
	`{"ph": "X", "cat": "python_function", "name": "train.py(3): f", "pid": 1, "tid": 1, "ts": 90, "dur": 30, "args": {"Python parent id": null, "Python id": 1}}`,
	`{"ph": "X", "cat": "Operator", "name": "ProfilerStep#3", "pid": 1, "tid": "1", "ts": 80, "dur": 100, "args": {"Call stack": "torch/a.py(1): b;train.py(9): <module>", "Input dims": []}}`,
	`{"ph": "X", "cat": "kernel", "name": "ncclKernel", "pid": 0, "tid": "stream 9", "ts": 120, "dur": 4, "args": {"Collective name": "allreduce", "In msg nelems": 4, "dtype": "Half", "Process Group Name": "0"}}`,
	`{"name": "thread_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": "main"}}`,
	`{"name": "thread_name", "ph": "M", "pid": 1, "tid": 2, "args": {"name": "C:\\\\main \u00e9"}}`,
	`{"ph": "X", "cat": "kernel", "name": "ncclKernel", "pid": 0, "tid": 9, "ts": 130, "dur": 4, "args": {"Collective name": "", "In msg nelems": "4", "dtype": "H\u0061lf", "Process Group Name": "a\\b"}}`,
	`{"ph": "X", "cat": "Trace", "ts": 0, "dur": 1000, "pid": "Spans", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)"}`,
	`{"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 18446744073709551.615}`,
	"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\\\"\x02b\\u00e9\xff\", \"pid\": 1, \"tid\": 2, \"ts\": 1.0e2, \"dur\": N/A, \"dur\": 3, \"args\": {\"x\": NaN, \"y\": \"}{\\\\\"}}",
	`{"args": {"correlation": 7.0, "stream": "0x5", "grid": [1, "a"]}, "ts": -5.1239999, "dur": 0.0004, "tid": null, "pid": true, "cat": "KERNEL", "ph": "X", "name": "k"}`,
	`{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1700000000000000000, "dur": 5000}`,
}

var read atomic.Int64

// FuzzKineto: the fast scanner and the general reader give the same Trace or the
// same error, whatever the events are, wherever chunks end and however many
// scanners work.
func FuzzKineto(f *testing.F) {
	for _, e := range append(ascendEvents(), one...) {
		f.Add([]byte("["+e+"]"), uint16(64))
	}
	f.Add([]byte(`{"deviceProperties": [{"id": 0, "name": "A", "computeMajor": 9, "computeMinor": 0}], "traceEvents": [`+strings.Join(one, ",\n")+`], "baseTimeNanoseconds": 1700000000000000000}`), uint16(100))
	f.Add([]byte(`[` + strings.Join(one, ","))[:700], uint16(50))
	f.Add([]byte(`[`+strings.Join(ascendEvents(), ",")+`]`), uint16(500))
	f.Fuzz(func(t *testing.T, data []byte, chunk uint16) {
		fast, err := Read(context.Background(), bytes.NewReader(data), Options{Workers: 2, chunk: int(chunk) + 16})
		general, err2 := Read(context.Background(), bytes.NewReader(data), Options{General: true, Workers: 1})
		if fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("fast: %v\ngeneral: %v", err, err2)
		}
		if err != nil {
			return
		}
		read.Add(1)
		same(t, "fast and general", fast, general)
	})
	fuzzing := flag.Lookup("test.fuzz").Value.String() != "" // then other processes count
	if !fuzzing && read.Load() == 0 {
		f.Error("no input was read")
	}
}
