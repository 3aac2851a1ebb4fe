package diagnose_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// looked is a recorded run in which the hook looked into one step of ten.
func looked(t *testing.T, name string, saw func(recording.Inside) recording.Inside) *recording.Run {
	t.Helper()
	run, err := recording.Open("../testdata/cases/" + name + "/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	for i := range run.Steps {
		if s := &run.Steps[i]; i%10 == 0 && s.DevicePeriod > 0 {
			in := saw(recording.Inside{Clock: "emulated", Span: s.DevicePeriod, Input: s.Idle})
			s.Inside = &in
		}
	}
	return run
}

func n(v float64) *float64 { return &v }

// What the device idles for is named live where the hook saw what a step asks for.
func TestInsideNamesIdleTime(t *testing.T) {
	for name, c := range map[string]struct {
		file    string
		saw     func(recording.Inside) recording.Inside
		class   diagnose.Class
		finding string
	}{
		"many launches": {"small-launches", func(in recording.Inside) recording.Inside {
			in.Launches, in.Syncs = n(400), n(0)
			return in
		}, diagnose.LaunchBound, "launch-bound"},
		"few launches far apart": {"small-launches", func(in recording.Inside) recording.Inside {
			in.Launches, in.Syncs = n(2), n(0)
			return in
		}, diagnose.CPUBound, ""},
		"launches that nobody counts": {"small-launches", func(in recording.Inside) recording.Inside {
			in.Syncs = n(0)
			return in
		}, diagnose.Unknown, ""},
		"values are read all the time": {"small-launches", func(in recording.Inside) recording.Inside {
			in.Launches, in.Syncs, in.SyncTime = n(400), n(8), n(0.004)
			return in
		}, diagnose.LaunchBound, "hidden-sync"},
		"pageable copies": {"blocking-copies", func(in recording.Inside) recording.Inside {
			in.Copy, in.Copies, in.CopyBytes, in.Pageable = 0.75*in.Span, n(24), n(240e6), n(240e6)
			return in
		}, diagnose.TransferBound, "pageable-copies"},
		"pinned copies": {"blocking-copies", func(in recording.Inside) recording.Inside {
			in.Copy, in.Copies, in.CopyBytes, in.Pageable = 0.8*in.Span, n(24), n(240e6), n(0)
			return in
		}, diagnose.TransferBound, ""},
		"collectives of the program's own": {"blocking-copies", func(in recording.Inside) recording.Inside {
			in.Exchange = 0.8 * in.Span
			return in
		}, diagnose.NetworkBound, ""},
	} {
		v := judge.Judge(looked(t, c.file, c.saw))
		if v.Class != c.class {
			t.Errorf("%s: %s, want %s: %v", name, v.Class, c.class, v.Scores[:3])
		}
		if has := func(f diagnose.Finding) bool { return f.Name == c.finding && len(f.Settings) > 0 }; c.finding != "" && !slices.ContainsFunc(v.Findings, has) {
			t.Errorf("%s: no finding %s: %v", name, c.finding, v.Findings)
		}
		if most := 0.05; v.Class != diagnose.Unknown && !(v.Unexplained <= most) {
			t.Errorf("%s: %v of the time unexplained", name, v.Unexplained)
		}
	}
}

// Many small copies beside the batch are told; those of the batch's own tensors, and large ones, are not.
func TestTinyCopiesLive(t *testing.T) {
	for _, c := range []struct {
		tensors, copies int
		bytes           float64 // beside the batch
		want            bool
	}{{2, 27, 25e3, true}, {30, 30, 0, false}, {2, 27, 25e6, false}, {2, 8, 6e3, false}} {
		run := looked(t, "blocking-copies", func(in recording.Inside) recording.Inside {
			in.Copies, in.CopyBytes, in.Pageable = n(float64(c.copies)), n(8e6+c.bytes), n(0)
			return in
		})
		run.Facts.Loaders[0].Tensors, run.Facts.Loaders[0].BatchBytes = c.tensors, 8e6
		v := judge.Judge(run)
		got := slices.ContainsFunc(v.Findings, func(f diagnose.Finding) bool { return f.Name == diagnose.FindingTinyCopies })
		if got != c.want {
			t.Errorf("%+v: told %t", c, got)
		}
	}
}

