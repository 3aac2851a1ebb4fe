package hardware

import "strings"

// Figure is one number with its source.
type Figure struct {
	Value  float64
	Source string // datasheet, paper or measurement, with date
}

// GPU is what one model of GPU can do.
type GPU struct {
	Name         string // our key: "a100-80gb-sxm"
	Title        string // the vendor's name
	Match        []string
	FP32         Figure // FLOP/s without Tensor Cores
	TF32         Figure // dense FLOP/s; zero where the device has none
	FP16         Figure // dense FLOP/s with Tensor Cores, fp16 or bf16, fp32 accumulate
	FP8          Figure // dense FLOP/s; zero where the device has none
	INT8         Figure // dense operations/s; zero where the device has none
	SMs          Figure // streaming multiprocessors (AMD: compute units)
	MemoryBytes  Figure
	MemoryRate   Figure // bytes/s
	Link         string // key of the host link
	NVLink       Figure // bytes/s to the other GPUs, one direction; zero where there is none
	PowerLimit   Figure // watts
	IdlePower    Figure // watts with nothing running
	Price        Figure // dollars per hour, on demand, one GPU with its share of the host
	ComputeMajor int    // compute capability; 0.0 where it is not NVIDIA's
	ComputeMinor int
}

// Precision is a data type that a model computes in.
type Precision string

// The precisions that peaks are known for.
const (
	FP32 Precision = "fp32" // without Tensor Cores
	TF32 Precision = "tf32"
	FP16 Precision = "fp16" // or bf16: the peaks are the same
	FP8  Precision = "fp8"
	INT8 Precision = "int8"
)

// Peak is the dense peak in a precision, FLOP/s; the zero Figure where the device
// has no such unit or it is not known.
func (g GPU) Peak(p Precision) Figure {
	switch p {
	case FP32:
		return g.FP32
	case TF32:
		return g.TF32
	case FP16:
		return g.FP16
	case FP8:
		return g.FP8
	case INT8:
		return g.INT8
	}
	return Figure{}
}

// Link is a way from host memory to the device.
type Link struct {
	Name     string
	Nominal  Figure    // bytes/s, one direction, x16
	Pinned   Figure    // bytes/s reached from page-locked memory
	Pageable [2]Figure // bytes/s from pageable memory: expected low and high
}

// Storage is a class of storage.
type Storage struct {
	Name string
	Rate Figure // bytes/s, sequential read
	IOPS Figure // random 4 KiB reads per second
}

const (
	a100Sheet = "NVIDIA A100 80GB datasheet, nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf, 2021; read second-hand (glennklockwood.com/garden/processors/A100, 2026-11)"
	h100Sheet = "NVIDIA H100 datasheet, 2022-09; sparse figures halved; read second-hand (hmc-tech.com, 2026-11)"
	h200Sheet = "NVIDIA H200 datasheet, 2023-11; sparse figures halved; read second-hand (hmc-tech.com, 2026-11)"
	bamPinned = "measured, author of BaM, github.com/ZaidQureshi/bam issue 54"
	nvbPinned = "measured, github.com/NVIDIA/nvbandwidth issue 24: 35-53 GB/s to an H100; the upper end, as copy engines reach"
	pcieBase  = "PCI Express Base Specification, 128b/130b coding, 16 lanes: 8, 16, 32 GT/s for 3.0, 4.0, 5.0"
	pageable  = "prior: a quarter to two thirds of pinned; the copy is staged through a driver buffer by one CPU thread (to be measured on a GPU machine)"
)

// GPUs are the known devices.
var GPUs = []GPU{
	{
		Name: "a100-80gb-sxm", Title: "NVIDIA A100-SXM4-80GB", Match: []string{"A100-SXM4-80GB", "A100-SXM-80GB", "a100-80gb-sxm"},
		FP16: Figure{312e12, a100Sheet}, TF32: Figure{156e12, a100Sheet}, FP32: Figure{19.5e12, a100Sheet},
		MemoryBytes: Figure{80 * (1 << 30), a100Sheet}, MemoryRate: Figure{2039e9, a100Sheet},
		Link: "pcie4", PowerLimit: Figure{400, a100Sheet}, ComputeMajor: 8,
	},
	{
		Name: "h100-sxm", Title: "NVIDIA H100 80GB HBM3", Match: []string{"H100 80GB HBM3", "H100-SXM", "h100-sxm"},
		FP16: Figure{989.4e12, h100Sheet}, TF32: Figure{494.7e12, h100Sheet}, FP32: Figure{66.9e12, h100Sheet},
		MemoryBytes: Figure{80 * (1 << 30), h100Sheet}, MemoryRate: Figure{3350e9, h100Sheet},
		Link: "pcie5", PowerLimit: Figure{700, h100Sheet}, ComputeMajor: 9,
	},
	{
		Name: "h200", Title: "NVIDIA H200", Match: []string{"H200"},
		FP16: Figure{989.4e12, h200Sheet}, TF32: Figure{494.7e12, h200Sheet}, FP32: Figure{66.9e12, h200Sheet},
		MemoryBytes: Figure{141e9, h200Sheet}, MemoryRate: Figure{4800e9, h200Sheet},
		Link: "pcie5", PowerLimit: Figure{700, h200Sheet}, ComputeMajor: 9,
	},
}

// Links are the known host links, 16 lanes.
var Links = []Link{
	{
		Name: "pcie3", Nominal: Figure{15.75e9, pcieBase}, Pinned: Figure{12e9, bamPinned},
		Pageable: [2]Figure{{12e9 / 4, pageable}, {12e9 * 2 / 3, pageable}},
	},
	{
		Name: "pcie4", Nominal: Figure{31.5e9, pcieBase}, Pinned: Figure{25e9, bamPinned},
		Pageable: [2]Figure{{25e9 / 4, pageable}, {25e9 * 2 / 3, pageable}},
	},
	{
		Name: "pcie5", Nominal: Figure{63e9, pcieBase}, Pinned: Figure{53e9, nvbPinned},
		Pageable: [2]Figure{{53e9 / 4, pageable}, {53e9 * 2 / 3, pageable}},
	},
}

// Storages are the known classes of storage.
var Storages = []Storage{
	{
		Name: "nvme",
		Rate: Figure{6.5e9, "Samsung PM9A3, PCIe 4.0 x4, as announced: 6,500 MB/s sequential read (computerbase.de, 2020-05)"},
		IOPS: Figure{900e3, "the same announcement: 900,000 random reads/s"},
	},
}

// FindGPU returns the row whose name is part of what NVML or a person calls the
// device; false where no row fits.
func FindGPU(name string) (GPU, bool) {
	for _, gpu := range GPUs {
		for _, part := range gpu.Match {
			if strings.Contains(strings.ToLower(name), strings.ToLower(part)) {
				return gpu, true
			}
		}
	}
	return GPU{}, false
}

// FindLink returns a host link by name; false where there is none.
func FindLink(name string) (Link, bool) {
	for _, link := range Links {
		if link.Name == name {
			return link, true
		}
	}
	return Link{}, false
}

// Machine is the hardware that a forecast is for.
type Machine struct {
	GPU     GPU     // zero where unknown
	Link    Link    // zero where unknown
	Storage Storage // zero where unknown
}

// MachineOf returns the machine with a GPU of that name; zero rows where it is
// unknown.
func MachineOf(gpuName string) Machine {
	gpu, known := FindGPU(gpuName)
	if !known {
		return Machine{}
	}
	link, _ := FindLink(gpu.Link)
	return Machine{GPU: gpu, Link: link}
}
