package predict

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict/device"
)

// Young's interval is where goodput is highest, which only holds with the half
// interval that a failure throws away.
func TestYoungIsBest(t *testing.T) {
	const write, mtbf = 60, 86400
	best := young(write, mtbf)
	if !near(best, 3219.9, 0.1) {
		t.Errorf("%v s", best)
	}
	at := goodput(write, best, mtbf, restart)
	for _, k := range []float64{0.5, 0.8, 1.25, 2} {
		if goodput(write, best*k, mtbf, restart) >= at {
			t.Errorf("goodput at %v of Young's interval is not lower than %v", k, at)
		}
	}
	if !near(at, 1-2*write/best-float64(restart)/mtbf, 1e-9) { // both losses are equal there
		t.Errorf("goodput %v", at)
	}
}

func TestWalls(t *testing.T) {
	s := trained(t)
	s.GPUs = 8
	all, err := s.Walls(Cluster{Write: stoker.Exactly(2e9), MTBF: 86400})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, w := range all {
		names = append(names, w.Name)
		if w.Text == "" || strings.Contains(w.Text, "NaN") {
			t.Errorf("%s: %q", w.Name, w.Text)
		}
		if w.Hit != (w.Share.Point > 1) && w.Name != "checkpoint" {
			t.Errorf("%s: %+v", w.Name, w)
		}
	}
	if got := strings.Join(names, " "); got != "memory dispatch ingestion transformation locality communication "+
		"checkpoint" {
		t.Error(got)
	}
	if w := all[6]; !near(w.Value.Point, 14*s.Load.Workload.Params.Value/2e9, 1e-9) {
		t.Errorf("checkpoint: %+v", w)
	}
	s.Load.Training = false
	if all, err = s.Walls(Cluster{}); err != nil || len(all) != 5 {
		t.Errorf("inference: %v, %d walls", err, len(all))
	}
	for _, bad := range []Cluster{{MTBF: math.NaN()}, {Write: stoker.Exactly(-1)}} {
		if _, err := s.Walls(bad); err == nil || !strings.Contains(err.Error(), "expected") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// On a machine with one memory no copy crosses a link, and over NVLink-C2C a pageable one is nearly
// as fast as a pinned one.
func TestHostLinksOfGrace(t *testing.T) {
	s := trained(t)
	locality := func(gpu string, pinned bool) (text, how string, rate float64) {
		s.Load.GPU, _ = hardware.FindGPU(gpu)
		s.Link, s.Pinned = hardware.Link{}, pinned
		all, err := s.Walls(Cluster{})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(all, func(w Wall) bool { return w.Name == "locality" })
		for _, stage := range mustSolve(t, s).Stages {
			if stage.Resource == stoker.Link {
				how = stage.Text
			}
		}
		return all[at].Text, how, all[at].Limit.Point
	}
	for gpu, shared := range map[string]bool{"gb10": true, "gh200-96gb": false, "h100-sxm": false} {
		text, how, _ := locality(gpu, false)
		if strings.Contains(text, "link") == shared || strings.Contains(how, "one memory") != shared {
			t.Errorf("%s: %s; %s", gpu, text, how)
		}
	}
	for gpu, most := range map[string]float64{"gh200-96gb": 1.15, "gb300": 1.15, "h100-sxm": 4, "gb10": 10} {
		_, _, pageable := locality(gpu, false)
		_, _, pinned := locality(gpu, true)
		if gain := pinned / pageable; gain > most || gain < most/2 && most > 2 || !(gain > 1) {
			t.Errorf("%s: pinned is %.2f of pageable, want at most %.2f", gpu, gain, most)
		}
	}
}

// Where something is unknown the wall says so and is not hit.
func TestUnknownWalls(t *testing.T) {
	all, err := Setup{Batch: 4, Workers: math.NaN(), Load: device.Load{Training: true}}.Walls(Cluster{})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		if w.Hit || w.Share.Known() && w.Name != "communication" || strings.Contains(w.Text, "NaN") {
			t.Errorf("%+v", w)
		}
	}
	r := rand.New(rand.NewPCG(11, 12))
	for range 300 {
		all, err := anySetup(t, r).Walls(Cluster{})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range all {
			if math.IsInf(w.Share.Point, 0) || w.Share.Point < 0 {
				t.Errorf("%+v", w)
			}
		}
	}
}
