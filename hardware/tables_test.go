package hardware

import (
	"reflect"
	"strings"
	"testing"
)

// Every figure of every row has a value and a source with a year or a place to
// look it up.
func TestEveryFigureHasASource(t *testing.T) {
	count := 0
	var check func(where string, v reflect.Value)
	check = func(where string, v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			if f, ok := v.Interface().(Figure); ok {
				count++
				if f.Value <= 0 || len(f.Source) < 10 {
					t.Errorf("%s: value %v, source %q", where, f.Value, f.Source)
				}
				return
			}
			for i := range v.NumField() {
				check(where+"."+v.Type().Field(i).Name, v.Field(i))
			}
		case reflect.Slice, reflect.Array:
			for i := range v.Len() {
				check(where, v.Index(i))
			}
		default: // names and words have no source
		}
	}
	check("GPUs", reflect.ValueOf(GPUs))
	check("Links", reflect.ValueOf(Links))
	check("Storages", reflect.ValueOf(Storages))
	if count < 30 {
		t.Errorf("only %d figures were found", count)
	}
}

func TestFindGPU(t *testing.T) {
	for name, want := range map[string]string{
		"NVIDIA A100-SXM4-80GB":            "a100-80gb-sxm",
		"NVIDIA A100-SXM4-80GB (emulated)": "a100-80gb-sxm",
		"NVIDIA H100 80GB HBM3":            "h100-sxm",
		"NVIDIA H200":                      "h200",
		"h200":                             "h200",
		"NVIDIA A100-PCIE-40GB":            "",
		"NVIDIA H100 PCIe":                 "",
		"":                                 "",
	} {
		gpu, found := FindGPU(name)
		if gpu.Name != want || found != (want != "") {
			t.Errorf("FindGPU(%q) = %q, %v; want %q", name, gpu.Name, found, want)
		}
		if found && MachineOf(name).Link.Name == "" {
			t.Errorf("%s has no host link", name)
		}
	}
}

// A dense figure is never the doubled one: Hopper's FP16 peak lies below 1 PFLOP/s.
func TestPeaksAreDense(t *testing.T) {
	for _, gpu := range GPUs {
		if gpu.ComputeMajor == 9 && gpu.FP16.Value > 1e15 {
			t.Errorf("%s: %v FLOP/s is the sparse figure", gpu.Name, gpu.FP16.Value)
		}
		if ratio := gpu.FP16.Value / gpu.TF32.Value; ratio < 1.9 || ratio > 2.1 {
			t.Errorf("%s: FP16 over TF32 is %.2f, want 2", gpu.Name, ratio)
		}
	}
	for _, link := range Links {
		if link.Pinned.Value >= link.Nominal.Value || link.Pageable[1].Value >= link.Pinned.Value || strings.Contains(link.Name, "x8") {
			t.Errorf("%s: pageable < pinned < nominal does not hold", link.Name)
		}
	}
}
