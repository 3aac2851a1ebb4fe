package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

func read(t testing.TB, paths ...string) *recording.Run {
	t.Helper()
	run, err := Read(context.Background(), paths, Options{})
	if err != nil {
		t.Fatal(err)
	}
	check(t, run)
	return run
}

// What the file says stands in the Run.
func TestRead(t *testing.T) {
	run := read(t, generated(t, 5))
	tl := run.Timeline
	if n := len(run.Steps); n != 5 {
		t.Fatalf("%d steps", n)
	}
	s := run.Steps[1]
	if s.N != 6 || s.PID != 100 || s.Device != 0 || s.Phase != recording.Evaluate || math.Abs(s.Period-0.010) > 1e-9 || math.Abs(s.Wait-0.00400025) > 1e-12 {
		t.Errorf("step %+v", s)
	}
	if !math.IsNaN(s.Idle) || !math.IsNaN(s.DevicePeriod) {
		t.Errorf("a trace has no device events at the input boundary: %+v", s)
	}
	g := run.Facts.GPUs
	if len(g) != 1 || g[0].Name != "NVIDIA A100-SXM4-80GB" || g[0].SMs != 108 || g[0].Capability != "8.0" || stat.Value(g[0].MemoryBytes) != 85031714816 {
		t.Errorf("GPUs %+v", g)
	}
	if p := run.Facts.Processes; len(p) != 1 || p[0].PID != 100 || p[0].LaunchThread != 100 || !p[0].LauncherSeen || p[0].World != 1 {
		t.Errorf("processes %+v", p)
	}
	if n, known := run.Facts.Loaders[0].Settings.Int("num_workers"); n != 0 || !known {
		t.Errorf("loaders %+v", run.Facts.Loaders)
	}
	if want := 1700000000.0010005; math.Abs(run.Facts.Started-want) > 1e-6 {
		t.Errorf("started at %f, want %f", run.Facts.Started, want)
	}
	d := &tl.Device
	for i := range d.Start {
		call := d.Call[i]
		if call < 0 {
			t.Fatalf("work %d is not linked", i)
		}
		switch name := tl.Names[tl.Host.Name[call]]; d.Kind[i] {
		case recording.Kernel:
			if name != "cudaLaunchKernel" || d.Blocks[i] != 640 || d.Threads[i] != 128 || d.PerSM[i] != 5.925926 || d.Occupancy[i] != 0.25 || d.End[i]-d.Start[i] != 5000125 {
				t.Errorf("kernel %d by %s: %d blocks of %d", i, name, d.Blocks[i], d.Threads[i])
			}
		case recording.Copy:
			if name != "cudaMemcpyAsync" || d.Bytes[i] != 19267584 {
				t.Errorf("copy %d by %s of %d bytes", i, name, d.Bytes[i])
			}
		default:
			t.Errorf("work of kind %v", d.Kind[i])
		}
	}
	for i, kind := range tl.Host.Kind {
		if kind == recording.Op && (tl.Names[tl.Host.Shapes[i]] != "[[32,3,224,224],[64,3,7,7],[]]" || tl.Names[tl.Host.Types[i]] != "[float,float,Scalar]") {
			t.Errorf("operator of %s and %s", tl.Names[tl.Host.Shapes[i]], tl.Names[tl.Host.Types[i]])
		}
	}
	if len(tl.Frames.Start) != 5 || tl.Names[tl.Frames.Name[0]] != "train.py(41): forward" {
		t.Errorf("%d frames", len(tl.Frames.Start))
	}
	if tl.Dropped["python frame of a library below 50 us"] != 5 || len(run.Warnings) != 0 {
		t.Errorf("dropped %v, warnings %q", tl.Dropped, run.Warnings)
	}
	if tl.Threads[0].Name != "thread 100 (python3)" {
		t.Errorf("threads %+v", tl.Threads)
	}
}

func packedZstd(t testing.TB, data []byte) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll(data, nil)
}

// The same events in every wrapping give the same Run.
func TestWrappings(t *testing.T) {
	data := made(0, 1, 4)
	want := fmt.Sprint(read(t, written(t, t.TempDir(), "plain.json", data)).Timeline)
	array := data[bytes.IndexByte(data, '['):]
	array = array[bytes.Index(array, []byte(`"traceEvents": [`))+len(`"traceEvents": `):]
	array = array[:bytes.LastIndexByte(array, ']')+1]
	for name, content := range map[string][]byte{
		"gzip":              zipped(data),
		"two gzip members":  append(zipped(data[:999]), zipped(data[999:])...),
		"zstd":              packedZstd(t, data),
		"byte order mark":   append([]byte("\xef\xbb\xbf"), data...),
		"wrong name":        zipped(data),
		"bare array":        array,
		"unclosed array":    array[:len(array)-2],
		"comma at the end":  append(bytes.Clone(array[:len(array)-2]), ','),
		"events in two":     bytes.Replace(data, []byte("\n  {\"ph\": \"X\", \"cat\": \"cpu_op\""), []byte("\n  ], \"traceEvents\": [ {\"ph\": \"X\", \"cat\": \"cpu_op\""), 1),
		"metadata behind":   swapped(data),
		"without spaces":    tightened(data),
		"junk among events": bytes.Replace(data, []byte("{\"ph\": \"X\", \"cat\": \"cpu_op\""), []byte("null, 7, \"x\", [1, {}], {\"ph\": \"X\", \"cat\": \"cpu_op\""), 1),
	} {
		run := read(t, written(t, t.TempDir(), "trace.bin", content))
		got := fmt.Sprint(run.Timeline)
		if strings.Contains(name, "array") || strings.Contains(name, "comma") { // without the devices' properties
			got = strings.Replace(got, "[{100 0 0 -1 0}]", "[{100 0 0 0 0}]", 1)
		}
		if name == "junk among events" {
			got = strings.Replace(got, "damaged:4 ", "", 1)
		}
		if got != want {
			t.Errorf("%s: another timeline\n%.600s\n%.600s", name, got, want)
		}
	}
}

