package question

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/quantity"
)

// Prices are the flags about the price of a GPU hour and its electricity, as they were typed.
type Prices struct{ Price, KWh, Grid, PUE string }

// priceFlags are the flags about prices, and the hours that are priced.
var priceFlags = []string{"price", "kwh", "grid", "pue", "hours"}

// prices returns the price flags of the question.
func (q *Question) prices() Prices {
	return Prices{Price: q.Text("price"), KWh: q.Text("kwh"), Grid: q.Text("grid"), PUE: q.Text("pue")}
}

// fillWaste fills in the cost of idling. It leaves it empty if neither the dollars nor the
// energy are known.
func (d *job) fillWaste(p *Prediction) (err error) {
	if p.Prices, err = d.prices().Read(d.Load.GPU, d.Table); err != nil {
		return err
	}
	p.Hours = hoursOfDay * math.Max(1, d.GPUs)
	if d.Text("hours") != "" {
		if p.Hours, _, err = d.value("hours"); err != nil {
			return err
		}
	}
	w := predict.Idle(d.Load.GPU, p.Answer.Stall, p.Hours, p.Prices)
	if w.Dollars.Low >= 0 || w.KWh.Low >= 0 {
		p.Waste = &w
	}
	return nil
}

// hoursOfDay is the usual --hours: one day of each GPU.
const hoursOfDay = 24

// Read returns the given prices, the table's prices for the others, and a line about the source
// of each.
func (t Prices) Read(gpu hardware.GPU, table hardware.Table) (predict.Prices, error) {
	p := predict.Prices{GPUHour: math.NaN(), KWh: math.NaN(), Grid: math.NaN(), PUE: hardware.PUE.Value}
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	switch {
	case t.Price != "":
		v, err := quantity.ParsePrice(t.Price)
		if err != nil {
			return p, fmt.Errorf("--price: %w", err)
		}
		show := func(v float64) string { return quantity.Price(v).String() }
		if err := checkLimit("price", float64(v), show); err != nil {
			return p, err
		}
		p.GPUHour = float64(v)
		say("$%v per GPU hour: given", p.GPUHour)
	case gpu.Price.Known():
		p.GPUHour = gpu.Price.Value
		say("$%s per GPU hour: %s", quantity.About(p.GPUHour), gpu.Price.Source)
	}
	if err := t.readElectricity(&p, table, say); err != nil {
		return p, err
	}
	pue := hardware.PUE.Source
	if t.PUE != "" {
		v, err := quantity.ParseNumber(t.PUE)
		if err != nil {
			return p, fmt.Errorf("--pue: %w", err)
		}
		if err := checkLimit("pue", max(1, float64(v)), quantity.About); err != nil {
			return p, err
		}
		p.PUE, pue = float64(v), given
		if p.PUE < 1 {
			return p, fmt.Errorf("--pue %s: expected 1 or more, such as 1.3: the building's energy over that of "+
				"its machines", t.PUE)
		}
	}
	say("PUE %s: %s", quantity.About(p.PUE), pue)
	p.Source = strings.Join(lines, "; ")
	return p, p.Validate()
}

// readElectricity fills in the price of electricity and the carbon of its grid.
func (t Prices) readElectricity(p *predict.Prices, table hardware.Table, say func(string, ...any)) error {
	name := cmp.Or(t.Grid, "world")
	grid, known := table.FindGrid(name)
	switch {
	case known:
		p.Grid = grid.Carbon.Value
		say("%s g CO2e/kWh, %s: %s", quantity.About(p.Grid), grid.Title, grid.Carbon.Source)
	case t.Grid != "" && strings.ContainsAny(name[:1], "0123456789.-"):
		v, err := quantity.ParseCarbon(name)
		if err != nil {
			return fmt.Errorf("--grid: %w", err)
		}
		p.Grid = float64(v)
		say("%s: given", v)
	case t.Grid != "":
		return UnknownName("grid", name, table.GridNames())
	}
	if t.KWh == "" {
		return nil
	}
	text := strings.TrimPrefix(strings.TrimSuffix(strings.ReplaceAll(t.KWh, " ", ""), "/kWh"), "$")
	v, err := quantity.ParseNumber(strings.TrimSuffix(text, "$"))
	if err != nil {
		return fmt.Errorf("--kwh %q: expected dollars per kWh, such as 0.12", t.KWh)
	}
	if err := checkLimit("kwh", float64(v), quantity.About); err != nil {
		return err
	}
	p.KWh = float64(v)
	say("$%v per kWh: given", p.KWh)
	return nil
}
