package report_test

import (
	"math"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/report"
)

// A step that is left out before the judged ones is no reason to show where a recording's time went. A time in which
// the device worked on what no file holds is one.
func TestStepsLeftOutAreMoreOfTheSame(t *testing.T) {
	for name, busy := range map[string]float64{"left out": 0.1, "unknown": math.NaN()} {
		l := diagnose.Ledger{Rows: []diagnose.Row{
			{Name: diagnose.RowEarlier, Seconds: 0.2, Share: 0.2, Busy: busy},
			{Name: diagnose.RowJudged, Seconds: 0.8, Share: 0.8, Busy: 0.4},
		}}
		if report.HasMuchElse(l) != math.IsNaN(busy) || report.MostlySteps(l) == math.IsNaN(busy) {
			t.Errorf("%s: much else %t, mostly steps %t", name, report.HasMuchElse(l), report.MostlySteps(l))
		}
	}
}
