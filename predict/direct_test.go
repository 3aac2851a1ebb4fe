package predict

import (
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
)

// A device that reads by itself reaches what was published of an L40S on PCIe 4.0: 26.1 GB/s from
// local NVMe and 28.3 GB/s over NFS with RDMA. No core of the host is the limit, whatever it was.
func TestReadDirectly(t *testing.T) {
	link, _ := hardware.FindLink("pcie4")
	const sample = 64e6
	setup := Setup{
		Batch: 1, Step: stoker.Exactly(1e-3), Sample: stoker.Exactly(sample), Decoded: stoker.Exactly(10 * sample),
		PrepareCPU: stoker.Exactly(1), Workers: 1, Cores: 1, Storage: stoker.Exactly(100e9), Link: link,
	}
	byHost, err := setup.Solve()
	if err != nil {
		t.Fatal(err)
	}
	direct, err := setup.ReadDirectly().Solve()
	if err != nil {
		t.Fatal(err)
	}
	if byHost.Bound.Resource == stoker.Link || direct.Bound.Resource != stoker.Link {
		t.Errorf("limited by %s, and by %s if the device reads", byHost.Bound.Resource, direct.Bound.Resource)
	}
	for _, published := range []float64{26.1e9, 28.3e9} {
		if ratio := direct.Throughput.Point * sample / published; ratio < 0.85 || ratio > 1.15 {
			t.Errorf("%.3g bytes/s, published %.3g", direct.Throughput.Point*sample, published)
		}
	}
}
