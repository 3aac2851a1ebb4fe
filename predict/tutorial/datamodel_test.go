package tutorial_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/tutorial"
	"github.com/stoker-dev/stoker/quantity"
)

func ExampleDataModel_Solve() {
	demand, _ := quantity.ParseRate("10.9 GB/s")
	machine := hardware.MachineOf("a100-80gb-sxm")
	without, _ := tutorial.DataModel{}.Solve(demand, machine)
	fmt.Printf("supply %v, at most %v, stalled: %v\n", without.Supply, without.AtMost, without.IsStalled)

	machine.Storage = hardware.Storage{Name: "array", Rate: hardware.Figure{Value: 7e9, Source: "mine"}}
	with, _ := tutorial.DataModel{}.Solve(demand, machine)
	fmt.Printf("supply %v, utilisation %.1f %%, stalled: %v by %v\n", with.Supply, 100*with.Utilization,
		with.IsStalled, with.Bound)
	// Output:
	// supply unknown, at most 25 GB/s, stalled: unknown
	// supply 7 GB/s, utilisation 155.7 %, stalled: yes by storage
}

func TestDataModel(t *testing.T) {
	storage := func(v float64) hardware.Storage { return hardware.Storage{Rate: hardware.Figure{Value: v}} }
	link := func(v float64) hardware.Link { return hardware.Link{Pinned: hardware.Figure{Value: v}} }
	nan := math.NaN()
	for _, c := range []struct {
		name           string
		machine        hardware.Machine
		supply, atMost float64
		stalled        predict.Truth
		bound          stoker.Resource
	}{
		{"nothing is known", hardware.Machine{}, nan, nan, predict.NotKnown, ""},
		{"a link that suffices", hardware.Machine{Link: link(25e9)}, nan, 25e9, predict.NotKnown, ""},
		{"a link that does not", hardware.Machine{Link: link(1e9)}, nan, 1e9, predict.Yes, stoker.Link},
		{"storage alone", hardware.Machine{Storage: storage(7e9)}, 7e9, 7e9, predict.No, stoker.Storage},
		{
			"storage that does not",
			hardware.Machine{Storage: storage(1e9), Link: link(25e9)},
			1e9, 1e9, predict.Yes,
			stoker.Storage,
		},
		{
			"fast storage, slow link",
			hardware.Machine{Storage: storage(7e9), Link: link(1e9)},
			1e9, 1e9, predict.Yes,
			stoker.Link,
		},
		{"only a nominal link", hardware.Machine{
			Storage: storage(7e9),
			Link:    hardware.Link{Nominal: hardware.Figure{Value: 3e9}},
		}, 3e9, 3e9, predict.No, stoker.Link},
		{
			"rows that make no sense",
			hardware.Machine{Storage: storage(nan), Link: link(math.Inf(1))},
			nan, nan,
			predict.NotKnown, "",
		},
		{"a negative row", hardware.Machine{Storage: storage(-1), Link: link(25e9)}, nan, 25e9, predict.NotKnown, ""},
	} {
		d, err := tutorial.DataModel{}.Solve(2e9, c.machine)
		if err != nil || !same(float64(d.Supply), c.supply) || !same(float64(d.AtMost), c.atMost) ||
			d.IsStalled != c.stalled || d.Bound != c.bound {
			t.Errorf("%s: %+v, %v", c.name, d, err)
		}
		if known := !math.IsNaN(c.supply); known &&
			(d.Utilization != 2e9/c.supply || float64(d.Margin) != c.supply-2e9) ||
			!known && !math.IsNaN(d.Utilization) {
			t.Errorf("%s: utilisation %v, margin %v", c.name, d.Utilization, d.Margin)
		}
	}
	for _, bad := range []quantity.Rate{0, -1, quantity.Rate(nan), quantity.Rate(math.Inf(1))} {
		if _, err := (tutorial.DataModel{}).Solve(bad, hardware.Machine{}); err == nil {
			t.Errorf("demand %v: no error", bad)
		}
	}
	if d, err := (tutorial.DataModel{}).Solve(1e308, hardware.Machine{Storage: storage(1e-300)}); err != nil ||
		math.IsInf(d.Utilization, 0) {
		t.Errorf("figures that lie far apart: %+v, %v", d, err)
	}
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