// Small tensors beside a batch that is pinned are changed by copying them at once: the batch needs nothing.
func TestTinyCopiesArePlanned(t *testing.T) {
	for _, pinned := range []bool{true, false} {
		run := looked(t, "blocking-copies", func(in recording.Inside) recording.Inside {
			in.Copies, in.CopyBytes, in.Pageable, in.Copy = n(27), n(8e6+1e5), n(1e5), in.Span/8
			return in
		})
		l := &run.Facts.Loaders[0]
		l.Tensors, l.BatchBytes, l.Pinned = 2, 8e6, &pinned
		v := judge.Judge(run)
		if v.Has(diagnose.FindingPageableCopies) == pinned || !v.Has(diagnose.FindingTinyCopies) {
			t.Errorf("pinned %t: %v", pinned, v.Findings)
		}
		plan := advise.Rank(run, v)
		at := slices.IndexFunc(plan.Fixes, func(f advise.Fix) bool { return f.Name == diagnose.FindingTinyCopies })
		if at < 0 || !(plan.Fixes[at].Forecast.Speedup.High < 1.2) {
			t.Errorf("pinned %t: %+v", pinned, plan.Fixes)
		}
	}
}

// Large copies from pageable memory beside a batch that is pinned are of tensors that the step makes; a batch that is
// pageable itself says nothing of others.
func TestTensorsMadeOnTheHost(t *testing.T) {
	for _, c := range []struct {
		pinned   bool
		copies   int
		pageable float64
		want     bool
	}{{true, 30, 23e6, true}, {false, 30, 23e6, false}, {true, 3, 23e6, true}, {true, 3, 7e6, false}, {true, 30, 1e3, false}} {
		run := looked(t, "blocking-copies", func(in recording.Inside) recording.Inside {
			in.Copies, in.CopyBytes, in.Pageable, in.Copy = n(float64(c.copies)), n(1e6+c.pageable), n(c.pageable), in.Span/4
			return in
		})
		l := &run.Facts.Loaders[0]
		l.Tensors, l.BatchBytes, l.Pinned = 2, 1e6, &c.pinned
		v := judge.Judge(run)
		if got := v.Has(diagnose.FindingHostTensors); got != c.want {
			t.Errorf("%+v: named %t", c, got)
		}
		for _, f := range v.Findings {
			if most := 1 - v.Measured.Util; f.Name == diagnose.FindingHostTensors && f.Saves > most+1e-9 {
				t.Errorf("%+v: %g is saved, and kernels leave %g", c, f.Saves, most)
			}
		}
	}
}

// A loader that pins its batches speeds no copy of far more than a batch up.
func TestPinningIsForTheBatch(t *testing.T) {
	for bytes, want := range map[float64]bool{20e6: true, 12e3: false} {
		run := looked(t, "blocking-copies", func(in recording.Inside) recording.Inside {
			in.Copies, in.CopyBytes, in.Pageable, in.Copy = n(3), n(24e6), n(23e6), in.Span/4
			return in
		})
		l, pinned := &run.Facts.Loaders[0], false
		l.Tensors, l.BatchBytes, l.Pinned = 2, bytes, &pinned
		for _, f := range judge.Judge(run).Findings {
			if f.Name == diagnose.FindingPageableCopies && (len(f.Settings) > 0) != want {
				t.Errorf("a batch of %g bytes: %+v", bytes, f.Settings)
			}
		}
	}
}

// What a matcher copies comes from the device: no tensors of the host are said to be made there.
func TestCopiesOfResults(t *testing.T) {
	for function, want := range map[string]bool{"Model.positions": true, "HungarianMatcher.costs": false, "post_process": false} {
		run := looked(t, "blocking-copies", func(in recording.Inside) recording.Inside {
			in.Copies, in.CopyBytes, in.Pageable, in.Copy = n(7), n(24e6), n(23e6), in.Span/4
			return in
		})
		l, pinned := &run.Facts.Loaders[0], true
		l.Tensors, l.BatchBytes, l.Pinned = 2, 1e6, &pinned
		subject := fmt.Sprintf("process/%d;loop", l.PID)
		run.Series = append(run.Series, recording.Series{
			Signal: recording.FetchLooks, Subject: subject, T: []float64{0, run.End()}, V: []float64{0, 1000},
		}, recording.Series{
			Signal: recording.FetchStack, Subject: subject + ";asleep;/t.py:9 " + function + ";stoker/emulated.py:201 Device.copy",
			T: []float64{0, run.End()}, V: []float64{0, 20},
		})
		v := judge.Judge(run)
		if got := v.Has(diagnose.FindingHostTensors); got != want {
			t.Errorf("%s: named %t", function, got)
		}
		if !want && v.Has(diagnose.FindingPageableCopies) {
			t.Errorf("%s: %v", function, v.Findings)
		}
	}
}

