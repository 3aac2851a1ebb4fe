package hardware

// Link is a connection between host memory and the device.
type Link struct {
	Name     string
	Nominal  Figure    // bytes/s, one direction, x16
	Pinned   Figure    // bytes/s reached from page-locked memory on the device's NUMA node
	Pageable [2]Figure // bytes/s from pageable memory: expected low and high
	Reach    Reach     // how the device accesses the host's memory
}

// Reach says how a device accesses the host's memory.
type Reach string

// The ways of access. Over PCIe, the driver copies pageable memory to a staging buffer before
// sending it.
const (
	Staged    Reach = ""
	Coherent  Reach = "coherent"   // the device reads pageable memory directly, with the host's page tables
	OneMemory Reach = "one memory" // host and device share one memory: a copy crosses no link
)

const (
	bamPinned = "measured, author of BaM, github.com/ZaidQureshi/bam issue 54"
	nvbPinned = "measured, github.com/NVIDIA/nvbandwidth issue 24: 35-53 GB/s to an H100; the upper end, as copy " +
		"engines reach"
	pcieBase = "PCI Express Base Specification, 128b/130b coding, 16 lanes: 8, 16, 32 GT/s for 3.0, 4.0, 5.0"
	pageable = "assumption: a quarter to two thirds of pinned, as the driver stages the copy through its own buffer " +
		"with one CPU thread; bandwidthTest outputs in public repositories (2026-11) show 0.31 (K40c) and 0.39 " +
		"(A100: 10.0 GB/s)"
	pageable5 = "measured on an H100: 154 MB in 22 ms, 7.0 GB/s, beside 48 GB/s pinned (bench/gpu/RESULTS.md, 2026-11-26): " +
		"an eighth of pinned, as one CPU thread stages it however fast the link is"
	coherent = "pageable over pinned, measured on a GH200: 93.0 and 97.4 GiB/s, 0.955 (github.com/vortex-data/vortex " +
		"pull request 7815, 2026-05), and on a GB300: 1.61 and 1.69 (github.com/NVIDIA/cosmos-framework pull " +
		"request 150); the lower end is an assumption"
	sparkPageable = "measured on a DGX Spark: 1 GiB at 4.139 GB/s, and small copies many times slower than from " +
		"pinned memory (forums.developer.nvidia.com/t/354506, driver 580.95, 2025): the driver stages them there too"
)

// links lists the known host links, with 16 lanes for PCIe.
//
// A copy from the wrong NUMA node uses the same link but costs as much as a slower one: 12.2
// GB/s from the near node, 3.8 GB/s from the far one on PCIe 3.0 (P100,
// github.com/mpicbg-scicomp/gearshifft pull request 82, 2017-03).
var links = []Link{
	{
		Name: "pcie3", Nominal: Figure{15.75e9, pcieBase},
		Pinned:   Figure{12e9, bamPinned + "; 12.15 GB/s in github.com/mpicbg-scicomp/gearshifft pull request 82"},
		Pageable: [2]Figure{{12e9 / 4, pageable}, {12e9 * 2 / 3, pageable}},
	},
	{
		Name: "pcie4", Nominal: Figure{31.5e9, pcieBase},
		Pinned:   Figure{25e9, bamPinned + "; 25.13 GB/s to an A100 in github.com/NVIDIA/nvbandwidth issue 42"},
		Pageable: [2]Figure{{25e9 / 4, pageable}, {25e9 * 2 / 3, pageable}},
	},
	{
		Name: "pcie5", Nominal: Figure{63e9, pcieBase}, Pinned: Figure{53e9, nvbPinned},
		Pageable: [2]Figure{{53e9 / 8, pageable5}, {53e9 * 2 / 3, pageable}},
	},
	{
		Name: "nvlink-c2c",
		Nominal: Figure{
			450e9,
			"GH200: 900 GB/s both directions, halved; github.com/NVIDIA/nvbandwidth issue 41, 2025-05",
		},
		Pinned: Figure{
			346e9,
			"measured, copy engine, host to device, github.com/NVIDIA/nvbandwidth issue 23, 2024-08",
		},
		Pageable: [2]Figure{{346e9 * 0.9, coherent}, {346e9 * 0.955, coherent}},
		Reach:    Coherent,
	},
	{
		Name: "one-memory",
		Nominal: Figure{
			273e9 / 2, "NVIDIA DGX Spark, 273 GB/s of LPDDR5X, halved: a copy reads and writes it; read second-hand " +
				"(ai-infrastructure.net/dgx-spark, 2026-06)",
		},
		Pinned: Figure{
			218e9 / 2, "assumption: half of the 218 GB/s that a GB10 was measured to reach " +
				"(github.com/huggingface/kernels pull request 283, 2026-02), as a copy reads and writes",
		},
		Pageable: [2]Figure{
			{4.139e9, sparkPageable}, {218e9 / 3, "assumption: two thirds of pinned, as over PCIe; " + sparkPageable},
		},
		Reach: OneMemory,
	},
}
