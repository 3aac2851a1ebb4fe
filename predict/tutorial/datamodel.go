package tutorial

import (
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/quantity"
)

// DataModel is the tutorial's other question: can storage and the host link
// deliver what the accelerator asks for?
type DataModel struct{}

// DataSupply is what DataModel answers. NaN is unknown.
type DataSupply struct {
	Demand      quantity.Rate
	Supply      quantity.Rate   // the least of storage and host link; unknown without storage
	AtMost      quantity.Rate   // what supply cannot exceed: the least of all that is known, unknown where nothing is
	Utilization float64         // demand over supply, above 1 if it does not suffice
	Margin      quantity.Rate   // supply less demand, negative if it does not suffice
	IsStalled   predict.Truth   // demand exceeds supply
	Bound       stoker.Resource // what decides: storage or link; "" where neither is known to
}

// toTruth is Yes or No.
func toTruth(b bool) predict.Truth {
	if b {
		return predict.Yes
	}
	return predict.No
}

// Solve compares demand, stored bytes per second, with the lesser of what the
// machine's storage reads and what its host link carries from page-locked memory.
//
// Without storage the supply is unknown, and whether it suffices too, unless the
// link alone is too slow. A machine without a named link is limited by storage
// alone. The link is compared over stored bytes, as the tutorial does: all that is
// copied is decoded, and may be larger; Setup.Solve counts it. Demand that is
// zero, negative, unknown or infinite is an error.
func (DataModel) Solve(demand quantity.Rate, machine hardware.Machine) (DataSupply, error) {
	if err := quantity.Positive("demand", demand); err != nil {
		return DataSupply{}, err
	}
	unknown := quantity.Rate(math.NaN())
	d := DataSupply{
		Demand: demand, Supply: unknown, AtMost: unknown, Utilization: math.NaN(), Margin: unknown,
		IsStalled: predict.NotKnown,
	}
	storage, link := knownRate(machine.Storage.Rate), knownRate(machine.Link.Pinned)
	if !hasRate(link) {
		link = knownRate(machine.Link.Nominal)
	}
	switch {
	case hasRate(storage) && !(link < storage):
		d.AtMost, d.Bound = storage, stoker.Storage
	case hasRate(link):
		d.AtMost, d.Bound = link, stoker.Link
	}
	switch {
	case hasRate(storage):
		d.Supply, d.Margin = d.AtMost, d.AtMost-demand
		d.Utilization = min(float64(demand)/float64(d.Supply), math.MaxFloat64)
		d.IsStalled = toTruth(demand > d.Supply)
	case demand > d.AtMost:
		d.IsStalled = predict.Yes
	default:
		d.Bound = ""
	}
	return d, nil
}

func hasRate(r quantity.Rate) bool { return !math.IsNaN(float64(r)) }

// knownRate returns a figure of a table as a rate, NaN if absent.
func knownRate(f hardware.Figure) quantity.Rate {
	if quantity.Positive("", quantity.Rate(f.Value)) != nil {
		return quantity.Rate(math.NaN())
	}
	return quantity.Rate(f.Value)
}
