package hardware

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// traceable is what makes a source one that can be looked up or weighed.
var traceable = regexp.MustCompile(`20\d\d|issue \d+|pull request \d+|assumption|Specification|hmc-tech|discussion \d+|the same|as above|the reads/s above`)

// Every figure has a value and a source, or neither; every row has some.
func TestEveryFigureHasASource(t *testing.T) {
	count := 0
	var check func(where string, v reflect.Value)
	check = func(where string, v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			if f, ok := v.Interface().(Figure); ok {
				if f == (Figure{}) {
					return
				}
				count++
				if !(f.Value > 0) || len(f.Source) < 10 || !traceable.MatchString(f.Source) {
					t.Errorf("%s: value %v, source %q", where, f.Value, f.Source)
				}
				return
			}
			if name := v.FieldByName("Name"); name.IsValid() {
				where += " " + name.String()
			}
			for i := range v.NumField() {
				check(where+" "+v.Type().Field(i).Name, v.Field(i))
			}
		case reflect.Slice, reflect.Array:
			for i := range v.Len() {
				check(where, v.Index(i))
			}
		default: // names and words have no source
		}
	}
	check("", reflect.ValueOf(Known))
	check("PUE", reflect.ValueOf([]Figure{PUE, newPUE}))
	check("ContextPower", reflect.ValueOf(ContextPower))
	if count < 280 {
		t.Errorf("only %d figures were found", count)
	}
}

// Units that a device lacks, and figures without a source, are zero; all other figures are set.
func TestMissingFigures(t *testing.T) {
	noUnit := map[string][]string{
		"v100-sxm-16gb":  {"TF32", "FP8", "INT8"}, // INT8 only without Tensor Cores
		"v100-sxm-32gb":  {"TF32", "FP8", "INT8", "Price"},
		"v100-pcie-16gb": {"TF32", "FP8", "INT8", "NVLink", "Price"},
		"t4":             {"TF32", "FP8", "NVLink"},
		"t4g":            {"TF32", "FP8", "NVLink"},
		"a10":            {"FP8", "NVLink"},
		"l4":             {"NVLink"}, "l40s": {"NVLink"}, "rtx-4090": {"NVLink"}, "rtx-5090": {"NVLink", "Price"},
		"rtx-a6000": {"FP8", "NVLink"}, "h100-pcie": {"NVLink"},
		"a100-40gb-pcie": {"FP8", "NVLink"}, "a100-80gb-pcie": {"FP8", "NVLink"},
		"a100-40gb-sxm": {"FP8"}, "a100-80gb-sxm": {"FP8"},
		"rtx-3090": {"FP8", "INT8", "NVLink"},
		"gb200":    {"IdlePower", "Price"}, "h800": {"IdlePower", "Price"}, "mi355x": {"FP32", "TF32", "IdlePower", "Price"},
		"gb300": {"Price"}, "gh200-96gb": {"NVLink"}, "gh200-144gb": {"NVLink", "IdlePower", "Price"},
		"gb10":      {"NVLink", "Price"},
		"tpu-v5e":   {"FP32", "TF32", "FP8", "SMs", "PowerLimit", "IdlePower", "Price"},
		"tpu-v5p":   {"FP32", "TF32", "FP8", "SMs", "PowerLimit", "IdlePower", "Price"},
		"tpu-v6e":   {"FP32", "TF32", "FP8", "SMs", "PowerLimit", "IdlePower", "Price"},
		"tpu-v7":    {"FP32", "TF32", "INT8", "SMs", "PowerLimit", "IdlePower", "Price"},
		"trainium2": {"INT8", "SMs", "PowerLimit", "IdlePower", "Price"},
	}
	for _, gpu := range GPUs {
		var missing []string
		v := reflect.ValueOf(gpu)
		for i := range v.NumField() {
			if f, ok := v.Field(i).Interface().(Figure); ok && !f.Known() {
				missing = append(missing, v.Type().Field(i).Name)
			}
		}
		if !slices.Equal(missing, noUnit[gpu.Name]) {
			t.Errorf("%s lacks %v, want %v", gpu.Name, missing, noUnit[gpu.Name])
		}
		if _, found := FindLink(gpu.Link); !found && gpu.Link != "" {
			t.Errorf("%s: no link %q", gpu.Name, gpu.Link)
		}
	}
	for _, s := range storages {
		if !s.Rate.Known() || s.Title == "" {
			t.Errorf("%s has no rate or no title", s.Name)
		}
	}
	for _, g := range grids {
		if !g.Carbon.Known() || g.Carbon.Value < 5 || g.Carbon.Value > 1200 {
			t.Errorf("%s: %v gCO2/kWh", g.Name, g.Carbon.Value)
		}
	}
}

