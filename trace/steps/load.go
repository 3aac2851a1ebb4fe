package steps

import (
	"slices"

	"github.com/stoker-dev/stoker/recording"
)

// leastTensors is how many copies to the device before its first computation are a model that is loaded. [J]
// A batch has a few tensors, a network with a dozen layers some tens.
const leastTensors = 16

// fills is the part of a load that kernels may take: they fill what no copy brings. [J]
const fills = 0.05

// modelLoaded is when a program of PyTorch has copied its model to the device, before it computes anything, and
// when its last work ends; the whole recording if its work does not begin so. What comes once says nothing
// of how batches are copied.
func (f *finder) modelLoaded(pid int) (loaded, end int64) {
	w := &f.t.Device
	if !slices.ContainsFunc(f.t.Names, recording.TorchSign) {
		return 0, f.t.End
	}
	var copied, filled, computed int64 // time of the load's copies and kernels, and of the kernels behind it
	tensors := 0
	for i := range w.Start {
		if f.t.Devices[w.Device[i]].PID != pid {
			continue
		}
		length := w.End[i] - w.Start[i]
		end = max(end, w.End[i])
		switch {
		case w.Kind[i] == recording.Kernel:
			computed += length
		case w.Kind[i] != recording.Copy || !recording.ToDevice(f.t.Names[w.Name[i]]):
		case float64(filled+computed) <= fills*float64(copied+length):
			copied, filled, computed = copied+length, filled+computed, 0
			loaded, tensors = w.End[i], tensors+1
		}
	}
	if tensors < leastTensors || computed <= filled {
		return 0, f.t.End
	}
	return loaded, end
}
