package predict

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict/bounds"
	"github.com/stoker-dev/stoker/quantity"
)

// Axis is one setting that a sweep varies.
type Axis struct {
	Name     string // one of AxisNames
	Values   []float64
	Storages []hardware.Storage // of "storage": the classes whose rates Values are, if it sweeps classes
}

// AxisNames are the settings that can be swept: samples per step and GPU,
// loader processes per GPU, cores of the machine, stored bytes of a sample,
// bytes/s of storage, core seconds to prepare a sample, GPUs that share the
// machine, share of the data set in memory.
var AxisNames = []string{"batch", "workers", "cores", "sample", "storage", "prepare", "gpus", "cached"}

// mostValues bounds an axis, and mostSettings a sweep, so that a slip of the
// finger does not run for hours.
const (
	mostValues   = 1 << 20
	mostSettings = 1 << 26
)

// ParseAxis reads the values of an axis. Values have the axis's unit ("110 KB",
// "6.5 GB/s", "2 ms", "50%"):
//
//	"32..1024"     doubling from 32 on; the end is always included
//	"0..16"        the same: 0 1 2 4 8 16
//	"1..8:1"       from 1 to 8 in steps of 1
//	"0..64/4"      0 to 64 in 4 equal steps: 0 16 32 48 64
//	"1,2,4"        these values
//	"256"          this value
func ParseAxis(name, text string) (Axis, error) {
	if !slices.Contains(AxisNames, name) {
		return Axis{}, fmt.Errorf("sweep over %q: expected one of %s", name, strings.Join(AxisNames, ", "))
	}
	values, err := axisValues(name, strings.TrimSpace(text))
	if err != nil {
		return Axis{}, fmt.Errorf("%s %q: %w", name, text, err)
	}
	a := Axis{Name: name, Values: values}
	return a, checkAxis(a)
}

func axisValues(name, text string) ([]float64, error) {
	from, to, ranged := strings.Cut(text, "..")
	if !ranged {
		var values []float64
		for _, item := range strings.Split(text, ",") {
			v, err := axisValue(name, item)
			if err != nil {
				return nil, err
			}
			values = append(values, v)
		}
		return values, nil
	}
	end, step, stepped := strings.Cut(to, ":")
	parts := ""
	if !stepped {
		end, parts, _ = cutLast(to)
	}
	low, err := axisValue(name, from)
	if err != nil {
		return nil, err
	}
	high, err := axisValue(name, end)
	if err != nil {
		return nil, err
	}
	if low > high {
		return nil, fmt.Errorf("the range begins above its end: expected low..high")
	}
	switch {
	case stepped:
		return steps(name, low, high, step)
	case parts != "":
		return equal(low, high, parts)
	}
	return doubling(low, high), nil
}

// cutLast takes the "/4" off "64/4", and leaves the unit in "2 GB/s" alone.
func cutLast(text string) (before, after string, found bool) {
	at := strings.LastIndex(text, "/")
	if at < 0 {
		return text, "", false
	}
	if _, err := strconv.ParseFloat(strings.TrimSpace(text[at+1:]), 64); err != nil {
		return text, "", false
	}
	return text[:at], strings.TrimSpace(text[at+1:]), true
}

func steps(name string, low, high float64, text string) ([]float64, error) {
	by, err := axisValue(name, text)
	if err != nil {
		return nil, err
	}
	if !(by > 0) || (high-low)/by > mostValues {
		return nil, fmt.Errorf("steps of %q: expected more than 0, and at most %d of them", text, mostValues)
	}
	n := math.Floor((high-low)/by + rounding)
	values := make([]float64, 0, int(n)+1)
	for i := 0.0; i <= n; i++ {
		values = append(values, low+i*by)
	}
	return values, nil
}

func equal(low, high float64, text string) ([]float64, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > mostValues {
		return nil, fmt.Errorf("%q equal steps: expected a whole number from 1 to %d, as in 0..64/4", text, mostValues)
	}
	values := make([]float64, 0, n+1)
	for i := range n + 1 {
		values = append(values, low+(high-low)*float64(i)/float64(n))
	}
	return values, nil
}

func doubling(low, high float64) []float64 {
	var values []float64
	v := low
	for v < high && len(values) < mostValues {
		values = append(values, v)
		if v *= 2; v == 0 {
			v = min(1, high)
		}
	}
	return append(values, high)
}

func axisValue(name, text string) (float64, error) {
	text = strings.TrimSpace(text)
	switch name {
	case "sample":
		v, err := quantity.ParseBytes(text)
		return float64(v), err
	case "storage":
		v, err := quantity.ParseRate(text)
		return float64(v), err
	case "prepare":
		v, err := quantity.ParseSeconds(text)
		return float64(v), err
	case "cached":
		v, err := quantity.ParseShare(text)
		return float64(v), err
	case "cores":
		v, err := quantity.ParseNumber(text)
		return float64(v), err
	}
	v, err := quantity.ParseCount(text)
	return float64(v), err
}