// swapped moves the events before the other members.
func swapped(data []byte) []byte {
	at := bytes.Index(data, []byte(`"traceEvents"`))
	end := bytes.LastIndexByte(data, ']') + 1
	return []byte("{" + string(data[at:end]) + "," + strings.TrimRight(string(data[1:at]), ", \n") + string(data[end:]))
}

func tightened(data []byte) []byte {
	var out bytes.Buffer
	if err := json.Compact(&out, data); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// Ranks become one Run on one clock.
func TestRanks(t *testing.T) {
	dir := t.TempDir()
	for rank := range 3 {
		written(t, dir, fmt.Sprintf("host.%d.pt.trace.json.gz", 7-rank), zipped(made(rank, 3, 3)))
	}
	written(t, dir, "notes.txt", []byte("hello"))
	written(t, dir, "config.json", []byte(`{"batch_size": 4}`))
	run := read(t, dir)
	if len(run.Steps) != 9 || len(run.Facts.GPUs) != 3 || len(run.Facts.Processes) != 3 || len(run.Timeline.Devices) != 3 {
		t.Fatalf("%d steps, GPUs %v, processes %v", len(run.Steps), run.Facts.GPUs, run.Facts.Processes)
	}
	for rank := range 3 {
		n := 0
		for _, s := range run.Steps {
			if s.Rank == rank && s.PID == 100+rank {
				n++
			}
		}
		if n != 3 {
			t.Errorf("rank %d has %d steps", rank, n)
		}
	}
	tl, collectives := run.Timeline, 0
	for i, kind := range tl.Device.Kind {
		on := tl.Devices[tl.Device.Device[i]]
		if c := tl.Device.Call[i]; c >= 0 && tl.Threads[tl.Host.Thread[c]].Rank != on.Rank {
			t.Errorf("work of rank %d was launched by rank %d", on.Rank, tl.Threads[tl.Host.Thread[c]].Rank)
		}
		if run.Facts.GPUs[on.GPU].Index != on.Rank {
			t.Errorf("device %+v on GPU %+v", on, run.Facts.GPUs[on.GPU])
		}
		if kind == recording.Collective {
			collectives++
			if tl.Device.Bytes[i] != 4000 || tl.Names[tl.Device.Group[i]] != "0" || tl.Device.Call[i] != -1 {
				t.Errorf("collective %d of %d bytes, launched by %d", i, tl.Device.Bytes[i], tl.Device.Call[i])
			}
		}
	}
	if collectives != 9 {
		t.Errorf("%d collectives", collectives)
	}
	if len(run.Warnings) != 2 || !strings.Contains(run.Warnings[0], "1 other file") || !strings.Contains(run.Warnings[1], "config.json was left alone") {
		t.Errorf("warnings %q", run.Warnings)
	}
}

// Containers number their processes from one, so that ranks share numbers.
func TestRanksWithTheSameProcess(t *testing.T) {
	dir := t.TempDir()
	a := written(t, dir, "rank0.json", made(0, 2, 3))
	b := written(t, dir, "rank1.json", bytes.ReplaceAll(bytes.ReplaceAll(made(0, 2, 3), []byte(`"rank": 0`), []byte(`"rank": 1`)), []byte(`"id": 0`), []byte(`"id": 0`)))
	run := read(t, a, b)
	pids := map[int]int{}
	for _, s := range run.Steps {
		pids[s.PID] = s.Rank
	}
	if len(pids) != 2 || len(run.Steps) != 6 || len(run.Warnings) != 1 {
		t.Errorf("processes %v, %d steps, %q", pids, len(run.Steps), run.Warnings)
	}
}

func TestProgressAndCancel(t *testing.T) {
	file := generated(t, 50)
	done, total := int64(0), int64(0)
	if _, err := Read(context.Background(), []string{file}, Options{Progress: func(d, n int64) { done, total = d, n }}); err != nil {
		t.Fatal(err)
	}
	if done != total || total == 0 {
		t.Errorf("progress ended at %d of %d", done, total)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Read(ctx, []string{file}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// What is read can be written as a recording and read again.
func TestRoundTrip(t *testing.T) {
	run := read(t, generated(t, 4))
	var out bytes.Buffer
	if err := recording.Write(&out, run); err != nil {
		t.Fatal(err)
	}
	again, err := recording.Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Timeline.Host.Start) != len(run.Timeline.Host.Start) || fmt.Sprint(again.Timeline.Device.Start) != fmt.Sprint(run.Timeline.Device.Start) ||
		!reflect.DeepEqual(again.Facts.GPUs[0], run.Facts.GPUs[0]) || len(again.Steps) != 4 {
		t.Errorf("another run")
	}
}

// Our own recordings, and public traces where they are there.
func TestRealTraces(t *testing.T) {
	files, _ := filepath.Glob("../testdata/cases/trace-*/trace.json.gz")
	if len(files) == 0 {
		t.Fatal("no case has a trace")
	}
	public, _ := filepath.Glob("../../shared/traces/kineto/*.json.gz")
	for _, file := range append(files, public...) {
		if strings.Contains(file, "mtia") && testing.Short() {
			continue
		}
		read(t, file)
	}
}
