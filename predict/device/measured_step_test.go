package device

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict/bounds"
)

// A measured step as people write it.
func TestParseMeasured(t *testing.T) {
	for _, c := range []struct {
		text string
		want Measured
		step float64
	}{
		{"2,470 samples/s at batch 256 on a100-80gb-sxm", Measured{Batch: 256, GPU: "a100-80gb-sxm"}, 256. / 2470},
		{"2470 img/s, batch 256, in fp16", Measured{Batch: 256, Precision: hardware.FP16}, 256. / 2470},
		{
			"104 ms per step at batch size 256 on 8 x NVIDIA H100 80GB HBM3 in bf16 compiled side 288",
			Measured{
				Batch: 256, GPU: "NVIDIA H100 80GB HBM3", GPUs: 8, Precision: hardware.BF16, Software: Compiled,
				Side: 288,
			},
			0.104,
		},
		{
			"19,760 samples/s at batch 256 on 8x a100-80gb-sxm",
			Measured{Batch: 256, GPU: "a100-80gb-sxm", GPUs: 8},
			256. / 2470,
		},
		{
			"2,470 samples/s per GPU at batch 256 on 8x a100-80gb-sxm",
			Measured{Batch: 256, GPU: "a100-80gb-sxm", GPUs: 8},
			256. / 2470,
		},
		{"310 samples/s at batch 8, 2048 tokens, eager", Measured{Batch: 8, Tokens: 2048, Software: Eager}, 8. / 310},
		{
			" 0.104s/step\tat batch 256 on NVIDIA A100-SXM4-80GB, channels-last",
			Measured{Batch: 256, GPU: "NVIDIA A100-SXM4-80GB", Software: ChannelsLast},
			0.104,
		},
	} {
		got, err := ParseMeasured(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if math.Abs(got.Step.Point/c.step-1) > 1e-9 {
			t.Errorf("%q: a step of %v s, want %v", c.text, got.Step.Point, c.step)
		}
		if got.Step, got.Text = c.want.Step, ""; got != c.want {
			t.Errorf("%q: %+v, want %+v", c.text, got, c.want)
		}
	}
}

// What cannot be read is refused with the words that it is about.
func TestParseMeasuredRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                                      "does not say the batch size",
		"2,470 samples/s":                                       "does not say the batch size",
		"2,470 samples/s at batch 0":                            "expected 1 to",
		"2,470 samples/s at batch 2.5":                          "not a whole number",
		"2,470 samples/s at batch":                              "nothing is given",
		"2,470 at batch 256":                                    "has no unit",
		"2,470 GB/s at batch 256":                               "is a rate, expected a rate of samples",
		"fast at batch 256":                                     "does not begin with a number",
		"0 samples/s at batch 256":                              "a rate of 0",
		"0 ms at batch 256":                                     "expected more than 0",
		"1e-300 samples/s at batch 9":                           "expected more than 0 and finite",
		"9 samples/s at batch 1 on":                             `no GPU follows "on"`,
		"9 samples/s at batch 1 on 0 x a100-80gb-sxm":           "GPUs is 0",
		"9 samples/s at batch 1 in fp12":                        "expected fp32",
		"9 samples/s at batch 1 per hour":                       "expected per GPU or per step",
		"9 samples/s at batch 1 batch 2":                        "second batch",
		"9 samples/s at batch 1 quickly":                        `"quickly" is not understood`,
		"9 samples/s at batch 1, x tokens":                      "does not begin with a number",
		"9 samples/s at batch 1 on " + strings.Repeat("x", 400): "characters",
	} {
		if m, err := ParseMeasured(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, error %v, want %q in it", text, m, err, want)
		}
	}
}

// Nothing that is typed crashes, and what is read is a step.
func FuzzParseMeasured(f *testing.F) {
	for _, seed := range []string{
		MeasuredExample, "104 ms at batch 256 on 8 x h100-sxm in bf16, compiled, side 288",
		"310 samples/s at batch 8, 2048 tokens",
		"9 samples/s per gpu at batch 1 on 8x", "on on in in per per", "1e309 s batch 1", ", , ,", "5 ms batch size",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMeasured(text)
		if err != nil {
			return
		}
		if !(m.Step.Point > 0) || math.IsInf(m.Step.Point, 0) || !(m.Batch >= 1) || m.GPUs < 0 {
			t.Fatalf("%q: %+v", text, m)
		}
	})
}

// What a measured step does not say is as in the question: shards, recomputation.
func TestMeasuredIsOfTheSameProgram(t *testing.T) {
	l := Load{Precision: hardware.BF16, Training: true, Recompute: true, Shard: ZeRO3}
	l.Workload, _ = FindWorkload("llama-8b")
	l.GPU, _ = hardware.FindGPU("h100-sxm")
	m, err := ParseMeasured("6 samples/s at batch 2 on 8 x h100-sxm, 4096 tokens")
	if err != nil {
		t.Fatal(err)
	}
	l.Workload = l.Workload.WithTokens(4096)
	c, err := l.Anchored(m.AsAnchor(l, l.GPU), 2)
	if err != nil {
		t.Fatal(err)
	}
	at := c.At(2)
	e := l.ExchangeOver(hardware.Link{}, stoker.Interval{}, 1)
	at = bounds.Add(at, bounds.InEachView(func(v bounds.View) float64 { return e.Exposed(v, 8, at.Point) }))
	if want := 2 * 8 / 6.; math.Abs(at.Point/want-1) > 0.05 {
		t.Errorf("a step of %v s comes back as %v", want, at)
	}
	if a := m.AsAnchor(Load{}, hardware.GPU{}); a.GPUs != 8 || a.Batch != 2 {
		t.Errorf("%+v", a)
	}
}

// A step that no device can take is refused: a batch of all GPUs, inference taken
// for training, milliseconds for seconds.
func TestMeasuredIsPossible(t *testing.T) {
	l := resnetOn(t, "a100-80gb-sxm")
	for text, possible := range map[string]bool{
		"2,470 samples/s at batch 256":     true,
		"3,578 samples/s at batch 256":     true,
		"2,470,000 samples/s at batch 256": false,
		"1 ms at batch 256":                false,
	} {
		m, err := ParseMeasured(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Anchored(m.AsAnchor(l, l.GPU), 256); (err == nil) != possible ||
			err != nil && !strings.Contains(err.Error(), "above its peak of 312 TFLOP/s") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
