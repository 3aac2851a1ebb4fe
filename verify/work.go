package verify

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/recording"
)

// Thresholds for "the same work". [J]
const (
	batchTolerance = 0.01 // the last batches of an epoch may be smaller
	bytesTolerance = 0.10 // samples of text or audio vary in length

	// Kernel time is utilisation times step, and utilisation says only that some kernel was
	// running: gaps between launches count as busy. Only a factor of two is evidence enough to
	// say that the models differ.
	kernelDoubt  = 1.25
	kernelRefuse = 2.0

	othersDoubt = 0.15 // difference in cores used by other programs; on two cores it makes a step of 8 %
	coldShare   = 0.20 // share of the bytes read from storage from which the cache counts as cold
	warmShare   = 0.05 // share below which it counts as warm
)

// work is the result of checking whether two runs did the same work.
type work struct {
	was, now string // names of the two runs
	basis    Basis
	differ   []string // facts that make a comparison meaningless
	warnings []string
	besides  []string // other differences between runs of the same work
}

// refusal names every fact that differs; "" if none does.
func (w work) refusal() string {
	if len(w.differ) == 0 {
		return ""
	}
	return "the runs did different work: " + strings.Join(w.differ, ", ")
}

// refuse adds a fact that differs.
func (w *work) refuse(format string, args ...any) {
	w.differ = append(w.differ, fmt.Sprintf(format, args...))
}

// addWarning adds a warning.
func (w *work) addWarning(format string, args ...any) {
	w.warnings = append(w.warnings, fmt.Sprintf(format, args...))
}

// compareWork compares two runs fact by fact. A fact that is unknown for either run proves
// nothing. Settings, including precision and device, are changed on purpose and do not make the
// work different; changed lists them.
func compareWork(was, now observed, changed []stoker.Change) work {
	w := work{was: was.name, now: now.name, basis: PerStep}
	w.compareData(was.judgedLoader(), now.judgedLoader())
	w.compareBatch(was, now)
	w.compareDevice(was, now)
	w.compareModel(was, now, changed)
	return w
}

// compareData compares the data sets.
func (w *work) compareData(was, now recording.Loader) {
	if was.Dataset != "" && now.Dataset != "" && was.Dataset != now.Dataset {
		w.refuse("data set %s %s, %s %s", was.Dataset, w.was, now.Dataset, w.now)
	}
	if was.Samples > 0 && now.Samples > 0 && was.Samples != now.Samples {
		w.refuse("data set of %d samples %s, %d %s", was.Samples, w.was, now.Samples, w.now)
	}
}

// compareBatch compares batch sizes and bytes per sample.
func (w *work) compareBatch(was, now observed) {
	n, m := was.samples(), now.samples()
	switch {
	case n == 0 && m == 0:
		w.addWarning("the batch size is unknown in both runs: assumed to be the same")
	case n == 0 || m == 0:
		w.addWarning("the batch size of one run is unknown: assumed to be the same")
	case ratio(n, m) > 1+batchTolerance:
		w.basis = PerSample
	}
	a, b := was.judgedLoader(), now.judgedLoader()
	if a.BatchDType != "" && b.BatchDType != "" && a.BatchDType != b.BatchDType {
		w.addWarning("batches are %s %s, %s %s: the copy to the device is another one", a.BatchDType, w.was,
			b.BatchDType, w.now)
		return // the sizes then differ because of the type
	}
	if a.BatchBytes > 0 && b.BatchBytes > 0 && n > 0 && m > 0 {
		if x, y := a.BatchBytes/n, b.BatchBytes/m; ratio(x, y) > 1+bytesTolerance {
			w.refuse("a sample is %.0f bytes %s, %.0f %s", x, w.was, y, w.now)
		}
	}
}

// compareDevice compares the devices, the number of ranks and the phase.
func (w *work) compareDevice(was, now observed) {
	x, y := was.judgedGPU(), now.judgedGPU()
	switch {
	case x.Name == "" && y.Name == "":
	case x.Name == "" || y.Name == "":
		w.addWarning("the GPU of one run is unknown: assumed to be the same")
	case x.Name != y.Name:
		w.refuse("device %s %s, %s %s", x.Name, w.was, y.Name, w.now)
	case x.Emulated != y.Emulated:
		w.refuse("one device is emulated, the other is not")
	}
	if n, m := was.world(), now.world(); n > 0 && m > 0 && n != m {
		w.refuse("world size %d %s, %d %s", n, w.was, m, w.now)
	}
	if a, b := was.window.Steps[0].Phase, now.window.Steps[0].Phase; a != b {
		w.refuse("phase %s %s, %s %s", a, w.was, b, w.now)
	}
}

