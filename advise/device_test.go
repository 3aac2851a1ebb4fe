package advise

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// recorded is a case whose loader has these settings besides and whose device has
// reserved so many bytes.
func recorded(t *testing.T, name string, reserved float64, settings stoker.Settings) *recording.Run {
	t.Helper()
	run, err := recording.Open("../testdata/cases/" + name + "/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	for s, v := range settings {
		run.Facts.Loaders[0].Settings[s] = v
	}
	launches := 400.0
	for i := range run.Steps {
		if s := &run.Steps[i]; name == "small-launches" && i%10 == 0 && s.DevicePeriod > 0 {
			s.Inside = &recording.Inside{Clock: "emulated", Span: s.DevicePeriod, Input: s.Idle, Launches: &launches}
		}
	}
	run.Series = append(run.Series, recording.Series{Signal: recording.PeakReserved, Subject: "gpu/0", T: []float64{1}, V: []float64{reserved}})
	return run
}

func judged(run *recording.Run, class diagnose.Class) Plan {
	v := judge.Judge(run)
	v.Class = class
	return Rank(run, v)
}

func said(p Plan, name string) (text string, fix *Fix) {
	for i, f := range p.Fixes {
		if f.Name == name {
			return strings.Join(f.Notes, "; "), &p.Fixes[i]
		}
	}
	why, _ := p.verdictOn(name)
	return why, nil
}

// How much memory a batch leaves, how many fit, and what to do with those that do not.
func TestBatchThatFits(t *testing.T) {
	float32s := stoker.Settings{stoker.Precision: "float32", stoker.TF32: false, stoker.BatchSize: 8}
	// 400 launches: more work for each is worth something, and 64 of them fit.
	text, fix := said(judged(recorded(t, "small-launches", 9e9, float32s), diagnose.LaunchBound), "batch_size")
	if fix == nil || !strings.Contains(text, "at batch 8: 64 fit") || !strings.Contains(text, "8 batches of 8 are one of 64 to the optimizer (8 x 8 = 64)") {
		t.Fatalf("%+v: %s", fix, text)
	}
	if to := fix.Changes[0].To.(int); to%8 != 0 || to < 16 || to > 64 || !(fix.Forecast.Speedup.Low > 1.2) {
		t.Errorf("%+v", fix)
	}
	// A full device has no room, and says what to do instead.
	text, fix = said(judged(recorded(t, "small-launches", 75e9, float32s), diagnose.LaunchBound), "batch_size")
	if fix != nil || !strings.Contains(text, "no room for batches of much more than 8") || !strings.Contains(text, "8 x 8 = 64") {
		t.Errorf("%+v: %s", fix, text)
	}
	// A device that computes all the time gains nothing by it, and there is room.
	text, fix = said(judged(recorded(t, "labelled-healthy", 9e9, float32s), diagnose.GPUBound), "batch_size")
	if fix != nil || !strings.Contains(text, "There is room for 64") {
		t.Errorf("%+v: %s", fix, text)
	}
}

// Whether a run takes gradients in its own way is not seen: a larger batch is never said to take memory alone.
func TestRiskOfLargerBatches(t *testing.T) {
	run := recorded(t, "small-launches", 9e9, stoker.Settings{stoker.BatchSize: 8})
	v := judge.Judge(run)
	v.Class = diagnose.LaunchBound
	for program, sure := range map[diagnose.Program]bool{diagnose.Inference: false, diagnose.Training: true} {
		v.Grounds.Program = program
		if _, fix := said(Rank(run, v), "batch_size"); fix == nil || fix.Risk != LearningRisk || fix.Lossless == sure {
			t.Errorf("%s: %+v", program, fix)
		}
	}
}

func TestRoundedBatches(t *testing.T) {
	for n, want := range map[float64]int{7: 7, 15.9: 15, 16: 16, 23: 16, 40: 40, 63: 56, 64: 64, 100: 96, 128: 128, 200: 192, 1000: 960} {
		if got := roundBatch(n); got != want {
			t.Errorf("%v: %d, want %d", n, got, want)
		}
	}
}

