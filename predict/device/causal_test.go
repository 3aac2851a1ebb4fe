package device

import (
	"testing"

	"github.com/stoker-dev/stoker/hardware"
)

func find(t *testing.T, network, chip string) (Workload, hardware.GPU) {
	t.Helper()
	w, known := FindWorkload(network)
	gpu, there := hardware.FindGPU(chip)
	if !known || !there {
		t.Fatalf("%s on %s is not in the tables", network, chip)
	}
	return w, gpu
}

// A decoder in PyTorch as it comes may have FlashAttention, and the low end of its interval is
// of that: half of the pairs, and no scores that are moved. These steps were published for it
// (NVIDIA/cudnn-frontend, Llama-3.2-1B-Training at 7606332).
func TestFlashAttentionIsInsideTheInterval(t *testing.T) {
	for _, c := range []struct {
		gpu    string
		tokens float64
		batch  float64
		ms     float64
	}{
		{"b200", 16384, 1, 374},
		{"b200", 8192, 2, 276},
		{"h200", 16384, 1, 500},
		{"h200", 8192, 2, 397},
		{"h200", 1024, 12, 228},
	} {
		w, gpu := find(t, "llama-1b", c.gpu)
		l := Load{Workload: w.WithTokens(c.tokens), GPU: gpu, Precision: hardware.BF16, Software: Eager, Training: true}
		curve, err := l.StepCurve()
		if err != nil {
			t.Fatal(err)
		}
		if at := curve.At(c.batch); !at.Contains(c.ms / 1e3) {
			t.Errorf("%s at %v tokens: %v, published are %v ms", c.gpu, c.tokens, at, c.ms)
		}
	}
}

// Decoders and networks of images have FlashAttention where PyTorch has it.
func TestWhoHasFlashAttention(t *testing.T) {
	for _, c := range []struct {
		network, gpu string
		precision    hardware.Precision
		software     Software
		want         bool
	}{
		{"llama-8b", "h100-sxm", hardware.BF16, Eager, true},
		{"gpt2", "a100-80gb-sxm", hardware.FP16, Eager, true},
		{"llama-8b", "h100-sxm", hardware.BF16, Compiled, false}, // its share of the peak is fitted with it
		{"gpt2", "a100-80gb-sxm", hardware.TF32, Eager, false},
		{"gpt2", "t4", hardware.FP16, Eager, false},
		{"bert-base", "h100-sxm", hardware.BF16, Eager, false},
		{"vit-b16", "h100-sxm", hardware.BF16, Eager, true},
		{"vit-b16", "v100-sxm-16gb", hardware.FP16, Eager, false},
		{"vit-b16", "h100-sxm", hardware.FP32, Eager, false},
	} {
		w, gpu := find(t, c.network, c.gpu)
		l := Load{Workload: w, GPU: gpu, Precision: c.precision, Software: c.software}
		if got := l.flashes(); got != c.want {
			t.Errorf("%s on %s in %s, %s: %v", c.network, c.gpu, c.precision, c.software, got)
		}
	}
}

// Half of the pairs are masked, and they grow with the square of the length.
func TestMaskedPairs(t *testing.T) {
	w, _ := find(t, "llama-1b", "h100-sxm")
	pairs := 4 * w.Layers * w.Width * w.Tokens * w.Tokens
	if long := w.WithTokens(4 * w.Tokens); !isNear(w.Masked, pairs/2) || !isNear(long.Masked, 8*pairs) {
		t.Errorf("%v and %v of %v", w.Masked, long.Masked, pairs)
	}
}

func isNear(a, b float64) bool { return a > 0.999999*b && a < 1.000001*b }

// A measured step that is possible because masked pairs are left out is taken, a quicker one
// is not.
func TestAMeasuredStepMayLeaveMaskedPairsOut(t *testing.T) {
	w, gpu := find(t, "llama-1b", "b200")
	w = w.WithTokens(65536)
	l := Load{Workload: w, GPU: gpu, Precision: hardware.BF16, Software: Compiled, Training: true}
	least := 3 * (w.Forward.Value - w.Masked) / gpu.Peak(hardware.BF16).Value
	if err := (Anchor{Load: l, Batch: 2, Step: 2 * least}).possible(); err != nil {
		t.Error(err)
	}
	if err := (Anchor{Load: l, Batch: 2, Step: 1.9 * least}).possible(); err == nil {
		t.Error("a step quicker than the peak allows is taken")
	}
}

// Attention that is written out by hand moves its scores through device memory: the interval of a
// network that is older than PyTorch's fused attention holds it too. These steps of GPT-2 were
// published (rasbt/LLMs-from-scratch, ch05/10_llm-training-speed at 28c65cd).
func TestAttentionByHandIsInsideTheInterval(t *testing.T) {
	for _, c := range []struct {
		precision hardware.Precision
		rate      float64 // tokens/s
	}{{hardware.TF32, 27648}, {hardware.BF16, 45486}, {hardware.BF16, 55256}, {hardware.BF16, 91901}} {
		w, gpu := find(t, "gpt2", "a100-40gb-sxm")
		l := Load{Workload: w, GPU: gpu, Precision: c.precision, Software: Eager, Training: true}
		curve, err := l.StepCurve()
		if err != nil {
			t.Fatal(err)
		}
		if at := curve.At(8); !at.Contains(8 * 1024 / c.rate) {
			t.Errorf("GPT-2 in %s: %v, published are %v tokens/s", c.precision, at, c.rate)
		}
	}
	w, gpu := find(t, "llama-1b", "h100-sxm")
	if l := (Load{Workload: w, GPU: gpu, Precision: hardware.BF16, Software: Eager}); l.singleMoves() != 0 {
		t.Error("Llama is younger than fused attention, and nobody writes its attention out")
	}
}
