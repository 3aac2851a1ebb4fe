package watch

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

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

// Whatever is shown fits, in any size, with and without colours: a line too long
// would scroll the screen away.
func TestScreenFits(t *testing.T) {
	files, err := filepath.Glob("../testdata/cases/*/run.jsonl*")
	if err != nil || len(files) < 20 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		s := stateOf(t, file)
		for _, look := range []Look{{Width: 80, Height: 24}, {Width: 160, Height: 50}, {Width: 60, Height: 16}, {Width: 20, Height: 5}, {Width: 1, Height: 1}, {Width: 200, Height: 30, Help: true}, {Width: 80, Height: 24, Span: 30, Back: 1000}} {
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
func TestScreenHoldsWhatCounts(t *testing.T) {
	s := stateOf(t, "../testdata/cases/labelled-too-few-workers/run.jsonl.gz")
	text := strings.Join(Screen([]State{s}, Look{Width: 80, Height: 24}), "\n")
	for _, want := range []string{string(s.Verdict.Class), "waiting for input", "GPU 0 busy", "pipeline", "best fix", s.Plan.Fixes[0].Changes[0].String(), "q quit"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q on\n%s", want, text)
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
		if leak := poison.Leak(strings.Join(Screen([]State{s}, Look{Width: 200, Height: 60}), " ")); leak != "" {
			t.Errorf("%s stands raw: %s", at, leak)
		}
		poison.Out(&s, at)
	}
}

// Keys do what the last line says.
func TestKeys(t *testing.T) {
	m := &model{look: Look{Width: 80, Height: 24, Span: spans[firstSpan]}, span: firstSpan}
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
