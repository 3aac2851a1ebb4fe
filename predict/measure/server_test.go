package measure

import (
	"math"
	"testing"

	"github.com/stoker-dev/stoker/predict/serving"
	"github.com/stoker-dev/stoker/recording"
)

// A server whose time is known is found again in what would be recorded of it.
func TestServerIsMeasured(t *testing.T) {
	var w recording.Window
	busy := 0.0
	for i := range 400 {
		n := float64(1 + i%4)
		took := 0.02 + n*0.002
		busy += took
		w.Steps = append(w.Steps, recording.Step{
			Samples: n, Ran: took, Inside: &recording.Inside{Clock: "emulated", Forward: took, Span: took},
		})
	}
	r := NoRequests()
	r.Count, r.Rate, r.None, r.Passes, r.Batch, r.Flight = 1000, 1000/60., 1-busy/60, 400/60., 2.5, 10*busy/60
	s, err := FitServer(r, w, 8)
	if err != nil {
		t.Fatal(err)
	}
	if c, want := s.Capacity(), 8/(0.02+8*0.002); math.Abs(c.Point/want-1) > 0.02 || c.High/c.Low > 1.05 {
		t.Errorf("capacity %+v, it is %.1f", c, want)
	}
	if got, want := FewerPasses(r, w), 4*(0.02+0.002*2.5)/(0.02+0.002*10); math.Abs(got/want-1) > 1e-6 {
		t.Errorf("one pass for all takes %.3f times less, it is %.3f", got, want)
	}
}

// A request may be in several passes, or have several inputs in one: neither makes passes take more requests.
func TestRequestsOfSeveralInputs(t *testing.T) {
	for name, c := range map[string]struct {
		rate, passes, batch, flight float64
		most                        int
		want                        float64 // requests/s at most
	}{
		"24 tokens each, 14 requests in a pass": {90, 150, 14.4, 15, 16, 90 * 16 / 14.4},
		"two models, one after the other":       {10, 20, 1, 3, 1, 10},
		"300 pairs in the pass of a request":    {5, 5, 300, 3, 300, 5},
		"four requests of ten texts in a pass":  {20, 5, 40, 6, 40, 20},
		"each in one pass, with others":         {30, 10, 3, 4, 4, 40},
	} {
		r := NoRequests()
		r.Count, r.Rate, r.None, r.Passes, r.Batch, r.Flight = 1000, c.rate, 0, c.passes, c.batch, c.flight
		w := recording.Window{Steps: []recording.Step{{Samples: float64(c.most)}}}
		s, err := FitServer(r, w, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Lines[0].Capacity(); math.Abs(got/c.want-1) > 0.01 {
			t.Errorf("%s: %.1f requests/s at most, expected %.1f", name, got, c.want)
		}
	}
}

// Two workers of a server, each without a request for half of the time: no request is there a quarter of it.
func TestTimeWithoutRequestsOfTwoProcesses(t *testing.T) {
	run := &recording.Run{}
	for _, process := range []string{"process/7", "process/8"} {
		for signal, rate := range map[recording.Signal]float64{
			recording.Unasked: 0.5, recording.RequestsCame: 2, recording.RequestsDone: 2, recording.InFlight: 0.5,
		} {
			s := recording.Series{Signal: signal, Subject: process}
			for i := range 61 {
				s.T, s.V = append(s.T, float64(i)), append(s.V, rate*float64(i))
			}
			run.Series = append(run.Series, s)
		}
	}
	w := recording.Window{PID: 7, Steps: []recording.Step{{Ran: 0.1, Samples: 1}}}
	r := ReadRequests(run, w, 0, 60)
	if _, err := FitServer(r, w, 1); r.Sides != 2 || err == nil {
		t.Errorf("%d processes, refused with %v", r.Sides, err)
	}
	if r := ReadRequests(run, recording.Window{PID: 9}, 0, 60); r.Sides != 0 {
		t.Errorf("the model runs elsewhere: %d", r.Sides)
	}
	if math.Abs(r.None-0.25) > 1e-9 || math.Abs(r.Rate-4) > 1e-9 || math.Abs(r.Flight-1) > 1e-9 {
		t.Errorf("none %g of the time, %g/s, %g at a time", r.None, r.Rate, r.Flight)
	}
}

func TestWhatIsNoServerIsRefused(t *testing.T) {
	if _, err := FitServer(NoRequests(), recording.Window{}, 0); err == nil {
		t.Error("a run without requests is no server")
	}
	r := NoRequests()
	r.Count, r.Rate, r.None, r.Passes = 3, 1, 0.5, 1
	if _, err := FitServer(r, recording.Window{}, 0); err == nil {
		t.Error("three requests are too few")
	}
}

// A pass is found between answers; a time in which passes and answers do not add up tells nothing.
func TestPassesAreToldApart(t *testing.T) {
	all := []answered{{0, 0.030}, {0.010, 0.060}, {0.012, 0.061}, {1, 1.030}, {2, 2.025}}
	w := recording.Window{Steps: []recording.Step{
		{Start: 2.002, Samples: 1}, {Start: 0.001, Samples: 1}, {Start: 0.031, Samples: 2}, {Start: 1.001, Samples: 3},
	}}
	want := []serving.Pass{{Requests: 1, Took: 0.030}, {Requests: 2, Took: 0.031}, {Requests: 1, Took: 0.025}}
	got := tellApart(all, w)
	if len(got) != len(want) {
		t.Fatalf("passes %v, expected %v", got, want)
	}
	for i, p := range got {
		if p.Requests != want[i].Requests || math.Abs(p.Took-want[i].Took) > 1e-9 {
			t.Errorf("pass %d is %v, expected %v", i, p, want[i])
		}
	}
	w.OneIn = 2
	if got := tellApart(all, w); len(got) > 0 {
		t.Errorf("of every second pass nothing can be told, got %v", got)
	}
}
