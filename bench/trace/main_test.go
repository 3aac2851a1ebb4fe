package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-dev/stoker/trace"
)

const short = `{"deviceProperties": [{"id": 0, "name": "A"}], "traceEvents": [
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#4", "pid": 9, "tid": 9, "ts": 1000.25, "dur": 500, "args": {"External id": 1}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 1100.125, "dur": 5, "args": {"correlation": 7}},
  {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1120.5, "dur": 300, "args": {"correlation": 7, "stream": 7}},
  {"name": "thread_name", "ph": "M", "ts": 1000, "pid": 9, "tid": 9, "args": {"name": "main"}}
], "baseTimeNanoseconds": 1700000000000000000}`

// Repeated events keep their gaps, links and lengths, and steps go on counting.
func TestRepeat(t *testing.T) {
	template, err := parse([]byte(short))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	n, times, err := template.write(&out, 4000)
	if err != nil || n != int64(out.Len()) || n < 4000 {
		t.Fatalf("%d bytes in %d times, %v", n, times, err)
	}
	file := filepath.Join(t.TempDir(), "t.json")
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	run, err := trace.Read(context.Background(), []string{file}, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tl := run.Timeline
	if len(run.Steps) != times || len(tl.Device.Start) != times || len(tl.Host.Start) != 2*times || len(run.Facts.GPUs) != 1 {
		t.Fatalf("%d steps, %d works of %d", len(run.Steps), len(tl.Device.Start), times)
	}
	for i, s := range run.Steps {
		call := tl.Device.Call[i]
		if s.N != 4+i || call < 0 || tl.Device.Start[i]-tl.Host.Start[call] != 20375 || tl.Device.End[i]-tl.Device.Start[i] != 300000 {
			t.Errorf("step %d: launched %d ns before", s.N, tl.Device.Start[i]-tl.Host.Start[call])
		}
	}
}
