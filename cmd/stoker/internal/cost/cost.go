// Package cost has the flags for the prices of a GPU hour and of electricity.
package cost

import (
	"github.com/spf13/pflag"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/question"
)

// Flags are the prices of a GPU hour and of electricity.
type Flags struct{ question.Prices }

// texts returns the fields by the name of their flag.
func (f *Flags) texts() map[string]*string {
	return map[string]*string{"price": &f.Price, "kwh": &f.KWh, "grid": &f.Grid, "pue": &f.PUE}
}

// Register adds the flags to a verb.
func (f *Flags) Register(fs *pflag.FlagSet) {
	texts := f.texts()
	for _, row := range Rows {
		fs.StringVar(texts[row.Flag], row.Flag, "", row.Help)
	}
}

// ReadOwn returns the prices that were given. The others are not set.
func (f *Flags) ReadOwn() (predict.Prices, error) {
	all, err := f.Read(hardware.GPU{}, hardware.Known)
	if err != nil {
		return predict.Prices{}, cli.AsUsage(err)
	}
	own := predict.Prices{KWh: all.KWh}
	if f.Price != "" {
		own.GPUHour = all.GPUHour
	}
	if f.Grid != "" {
		own.Grid = all.Grid
	}
	if f.PUE != "" {
		own.PUE = all.PUE
	}
	return own, nil
}

// FlagNames are the names of the flags for prices, the same in every verb.
const FlagNames = "price kwh grid pue"

// Row is a flag for a price, with its help.
type Row struct{ Flag, Help string }

// Rows are the flags for prices.
var Rows = []Row{
	{Flag: "price", Help: "`PRICE` of a GPU: $2.50/h (default: its list price)"},
	{Flag: "kwh", Help: "`DOLLARS` per kWh, if electricity is paid separately: 0.12"},
	{
		Flag: "grid",
		Help: "electricity `GRID` or what it emits: de, 385gCO2/kWh (stoker predict --list grids)",
	},
	{Flag: "pue", Help: "power usage effectiveness of the building, a `RATIO`: 1.3"},
}
