package trace

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNsight: an export of Nsight Systems is recognised by its content, alone or in
// a folder, and its progress is told.
func TestNsight(t *testing.T) {
	data, err := os.ReadFile("nsight/testdata/made.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	file := written(t, folder, "odd name", data)
	var done, total int64
	run, err := Read(context.Background(), []string{file}, Options{Progress: func(d, n int64) { done, total = d, n }})
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Steps) != 6 || len(run.Series) != 1 || len(run.Facts.GPUs) != 2 || len(run.Timeline.Device.Start) != 18 {
		t.Errorf("%d steps, %d series, %d GPUs, %d pieces of work", len(run.Steps), len(run.Series), len(run.Facts.GPUs), len(run.Timeline.Device.Start))
	}
	if total != int64(len(data)) || done < total/2 || done > total {
		t.Errorf("progress ended at %d of %d", done, total)
	}
	written(t, folder, "run.sqlite", data)
	run, err = Read(context.Background(), []string{folder}, Options{})
	if err != nil || len(run.Steps) != 6 || !strings.Contains(run.Warnings[0], "1 other file") {
		t.Errorf("from a folder: %v", err)
	}
	written(t, folder, "trace.json", []byte(`{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]}`))
	run, err = Read(context.Background(), []string{folder}, Options{})
	if err != nil || len(run.Timeline.Device.Start) != 0 || filepath.Base(file) != "odd name" {
		t.Errorf("beside a trace of PyTorch's: %v", err)
	}
}
