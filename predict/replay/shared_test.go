package replay_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace"
)

// shared is where public recordings are that are not part of the project.
const shared = "../../../shared/traces/kineto"

func read(t *testing.T, name string) *recording.Run {
	t.Helper()
	file := filepath.Join(shared, name+".json.gz")
	if _, err := os.Stat(file); err != nil {
		t.Skip("the public traces are not here")
	}
	return readFile(t, file)
}

func readFile(t *testing.T, file string) *recording.Run {
	t.Helper()
	run, err := trace.Read(context.Background(), []string{file}, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// Replaying a recording as it is gives the recording: with its own latencies by
// construction, with the trace's usual ones within a twentieth.
func TestSharedSelfCheck(t *testing.T) {
	files, _ := filepath.Glob("../../testdata/cases/trace-*/trace.json.gz")
	if len(files) == 0 {
		t.Fatal("no case has a trace")
	}
	public, _ := filepath.Glob(filepath.Join(shared, "*.json.gz"))
	played := 0
	for _, file := range append(files, public...) {
		name := strings.TrimSuffix(filepath.Base(file), ".json.gz")
		if name == "gpu_metrics_expected" {
			continue // what an old plug-in computed from the input beside it
		}
		tr, why := replay.New(readFile(t, file), replay.Marks{})
		if why != "" {
			t.Logf("%-32s %s", name, why)
			continue
		}
		played++
		c := tr.Check()
		t.Logf("%-32s %2d steps, recorded %9.3f ms, replayed %9.3f ms, with usual latencies %+.2f %%", name, c.Steps,
			1e3*c.Recorded, 1e3*c.Replayed, 100*c.Off())
		if math.Abs(c.Replayed/c.Recorded-1) > 1e-3 || c.Bounds() {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if played == 0 {
		t.Error("none of the traces was replayed")
	}
}

// Two public pairs of traces of one job, before and after num_workers=4 (n = 2:
// this shows that nothing is grossly wrong, and no coverage). Two constants of the
// replay, the rates of pageable copies with and without workers, were read from
// pairs of the same origin.
func TestSharedPairs(t *testing.T) {
	for _, pair := range []string{"a", "c"} {
		before, after := read(t, "resnet50_v100_workers0_"+pair), read(t, "resnet50_v100_workers4_"+pair)
		tr, why := replay.New(before, advise.MarkNames(before.Timeline))
		if why != "" {
			t.Fatal(why)
		}
		to, _ := replay.New(after, advise.MarkNames(after.Timeline))
		achieved := to.Check().Recorded
		f := tr.Forecast(replay.Edit{Workers: 4})
		t.Logf("%s: recorded %.1f ms, forecast %.1f [%.1f, %.1f], achieved %.1f", pair, 1e3*tr.Check().Recorded,
			1e3*f.Step.Point, 1e3*f.Step.Low, 1e3*f.Step.High, 1e3*achieved)
		if !f.Step.Contains(achieved) {
			t.Errorf("pair %s: achieved %.1f ms is not in %v", pair, 1e3*achieved, f.Step)
		}
	}
}

// BenchmarkForecast plays an edit three times, for its best, likely and worst
// case. STOKER_BIG names a larger trace.
func BenchmarkForecast(b *testing.B) {
	file := os.Getenv("STOKER_BIG")
	if file == "" {
		file = filepath.Join(shared, "resnet50_v100_workers0_a.json.gz")
	}
	if _, err := os.Stat(file); err != nil {
		b.Skip("the public traces are not here")
	}
	run, err := trace.Read(context.Background(), []string{file}, trace.Options{})
	if err != nil {
		b.Fatal(err)
	}
	tr, why := replay.New(run, advise.MarkNames(run.Timeline))
	if why != "" {
		b.Fatal(why)
	}
	tr.Check()
	b.ReportAllocs()
	for b.Loop() {
		tr.Forecast(replay.Edit{Workers: 4, PinMemory: true, NonBlocking: true})
	}
}

// BenchmarkNew makes a trace ready.
func BenchmarkNew(b *testing.B) {
	file := os.Getenv("STOKER_BIG")
	if file == "" {
		file = filepath.Join(shared, "resnet50_v100_workers0_a.json.gz")
	}
	if _, err := os.Stat(file); err != nil {
		b.Skip("the public traces are not here")
	}
	run, err := trace.Read(context.Background(), []string{file}, trace.Options{})
	if err != nil {
		b.Fatal(err)
	}
	marks := advise.MarkNames(run.Timeline)
	b.ReportAllocs()
	for b.Loop() {
		replay.New(run, marks)
	}
}
