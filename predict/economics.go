package predict

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict/bounds"
	"github.com/stoker-dev/stoker/quantity"
)

// Prices are what running a device costs. NaN or 0 is unknown, and what depends
// on it stays unknown.
type Prices struct {
	GPUHour float64 // dollars per hour of one GPU with its share of the host
	KWh     float64 // dollars per kWh; unknown where electricity is part of GPUHour, as with rented GPUs
	Grid    float64 // g CO2-equivalent per kWh
	PUE     float64 // power usage effectiveness of the building: its energy over that of its machines, 1 or more
	Source  string  // where these come from, for people
	Given   bool    // With put prices of the user's own among them
}

// PricesOf returns the prices of a device's row, with the electricity of the average
// country and building: set your own where you know them.
func PricesOf(gpu hardware.GPU) Prices {
	p := Prices{GPUHour: math.NaN(), KWh: math.NaN(), Grid: math.NaN(), PUE: hardware.PUE.Value}
	var sources []string
	if gpu.Price.Known() {
		p.GPUHour = gpu.Price.Value
		sources = append(sources, fmt.Sprintf("$%s per GPU hour: %s", quantity.About(p.GPUHour), gpu.Price.Source))
	}
	if world, known := hardware.FindGrid("world"); known {
		p.Grid = world.Carbon.Value
		sources = append(sources, fmt.Sprintf("%s g CO2e/kWh, the world's average: %s", quantity.About(p.Grid),
			world.Carbon.Source))
	}
	sources = append(sources, fmt.Sprintf("PUE %s: %s", quantity.About(p.PUE), hardware.PUE.Source))
	p.Source = strings.Join(sources, "; ")
	return p
}

// With returns the prices, with every price that own sets instead of the default.
func (p Prices) With(own Prices) Prices {
	for _, f := range []struct {
		to    *float64
		Given float64
	}{{&p.GPUHour, own.GPUHour}, {&p.KWh, own.KWh}, {&p.Grid, own.Grid}, {&p.PUE, own.PUE}} {
		if f.Given > 0 {
			*f.to = f.Given
		}
	}
	if p.Given = own.GPUHour > 0 || own.KWh > 0 || own.Grid > 0 || own.PUE > 0; p.Given {
		p.Source = strings.TrimSuffix("as given; else "+p.Source, "; else ")
	}
	return p
}

// Validate returns an error for a price that is impossible.
func (p Prices) Validate() error {
	for _, f := range []struct {
		name, unit string
		value      float64
	}{
		{"price", "dollars per GPU hour", p.GPUHour},
		{"electricity", "dollars per kWh", p.KWh},
		{"grid", "g CO2 per kWh", p.Grid},
	} {
		if f.value < 0 || math.IsInf(f.value, 0) {
			return fmt.Errorf("%s is %v: expected 0 or more %s", f.name, f.value, f.unit)
		}
	}
	if p.PUE < 1 && p.PUE != 0 || math.IsInf(p.PUE, 0) {
		return fmt.Errorf("PUE is %v: expected 1 or more, such as %v", p.PUE, hardware.PUE.Value)
	}
	return nil
}

// Waste is what the idle share of some GPU hours costs. NaN is unknown.
type Waste struct {
	GPUHours stoker.Interval // hours in which devices idle
	Dollars  stoker.Interval // for them, and for their electricity if it has its own price
	KWh      stoker.Interval // that devices draw while they idle, as the building pays it
	KgCO2    stoker.Interval // CO2-equivalent
	Notes    []string        // the assumptions
}

// Idle prices the idle time. hours are GPU hours (hours times GPUs), share is the part of them
// in which the device stalls. The host's power is left out. So is the power that a device draws
// above its waiting power: that buys work.
func Idle(gpu hardware.GPU, share stoker.Interval, hours float64, prices Prices) Waste {
	return IdleAt(WaitingPower(gpu), share, hours, prices)
}

// IdleAt is Idle for a device whose power while it waits is known, in watts.
func IdleAt(watts, share stoker.Interval, hours float64, prices Prices) Waste {
	w := Waste{GPUHours: bounds.Scale(share, hours)}
	pue := prices.PUE
	if !(pue >= 1) {
		pue = 1
		w.Notes = append(w.Notes, "what the building draws besides the device is unknown and left out")
	}
	w.KWh = bounds.Scale(bounds.Multiply(w.GPUHours, watts), pue/1000)
	w.Dollars = bounds.Scale(w.GPUHours, knownPrice(prices.GPUHour))
	if prices.KWh > 0 {
		w.Dollars = bounds.Add(w.Dollars, bounds.Scale(w.KWh, prices.KWh))
	}
	w.KgCO2 = bounds.Scale(w.KWh, knownPrice(prices.Grid)/1000)
	w.Notes = append(w.Notes, "energy is the device's own while it waits, not the host's")
	return w
}

// knownPrice takes 0 as unknown.
func knownPrice(v float64) float64 {
	if v > 0 {
		return v
	}
	return math.NaN()
}

// thermalIdle is the share of its power limit that mlsysim takes an idle device
// to draw, for the upper end: pauses of milliseconds leave clocks and voltage up.
const thermalIdle = 0.3

// WaitingPower returns what a device draws while its job waits, in watts. That is more than
// without a job, because of the CUDA context and because the clocks stay up, and less than while
// it computes. It is unknown if the row has no idle power.
func WaitingPower(gpu hardware.GPU) stoker.Interval {
	if !gpu.IdlePower.Known() {
		return stoker.Unknown()
	}
	bare, low, high := gpu.IdlePower.Value, hardware.ContextPower[0].Value, hardware.ContextPower[1].Value
	i := stoker.Interval{Low: bare + low, Point: bare + (low+high)/2, High: bare + high}
	if limit := gpu.PowerLimit.Value; limit > 0 {
		i.High = max(i.High, thermalIdle*limit)
		i = stoker.Interval{Low: min(i.Low, limit), Point: min(i.Point, limit), High: min(i.High, limit)}
	}
	return i
}
