//go:build unix

package trace

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPipe: a trace may come through a pipe, packed or not; a database may not; a
// pipe without a writer is refused and not waited for.
func TestPipe(t *testing.T) {
	made, err := os.ReadFile("nsight/testdata/made.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	json := []byte(`{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]}`)
	for name, c := range map[string]struct {
		data []byte
		want string // "" where it is read
	}{
		"json": {json, ""}, "gzip": {zipped(json), ""}, "database": {made, "through a pipe"}, "nobody": {nil, "the file is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pipe := filepath.Join(t.TempDir(), "pipe")
			if err := unix.Mkfifo(pipe, 0o600); err != nil {
				t.Skip(err)
			}
			if c.data != nil {
				go func() { _ = os.WriteFile(pipe, c.data, 0o600) }() // fails where the reader has gone
			}
			run, err := Read(context.Background(), []string{pipe}, Options{})
			switch {
			case c.want == "" && (err != nil || len(run.Timeline.Host.Start) != 1):
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