// The names that drivers, kernels and people use find one row each, whole names
// only.
func TestFindGPU(t *testing.T) {
	for name, want := range map[string]string{
		"NVIDIA A100-SXM4-80GB":            "a100-80gb-sxm",
		"NVIDIA A100-SXM4-80GB (emulated)": "a100-80gb-sxm",
		"A100-SXM4-80GB":                   "a100-80gb-sxm",
		"NVIDIA A100-SXM4-40GB":            "a100-40gb-sxm",
		"NVIDIA A100-PCIE-40GB":            "a100-40gb-pcie",
		"A100-PCIE-40GB":                   "a100-40gb-pcie",
		"NVIDIA A100 80GB PCIe":            "a100-80gb-pcie",
		"NVIDIA H100 80GB HBM3":            "h100-sxm",
		"rtx5090":                          "rtx-5090",
		"NVIDIA RTX A6000":                 "rtx-a6000",
		"NVIDIA H100 80GB HBM3 (emulated)": "h100-sxm",
		"NVIDIA H100 PCIe":                 "h100-pcie",
		"NVIDIA H200":                      "h200",
		"NVIDIA H800":                      "h800",
		"h200":                             "h200",
		"H100-SXM":                         "h100-sxm",
		"NVIDIA B200":                      "b200",
		"NVIDIA A10":                       "a10",
		"NVIDIA L4":                        "l4",
		"NVIDIA L40S":                      "l40s",
		"Tesla T4":                         "t4",
		"NVIDIA T4G":                       "t4g",
		"Tesla V100-SXM2-16GB":             "v100-sxm-16gb",
		"Tesla V100-SXM2-32GB":             "v100-sxm-32gb",
		"Tesla V100-PCIE-16GB":             "v100-pcie-16gb",
		"NVIDIA GeForce RTX 4090":          "rtx-4090",
		"rtx 4090":                         "rtx-4090",
		"NVIDIA GeForce RTX 3090":          "rtx-3090",
		"AMD Instinct MI300X":              "mi300x",
		"AMD Instinct MI300X OAM":          "mi300x",
		"AMD Instinct MI355X":              "mi355x",
		"NVIDIA GB200":                     "gb200",
		"NVIDIA GB300":                     "gb300",
		"NVIDIA GH200 480GB":               "gh200-96gb",
		"NVIDIA GH200 120GB":               "gh200-96gb",
		"NVIDIA GH200 144G HBM3e":          "gh200-144gb",
		"NVIDIA GB10":                      "gb10",
		"DGX Spark":                        "gb10",
		"TPU v5e":                          "tpu-v5e",
		"TPU v6 lite":                      "tpu-v6e",
		"trn2":                             "trainium2",

		// other devices, however much their names look like those above
		"NVIDIA A10G":                        "",
		"NVIDIA A10-4Q":                      "",
		"NVIDIA A100":                        "",
		"NVIDIA H100":                        "",
		"NVIDIA H100 NVL":                    "",
		"NVIDIA H200 NVL":                    "",
		"NVIDIA GH200 480GB MIG 1g.12gb":     "",
		"NVIDIA L40":                         "",
		"Tesla V100-SXM3-32GB":               "",
		"Tesla V100-PCIE-32GB":               "",
		"NVIDIA GeForce RTX 4090 D":          "",
		"NVIDIA GeForce RTX 4090 Laptop GPU": "",
		"NVIDIA GeForce RTX 3090 Ti":         "",
		"NVIDIA A100-SXM4-80GB MIG 3g.40gb":  "",
		"NVIDIA T400":                        "",
		"AMD Instinct MI300A":                "",
		"NVIDIA":                             "",
		"":                                   "",
	} {
		gpu, found := FindGPU(name)
		if gpu.Name != want || found != (want != "") {
			t.Errorf("FindGPU(%q) = %q, %v; want %q", name, gpu.Name, found, want)
		}
		if m := MachineOf(name); m.GPU.Name != want || found && gpu.Link != m.Link.Name {
			t.Errorf("MachineOf(%q) = %q over %q", name, m.GPU.Name, m.Link.Name)
		}
	}
}

