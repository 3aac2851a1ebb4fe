package live

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/recording"
)

// Processes that train without a launcher have no ranks: they are told apart by their numbers.
func TestTrainersWithoutRanks(t *testing.T) {
	l := filler{Case: diagnose.NewCase()}
	for pid, wait := range map[int]float64{41: 0.5, 42: 0.25} {
		k := measure.Costs{Wait: wait, HostStep: 1}
		k.Window.PID = pid
		l.trainers = append(l.trainers, k)
	}
	l.Costs.Window.PID = 41
	text := l.describeRanks()
	for _, part := range []string{"2 processes train", "process 41 is the one judged", "process 41 waits for input 50 %", "process 42 waits for input 25 %"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in %q", part, text)
		}
	}
	if strings.Contains(text, "rank") {
		t.Error(text)
	}
}

// A program that only starts its ranks is not the one that is judged.
func TestTheTrainerHasADevice(t *testing.T) {
	starter := recording.Process{PID: 1, Role: recording.RoleTrainer, Device: -1}
	rank := recording.Process{PID: 2, Role: recording.RoleTrainer, Device: 0}
	for want, processes := range map[int][]recording.Process{0: nil, 1: {starter}, 2: {starter, rank}} {
		run := &recording.Run{}
		run.Facts.Processes = processes
		if got := findTrainer(run); got != want {
			t.Errorf("of %d processes: %d, want %d", len(processes), got, want)
		}
	}
}

// What comes after a device's last work is cut off, also of a program that takes long to end. One that still runs may
// hang.
func TestCutEnd(t *testing.T) {
	for name, c := range map[string]struct {
		end, want float64
		exit      *recording.ExitStatus
	}{
		"at once": {32, 29, nil}, "late": {40, 29, &recording.ExitStatus{}}, "hung": {40, 40, nil},
		"much later": {80, 80, &recording.ExitStatus{}},
	} {
		l := filler{Case: diagnose.NewCase(), run: &recording.Run{}}
		l.run.Facts.GPUs, l.run.Facts.Exit = []recording.GPU{{}}, c.exit
		use := recording.Series{Signal: recording.GPUKernels, Subject: "gpu/0"}
		for i := range int(c.end) {
			v := 0.0
			if i < 30 && i%10 == 9 { // seldom, so that most samples have none
				v = 0.1
			}
			use.T, use.V = append(use.T, float64(i)), append(use.V, v)
		}
		l.run.Series = []recording.Series{use}
		l.From, l.To = 0, c.end
		l.cutEnd()
		if l.To != c.want {
			t.Errorf("%s: to %v, want %v", name, l.To, c.want)
		}
	}
}

// Processes that follow one another are no ranks. A twentieth of a run says nothing of it, if its device idles beside that.
func TestWorkersThatStartAgain(t *testing.T) {
	for name, c := range map[string]struct {
		from, to, busy float64
		want           bool
	}{"a glimpse": {10, 10.4, 0.2, true}, "much of the run": {10, 20, 0.2, false}, "a busy device": {10, 10.4, 0.9, false}} {
		l := filler{Case: diagnose.NewCase(), run: &recording.Run{}}
		l.run.Facts.GPUs = []recording.GPU{{}}
		use := recording.Series{Signal: recording.GPUKernels, Subject: "gpu/0"}
		for i := range 30 {
			use.T, use.V = append(use.T, float64(i)), append(use.V, c.busy)
		}
		l.run.Series = []recording.Series{use}
		l.HasUnfedSteps, l.From, l.To = true, c.from, c.to
		for i, from := range []float64{c.from, c.to + 1} {
			k := measure.Costs{}
			k.Window.PID, k.Window.Start, k.Window.End = i+1, from, from+0.5
			l.trainers = append(l.trainers, k)
		}
		if share := l.measureGlimpse(); share > 0 != c.want {
			t.Errorf("%s: %v", name, share)
		}
		if said := l.describeRanks(); said != "" {
			t.Errorf("%s: %s", name, said)
		}
	}
}
