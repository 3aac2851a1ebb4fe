package measure

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict/device"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// MeasuredIn returns the step of a recording without its wait for input, of the trainer whose
// device waits most. It is an interval from the device's busy time to the time that it did not
// wait: what is between cannot be seen from outside.
func MeasuredIn(run *recording.Run) (device.Measured, error) {
	c, ok := Slowest(run)
	switch {
	case !ok:
		return device.Measured{}, errors.New("it has no steady steps: record some more, with stoker observe -- " +
			"python train.py")
	case len(run.Facts.GPUs) == 0:
		return device.Measured{}, errors.New("it has no GPU, and a step without a GPU says nothing about one with a GPU")
	case run.Facts.Model != nil && run.Facts.Model.Device == "cpu":
		return device.Measured{}, errors.New("its model computes on the CPU: its step is of no GPU")
	}
	loop := c.loopTime(true)
	batch := c.Window.Samples()
	gpu := deviceOf(run, c.Window.PID)
	if !(loop.High > 0) {
		return device.Measured{}, errors.New("its steps are all waiting: no time of the device is in them")
	}
	low := math.Max(loop.Low, loop.High/10) // nothing is a tenth busy all the time
	m := device.Measured{
		Step: stoker.Interval{Low: low, Point: math.Sqrt(low * loop.High), High: loop.High}, Batch: batch,
		GPU: gpu.Name, GPUs: float64(len(Trainers(run))), Precision: halfOf(run), Emulated: gpu.Emulated,
	}
	name := gpu.Name
	if gpu.Emulated {
		name = "an emulated " + name
	}
	if !(batch >= 1) {
		return device.Measured{}, fmt.Errorf("it does not hold the batch size: say it with --measured '%s at "+
			"batch N on %s'", quantity.Seconds(device.RoundToThree(m.Step.Point)), gpu.Name)
	}
	m.Text = fmt.Sprintf("%s a step of %s without its waits, on %s",
		quantity.Seconds(device.RoundToThree(m.Step.Point)), quantity.About(batch), name)
	return m, nil
}

// deviceOf returns the GPU of a process, the first one where that is unknown.
func deviceOf(run *recording.Run, pid int) recording.GPU {
	if p := run.FindProcess(pid); p != nil {
		for _, gpu := range run.Facts.GPUs {
			if gpu.Index == p.Device {
				return gpu
			}
		}
	}
	return run.Facts.GPUs[0]
}

// halfOf returns the precision of a run whose parameters have 16 bits. Where they have
// 32 nothing is known: autocast computes in another one.
func halfOf(run *recording.Run) hardware.Precision {
	if run.Facts.Model == nil {
		return device.AnyPrecision
	}
	switch strings.TrimPrefix(run.Facts.Model.DType, "torch.") {
	case "bfloat16":
		return hardware.BF16
	case "float16", "half":
		return hardware.FP16
	}
	return device.AnyPrecision
}
