package predict

import (
	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cost"
	"github.com/stoker-dev/stoker/predict/question"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

// fleetCommand is "predict fleet": what GPUs cost over years.
func fleetCommand(a *cli.App) *cobra.Command {
	var q question.FleetTexts
	var prices cost.Flags
	var hardware string
	var json, all bool
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "What GPUs cost over years: money, idling, failures, electricity, carbon, water",
		Long: `Say what a fleet of GPUs costs over years, rented or bought, what an hour of work costs then, what
failures and checkpoints leave of the time, and what it takes of electricity, carbon and water.
Space, staff and taxes are not counted.`,
		Example: `  stoker predict fleet --gpu h100 --gpus 1024 --years 3 --util 40%
  stoker predict fleet --gpu b200 --gpus 64 --years 5 --util 80% --buy '$50000' --kwh 0.10 --grid fr
  stoker predict fleet --gpu h100 --gpus 16384 --years 0.15 --util 95% --mtbf 3h --checkpoint 30s`,
		Args: withoutEmpty(cli.AtMost(0)),
		RunE: func(*cobra.Command, []string) error {
			table, err := hardwareTable(hardware)
			if err != nil {
				return cli.AsUsage(err)
			}
			q.Prices = prices.Prices
			fleet, err := q.Predict(table, a.Say)
			if err != nil {
				return cli.AsUsage(err)
			}
			a.Began = true
			if json {
				return wire.WriteFleet(a.Stdout, fleet)
			}
			style := a.TextStyle(a.Stdout)
			style.All = all
			return text.WriteFleet(a.Stdout, fleet, style)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&q.GPU, "gpu", "", "GPU (stoker predict --list gpus)")
	flags.StringVar(&q.GPUs, "gpus", "8", "how many")
	flags.StringVar(&q.Years, "years", "1", "for how long")
	flags.StringVar(&q.Util, "util", "", "share of the time for which they compute: 40%")
	flags.StringVar(&q.Buy, "buy", "", "`DOLLARS` for a GPU with its share of machines and network, if it is "+
		"bought: $45000")
	flags.StringVar(&q.MTBF, "mtbf", "", "mean time between failures of a job on all of them (default: as published)")
	flags.StringVar(&q.Checkpoint, "checkpoint", "", "time for which training stops to write a checkpoint "+
		"(default 2s to 60s)")
	flags.StringVar(&q.Restart, "restart", "", "time from a failure until training goes on (default 5min to 20min)")
	prices.Register(flags)
	flags.StringVar(&hardware, "hardware", "", "file with your own rows (default ~/.config/stoker/hardware.json, "+
		"if it exists)")
	flags.BoolVar(&all, "all", false, "name the source of every figure")
	flags.BoolVar(&json, "json", false, "print one JSON object")
	cli.SetGroups(cmd,
		cli.Section{Title: "Fleet", Names: "gpu gpus years util hardware"},
		cli.Section{Title: "Failures", Names: "mtbf checkpoint restart"},
		cli.Section{Title: "Cost", Names: "buy " + cost.FlagNames},
		cli.Section{Title: "Answer", Names: "all json"},
	)
	return cmd
}