// Number formats are proposed where the chip has units for them, and only bounded.
func TestNumberFormatsByChip(t *testing.T) {
	for chip, want := range map[string]struct{ tf32, half, not string }{
		"NVIDIA A100-SXM4-80GB": {tf32: "true", half: "bf16"},
		"Tesla V100-SXM2-16GB":  {half: "fp16", not: "no units for tf32"},
		"Tesla T4":              {half: "fp16", not: "no units for tf32"},
		"no such chip":          {},
	} {
		run := recorded(t, "labelled-healthy", 1e9, stoker.Settings{stoker.Precision: "float32", stoker.TF32: false})
		run.Facts.GPUs[0].Name = chip
		plan := judged(run, diagnose.GPUBound)
		text, fix := said(plan, "tf32")
		if (fix != nil) != (want.tf32 != "") || !strings.Contains(text, want.not) {
			t.Errorf("%s: tf32 %+v %s", chip, fix, text)
		}
		text, fix = said(plan, "precision")
		if (fix != nil) != (want.half != "") {
			t.Errorf("%s: precision %+v %s", chip, fix, text)
		} else if fix != nil && (fix.Changes[0].To != want.half || fix.Forecast.Speedup.Known() || !(fix.Forecast.Speedup.High > 1.5)) {
			t.Errorf("%s: %+v", chip, fix)
		} else if fix != nil && fix.Forecast.Speedup.High > 4 { // the peak of products is no gain of a step
			t.Errorf("%s: at most %.2fx", chip, fix.Forecast.Speedup.High)
		}
	}
	run := recorded(t, "labelled-healthy", 1e9, stoker.Settings{stoker.Precision: "autocast", stoker.TF32: true})
	if _, fix := said(judged(run, diagnose.GPUBound), "precision"); fix != nil {
		t.Errorf("16 bits are there: %+v", fix)
	}
	for chip, want := range map[string]bool{"NVIDIA A100-SXM4-80GB": true, "Tesla T4": false, "no such chip": false} {
		run := recorded(t, "labelled-healthy", 1e9, stoker.Settings{stoker.Precision: "float16"})
		run.Facts.GPUs[0].Name = chip
		text, fix := said(judged(run, diagnose.GPUBound), "precision")
		if fix != nil || strings.Contains(text, "overflows (NaN), take bf16") != want {
			t.Errorf("%s in fp16: %+v %q", chip, fix, text)
		}
	}
}

// Where cores cannot decode: pixels stored once, and decoding on the device.
func TestPicturesThatCoresCannotDecode(t *testing.T) {
	run := recorded(t, "labelled-cpu-exhausted", 1e9, nil)
	run.Facts.Loaders[0].Transforms = []string{"torchvision.transforms.transforms.RandomResizedCrop"}
	plan := Rank(run, judge.Judge(run))
	text, pixels := said(plan, "pixels")
	if pixels == nil || !(pixels.Forecast.Speedup.Point > 1.3) || !strings.Contains(text, "it costs disk") {
		t.Errorf("%+v %s", pixels, text)
	}
	text, device := said(plan, "gpu-decode")
	if device == nil || device.Forecast.Speedup.Known() || !(device.Forecast.Speedup.High >= pixels.Forecast.Speedup.Point) || !strings.Contains(text, "It takes device memory") {
		t.Errorf("%+v %s", device, text)
	}
	run.Facts.Loaders[0].Transforms = nil
	if _, fix := said(Rank(run, judge.Judge(run)), "pixels"); fix != nil {
		t.Errorf("nothing is decoded there: %+v", fix)
	}
}

// Padding that is beyond every sample is taken off where the device computes on it. What is between samples of one batch
// would need other batches.
func TestPaddingOnADevice(t *testing.T) {
	for _, c := range []struct {
		class          diagnose.Class
		padded, beyond int64
		title          string
		risk           Risk
		most           float64
	}{
		{diagnose.GPUBound, 60, 50, "longest sample of each batch", NumericsRisk, 2},
		{diagnose.GPUBound, 50, 0, "", "", 0},
		{diagnose.GPUBound, 20, 10, "", "", 0},
		{diagnose.TooFewWorkers, 60, 50, "", "", 0},
	} {
		run := recorded(t, "gpu-vit", 1e9, nil)
		run.Facts.Loaders[0].Padding.Add([]int64{100, c.padded, c.beyond})
		_, fix := said(judged(run, c.class), "padding")
		switch {
		case fix == nil && c.title == "":
		case fix == nil:
			t.Errorf("%+v: no fix", c)
		case !strings.Contains(fix.Title, c.title) || fix.Risk != c.risk || fix.Forecast.Speedup.High > c.most || !(fix.Forecast.Speedup.High > 0.8*c.most):
			t.Errorf("%+v: %+v", c, fix)
		}
	}
}

// A data set that uses the device cannot do so in a forked worker, and the advice to use workers says so first.
func TestWorkersOfADataSetOnTheDevice(t *testing.T) {
	for device, want := range map[string]bool{"cuda": true, "": false} {
		run := recorded(t, "gpu-main-thread", 1e9, nil)
		run.Facts.Loaders[0].BatchDevice = device
		if _, fix := said(Rank(run, judge.Judge(run)), "num_workers"); fix == nil || strings.Contains(fix.Mind, "cannot use CUDA") != want {
			t.Errorf("%q: %+v", device, fix)
		}
	}
}
