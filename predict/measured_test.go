package predict

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stoker/hardware"
)

// examRows reads the measurements that were kept aside, testdata/exam.csv.
func examRows(t *testing.T) []Measurement {
	t.Helper()
	file, err := os.Open("testdata/exam.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []Measurement
	for _, line := range lines[1:] {
		field := map[string]string{}
		for i, name := range lines[0] {
			field[name] = line[i]
		}
		rows = append(rows, Measurement{
			Workload: field["workload"], Variant: field["variant"], Weights: number(t, field["weights"]),
			GPU: field["gpu"], Precision: hardware.Precision(field["precision"]), Software: Software(field["software"]),
			Training: field["training"] == "true", Batch: number(t, field["batch"]), Tokens: number(t, field["tokens"]),
			Image: number(t, field["image"]), Rate: number(t, field["rate"]), GPUs: int(number(t, field["gpus"])),
			Recompute: field["recompute"] == "true", Loading: field["loading"] == "true", Source: field["source"],
		})
	}
	return rows
}

// number reads a field of the exam; an empty one is 0.
func number(t *testing.T, text string) float64 {
	t.Helper()
	if text == "" {
		return 0
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// group is the text whose sum says whether a row is fitted or kept for the exam.
func group(m Measurement) string {
	kind := "infer"
	if m.Training {
		kind = "train"
	}
	source := strings.SplitN(m.Source, ", ", 3)
	gpu := strings.Replace(m.GPU, "rtx-", "rtx", 1)
	return strings.Join([]string{m.Workload, kind, gpu, string(m.Precision), string(m.Software), source[0] + ", " + source[1]}, "|")
}

func learnt(m Measurement) bool {
	sum := fnv.New32a()
	sum.Write([]byte(group(m)))
	return sum.Sum32()%5 < 3
}

func TestMeasurementsAreSane(t *testing.T) {
	for _, m := range slices.Concat(Measurements, examRows(t)) {
		if !(m.Batch >= 1) || !(m.Rate > 0) || m.Step() > 600 || m.GPUs < 0 || m.GPUs > 16 {
			t.Errorf("implausible figures: %+v", m)
		}
		if strings.Count(m.Source, ", ") < 1 {
			t.Errorf("no source with file: %+v", m)
		}
		if !slices.Contains([]Software{Eager, ChannelsLast, Compiled, AnySoftware}, m.Software) {
			t.Errorf("unknown software: %+v", m)
		}
		load, err := m.Load()
		if err != nil {
			t.Errorf("%+v: %v", m, err)
			continue
		}
		if used := utilisation(load, m); !(used > 0) || used > 1 {
			t.Errorf("%.2f of the peak: the rate, the peak or the FLOP are wrong: %+v", used, m)
		}
	}
}

// utilisation is the share of the peak that a measurement reached.
func utilisation(load Load, m Measurement) float64 {
	passes := 1.0
	if m.Training {
		passes = 3
	}
	return passes * load.Workload.Forward.Value * m.Rate / load.GPU.Peak(load.Precision).Value
}

// Nothing is both learnt and asked, and the rule decides, not a person.
func TestMeasurementsAreSplitByRule(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Measurements {
		seen[fmt.Sprintf("%+v", m)] = true
	}
	if len(seen) != len(Measurements) {
		t.Errorf("%d rows are fitted twice", len(Measurements)-len(seen))
	}
	asked := map[string]bool{}
	for _, m := range examRows(t) {
		asked[group(m)] = true
		if m.GPUs == 1 {
			m.GPUs = 0
		}
		if seen[fmt.Sprintf("%+v", m)] || learnt(m) || m.Recompute {
			t.Errorf("not for the exam: %+v", m)
		}
	}
	for _, m := range Measurements {
		if asked[group(m)] && !m.Recompute {
			t.Errorf("of a group that is in the exam: %+v", m)
		}
	}
	if len(asked) < 24 {
		t.Errorf("%d groups in the exam, want 24 at least", len(asked))
	}
}

// verdict is what the model says of one row of the exam.
type verdict struct {
	row    Measurement
	wrong  float64 // predicted over measured step time, minus 1
	inside bool
}

// TestExam compares predicted step times with measurements that no efficiency was
// set from. go test -v -run Exam prints the table.
func TestExam(t *testing.T) {
	var named, all []verdict
	for _, m := range examRows(t) {
		load, err := m.Load()
		if err != nil {
			t.Fatal(err)
		}
		curve, err := load.Curve()
		if err != nil {
			t.Fatalf("%+v: %v", m, err)
		}
		at := curve.At(m.Batch)
		v := verdict{m, at.Point/m.Step() - 1, at.Low <= m.Step() && m.Step() <= at.High}
		t.Logf("%-10s %-5s %-14s %-4s %-13s batch %5.0f  tokens %4.0f  measured %9.3f ms  predicted %9.3f (%.3f to %.3f)  %+4.0f %%  %v",
			m.Workload, verb(m), m.GPU, m.Precision, m.Software, m.Batch, m.Tokens, 1e3*m.Step(), 1e3*at.Point, 1e3*at.Low, 1e3*at.High, 100*v.wrong, v.inside)
		all = append(all, v)
		if m.Software != AnySoftware {
			named = append(named, v)
		}
	}
	report(t, all)
	t.Logf("where the software is named: %d rows, median error %.1f %%; %d published tables, median of their medians %.1f %%",
		len(named), 100*median(named), len(tables(named)), 100*median(tables(named)))
	if typical := median(tables(named)); typical > 0.15 {
		t.Errorf("median error %.1f %% where the software is named, want 15 %% at most", 100*typical)
	}
	if share := within(all); share < 0.8 {
		t.Errorf("%.0f %% inside the printed interval, want 80 %% at least", 100*share)
	}
}

// tables is one verdict per group, its median error: the rows of one published
// table, batch after batch on one machine, are not independent of each other.
func tables(all []verdict) (out []verdict) {
	by := map[string][]verdict{}
	for _, v := range all {
		by[group(v.row)] = append(by[group(v.row)], v)
	}
	for _, rows := range by {
		out = append(out, verdict{wrong: median(rows)})
	}
	return out
}

func verb(m Measurement) string {
	if m.Training {
		return "train"
	}
	return "infer"
}

// report logs the errors by workload, GPU, precision and software.
func report(t *testing.T, all []verdict) {
	t.Helper()
	by := map[string][]verdict{"all": all}
	for _, v := range all {
		for _, key := range []string{v.row.Workload + " " + verb(v.row), v.row.GPU, string(v.row.Precision), string(v.row.Software)} {
			by[key] = append(by[key], v)
		}
	}
	keys := make([]string, 0, len(by))
	for key := range by {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(len(by[b]), len(by[a])), cmp.Compare(a, b)) })
	for _, key := range keys {
		t.Logf("%-18s %3d rows  median error %5.1f %%  inside %3.0f %%", key, len(by[key]), 100*median(by[key]), 100*within(by[key]))
	}
}

// median is the median of the errors without their signs.
func median(all []verdict) float64 {
	sizes := make([]float64, len(all))
	for i, v := range all {
		sizes[i] = math.Abs(v.wrong)
	}
	slices.Sort(sizes)
	n := len(sizes)
	return (sizes[(n-1)/2] + sizes[n/2]) / 2
}

// within is the share inside the printed interval.
func within(all []verdict) float64 {
	n := 0.0
	for _, v := range all {
		if v.inside {
			n++
		}
	}
	return n / float64(len(all))
}
