package advise

import (
	"math"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict"
)

// One order comes out, whatever goes in: the three fixes, and some that are
// bounded only.
func TestOrderOfFixes(t *testing.T) {
	fix := func(name string, gain float64, e Effort) Fix {
		f := predict.NoForecast()
		f.Speedup = stoker.Interval{Low: gain - 0.05, Point: gain, High: gain + 0.05}
		return Fix{Name: name, Effort: e, Forecast: f}
	}
	atMost := func(name string, gain float64) Fix {
		f := fix(name, gain, Flag)
		f.Forecast.Speedup.Point = math.NaN()
		return f
	}
	all := []Fix{
		fix("machine", 1.20, Machine), fix("code", 1.15, Code), fix("flag", 1.10, Flag), atMost("bounded", 3), atMost("bounded less", 2),
	}
	want := []string{"code", "machine", "flag", "bounded", "bounded less"}
	permute(all, func(in []Fix) {
		got := append([]Fix(nil), in...)
		order(got)
		for i, name := range want {
			if got[i].Name != name {
				t.Fatalf("in: %v, out: %v; want %v", names(in), names(got), want)
			}
		}
	})
}

func permute(all []Fix, visit func([]Fix)) {
	var rec func(int)
	rec = func(i int) {
		if i == len(all) {
			visit(all)
			return
		}
		for j := i; j < len(all); j++ {
			all[i], all[j] = all[j], all[i]
			rec(i + 1)
			all[i], all[j] = all[j], all[i]
		}
	}
	rec(0)
}

func names(fixes []Fix) (all []string) {
	for _, f := range fixes {
		all = append(all, f.Name)
	}
	return all
}
