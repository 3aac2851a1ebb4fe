package kineto

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// realTraces are our own recordings, and public ones that are not part of the project
// where they are there.
func realTraces(t testing.TB) []string {
	own, _ := filepath.Glob("../../testdata/cases/trace-*/trace.json.gz")
	if len(own) == 0 {
		t.Fatal("no case has a trace")
	}
	public, _ := filepath.Glob("../../../shared/traces/kineto/*.json.gz")
	return append(own, public...)
}

func unzipped(t testing.TB, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The fast scanner and the general reader give the same Trace.
func TestReadersAgree(t *testing.T) {
	for _, file := range realTraces(t) {
		data := unzipped(t, file)
		if testing.Short() && len(data) > 4<<20 {
			continue
		}
		fast := readTrace(t, data, Options{})
		general := readTrace(t, data, Options{General: true, Workers: 1})
		same(t, filepath.Base(file), fast, general)
		if fast.Events == 0 || len(fast.Timeline.Host.Start)+len(fast.Timeline.Device.Start) == 0 {
			t.Errorf("%s: nothing was read", file)
		}
	}
}

func readTrace(t testing.TB, data []byte, o Options) *Trace {
	t.Helper()
	out, err := Read(context.Background(), &plainReader{data}, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

type plainReader struct{ rest []byte }

func (r *plainReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// same compares two traces, unknown values included.
func same(t testing.TB, what string, a, b *Trace) {
	t.Helper()
	if x, y := printed(a), printed(b); x != y {
		t.Errorf("%s: %s", what, firstDifference(x, y))
	}
	x, y := columnsOf(a), columnsOf(b)
	for name := range x {
		if !reflect.DeepEqual(x[name], y[name]) {
			t.Errorf("%s: %s differ: %.300v\n%.300v", what, name, x[name], y[name])
		}
	}
}

// columnsOf are a timeline's columns with names written out, as the numbers of
// names depend on where chunks end.
func columnsOf(tr *Trace) map[string]any {
	t := tr.Timeline
	text := func(indices []int32) []string {
		out := make([]string, len(indices))
		for k, i := range indices {
			if i >= 0 {
				out[k] = t.Names[i]
			}
		}
		return out
	}
	h, f, d := t.Host, t.Frames, t.Device
	return map[string]any{
		"threads": t.Threads, "devices": t.Devices, "names": len(t.Names),
		"host start": h.Start, "host end": h.End, "host name": text(h.Name), "host thread": h.Thread, "host kind": h.Kind,
		"shapes": text(h.Shapes), "types": text(h.Types),
		"frame start": f.Start, "frame end": f.End, "frame name": text(f.Name), "frame thread": f.Thread,
		"start": d.Start, "end": d.End, "name": text(d.Name), "device": d.Device, "stream": d.Stream, "kind": d.Kind,
		"call": d.Call, "bytes": d.Bytes, "blocks": d.Blocks, "block": d.Threads, "group": text(d.Group),
		"per SM": fmt.Sprint(d.PerSM), "occupancy": fmt.Sprint(d.Occupancy), // NaN is not itself
	}
}

// printed is all of a trace but its columns.
func printed(t *Trace) string {
	facts, _ := json.Marshal(t.Facts)
	return fmt.Sprintf("%s\n%+v\n%q\nrank %d of %d, zero %d, bytes %d, events %d, from %d to %d, dropped %v",
		facts, t.Steps, t.Warnings, t.Rank, t.World, t.Zero, t.Bytes, t.Events, t.Timeline.Start, t.Timeline.End, t.Timeline.Dropped)
}

func firstDifference(a, b string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("%.80q against %.80q", a[i:], b[i:])
		}
	}
	return fmt.Sprintf("%d against %d characters", len(a), len(b))
}
