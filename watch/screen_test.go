package watch

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/poison"
	"github.com/stoker-dev/stoker/recording"
)

func stateOf(t *testing.T, file string) State {
	t.Helper()
	run, err := recording.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	return Judged(State{Name: "run.jsonl.gz"}, run)
}

// Everything fits, in any size, with and without colours: a line too long would scroll the
// screen.
func TestScreenFits(t *testing.T) {
	files, err := filepath.Glob("../testdata/cases/*/run.jsonl*")
	if err != nil || len(files) < 20 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		s := stateOf(t, file)
		for _, look := range []Viewport{{Width: 80, Height: 24}, {Width: 160, Height: 50}, {Width: 60, Height: 16}, {Width: 20, Height: 5}, {Width: 1, Height: 1}, {Width: 200, Height: 30, Help: true}, {Width: 80, Height: 24, Span: 30, Back: 1000}} {
			for _, look.Colour = range []bool{false, true} {
				for _, look.ASCII = range []bool{false, true} {
					lines := Screen([]State{s}, look)
					if len(lines) > look.Height {
						t.Errorf("%s, %+v: %d lines", file, look, len(lines))
					}
					for _, line := range lines {
						if n := cellsOf(line); n > look.Width {
							t.Errorf("%s, %+v: %d cells: %q", file, look, n, line)
						}
						if last := strings.LastIndex(line, "\x1b["); last >= 0 && !strings.HasPrefix(line[last:], "\x1b[0m") {
							t.Errorf("%s, %+v: a colour does not end: %q", file, look, line)
						}
						if look.ASCII && strings.IndexFunc(line, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
							t.Errorf("%s: not ASCII: %q", file, line)
						}
						if strings.Contains(line, "NaN") || strings.Contains(line, "%!") {
							t.Errorf("%s: %q", file, line)
						}
					}
				}
			}
		}
	}
}

// The smallest usual terminal holds what counts: class, waiting, the best fix.
func TestScreenHasEssentials(t *testing.T) {
	s := stateOf(t, "../testdata/cases/labelled-too-few-workers/run.jsonl.gz")
	text := strings.Join(Screen([]State{s}, Viewport{Width: 80, Height: 24}), "\n")
	for _, want := range []string{string(s.Verdict.Class), "waiting for input", "GPU 0 busy", "pipeline", "best fix", s.Plan.Fixes[0].Changes[0].String(), "q quit"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q on\n%s", want, text)
		}
	}
}

// A large terminal also shows what fills the device's memory, and the goal of its row. One line
// high, the row has the goal as a number.
func TestScreenShowsMemoryAndGoal(t *testing.T) {
	s := stateOf(t, "../testdata/cases/gpu-vit/run.jsonl.gz")
	memory := "memory of GPU 0: 16.7 GB of 85.5 GB   tensors 14.4 GB at most   PyTorch's cache 939 MB"
	for _, c := range []struct {
		look  Viewport
		wants []string
	}{
		{Viewport{Width: 130, Height: 70}, []string{memory, goalMark + goalMark}},
		{Viewport{Width: 130}, []string{memory, "goal 93 %"}},
		{Viewport{Width: 130, Height: 70, ASCII: true}, []string{"--"}},
	} {
		text := strings.Join(Screen([]State{s}, c.look), "\n")
		for _, want := range c.wants {
			if !strings.Contains(text, want) {
				t.Errorf("%+v: no %q on\n%s", c.look, want, text)
			}
		}
	}
}

// Nothing from outside reaches the terminal raw.
func TestScreenIsSafe(t *testing.T) {
	s := stateOf(t, "../testdata/cases/main-thread-live/run.jsonl")
	paths := poison.Paths(s)
	if len(paths) < 50 {
		t.Fatal(len(paths))
	}
	for _, at := range append([]string{""}, paths...) {
		poison.Into(&s, at)
		if leak := poison.Leak(strings.Join(Screen([]State{s}, Viewport{Width: 200, Height: 60}), " ")); leak != "" {
			t.Errorf("%s stands raw: %s", at, leak)
		}
		poison.Out(&s, at)
	}
}

