package predict

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cost"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/device"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

// usualMoves are the GPUs that a job is moved to if --to names none.
var usualMoves = []string{"h100-sxm", "b200"}

// answerWorth answers what another machine would bring a job that runs: one of which its
// utilisation is known, or one that was recorded.
func answerWorth(a *cli.App, cmd *cobra.Command, f *predictFlags, run string) error {
	table, err := hardwareTable(f.givenText("hardware"))
	if err != nil {
		return cli.AsUsage(err)
	}
	var w report.Worth
	if err := f.checkWorth(cmd, run != ""); err != nil {
		return cli.AsUsage(err)
	}
	switch {
	case run != "":
		w, err = f.worthOfRun(run, table)
	default:
		w, err = f.worthOfUse(cmd, table)
	}
	if err != nil {
		return cli.AsUsage(addRemedy(err))
	}
	a.Began = true
	if f.on("json") {
		return wire.WriteWorth(a.Stdout, w)
	}
	style := a.TextStyle(a.Stdout)
	style.All = f.on("all")
	return text.WriteWorth(a.Stdout, w, style)
}

// Flags of what another machine would bring a job: of any, of one that was recorded, and of one of
// which the utilisation is known.
var (
	worthFlags = append(strings.Fields(cost.FlagNames), "hours", "hardware", "to", "gpu", "workers", "json", "all")
	runFlags   = []string{"cores", "storage"}
	utilFlags  = []string{"util", "model", "precision", "software", "inference", "batch", "gpus"}
)

// checkWorth refuses flags that would not count.
func (f *predictFlags) checkWorth(cmd *cobra.Command, recorded bool) (err error) {
	own, why := utilFlags, "--util is about the share alone, and a recording (stoker predict RUN) tells the rest"
	if recorded {
		own, why = runFlags, "a recording tells it itself"
	}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if err == nil && !slices.Contains(worthFlags, flag.Name) && !slices.Contains(own, flag.Name) &&
			cmd.LocalFlags().Lookup(flag.Name) != nil {
			err = fmt.Errorf("%s: leave --%s out", why, flag.Name)
		}
	})
	return err
}

// moves are the GPUs that --to names, or the usual ones that are not the job's own.
func (f *predictFlags) moves(named string, own hardware.GPU, table hardware.Table) (all []hardware.GPU, err error) {
	if named != "" {
		gpu, err := findGPU("to", named, table, f.say)
		return []hardware.GPU{gpu}, err
	}
	for _, name := range usualMoves {
		if gpu, known := table.FindGPU(name); known && gpu.Name != own.Name {
			all = append(all, gpu)
		}
	}
	return all, nil
}

// worthOfUse is about a job whose device is known to compute for a share of the time.
func (f *predictFlags) worthOfUse(cmd *cobra.Command, table hardware.Table) (w report.Worth, err error) {
	share, err := quantity.ParseShare(f.givenText("util"))
	if err != nil || !(share > 0) {
		return w, fmt.Errorf("--util %q: expected the share of the time for which the GPU computes, such as 40%%",
			f.givenText("util"))
	}
	load, batch, err := f.loadOfUse(cmd, table)
	if err != nil {
		return w, err
	}
	use := predict.Use{Share: float64(share), InLoop: f.givenText("workers") == "0"}
	w = report.Worth{
		Title: "a job that computes " + share.String() + " of the time", GPU: load.GPU,
		Utilization: stoker.Exactly(use.Share), AtMost: stoker.Exactly(use.AtMost()),
		Notes: []string{
			"input x 2: twice the workers, cores or storage rate, whichever it waits for",
			"GPU-Util of nvidia-smi counts any kernel as busy: with it as --util the gains are the least there is",
		},
		Next: "stoker observe -- python train.py says what it waits for",
	}
	switch {
	case load.GPU.Name != "":
	case f.givenText("to") != "":
		return w, hint.Add(
			errors.New("--gpu is missing: on which GPU does the job run now, to be compared with --to?"), "--gpu a100",
		)
	default:
		f.say("--gpu is not named: without it no other GPU can be compared and no price is known")
	}
	gpus, err := f.moves(f.givenText("to"), load.GPU, table)
	if err != nil {
		return w, err
	}
	for _, gpu := range gpus {
		if takes := load.Swap(gpu, batch); takes.Known() {
			w.Add("on "+gpu.Name, use.OnDevice(takes))
		}
	}
	w.Add("input x 2", use.WithInput(2))
	return w, f.costOf(&w, stoker.Exactly(1-use.Share), table)
}

