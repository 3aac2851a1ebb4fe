package question

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/device"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
)

// Worth is what another machine would bring a job that runs, which text and JSON print.
type Worth struct {
	Title       string
	GPU         hardware.GPU    // the zero value if unknown
	Utilization stoker.Interval // share of the time for which the device computes
	AtMost      stoker.Interval // the speed-up if input is always there
	Rows        []WorthRow
	Waste       *predict.Waste // of Hours
	Hours       float64
	Next        string   // the command that would tell more
	Notes       []string // what the rows mean
}

// WorthRow is one change of the machine.
type WorthRow struct {
	What string
	predict.Worth
	Enough int     // workers that do as much as so many; 0 if more than half of them are needed
	Memory float64 // bytes that the others take at most; NaN if unknown
}

// Add adds a change.
func (w *Worth) Add(what string, worth predict.Worth) {
	w.Rows = append(w.Rows, WorthRow{What: what, Worth: worth})
}

// usualMoves lists the GPUs to compare with if --to names none.
var usualMoves = []string{"h100-sxm", "b200"}

// CompareMachines says what another machine would bring a job that runs. The job is either recorded, or
// known by --util alone, in which case recorded is "".
func (q *Question) CompareMachines(recorded string) (Worth, error) {
	if err := q.checkWorth(recorded != ""); err != nil {
		return Worth{}, err
	}
	answer := q.worthOfUse
	if recorded != "" {
		answer = func() (Worth, error) { return q.worthOfRun(recorded) }
	}
	w, err := answer()
	return w, addRemedy(err)
}

// Flags that count in a comparison of machines: of any job, of a recorded one, and of one with --util.
var (
	worthFlags = append(slices.Clone(priceFlags), "hours", "hardware", "to", "gpu", "workers", "json", "all")
	runFlags   = []string{"cores", "storage"}
	utilFlags  = []string{"util", "model", "precision", "software", "inference", "batch", "gpus"}
)

// checkWorth refuses flags that would have no effect.
func (q *Question) checkWorth(recorded bool) error {
	own, why := utilFlags, "--util is about the share alone, and a recording (stoker predict RUN) tells the rest"
	if recorded {
		own, why = runFlags, "a recording tells it itself"
	}
	for _, flag := range q.Given {
		if !slices.Contains(worthFlags, flag) && !slices.Contains(own, flag) {
			return fmt.Errorf("%s: leave --%s out", why, flag)
		}
	}
	return nil
}

// moves returns the GPU that --to names, or the usual ones except the job's own.
func (q *Question) moves(named string, own hardware.GPU) (all []hardware.GPU, err error) {
	if named != "" {
		gpu, err := FindGPU("to", named, q.Table, q.Say)
		return []hardware.GPU{gpu}, err
	}
	for _, name := range usualMoves {
		if gpu, known := q.Table.FindGPU(name); known && gpu.Name != own.Name {
			all = append(all, gpu)
		}
	}
	return all, nil
}

// worthOfUse answers for a job of which only the utilisation is known.
func (q *Question) worthOfUse() (w Worth, err error) {
	share, err := quantity.ParseShare(q.Text("util"))
	if err != nil || !(share > 0) {
		return w, fmt.Errorf("--util %q: expected the share of the time for which the GPU computes, such as 40%%",
			q.Text("util"))
	}
	load, batch, err := q.loadOfUse()
	if err != nil {
		return w, err
	}
	use := predict.Use{Share: float64(share), InLoop: q.Text("workers") == "0"}
	w = Worth{
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
	case q.Text("to") != "":
		return w, hint.Attach(
			errors.New("--gpu is missing: on which GPU does the job run now, to be compared with --to?"), "--gpu a100",
		)
	default:
		q.Say("--gpu is not named: without it no other GPU can be compared and no price is known")
	}
	gpus, err := q.moves(q.Text("to"), load.GPU)
	if err != nil {
		return w, err
	}
	for _, gpu := range gpus {
		if takes := load.Swap(gpu, batch); takes.Known() {
			w.Add("on "+gpu.Name, use.OnDevice(takes))
		}
	}
	w.Add("input x 2", use.WithInput(2))
	return w, q.costOf(&w, stoker.Exactly(1-use.Share))
}

