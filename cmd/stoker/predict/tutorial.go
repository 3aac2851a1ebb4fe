package predict

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/question"
	"github.com/stoker-dev/stoker/predict/tutorial"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report/wire"
)

// transformationCommand makes stoker predict transformation: the tutorial's question whether the CPU
// keeps up.
func transformationCommand(a *cli.App) *cobra.Command {
	var batch, sample, cpu, step string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "transformation",
		Short: "Does the CPU prepare batches as fast as the device takes them",
		Long: `Compare the preparation of a batch (batch x sample / cpu) with the device's step. It takes four numbers
and no hardware. stoker predict knows workers, storage and links as well.`,
		Example: `  stoker predict transformation --batch 256 --sample 500KB --cpu 2GB/s --step 11.74ms`,
		Args:    cli.AtMost(0),
		RunE: func(*cobra.Command, []string) error {
			t, err := solveTransformation(batch, sample, cpu, step)
			if err != nil {
				return cli.AsUsage(err)
			}
			a.Began = true
			if asJSON {
				return wire.WriteObject(a.Stdout, transformationJSON(t))
			}
			printTransformation(a, t)
			return nil
		},
	}
	cmd.Flags().StringVar(&batch, "batch", "", "samples per step: 256")
	cmd.Flags().StringVar(&sample, "sample", "", "stored size of one sample: 500KB")
	cmd.Flags().StringVar(&cpu, "cpu", "", "what all workers together prepare, stored bytes: 2GB/s")
	cmd.Flags().StringVar(&step, "step", "", "the device's step without waiting: 11.74ms")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func solveTransformation(batch, sample, cpu, step string) (tutorial.Transformation, error) {
	n, err := question.ReadQuantity("batch", batch, quantity.ParseCount)
	if err != nil {
		return tutorial.Transformation{}, err
	}
	size, err := question.ReadQuantity("sample", sample, quantity.ParseBytes)
	if err != nil {
		return tutorial.Transformation{}, err
	}
	rate, err := question.ReadQuantity("cpu", cpu, quantity.ParseRate)
	if err != nil {
		return tutorial.Transformation{}, err
	}
	time, err := question.ReadQuantity("step", step, quantity.ParseSeconds)
	if err != nil {
		return tutorial.Transformation{}, err
	}
	return tutorial.TransformationModel{}.Solve(n, size, rate, time)
}

func printTransformation(a *cli.App, t tutorial.Transformation) {
	binding := "the device: the CPU keeps up"
	if t.IsBottleneck {
		binding = "the CPU"
	}
	fmt.Fprintf(a.Stdout, "transform     %s\n", shortTime(t.TransformTime))
	fmt.Fprintf(a.Stdout, "device        %s\n", shortTime(t.AcceleratorStepTime))
	fmt.Fprintf(a.Stdout, "step          %s\n", shortTime(t.StepTime))
	fmt.Fprintf(a.Stdout, "binding       %s\n", binding)
	fmt.Fprintf(a.Stdout, "utilisation   %.1f %%\n", 100*t.AcceleratorUtilization)
	fmt.Fprintf(a.Stdout, "slowdown      %.2fx\n", t.SlowdownFactor)
}

func transformationJSON(t tutorial.Transformation) any {
	return struct {
		Schema         int     `json:"schema"`
		TransformTime  float64 `json:"transform_time_s"`
		AcceleratorT   float64 `json:"accelerator_step_time_s"`
		StepTime       float64 `json:"step_time_s"`
		IsBottleneck   bool    `json:"is_bottleneck"`
		Utilization    float64 `json:"accelerator_utilization"`
		SlowdownFactor float64 `json:"slowdown_factor"`
	}{
		1, float64(t.TransformTime), float64(t.AcceleratorStepTime), float64(t.StepTime),
		t.IsBottleneck, float64(t.AcceleratorUtilization), t.SlowdownFactor,
	}
}

