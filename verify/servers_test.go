package verify

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

func openServer(t *testing.T, name string) *recording.Run {
	t.Helper()
	run, err := recording.Open("../testdata/cases/server-" + name + "/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// A server that keeps up is not faster for being asked more often.
func TestServersThatKeepUpAreNotCompared(t *testing.T) {
	idle, full := openServer(t, "no-load"), openServer(t, "one-at-a-time")
	for _, pair := range [][2]*recording.Run{{idle, full}, {full, idle}} {
		if o := Compare(pair[0], pair[1], predict.NoForecast()); !strings.Contains(o.Refused, "keeps up with its requests") {
			t.Errorf("it says %q, %+v", o.Refused, o.Speedup)
		}
	}
	if o := Compare(full, full, predict.NoForecast()); strings.Contains(o.Refused, "keeps up") {
		t.Errorf("servers that are kept busy: %s", o.Refused)
	}
}

// At the same load of a server that keeps up, what a request takes tells whether a change helped.
func TestRequestsAtTheSameLoadAreCompared(t *testing.T) {
	for factor, want := range map[float64]Difference{1: None, 0.5: Faster, 2: Slower} {
		before, after := openServer(t, "no-load"), openServer(t, "no-load")
		for i, s := range after.Series {
			if s.Signal == recording.RequestTime {
				for k := range s.V {
					after.Series[i].V[k] *= factor
				}
			}
		}
		o := Compare(before, after, predict.NoForecast())
		if o.Refused != "" || o.Basis != PerRequest || o.Before.Time == nil || o.Speedup == nil {
			t.Fatalf("times %g: %q, %s", factor, o.Refused, o.Basis)
		}
		if got := o.Difference; got != want && (want != None || got != TooShort) {
			t.Errorf("times %g: %s, %v", factor, got, o.Speedup)
		}
		if math.Abs(o.Speedup.Point*factor-1) > 0.01 || o.Before.Throughput != nil {
			t.Errorf("times %g: %v, %v", factor, o.Speedup, o.Before.Throughput)
		}
	}
}

// A server that its requests keep busy is as fast as it answers, in whatever passes.
func TestBusyServersAreComparedByTheirAnswers(t *testing.T) {
	before, after := openServer(t, "one-at-a-time"), openServer(t, "one-at-a-time")
	for i := range after.Steps { // more passes for the same answers
		after.Steps[i].Period /= 3
	}
	o := Compare(before, after, predict.NoForecast())
	if o.Refused != "" || o.Basis != PerAnswer || o.Speedup == nil || math.Abs(o.Speedup.Point-1) > 0.01 {
		t.Errorf("%q, %s, %v", o.Refused, o.Basis, o.Speedup)
	}
	before.Facts.Command, after.Facts.Command = []string{"python", "/a/fraud.py"}, []string{"python", "/a/voices.py"}
	if o := Compare(before, after, predict.NoForecast()); !strings.Contains(strings.Join(o.Warnings, " "), "voices.py") {
		t.Errorf("nothing says that the programs differ: %q", o.Warnings)
	}
}