// Keys do what the last line says.
func TestKeys(t *testing.T) {
	m := &model{look: Viewport{Width: 80, Height: 24, Span: spans[firstSpan]}, span: firstSpan, tty: newTerminal(Options{})}
	press := func(names ...string) tea.Cmd {
		var last tea.Cmd
		for _, name := range names {
			last = m.key(name)
		}
		return last
	}
	seen := func() string { return fmt.Sprintf("%v %v %v %v", m.look.Back, m.look.Span, m.look.Help, m.look.Paused) }
	for _, c := range []struct{ keys, want string }{
		{"right", "0 120 false false"},
		{"left left left right", "2 120 false false"},
		{"home left", fmt.Sprintf("%d 120 false false", m.look.columns()-1)},
		{"end", "0 120 false false"},
		{"+", "0 30 false false"},
		{"+ + -", "0 120 false false"},
		{"- - - -", "0 0 false false"},
		{"?", "0 0 true false"},
		{"q", "0 0 false false"},
		{"space", "0 0 false true"},
		{"x", "0 0 false true"},
	} {
		if press(strings.Fields(c.keys)...) != nil || seen() != c.want {
			t.Errorf("%s: %s, want %s", c.keys, seen(), c.want)
		}
	}
	m.Update(State{Name: "new"})
	if len(m.states) > 0 {
		t.Error("a held screen changes")
	}
	press("space")
	if len(m.states) != 1 || m.states[0].Name != "new" {
		t.Error("what came meanwhile is lost")
	}
	for _, key := range []string{"q", "ctrl+c", "esc"} {
		if press(key) == nil {
			t.Errorf("%s does not end", key)
		}
	}
	press("?")
	if press("ctrl+c") == nil {
		t.Error("Ctrl-C does not end the page of explanations")
	}
}

// A fault while drawing the screen is displayed, and the screen continues.
func TestFaultInDrawing(t *testing.T) {
	defer func() { drawScreen = Screen }()
	drawScreen = func([]State, Viewport) []string { panic("planted") }
	m := &model{look: Viewport{Width: 80, Height: 24}}
	if text := m.View().Content; !strings.Contains(text, "a fault of stoker's own: planted") {
		t.Errorf("%q", text)
	}
}

// What must be there is there, in states that differ most: starved, healthy, many GPUs,
// none.
func TestScreenOfStates(t *testing.T) {
	eight := Judged(State{Name: "eight"}, ranks(8, "node-a"))
	for name, c := range map[string]struct {
		state State
		look  Viewport
		want  []string
	}{
		"starved, small": {stateOf(t, "../testdata/cases/labelled-too-few-workers/run.jsonl.gz"), Viewport{Width: 80, Height: 24}, []string{"waiting for input", "◀", "  workers", "  GPU", "cores of others", "vda at work"}},
		"healthy, large": {stateOf(t, "../testdata/cases/labelled-healthy/run.jsonl.gz"), Viewport{Width: 160, Height: 50}, []string{"gpu-bound", "most 100 %", "why"}},
		"a limited disk": {stateOf(t, "../testdata/cases/labelled-slow-disk/run.jsonl.gz"), Viewport{Width: 80, Height: 24}, []string{"10.6 of 12 MB/s"}},
		"a mark":         {stateOf(t, "../testdata/cases/labelled-healthy/run.jsonl.gz"), Viewport{Width: 80, Height: 24, Back: 5}, []string{"▲", "at the mark, "}},
		"8 GPUs, small":  {eight, Viewport{Width: 80, Height: 24}, []string{"worst rank waits", "GPU 0 busy", "GPU 7 busy", "50 % 40 GB 300 W"}},
		"8 GPUs, large":  {eight, Viewport{Width: 160, Height: 60}, []string{"rank 7 waits", "GPU 7 memory", "40 of 80 GB", "GPU 7 power", "GPU 3 others", "500 KB/s of 10 MB/s"}},
		"a server":       {stateOf(t, "../testdata/cases/server-one-at-a-time/run.jsonl.gz"), Viewport{Width: 100, Height: 24}, []string{"batch-too-small", " requests/s  ", "half within ", "99 % within ", "none there "}},
		"no GPU":         {Judged(State{}, &recording.Run{Facts: recording.Facts{Absent: []recording.Absence{{What: "gpu", Why: "no driver is here"}}}}), Viewport{Width: 80, Height: 24}, []string{"no driver is here"}},
		"nothing yet":    {State{Name: "x"}, Viewport{Width: 80, Height: 24}, []string{"stoker watch  x"}},
	} {
		text := strings.Join(Screen([]State{c.state}, c.look), "\n")
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q on\n%s", name, want, text)
			}
		}
	}
}

