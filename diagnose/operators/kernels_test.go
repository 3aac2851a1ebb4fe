package operators

import (
	"testing"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/recording"
)

func TestKernels(t *testing.T) {
	tl := &recording.Timeline{
		Names:   []string{"ProfilerStep#1", "forward", "aten::linear", "aten::addmm", "cudaLaunchKernel", "gemm", "bias", "Memcpy HtoD"},
		Threads: []recording.Thread{{PID: 1}}, Devices: []recording.Device{{PID: 1}}, End: 100,
		Host: recording.Calls{
			Start: []int64{0, 10, 20, 21, 22, 60}, End: []int64{100, 50, 40, 39, 30, 65},
			Name: []int32{0, 1, 2, 3, 4, 4}, Thread: make([]int32, 6),
			Kind:   []recording.CallKind{recording.Annotation, recording.Annotation, recording.Op, recording.Op, recording.Runtime, recording.Runtime},
			Shapes: []int32{-1, -1, -1, -1, -1, -1}, Types: []int32{-1, -1, -1, -1, -1, -1},
		},
		Device: recording.Work{
			Start: []int64{25, 35, 45, 70, 99}, End: []int64{34, 37, 50, 80, 120}, Name: []int32{5, 6, 7, 5, 5},
			Kind: []recording.WorkKind{recording.Kernel, recording.Kernel, recording.Copy, recording.Kernel, recording.Kernel},
			Call: []int32{4, 4, 4, 5, -1}, Device: make([]int32, 5),
		},
	}
	d := &idle.Device{From: 0, To: 99} // the last one begins behind it
	for by, inner := range map[Grouping]string{ByOperator: "aten::addmm", ByRange: "forward"} {
		got := GroupKernels(tl, d, by)
		if len(got) != 2 || got[0].Name != inner || got[0].Count != 2 || got[0].Time != 11 || got[1].Name != "" || got[1].Time != 10 {
			t.Errorf("by %s: %+v", by, got)
		} else if k := got[0].Kernels; len(k) != 2 || tl.Names[k[0].Name] != "gemm" || k[0].Time != 9 {
			t.Errorf("by %s: %+v", by, k)
		}
	}
}
