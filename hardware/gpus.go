package hardware

// mib is a mebibyte, the unit in which drivers report memory.
const mib = 1 << 20

// Sources of several rows. "Read second-hand" means that the figures of the document were read
// in the place named, not in the document.
const (
	a100Paper = "NVIDIA Ampere Architecture In-Depth, developer.nvidia.com, 2020-05, table 3 of P100, V100 and A100, " +
		"dense; read second-hand (transcript in a public repository, 2026-11)"
	a100Sheet = "NVIDIA A100 80GB data sheet, nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf, 2021; read " +
		"second-hand (glennklockwood.com/garden/processors/A100, 2026-11)"
	a100Kinds = "NVIDIA A100 data sheet, the four kinds side by side; read second-hand " +
		"(thundercompute.com/blog/nvidia-a100-specs-full-guide, 2026-05)"
	h100Sheet = "NVIDIA H100 data sheet, 2022-09; sparse figures halved; read second-hand (hmc-tech.com and " +
		"glennklockwood.com/garden/processors/h100, 2026-11)"
	h100Kinds = "NVIDIA H100 data sheet, SXM and PCIe side by side; sparse figures halved; read second-hand " +
		"(archive-lib.hpctech.co.jp/gpuproduct/nvidia-h100.html, 2026-11)"
	sameChip  = h100Sheet + "; the H200 has the same chip"
	h800      = "as the H100 SXM, of whose chip it is (aiwiki.ai/wiki/nvidia_h800 and philisun.com, 2026-11)"
	h200Sheet = "NVIDIA H200 data sheet, 2023-11; sparse figures halved; read second-hand (hmc-tech.com, 2026-11)"
	b200Sheet = "NVIDIA Blackwell data sheet, HGX B200 at 1,000 W; sparse figures halved; read second-hand " +
		"(glennklockwood.com/garden/processors/B200, 2026-11)"
	b200Probe = "device properties of a B200, github.com/pytorch/ao pull request 4002, 2026-03"
	v100PCIe  = "NVIDIA V100 data sheet, 2018, PCIe column; read second-hand (table in a public repository, 2026-11: " +
		"14 and 112 TFLOP/s, 900 GB/s, 250 W)"
	t4Sheet = "NVIDIA T4 data sheet, 2018; read second-hand (geektopia.es, 2018-09; " +
		"sysrqmts.com/en/gpus/nvidia/tesla/t4, 2026-11)"
	a10Sheet = "NVIDIA A10 data sheet, 2021, dense figures; read second-hand (table in a public repository, " +
		"2026-11; sysrqmts.com, 2026-11)"
	l4Sheet = "NVIDIA L4 data sheet, 2023; sparse figures halved; read second-hand " +
		"(grokipedia.com/page/NVIDIA_L4_vs_L40S and store.sourcecode.com, 2026-11)"
	l40sSheet = "NVIDIA L40S data sheet, 2023; sparse figures halved; read second-hand (mullet.se product 355414 and " +
		"omegaco.ae, 2026-11)"
	adaPaper = "NVIDIA Ada GPU architecture white paper v2.1, appendix A, dense, FP32 accumulate (FP8: 330.3, " +
		"corrected in v2.02); read second-hand (quoted in public repositories, 2026-11)"
	ga102 = "NVIDIA GA102 white paper, 2020; read second-hand (notes in a public repository and " +
		"holynerdvana.blogspot.com, 2022-10)"
	a6000Sheet = "NVIDIA RTX A6000 data sheet, 2020; sparse figures halved; read second-hand (Microway's comparison of " +
		"Ampere GPUs, quoted by llmperf.net, 2026-11)"
	blackwellGeForce = "NVIDIA RTX Blackwell GPU architecture white paper, table 3, dense, FP32 accumulate; read " +
		"second-hand (public repositories, text search 2026-11)"
	cdna3 = "AMD CDNA 3 white paper, dense, and ROCm documentation, MI300 microarchitecture; read second-hand " +
		"(tables in public repositories, 2026-11)"
	nvlink = "both directions on the sheet, halved; 25 GB/s per link and direction, github.com/open-mpi/hwloc issue " +
		"574, 2023-03: "
)

