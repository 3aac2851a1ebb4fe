//go:build linux

package step

import (
	"math"
	"testing"
)

// A hook speaks when a request comes or goes; a second without one is counted all the same.
func TestTimeWithoutRequestsGoesOn(t *testing.T) {
	b := &book{}
	in := NewIntake(0, b, nil)
	in.Take(packetOf(`{"k":"hello","role":"main"}`,
		`{"k":"serve","t":2000000000,"arrived":3,"answered":3,"unasked":500000000,"flight":1500000000,"active":0}`), 2)
	in.Flush(3)
	in.Flush(5.2)
	want := map[string]float64{
		"requests.came process/7": 3, "requests.done process/7": 3, "requests.none process/7": 3.5,
		"requests.flight process/7": 1.5,
	}
	for name, value := range want {
		if got, known := b.samples[name]; !known || math.Abs(got-value) > 1e-9 {
			t.Errorf("%s is %v, expected %v", name, got, value)
		}
	}
	if p := in.FindProcess(7); p == nil || !p.Serves || p.Passes {
		t.Errorf("%+v: expected a process that takes requests and runs no model", p)
	}
}

func TestRequestsThatCannotBeAreRefused(t *testing.T) {
	for _, record := range []string{
		`{"k":"serve","t":1,"arrived":1,"answered":2}`, `{"k":"serve","t":1,"arrived":1,"unasked":-1}`,
		`{"k":"request","t":1000000000,"f":2,"d":1}`, `{"k":"request","t":1000000000,"f":1,"d":9000000000000}`,
	} {
		b := &book{}
		in := NewIntake(0, b, nil)
		in.Take(packetOf(`{"k":"hello","role":"main"}`, record), 2)
		in.Flush(2)
		for name := range b.samples {
			if name != "hook.dropped hook" {
				t.Errorf("%s: %s was written", record, name)
			}
		}
	}
}

// A pass tells how long it took, and on which thread.
func TestPassesTellTheirThread(t *testing.T) {
	b := &book{}
	in := NewIntake(0, b, nil)
	in.Take(packetOf(`{"k":"hello","role":"main"}`,
		`{"k":"step","loader":-1,"iter":0,"n":0,"t":0,"w":0,"p":50000000,"ran":20000000,"grad":false,"tid":11,"b":4,"o":0}`,
		`{"k":"step","loader":-1,"iter":0,"n":1,"t":50000000,"w":0,"p":50000000,"grad":false,"tid":12,"b":null,"o":0}`), 1)
	if len(b.steps) != 2 || b.steps[0].Ran != 0.02 || b.steps[0].Samples != 4 || !math.IsNaN(b.steps[1].Ran) {
		t.Fatalf("%+v", b.steps)
	}
	if p := in.FindProcess(7); len(p.Runners) != 1 || p.Runners[0] != 11 {
		t.Errorf("threads that ran the model: %v, expected 11 alone", p.Runners)
	}
}

// Where coroutines wait is kept by stack; what cannot be is refused.
func TestWhereCoroutinesWait(t *testing.T) {
	in := NewIntake(0, &book{}, nil)
	in.Take(packetOf(`{"k":"hello","role":"main"}`,
		`{"k":"await","who":"request","frames":[["/srv/app.py",9,"predict"]],"for":1000000000}`,
		`{"k":"await","who":"request","frames":[["/srv/app.py",9,"predict"]],"for":2500000000}`,
		`{"k":"await","who":"nobody","frames":[["/srv/app.py",9,"predict"]],"for":1}`,
		`{"k":"await","who":"task","frames":[],"for":1}`, `{"k":"await","who":"task","frames":[["a",1,"b"]],"for":-1}`), 1)
	p := in.FindProcess(7)
	if len(p.Awaits) != 1 || p.Awaits[0].Seconds != 2.5 || p.Awaits[0].Frames[0].Line != 9 {
		t.Errorf("%+v", p.Awaits)
	}
}
