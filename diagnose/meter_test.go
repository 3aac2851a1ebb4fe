package diagnose_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
)

// What told for how long kernels ran is named where the figure is said: their counter, or GPU-Util and
// that copies may be in it.
func TestWhatToldIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		set    func(*made)
		signal recording.Signal
		text   string
	}{
		"counter": {func(m *made) { m.levels["gpu.kernels gpu/0"] = 0.98 }, recording.GPUKernels, "some kernel runs 98 % of the time (by the device's counter of kernels)"},
		"neither": {func(*made) {}, recording.GPUUtilisation, "some kernel runs 99 % of the time (by GPU-Util, copies included)"},
	} {
		m := computing().with(c.set)
		v := judge.Judge(m.run(t))
		if !slices.ContainsFunc(v.Evidence, func(e diagnose.Evidence) bool { return e.Signal == string(c.signal) && e.Text == c.text }) {
			t.Errorf("%s: %s %v", name, v.Class, v.Evidence)
		}
	}
	for kernels, want := range map[bool]diagnose.Source{true: diagnose.KernelCounter, false: diagnose.Utilisation} {
		m := starving()
		m.idle = math.NaN() // no clock of the device
		if kernels {
			m.levels["gpu.kernels gpu/0"] = 0.2
		}
		v := judge.Judge(m.run(t))
		said := report.DescribeSource(v.StallSource)
		if v.StallSource != want || !v.StallSource.IsUpperBound() || strings.Contains(said, "GPU-Util") == kernels {
			t.Errorf("counter of kernels %t: %s by %q,%s", kernels, v.Class, v.StallSource, said)
		}
	}
}

// Ranks whose devices copy are not taken for ranks that wait in collectives: GPU-Util says the same of both.
func TestRanksThatCopyLookIdle(t *testing.T) {
	late := func(kernels float64) float64 {
		m := computing().ranks(0.9, 0.3)
		m.step = 1000 // no steps are known
		if kernels > 0 {
			m.levels["gpu.kernels gpu/0"], m.levels["gpu.kernels gpu/1"] = kernels, kernels
		}
		for _, s := range judge.Judge(m.run(t)).Scores {
			if s.Class == diagnose.StragglerRank {
				return s.Value
			}
		}
		return 0
	}
	if counted, copying := late(0.97), late(0.2); counted < 0.5 || copying > 0.1 || late(0) < 0.5 {
		t.Errorf("one rank is late: %v where kernels run all the time, %v where they run a fifth of it, %v by GPU-Util alone", counted, copying, late(0))
	}
}

// Copies out of the device are told by the counter of its link, and requests for what comes in are none.
func TestWhatLeavesTheDevice(t *testing.T) {
	for _, c := range []struct {
		in, out float64
		world   int
		want    bool
	}{
		{40e9, 2.4e9, 1, false}, // pinned copies to the device, on an H100
		{58e6, 11e6, 1, false},  // a loss that is logged
		{1e9, 12e9, 1, true},
		{40e9, 12e9, 1, true},
		{1e9, 12e9, 2, false}, // ranks may exchange over it
	} {
		m := computing().with(func(m *made) {
			m.levels["gpu.kernels gpu/0"], m.levels["gpu.link_in gpu/0"], m.levels["gpu.link_out gpu/0"] = 0.2, c.in, c.out
		})
		if c.world > 1 {
			m = m.ranks(0.5, 0.5)
			m.levels["gpu.kernels gpu/1"] = 0.2
		}
		v := judge.Judge(m.run(t))
		said := slices.ContainsFunc(v.Evidence, func(e diagnose.Evidence) bool { return e.Signal == string(recording.GPULinkOut) })
		if said != c.want {
			t.Errorf("%v in, %v out, %d ranks: %s %v", c.in, c.out, c.world, v.Class, v.Evidence)
		}
	}
}
