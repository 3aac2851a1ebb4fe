package xplane_test

import (
	"context"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace"
)

// shared reads one of the public profiles, where they are.
func shared(t *testing.T, file string) *recording.Run {
	t.Helper()
	path := "../../../shared/traces/xplane/" + file
	if _, err := os.Stat(path); err != nil {
		t.Skip("the public traces are not here")
	}
	run, err := trace.Read(context.Background(), []string{path}, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// count is how many pieces of work a device had, and their lengths.
type count struct {
	kernels, copies  int
	kernelNS, copyNS float64
	linked, n        int
}

func counts(run *recording.Run) map[int]*count {
	out := map[int]*count{}
	d := &run.Timeline.Device
	for i := range d.Start {
		index := run.Timeline.Devices[d.Device[i]].Index
		if out[index] == nil {
			out[index] = &count{}
		}
		c := out[index]
		c.n++
		if d.Call[i] >= 0 {
			c.linked++
		}
		if d.Kind[i] == recording.Copy {
			c.copies++
			c.copyNS += float64(d.End[i] - d.Start[i])
		} else {
			c.kernels++
			c.kernelNS += float64(d.End[i] - d.Start[i])
		}
	}
	return out
}

// TestBERTCounts compares with what a decoder in Python, which knows nothing of this
// one, counted and summed.
func TestBERTCounts(t *testing.T) {
	run := shared(t, "bert_squad_tf_gpu.xplane.pb")
	got := counts(run)
	for device, want := range map[int]struct {
		kernels, copies int
		kernelMS        float64
		copyMS          float64
	}{1: {0, 19, 0, 0.034}, 4: {665, 94, 14.825385, 0.198429}, 6: {665, 113, 14.865363, 0.239136}} {
		c := got[device]
		if c == nil || c.kernels != want.kernels || c.copies != want.copies || c.linked != c.n {
			t.Errorf("GPU %d: %+v, want %+v, all linked", device, c, want)
			continue
		}
		if math.Abs(c.kernelNS/1e6-want.kernelMS) > 0.001 || math.Abs(c.copyNS/1e6-want.copyMS) > 0.001 {
			t.Errorf("GPU %d: %.6f ms in kernels and %.6f in copies, want %+v", device, c.kernelNS/1e6, c.copyNS/1e6, want)
		}
	}
	if len(got) != 3 {
		t.Errorf("%d devices with work, want 3", len(got))
	}
}

func TestJAXCounts(t *testing.T) {
	run := shared(t, "jax_conv_mi300.xplane.pb")
	got := counts(run)
	for device := range 8 {
		want := 25
		if device == 0 {
			want = 60
		}
		if c := got[device]; c == nil || c.n != want {
			t.Errorf("GPU %d: %+v, want %d", device, c, want)
		}
	}
	if c := got[1]; c != nil && math.Abs(c.kernelNS/1e6-3.346) > 0.001 {
		t.Errorf("GPU 1: kernels last %.4f ms, want 3.346", c.kernelNS/1e6)
	}
	if len(run.Steps) != 4 || run.Facts.Software.Framework != "JAX" {
		t.Errorf("%d steps, framework %q", len(run.Steps), run.Facts.Software.Framework)
	}
	v := judge.Judge(run)
	if v.Class != diagnose.CPUBound || v.Shares.Idle < 0.9 {
		t.Errorf("verdict %s, idle %.2f; the GPUs work 3 %% of the time", v.Class, v.Shares.Idle)
	}
}

// TestBERTTable holds the step of each device to a table that was computed by hand,
// in Python and straight from the file: shares of the step in per cent, and the
// parts of the idle time by the rule that compares the launch with the gap.
func TestBERTTable(t *testing.T) {
	run := shared(t, "bert_squad_tf_gpu.xplane.pb")
	all := idle.Analyse(run)
	table := map[int]struct{ step, kernel, copied, idle, latency, host, launch, issue float64 }{
		4: {19.865, 74.63, 0.23, 25.14, 13.40, 8.13, 3.42, 0.12},
		6: {21.310, 69.76, 0.16, 30.08, 12.92, 12.84, 4.19, 0.13},
	}
	for i := range all.Devices {
		d := &all.Devices[i]
		want, found := table[run.Timeline.Devices[d.Index].Index]
		if !found {
			continue
		}
		delete(table, run.Timeline.Devices[d.Index].Index)
		within := func(what string, got, want float64) {
			if math.Abs(got-want) > 1 {
				t.Errorf("GPU %d: %s %.2f, by hand %.2f", run.Timeline.Devices[d.Index].Index, what, got, want)
			}
		}
		percent := func(causes ...idle.Cause) (sum float64) {
			for _, c := range causes {
				sum += 100 * d.Share(d.Causes[c])
			}
			return sum
		}
		if len(d.Steps) != 1 || math.Abs(float64(d.WindowLength())/1e6-want.step) > 0.01*want.step {
			t.Errorf("GPU %d: %d steps, window %d ns", run.Timeline.Devices[d.Index].Index, len(d.Steps), d.WindowLength())
		}
		within("kernels", 100*d.Share(d.Kernel), want.kernel)
		within("copies alone", 100*d.Share(d.Copy), want.copied)
		within("idle", 100*d.Share(d.Idle), want.idle)
		within("device latency", percent(idle.DeviceLatency), want.latency)
		within("host before the launch", percent(idle.CPUOp, idle.DataLoader, idle.Python, idle.Unrecorded, idle.WarmUp), want.host)
		within("launch", percent(idle.Launch), want.launch)
		within("copy issue", percent(idle.CopyIssue), want.issue)
	}
	if len(table) > 0 {
		t.Errorf("devices without an analysis: %v", table)
	}
}

// TestXProfOfBERT: XProf itself says of this file that it is potentially
// input-bound, as 30.2 % of the step are All Others, and 14.9 of 21.3 ms are device
// compute.
func TestXProfOfBERT(t *testing.T) {
	v := judge.Judge(shared(t, "bert_squad_tf_gpu.xplane.pb"))
	text := strings.Join(v.Warnings, "\n")
	for _, want := range []string{"XProf would say POTENTIALLY input-bound: of a step of 21.3 ms, device compute 69.8 %", "All Others 30.1 %"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
}
