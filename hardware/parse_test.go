package hardware

import (
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
)

// example is the file that hardware/README.md shows.
func example(t testing.TB) []byte {
	t.Helper()
	page, err := os.ReadFile("../hardware/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(page), "```json\n")
	body, _, closed := strings.Cut(after, "```")
	if !found || !closed {
		t.Fatal("hardware/README.md shows no file of rows")
	}
	return []byte(body)
}

func TestParseExample(t *testing.T) {
	own, err := Parse("hardware.json", example(t))
	if err != nil {
		t.Fatal(err)
	}
	table := Known.With(own)

	b300, found := table.FindGPU("NVIDIA B300 SXM6 AC")
	if !found || b300.Name != "b300" || b300.FP16.Value != 2.25e15 || b300.MemoryBytes.Value != 268*1024*mib || b300.ComputeMajor != 10 || b300.ComputeMinor != 3 {
		t.Errorf("b300: %+v", b300)
	}
	if !strings.Contains(b300.FP16.Source, "data sheet") || !strings.Contains(b300.IdlePower.Source, "nvidia-smi") {
		t.Errorf("sources: %q, %q", b300.FP16.Source, b300.IdlePower.Source)
	}
	ours, _ := table.FindGPU("h100-ours")
	if ours.Price.Value != 1.1 || ours.FP16.Value != 989.4e12 || ours.FP16.Source != h100Sheet {
		t.Errorf("h100-ours: %+v", ours)
	}
	if gpu, _ := table.FindGPU("NVIDIA H100 80GB HBM3"); gpu.Name != "h100-sxm" {
		t.Errorf("a copy under a new name took over the device: %q", gpu.Name)
	}
	if s, _ := table.FindStorage("nvme"); s.Rate.Value != 3.1e9 || s.IOPS.Value != 410e3 || s.Latency.Value != 90e-6 {
		t.Errorf("nvme: %+v", s)
	}
	if c, _ := table.FindCPU("Our CPU 1234 @ 2 GHz"); c.DecodeRate("pillow").Value != 400 {
		t.Errorf("cpu: %+v", c)
	}
	if g, _ := table.FindGrid("de"); g.Carbon.Value != 381 || g.Price.Value != 0.18 {
		t.Errorf("grid: %+v", g)
	}
	if l, _ := table.FindLink("pcie4x8"); l.Pinned.Value != 12.5e9 || l.Nominal.Value != 15.75e9 {
		t.Errorf("link: %+v", l)
	}
}

// Every mistake is named with file, row and field, and with what to write instead.
func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{``, `mine.json: line 1 is not JSON: unexpected end of JSON input`},
		{"{\n\"gpus\": [}\n", `mine.json: line 2 is not JSON`},
		{`[]`, `mine.json: expected an object such as {"name": "value"}, got "[]"`},
		{`null`, `mine.json: expected an object`},
		{`{"gpu": []}`, `mine.json: unknown list "gpu", did you mean gpus?`},
		{`{"gpus": {}}`, `mine.json: gpus: expected a list of rows such as [{"name": …}], got "{}"`},
		{`{"gpus": [7]}`, `mine.json: gpus row 1: expected an object`},
		{`{"gpus": [{}]}`, `mine.json: gpus row 1, name: is missing, expected a short one such as h100-sxm`},
		{`{"gpus": [{"name": "My GPU"}]}`, `gpus row 1, name: "My GPU": expected at most 60 small letters`},
		{`{"gpus": [{"name": 3}]}`, `gpus row 1, name: expected text, got "3"`},
		{`{"gpus": [{"name": "x", "source": "s", "memroy": "80 GB"}]}`, `gpus row 1 (x): unknown field "memroy", did you mean memory?`},
		{`{"gpus": [{"name": "x", "source": "s", "fp16": "312 TB/s"}]}`, `gpus row 1 (x), fp16: "312 TB/s" is a rate, expected a speed of computation such as 312 TFLOP/s`},
		{`{"gpus": [{"name": "x", "source": "s", "fp16": 312}]}`, `gpus row 1 (x), fp16: expected a quantity in quotes`},
		{`{"gpus": [{"name": "x", "source": "s", "fp16": "0 TFLOP/s"}]}`, `gpus row 1 (x), fp16: is 0: leave out a figure that the hardware lacks or that is unknown`},
		{`{"gpus": [{"name": "x", "source": "s", "fp16": "-1 TFLOP/s"}]}`, `gpus row 1 (x), fp16: "-1 TFLOP/s" is negative`},
		{`{"gpus": [{"name": "x", "fp16": "312 TFLOP/s"}]}`, `gpus row 1 (x), fp16: has no source: add "source" to the row`},
		{`{"gpus": [{"name": "x", "fp16": {"value": "312 TFLOP/s", "sorce": "s"}}]}`, `gpus row 1 (x), fp16: unknown field "sorce", did you mean source?`},
		{`{"gpus": [{"name": "x", "source": "s", "link": "pcie6"}]}`, `gpus row 1 (x), link: unknown link "pcie6", did you mean pcie3 or pcie4 or pcie5?`},
		{`{"gpus": [{"name": "x", "source": "s", "like": "h100"}]}`, `gpus row 1 (x), like: unknown row "h100", did you mean h100-pcie or h100-sxm?`},
		{`{"gpus": [{"name": "x", "source": "s", "compute": "nine"}]}`, `gpus row 1 (x), compute: "nine" is not a compute capability, expected one such as "9.0"`},
		{`{"gpus": [{"name": "x", "source": "s", "match": "y"}]}`, `gpus row 1 (x), match: expected names such as`},
		{`{"gpus": [{"name": "x"}, {"name": "x"}]}`, `gpus row 2 (x), name: "x" is the name of a row above`},
		{`{"gpus": [{"name": "x", "source": "s", "power": "100 W", "idle_power": "200 W"}]}`, `gpus row 1 (x), idle_power: 200 W is more than power, 100 W`},
		{`{"links": [{"name": "x", "source": "s", "nominal": "10 GB/s", "pinned": "20 GB/s"}]}`, `links row 1 (x), nominal: 10 GB/s is too little: expected pageable_low <= pageable_high <= pinned <= nominal`},
		{`{"storages": [{"name": "x", "source": "s", "rate": "7 Gb/s"}]}`, `storages row 1 (x), rate: "7 Gb/s" may mean bits or bytes`},
		{`{"cpus": [{"name": "x", "source": "s", "decode": "500 images/s"}]}`, `cpus row 1 (x), decode: expected an object`},
		{`{"cpus": [{"name": "x", "source": "s", "decode": {"pillow": "500 MB/s"}}]}`, `cpus row 1 (x), decode.pillow: "500 MB/s" is a rate, expected a rate of samples`},
		{`{"grids": [{"name": "x", "source": "s", "price": "$0.12/h"}]}`, `grids row 1 (x), price: "$0.12/h" is not a price of electricity, expected one such as 0.12 $/kWh`},
		{`{"gpus": [` + strings.Repeat(" ", maxFile) + `]}`, `mine.json: 1048588 bytes, expected at most 1048576: keep only the rows that are yours`},
	} {
		_, err := Parse("mine.json", []byte(c.file))
		if err == nil || !strings.HasPrefix(err.Error(), "mine.json: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s\n got %v\nwant %s", c.file, err, c.want)
		}
	}
}

