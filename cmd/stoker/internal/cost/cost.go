// Package cost has the flags of what a GPU hour and its electricity cost.
package cost

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/pflag"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report"
)

// HoursOfDay is what the cost of idling is for where nobody says.
const HoursOfDay = 24

// Flags say what a GPU hour and its electricity cost.
type Flags struct{ Price, kwh, grid, pue string }

// Texts are the fields by flag.
func (f *Flags) Texts() map[string]*string {
	return map[string]*string{"price": &f.Price, "kwh": &f.kwh, "grid": &f.grid, "pue": &f.pue}
}

// Register adds the flags to a verb.
func (f *Flags) Register(fs *pflag.FlagSet) {
	texts := f.Texts()
	for _, row := range Rows {
		fs.StringVar(texts[row.Flag], row.Flag, "", row.Help)
	}
}

// ReadOwn are the prices that were given, the others not set.
func (f *Flags) ReadOwn() (predict.Prices, error) {
	all, err := f.Read(hardware.GPU{}, hardware.Known)
	if err != nil {
		return predict.Prices{}, cli.AsUsage(err)
	}
	own := predict.Prices{KWh: all.KWh}
	if f.Price != "" {
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

// Read are the table's, less what was given, with a line about each.
func (f *Flags) Read(gpu hardware.GPU, table hardware.Table) (predict.Prices, error) {
	p := predict.Prices{GPUHour: math.NaN(), KWh: math.NaN(), Grid: math.NaN(), PUE: hardware.PUE.Value}
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	switch {
	case f.Price != "":
		v, err := quantity.ParsePrice(f.Price)
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

func (f *Flags) electricity(p *predict.Prices, table hardware.Table, say func(string, ...any)) error {
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
		return UnknownName("grid", name, table.GridNames())
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

// FlagNames are those of what idling costs, the same in every verb.
const FlagNames = "price kwh grid pue"

// priceFlag is a flag of what a GPU hour and its electricity cost.
type priceFlag struct{ Flag, Help string }

// Rows is what a GPU hour and its electricity cost; priceFlags holds the texts.
var Rows = []priceFlag{
	{Flag: "price", Help: "`PRICE` of a GPU: $2.50/h (default: its list price)"},
	{Flag: "kwh", Help: "`DOLLARS` per kWh, if electricity is paid separately: 0.12"},
	{
		Flag: "grid",
		Help: "electricity `GRID` or what it emits: de, 385gCO2/kWh (stoker predict --list grids)",
	},
	{Flag: "pue", Help: "power usage effectiveness of the building, a `RATIO`: 1.3"},
}

// UnknownName says what is not in a table, and what is: the nearest names first.
func UnknownName(flag, name string, known []string) error {
	if near := hardware.Nearest(name, known); len(near) > 0 {
		return fmt.Errorf("--%s %q is not in the table, nearest: %s", flag, name, strings.Join(near, ", "))
	}
	return fmt.Errorf("--%s %q is not in the table: %s", flag, name, strings.Join(known, ", "))
}
