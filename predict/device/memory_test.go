package device

import (
	"testing"

	"github.com/stoker-dev/stoker/hardware"
)

// "At least" is never more than what published runs were seen to use.
func TestMemoryIsALowerBound(t *testing.T) {
	for _, c := range []struct {
		workload, gpu string
		precision     hardware.Precision
		batch, tokens float64
		shard         Shard
		recompute     bool
		weights       float64
		used          float64 // GiB
		source        string
	}{
		{
			"resnet50", "a100-40gb-sxm", hardware.TF32, 32, 0, "", false, 0,
			5.8, "FlagOpen/FlagPerf, training/nvidia/resnet50-pytorch/README.md",
		},
		{"resnet50", "a100-40gb-sxm", hardware.TF32, 256, 0, "", false, 0, 28.3, "the same"},
		{"resnet50", "a100-40gb-sxm", hardware.FP16, 512, 0, "", false, 0, 28.6, "the same"},
		{
			"vit-b16", "a100-40gb-sxm", hardware.TF32, 256, 0, "", false, 0, 39.3,
			"FlagOpen/FlagPerf, training/nvidia/vit-pytorch/README.md",
		},
		{
			"bert-large", "a100-40gb-sxm", hardware.TF32, 12, 512, "", false, 0, 31.2,
			"FlagOpen/FlagPerf, training/nvidia/bert_hf-pytorch/README.md",
		},
		{"bert-large", "a100-40gb-sxm", hardware.FP16, 20, 512, "", false, 0, 36.1, "the same"},
		{"bert-large", "a100-40gb-sxm", hardware.BF16, 32, 512, "", false, 0, 37.0, "the same"},
		{
			"llama-8b", "a100-80gb-sxm", hardware.BF16, 1, 4096, ZeRO3, false, 6607077376, 57,
			"FlagOpen/FlagPerf, training/nvidia/llama2_7b-deepspeed/README.md",
		},
		{"llama-8b", "a100-80gb-sxm", hardware.BF16, 3, 2048, ZeRO3, false, 6607077376, 70, "the same"},
		{
			"llama-8b", "h100-sxm", hardware.BF16, 1, 8192, ZeRO3, true, 0, 47.65 * 1e9 / (1 << 30),
			"pytorch/ao, docs/source/workflows/training.md: every second matrix product recomputed, so that all " +
				"recomputed takes less",
		},
		{"llama-8b", "mi300x", hardware.BF16, 1, 8192, ZeRO3, true, 0, 39.09 * 1e9 / (1 << 30), "the same"},
		{"llama-8b", "b200", hardware.BF16, 1, 8192, ZeRO3, true, 0, 33.71 * 1e9 / (1 << 30), "the same"},
	} {
		w, _ := FindWorkload(c.workload)
		gpu, _ := hardware.FindGPU(c.gpu)
		l := Load{
			Workload: w.WithTokens(c.tokens).resized(c.weights), GPU: gpu, Precision: c.precision,
			Training: true, Shard: c.shard, Recompute: c.recompute,
		}
		own, shared := l.weights()
		need, used := own+shared/8+l.sampleMemory()*c.batch, c.used*(1<<30)
		t.Logf("%-10s %-13s %s batch %3.0f %4.0f tokens: at least %5.1f GB, used %5.1f GB (%s)", c.workload, c.gpu,
			c.precision, c.batch, c.tokens, need/1e9, used/1e9, c.source)
		if need > used || need < 0.25*used {
			t.Errorf("%s on %s: at least %.1f GB, and a run used %.1f GB", c.workload, c.gpu, need/1e9, used/1e9)
		}
	}
}

// Inference that ran on a board of 24 GB is not refused there, nor is what a batch takes forgotten.
func TestInferenceThatRanFits(t *testing.T) {
	// huggingface/pytorch-image-models, results/ of RTX 3090 and RTX 4090: images of 518 in patches of
	// 14, and of 384 in patches of 16, in 16 bits.
	for _, c := range []struct{ tokens, layers, width, params, batch float64 }{
		{1370, 12, 768, 86.6e6, 512}, // vit_base_patch14_dinov2
		{1370, 12, 768, 86.6e6, 768},
		{577, 24, 1024, 304.7e6, 768}, // vit_large_patch16_384
		{577, 24, 1024, 304.7e6, 1024},
	} {
		w := sequences(shape{
			params: hardware.Figure{Value: c.params}, layers: c.layers, width: c.width, heads: 12, inner: 4 * c.width,
			shared: 1, tokens: c.tokens,
		})
		gpu, _ := hardware.FindGPU("rtx-3090")
		l := Load{Workload: w, GPU: gpu, Precision: hardware.FP16}
		own, _ := l.weights()
		if need, have := own+l.sampleMemory()*c.batch, gpu.MemoryBytes.Value; need > have || need < 0.2*have {
			t.Errorf("%.0f tokens, batch %.0f: at least %.1f GB, and it ran in %.1f GB", c.tokens, c.batch, need/1e9, have/1e9)
		}
	}
}