// loadOfUse is the job, as far as flags tell: its GPU and network may both be unknown.
func (f *predictFlags) loadOfUse(cmd *cobra.Command, table hardware.Table) (device.Load, float64, error) {
	d := &described{Setup: unknownSetup(), predictFlags: f, table: table}
	for _, flag := range []string{"model", "precision", "software", "gpu", "inference", "batch"} {
		row := f.rows[flag]
		if err := row.set(d, row); err != nil {
			return d.Load, 0, err
		}
	}
	d.Load.Training = !f.on("inference")
	return d.Load, d.Batch, nil
}

// costOf fills in what the idle share costs.
func (f *predictFlags) costOf(w *report.Worth, idle stoker.Interval, table hardware.Table) error {
	prices, err := f.Read(w.GPU, table)
	if err != nil {
		return err
	}
	gpus := 1.0
	if f.givenText("gpus") != "" {
		if gpus, _, err = f.value("gpus"); err != nil {
			return err
		}
	}
	w.Hours = cost.HoursOfDay * gpus
	if f.givenText("hours") != "" {
		if w.Hours, _, err = f.value("hours"); err != nil {
			return err
		}
	}
	waste := predict.Idle(w.GPU, idle, w.Hours, prices)
	w.Waste = &waste
	return nil
}

// worthOfRun is about a job that was recorded.
func (f *predictFlags) worthOfRun(name string, table hardware.Table) (w report.Worth, err error) {
	run, err := recording.Open(name)
	if err != nil {
		return w, err
	}
	b := measure.From(run)
	now := b.Forecast()
	if !(b.Took > 0) {
		return w, fmt.Errorf("%s: %s", name, now.Notes[0])
	}
	own := measure.MachineOf(run).GPU
	waits := now.Stall
	w = report.Worth{
		Title: name, GPU: own, Utilization: lessThanOne(waits), AtMost: overOne(waits),
		Next: "stoker advise " + report.QuoteForShell(name) + " says what to change in the program",
	}
	if err := f.addMachine(&w, b, own, table); err != nil {
		return w, err
	}
	return w, f.costOf(&w, waits, table)
}

// addMachine adds what a recorded job gains of what the flags name: each alone, and all together.
func (f *predictFlags) addMachine(w *report.Worth, b predict.Baseline, own hardware.GPU, table hardware.Table) error {
	all, takes, changed := b.Setup, stoker.Exactly(1), 0
	add := func(what string, after predict.Setup, takes stoker.Interval) {
		forecast := b.Elsewhere(after, takes)
		w.Add(what, predict.Worth{Speedup: forecast.Speedup, Utilization: lessThanOne(forecast.Stall)})
		changed++
	}
	for _, flag := range []string{"workers", "cores"} {
		text := f.givenText(flag)
		if text == "" {
			continue
		}
		n, err := quantity.ParseCount(text)
		switch {
		case err != nil:
			return fmt.Errorf("--%s: %w", flag, err)
		case n == 0 && flag == "cores":
			return errors.New("--cores is 0: expected more than 0")
		}
		after := b.Setup
		if flag == "cores" {
			after.Cores, all.Cores = float64(n), float64(n)
		} else {
			after, all = after.WithWorkers(float64(n)), all.WithWorkers(float64(n))
		}
		add(fmt.Sprintf("%s %s", text, flag), after, stoker.Exactly(1))
	}
	if text := f.givenText("storage"); text != "" {
		class, err := storageOf(text)
		if err != nil {
			return err
		}
		access := predict.Files
		if !(b.PerFile.Point > 0) {
			access = predict.Sequential
		}
		add("storage "+text, b.WithStorage(class, access), stoker.Exactly(1))
		all = all.WithStorage(class, access)
	}
	named := cmp.Or(f.givenText("to"), f.givenText("gpu"))
	if named != "" || changed == 0 {
		gpus, err := f.moves(named, own, table)
		if err != nil {
			return err
		}
		for _, gpu := range gpus {
			if share := (device.Load{GPU: own, Training: true}).Swap(gpu, 0); share.Known() {
				add("on "+gpu.Name, b.Setup, share)
				takes = share
			}
		}
	}
	if changed > 1 && named != "" {
		add("all of it", all, takes)
	}
	return nil
}

// lessThanOne is what is left of one, overOne what it is worth to lose a share.
func lessThanOne(i stoker.Interval) stoker.Interval {
	return stoker.Interval{Low: 1 - i.High, Point: 1 - i.Point, High: 1 - i.Low}
}

func overOne(i stoker.Interval) stoker.Interval {
	over := func(share float64) float64 { return 1 / math.Max(1e-3, 1-share) }
	return stoker.Interval{Low: over(i.Low), Point: over(i.Point), High: over(i.High)}
}
