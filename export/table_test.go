package export

import (
	"bytes"
	"encoding/csv"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// valuesOf are the values of a row by their columns, without those that are not known.
func valuesOf[R any](columns []column[R], row R) string {
	var all []string
	for _, c := range columns {
		if text := c.text(row); text != "" {
			all = append(all, c.name+"="+text)
		}
	}
	return strings.Join(all, " ")
}

// Each figure is in the column of its name.
func TestTableColumns(t *testing.T) {
	facts := &recording.Facts{Host: "node-3", Job: "SLURM_JOB_ID=4711", Started: 1.7e9}
	step := recording.Step{
		PID: 2, Rank: 3, Device: 4, Loader: 5, N: 6, Start: 7.5, Period: 8, Wait: 9, Samples: 10, Pass: 11, Phase: recording.Train,
		Idle: 12, DevicePeriod: 13, Optimized: 14,
	}
	series := &recording.Series{Signal: recording.GPUPower, Subject: "gpu/0", T: []float64{1, 2.5}, V: []float64{300, 310}}
	from := origin{"a.jsonl.gz", facts}
	const begin = "recording=a.jsonl.gz host=node-3 job=SLURM_JOB_ID=4711 "
	for _, c := range []struct{ got, want string }{
		{valuesOf(stepColumns, stepRow{from, step, true}), begin + "rank=3 pid=2 device=4 loader=5 pass=11 n=6 phase=train judged=true time=2023-11-14T22:13:27.500000Z t_s=7.5 " +
			"period_s=8 wait_s=9 device_period_s=13 device_idle_s=12 samples=10 optimizer_steps=14"},
		{valuesOf(signalColumns, signalRow{from, series, 1}), begin + "signal=gpu.power subject=gpu/0 time=2023-11-14T22:13:22.500000Z t_s=2.5 value=310"},
	} {
		if c.got != c.want {
			t.Errorf("\n%s, want\n%s", c.got, c.want)
		}
	}
	unknown := recording.Step{Device: -1, Period: math.NaN(), Wait: math.NaN(), Samples: math.NaN(), Idle: math.NaN(), DevicePeriod: math.NaN(), Optimized: math.NaN()}
	if got := valuesOf(stepColumns, stepRow{origin{"b", &recording.Facts{}}, unknown, false}); got != "recording=b rank=0 pid=0 loader=0 pass=0 n=0 judged=false t_s=0" {
		t.Errorf("of what is not known: %s", got)
	}
}

// Steps that a verdict rests on are marked, and all values of all runs are there.
func TestTables(t *testing.T) {
	run, err := recording.Open("../testdata/cases/feed-before/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	twice := func(yield func(string, *recording.Run) bool) { _ = yield("a", run) && yield("b", run) }
	var one, two, signals bytes.Buffer
	if err := Steps(&two, twice); err != nil {
		t.Fatal(err)
	}
	if err := Steps(&one, func(yield func(string, *recording.Run) bool) { yield("a", run) }); err != nil || one.Len() >= two.Len() {
		t.Errorf("%v: %d bytes of one run, %d of two", err, one.Len(), two.Len())
	}
	if err := Signals(&signals, twice); err != nil {
		t.Errorf("%v", err)
	}
	rows, err := csv.NewReader(&signals).ReadAll()
	values := 0
	for i := range run.Series {
		values += len(run.Series[i].T)
	}
	if err != nil || len(rows) != 1+2*values {
		t.Errorf("%v, %d rows of signals, want a heading and twice %d", err, len(rows), values)
	}
	judged, want := 0, 0
	_ = eachStep(origin{"a", &run.Facts}, run, func(r stepRow) error {
		if r.judged {
			judged++
		}
		return nil
	})
	for _, w := range run.Windows() {
		want += len(w.Steps)
	}
	if judged != want || want == 0 {
		t.Errorf("%d steps are marked as judged, want %d", judged, want)
	}
}

// docs/share.md names every column.
func TestColumnsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/share.md")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, c := range stepColumns {
		names = append(names, c.name)
	}
	for _, c := range signalColumns {
		names = append(names, c.name)
	}
	for _, name := range slices.Compact(names) {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/share.md does not name the column %s", name)
		}
	}
}

// A long text of a recording is limited, because it is repeated in each row, event and point of
// an export. No text in a table is a formula.
func TestLongTexts(t *testing.T) {
	long := "=cmd|" + strings.Repeat("h", 100_000)
	const values = 500
	series := recording.Series{Signal: recording.GPUPower, Subject: long, T: make([]float64, values), V: make([]float64, values)}
	run := &recording.Run{Facts: recording.Facts{Host: long, Job: long, Started: 1.7e9}, Series: []recording.Series{series}}
	for n := range values {
		run.Steps = append(run.Steps, recording.Step{N: n, Rank: -1, Loader: -1, Start: float64(n), Period: 1, Wait: 0.5, Phase: recording.Phase(long)})
	}
	once := func(yield func(string, *recording.Run) bool) { yield(long, run) }
	for name, write := range map[string]func(io.Writer) error{
		"steps":       func(w io.Writer) error { return Steps(w, once) },
		"signals":     func(w io.Writer) error { return Signals(w, once) },
		"Perfetto":    func(w io.Writer) error { return Live(w, run) },
		"TensorBoard": func(w io.Writer) error { return TensorBoard(w, run) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil || out.Len() > values*3000 {
			t.Errorf("%s: %v, %d bytes of %d values", name, err, out.Len(), values)
		}
		if name != "steps" && name != "signals" {
			continue
		}
		rows, err := csv.NewReader(&out).ReadAll()
		if err != nil || len(rows) != 1+values {
			t.Fatalf("%s: %d rows, %v", name, len(rows), err)
		}
		for i, cell := range rows[1] {
			if strings.HasPrefix(cell, "=") {
				t.Errorf("%s: the column %s is the formula %.20q", name, rows[0][i], cell)
			}
			if rows[0][i] == "rank" && cell != "-1" {
				t.Errorf("%s: the rank is %q", name, cell)
			}
		}
	}
}
