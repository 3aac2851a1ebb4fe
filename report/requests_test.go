package report

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict/measure"
)

// What a server is asked, and how fast it answers, stands in a row; of streams also when they begin.
func TestRequestsAreSaid(t *testing.T) {
	v := diagnose.Verdict{}
	v.Measured.Requests = measure.NoRequests()
	if said := SayRequests(v); said != nil {
		t.Errorf("of no server: %q", said)
	}
	r := &v.Measured.Requests
	r.Rate, r.None, r.Times, r.Firsts = 12, 0.25, []float64{0.2, 0.2, 0.2}, []float64{0.2, 0.2, 0.2}
	want := []string{"12 requests/s", "half within 200 ms", "99 % within 200 ms", "none there 25 % of the time"}
	if said := SayRequests(v); !slices.Equal(said, want) {
		t.Errorf("%q", said)
	}
	r.Firsts = []float64{0.02, 0.03, 0.04}
	if said := SayRequests(v); !slices.Contains(said, "the first byte of half within 30 ms") {
		t.Errorf("%q", said)
	}
	r.Times, r.Firsts = nil, nil
	if said := SayRequests(v); len(said) != 2 || math.IsNaN(r.Rate) {
		t.Errorf("%q", said)
	}
}