// compareModel searches for evidence that the models differ: the type of the parameters and the
// time of the kernels. If precision or device was changed on purpose, both may differ.
func (w *work) compareModel(was, now observed, changed []stoker.Change) {
	for _, c := range changed {
		switch c.Setting {
		case stoker.Precision, stoker.TF32, stoker.ComputeOn:
			w.addWarning("%s: the step itself is another one, not only its input", c)
			return
		default:
		}
	}
	a, b := was.run.Facts.Model, now.run.Facts.Model
	if a != nil && b != nil && a.DType != "" && b.DType != "" && a.DType != b.DType {
		w.addWarning("parameters are %s %s, %s %s: the step itself is another one, not only its input", a.DType, w.was,
			b.DType, w.now)
		return
	}
	n, m := was.samples(), now.samples()
	if w.basis == PerStep {
		n, m = 1, 1
	}
	x, y := was.costs.Busy*was.costs.Step/n, now.costs.Busy*now.costs.Step/m
	switch off := ratio(x, y); {
	case !(x > 0 && y > 0): // unknown, or the device did nothing
	case off > kernelRefuse && w.basis == PerStep: // a larger batch may cost less per sample
		w.refuse("the device computes %.2g s per step %s, %.2g s %s: another model, or a throttled device", x, w.was,
			y, w.now)
	case off > kernelDoubt:
		w.addWarning("the device computes %.2g s %s %s, %.2g s %s: the model or its speed may have changed", x, w.basis,
			w.was, y, w.now)
	}
}

// listDoubts returns what makes the mean of one run uncertain. alone says that its side has no
// other run to show how much means vary.
func (s observed) listDoubts(alone bool) (warnings []string) {
	w := &work{}
	if alone && !s.window.Stationary {
		w.addWarning("the run %s was not steady for 30 s: its mean may still move (%s)", s.name, s.window)
	}
	for _, text := range s.run.Warnings {
		w.addWarning("the run %s: %s", s.name, text)
	}
	return w.warnings
}

// circumstances returns differences between two runs that are not differences in their work.
func circumstances(was, now observed) (warnings []string) {
	w := &work{}
	if was.hasDeviceClock() != now.hasDeviceClock() {
		w.addWarning("steps are timed by the device's clock in one run and by the host's in the other")
	}
	if a, b := was.costs.Others, now.costs.Others; math.Abs(a-b) > othersDoubt {
		w.addWarning("other programs used %.1f cores %s, %.1f %s", a, was.name, b, now.name)
	}
	if a, b := was.run.Facts.Machine, now.run.Facts.Machine; a.CPU != b.CPU && a.CPU != "" && b.CPU != "" {
		w.addWarning("another machine: %s %s, %s %s", a.CPU, was.name, b.CPU, now.name)
	}
	a, b := was.fromStorage(), now.fromStorage()
	if a > coldShare && b < warmShare || b > coldShare && a < warmShare {
		w.addWarning("%.0f %% of the bytes read came from storage %s, %.0f %% %s: the page cache has a part in the difference", 100*a, was.name, 100*b, now.name)
	}
	return w.warnings
}

// judgedGPU returns the device of the judged trainer; the zero GPU if unknown.
func (s observed) judgedGPU() recording.GPU {
	device := -1
	if p := s.run.FindProcess(s.window.PID); p != nil {
		device = p.Device
	}
	for _, gpu := range s.run.Facts.GPUs {
		if gpu.Index == device || device < 0 {
			return gpu // machines rarely mix GPUs, so if the device is unknown, the first one is taken
		}
	}
	return recording.GPU{}
}

// world returns the number of ranks, 0 if unknown.
func (s observed) world() int {
	if p := s.run.FindProcess(s.window.PID); p != nil {
		return p.World
	}
	return 0
}

// hasDeviceClock reports whether most steps were timed by the device.
func (s observed) hasDeviceClock() bool {
	n := 0
	for _, step := range s.window.Steps {
		if !math.IsNaN(step.DevicePeriod) {
			n++
		}
	}
	return 2*n > len(s.window.Steps)
}

// fromStorage returns the share of the bytes read that came from storage, not from the page
// cache; NaN if unknown.
func (s observed) fromStorage() float64 { return s.costs.DiskRate / s.costs.ReadRate }

// ratio returns the larger of two numbers over the smaller.
func ratio(a, b float64) float64 { return max(a/b, b/a) }

// deviceKind removes the index: "cuda:0" and "cuda:1" are of the same kind.
func deviceKind(device string) string {
	kind, _, _ := strings.Cut(device, ":")
	return kind
}
