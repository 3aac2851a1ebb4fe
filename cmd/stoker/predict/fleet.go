package predict

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cost"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/question"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

// fleetFlags are those of predict fleet.
type fleetFlags struct {
	cost.Flags
	gpu, gpus, years, util, buy, mtbf, checkpoint, restart, hardware string
	json, all                                                        bool
	assumed                                                          []string
}

// fleetCommand is "predict fleet": what GPUs cost over years.
func fleetCommand(a *cli.App) *cobra.Command {
	f := &fleetFlags{}
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "What GPUs cost over years: money, idling, failures, electricity, carbon, water",
		Long: `Say what a fleet of GPUs costs over years, rented or bought, what an hour of work costs then, what
failures and checkpoints leave of the time, and what it takes of electricity, carbon and water.
Space, staff and taxes are not counted.`,
		Example: `  stoker predict fleet --gpu h100 --gpus 1024 --years 3 --util 40%
  stoker predict fleet --gpu b200 --gpus 64 --years 5 --util 80% --buy '$50000' --kwh 0.10 --grid fr
  stoker predict fleet --gpu h100 --gpus 16384 --years 0.15 --util 95% --mtbf 3h --checkpoint 30s`,
		Args: cli.AtMost(0),
		RunE: func(*cobra.Command, []string) error {
			fleet, err := f.readFleet(a)
			if err != nil {
				return cli.AsUsage(err)
			}
			account, err := fleet.Solve()
			if err != nil {
				return cli.AsUsage(err)
			}
			a.Began = true
			answer := report.Fleet{Question: fleet, Account: account, Assumed: f.assumed}
			if f.json {
				return wire.WriteFleet(a.Stdout, answer)
			}
			style := a.TextStyle(a.Stdout)
			style.All = f.all
			return text.WriteFleet(a.Stdout, answer, style)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.gpu, "gpu", "", "GPU (stoker predict --list gpus)")
	flags.StringVar(&f.gpus, "gpus", "8", "how many")
	flags.StringVar(&f.years, "years", "1", "for how long")
	flags.StringVar(&f.util, "util", "", "share of the time for which they compute: 40%")
	flags.StringVar(&f.buy, "buy", "", "`DOLLARS` for a GPU with its share of machines and network, if it is "+
		"bought: $45000")
	flags.StringVar(&f.mtbf, "mtbf", "", "mean time between failures of a job on all of them (default: as published)")
	flags.StringVar(&f.checkpoint, "checkpoint", "", "time for which training stops to write a checkpoint "+
		"(default 2s to 60s)")
	flags.StringVar(&f.restart, "restart", "", "time from a failure until training goes on (default 5min to 20min)")
	f.Register(flags)
	flags.StringVar(&f.hardware, "hardware", "", "file with your own rows (default ~/.config/stoker/hardware.json, "+
		"if it exists)")
	flags.BoolVar(&f.all, "all", false, "name the source of every figure")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	cli.SetGroups(cmd,
		cli.Section{Title: "Fleet", Names: "gpu gpus years util hardware"},
		cli.Section{Title: "Failures", Names: "mtbf checkpoint restart"},
		cli.Section{Title: "Cost", Names: "buy " + cost.FlagNames},
		cli.Section{Title: "Answer", Names: "all json"},
	)
	return cmd
}

// readFleet reads the question.
func (f *fleetFlags) readFleet(a *cli.App) (fleet predict.Fleet, err error) {
	table, err := hardwareTable(f.hardware)
	if err != nil {
		return fleet, err
	}
	switch {
	case f.gpu == "":
		return fleet, hint.Attach(errors.New("--gpu is missing: which GPU?"), "--gpu h100")
	case f.util == "":
		return fleet, hint.Attach(errors.New("--util is missing: for which share of the time do they compute?"), "--util 40%")
	case f.buy != "" && f.Price != "":
		return fleet, errors.New("--price is the rent and --buy a purchase: give one")
	}
	if fleet.GPU, err = question.FindGPU("gpu", f.gpu, table, a.Say); err != nil {
		return fleet, err
	}
	gpus, err := question.ReadQuantity("gpus", f.gpus, quantity.ParseCount)
	if err != nil {
		return fleet, err
	}
	years, err := question.ReadQuantity("years", f.years, quantity.ParseNumber)
	if err != nil {
		return fleet, err
	}
	share, err := question.ReadQuantity("util", f.util, quantity.ParseShare)
	if err != nil {
		return fleet, err
	}
	fleet.GPUs, fleet.Years, fleet.Computes = float64(gpus), float64(years), float64(share)
	if err := f.readFailures(&fleet); err != nil {
		return fleet, err
	}
	return fleet, f.readMoney(&fleet, table)
}

// readFailures reads how often a job fails, and what that costs it.
func (f *fleetFlags) readFailures(fleet *predict.Fleet) error {
	for _, one := range []struct {
		flag, text string
		into       *stoker.Interval
	}{
		{"mtbf", f.mtbf, &fleet.MTBF},
		{"checkpoint", f.checkpoint, &fleet.Checkpoint},
		{"restart", f.restart, &fleet.Restart},
	} {
		if one.text == "" {
			continue
		}
		v, err := question.ReadQuantity(one.flag, one.text, quantity.ParseSeconds)
		if err != nil {
			return err
		}
		*one.into = stoker.Exactly(float64(v))
	}
	if f.mtbf == "" {
		f.assumed = append(f.assumed, "failures (--mtbf)")
	}
	return nil
}

// readMoney reads what the fleet costs.
func (f *fleetFlags) readMoney(fleet *predict.Fleet, table hardware.Table) (err error) {
	if fleet.Prices, err = f.Read(fleet.GPU, table); err != nil {
		return err
	}
	if f.buy != "" {
		text, thousands := strings.CutSuffix(strings.TrimPrefix(strings.TrimSpace(f.buy), "$"), "k")
		dollars, err := quantity.ParseNumber(text)
		if err != nil || dollars == 0 {
			return fmt.Errorf("--buy %q: expected dollars for a GPU with its share of the machine, such as $45000", f.buy)
		}
		if fleet.Purchase = float64(dollars); thousands {
			fleet.Purchase *= 1000
		}
		if f.KWh == "" {
			f.assumed = append(f.assumed, "free electricity (--kwh)")
		}
	} else if f.Price == "" && fleet.GPU.Price.Known() {
		f.assumed = append(f.assumed, fmt.Sprintf("$%s/h (--price, --buy)",
			quantity.About(fleet.GPU.Price.Value)))
	}
	if f.Grid == "" {
		f.assumed = append(f.assumed, "the world's grid (--grid)")
	}
	return nil
}