// Many reads are what a device idles for if the host would launch ahead of it without them. A host with more work of its
// own than the device launches too slowly all the same.
func TestReadsThatDrainTheQueue(t *testing.T) {
	for held, want := range map[float64]diagnose.Class{0.95: diagnose.CPUBound, 0.7: diagnose.LaunchBound} {
		run := looked(t, "small-launches", func(in recording.Inside) recording.Inside {
			in.Launches, in.Syncs, in.SyncTime = n(400), n(45), n(held*in.Span)
			return in
		})
		if v := judge.Judge(run); v.Class != want {
			t.Errorf("waits of %v: %s, %v, util %v", held, v.Class, v.Evidence, v.Measured.Util)
		}
	}
}

// Reading fewer values of the device saves no more than the host waits for them: its own
// work stays, however long the device idles meanwhile.
func TestReadingLessSavesNoMoreThanTheWaits(t *testing.T) {
	const share = 0.04
	run := looked(t, "small-launches", func(in recording.Inside) recording.Inside {
		in.Launches, in.Syncs, in.SyncTime = n(400), n(8), n(share*in.Span)
		return in
	})
	v := judge.Judge(run)
	at := slices.IndexFunc(v.Findings, func(f diagnose.Finding) bool { return f.Name == "hidden-sync" })
	if at < 0 || !(v.Findings[at].Saves <= share+1e-9) || !(v.Idle > 0.5) {
		t.Fatalf("idle %v: %+v", v.Idle, v.Findings)
	}
	for _, fix := range advise.Rank(run, v).Fixes {
		if fix.Name == string(stoker.SyncEvery) {
			t.Errorf("advised: %s", fix.Worth())
		}
	}
}

// Of two ranks that exchange, the one that never waits for the other is late.
func TestStragglerLive(t *testing.T) {
	run := looked(t, "blocking-copies", func(in recording.Inside) recording.Inside {
		in.Exchange = 0.01 * in.Span
		return in
	})
	first := run.Facts.Processes[0]
	for _, s := range slices.Clone(run.Steps) {
		s.PID, s.Rank = 99, 1
		if s.Inside != nil {
			in := *s.Inside
			in.Exchange = 0.6 * in.Span
			s.Inside = &in
		}
		run.Steps = append(run.Steps, s)
	}
	second := first
	second.PID, second.Rank = 99, 1
	run.Facts.Processes = append(run.Facts.Processes, second)
	v := judge.Judge(run)
	says := func(e diagnose.Evidence) bool { return strings.Contains(e.Text, "rank 0 comes last to collectives") }
	if v.Class != diagnose.StragglerRank || !slices.ContainsFunc(v.Evidence, says) {
		t.Errorf("%s, %v: %v", v.Class, v.Evidence, v.Scores[:3])
	}
}

// Where another thread asks for batches than launches, as one that prefetches, the device
// waits for input no longer than that thread waits for its loader.
func TestAskedByAnotherThread(t *testing.T) {
	run := looked(t, "small-launches", func(in recording.Inside) recording.Inside { return in })
	for i := range run.Steps {
		s := &run.Steps[i]
		s.Inside, s.Idle, s.DevicePeriod, s.NoClock = nil, math.NaN(), math.NaN(), "asked by another thread than the one that launches"
	}
	v := judge.Judge(run)
	if v.Class.Starves() || !(v.Unexplained > 0.7) {
		t.Errorf("%s, %v unexplained; its loader takes a tenth of the time: %v", v.Class, v.Unexplained, v.Scores[:3])
	}
}

// For a step that reads many values of the device, the advice is to read them at once, and not to compile the model.
func TestManyReads(t *testing.T) {
	for _, c := range []struct {
		syncs float64
		want  bool
	}{{467, true}, {2, false}} {
		run := looked(t, "small-launches", func(in recording.Inside) recording.Inside {
			in.Launches, in.Syncs, in.SyncTime = n(900), n(c.syncs), n(0.3*in.Span)
			return in
		})
		v := judge.Judge(run)
		compiles := func(f diagnose.Finding) bool { return f.Name == diagnose.FindingLaunchBound && len(f.Settings) > 0 }
		if v.Has(diagnose.FindingManyReads) != c.want || slices.ContainsFunc(v.Findings, compiles) == c.want {
			t.Errorf("%v reads: %+v", c.syncs, v.Findings)
		}
	}
}
