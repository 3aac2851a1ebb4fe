package recording

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"
)

// TestStackSubjects: a subject says what the stack was.
func TestStackSubjects(t *testing.T) {
	for _, s := range []Stack{
		{Loading: Loading{PID: 7}},
		{Loading: Loading{PID: 7, Worker: true}, Asleep: true, Places: []Place{{"/home/my runs/train.py", 41, "Faces.__getitem__"}, {"PIL/Image.py", 7, "open"}}},
		{Loading: Loading{PID: 7, Outside: true}, Asleep: true, Awaits: AwaitsLock, Places: []Place{{"/train.py", 8, "swap"}}},
		{Loading: Loading{PID: 7, Beside: true}, Places: []Place{{"/train.py", 31, "crc64"}}},
		{Loading: Loading{PID: 7, Outside: true}, Asleep: true, Awaits: AwaitsDisk, Places: []Place{{"/train.py", 8, "log"}}},
		{Loading: Loading{PID: 7, Outside: true}, Places: []Place{{"/train.py", 9, "<module>"}, {"torch/optim/adam.py", 7, "Adam.step"}}},
		{Loading: Loading{PID: 7, Outside: true}, Places: []Place{{"/train.py", 9, "main"}}, Native: "cv2.imread"},
		{Loading: Loading{PID: 7, Outside: true}, Asleep: true, OnLoop: true, Places: []Place{{"/app.py", 9, "predict"}}},
		{Loading: Loading{PID: 7, Outside: true}, Asleep: true, Places: []Place{{"/app.py", 9, "main"}, {EventLoopFile, 84, "Handle._run"}}},
		{Loading: Loading{PID: 7}, Places: []Place{{"<string>", 3, "<lambda>"}, {"./a:b.py", 0, "<listcomp>"}}},
	} {
		if got, ok := stackOf(s.SeriesSubject()); !ok || !reflect.DeepEqual(got, s) {
			t.Errorf("%q is read as %+v, want %+v", s.SeriesSubject(), got, s)
		}
	}
	for _, subject := range []string{"", "process/7", "process/7;main", "process/x;main;core", "process/7;main;elsewhere;a.py:1 f", "thread/7;main;core"} {
		if s, ok := stackOf(subject); ok {
			t.Errorf("%q is read as %+v", subject, s)
		}
	}
}

// TestStacks: what was added in a time, though a stack is written only when it grew,
// and after the file was written and read.
func TestStacks(t *testing.T) {
	early, late := Stack{Loading: Loading{PID: 7}, Places: []Place{{"/a.py", 1, "f"}}}, Stack{Loading: Loading{PID: 7}, Asleep: true, Places: []Place{{"/a.py", 2, "<lambda>"}}}
	outside := Stack{Loading: Loading{PID: 7, Outside: true}, Places: []Place{{"/a.py", 4, "g"}}}
	beside := Stack{Loading: Loading{PID: 7, Beside: true}, Places: []Place{{"/a.py", 5, "h"}}}
	other := Stack{Loading: Loading{PID: 7, Worker: true}, Places: []Place{{"/a.py", 3, "f"}}}
	run := &Run{Series: []Series{
		{Signal: FetchLooks, Subject: "process/7;main", T: []float64{0, 5, 15, 20, 25}, V: []float64{0, 40, 60, 80, 90}},
		{Signal: FetchLooks, Subject: "process/7;worker", T: []float64{0, 5}, V: []float64{0, 9}},
		{Signal: FetchStack, Subject: early.SeriesSubject(), T: []float64{0, 5}, V: []float64{0, 4}},
		{Signal: FetchStack, Subject: late.SeriesSubject(), T: []float64{15, 20, 25}, V: []float64{0, 1, 3}},
		{Signal: FetchStack, Subject: other.SeriesSubject(), T: []float64{0, 5}, V: []float64{0, 2}},
		{Signal: FetchLooks, Subject: "process/7;loop", T: []float64{0, 5}, V: []float64{0, 30}},
		{Signal: FetchStack, Subject: outside.SeriesSubject(), T: []float64{0, 5}, V: []float64{0, 3}},
		{Signal: FetchLooks, Subject: "process/7;beside", T: []float64{0, 5}, V: []float64{0, 20}},
		{Signal: FetchStack, Subject: beside.SeriesSubject(), T: []float64{0, 5}, V: []float64{0, 2.5}},
	}}
	var file bytes.Buffer
	if err := Write(&file, run); err != nil {
		t.Fatal(err)
	}
	run, err := Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	with := func(s Stack, seconds float64) Stack { s.Seconds = seconds; return s }
	for _, c := range []struct {
		who      []Loading
		from, to float64
		want     []Stack
		looks    float64
	}{
		{[]Loading{{PID: 7}}, 0, 25, []Stack{with(early, 4), with(late, 3)}, 90},
		{[]Loading{{PID: 7}}, 6, 30, []Stack{with(late, 3)}, 48},
		{[]Loading{{PID: 7}}, 10, 22.5, []Stack{with(late, 2)}, 35},
		{[]Loading{{PID: 7}}, 2.5, 4.5, []Stack{with(early, 1.6)}, 16}, // between two writes
		{[]Loading{{PID: 7, Worker: true}}, 2.5, 30, []Stack{with(other, 1)}, 4.5},
		{[]Loading{{PID: 7, Outside: true}}, 0, 30, []Stack{with(outside, 3)}, 30},
		{[]Loading{{PID: 7, Beside: true}}, 0, 30, []Stack{with(beside, 2.5)}, 20},
		{[]Loading{{PID: 7}}, 30, 40, nil, 0},
		{nil, math.Inf(-1), math.Inf(1), []Stack{with(early, 4), with(late, 3), with(other, 2)}, 99},
	} {
		if got, looks := run.FetchStacks(c.from, c.to, c.who...); !reflect.DeepEqual(got, c.want) || looks != c.looks {
			t.Errorf("%v from %v to %v: %+v of %v looks, want %+v of %v", c.who, c.from, c.to, got, looks, c.want, c.looks)
		}
	}
}

// Paths of the program are shown as its command names it.
func TestProgramFolder(t *testing.T) {
	of := func(command string, files ...string) *Run {
		run := &Run{Facts: Facts{Command: strings.Fields(command)}}
		for _, file := range files {
			run.Series = append(run.Series, Series{Signal: FetchStack, Subject: "process/1;main;core;" + file + ":3 main"})
		}
		return run
	}
	for _, c := range []struct {
		run  *Run
		want string
	}{
		{of("python train.py", "/me/run/data.py", "/me/run/train.py"), "/me/run/"},
		{of("python -u ./src/train.py --lr 1", "/me/run/src/train.py"), "/me/run/"},
		{of("python /me/run/train.py", "/me/run/train.py"), ""},
		{of("python -m train", "/me/run/train.py"), ""},
		{of("python train.py", "/me/run/pretrain.py"), ""},
	} {
		if got := c.run.ProgramFolder(); got != c.want {
			t.Errorf("%v: %q, want %q", c.run.Facts.Command, got, c.want)
		}
	}
}
