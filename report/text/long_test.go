package text

import (
	"bytes"
	"math"
	"path/filepath"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/wire"
)

// stretch is a part of a long run: steps of a kind, or none where step is 0.
type stretch struct {
	seconds, step, wait float64
	phase               recording.Phase
}

// What observe says at the end of a run of any length, diagnose says of its file:
// the one has the run's newest part in memory, the other all of it.
func TestObserveAndDiagnoseSayTheSame(t *testing.T) {
	for name, c := range map[string]struct {
		run     []stretch
		low, up float64 // stall
		fewest  int     // judged steps
	}{
		"starved, then fed for longer than is judged":    {[]stretch{{6000, 0.5, 0.4, recording.Train}, {1200, 0.5, 0.01, recording.Train}}, 0, 0.03, 1000},
		"starved, then fed for a while":                  {[]stretch{{6000, 0.5, 0.4, recording.Train}, {600, 0.5, 0.01, recording.Train}}, 0.2, 0.4, 1000},
		"long after its training":                        {[]stretch{{3000, 0.5, 0.4, recording.Train}, {6500, 0, 0, ""}}, 0.78, 0.82, 1000},
		"evaluating long after its training":             {[]stretch{{3000, 0.5, 0.4, recording.Train}, {6500, 1, 0.1, recording.Evaluate}}, 0.78, 0.82, 1000},
		"thousands of steps a second, starved, then fed": {[]stretch{{600, 0.001, 0.0008, recording.Train}, {1000, 0.001, 0.00001, recording.Train}}, 0, 0.03, 5000},
		"steps of two minutes":                           {[]stretch{{9000, 120, 60, recording.Train}}, 0.48, 0.52, 12},
		"no steps":                                       {[]stretch{{7000, 0, 0, ""}}, math.NaN(), math.NaN(), 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "run.jsonl.gz")
			live := lived(t, path, c.run)
			file, err := recording.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			v := judge.Judge(file)
			if got := v.Stall; math.IsNaN(got) != math.IsNaN(c.low) || got < c.low || got > c.up {
				t.Errorf("stall %v, want %v to %v", got, c.low, c.up)
			}
			if n := len(v.Costs.Window.Steps); n < c.fewest {
				t.Errorf("%d steps are judged, want %d", n, c.fewest)
			}
			if got, want := said(t, live), said(t, file); got != want {
				t.Errorf("observe says\n%s\ndiagnose says\n%s", got, want)
			}
		})
	}
}

// lived records a run as observe does and returns the data in memory at the end.
func lived(t *testing.T, path string, parts []stretch) *recording.Run {
	t.Helper()
	facts := recording.Facts{
		GPUs: []recording.GPU{{Name: "NVIDIA A100-SXM4-80GB"}}, Machine: recording.Machine{Allowed: 8},
		Processes: []recording.Process{{PID: 1, Role: recording.RoleTrainer, Hooked: true}},
		Loaders:   []recording.Loader{{PID: 1, ID: 0, Settings: stoker.Settings{"num_workers": 0, "batch_size": 16}}},
		Software:  recording.Software{Torch: "2.15"},
	}
	w, err := recording.Create(path, facts)
	if err != nil {
		t.Fatal(err)
	}
	now, n := 0.0, 0
	for _, p := range parts {
		for end, next := now+p.seconds, now; now < end; now++ {
			for ; p.step > 0 && next < now+1; next += p.step {
				w.AddStep(recording.Step{
					PID: 1, N: n, Start: next, Period: p.step, Wait: p.wait, Samples: 16, Phase: p.phase, Idle: p.wait, DevicePeriod: p.step,
				})
				n++
			}
			busy := 0.0
			if p.step > 0 {
				busy = 1 - p.wait/p.step
			}
			w.AddSample(recording.GPUUtilisation, "gpu/0", now, busy)
			w.AddSample(recording.TreeCPU, "tree", now, now)
			w.AddSample(recording.ProcessCPU, "process/1", now, now)
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	facts.Exit = &recording.ExitStatus{At: now}
	w.SetFacts(facts)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.RunSoFar()
}

// said is all that is said of a run.
func said(t *testing.T, run *recording.Run) string {
	t.Helper()
	var b bytes.Buffer
	v := judge.Judge(run)
	plan := advise.Rank(run, v)
	if err := wire.WriteVerdict(&b, run, v, plan); err != nil {
		t.Fatal(err)
	}
	if err := WriteVerdict(&b, run, v, plan, Style{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
