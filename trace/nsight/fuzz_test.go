package nsight

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// sound fails where a Timeline would lead its readers astray.
func sound(t *testing.T, tr *Trace) {
	t.Helper()
	tl := tr.Timeline
	h, d := &tl.Host, &tl.Device
	n := len(h.Start)
	for _, m := range []int{len(h.End), len(h.Name), len(h.Thread), len(h.Kind), len(h.Shapes), len(h.Types)} {
		if m != n {
			t.Fatalf("host columns of %d and %d rows", n, m)
		}
	}
	for i := range n {
		if h.Start[i] < 0 || h.End[i] < h.Start[i] || h.End[i] > tl.End || i > 0 && h.Start[i] < h.Start[i-1] {
			t.Fatalf("call %d from %d to %d", i, h.Start[i], h.End[i])
		}
		if int(h.Name[i]) >= len(tl.Names) || h.Name[i] < 0 || int(h.Thread[i]) >= len(tl.Threads) || int(h.Shapes[i]) >= len(tl.Names) {
			t.Fatalf("call %d refers to what is not there", i)
		}
	}
	n = len(d.Start)
	for _, m := range []int{len(d.End), len(d.Name), len(d.Device), len(d.Stream), len(d.Kind), len(d.Call), len(d.Bytes), len(d.Blocks), len(d.Threads), len(d.PerSM), len(d.Occupancy), len(d.Group)} {
		if m != n {
			t.Fatalf("device columns of %d and %d rows", n, m)
		}
	}
	for i := range n {
		if d.Start[i] < 0 || d.End[i] < d.Start[i] || d.End[i] > tl.End || i > 0 && d.Start[i] < d.Start[i-1] {
			t.Fatalf("work %d from %d to %d", i, d.Start[i], d.End[i])
		}
		if int(d.Name[i]) >= len(tl.Names) || d.Name[i] < 0 || int(d.Device[i]) >= len(tl.Devices) || int(d.Call[i]) >= len(h.Start) || d.Call[i] < -1 {
			t.Fatalf("work %d refers to what is not there", i)
		}
		if c := d.Call[i]; c >= 0 && h.Kind[c] != recording.Runtime {
			t.Fatalf("work %d is launched by a call of kind %d", i, h.Kind[c])
		}
	}
	for _, s := range tr.Steps {
		if math.IsNaN(s.Start) || !(s.Period > 0) || s.Start < 0 || math.IsInf(s.Period, 0) {
			t.Fatalf("step from %v for %v", s.Start, s.Period)
		}
	}
	for _, s := range tr.Series {
		if len(s.T) != len(s.V) || !slices.IsSorted(s.T) {
			t.Fatal("series out of order")
		}
	}
	for _, name := range tl.Names {
		if slices.Contains([]byte(name), 0xff) {
			t.Fatalf("name %q is no UTF-8", name)
		}
	}
}

// FuzzNsight changes bytes of a small export. An execution is deep where events
// came out of it; their number is logged at the end of a run.
func FuzzNsight(f *testing.F) {
	made, err := os.ReadFile("testdata/made.sqlite")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(made)
	f.Add(made[:len(made)/2])
	f.Add(made[:700])
	f.Add([]byte("SQLite format 3\x00"))
	var all, deep atomic.Int64
	f.Cleanup(func() { f.Logf("%d executions, %d of them deep", all.Load(), deep.Load()) })
	file := filepath.Join(f.TempDir(), "fuzz.sqlite") // each worker is a process and has a folder of its own
	f.Fuzz(func(t *testing.T, data []byte) {
		all.Add(1)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		tr, err := ReadFile(context.Background(), f, Options{Most: 1000})
		var foreign *ForeignError
		var damaged *DamagedError
		switch {
		case err == nil:
			sound(t, tr)
			if len(tr.Timeline.Host.Start)+len(tr.Timeline.Device.Start) > 0 {
				deep.Add(1)
				if os.Getenv("FUZZ_COUNT") != "" {
					count(os.Getenv("FUZZ_COUNT"))
				}
			}
		case !errors.As(err, &foreign) && !errors.As(err, &damaged):
			t.Fatalf("an error without advice: %v", err)
		}
	})
}

// count appends a byte to a file: fuzzing runs in several processes.
func count(file string) {
	if f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		f.Write([]byte{'x'})
		f.Close()
	}
}