// dataCommand makes stoker predict data: the tutorial's question whether storage and link keep up.
func dataCommand(a *cli.App) *cobra.Command {
	var demand, gpu, storage string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "data",
		Short: "Do storage and host link deliver what the device asks for",
		Long: `Compare a demand of stored bytes with what storage reads and what the GPU's host link carries. If
--storage is left out, the supply is unknown, and so is the answer.`,
		Example: `  stoker predict data --demand 10.9GB/s --gpu a100-80gb-sxm --storage nvme
  stoker predict data --demand 300MB/s --storage 1.2GB/s`,
		Args: withoutEmpty(cli.AtMost(0)),
		RunE: func(*cobra.Command, []string) error {
			d, err := solveData(a, demand, gpu, storage)
			if err != nil {
				return cli.AsUsage(err)
			}
			a.Began = true
			if asJSON {
				return wire.WriteObject(a.Stdout, dataJSON(d))
			}
			printSupply(a, d)
			return nil
		},
	}
	cmd.Flags().StringVar(&demand, "demand", "", "what the device takes, stored bytes: 10.9GB/s")
	cmd.Flags().StringVar(&gpu, "gpu", "", "GPU whose host link counts: a100-80gb-sxm")
	cmd.Flags().StringVar(&storage, "storage", "", "a class of storage (nvme) or its rate (1.2GB/s)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func solveData(a *cli.App, demand, gpu, storage string) (tutorial.DataSupply, error) {
	rate, err := question.ReadQuantity("demand", demand, quantity.ParseRate)
	if err != nil {
		return tutorial.DataSupply{}, err
	}
	machine := hardware.Machine{}
	if gpu != "" {
		row, err := question.FindGPU("gpu", gpu, hardware.Known, a.Say)
		if err != nil {
			return tutorial.DataSupply{}, err
		}
		machine = hardware.MachineOf(row.Name)
	}
	if storage != "" {
		if machine.Storage, err = question.ReadStorage(storage); err != nil {
			return tutorial.DataSupply{}, err
		}
	}
	return tutorial.DataModel{}.Solve(rate, machine)
}

func printSupply(a *cli.App, d tutorial.DataSupply) {
	fmt.Fprintf(a.Stdout, "demand        %s\n", shortRate(d.Demand))
	switch {
	case math.IsNaN(float64(d.Supply)) && math.IsNaN(float64(d.AtMost)):
		fmt.Fprintf(a.Stdout, "supply        unknown: name --storage and --gpu, %s is needed\n", shortRate(d.Demand))
	case math.IsNaN(float64(d.Supply)):
		fmt.Fprintf(a.Stdout, "supply        unknown: name --storage, at most %s by the host link\n",
			shortRate(d.AtMost))
	default:
		fmt.Fprintf(a.Stdout, "supply        %s by %s\n", shortRate(d.Supply), d.Bound)
		fmt.Fprintf(a.Stdout, "utilisation   %.1f %%\n", 100*d.Utilization)
	}
	fmt.Fprintf(a.Stdout, "stalled       %s\n", d.IsStalled)
}

func dataJSON(d tutorial.DataSupply) any {
	var stalled *bool
	if d.IsStalled != predict.NotKnown {
		yes := d.IsStalled == predict.Yes
		stalled = &yes
	}
	var bound *string
	if d.Bound != "" {
		name := string(d.Bound)
		bound = &name
	}
	return struct {
		Schema      int      `json:"schema"`
		Demand      *float64 `json:"demand_bytes_per_s"`
		Supply      *float64 `json:"supply_bytes_per_s"`
		AtMost      *float64 `json:"at_most_bytes_per_s"`
		Utilization *float64 `json:"utilization"`
		Margin      *float64 `json:"margin_bytes_per_s"`
		IsStalled   *bool    `json:"is_stalled"`
		Bound       *string  `json:"bound"`
	}{
		1, stat.Known(float64(d.Demand)), stat.Known(float64(d.Supply)), stat.Known(float64(d.AtMost)),
		stat.Known(d.Utilization), stat.Known(float64(d.Margin)), stalled, bound,
	}
}

// shortTime and shortRate print a value with four digits and its unit.
func shortTime(s quantity.Seconds) string {
	return quantity.Seconds(quantity.Digits(float64(s), 4)).String()
}

func shortRate(r quantity.Rate) string { return quantity.Rate(quantity.Digits(float64(r), 4)).String() }
