package predict

import (
	"math"

	"github.com/stoker-dev/stoker"
)

// NoWork is the core time of a sample that is used as it was read: nothing, but more than 0, which
// is a cost that was not given.
const NoWork = 1e-12

// directReads are the reads that GPUDirect Storage has under way for a device, as its benchmark gdsio
// has them at its best. [J]
const directReads = 16

// ReadDirectly returns the setup with a device that reads without the CPU (GPUDirect Storage). The
// stored data crosses the host link once, at the rate of page-locked copies, and no core
// prepares anything. Published reads of 26.1 GB/s from NVMe and 28.3 GB/s over NFS with RDMA to
// an L40S on PCIe 4.0 (gds-report.pages.dev, read 2026-11) are close to that link's 25 GB/s.
func (s Setup) ReadDirectly() Setup {
	s.Pinned, s.Decoded = true, s.Sample
	s.PrepareCPU, s.HandOver, s.PrepareRate = stoker.Exactly(NoWork), stoker.Exactly(NoWork), stoker.Interval{}
	s.Spread, s.Moving = 0, NoWork
	s = s.WithWorkers(directReads)
	s.Cores = math.Max(orNone(s.Cores), 2*directReads*atLeastOne(s.GPUs)) // none of them binds
	return s
}
