package watch

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// growing are the runs of a recording as it was written, one a second.
func growing(t *testing.T, file string) (runs []*recording.Run) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for left := bytes.NewReader(data); left.Len() > 0; {
		member, err := gzip.NewReader(left)
		if err != nil {
			t.Fatal(err)
		}
		member.Multistream(false)
		if _, err := io.Copy(io.Discard, member); err != nil {
			t.Fatal(err)
		}
		if run, err := recording.Read(bytes.NewReader(data[:len(data)-left.Len()])); err == nil {
			runs = append(runs, run)
		}
	}
	return runs
}

// changes counts how often a series changes.
func changes(series []string) (n int) {
	for i := 1; i < len(series); i++ {
		if series[i] != series[i-1] {
			n++
		}
	}
	return n
}

// A run that was recorded on a machine with neighbours: what each second's look comes to flips
// between classes and fixes, the screen does not. It ends with what diagnose says.
func TestRecordedSeriesHolds(t *testing.T) {
	for _, name := range []string{"gpu-all-cores", "gpu-main-thread", "gpu-shared", "neighbours-two-workers", "labelled-too-few-workers"} {
		var raw, shown []string
		s := State{}
		for _, run := range growing(t, "../testdata/cases/"+name+"/run.jsonl.gz") {
			v := judge.Judge(run)
			raw = append(raw, keyOf(v, advise.Rank(run, v)))
			s = Judged(s, run)
			shown = append(shown, keyOf(s.Verdict, s.Plan))
		}
		was, is := changes(raw), changes(shown)
		if is > 4 || is > was || name == "gpu-all-cores" && was < 2*is-2 {
			t.Errorf("%s: looks change %d times, the screen %d times:\n%s", name, was, is, strings.Join(shown, "\n"))
		}
		if shown[len(shown)-1] != raw[len(raw)-1] {
			t.Errorf("%s ends with %s, diagnose says %s", name, shown[len(shown)-1], raw[len(raw)-1])
		}
	}
}

// The displayed conclusion lasts long enough for somebody to act on it, in every recorded
// series.
func TestShownForLongEnough(t *testing.T) {
	files, err := filepath.Glob("../testdata/cases/*/run.jsonl.gz")
	if err != nil || len(files) < 20 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		s, since := State{}, 0.0
		for _, run := range growing(t, file) {
			was, patience := s, 0.0
			if s.Run != nil && s.Verdict.HasSteps {
				patience = s.patience()
			}
			s = Judged(s, run)
			if s.held.key == was.held.key {
				continue
			}
			if now := run.End(); run.Facts.Exit == nil && was.held.key != "" && now-since < patience {
				t.Errorf("%s: %s is shown for %.1f s, then %s", file, was.held.key, now-since, s.held.key)
			}
			since = run.End()
		}
	}
}

// looks plays conclusions, one every two seconds of a run, and returns the displayed ones.
func looks(conclusions string) string {
	shown := ""
	s := State{}
	for i, c := range conclusions {
		at := 30 + 2*float64(i)
		s.Run = &recording.Run{Steps: []recording.Step{{Start: at}}}
		v := diagnose.Verdict{Class: diagnose.Class(c), HasSteps: true}
		v.Costs.Window.End = at
		fix := advise.Fix{Name: string(c), Changes: []stoker.Change{{Setting: stoker.NumWorkers, To: int(c)}}}
		s.conclude(v, advise.Plan{Fixes: []advise.Fix{fix}})
		shown += string(s.Verdict.Class)
	}
	return shown
}

func TestInertia(t *testing.T) {
	for conclusions, want := range map[string]string{
		"ABABABABABAB":         "AAAAAAAAAAAA",         // flips are no news
		"AABBBBBBBBBB":         "AAAAAAABBBBB",         // ten seconds of the same are
		"AABBBBABBBBB":         "AAAAAAAAAAAA",         // and have to be in a row
		"ABCBCBCBCBCBCBCBCBCB": "AAAAAAAAAAAAAAABBBBB", // what nothing confirms is not shown for ever
		"AAAAAAAAAAAAAAAAAAAB": "AAAAAAAAAAAAAAAAAAAA",
	} {
		if got := looks(conclusions); got != want {
			t.Errorf("%s shows %s, want %s", conclusions, got, want)
		}
	}
}

// The last word is shown at once, and so is the first that rests on steps.
func TestFirstAndLastWord(t *testing.T) {
	runs := growing(t, "../testdata/cases/neighbours-core/run.jsonl.gz")
	first := Judged(State{}, runs[0])
	if text := strings.Join(Screen([]State{first}, Viewport{Width: 80, Height: 24}), "\n"); !strings.Contains(text, "no step so far") || strings.Contains(text, "Nothing is being trained") {
		t.Errorf("after a second:\n%s", text)
	}
	last := Judged(first, runs[len(runs)-1])
	if last.Verdict.Class != diagnose.Neighbour {
		t.Errorf("at the end: %s", last.Verdict.Class)
	}
	if text := strings.Join(Screen([]State{last}, Viewport{Width: 120, Height: 24}), "\n"); !strings.Contains(text, "stop the other programs") {
		t.Errorf("the best fix has other words than the plan's:\n%s", text)
	}
	machine := Judged(State{Name: "this machine", Machine: true}, runs[0])
	if text := strings.Join(Screen([]State{machine}, Viewport{Width: 80, Height: 24}), "\n"); !strings.Contains(text, "no recording is being written here") || strings.Contains(text, "not-training") {
		t.Errorf("the machine is judged:\n%s", text)
	}
}