// No row hides another one, and each is found by all its names.
func TestNamesAreUnique(t *testing.T) {
	for _, list := range [][]string{Known.GPUNames(), Known.LinkNames(), Known.NetworkNames(), Known.StorageNames(), Known.CPUNames(), Known.GridNames()} {
		seen := map[string]bool{}
		for _, name := range list {
			if seen[name] || name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" {
				t.Errorf("%q is no name of its own", name)
			}
			seen[name] = true
		}
	}
	for _, gpu := range GPUs {
		for _, name := range append([]string{gpu.Name, gpu.Title, gpu.Title + " (emulated)"}, gpu.Match...) {
			if found, _ := FindGPU(name); found.Name != gpu.Name {
				t.Errorf("%q of %s finds %q", name, gpu.Name, found.Name)
			}
		}
	}
	for _, cpu := range cpus {
		for _, name := range append([]string{cpu.Name, cpu.Title}, cpu.Match...) {
			if found, _ := Known.FindCPU(name); found.Name != cpu.Name {
				t.Errorf("%q of %s finds %q", name, cpu.Name, found.Name)
			}
		}
	}
	for _, grid := range grids {
		for _, name := range []string{grid.Name, grid.Title, strings.ToUpper(grid.Name)} {
			if found, _ := FindGrid(name); found.Name != grid.Name {
				t.Errorf("%q of %s finds %q", name, grid.Name, found.Name)
			}
		}
	}
	if cpu, _ := Known.FindCPU("INTEL(R) XEON(R) PLATINUM 8581C CPU @ 2.30GHz"); cpu.DecodeRate("pillow").Value != 577 {
		t.Errorf("the kernel's name of the 8581C finds %q", cpu.Name)
	}
	if cpu, found := Known.FindCPU("AMD EPYC"); found {
		t.Errorf("half a name finds %q", cpu.Name)
	}
}

// Dense figures have the ratios of the hardware; a doubled one would break them.
func TestPeaksAreDense(t *testing.T) {
	for _, gpu := range GPUs {
		for _, pair := range []struct {
			name      string
			over      Figure
			under     Figure
			low, high float64
		}{
			{"fp16/tf32", gpu.FP16, gpu.TF32, 1.9, 2.1},
			{"fp8/fp16", gpu.FP8, gpu.FP16, 1.95, 2.05},
			{"int8/fp16", gpu.INT8, gpu.FP16, 1.95, 4.05}, // 4 where FP32 accumulation halves FP16
			{"fp16/fp32", gpu.FP16, gpu.FP32, 1.9, 33},
		} {
			if !pair.over.Known() || !pair.under.Known() || !gpu.SMs.Known() {
				continue // a TPU or Trainium has units of other ratios
			}
			if gpu.Name == "gb300" && pair.name == "int8/fp16" {
				continue // Blackwell Ultra has next to no INT8
			}
			if ratio := pair.over.Value / pair.under.Value; ratio < pair.low || ratio > pair.high {
				t.Errorf("%s: %s is %.3f, want %v to %v", gpu.Name, pair.name, ratio, pair.low, pair.high)
			}
		}
		if gpu.ComputeMajor == 9 && gpu.FP16.Value > 1e15 {
			t.Errorf("%s: %v FLOP/s is the sparse figure", gpu.Name, gpu.FP16.Value)
		}
		if gpu.NVLink.Value > 1e12 {
			t.Errorf("%s: NVLink %v is both directions", gpu.Name, gpu.NVLink.Value)
		}
		if gpu.IdlePower.Known() && gpu.IdlePower.Value > gpu.PowerLimit.Value/3 {
			t.Errorf("%s idles at %v of %v W", gpu.Name, gpu.IdlePower.Value, gpu.PowerLimit.Value)
		}
		if gpu.Price.Known() && (gpu.Price.Value < 0.2 || gpu.Price.Value > 15) {
			t.Errorf("%s costs %v $/h", gpu.Name, gpu.Price.Value)
		}
	}
}

