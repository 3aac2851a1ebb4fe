package language

const (
	litgpt  = "github.com/Lightning-AI/litgpt litgpt/config.py at 2685705, 2026-06, after the model's config.json"
	maxtext = "github.com/AI-Hypercomputer/maxtext src/maxtext/configs/models at e591f30, 2026-08"

	recomputation = "table 3 of Reducing Activation Recomputation in Large Transformer Models, arXiv:2205.05198"
)

// ungatedInner is the inner width, over the model's width, that gives a block of three matrices
// as many weights as a block of two matrices of four times the width.
const ungatedInner = 4. * 2 / gated

// deepseek is the latent attention of DeepSeek-V3 and Kimi K2.
var deepseek = Latent{Query: 1536, Kept: 512, Rotary: 64, Plain: 128, Value: 128}

// Models are the known language models.
var Models = []Model{
	{
		Name: "llama-3.1-8b", Title: "Llama 3.1 8B", Aliases: []string{"llama3-8b", "meta-llama/Llama-3.1-8B"},
		Layers: 32, Width: 4096, Heads: 32, KVHeads: 8, HeadSize: 128, Inner: 14336, Words: 128256, Source: litgpt,
	},
	{
		Name: "llama-3.1-70b", Title: "Llama 3.1 70B", Aliases: []string{
			"llama3-70b", "llama-3.3-70b",
			"meta-llama/Llama-3.3-70B-Instruct",
		},
		Layers: 80, Width: 8192, Heads: 64, KVHeads: 8, HeadSize: 128, Inner: 28672, Words: 128256, Source: litgpt,
	},
	{
		Name: "llama-3.1-405b", Title: "Llama 3.1 405B", Aliases: []string{"llama3-405b", "meta-llama/Llama-3.1-405B"},
		Layers: 126, Width: 16384, Heads: 128, KVHeads: 8, HeadSize: 128, Inner: 53248, Words: 128256, Source: litgpt,
	},
	{
		Name: "llama-3.2-1b", Title: "Llama 3.2 1B", Aliases: []string{"meta-llama/Llama-3.2-1B"},
		Layers: 16, Width: 2048, Heads: 32, KVHeads: 8, HeadSize: 64, Inner: 8192, Words: 128256, Tied: true,
		Source: litgpt,
	},
	{
		Name: "llama-3.2-3b", Title: "Llama 3.2 3B", Aliases: []string{"meta-llama/Llama-3.2-3B"},
		Layers: 28, Width: 3072, Heads: 24, KVHeads: 8, HeadSize: 128, Inner: 8192, Words: 128256, Tied: true,
		Source: litgpt,
	},
	{
		Name: "llama-4-scout", Title: "Llama 4 Scout", Aliases: []string{"llama4-17b-16e"},
		Layers: 48, Width: 5120, Heads: 40, KVHeads: 8, HeadSize: 128, Words: 202048,
		Experts: 16, Chosen: 1, Always: 1, ExpertInner: 8192, Window: 8192, Local: 0.75, Source: maxtext,
	},
	{
		Name: "llama-4-maverick", Title: "Llama 4 Maverick", Aliases: []string{"llama4-17b-128e"},
		Layers: 48, Width: 5120, Heads: 40, KVHeads: 8, HeadSize: 128, Inner: 16384, Words: 202048,
		Experts: 128, Chosen: 1, Always: 1, ExpertInner: 8192, DenseLayers: 24, Window: 8192, Local: 0.75,
		Source: maxtext,
	},
	{
		Name: "qwen-2.5-7b", Title: "Qwen2.5 7B", Aliases: []string{"Qwen/Qwen2.5-7B"},
		Layers: 28, Width: 3584, Heads: 28, KVHeads: 4, HeadSize: 128, Inner: 18944, Words: 152064, Source: litgpt,
	},
	{
		Name: "qwen-2.5-32b", Title: "Qwen2.5 32B", Aliases: []string{"Qwen/Qwen2.5-32B", "qwq-32b"},
		Layers: 64, Width: 5120, Heads: 40, KVHeads: 8, HeadSize: 128, Inner: 27648, Words: 152064, Source: litgpt,
	},
	{
		Name: "qwen-2.5-72b", Title: "Qwen2.5 72B", Aliases: []string{"Qwen/Qwen2.5-72B"},
		Layers: 80, Width: 8192, Heads: 64, KVHeads: 8, HeadSize: 128, Inner: 29568, Words: 152064, Source: litgpt,
	},
	{
		Name: "qwen-3-8b", Title: "Qwen3 8B", Aliases: []string{"Qwen/Qwen3-8B"},
		Layers: 36, Width: 4096, Heads: 32, KVHeads: 8, HeadSize: 128, Inner: 12288, Words: 151936, Source: maxtext,
	},
	{
		Name: "qwen-3-14b", Title: "Qwen3 14B", Aliases: []string{"Qwen/Qwen3-14B"},
		Layers: 40, Width: 5120, Heads: 40, KVHeads: 8, HeadSize: 128, Inner: 17408, Words: 151936, Source: maxtext,
	},
	{
		Name: "qwen-3-32b", Title: "Qwen3 32B", Aliases: []string{"Qwen/Qwen3-32B"},
		Layers: 64, Width: 5120, Heads: 64, KVHeads: 8, HeadSize: 128, Inner: 25600, Words: 151936, Source: maxtext,
	},
	{
		Name: "qwen-3-30b-a3b", Title: "Qwen3 30B-A3B", Aliases: []string{"Qwen/Qwen3-30B-A3B"},
		Layers: 48, Width: 2048, Heads: 32, KVHeads: 4, HeadSize: 128, Words: 151936,
		Experts: 128, Chosen: 8, ExpertInner: 768, Source: maxtext,
	},
	{
		Name: "qwen-3-235b-a22b", Title: "Qwen3 235B-A22B", Aliases: []string{"Qwen/Qwen3-235B-A22B"},
		Layers: 94, Width: 4096, Heads: 64, KVHeads: 4, HeadSize: 128, Words: 151936,
		Experts: 128, Chosen: 8, ExpertInner: 1536, Source: maxtext,
	},
	{
		Name: "deepseek-v3", Title: "DeepSeek-V3 671B", Aliases: []string{"deepseek-r1", "deepseek3-671b"},
		Layers: 61, Width: 7168, Heads: 128, KVHeads: 128, HeadSize: 128, Inner: 18432, Words: 129280,
		Experts: 256, Chosen: 8, Always: 1, ExpertInner: 2048, DenseLayers: 3, Latent: deepseek, Source: maxtext,
	},
	{
		Name: "deepseek-v2-lite", Title: "DeepSeek-V2-Lite 16B", Aliases: []string{"deepseek2-16b"},
		Layers: 27, Width: 2048, Heads: 16, KVHeads: 16, HeadSize: 128, Inner: 10944, Words: 102400,
		Experts: 64, Chosen: 6, Always: 2, ExpertInner: 1408, DenseLayers: 1,
		Latent: Latent{Kept: 512, Rotary: 64, Plain: 128, Value: 128}, Source: maxtext,
	},
	{
		Name: "kimi-k2", Title: "Kimi K2 1T", Aliases: []string{"kimi-k2-1t", "kimi-k2.5"},
		Layers: 61, Width: 7168, Heads: 64, KVHeads: 64, HeadSize: 128, Inner: 18432, Words: 163840,
		Experts: 384, Chosen: 8, Always: 1, ExpertInner: 2048, DenseLayers: 1, Latent: deepseek, Source: maxtext,
	},
	{
		Name: "gpt-oss-120b", Title: "gpt-oss 120B", Aliases: []string{"openai/gpt-oss-120b"},
		Layers: 36, Width: 2880, Heads: 64, KVHeads: 8, HeadSize: 64, Words: 201088,
		Experts: 128, Chosen: 4, ExpertInner: 2880, Window: 128, Local: 0.5, Source: maxtext,
	},
	{
		Name: "gpt-oss-20b", Title: "gpt-oss 20B", Aliases: []string{"openai/gpt-oss-20b"},
		Layers: 24, Width: 2880, Heads: 64, KVHeads: 8, HeadSize: 64, Words: 201088,
		Experts: 32, Chosen: 4, ExpertInner: 2880, Window: 128, Local: 0.5, Source: maxtext,
	},
	{
		Name: "gemma-3-12b", Title: "Gemma 3 12B, its text part", Aliases: []string{"google/gemma-3-12b-it"},
		Layers: 48, Width: 3840, Heads: 16, KVHeads: 8, HeadSize: 256, Inner: 15360, Words: 262144, Tied: true,
		Window: 1024, Local: 5. / 6, Source: maxtext,
	},
	{
		Name: "gemma-3-27b", Title: "Gemma 3 27B, its text part", Aliases: []string{"google/gemma-3-27b-it"},
		Layers: 62, Width: 5376, Heads: 32, KVHeads: 16, HeadSize: 128, Inner: 21504, Words: 262144, Tied: true,
		Window: 1024, Local: 5. / 6, Source: maxtext,
	},
	{
		Name: "mistral-7b", Title: "Mistral 7B", Aliases: []string{"mistralai/Mistral-7B-v0.3"},
		Layers: 32, Width: 4096, Heads: 32, KVHeads: 8, HeadSize: 128, Inner: 14336, Words: 32768, Source: litgpt,
	},
	{
		Name: "mixtral-8x7b", Title: "Mixtral 8x7B", Aliases: []string{"mistralai/Mixtral-8x7B-v0.1"},
		Layers: 32, Width: 4096, Heads: 32, KVHeads: 8, HeadSize: 128, Words: 32000,
		Experts: 8, Chosen: 2, ExpertInner: 14336, Source: maxtext,
	},
	{
		Name: "mixtral-8x22b", Title: "Mixtral 8x22B", Aliases: []string{"mistralai/Mixtral-8x22B-v0.1"},
		Layers: 56, Width: 6144, Heads: 48, KVHeads: 8, HeadSize: 128, Words: 32768,
		Experts: 8, Chosen: 2, ExpertInner: 16384, Source: maxtext,
	},
	{
		Name: "mistral-large-2", Title: "Mistral Large 2", Aliases: []string{"mistralai/Mistral-Large-Instruct-2411"},
		Layers: 88, Width: 12288, Heads: 96, KVHeads: 8, HeadSize: 128, Inner: 28672, Words: 32768, Source: litgpt,
	},
	{
		Name: "phi-4", Title: "Phi-4 14B", Aliases: []string{"microsoft/phi-4"},
		Layers: 40, Width: 5120, Heads: 40, KVHeads: 10, HeadSize: 128, Inner: 17920, Words: 100352, Source: litgpt,
	},
	{
		Name: "olmo-2-13b", Title: "OLMo 2 13B", Aliases: []string{"allenai/OLMo-2-1124-13B"},
		Layers: 40, Width: 5120, Heads: 40, KVHeads: 40, HeadSize: 128, Inner: 13824, Words: 100352, Source: litgpt,
	},
	{
		Name: "llama-2-7b", Title: "Llama 2 7B", Aliases: []string{"meta-llama/Llama-2-7b"},
		Layers: 32, Width: 4096, Heads: 32, KVHeads: 32, HeadSize: 128, Inner: 11008, Words: 32000, Source: maxtext,
	},
	{
		Name: "llama-2-13b", Title: "Llama 2 13B", Aliases: []string{"meta-llama/Llama-2-13b"},
		Layers: 40, Width: 5120, Heads: 40, KVHeads: 40, HeadSize: 128, Inner: 13824, Words: 32000, Source: litgpt,
	},
	{
		Name: "llama-2-70b", Title: "Llama 2 70B", Aliases: []string{"meta-llama/Llama-2-70b"},
		Layers: 80, Width: 8192, Heads: 64, KVHeads: 8, HeadSize: 128, Inner: 28672, Words: 32000, Source: maxtext,
	},
	{
		Name: "gpt-3-175b", Title: "GPT-3 175B", Aliases: []string{"gpt3-175b", "gpt-3"},
		Layers: 96, Width: 12288, Heads: 96, KVHeads: 96, HeadSize: 128, Inner: ungatedInner * 12288, Words: 51200,
		Tied:   true,
		Source: recomputation,
	},
	{
		Name: "megatron-22b", Title: "Megatron 22B",
		Layers: 48, Width: 6144, Heads: 64, KVHeads: 64, HeadSize: 96, Inner: ungatedInner * 6144, Words: 51200,
		Tied:   true,
		Source: recomputation,
	},
	{
		Name: "turing-530b", Title: "Megatron-Turing NLG 530B", Aliases: []string{"mt-nlg-530b", "megatron-530b"},
		Layers: 105, Width: 20480, Heads: 128, KVHeads: 128, HeadSize: 160, Inner: ungatedInner * 20480, Words: 51200,
		Tied:   true,
		Source: recomputation,
	},
	{
		Name: "megatron-1t", Title: "Megatron 1T",
		Layers: 128, Width: 25600, Heads: 160, KVHeads: 160, HeadSize: 160, Inner: ungatedInner * 25600, Words: 51200,
		Tied:   true,
		Source: recomputation,
	},
}