// checkAxis returns an error for a value that its setting cannot have.
func checkAxis(a Axis) error {
	if !slices.Contains(AxisNames, a.Name) {
		return fmt.Errorf("sweep over %q: expected one of %s", a.Name, strings.Join(AxisNames, ", "))
	}
	if len(a.Values) == 0 || len(a.Values) > mostValues {
		return fmt.Errorf("sweep over %s: %d values, expected 1 to %d", a.Name, len(a.Values), mostValues)
	}
	for _, v := range a.Values {
		low, high := 0.0, float64(bounds.MostCount)
		switch a.Name {
		case "batch", "gpus":
			low = 1
		case "cached":
			high = 1
		case "cores":
			low = 0.01
		case "sample", "storage", "prepare":
			low, high = bounds.Least, bounds.Most
		}
		if !(v >= low && v <= high) {
			return fmt.Errorf("%s is %v: expected %v to %v", a.Name, v, low, high)
		}
		if whole := a.Name == "batch" || a.Name == "gpus" || a.Name == "workers"; whole && v != math.Trunc(v) {
			return fmt.Errorf("%s is %v: expected a whole number", a.Name, v)
		}
	}
	return nil
}

// Sweep solves the setup for every value of one axis, or of every pair of two,
// the first axis varying slowest, and calls each with the result. It allocates
// nothing per setting: more than a million a second.
func Sweep(s Setup, axes []Axis, each func(Point)) error {
	if err := checkAxes(axes); err != nil {
		return err
	}
	for _, axis := range axes { // the swept field need not be set
		s = s.Begin(axis)
	}
	if err := s.checkFields(); err != nil {
		return err
	}
	p, err := s.compile()
	if err != nil {
		return err
	}
	for _, axis := range axes {
		if err := p.sweepable(axis); err != nil {
			return err
		}
	}
	p.sweep(axes, each)
	return nil
}

func checkAxes(axes []Axis) error {
	if len(axes) < 1 || len(axes) > 2 {
		return fmt.Errorf("sweep over %d settings: expected one or two", len(axes))
	}
	if len(axes) == 2 && axes[0].Name == axes[1].Name {
		return fmt.Errorf("sweep over %s twice: expected two different settings", axes[0].Name)
	}
	settings := 1
	for _, axis := range axes {
		if err := checkAxis(axis); err != nil {
			return err
		}
		settings *= len(axis.Values)
	}
	if settings > mostSettings {
		return fmt.Errorf("sweep over %d settings: expected at most %d", settings, mostSettings)
	}
	return nil
}

// Begin returns the setup at an axis's first value.
func (s Setup) Begin(a Axis) Setup {
	v := a.Values[0]
	switch a.Name {
	case "batch":
		s.Batch = v
	case "workers":
		s = s.WithWorkers(v)
	case "cores":
		s.Cores, s.PhysCores = v, 0
	case "gpus":
		s.GPUs = v
	case "cached":
		s.Cached = v
	case "sample":
		s.Sample = stoker.Exactly(v)
	case "storage":
		s.Storage = stoker.Exactly(v)
		if len(a.Storages) > 0 {
			s = s.WithStorage(a.Storages[0], s.storageAccess())
		}
	case "prepare":
		s.PrepareCPU = stoker.Exactly(v)
	}
	return s
}

// storageAccess returns how the setup reads storage: sample by sample, or in a row.
func (s Setup) storageAccess() Access {
	if bounds.IsSet(s.PerFile) {
		return Files
	}
	return Sequential
}

// sweepable refuses an axis that the answer could not follow.
func (p *numbers) sweepable(a Axis) error {
	if a.Name == "batch" && !p.curved && !math.IsNaN(p.step[bounds.Likely]) {
		return fmt.Errorf("sweep over batch: the step time was given for batch %.0f only: name the model and the "+
			"GPU, so that it is known for others", p.batch)
	}
	if p.rate[bounds.Likely] > 0 && (a.Name == "workers" || a.Name == "cores" || a.Name == "prepare") {
		return fmt.Errorf("sweep over %s: the setup says how fast all workers prepare together, so it would "+
			"change nothing: give the core time of a sample instead", a.Name)
	}
	return nil
}

func (p *numbers) sweep(axes []Axis, each func(Point)) {
	x := axes[0]
	for i, v := range x.Values {
		p.moveTo(x, i)
		if len(axes) == 1 {
			r := p.solvePoint()
			r.X, r.Y = v, math.NaN()
			each(r)
			continue
		}
		for j, w := range axes[1].Values {
			p.moveTo(axes[1], j)
			r := p.solvePoint()
			r.X, r.Y = v, w
			each(r)
		}
	}
}

// moveTo sets an axis to one of its values.
func (p *numbers) moveTo(a Axis, i int) {
	p.set(a.Name, a.Values[i])
	p.derive()
	if len(a.Storages) > 0 {
		p.setStorage(a.Storages[i])
	}
}

// setStorage sets what a class of storage delivers, except its rate.
func (p *numbers) setStorage(class hardware.Storage) {
	access := Sequential
	if p.perFile[bounds.Likely] > 0 {
		access = Files
	}
	s := Setup{}.WithStorage(class, access)
	p.reads, p.latency, p.perFile = bounds.RateViews(s.Reads), bounds.CostViews(s.Latency), bounds.CostViews(s.PerFile)
}

// set moves one setting, without doubt.
func (p *numbers) set(name string, v float64) {
	all := [3]float64{v, v, v}
	switch name {
	case "batch":
		p.batch = v
	case "workers":
		p.workers = v
	case "cores":
		p.cores, p.phys = all, 0
	case "sample":
		p.sample = all
	case "storage":
		p.storage = all
	case "prepare":
		p.prepare = all
	case "gpus":
		p.gpus = v / p.nodes
	case "cached":
		p.misses = bounds.CostViews(missRatio(v))
	}
}