// ranks returns a run of several ranks, each with its GPU.
func ranks(n int, host string) *recording.Run {
	run := &recording.Run{Facts: recording.Facts{Host: host, Machine: recording.Machine{Allowed: 8, NetSpeed: map[string]float64{"net/eth0": 1e7}}}}
	size, limit := 80e9, 700.0
	add := func(signal recording.Signal, subject string, of func(t float64) float64) {
		s := recording.Series{Signal: signal, Subject: subject}
		for at := range 60 {
			s.T, s.V = append(s.T, float64(at)), append(s.V, of(float64(at)))
		}
		run.Series = append(run.Series, s)
	}
	for i := range n {
		subject := fmt.Sprintf("gpu/%d", i)
		run.Facts.GPUs = append(run.Facts.GPUs, recording.GPU{Index: i, Name: "NVIDIA H100", MemoryBytes: &size, PowerLimit: &limit})
		run.Facts.Processes = append(run.Facts.Processes, recording.Process{PID: 10 + i, Role: recording.RoleTrainer, Rank: i, World: n, Device: i})
		for k := range 60 {
			run.Steps = append(run.Steps, recording.Step{PID: 10 + i, Rank: i, Device: i, N: k, Start: float64(k), Period: 1, Wait: 0.5, Samples: 8, Phase: recording.Train, Idle: 0.5, DevicePeriod: 1})
		}
		add(recording.GPUUtilisation, subject, func(float64) float64 { return 0.5 })
		add(recording.GPUOthers, subject, func(float64) float64 { return 0.1 })
		add(recording.GPUMemory, subject, func(float64) float64 { return 40e9 })
		add(recording.GPUPower, subject, func(float64) float64 { return 300 })
	}
	add(recording.NetReceived, "net/eth0", func(t float64) float64 { return 5e5 * t })
	return run
}

// Of several runs each has a line, and Tab shows the next.
func TestScreenOfSeveral(t *testing.T) {
	m := &model{look: Viewport{Width: 80, Height: 24}}
	for _, name := range []string{"b", "a", "c"} {
		m.Update(Judged(State{Name: name}, ranks(2, "node-"+name)))
	}
	for _, want := range []string{"▶ node-a ranks 0-1", "▶ node-b", "▶ node-c", "▶ node-a"} {
		text := strings.Join(Screen(m.states, m.look), "\n")
		for _, all := range []string{want, "node-a", "node-b", "node-c", "Tab next"} {
			if !strings.Contains(text, all) {
				t.Errorf("no %q on\n%s", all, text)
			}
		}
		m.key("tab")
	}
}

// The width of a bar is proportional to the rate of a part, up to four times the limit; parts
// far from being the limit are left out.
func TestPipelineIsAsWideAsItsRates(t *testing.T) {
	d := &drawing{Viewport: Viewport{Width: 80 + nameWidth + 22}}
	s := State{Run: &recording.Run{}, parts: []part{{stoker.Storage, 400, true}, {stoker.Worker, 100, true}, {stoker.CPU, 900, true}, {stoker.MainThread, 1e9, true}, {stoker.GPU, 200, true}}}
	var got []string
	for _, line := range d.pipeline(s, 9)[1:] {
		got = append(got, fmt.Sprintf("%s %d%s", strings.Fields(line)[0], strings.Count(line, "▆"), map[bool]string{true: " limit"}[strings.Contains(line, "◀")]))
	}
	full := d.columns()
	want := fmt.Sprintf("storage %d,workers %d limit,cores %d,GPU %d", full, (full+2)/4, full-1, full/2)
	if strings.Join(got, ",") != want {
		t.Errorf("%s, want %s", strings.Join(got, ","), want)
	}
	if few := d.pipeline(s, 2); len(few) != 3 || !strings.Contains(few[1], "workers") || !strings.Contains(few[2], "GPU") {
		t.Errorf("%q", few)
	}
}
