package main

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/pflag"

	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report"
)

// hoursOfDay is what the cost of idling is for where nobody says.
const hoursOfDay = 24

// priceFlags say what a GPU hour and its electricity cost.
type priceFlags struct{ price, kwh, grid, pue string }

// texts are the fields by flag.
func (f *priceFlags) texts() map[string]*string {
	return map[string]*string{"price": &f.price, "kwh": &f.kwh, "grid": &f.grid, "pue": &f.pue}
}

func (f *priceFlags) register(fs *pflag.FlagSet) {
	texts := f.texts()
	for _, row := range priceTable {
		fs.StringVar(texts[row.flag], row.flag, "", row.help)
	}
}

// own are the prices that were given, the others not set.
func (f *priceFlags) own() (predict.Prices, error) {
	all, err := f.readPrices(hardware.GPU{}, hardware.Known)
	if err != nil {
		return predict.Prices{}, asUsage(err)
	}
	own := predict.Prices{KWh: all.KWh}
	if f.price != "" {
		own.GPUHour = all.GPUHour
	}
	if f.grid != "" {
		own.Grid = all.Grid
	}
	if f.pue != "" {
		own.PUE = all.PUE
	}
	return own, nil
}

// fillWaste fills in what the idle share costs; nothing where neither its share nor a
// price is known.
func (f *predictFlags) fillWaste(s *described, table hardware.Table, p *report.Prediction) (err error) {
	if p.Prices, err = f.readPrices(s.Load.GPU, table); err != nil {
		return err
	}
	p.Hours = hoursOfDay * math.Max(1, s.GPUs)
	if f.givenText("hours") != "" {
		if p.Hours, _, err = f.value("hours"); err != nil {
			return err
		}
	}
	w := predict.Idle(s.Load.GPU, p.Answer.Stall, p.Hours, p.Prices)
	if w.Dollars.Low >= 0 || w.KWh.Low >= 0 {
		p.Waste = &w
	}
	return nil
}

// readPrices are the table's, less what was given, with a line about each.
func (f *priceFlags) readPrices(gpu hardware.GPU, table hardware.Table) (predict.Prices, error) {
	p := predict.Prices{GPUHour: math.NaN(), KWh: math.NaN(), Grid: math.NaN(), PUE: hardware.PUE.Value}
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	switch {
	case f.price != "":
		v, err := quantity.ParsePrice(f.price)
		if err != nil {
			return p, fmt.Errorf("--price: %w", err)
		}
		p.GPUHour = float64(v)
		say("$%v per GPU hour: given", p.GPUHour)
	case gpu.Price.Known():
		p.GPUHour = gpu.Price.Value
		say("$%s per GPU hour: %s", quantity.About(p.GPUHour), gpu.Price.Source)
	}
	if err := f.electricity(&p, table, say); err != nil {
		return p, err
	}
	pue := hardware.PUE.Source
	if f.pue != "" {
		v, err := quantity.ParseNumber(f.pue)
		if err != nil {
			return p, fmt.Errorf("--pue: %w", err)
		}
		p.PUE, pue = float64(v), report.Given
		if p.PUE < 1 {
			return p, fmt.Errorf("--pue %s: expected 1 or more, such as 1.3: the building's energy over that of "+
				"its machines", f.pue)
		}
	}
	say("PUE %s: %s", quantity.About(p.PUE), pue)
	p.Source = strings.Join(lines, "; ")
	return p, p.Validate()
}

func (f *priceFlags) electricity(p *predict.Prices, table hardware.Table, say func(string, ...any)) error {
	name := cmp.Or(f.grid, "world")
	grid, known := table.FindGrid(name)
	switch {
	case known:
		p.Grid = grid.Carbon.Value
		say("%s g CO2e/kWh, %s: %s", quantity.About(p.Grid), grid.Title, grid.Carbon.Source)
	case f.grid != "" && strings.ContainsAny(name[:1], "0123456789.-"):
		v, err := quantity.ParseCarbon(name)
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
	v, err := quantity.ParseNumber(strings.TrimSuffix(text, "$"))
	if err != nil {
		return fmt.Errorf("--kwh %q: expected dollars per kWh, such as 0.12", f.kwh)
	}
	p.KWh = float64(v)
	say("$%v per kWh: given", p.KWh)
	return nil
}
