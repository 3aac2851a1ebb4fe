package trace_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-dev/stoker/trace"
)

// A trace of one step: an operator launches a kernel.
func ExampleRead() {
	dir, _ := os.MkdirTemp("", "trace")
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "trace.json")
	_ = os.WriteFile(file, []byte(`{"traceEvents": [
		{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 9, "tid": 9, "ts": 1000, "dur": 500.5},
		{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 1100, "dur": 5, "args": {"correlation": 7}},
		{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1120, "dur": 300, "args": {"correlation": 7, "stream": 7}}
	]}`), 0o600)

	run, err := trace.Read(context.Background(), []string{file}, trace.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	t, work := run.Timeline, run.Timeline.Device
	fmt.Println(run.Steps[0].N, run.Steps[0].Period)
	fmt.Println(t.Names[work.Name[0]], work.End[0]-work.Start[0], "ns, launched by", t.Names[t.Host.Name[work.Call[0]]])
	// Output:
	// 3 0.0005005
	// gemm 300000 ns, launched by cudaLaunchKernel
}
