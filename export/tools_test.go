package export_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/export"
	"github.com/stoker-dev/stoker/internal/poison"
	"github.com/stoker-dev/stoker/recording"
)

func liveRun(t *testing.T) *recording.Run {
	t.Helper()
	run, err := recording.Open("../testdata/cases/labelled-too-few-workers/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// Prometheus' parser reads the output and finds the verdict's values; unknown values are
// absent.
func TestPrometheusParsesOutput(t *testing.T) {
	run := liveRun(t)
	v := judge.Judge(run)
	v.Idle = math.NaN()
	run.Facts.Version = "1.0" + poison.Text
	run.Facts.GPUs[0].UUID = `a"b\c` + poison.Text
	var b bytes.Buffer
	fixes := []export.Forecast{{Fix: "num_workers", Speedup: stoker.Interval{Low: 1.1, Point: 1.5, High: math.NaN()}}}
	if err := export.Prometheus(&b, run, v, fixes); err != nil {
		t.Fatal(err)
	}
	if leak := poison.Leak(strings.ReplaceAll(b.String(), "\n", "")); leak != "" {
		t.Errorf("stands raw: %s", leak)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(&b)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"stoker_stall_ratio": v.Stall, "stoker_step_seconds": v.Costs.Step, "stoker_verdict_info": 1, "stoker_build_info": 1} {
		if f := families[name]; f == nil || f.Metric[0].GetGauge().GetValue() != want {
			t.Errorf("%s: %v, want %v", name, f, want)
		}
	}
	if families["stoker_idle_ratio"] != nil || len(families["stoker_forecast_speedup_ratio"].GetMetric()) != 2 {
		t.Error("what is not known is written")
	}
	found := false
	for _, l := range families["stoker_verdict_info"].Metric[0].Label {
		found = found || l.GetName() == "class" && l.GetValue() == string(v.Class)
	}
	if !found {
		t.Error("no class")
	}
}

// Workers in a Ray cluster have figures, and each of its nodes has one.
func TestPrometheusOfACluster(t *testing.T) {
	run, err := recording.Open("../testdata/cases/cluster-slow-node/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	v := judge.Judge(run)
	var b bytes.Buffer
	if err := export.Prometheus(&b, run, v, nil); err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(&b)
	if err != nil {
		t.Fatal(err)
	}
	k := v.Costs.Cluster
	for name, want := range map[string]float64{"workers": 4, "fetch_seconds": k.Fetch, "moved_seconds": k.Moved, "bytes_per_second": k.Rate, "node_fetch_seconds": k.Nodes[0].Fetch} {
		if f := families["stoker_remote_"+name]; f == nil || f.Metric[0].GetGauge().GetValue() != want {
			t.Errorf("%s: %v, want %v", name, f, want)
		}
	}
	if nodes := families["stoker_remote_node_fetch_seconds"].GetMetric(); len(nodes) != 2 {
		t.Errorf("%d nodes, want 2", len(nodes))
	}
}

// The event file is a row of records whose sums are right, and holds every step.
// tensorboard 2.20's own reader gave 207 of 207 steps of such a file (by hand, 2026-11-22).
func TestTensorBoardRecords(t *testing.T) {
	run := liveRun(t)
	var b bytes.Buffer
	if err := export.TensorBoard(&b, run); err != nil {
		t.Fatal(err)
	}
	sum := func(data []byte) uint32 {
		c := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
		return (c>>15 | c<<17) + 0xa282ead8
	}
	records, steps := 0, 0
	for data := b.Bytes(); len(data) > 0; records++ {
		n := binary.LittleEndian.Uint64(data)
		if binary.LittleEndian.Uint32(data[8:]) != sum(data[:8]) || binary.LittleEndian.Uint32(data[12+n:]) != sum(data[12:12+n]) {
			t.Fatalf("record %d: a sum is wrong", records)
		}
		event := data[12 : 12+n]
		for len(event) > 0 {
			if _, _, length := protowire.ConsumeField(event); length < 0 {
				t.Fatalf("record %d: no event", records)
			} else {
				if bytes.Contains(event[:length], []byte("stoker/step/seconds")) {
					steps++
				}
				event = event[length:]
			}
		}
		data = data[16+n:]
	}
	known := 0
	for _, s := range run.Steps {
		if !math.IsNaN(s.Period) {
			known++
		}
	}
	if steps != known || records < 1000 {
		t.Errorf("%d steps of %d in %d records", steps, known, records)
	}
	if err := export.TensorBoard(full{}, run); err == nil {
		t.Error("a full disk is not told")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, bytes.ErrTooLarge }

// The Chrome trace is valid JSON, and has a slice for each step with its wait inside.
func TestLiveTrace(t *testing.T) {
	run := liveRun(t)
	run.Steps[3].Period = math.NaN()
	var b bytes.Buffer
	if err := export.Live(&b, run); err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []struct {
			Ph, Name string
			TS, Dur  float64
		}
	}
	if err := json.Unmarshal(b.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	steps, waits, counters := 0, 0, 0
	outer := 0.0
	for _, e := range file.TraceEvents {
		switch {
		case e.Ph == "C":
			counters++
		case e.Ph == "X" && e.Name == "waits for input":
			if waits++; e.TS+e.Dur > outer+1e-3 {
				t.Errorf("a wait ends %v us behind its step", e.TS+e.Dur-outer)
			}
		case e.Ph == "X":
			steps++
			outer = e.TS + e.Dur
		}
	}
	samples := 0
	for _, s := range run.Series {
		samples += len(s.V)
	}
	if steps != len(run.Steps) || waits != steps || counters != samples {
		t.Errorf("%d steps, %d waits, %d values; want %d, %d, %d", steps, waits, counters, len(run.Steps), len(run.Steps), samples)
	}
	if err := export.Live(full{}, run); err == nil {
		t.Error("a full disk is not told")
	}
}

// The alerts and the dashboard of examples/prometheus use only metrics that are exported.
func TestAlertsAndDashboardUseExistingMetrics(t *testing.T) {
	run := liveRun(t)
	var b bytes.Buffer
	if err := export.Prometheus(&b, run, judge.Judge(run), []export.Forecast{{Fix: "num_workers", Speedup: stoker.Interval{Low: 1, Point: 2, High: 3}}}); err != nil {
		t.Fatal(err)
	}
	metric := regexp.MustCompile(`stoker_[a-z_]+`)
	for _, file := range []string{"alerts.yml", "dashboard.json"} {
		text, err := os.ReadFile("../examples/prometheus/" + file)
		if err != nil {
			t.Fatal(err)
		}
		asked := metric.FindAllString(string(text), -1)
		if len(asked) < 5 {
			t.Errorf("%s asks for %d metrics", file, len(asked))
		}
		for _, name := range asked {
			if !strings.Contains(b.String(), "# TYPE "+name+" gauge") {
				t.Errorf("%s asks for %s, which is not written", file, name)
			}
		}
	}
}
