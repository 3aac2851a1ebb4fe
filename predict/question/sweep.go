package question

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/device"
	"github.com/stoker-dev/stoker/quantity"
)

// readAxes reads ranges as the axes of a sweep, in the order of the flags. The setup starts at the first
// value of each.
func (d *job) readAxes() error {
	for _, flag := range d.Given {
		text := d.Text(flag)
		if !slices.Contains(predict.AxisNames, flag) || !isRange(text) {
			continue
		}
		axis, err := axisOf(flag, text, d.Table)
		if err != nil {
			return err
		}
		d.axes = append(d.axes, axis)
		d.Setup = d.Begin(axis)
		if len(axis.Storages) > 0 {
			d.Setup = d.WithStorage(axis.Storages[0], d.usual)
		}
		d.note(flag, text, "swept")
	}
	switch {
	case len(d.axes) > 2:
		return fmt.Errorf("%d settings have a range: expected one or two", len(d.axes))
	case len(d.axes) > 0 && d.On("roofline"):
		return errors.New("--roofline is about one setting: leave the range out")
	}
	return nil
}

// axisOf parses a range. A class of storage is replaced by its rate.
func axisOf(flag, text string, table hardware.Table) (predict.Axis, error) {
	items := strings.Split(text, ",")
	var classes []hardware.Storage
	for i, item := range items {
		item = strings.TrimSpace(item)
		if row, known := table.FindStorage(item); known && flag == "storage" {
			items[i] = quantity.Rate(row.Rate.Value).String()
			classes = append(classes, row)
		}
		if i > 0 && len(item) == 3 && item[0] == '0' {
			return predict.Axis{}, fmt.Errorf("--%s %q: a comma separates values here: write one thousand as 1000",
				flag, text)
		}
	}
	axis, err := predict.ParseAxis(flag, strings.Join(items, ","))
	if err != nil {
		return axis, fmt.Errorf("--%w", err)
	}
	for _, end := range []float64{slices.Min(axis.Values), slices.Max(axis.Values)} {
		if err := checkAxisEnd(flag, end); err != nil {
			return axis, err
		}
	}
	if len(classes) > 0 && len(classes) != len(axis.Values) {
		return axis,
			fmt.Errorf("--%s %q: expected classes or rates: a class has reads/s and a latency besides its rate", flag,
				text)
	}
	axis.Storages = classes
	return axis, nil
}

// checkAxisEnd refuses a range that ends beyond the flag's limits.
func checkAxisEnd(flag string, value float64) error {
	show := quantity.About
	if unit := flagValues[flag].unit; unit != nil {
		show = unit.show
	}
	return checkLimit(flag, value, show)
}

// plotBatch is the batch of each model in a roofline of all models.
const plotBatch = 64

// askRoofline draws the workload of the setup, or all known ones if none is named. A batch that does not
// fit is made smaller.
func (d *job) askRoofline(p *Prediction) error {
	if d.Text("for") != "" || d.On("walls") {
		return errors.New("--roofline does not go with --for or --walls: ask for them apart")
	}
	if d.Load.GPU.Name == "" {
		return errors.New("--roofline needs --gpu")
	}
	if d.Load.Precision == device.AnyPrecision {
		d.Load.Precision = hardware.FP16
		d.note("precision", string(hardware.FP16), "assumed, --precision")
	}
	p.Title = fmt.Sprintf("Roofline of %s in %s", d.Load.GPU.Title, d.Load.Precision)
	if d.describes() {
		if d.Batch == 0 {
			return errors.New("--roofline of a model needs --batch: leave --model out for all models")
		}
		r, err := d.DrawRoofline()
		p.Roofline = &r
		return err
	}
	supply := d.Storage.Point
	if d.GPUs > 1 {
		supply /= d.GPUs
	}
	link := math.Sqrt(d.Link.Pageable[0].Value * d.Link.Pageable[1].Value) // the likely value, as Solve takes it
	if d.Pinned {
		link = d.Link.Pinned.Value
	}
	r, err := predict.RooflineOf(d.Load.GPU, d.Load.Precision, link, supply)
	if err != nil {
		return err
	}
	for _, w := range device.Workloads {
		addWorkload(&r, *d, w, p)
	}
	p.Roofline = &r
	return nil
}

// addWorkload adds a model with its usual data to a roofline. A note says why one is left out.
func addWorkload(r *predict.Roofline, s job, w device.Workload, p *Prediction) {
	profile, _ := predict.FindProfile(w.Profile)
	profile = profile.For(w)
	s.Load.Workload, s.Sample, s.Decoded, s.PrepareCPU = w, profile.Stored.Interval, profile.Decoded.Interval,
		profile.Prepare.Interval
	if s.Batch == 0 {
		s.Batch = plotBatch
	}
	_, err := s.Solve()
	var memory *predict.MemoryError
	if errors.As(err, &memory) && memory.Largest >= 1 {
		s.Batch = memory.Largest
		err = nil
	}
	if err == nil {
		err = r.Add(s.Setup)
	}
	if err != nil {
		p.Answer.Notes = append(p.Answer.Notes, w.Title+" is left out: "+err.Error())
	}
}

// sizeForTarget computes what the job needs to reach the utilisation of --for.
func (d *job) sizeForTarget() (*predict.Sizing, error) {
	target, err := quantity.ParseShare(d.Text("for"))
	if err != nil {
		return nil, fmt.Errorf("--for: %w", err)
	}
	z, err := d.Size(float64(target))
	if err != nil {
		return nil, fmt.Errorf("--for %s: %w", d.Text("for"), err)
	}
	return &z, nil
}

// readCluster reads what the walls beyond one machine need: checkpoint rate and failures.
func (q *Question) readCluster() (c predict.Cluster, err error) {
	if q.Text("checkpoint") != "" {
		rate, _, err := q.value("checkpoint")
		if err != nil {
			return c, err
		}
		c.Write = stoker.Exactly(rate)
	}
	if q.Text("mtbf") != "" {
		if c.MTBF, _, err = q.value("mtbf"); err != nil {
			return c, err
		}
	}
	return c, nil
}
