package idle_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace"
)

const shared = "../../../shared/traces/kineto"

func read(t *testing.T, name string) *recording.Run {
	t.Helper()
	file := filepath.Join(shared, name+".json.gz")
	if _, err := os.Stat(file); err != nil {
		t.Skip("the public traces are not here: ", err)
	}
	run, err := trace.Read(context.Background(), []string{file}, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// TestEveryTraceAddsUp holds the sums on real files, in integers: our own, and public
// ones where they are there.
func TestEveryTraceAddsUp(t *testing.T) {
	files, _ := filepath.Glob("../../testdata/cases/trace-*/trace.json.gz")
	if len(files) == 0 {
		t.Fatal("no case has a trace")
	}
	public, _ := filepath.Glob(shared + "/*.json.gz")
	for _, file := range append(files, public...) {
		if filepath.Base(file) == "gpu_metrics_expected.json.gz" {
			continue // the input with counters beside it
		}
		run, err := trace.Read(context.Background(), []string{file}, trace.Options{})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		check(t, idle.Analyse(run))
	}
}

// counter is one point of a series that the old plug-in wrote beside a trace.
type counter struct {
	Ph   string             `json:"ph"`
	Name string             `json:"name"`
	TS   int64              `json:"ts"`
	Args map[string]float64 `json:"args"`
}

func counters(t *testing.T, name string) []counter {
	t.Helper()
	f, err := os.Open(filepath.Join(shared, "gpu_metrics_expected.json.gz"))
	if err != nil {
		t.Skip("the public traces are not here: ", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []json.RawMessage `json:"traceEvents"`
	}
	if err := json.NewDecoder(z).Decode(&file); err != nil {
		t.Fatal(err)
	}
	var out []counter
	for _, raw := range file.TraceEvents {
		var c counter
		if json.Unmarshal(raw, &c) == nil && c.Ph == "C" && c.Name == name {
			out = append(out, c)
		}
	}
	if len(out) < 10 {
		t.Fatalf("%d points of %q were found", len(out), name)
	}
	return out
}

// The plug-in's test wrote its series enlarged, "faked data for easy to see in
// UI", as its source says: real efficiencies are a tenth and real utilisations a
// hundredth of what the file holds (pytorch/kineto, tb_plugin/test/
// test_profiler.py, test_dump_gpu_metrics).
const (
	efficiencyBy  = 10
	utilisationBy = 100
)

// TestPluginSeries reproduces every point of the series that torch-tb-profiler
// keeps beside its own test input, values and times within 1 %, times exactly.
func TestPluginSeries(t *testing.T) {
	run := read(t, "gpu_metrics_input")
	a := idle.Analyse(run)
	d := &a.Devices[0]
	zero := int64(math.Round(run.Facts.Started * 1e6)) // microseconds
	if zero == 0 {
		t.Fatal("the trace's start is unknown")
	}

	points := counters(t, "GPU 0 Est. SM Efficiency")[2:] // the first two draw a base line
	levels := a.PluginSMEfficiency(d)
	if len(points) != 2*len(levels) {
		t.Fatalf("%d levels, the plug-in wrote %d", len(levels), len(points)/2)
	}
	for i, l := range levels {
		from, to := points[2*i], points[2*i+1]
		compare(t, "efficiency", from.Args["Est. SM Efficiency"]/efficiencyBy, l.Value)
		if from.TS != zero+l.From/1000 || to.TS != zero+l.To/1000 {
			t.Errorf("level %d lasts from %d to %d us, the plug-in's from %d to %d", i, zero+l.From/1000, zero+l.To/1000, from.TS, to.TS)
		}
	}

	points = counters(t, "GPU 0 Utilization")[2:]
	from, to := 1000*(points[0].TS-zero), 1000*(points[len(points)-1].TS-zero)
	buckets := a.PluginUtilisation(d, from, to)
	if len(points) != len(buckets)+1 {
		t.Fatalf("%d buckets, the plug-in wrote %d", len(buckets), len(points)-1)
	}
	for i, b := range buckets {
		compare(t, "utilisation", points[i].Args["GPU Utilization"]/utilisationBy, b.Value)
	}
}

func compare(t *testing.T, what string, want, got float64) {
	t.Helper()
	if math.Abs(got-want) > 0.01*math.Abs(want) {
		t.Errorf("%s %v, the plug-in's is %v", what, got, want)
	}
}

// Holistic Trace Analysis and TraceLens take the time from the first to the last
// piece of device work. Within that, idle time is what it is for us; their figures
// are of 2026-11 (HTA 0.5.0, TraceLens of 2026), in percent. HTA cuts times
// to whole microseconds first, which shortens kernels of 3 us: hence its point more.
func TestIdleOfOtherTools(t *testing.T) {
	for name, want := range map[string]struct{ hta, traceLens, hostWait float64 }{
		"owlv2_h100": {47.9, 47.4, 98}, "timesformer_h100": {1.3, 1.0, 0}, "bert_small_h100": {93.5, 92.1, 100}, "alexnet_warmup": {99.5, 99.5, 0},
	} {
		t.Run(name, func(t *testing.T) {
			run := read(t, name)
			w := &run.Timeline.Device
			busy, end := int64(0), w.Start[0]
			for i := range w.Start {
				if w.End[i] > end {
					busy += w.End[i] - max(end, w.Start[i])
					end = w.End[i]
				}
			}
			got := 100 * (1 - float64(busy)/float64(end-w.Start[0]))
			t.Logf("idle %.2f %%, HTA %.1f %%, TraceLens %.1f %%", got, want.hta, want.traceLens)
			if math.Abs(got-want.hta) > 1.5 || math.Abs(got-want.traceLens) > 0.2 {
				t.Errorf("idle %.2f %%, HTA says %.1f %%, TraceLens %.1f %%", got, want.hta, want.traceLens)
			}
			if late := hostWait(idle.Analyse(run), w.Start[0], end); want.hostWait > 0 && math.Abs(late-want.hostWait) > 2 {
				t.Errorf("the host was late for %.1f %% of idle time, HTA says %.0f %%", late, want.hostWait)
			}
		})
	}
}

// hostWait is the part of idle time between two instants that HTA would charge to
// the host: the launch came after the work before it had ended. Percent.
func hostWait(a *idle.Analysis, from, to int64) float64 {
	late, all := int64(0), int64(0)
	for s := range a.Slices(&a.Devices[0], from, to) {
		all += s.To - s.From
		if s.Cause != idle.DeviceLatency && s.Cause != idle.DeviceWait && s.Cause != idle.Communication {
			late += s.To - s.From
		}
	}
	return 100 * float64(late) / float64(all)
}
