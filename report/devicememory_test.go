package report

import (
	"math"
	"testing"
)

// Parts of a device's memory add up to what is used, and what is unknown is left out.
func TestDeviceMemory(t *testing.T) {
	unknown := math.NaN()
	for _, c := range []struct {
		memory      DeviceMemory
		total, fill string
	}{
		{
			DeviceMemory{Used: 20e9, Total: 80e9, Tensors: 15e9, Reserved: 18e9},
			"20 GB of 80 GB",
			"tensors 15 GB at most, PyTorch's cache 3 GB, CUDA and other programs 2 GB",
		},
		{DeviceMemory{Used: 20e9, Total: unknown, Tensors: 19.9e9, Reserved: 19.9e9}, "20 GB", "tensors 19.9 GB at most"},
		{DeviceMemory{Used: 20e9, Total: 80e9, Tensors: unknown, Reserved: unknown}, "20 GB of 80 GB", ""},
		{DeviceMemory{Used: unknown, Total: 80e9, Tensors: 1e9, Reserved: 2e9}, "", ""},
	} {
		if got := c.memory.String(); got != c.total {
			t.Errorf("%+v is %q, want %q", c.memory, got, c.total)
		}
		if got := c.memory.Fill(); got != c.fill {
			t.Errorf("%+v is filled by %q, want %q", c.memory, got, c.fill)
		}
	}
}