// Memory is what the driver reports: below the GiB on the label, by the room that
// error correction and the driver keep.
func TestMemoryIsTheDriversFigure(t *testing.T) {
	label := map[string]float64{
		"v100-sxm-16gb": 16, "v100-sxm-32gb": 32, "v100-pcie-16gb": 16, "t4": 16, "t4g": 16, "a10": 24, "l4": 24, "l40s": 48,
		"a100-40gb-pcie": 40, "a100-40gb-sxm": 40, "a100-80gb-pcie": 80, "a100-80gb-sxm": 80,
		"h100-pcie": 80, "h100-sxm": 80, "h200": 141, "h800": 80, "b200": 180, "rtx-3090": 24, "rtx-4090": 24, "rtx-5090": 32, "rtx-a6000": 48, "mi300x": 192, "gb200": 180, "mi355x": 288,
		"gb300": 288, "gh200-96gb": 96, "gh200-144gb": 144, "gb10": 128,
	}
	for _, gpu := range GPUs {
		if !gpu.SMs.Known() {
			continue // of TPUs and Trainium only the sheet's figure is known
		}
		if share := gpu.MemoryBytes.Value / (label[gpu.Name] * 1024 * mib); share < 0.93 || share > 1 {
			t.Errorf("%s: %v bytes are %.4f of the label's GiB", gpu.Name, gpu.MemoryBytes.Value, share)
		}
	}
}

// The points where compute and memory meet, as published for both.
func TestRidgePoints(t *testing.T) {
	for name, want := range map[string]float64{"a100-80gb-sxm": 153, "h100-sxm": 295, "h200": 206, "v100-sxm-16gb": 139} {
		gpu, _ := FindGPU(name)
		if ridge := gpu.FP16.Value / gpu.MemoryRate.Value; ridge < want-0.6 || ridge > want+0.6 {
			t.Errorf("%s: ridge at %.2f FLOP/B, want %v", name, ridge, want)
		}
	}
}

func TestPeak(t *testing.T) {
	gpu, _ := FindGPU("t4")
	for p, want := range map[Precision]float64{FP32: 8.1e12, TF32: 0, FP16: 65e12, FP8: 0, INT8: 130e12, "fp4": 0} {
		if got := gpu.Peak(p); got.Value != want || got.Known() != (want > 0) {
			t.Errorf("%s: %v, want %v", p, got.Value, want)
		}
	}
}

// bf16 came with Ampere, fp8 with Ada and Hopper, tf32 with Ampere.
func TestPrecisionsByArchitecture(t *testing.T) {
	for _, gpu := range GPUs {
		nvidia := gpu.ComputeMajor > 0
		if !nvidia && gpu.Name != "mi300x" {
			continue
		}
		for p, from := range map[Precision][2]int{BF16: {8, 0}, TF32: {8, 0}, FP8: {8, 9}, FP16: {7, 0}} {
			has := !nvidia || gpu.ComputeMajor > from[0] || gpu.ComputeMajor == from[0] && gpu.ComputeMinor >= from[1]
			if gpu.Peak(p).Known() != has {
				t.Errorf("%s: %s known is %v, want %v", gpu.Name, p, gpu.Peak(p).Known(), has)
			}
		}
	}
}

