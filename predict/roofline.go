package predict

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict/bounds"
	"github.com/stoker-dev/stoker/predict/device"
)

// Roofline is what a device can do over arithmetic intensity: FLOP/s, limited by its peak and by
// the rate at which bytes reach it. The line of device memory counts bytes of device memory;
// those of link and input count input bytes, as copied or as stored.
type Roofline struct {
	GPU       hardware.GPU
	Precision hardware.Precision
	Peak      float64    // FLOP/s, dense
	Diagonals []Diagonal // device memory, host link, input supply; unknown ones left out
	Points    []Workpoint
	Slower    []SlowerPrecision // precisions that some points compute in
	Sources   [2]string         // of the peak, and of the memory's rate
}

// SlowerPrecision is a precision with a lower peak.
type SlowerPrecision struct {
	Precision hardware.Precision
	Peak      float64 // FLOP/s, dense
}

// Diagonal is one sloped line of a roofline: FLOP/s = Rate x intensity.
type Diagonal struct {
	Name  string  // DeviceMemory, HostLink or InputSupply
	Over  string  // which bytes its intensity counts: "device bytes", "copied bytes" or "stored bytes"
	Rate  float64 // bytes/s
	Ridge float64 // FLOP per byte at which it meets the peak
}

// The names of diagonals, and of the flat line above them.
const (
	DeviceMemory = "device memory"
	HostLink     = "host link"
	InputSupply  = "input supply"
	peakRate     = "peak"
)

// Workpoint is one workload on a roofline. NaN is unknown.
type Workpoint struct {
	Name      string
	Batch     float64
	Device    float64         // FLOP per byte of device memory
	Copied    float64         // FLOP per byte that is copied to the device
	Stored    float64         // FLOP per stored byte
	Attained  stoker.Interval // FLOP/s while the device computes
	Delivered stoker.Interval // FLOP/s with the setup's whole path
	Roof      float64         // the lowest line above it, FLOP/s; of those that are known
	Bound     string          // which line that is: PeakRate, or a diagonal's name
}

// RooflineOf draws the lines of a device. link and input are bytes/s to one
// device over its host link and out of its input path; NaN or 0 leaves a line
// out. An error says that the device's peak or bandwidth is not known.
func RooflineOf(gpu hardware.GPU, precision hardware.Precision, link, input float64) (Roofline, error) {
	peak := gpu.Peak(precision)
	r := Roofline{
		GPU: gpu, Precision: precision, Peak: peak.Value, Sources: [2]string{peak.Source, gpu.MemoryRate.Source},
	}
	if !(r.Peak > 0) {
		why := device.Load{GPU: gpu, Precision: precision}.CheckPrecision()
		if why == nil {
			why = fmt.Errorf("choose %s", device.ListPrecisions(gpu))
		}
		return r, fmt.Errorf("roofline of %q in %q: %w", gpu.Name, precision, why)
	}
	if !(gpu.MemoryRate.Value > 0) {
		return r, fmt.Errorf("roofline of %q: its memory bandwidth is not known", gpu.Name)
	}
	for _, d := range []Diagonal{
		{Name: DeviceMemory, Over: "device bytes", Rate: gpu.MemoryRate.Value},
		{Name: HostLink, Over: "copied bytes", Rate: link},
		{Name: InputSupply, Over: "stored bytes", Rate: input},
	} {
		if d.Rate > 0 && !math.IsInf(d.Rate, 0) {
			d.Ridge = r.Peak / d.Rate
			r.Diagonals = append(r.Diagonals, d)
		}
	}
	return r, nil
}

// DrawRoofline draws the setup's device, its link and its input path, with its
// workload as a point.
func (s Setup) DrawRoofline() (Roofline, error) {
	p, err := s.compileChecked()
	if err != nil {
		return Roofline{}, err
	}
	r, err := RooflineOf(s.Load.GPU, s.Load.Precision, p.link[bounds.Likely], s.inputRate().Point)
	if err != nil {
		return r, err
	}
	return r, r.Add(s)
}

// inputRate returns what the setup's input path delivers to one GPU, in stored bytes/s: by its
// storage, workers, cores and collecting process, whatever the device takes. It counts the parts
// that are known.
func (s Setup) inputRate() stoker.Interval {
	p, err := s.compileChecked()
	if err != nil || !bounds.IsSet(s.Sample) {
		return stoker.Unknown()
	}
	p.curved, p.step = false, [3]float64{} // a device that takes no time
	rate := func(v bounds.View) float64 {
		t := p.partTimes(v, v)
		t[onCopy] = 0
		input, _ := p.slowestInput(t)
		return p.batch * p.sample[v] / input
	}
	if i := bounds.InEachView(rate); !math.IsInf(i.Point, 0) {
		return i
	}
	return stoker.Unknown()
}

// Add puts the setup's workload on the roofline.
func (r *Roofline) Add(s Setup) error {
	p, err := s.compileChecked()
	if err != nil {
		return err
	}
	work := s.Load.StepFLOP(s.Batch)
	if !(work > 0) {
		return fmt.Errorf("point on the roofline: the FLOP of %q are not known: name one of the known models",
			s.Load.Workload.Name)
	}
	w := Workpoint{
		Name: s.Load.Workload.Title, Batch: s.Batch, Device: work / s.Load.DeviceBytes(s.Batch),
		Copied:    work / (s.Batch * bounds.Given(s.Decoded).Point),
		Stored:    work / (s.Batch * bounds.Given(s.Sample).Point),
		Attained:  bounds.Divide(stoker.Exactly(work), bounds.InEachView(p.compute)),
		Delivered: bounds.Divide(stoker.Exactly(work), p.solvePoint().Step),
	}
	w.Roof, w.Bound = r.Peak, peakRate
	at := map[string]float64{DeviceMemory: w.Device, HostLink: w.Copied, InputSupply: w.Stored}
	for _, d := range r.Diagonals {
		if line := d.Rate * at[d.Name]; line < w.Roof {
			w.Roof, w.Bound = line, d.Name
		}
	}
	r.Points = append(r.Points, w)
	return nil
}