// loadOfUse reads as much of the job as flags describe. GPU and network may both be unknown.
func (q *Question) loadOfUse() (device.Load, float64, error) {
	d := &job{Setup: unknownSetup(), Question: q}
	if err := d.readFields("model", "precision", "software", "gpu", "inference", "batch"); err != nil {
		return d.Load, 0, err
	}
	d.Load.Training = !q.On("inference")
	return d.Load, d.Batch, nil
}

// costOf fills in the price of the idle share.
func (q *Question) costOf(w *Worth, idle stoker.Interval) error {
	prices, err := q.prices().Read(w.GPU, q.Table)
	if err != nil {
		return err
	}
	gpus := 1.0
	if q.Text("gpus") != "" {
		if gpus, _, err = q.value("gpus"); err != nil {
			return err
		}
	}
	w.Hours = hoursOfDay * gpus
	if q.Text("hours") != "" {
		if w.Hours, _, err = q.value("hours"); err != nil {
			return err
		}
	}
	waste := predict.Idle(w.GPU, idle, w.Hours, prices)
	w.Waste = &waste
	return nil
}

// worthOfRun answers for a recorded job.
func (q *Question) worthOfRun(name string) (w Worth, err error) {
	run, err := q.Open(name)
	if err != nil {
		return w, err
	}
	costs, _ := measure.Slowest(run)
	b := measure.From(run)
	now := b.Forecast()
	if !(b.Took > 0) {
		return w, fmt.Errorf("%s: %s", name, now.Notes[0])
	}
	own := measure.MachineOf(run).GPU
	waits := now.Stall
	w = Worth{
		Title: name, GPU: own, Utilization: lessThanOne(waits), AtMost: overOne(waits),
	}
	if err := q.addMachine(&w, b, costs.WorkerMemory, own); err != nil {
		return w, err
	}
	return w, q.costOf(&w, waits)
}

// addMachine adds a row for each change that a flag names, and one for all of them together.
// each is the memory of one worker, bytes; NaN if unknown.
func (q *Question) addMachine(w *Worth, b predict.Baseline, each float64, own hardware.GPU) error {
	all, takes, changed := b.Setup, stoker.Exactly(1), 0
	add := func(what string, after predict.Setup, takes stoker.Interval) {
		forecast := b.Elsewhere(after, takes)
		w.Add(what, predict.Worth{Speedup: forecast.Speedup, Utilization: lessThanOne(forecast.Stall)})
		changed++
	}
	for _, flag := range []string{"workers", "cores"} {
		text := q.Text(flag)
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
		if err := checkCount(flag, float64(n)); err != nil {
			return err
		}
		after := b.Setup
		if flag == "cores" {
			after.Cores, all.Cores = float64(n), float64(n)
		} else {
			after, all = after.WithWorkers(float64(n)), all.WithWorkers(float64(n))
		}
		add(fmt.Sprintf("%s %s", text, flag), after, stoker.Exactly(1))
		if flag == "workers" {
			row := &w.Rows[len(w.Rows)-1]
			row.Enough = after.FewestWorkers()
			row.Memory = (float64(n) - float64(row.Enough)) * each
		}
	}
	if text := q.Text("storage"); text != "" {
		class, err := ReadStorage(text)
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
	named := cmp.Or(q.Text("to"), q.Text("gpu"))
	if named != "" || changed == 0 {
		gpus, err := q.moves(named, own)
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

// lessThanOne returns 1 - share. overOne returns the speed-up if that share of the time is gone.
func lessThanOne(i stoker.Interval) stoker.Interval {
	return stoker.Interval{Low: 1 - i.High, Point: 1 - i.Point, High: 1 - i.Low}
}

func overOne(i stoker.Interval) stoker.Interval {
	over := func(share float64) float64 { return 1 / math.Max(1e-3, 1-share) }
	return stoker.Interval{Low: over(i.Low), Point: over(i.Point), High: over(i.High)}
}
