package bounds

import (
	"testing"

	"github.com/stoker-dev/stoker"
)

// The optimist takes the low end of a cost and the high end of a gain.
func TestViews(t *testing.T) {
	i := stoker.Interval{Low: 1, Point: 2, High: 4}
	for v, want := range [][3]float64{Optimist: {1, 4, 1.4}, Likely: {2, 2, 2}, Pessimist: {4, 1, 3.2}} {
		got := [3]float64{View(v).PickCost(i), View(v).Gain(i), View(v).TakePart(i)}
		if got != want {
			t.Errorf("view %d takes %v, want %v", v, got, want)
		}
	}
	if CostViews(i) != (Views{1, 2, 4}) || RateViews(i) != (Views{4, 2, 1}) ||
		FactorViews(stoker.Interval{}) != (Views{1, 1, 1}) {
		t.Error("costs, rates or factors have their ends elsewhere")
	}
	if got := InEachView(func(v View) float64 { return v.Gain(i) }); got != i {
		t.Errorf("three gains enclose %v, want %v", got, i)
	}
}
