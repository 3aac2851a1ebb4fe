package advise

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// A plan says which DataLoader it is about: where it is made, or where the program iterates
// one that a library makes.
func TestWhichLoaderIsMeant(t *testing.T) {
	for _, c := range []struct{ call, where, want string }{
		{"/work/main.py:37", "/work/main.py:60", "/work/main.py:37"},
		{"/env/lib/python3.11/site-packages/timm/data/loader.py:136", "/work/train.py:60", "/work/train.py:60"},
		{"", "/work/train.py:60", "/work/train.py:60"},
	} {
		run := liveRun(t)
		run.Facts.Loaders[0].Call, run.Facts.Loaders[0].Where = c.call, c.where
		if fix := fixOf(t, run, stoker.NumWorkers); fix.Where != c.want {
			t.Errorf("%q: %q, want %q", c.call, fix.Where, c.want)
		}
	}
}

// A tiny __getitem__ of the program's own beside torch's stacking is rows read one by one, and so is one beside its own, of rows alike. What takes long for a sample
// is not, nor is one line alone.
func TestTinySamplesComeInWholeBatches(t *testing.T) {
	line := func(kind diagnose.Kind, share float64) diagnose.Line {
		return diagnose.Line{Kind: kind, Share: stoker.Exactly(share)}
	}
	own := func(kind diagnose.Kind, share float64) diagnose.Line {
		return diagnose.Line{Kind: kind, Share: stoker.Exactly(share), Own: recording.Place{File: "/t.py", Line: 46, Function: "collate"}}
	}
	for name, c := range map[string]struct {
		lines  []diagnose.Line
		sample float64 // seconds
		queued float64 // of them, for a core
		want   bool
	}{
		"long for want of a core":    {[]diagnose.Line{line(diagnose.Stacking, 0.4), line(diagnose.Code, 0.5)}, 200e-6, 180e-6, true},
		"rows of the program's own":  {[]diagnose.Line{own(diagnose.Collate, 0.56), line(diagnose.Code, 0.4)}, 2e-6, 0, true},
		"it joins what takes longer": {[]diagnose.Line{own(diagnose.Collate, 0.56), line(diagnose.Code, 0.4)}, 20e-6, 0, false},
		"stacking and a tiny sample": {[]diagnose.Line{line(diagnose.Stacking, 0.4), line(diagnose.Code, 0.5)}, 20e-6, 0, true},
		"a long sample":              {[]diagnose.Line{line(diagnose.Stacking, 0.4), line(diagnose.Code, 0.5)}, 200e-6, 0, false},
		"little stacking":            {[]diagnose.Line{line(diagnose.Stacking, 0.1), line(diagnose.Code, 0.8)}, 20e-6, 0, false},
		"a decoder":                  {[]diagnose.Line{line(diagnose.Stacking, 0.3), line(diagnose.Decoder, 0.6)}, 20e-6, 0, false},
	} {
		run := recorded(t, "input-rows", 1e9, nil)
		v := judge.Judge(run)
		size, _ := run.Facts.Loaders[0].Settings.Int(stoker.BatchSize)
		v.Lines, v.Costs.Fetch, v.Costs.FetchQueue = c.lines, c.sample*float64(size), c.queued*float64(size)
		if _, fix := said(Rank(run, v), "whole-batches"); (fix != nil) != c.want {
			t.Errorf("%s: %+v", name, fix)
		}
	}
}

// Beside other programs, work of the launching thread is named if the device would wait for it on a free machine too.
func TestWorkOfALoopBesideNeighbours(t *testing.T) {
	for name, want := range map[string]bool{"neighbours-loop": true, "neighbours-core": false} {
		run := recorded(t, name, 1e9, nil)
		_, fix := said(Rank(run, judge.Judge(run)), diagnose.SlowTransform)
		if (fix != nil) != want {
			t.Errorf("%s: %+v", name, fix)
		} else if want && (!strings.Contains(fix.Title, "launch fewer") || !strings.Contains(fix.Title, "verified.py:90")) {
			t.Errorf("%s: %s", name, fix.Title)
		}
	}
}
