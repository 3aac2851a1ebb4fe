package verify

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/recording"
)

// Start values of "the same work". [J]
const (
	batchTolerance = 0.01 // last batches of an epoch may be smaller
	bytesTolerance = 0.10 // samples of text or clips of sound vary in length

	// Kernel time is utilisation times step, and utilisation says only that some
	// kernel was running: launches without gaps inflate it. It takes a factor of
	// two to call the model another one on that evidence.
	kernelDoubt  = 1.25
	kernelRefuse = 2.0

	othersDoubt = 0.15 // cores by which the use of neighbours may differ: of two that is a step of 8 %
	coldShare   = 0.20 // of the bytes read came from storage: the run met a cold cache
	warmShare   = 0.05 // hardly any did: the run met a warm one
)

// work is what was found about whether two runs did the same.
type work struct {
	was, now string // what the two are called
	basis    Basis
	differ   []string // facts that make a comparison meaningless
	warnings []string
	besides  []string // what differs though the work is the same
}

// refusal names every fact that differs, "" where none does.
func (w work) refusal() string {
	if len(w.differ) == 0 {
		return ""
	}
	return "the runs did different work: " + strings.Join(w.differ, ", ")
}

func (w *work) refuse(format string, args ...any) {
	w.differ = append(w.differ, fmt.Sprintf(format, args...))
}

func (w *work) addWarning(format string, args ...any) {
	w.warnings = append(w.warnings, fmt.Sprintf(format, args...))
}

// compareWork holds two runs against each other, fact by fact. A fact that is
// unknown on either side proves nothing. Settings are what one changes on
// purpose and are no different work, precision and device included: changed
// lists them.
func compareWork(was, now observed, changed []stoker.Change) work {
	w := work{was: was.name, now: now.name, basis: PerStep}
	w.data(was.judgedLoader(), now.judgedLoader())
	w.compareBatch(was, now)
	w.compareDevice(was, now)
	w.compareModel(was, now, changed)
	return w
}

func (w *work) data(was, now recording.Loader) {
	if was.Dataset != "" && now.Dataset != "" && was.Dataset != now.Dataset {
		w.refuse("data set %s %s, %s %s", was.Dataset, w.was, now.Dataset, w.now)
	}
	if was.Samples > 0 && now.Samples > 0 && was.Samples != now.Samples {
		w.refuse("data set of %d samples %s, %d %s", was.Samples, w.was, now.Samples, w.now)
	}
}

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
		return // bytes then differ by themselves
	}
	if a.BatchBytes > 0 && b.BatchBytes > 0 && n > 0 && m > 0 {
		if x, y := a.BatchBytes/n, b.BatchBytes/m; ratio(x, y) > 1+bytesTolerance {
			w.refuse("a sample is %.0f bytes %s, %.0f %s", x, w.was, y, w.now)
		}
	}
}

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

// compareModel looks for evidence that another model ran: its parameters' type and the
// time its kernels take. Where precision or device were changed on purpose,
// both may differ.
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
	case off > kernelRefuse && w.basis == PerStep: // a larger batch is legitimately cheaper per sample
		w.refuse("the device computes %.2g s per step %s, %.2g s %s: another model, or a throttled device", x, w.was,
			y, w.now)
	case off > kernelDoubt:
		w.addWarning("the device computes %.2g s %s %s, %.2g s %s: the model or its speed may have changed", x, w.basis,
			w.was, y, w.now)
	}
}

// listDoubts is what makes the mean of one run uncertain by itself. alone says that no other
// run of its side shows by how much.
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

// circumstances are what differs between two runs though the work was the same.
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

// judgedGPU is the device that the judged trainer used; the zero GPU where unknown.
func (s observed) judgedGPU() recording.GPU {
	device := -1
	if p := s.run.FindProcess(s.window.PID); p != nil {
		device = p.Device
	}
	for _, gpu := range s.run.Facts.GPUs {
		if gpu.Index == device || device < 0 {
			return gpu // machines mix GPUs so seldom that the first stands for an unknown one
		}
	}
	return recording.GPU{}
}

// world is the number of ranks, 0 where unknown.
func (s observed) world() int {
	if p := s.run.FindProcess(s.window.PID); p != nil {
		return p.World
	}
	return 0
}

// hasDeviceClock reports whether most steps are timed by the device.
func (s observed) hasDeviceClock() bool {
	n := 0
	for _, step := range s.window.Steps {
		if !math.IsNaN(step.DevicePeriod) {
			n++
		}
	}
	return 2*n > len(s.window.Steps)
}

// fromStorage is the share of the bytes read that the page cache did not hold;
// NaN where unknown.
func (s observed) fromStorage() float64 { return s.costs.DiskRate / s.costs.ReadRate }

// ratio is the larger of two numbers over the smaller.
func ratio(a, b float64) float64 { return max(a/b, b/a) }

// deviceKind drops the index: "cuda:0" and "cuda:1" are the same kind.
func deviceKind(device string) string {
	kind, _, _ := strings.Cut(device, ":")
	return kind
}