const (
	gb200Sheet = "NVIDIA Blackwell data sheet, B200 of a GB200 at 1,200 W, dense column; read second-hand " +
		"(glennklockwood.com/garden/processors/B200, 2026-11)"
	t4gChip = "the T4's chip at the same clock, TU104 with 2,560 cores at 1,590 MHz and 320 tensor cores " +
		"(technical.city/en/video/Tesla-T4G, read 2026-11); " + t4Sheet
	gh200Sheet = "NVIDIA GH200 data sheet, 2023-11, one superchip; sparse figures halved; read second-hand " +
		"(aiwiki.ai/wiki/nvidia_gh200 and artificial-intelligence-wiki.com, 2026-11)"
	sameHopper = h100Sheet + "; the GH200 has the same chip"
	gb300Sheet = "NVIDIA GB300 NVL72 data sheet, per GPU, dense; read second-hand " +
		"(verda.com/blog/gb300-nvl72-architecture, 2026-11)"
	gb10Sheet = "NVIDIA DGX Spark, docs.nvidia.com/dgx/dgx-spark hardware overview; read second-hand " +
		"(ai-infrastructure.net/dgx-spark, 2026-06)"
	gb10Peak = "assumption: 1 PFLOP/s of sparse FP4 on the sheet, halved for dense and for each doubling of bits; " +
		"92.3 TFLOP/s measured in bf16 (github.com/huggingface/kernels pull request 283, 2026-02)"
	tpuSheet = "docs.cloud.google.com/tpu/docs/tpu7x, table of v5p, v6e and TPU7x, read 2026-11"
	tpuV5e   = "docs.cloud.google.com/tpu/docs/v5e, table of the chip, read 2026-11"
	tpuV6e   = "docs.cloud.google.com/tpu/docs/v6e, table of the chip, read 2026-11"
	tpuLinks = "; both directions, halved: all inter-chip links of the chip together"
	trn2Page = "awsdocs-neuron.readthedocs-hosted.com, Trainium2 architecture, v2.29.0, dense, read 2026-11"
	cdna4    = "AMD at ISSCC 2026: 5 PFLOP/s of FP8 (world-today-news.com, 2026-02); read second-hand"
)

// Idle power: output of nvidia-smi and rocm-smi for devices without a process.
const (
	idleOf = "nvidia-smi without a process, as printed in public repositories (text search, 2026-11), median of "
	idleAt = "; an unloaded driver (no persistence mode) and a hot room show more"
)

// Prices per hour. They change by tens of per cent a year, so a source names the commit of its
// catalog.
const (
	lambda = "Lambda on demand, github.com/skypilot-org/skypilot-catalog v8/lambda/vms.csv at 0f40703, read 2026-11: "
	runpod = "RunPod secure cloud, github.com/skypilot-org/skypilot-catalog "
	aws    = "AWS EC2 on demand, us-east-1, Linux; read second-hand (several public repositories, one checked " +
		"against the price API, 2026-09): "
)

