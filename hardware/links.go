package hardware

// Link is a way from host memory to the device.
type Link struct {
	Name     string
	Nominal  Figure    // bytes/s, one direction, x16
	Pinned   Figure    // bytes/s reached from page-locked memory on the device's own NUMA node
	Pageable [2]Figure // bytes/s from pageable memory: expected low and high
}

const (
	bamPinned = "measured, author of BaM, github.com/ZaidQureshi/bam issue 54"
	nvbPinned = "measured, github.com/NVIDIA/nvbandwidth issue 24: 35-53 GB/s to an H100; the upper end, as copy " +
		"engines reach"
	pcieBase = "PCI Express Base Specification, 128b/130b coding, 16 lanes: 8, 16, 32 GT/s for 3.0, 4.0, 5.0"
	pageable = "assumption: a quarter to two thirds of pinned, as the driver stages the copy through its own buffer " +
		"with one CPU thread; bandwidthTest outputs in public repositories (2026-11) show 0.31 (K40c) and 0.39 " +
		"(A100: 10.0 GB/s)"
)

// links are the known host links, 16 lanes.
//
// A copy from the wrong NUMA node is no link of its own but costs as much as one:
// 12.2 GB/s from the near node, 3.8 GB/s from the far one on PCIe 3.0 (P100,
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
		Pageable: [2]Figure{{53e9 / 4, pageable}, {53e9 * 2 / 3, pageable}},
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
		Pageable: [2]Figure{{346e9 / 4, pageable}, {346e9 * 2 / 3, pageable}},
	},
}
