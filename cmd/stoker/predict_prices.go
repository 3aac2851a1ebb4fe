package main

import (
	"fmt"
	"math"
	"strings"

	"stoker"
	"stoker/hardware"
	"stoker/predict"
	"stoker/report"
)

// hoursOfDay is what the cost of idling is for where nobody says.
const hoursOfDay = 24

// waste fills in what the idle share costs; nothing where neither its share nor a
// price is known.
func (f *predictFlags) waste(s *described, table hardware.Table, p *report.Prediction) (err error) {
	if p.Prices, err = f.prices(s.Load.GPU, table); err != nil {
		return err
	}
	p.Hours = hoursOfDay * math.Max(1, s.GPUs)
	if f.hours != "" {
		n, err := quantity("hours", f.hours, stoker.ParseNumber)
		if err != nil {
			return err
		}
		p.Hours = float64(n)
	}
	w := predict.Idle(s.Load.GPU, p.Answer.Stall, p.Hours, p.Prices)
	if w.Dollars.Known() || w.KWh.Known() {
		p.Waste = &w
	}
	return nil
}

// prices are the table's, less what was given, with a line about each.
func (f *predictFlags) prices(gpu hardware.GPU, table hardware.Table) (predict.Prices, error) {
	p := predict.Prices{GPUHour: math.NaN(), KWh: math.NaN(), Grid: math.NaN(), PUE: hardware.PUE.Value}
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	switch {
	case f.price != "":
		v, err := stoker.ParsePrice(f.price)
		if err != nil {
			return p, fmt.Errorf("--price: %w", err)
		}
		p.GPUHour = float64(v)
		say("$%v per GPU hour: given", p.GPUHour)
	case gpu.Price.Known():
		p.GPUHour = gpu.Price.Value
		say("$%s per GPU hour: %s", report.Amount(p.GPUHour), gpu.Price.Source)
	}
	if err := f.electricity(&p, table, say); err != nil {
		return p, err
	}
	pue := hardware.PUE.Source
	if f.pue != "" {
		v, err := stoker.ParseNumber(f.pue)
		if err != nil {
			return p, fmt.Errorf("--pue: %w", err)
		}
		p.PUE, pue = float64(v), given
		if p.PUE < 1 {
			return p, fmt.Errorf("--pue %s: expected 1 or more, such as 1.3: the building's energy over that of its machines", f.pue)
		}
	}
	say("PUE %s: %s", report.Amount(p.PUE), pue)
	p.Source = strings.Join(lines, "; ")
	return p, p.Check()
}

func (f *predictFlags) electricity(p *predict.Prices, table hardware.Table, say func(string, ...any)) error {
	name := or(f.grid, "world")
	grid, known := table.Grid(name)
	switch {
	case known:
		p.Grid = grid.Carbon.Value
		say("%s g CO2e/kWh, %s: %s", report.Amount(p.Grid), grid.Title, grid.Carbon.Source)
	case f.grid != "" && strings.ContainsAny(name[:1], "0123456789.-"):
		v, err := stoker.ParseCarbon(name)
		if err != nil {
			return fmt.Errorf("--grid: %w", err)
		}
		p.Grid = float64(v)
		say("%s: given", v)
	case f.grid != "":
		return unknownName("grid", name, table.GridNames())
	}
	if f.kwh == "" {
		return nil
	}
	text := strings.TrimPrefix(strings.TrimSuffix(strings.ReplaceAll(f.kwh, " ", ""), "/kWh"), "$")
	v, err := stoker.ParseNumber(strings.TrimSuffix(text, "$"))
	if err != nil {
		return fmt.Errorf("--kwh %q: expected dollars per kWh, such as 0.12", f.kwh)
	}
	p.KWh = float64(v)
	say("$%v per kWh: given", p.KWh)
	return nil
}
