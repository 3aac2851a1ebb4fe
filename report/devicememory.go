package report

import (
	"fmt"
	"strings"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// DeviceMemory is what a GPU's memory holds. Bytes, NaN if unknown.
type DeviceMemory struct {
	Used, Total float64 // of all programs, in the mean of the window
	Tensors     float64 // PyTorch's tensors at their fullest
	Reserved    float64 // what PyTorch's allocator holds at most: its tensors and its cache
}

// ReadDeviceMemory returns what a GPU's memory holds in a window, or in the whole recording without
// one.
func ReadDeviceMemory(run *recording.Run, g recording.GPU, w recording.Window) DeviceMemory {
	used, _ := AverageGPU(run, g, w)
	subject := fmt.Sprintf("gpu/%d", g.Index)
	return DeviceMemory{
		Used: used, Total: stat.Value(g.MemoryBytes), Tensors: run.Find(recording.PeakAllocated, subject).Largest(),
		Reserved: run.Find(recording.PeakReserved, subject).Largest(),
	}
}

// String returns "16.3 GB of 85.5 GB"; "" if that is unknown.
func (m DeviceMemory) String() string {
	switch {
	case !(m.Used > 0):
		return ""
	case !(m.Total > 0):
		return quantity.AboutBytes(m.Used)
	}
	return quantity.AboutBytes(m.Used) + " of " + quantity.AboutBytes(m.Total)
}

// leastPart is the share of the used memory from which a part of it is named.
const leastPart = 0.01

// Fill says what fills the memory; "" if PyTorch's part is unknown.
func (m DeviceMemory) Fill() string { return strings.Join(m.Parts(), ", ") }

// Parts lists what fills the memory; none if PyTorch's part is unknown.
func (m DeviceMemory) Parts() []string {
	if !(m.Used > 0) || !(m.Reserved >= m.Tensors) {
		return nil
	}
	parts := []string{"tensors " + quantity.AboutBytes(m.Tensors) + " at most"}
	for _, part := range []struct {
		bytes float64
		what  string
	}{{m.Reserved - m.Tensors, "PyTorch's cache "}, {m.Used - m.Reserved, "CUDA and other programs "}} {
		if part.bytes >= leastPart*m.Used {
			parts = append(parts, part.what+quantity.AboutBytes(part.bytes))
		}
	}
	return parts
}
