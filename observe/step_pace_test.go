package observe

import (
	"slices"
	"testing"
)

func TestPace(t *testing.T) {
	feed := func(periods ...float64) *pace {
		one := &pace{}
		for _, v := range periods {
			one.periods[one.n%len(one.periods)] = v
			one.n++
		}
		return one
	}
	even := slices.Repeat([]float64{0.1}, 12)
	if !feed(even...).isSteady() || feed(even[:11]...).isSteady() {
		t.Error("twelve even steps are steady, eleven are not enough")
	}
	if !feed(append([]float64{9, 9}, even[:10]...)...).isSteady() {
		t.Error("a slow start counts")
	}
	if feed(1, 1, .9, .8, .7, .6, .5, .4, .3, .2, .1, .1).isSteady() {
		t.Error("falling step times are steady")
	}
	if !feed(slices.Repeat([]float64{0.1, 0.1, 0.9}, 5)...).isSteady() {
		t.Error("every third step waits for a batch, and that is steady")
	}
}