// GPUs lists the known devices.
var GPUs = []GPU{
	{
		Name: "v100-sxm-16gb", Title: "Tesla V100-SXM2-16GB", Match: []string{"V100-SXM2", "V100 SXM 16GB"},
		FP32: Figure{15.7e12, a100Paper}, FP16: Figure{125e12, a100Paper}, SMs: Figure{80, a100Paper},
		MemoryBytes: Figure{16160 * mib, "nvidia-smi: 16160 MiB of 16 GiB (public repositories, 2026-11)"},
		MemoryRate:  Figure{900e9, a100Paper},
		Link:        "pcie3", NVLink: Figure{150e9, nvlink + "6 links"}, PowerLimit: Figure{300, a100Paper},
		IdlePower:    Figure{42, idleOf + "10, 20 to 52 W" + idleAt},
		Price:        Figure{6.32 / 8, lambda + "gpu_8x_v100 $6.32"},
		ComputeMajor: 7,
	},
	{
		Name: "v100-sxm-32gb", Title: "Tesla V100-SXM2-32GB", Match: []string{"V100 SXM 32GB"},
		FP32: Figure{15.7e12, a100Paper}, FP16: Figure{125e12, a100Paper}, SMs: Figure{80, a100Paper},
		MemoryBytes: Figure{32510 * mib, "nvidia-smi: 32510 MiB of 32 GiB (public repositories, 2026-11)"},
		MemoryRate:  Figure{900e9, a100Paper},
		Link:        "pcie3", NVLink: Figure{150e9, nvlink + "6 links"},
		PowerLimit: Figure{300, "nvidia-smi -q, github.com/NVIDIA/nvidia-docker issue 1076"},
		IdlePower: Figure{41, idleOf + "9, 37 to 55 W; 56.58 W in github.com/NVIDIA/nvidia-docker issue 1076" +
			idleAt},
		ComputeMajor: 7,
	},
	{
		Name: "v100-pcie-16gb", Title: "Tesla V100-PCIE-16GB", Match: []string{"V100 PCIe 16GB"},
		FP32: Figure{14e12, v100PCIe}, FP16: Figure{112e12, v100PCIe}, SMs: Figure{80, a100Paper + "; the same chip"},
		MemoryBytes: Figure{
			16160 * mib,
			"assumption: as the SXM2 board with the same memory and ECC; nvidia-smi shows 16384 MiB without ECC " +
				"(public repository, 2026-11)",
		}, MemoryRate: Figure{900e9, v100PCIe},
		Link: "pcie3", PowerLimit: Figure{250, v100PCIe},
		IdlePower: Figure{
			24,
			"nvidia-smi without a process, as printed in a public repository (text search, 2026-11), one reading" +
				idleAt,
		},
		ComputeMajor: 7,
	},
	{
		Name: "t4", Title: "Tesla T4",
		FP32: Figure{8.1e12, t4Sheet}, FP16: Figure{65e12, t4Sheet}, INT8: Figure{130e12, t4Sheet},
		SMs:         Figure{40, t4Sheet},
		MemoryBytes: Figure{15360 * mib, "nvidia-smi: 15360 MiB of 16 GiB with ECC (public repositories, 2026-11)"},
		MemoryRate:  Figure{320e9, t4Sheet},
		Link:        "pcie3", PowerLimit: Figure{70, t4Sheet},
		IdlePower: Figure{9, idleOf + "9, 9 to 25 W"}, Price: Figure{0.526, aws + "g4dn.xlarge"},
		ComputeMajor: 7, ComputeMinor: 5,
	},
	{
		Name: "t4g", Title: "NVIDIA T4G", // with Graviton2, in EC2's g5g
		FP32: Figure{8.1e12, t4gChip}, FP16: Figure{65e12, t4gChip}, INT8: Figure{130e12, t4gChip},
		SMs:         Figure{40, t4gChip},
		MemoryBytes: Figure{15360 * mib, "nvidia-smi: 15360 MiB with ECC (public repositories, 2026-11)"},
		MemoryRate:  Figure{320e9, "technical.city/en/video/Tesla-T4G, read 2026-11"},
		Link:        "pcie3", PowerLimit: Figure{70, "nvidia-smi's cap (public repositories, 2026-11)"},
		IdlePower:    Figure{9, "nvidia-smi without a process, as printed in a public repository (text search, 2026-11), one reading, P8"},
		Price:        Figure{0.42, "AWS EC2 on demand, Linux: g5g.xlarge; read second-hand (two public repositories, 2026-11)"},
		ComputeMajor: 7, ComputeMinor: 5,
	},
	{
		Name: "a10", Title: "NVIDIA A10",
		FP32: Figure{31.2e12, a10Sheet}, TF32: Figure{62.5e12, a10Sheet}, FP16: Figure{125e12, a10Sheet},
		INT8: Figure{
			250e12,
			"assumption: twice FP16, as on the sheet of the A40 with the same chip (299.3 to 149.7; read " +
				"second-hand, ecer.com, 2026-11)",
		},
		SMs:         Figure{72, a10Sheet},
		MemoryBytes: Figure{23028 * mib, "nvidia-smi: 23028 MiB of 24 GiB with ECC (public repositories, 2026-11)"},
		MemoryRate:  Figure{600e9, a10Sheet},
		Link:        "pcie4", PowerLimit: Figure{150, a10Sheet},
		IdlePower:    Figure{21, idleOf + "two in P8, 17 and 26 W; 53 W in P0"},
		Price:        Figure{1.29, lambda + "gpu_1x_a10"},
		ComputeMajor: 8, ComputeMinor: 6,
	},
	{
		Name: "l4", Title: "NVIDIA L4",
		FP32: Figure{30.3e12, "NVIDIA L4 data sheet, 2023; read second-hand (fpsbench.com: 30.29 TFLOP/s, 2026-11)"},
		TF32: Figure{60e12, l4Sheet}, FP16: Figure{121e12, l4Sheet},
		FP8: Figure{242.5e12, l4Sheet}, INT8: Figure{242.5e12, l4Sheet},
		SMs: Figure{
			58,
			"7,424 CUDA cores (fpsbench.com, 2026-11), 128 to an SM; lists that say 60 count the full chip",
		},
		MemoryBytes: Figure{23034 * mib, "nvidia-smi: 23034 MiB of 24 GiB with ECC (public repositories, 2026-11)"},
		MemoryRate:  Figure{300e9, l4Sheet},
		Link:        "pcie4", PowerLimit: Figure{72, l4Sheet},
		IdlePower:    Figure{16, idleOf + "P8 readings, 16 and 19 W; 27 W in P0"},
		Price:        Figure{0.8048, aws + "g6.xlarge"},
		ComputeMajor: 8, ComputeMinor: 9,
	},
	{
		Name: "l40s", Title: "NVIDIA L40S",
		FP32: Figure{91.6e12, l40sSheet}, TF32: Figure{183e12, l40sSheet}, FP16: Figure{366.5e12, l40sSheet},
		FP8:         Figure{733e12, l40sSheet},
		INT8:        Figure{733e12, "boost clock times units, hmc-tech.com/gpu/nvidia-l40s-vs-nvidia-t40, 2026-11"},
		SMs:         Figure{142, l40sSheet},
		MemoryBytes: Figure{46068 * mib, "nvidia-smi: 46068 MiB of 48 GiB with ECC (public repositories, 2026-11)"},
		MemoryRate:  Figure{864e9, l40sSheet},
		Link:        "pcie4", PowerLimit: Figure{350, l40sSheet},
		IdlePower: Figure{34, idleOf + "6 in P8, 23 to 36 W; 59 W in P0"}, Price: Figure{1.861, aws + "g6e.xlarge"},
		ComputeMajor: 8, ComputeMinor: 9,
	},
	{
		Name: "a100-40gb-pcie", Title: "NVIDIA A100-PCIE-40GB", Match: []string{"A100 PCIe 40GB"},
		FP32: Figure{19.5e12, a100Paper}, TF32: Figure{156e12, a100Paper}, FP16: Figure{312e12, a100Paper},
		INT8:        Figure{624e12, a100Paper},
		SMs:         Figure{108, a100Paper},
		MemoryBytes: Figure{40960 * mib, "nvidia-smi: 40960 MiB (public repositories, 2026-11)"},
		MemoryRate:  Figure{1555e9, a100Kinds},
		Link:        "pcie4", PowerLimit: Figure{250, a100Kinds},
		IdlePower: Figure{35, idleOf + "10, 32 to 59 W" + idleAt}, Price: Figure{1.99, lambda + "gpu_1x_a100"},
		ComputeMajor: 8,
	},
	{
		Name: "a100-40gb-sxm", Title: "NVIDIA A100-SXM4-40GB", Match: []string{"A100-SXM-40GB"},
		FP32: Figure{19.5e12, a100Paper}, TF32: Figure{156e12, a100Paper}, FP16: Figure{312e12, a100Paper},
		INT8:        Figure{624e12, a100Paper},
		SMs:         Figure{108, a100Paper},
		MemoryBytes: Figure{40960 * mib, "nvidia-smi: 40960 MiB (public repositories, 2026-11)"},
		MemoryRate:  Figure{1555e9, a100Kinds},
		Link:        "pcie4", NVLink: Figure{300e9, nvlink + "12 links"}, PowerLimit: Figure{400, a100Kinds},
		IdlePower: Figure{52, idleOf + "10, 45 to 55 W"}, Price: Figure{1.99, lambda + "gpu_1x_a100_sxm4"},
		ComputeMajor: 8,
	},
	{
		Name: "a100-80gb-pcie", Title: "NVIDIA A100 80GB PCIe", Match: []string{"A100 PCIe 80GB"},
		FP32: Figure{19.5e12, a100Sheet}, TF32: Figure{156e12, a100Sheet}, FP16: Figure{312e12, a100Sheet},
		INT8:        Figure{624e12, a100Sheet},
		SMs:         Figure{108, a100Paper},
		MemoryBytes: Figure{81920 * mib, "nvidia-smi: 81920 MiB (public repositories, 2026-11)"},
		MemoryRate:  Figure{1935e9, a100Kinds},
		Link:        "pcie4", PowerLimit: Figure{300, a100Kinds},
		IdlePower:    Figure{47, idleOf + "9, 43 to 62 W" + idleAt},
		Price:        Figure{1.39, runpod + "v8/runpod/vms.csv at 01acdfd, read 2026-11: 1x_A100-80GB_SECURE"},
		ComputeMajor: 8,
	},
	{
		Name: "a100-80gb-sxm", Title: "NVIDIA A100-SXM4-80GB", Match: []string{"A100-SXM-80GB"},
		FP32: Figure{19.5e12, a100Sheet}, TF32: Figure{156e12, a100Sheet}, FP16: Figure{312e12, a100Sheet},
		INT8:        Figure{624e12, a100Sheet},
		SMs:         Figure{108, a100Paper},
		MemoryBytes: Figure{81920 * mib, "nvidia-smi: 81920 MiB (public repositories, 2026-11)"},
		MemoryRate:  Figure{2039e9, a100Sheet},
		Link:        "pcie4", NVLink: Figure{300e9, nvlink + "12 links"}, PowerLimit: Figure{400, a100Sheet},
		IdlePower:    Figure{52, idleOf + "9, 50 to 68 W and one of 25 W"},
		Price:        Figure{22.32 / 8, lambda + "gpu_8x_a100_80gb_sxm4 $22.32"},
		ComputeMajor: 8,
	},
	{
		Name: "h100-pcie", Title: "NVIDIA H100 PCIe",
		FP32: Figure{51e12, h100Kinds}, TF32: Figure{378e12, h100Kinds}, FP16: Figure{756.5e12, h100Kinds},
		FP8: Figure{1513e12, h100Kinds}, INT8: Figure{1513e12, h100Kinds}, SMs: Figure{114, h100Kinds},
		MemoryBytes: Figure{81559 * mib, "nvidia-smi: 81559 MiB of 80 GiB (public repositories, 2026-11)"},
		MemoryRate:  Figure{2000e9, h100Kinds},
		Link:        "pcie5", PowerLimit: Figure{350, h100Kinds},
		IdlePower: Figure{54, idleOf + "one reading, 54 W"}, Price: Figure{3.29, lambda + "gpu_1x_h100_pcie"},
		ComputeMajor: 9,
	},
	{
		Name: "h100-sxm", Title: "NVIDIA H100 80GB HBM3", Match: []string{
			"H100 SXM5", "H100 SXM5 80GB",
			"H100 SXM 80GB",
		},
		FP32: Figure{66.9e12, h100Sheet}, TF32: Figure{494.7e12, h100Sheet}, FP16: Figure{989.4e12, h100Sheet},
		FP8: Figure{1978.9e12, h100Sheet}, INT8: Figure{1978.9e12, h100Sheet}, SMs: Figure{132, h100Sheet},
		MemoryBytes: Figure{81559 * mib, "nvidia-smi: 81559 MiB of 80 GiB (public repositories, 2026-11)"},
		MemoryRate:  Figure{3350e9, h100Sheet},
		Link:        "pcie5", NVLink: Figure{450e9, nvlink + "18 links"}, PowerLimit: Figure{700, h100Sheet},
		IdlePower:    Figure{70, idleOf + "10, 66 to 71 W and one of 123 W"},
		Price:        Figure{31.92 / 8, lambda + "gpu_8x_h100_sxm5 $31.92; a single one $4.29"},
		ComputeMajor: 9,
	},
	{
		Name: "h800", Title: "NVIDIA H800", Match: []string{"H800 SXM", "H800 SXM5"},
		FP32: Figure{66.9e12, h800}, TF32: Figure{494.7e12, h800}, FP16: Figure{989.4e12, h800},
		FP8: Figure{1978.9e12, h800}, INT8: Figure{1978.9e12, h800}, SMs: Figure{132, h800},
		MemoryBytes: Figure{81559 * mib, h800}, MemoryRate: Figure{3350e9, h800},
		Link: "pcie5", NVLink: Figure{200e9, h800 + ": 400 GB/s in both directions, halved"},
		PowerLimit: Figure{700, h800}, ComputeMajor: 9,
	},
	{
		Name: "h200", Title: "NVIDIA H200", Match: []string{"H200 SXM", "H200 SXM5"},
		FP32: Figure{66.9e12, h200Sheet}, TF32: Figure{494.7e12, h200Sheet}, FP16: Figure{989.4e12, h200Sheet},
		FP8: Figure{1978.9e12, sameChip}, INT8: Figure{1978.9e12, sameChip}, SMs: Figure{132, sameChip},
		MemoryBytes: Figure{
			143771 * mib,
			"nvidia-smi: 143771 MiB of 141 GiB, which the sheet calls 141 GB (public repositories, 2026-11)",
		}, MemoryRate: Figure{4800e9, h200Sheet},
		Link: "pcie5", NVLink: Figure{450e9, nvlink + "18 links"}, PowerLimit: Figure{700, h200Sheet},
		IdlePower:    Figure{78, idleOf + "5, 76 to 120 W" + idleAt},
		Price:        Figure{3.99, runpod + "v7/runpod/vms.csv at 0727c2b, read 2026-11: 1x_H200-SXM_SECURE"},
		ComputeMajor: 9,
	},
	{
		Name: "b200", Title: "NVIDIA B200", Match: []string{"B200 SXM", "B200 SXM6"},
		FP32: Figure{80e12, b200Sheet}, TF32: Figure{1100e12, b200Sheet}, FP16: Figure{2250e12, b200Sheet},
		FP8: Figure{4500e12, b200Sheet}, INT8: Figure{4500e12, b200Sheet}, SMs: Figure{148, b200Probe},
		MemoryBytes: Figure{
			183359 * mib,
			"nvidia-smi: 183359 MiB, of 192 GB on the sheet (github.com/NVIDIA/TensorRT-LLM issue 10278, 2025-12)",
		},
		MemoryRate: Figure{
			7672e9,
			b200Probe + ": 7,680 bits at 3,996 MHz, two transfers a cycle; the sheet says 8 TB/s",
		},
		Link: "pcie5", NVLink: Figure{900e9, b200Sheet + "; both directions on the sheet, halved"},
		PowerLimit:   Figure{1000, b200Sheet},
		IdlePower:    Figure{137, "one air-cooled device, github.com/ROCm/legacy-rocm-build issue 5219, 2025-08"},
		Price:        Figure{53.52 / 8, lambda + "gpu_8x_b200_sxm6 $53.52; a single one $6.99"},
		ComputeMajor: 10,
	},
	{
		Name: "gb200", Title: "NVIDIA GB200", Match: []string{"GB200 NVL72", "GB200 superchip GPU"},
		FP32: Figure{90e12, gb200Sheet}, TF32: Figure{1250e12, gb200Sheet}, FP16: Figure{2500e12, gb200Sheet},
		FP8: Figure{5000e12, gb200Sheet}, INT8: Figure{5000e12, gb200Sheet},
		SMs: Figure{148, b200Probe + "; the same chip"},
		MemoryBytes: Figure{
			183359 * mib,
			"assumption: as the B200 with the same stacks; github.com/NVIDIA/TensorRT-LLM calls it 192 GB " +
				"(docs/source/performance/perf-overview.md, 2025)",
		},
		MemoryRate:   Figure{7672e9, b200Probe + "; the same memory"},
		Link:         "nvlink-c2c",
		NVLink:       Figure{900e9, b200Sheet + "; both directions on the sheet, halved; among all 72 of a rack"},
		PowerLimit:   Figure{1200, gb200Sheet},
		ComputeMajor: 10,
	},
	{
		Name: "gb300", Title: "NVIDIA GB300", Match: []string{"GB300 NVL72", "GB300 superchip GPU"},
		FP32: Figure{80e12, gb300Sheet}, TF32: Figure{1250e12, gb300Sheet}, FP16: Figure{2500e12, gb300Sheet},
		FP8: Figure{5000e12, gb300Sheet}, INT8: Figure{165e12, gb300Sheet + "; FP4 took the room of INT8"},
		SMs: Figure{
			160,
			"Inside NVIDIA Blackwell Ultra, developer.nvidia.com, 2025-08, the whole chip; read second-hand " +
				"(tweaktown.com, 2025-08)",
		},
		MemoryBytes: Figure{284208 * mib, "nvidia-smi: 284208 MiB, of 288 GB (public repositories, 2026-11)"},
		MemoryRate:  Figure{8000e9, gb300Sheet},
		Link:        "nvlink-c2c",
		NVLink:      Figure{900e9, gb300Sheet + "; one direction; among all 72 of a rack"},
		PowerLimit:  Figure{1400, gb300Sheet + "; nvidia-smi's cap is the same (public repositories, 2026-11)"},
		IdlePower: Figure{
			172, "nvidia-smi without a process, as printed in public repositories (text search, 2026-11), the " +
				"lower of two, 172 and 237 W",
		},
		ComputeMajor: 10, ComputeMinor: 3,
	},
	{
		Name: "gh200-96gb", Title: "NVIDIA GH200 480GB", Match: []string{"GH200 120GB", "GH200 96GB"},
		FP32: Figure{66.9e12, sameHopper}, TF32: Figure{494.7e12, sameHopper}, FP16: Figure{989.4e12, sameHopper},
		FP8: Figure{1978.9e12, sameHopper}, INT8: Figure{1978.9e12, sameHopper}, SMs: Figure{132, sameHopper},
		MemoryBytes: Figure{
			97871 * mib, "nvidia-smi: 97871 MiB of 96 GB HBM3; the name counts the host's memory " +
				"(public repositories, 2026-11)",
		}, MemoryRate: Figure{4000e9, gh200Sheet},
		Link:         "nvlink-c2c",
		PowerLimit:   Figure{900, "nvidia-smi's cap; the sheet's 450 to 1,000 W are of the module (public repositories, 2026-11)"},
		IdlePower:    Figure{95, idleOf + "9, 85 to 106 W"},
		Price:        Figure{2.29, lambda + "gpu_1x_gh200"},
		ComputeMajor: 9,
	},
	{
		Name: "gh200-144gb", Title: "NVIDIA GH200 144G HBM3e", Match: []string{"GH200 144GB"},
		FP32: Figure{66.9e12, sameHopper}, TF32: Figure{494.7e12, sameHopper}, FP16: Figure{989.4e12, sameHopper},
		FP8: Figure{1978.9e12, sameHopper}, INT8: Figure{1978.9e12, sameHopper}, SMs: Figure{132, sameHopper},
		MemoryBytes:  Figure{146831 * mib, "nvidia-smi: 146831 MiB of 144 GB HBM3e (public repository, 2026-11)"},
		MemoryRate:   Figure{4900e9, gh200Sheet},
		Link:         "nvlink-c2c",
		PowerLimit:   Figure{900, "nvidia-smi's cap (public repository, 2026-11)"},
		ComputeMajor: 9,
	},
	{
		Name: "gb10", Title: "NVIDIA GB10", Match: []string{"DGX Spark"},
		FP32: Figure{31e12, "NVIDIA at Hot Chips 2025; read second-hand (meterpreter.org, 2025-08)"},
		TF32: Figure{62.5e12, gb10Peak}, FP16: Figure{125e12, gb10Peak}, FP8: Figure{250e12, gb10Peak},
		INT8: Figure{250e12, "assumption: as FP8, as on the L40S"},
		SMs:  Figure{48, "6,144 CUDA cores (" + gb10Sheet + "), 128 to an SM"},
		MemoryBytes: Figure{
			121.63 * 1024 * mib,
			"121.63 GiB of 128 GB, the host's own: nvidia-smi reports none " +
				"(github.com/AlexsJones/llmfit pull request 872, 2026-08)",
		},
		MemoryRate: Figure{273e9, gb10Sheet + "; the host's cores have part of it"},
		Link:       "one-memory",
		PowerLimit: Figure{140, gb10Sheet + "; of the whole chip, host's cores included; nvidia-smi reports none"},
		IdlePower:  Figure{11, idleOf + "7, 4 to 12 W"},

		ComputeMajor: 12, ComputeMinor: 1,
	},
	{
		Name: "rtx-3090", Title: "NVIDIA GeForce RTX 3090", Match: []string{"3090"},
		FP32: Figure{35.6e12, ga102}, FP16: Figure{71e12, ga102 + "; with FP32 accumulate, half of the 142 with FP16"},
		TF32: Figure{
			35.6e12,
			"GA102 runs TF32 at half its FP16 rate with FP32 accumulate, as fast as FP32 (github.com/NVIDIA/cutlass " +
				"discussion 390)",
		},
		SMs:         Figure{82, ga102},
		MemoryBytes: Figure{24576 * mib, "nvidia-smi: 24576 MiB (public repositories, 2026-11)"},
		MemoryRate:  Figure{936e9, ga102},
		Link:        "pcie4", PowerLimit: Figure{350, ga102},
		IdlePower:    Figure{23, idleOf + "10 in P8, 10 to 25 W"},
		Price:        Figure{0.43, runpod + "v7/runpod/vms.csv at 0727c2b, read 2026-11: 1x_RTX3090_SECURE"},
		ComputeMajor: 8, ComputeMinor: 6,
	},
	{
		Name: "rtx-4090", Title: "NVIDIA GeForce RTX 4090", Match: []string{"4090"},
		FP32: Figure{82.6e12, adaPaper},
		TF32: Figure{82.6e12, "tensor peaks, waredb.com/processor/nvidia-geforce-rtx-4090, 2026-11"},
		FP16: Figure{165.2e12, adaPaper},
		FP8:  Figure{330.3e12, adaPaper}, INT8: Figure{660.6e12, adaPaper}, SMs: Figure{128, adaPaper},
		MemoryBytes: Figure{24564 * mib, "nvidia-smi: 24564 MiB of 24 GiB (public repositories, 2026-11)"},
		MemoryRate:  Figure{1008e9, adaPaper},
		Link:        "pcie4", PowerLimit: Figure{450, "board power (techgoing.com, 2022-10; nvidia-smi's cap)"},
		IdlePower:    Figure{21, idleOf + "4 in P8, 15 to 36 W; 47 to 75 W in P0"},
		Price:        Figure{0.69, runpod + "v7/runpod/vms.csv at 0727c2b, read 2026-11: 1x_RTX4090_SECURE"},
		ComputeMajor: 8, ComputeMinor: 9,
	},
	{
		Name: "rtx-5090", Title: "NVIDIA GeForce RTX 5090", Match: []string{"5090"},
		FP32: Figure{104.8e12, blackwellGeForce},
		TF32: Figure{104.8e12, blackwellGeForce + "; half of FP16, as on Ada"},
		FP16: Figure{209.5e12, blackwellGeForce}, FP8: Figure{419e12, blackwellGeForce},
		INT8:        Figure{838e12, blackwellGeForce},
		SMs:         Figure{170, blackwellGeForce},
		MemoryBytes: Figure{32607 * mib, "nvidia-smi: 32607 MiB of 32 GiB (public repositories, 2026-11)"},
		MemoryRate:  Figure{1792e9, blackwellGeForce},
		Link:        "pcie5", PowerLimit: Figure{575, "nvidia-smi's cap (public repositories, 2026-11)"},
		IdlePower:    Figure{11, idleOf + "5 in P8, 1 to 30 W; 83 W in P1"},
		ComputeMajor: 12,
	},
	{
		Name: "rtx-a6000", Title: "NVIDIA RTX A6000", Match: []string{"A6000"},
		FP32: Figure{38.7e12, a6000Sheet}, FP16: Figure{154.8e12, a6000Sheet}, INT8: Figure{309.7e12, a6000Sheet},
		TF32: Figure{77.4e12, "half of FP16, as on the sheet of the A40 with the same chip (74.8 to 149.7; read second-hand, " +
			"ecer.com, 2026-11)"},
		SMs:         Figure{84, "10,752 CUDA cores (sysrqmts.com, 2026-11), 128 to an SM"},
		MemoryBytes: Figure{49140 * mib, "nvidia-smi: 49140 MiB of 48 GiB (public repositories, 2026-11)"},
		MemoryRate:  Figure{768e9, a6000Sheet},
		Link:        "pcie4", PowerLimit: Figure{300, a6000Sheet},
		IdlePower:    Figure{18, idleOf + "6 in P8, 5 to 30 W; 83 W in P0"},
		Price:        Figure{0.80, "Lambda on demand, gpu_1x_a6000 (public repositories, text search 2026-11)"},
		ComputeMajor: 8, ComputeMinor: 6,
	},
	{
		Name: "mi300x", Title: "AMD Instinct MI300X", Match: []string{"AMD Instinct MI300X OAM"},
		FP32: Figure{163.4e12, cdna3}, FP16: Figure{1307.4e12, cdna3}, FP8: Figure{2614.9e12, cdna3},
		TF32: Figure{653.7e12, cdna3},
		INT8: Figure{2614.9e12, cdna3},
		SMs: Figure{
			304,
			"38 compute units in each of 8 dies, rocm.docs.amd.com, MI300 microarchitecture, 2024-09",
		},
		MemoryBytes: Figure{192 * 1024 * mib, "192 GiB, rocm.docs.amd.com, AMD GPU specifications, 2026-11"},
		MemoryRate:  Figure{5300e9, "docs.vultr.com, ROCm hardware requirements, 2026-03"},
		Link:        "pcie5",
		NVLink: Figure{
			448e9,
			"Infinity Fabric, 7 links of 64 GB/s per direction (emergentmind.com/topics/amd-mi300x-gpu, 2026-11: 128 " +
				"GB/s both directions per link, 448 GB/s in all)",
		},
		PowerLimit: Figure{750, "rocm-smi's cap, github.com/ROCm/legacy-rocm-build issue 5231, 2025-08"},
		IdlePower: Figure{
			138,
			"rocm-smi of devices with 0 % memory in use, as printed in public repositories (text search, 2026-11), " +
				"median of 22, 131 to 177 W",
		},
		Price: Figure{1.85, "Vultr on demand, gpu.blog/gpus/instinct-mi300x-mi300x, read 2026-11"},
	},
	{
		Name: "mi355x", Title: "AMD Instinct MI355X", Match: []string{"AMD Instinct MI355X OAM"},
		FP16: Figure{2500e12, "assumption: half of FP8, as on the MI300X"},
		FP8:  Figure{5000e12, cdna4},
		INT8: Figure{5000e12, "assumption: as FP8, as on the MI300X"},
		SMs: Figure{
			256,
			"32 compute units in each of 8 dies, rocm.docs.amd.com, AMD GPU specifications, 2026-11",
		},
		MemoryBytes: Figure{288 * 1024 * mib, "288 GiB, rocm.docs.amd.com, AMD GPU specifications, 2026-11"},
		MemoryRate:  Figure{8000e9, "tomshardware.com on AMD's talk at ISC 2025"},
		Link:        "pcie5", NVLink: Figure{448e9, "assumption: as the MI300X at least, 7 links"},
		PowerLimit: Figure{1400, "tomshardware.com on AMD's talk at ISC 2025"},
	},
	{
		Name: "tpu-v5e", Title: "TPU v5e", Match: []string{"TPU v5 lite", "v5litepod"},
		FP16: Figure{197e12, tpuV5e}, INT8: Figure{393e12, tpuV5e},
		MemoryBytes: Figure{16e9, tpuV5e}, MemoryRate: Figure{819e9, tpuV5e}, NVLink: Figure{200e9, tpuV5e + tpuLinks},
	},
	{
		Name: "tpu-v5p", Title: "TPU v5p", Match: []string{"TPU v5"},
		FP16: Figure{459e12, tpuSheet}, INT8: Figure{918e12, "assumption: twice bf16, as on TPU v5e and v6e"},
		MemoryBytes: Figure{95 * 1024 * mib, tpuSheet}, MemoryRate: Figure{2765e9, tpuSheet},
		NVLink: Figure{600e9, tpuSheet + tpuLinks},
	},
	{
		Name: "tpu-v6e", Title: "TPU v6e", Match: []string{"TPU v6 lite", "Trillium"},
		FP16: Figure{918e12, tpuV6e}, INT8: Figure{1836e12, tpuV6e},
		MemoryBytes: Figure{32e9, tpuV6e}, MemoryRate: Figure{1638e9, tpuV6e}, Link: "pcie5",
		NVLink: Figure{400e9, tpuV6e + tpuLinks},
	},
	{
		Name: "tpu-v7", Title: "TPU7x", Match: []string{"TPU v7x", "Ironwood"},
		FP16: Figure{2307e12, tpuSheet}, FP8: Figure{4614e12, tpuSheet},
		MemoryBytes: Figure{192 * 1024 * mib, tpuSheet}, MemoryRate: Figure{7380e9, tpuSheet},
		NVLink: Figure{600e9, tpuSheet + tpuLinks},
	},
	{
		Name: "trainium2", Title: "AWS Trainium2", Match: []string{"trn2"},
		FP32: Figure{181e12, trn2Page}, TF32: Figure{667e12, trn2Page}, FP16: Figure{667e12, trn2Page},
		FP8:         Figure{1299e12, trn2Page},
		MemoryBytes: Figure{96 * 1024 * mib, trn2Page}, MemoryRate: Figure{2900e9, trn2Page},
		NVLink: Figure{640e9, trn2Page + ": NeuronLink-v3, 1.28 TB/s a chip; taken as both directions, halved"},
	},
}
