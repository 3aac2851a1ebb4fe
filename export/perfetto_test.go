package export_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"unicode/utf8"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/export"
	"github.com/stoker-dev/stoker/recording"
)

type event struct {
	Phase string         `json:"ph"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	TS    float64        `json:"ts"`
	Dur   float64        `json:"dur"`
	Cat   string         `json:"cat"`
	Name  string         `json:"name"`
	Args  map[string]any `json:"args"`
}

// run has overlapping kernels on one stream, calls that overlap in part, a frame,
// hostile names and a process without a number.
func run() *recording.Run {
	t := &recording.Timeline{
		Names:   []string{"enumerate(DataLoader)#x.__next__", "a\"b\\c\x01\x7f\xff\u202e", "cudaLaunchKernel", "train.py(3): f", "ProfilerStep#1", "[[1,2]]"},
		Threads: []recording.Thread{{PID: 7, ID: 1, Name: "main", Rank: 0}, {PID: -1, ID: 2, Rank: -1}},
		Devices: []recording.Device{{PID: 7, Index: 0, Rank: 0, GPU: 0}},
		End:     20_000,
	}
	t.Host = recording.Calls{
		Start: []int64{0, 100, 6_000, 7_000, 9_001}, End: []int64{20_000, 5_000, 9_000, 10_000, 9_002}, Name: []int32{4, 0, 2, 2, 1},
		Thread: []int32{0, 0, 0, 0, 1}, Kind: []recording.CallKind{recording.Annotation, recording.Annotation, recording.Runtime, recording.Runtime, recording.Op},
		Shapes: []int32{-1, -1, -1, -1, 5}, Types: []int32{-1, -1, -1, -1, -1},
	}
	t.Device = recording.Work{
		Start: []int64{8_000, 9_500}, End: []int64{10_000, 12_345}, Name: []int32{1, 1}, Device: []int32{0, 0}, Stream: []int32{7, 7},
		Kind: []recording.WorkKind{recording.Kernel, recording.Kernel}, Call: []int32{2, 3}, Group: []int32{-1, -1}, Bytes: []int64{-1, 12},
		Blocks: []int32{4, 0}, Threads: []int32{128, 0}, PerSM: make([]float32, 2), Occupancy: make([]float32, 2),
	}
	t.Frames = recording.Frames{Start: []int64{0}, End: []int64{20_000}, Name: []int32{3}, Thread: []int32{0}}
	return &recording.Run{Timeline: t, Facts: recording.Facts{GPUs: []recording.GPU{{Name: "NVIDIA \"H100\""}}}}
}

func events(t *testing.T, r *recording.Run) []event {
	t.Helper()
	var b bytes.Buffer
	if err := export.Perfetto(&b, r, idle.Analyse(r)); err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(b.Bytes()) {
		t.Error("the file is no UTF-8")
	}
	var file struct{ TraceEvents []event }
	if err := json.Unmarshal(b.Bytes(), &file); err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	return file.TraceEvents
}

func TestEveryEventOnce(t *testing.T) {
	r := run()
	count := map[string]int{}
	idleTime := 0.0
	for _, e := range events(t, r) {
		if e.Phase != "X" {
			continue
		}
		count[e.Cat]++
		if e.Cat == "idle" {
			idleTime += e.Dur
		}
		if e.Dur == 2.845 && (e.Name != "a\"b\\c\x01\x7f\ufffd\u202e" || e.TS != 9.5 || e.Args["bytes"] != 12.0 || e.Args["launched by"] != "cudaLaunchKernel") {
			t.Errorf("kernel %+v", e)
		}
	}
	want := map[string]int{"annotation": 2, "runtime": 2, "op": 1, "python": 1, "kernel": 2}
	for cat, n := range want {
		if count[cat] != n {
			t.Errorf("%d events of %s, want %d", count[cat], cat, n)
		}
	}
	if d := idle.Analyse(r).Devices[0]; math.Abs(idleTime-float64(d.Idle)/1e3) > 1e-6 {
		t.Errorf("gaps take %g us, the device was idle %g", idleTime, float64(d.Idle)/1e3)
	}
}

// Perfetto drops slices of one track that overlap in part.
func TestTracksNest(t *testing.T) {
	named, ends := map[[2]int]bool{}, map[[2]int][]float64{}
	for _, e := range events(t, run()) {
		at := [2]int{e.PID, e.TID}
		if e.Name == "thread_name" {
			if named[at] {
				t.Errorf("track %v has two names", at)
			}
			named[at] = true
		}
		if e.Phase != "X" {
			continue
		}
		if !named[at] || e.PID < 0 {
			t.Errorf("%+v is on a track without a name", e)
		}
		open := ends[at]
		for len(open) > 0 && open[len(open)-1] <= e.TS+1e-6 {
			open = open[:len(open)-1]
		}
		if len(open) > 0 && e.TS+e.Dur > open[len(open)-1]+1e-6 {
			t.Errorf("%+v overlaps what is open until %g", e, open[len(open)-1])
		}
		ends[at] = append(open, e.TS+e.Dur)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriterErrorsAreReturned(t *testing.T) {
	r := run()
	if err := export.Perfetto(broken{}, r, idle.Analyse(r)); err == nil {
		t.Error("no error")
	}
}