func TestLinksAndStorages(t *testing.T) {
	for _, link := range links {
		if link.Pinned.Value >= link.Nominal.Value || link.Pageable[1].Value >= link.Pinned.Value || link.Pageable[0].Value >= link.Pageable[1].Value {
			t.Errorf("%s: pageable < pinned < nominal does not hold", link.Name)
		}
	}
	if nvme, found := FindStorage("nvme"); !found || nvme.Rate.Value != 7e9 {
		t.Errorf("one NVMe drive reads %v bytes/s, want the 7 GB/s that readers of the tutorial expect", nvme.Rate.Value)
	}
	for _, name := range []string{"nvme3", "nvme5", "sata-ssd", "hdd", "gp3", "pd-ssd", "nfs-10g", "fsx-250", "s3", "s3-connection", "gcs", "page-cache"} {
		if _, found := FindStorage(name); !found {
			t.Errorf("no storage %q", name)
		}
	}
	for _, s := range storages {
		if s.Latency.Known() && s.IOPS.Known() && 1/s.Latency.Value > s.IOPS.Value*1.001 {
			t.Errorf("%s: one read at a time is faster than many", s.Name)
		}
	}
}

func TestNearest(t *testing.T) {
	for _, c := range []struct {
		name  string
		among []string
		want  []string
	}{
		{"a100", Known.GPUNames(), []string{"a100-40gb-pcie", "a100-40gb-sxm", "a100-80gb-pcie", "a100-80gb-sxm"}},
		{"h100", Known.GPUNames(), []string{"h100-pcie", "h100-sxm"}},
		{"NVIDIA A10G", Known.GPUNames(), []string{"a10"}},
		{"h100-sxmm", Known.GPUNames(), []string{"h100-sxm"}},
		{"rtx4090", Known.GPUNames(), []string{"rtx-4090", "rtx-3090", "rtx-5090"}},
		{"pci4", Known.LinkNames(), []string{"pcie4"}},
		{"nvme4", Known.StorageNames(), []string{"nvme", "nvme3", "nvme5"}},
		{"gp2", Known.StorageNames(), []string{"gp3"}},
		{"zzzzzz", Known.GPUNames(), nil},
		{"", Known.GPUNames(), nil},
		{"h100", nil, nil},
		{strings.Repeat("h100 ", 1e6), Known.GPUNames(), nil}, // and at once
	} {
		if got := Nearest(c.name, c.among); !slices.Equal(got, c.want) {
			t.Errorf("Nearest(%q) = %v, want %v", c.name, got, c.want)
		}
	}
}

// A user's row wins over a built-in one, by key and by the driver's name.
func TestWith(t *testing.T) {
	own := Table{
		GPUs:     []GPU{{Name: "h100-sxm", Title: "mine"}, {Name: "my-h200", Match: []string{"NVIDIA H200"}}},
		Storages: []Storage{{Name: "nvme", Rate: Figure{3e9, "fio here"}}},
	}
	both := Known.With(own)
	if gpu, _ := both.FindGPU("h100-sxm"); gpu.Title != "mine" {
		t.Errorf("h100-sxm is %q", gpu.Title)
	}
	if gpu, _ := both.FindGPU("NVIDIA H200"); gpu.Name != "my-h200" {
		t.Errorf("the H200 is %q", gpu.Name)
	}
	if _, found := both.FindGPU("h200"); !found || len(both.GPUs) != len(GPUs)+1 {
		t.Errorf("%d GPUs, want one more than %d", len(both.GPUs), len(GPUs))
	}
	if s, _ := both.FindStorage("nvme"); s.Rate.Value != 3e9 || len(both.Storages) != len(storages) {
		t.Errorf("nvme reads %v", s.Rate.Value)
	}
	if gpu, _ := Known.FindGPU("NVIDIA H200"); gpu.Name != "h200" {
		t.Error("With changed the table that it was called on")
	}
}

// TestDocNames keeps the names in hardware/README.md those of Known.
func TestDocNames(t *testing.T) {
	page, err := os.ReadFile("../hardware/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for row, names := range map[string][]string{
		"GPUs": Known.GPUNames(), "links": Known.LinkNames(), "networks": Known.NetworkNames(), "storage": Known.StorageNames(),
		"CPU cores": Known.CPUNames(), "grids": Known.GridNames(),
	} {
		_, line, _ := strings.Cut(string(page), "\n| "+row+" | ")
		line, _, _ = strings.Cut(line, "\n")
		line, _, _ = strings.Cut(line, " (")
		if got := strings.TrimRight(line, " |"); got != strings.Join(names, " ") {
			t.Errorf("hardware/README.md: %s: %q, want %q", row, got, strings.Join(names, " "))
		}
	}
}
