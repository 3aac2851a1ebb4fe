package advise

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// seenIn is the live run with its thread seen in stacks, for so many of 100 seconds each.
func seenIn(t *testing.T, stacks map[string]float64) *recording.Run {
	t.Helper()
	run := liveRun(t)
	run.Facts.Loaders[0].Reader, run.Facts.Loaders[0].Dataset = "__main__.Faces", "Faces"
	times := run.Find(recording.FetchWall, "process/100").T
	rising := func(signal recording.Signal, subject string, to float64) {
		s := recording.Series{Signal: signal, Subject: subject, T: times}
		for i := range times {
			s.V = append(s.V, to*float64(i)/float64(len(times)))
		}
		run.Series = append(run.Series, s)
	}
	rising(recording.FetchLooks, "process/100;main", 10000)
	for stack, seconds := range stacks {
		rising(recording.FetchStack, "process/100;main;core;/t.py:4 Faces.__getitem__;"+stack, seconds)
	}
	return run
}

// TestDeferredPictures: stoker feed is proposed for the work on pixels that was seen,
// and promises no more.
func TestDeferredPictures(t *testing.T) {
	const decode, own = "PIL/Image.py:9 Image.convert;PIL/ImageFile.py:9 ImageFile.load", "numpy/a.py:3 sort"
	const blur = "torchvision/transforms/functional.py:5 gaussian_blur;torchvision/transforms/_functional_tensor.py:6 gaussian_blur"
	for name, test := range map[string]struct {
		stacks       map[string]float64
		least, most  float64 // of the speed-up's point
		said         string  // in the notes, or in why not
		proposed, no bool
	}{
		"whole":       {map[string]float64{decode: 100}, 2.3, 2.6, "100 %", true, false},
		"half":        {map[string]float64{decode: 50, own: 50}, 1.4, 1.6, "what stays in Python: /t.py:4 Faces.__getitem__ 50 %", true, false},
		"little":      {map[string]float64{decode: 2, own: 98}, 0, 0, "only 2 %", false, false},
		"one by one":  {map[string]float64{decode: 80, blur: 20}, 0, 0, "as /t.py:4 Faces.__getitem__ does", false, false},
		"arrays":      {map[string]float64{"PIL/Image.py:9 Image.__array_interface__;PIL/ImageFile.py:9 ImageFile.load": 50, own: 50}, 0, 0, "as /t.py:4 Faces.__getitem__ does", false, false},
		"no Pillow":   {map[string]float64{own: 100}, 0, 0, "", false, true},
		"numpy.array": {map[string]float64{decode: 98, "native array": 1}, 0, 0, "decodes at once", false, false},
		"minor":       {map[string]float64{decode: 30, own: 70}, 0, 0, "only 30 %", false, false},
	} {
		run := seenIn(t, test.stacks)
		if name == "numpy.array" { // its time is that of a small picture
			run.Facts.Loaders[0].Transforms = nil
		}
		plan := Rank(run, judge.Judge(run))
		at := slices.IndexFunc(plan.Fixes, func(f Fix) bool { return f.Name == "feed" })
		why := slices.IndexFunc(plan.Rejected, func(r Rejected) bool { return r.Name == "feed" })
		if (at >= 0) != test.proposed || (at < 0 && why < 0) != test.no {
			t.Errorf("%s: fixes %v, rejected %v", name, names(plan.Fixes), plan.Rejected)
			continue
		}
		if why >= 0 && !strings.Contains(plan.Rejected[why].Why, test.said) {
			t.Errorf("%s: %s; want %q", name, plan.Rejected[why].Why, test.said)
		}
		if at < 0 {
			continue
		}
		fix := plan.Fixes[at]
		if s := fix.Forecast.Speedup; !(s.Point >= test.least && s.Point <= test.most) || !s.Contains(s.Point) || len(fix.Changes) > 0 || fix.Risk != NoRisk {
			t.Errorf("%s: %+v of %+v; want %v to %v", name, s, fix, test.least, test.most)
		}
		if notes := strings.Join(fix.Notes, "\n"); !strings.Contains(notes, test.said) {
			t.Errorf("%s: notes %s; want %q", name, notes, test.said)
		}
	}
}

// TestTranslatedNeedsNoDeferring: where stoker.DataLoader translates all, that is the advice.
func TestTranslatedNeedsNoDeferring(t *testing.T) {
	run := seenIn(t, map[string]float64{"PIL/Image.py:9 Image.convert;PIL/ImageFile.py:9 ImageFile.load": 100})
	run.Facts.Loaders[0].Reader = folderReader
	plan := Rank(run, judge.Judge(run))
	if got := names(plan.Fixes); slices.Contains(got, "feed") || !slices.Contains(got, "loader") {
		t.Errorf("fixes %v", got)
	}
	run.Facts.Loaders[0].Transforms = []string{"torchvision.transforms.autoaugment.RandAugment", "torchvision.transforms.transforms.ToTensor"}
	plan = Rank(run, judge.Judge(run))
	if got := names(plan.Fixes); !slices.Contains(got, "feed") || slices.Contains(got, "loader") || math.IsNaN(plan.Fixes[0].Forecast.Speedup.High) {
		t.Errorf("fixes %v", got)
	}
}

// Pictures that are stored at the size that is used are neither decoded large nor shrunk: one bound counts both.
func TestFewPixelsAreKept(t *testing.T) {
	const decode = "PIL/Image.py:9 Image.convert;PIL/ImageFile.py:9 ImageFile.load"
	for kept, want := range map[float64]bool{1e5: true, 1e9: false} {
		run := seenIn(t, map[string]float64{decode: 50, "PIL/Image.py:9 Image.resize": 45, "PIL/Image.py:9 Image.getbbox": 5})
		run.Facts.Loaders[0].Transforms, run.Facts.Loaders[0].BatchBytes = nil, kept
		plan := Rank(run, judge.Judge(run))
		at := slices.IndexFunc(plan.Fixes, func(f Fix) bool { return strings.HasPrefix(f.Title, "store pictures at the size") })
		if (at >= 0) != want {
			t.Errorf("%v bytes are kept: %+v", kept, plan.Fixes)
		}
		if at >= 0 && plan.Fixes[at].Forecast.Speedup.High < 3 {
			t.Errorf("at most %+v", plan.Fixes[at].Forecast.Speedup)
		}
	}
}