// An integer peak may be written as data sheets do.
func TestParseOperations(t *testing.T) {
	for text, want := range map[string]float64{"624 TOPS": 624e12, "624 TOP/s": 624e12, "624 TFLOP/s": 624e12, "1.979 POPS": 1979e12} {
		if got, err := operations(text); err != nil || math.Abs(got/want-1) > 1e-12 {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if _, err := operations("624 TOOPS"); err == nil || !strings.Contains(err.Error(), "TOOPS") {
		t.Errorf("the error does not show what was written: %v", err)
	}
}

// FuzzParse: no panic, no error without the file's name, and no figure that is
// negative, infinite, NaN or without source.
func FuzzParse(f *testing.F) {
	f.Add(example(f))
	f.Add([]byte(`{"gpus": [{"name": "x", "like": "t4", "price": {"value": "1 $/h", "source": "s"}}]}`))
	f.Add([]byte(`{"links": [], "storages": [{"name": "x", "source": "s", "rate": "1e308 GB/s"}]}`))
	f.Add([]byte(`{"cpus": [{"name": "x", "source": "s", "decode": {"": "1 img/s"}}], "grids": null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := Parse("f", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f: ") || !reflect.DeepEqual(table, Table{}) {
				t.Fatalf("%v with %v", err, table)
			}
			return
		}
		var check func(v reflect.Value)
		check = func(v reflect.Value) {
			switch v.Kind() {
			case reflect.Struct:
				figure, is := v.Interface().(Figure)
				if is && figure != (Figure{}) && (!(figure.Value > 0) || math.IsInf(figure.Value, 0) || figure.Source == "") {
					t.Fatalf("%+v in %s", figure, data)
				}
				for i := range v.NumField() {
					check(v.Field(i))
				}
			case reflect.Slice, reflect.Array:
				for i := range v.Len() {
					check(v.Index(i))
				}
			default:
			}
		}
		check(reflect.ValueOf(Known.With(table)))
	})
}

// A row like a link of Grace is one: what differs is what its fields say.
func TestLinksLikeThoseOfGrace(t *testing.T) {
	table, err := Parse("x", []byte(`{"links": [{"name": "ours", "like": "one-memory", "pageable_low": "9 GB/s", "source": "node 3, 2026"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if l, _ := table.FindLink("ours"); l.Reach != OneMemory || l.Pageable[0].Value != 9e9 {
		t.Errorf("%+v", l)
	}
	for name, reach := range map[string]Reach{"pcie5": Staged, "nvlink-c2c": Coherent, "one-memory": OneMemory} {
		if l, _ := FindLink(name); l.Reach != reach {
			t.Errorf("%s is reached by %q, want %q", name, l.Reach, reach)
		}
	}
}
