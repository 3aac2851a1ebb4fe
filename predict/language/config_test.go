package language

import (
	_ "embed"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/hardware"
)

// Configurations as transformers saves them, and the parameters of its own model of each.
//
//go:embed testdata/configs.jsonl
var savedConfigs string

type savedConfig struct {
	Name       string
	Parameters float64
	Config     json.RawMessage
}

func readConfigs(t testing.TB) (all []savedConfig) {
	t.Helper()
	for line := range strings.Lines(savedConfigs) {
		var one savedConfig
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	if len(all) < 24 {
		t.Fatalf("%d configurations, expected 24", len(all))
	}
	return all
}

// A model that is read from its configuration has as many parameters as transformers' own. What
// is left out is norms, biases and learned positions.
func TestConfigsHaveTheParametersOfTransformers(t *testing.T) {
	for _, c := range readConfigs(t) {
		m, err := ParseConfig(c.Name, c.Config)
		if err != nil {
			t.Error(err)
			continue
		}
		off := m.Params()/c.Parameters - 1
		most := 0.002
		if slices.Contains([]string{"gpt2", "opt", "gpt_neo"}, c.Name) {
			most = 0.015 // a table of positions
		}
		if math.Abs(off) > most {
			t.Errorf("%s has %.4g parameters, transformers has %.4g: %+.2f %%", c.Name, m.Params(), c.Parameters, 100*off)
		}
	}
}

// The table and the configuration of the same model agree, so that a file changes no answer.
func TestConfigsAreTheModelsOfTheTable(t *testing.T) {
	table := map[string]string{
		"llama": "llama-3.1-8b", "llama-tied": "llama-3.2-1b", "mixtral": "mixtral-8x7b", "deepseek-v3": "deepseek-v3",
		"gpt-oss": "gpt-oss-120b", "llama4-scout": "llama-4-scout", "llama4-maverick": "llama-4-maverick",
	}
	for _, c := range readConfigs(t) {
		known, found := FindModel(table[c.Name])
		if !found {
			continue
		}
		delete(table, c.Name)
		m, err := ParseConfig(c.Name, c.Config)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, context := range []float64{100, 1000, 100_000} {
			if got, want := m.forward(context), known.forward(context); math.Abs(got/want-1) > 1e-9 {
				t.Errorf("%s: %.4g FLOP a token at %v, the table says %.4g", c.Name, got, context, want)
			}
			if got, want := m.cacheSize(context), known.cacheSize(context); math.Abs(got/want-1) > 1e-9 {
				t.Errorf("%s: %.4g numbers are kept at %v, the table says %.4g", c.Name, got, context, want)
			}
		}
		if math.Abs(m.Params()/known.Params()-1) > 1e-9 || math.Abs(m.Active()/known.Active()-1) > 1e-9 {
			t.Errorf("%s: %.4g parameters, %.4g active, the table says %.4g and %.4g", c.Name, m.Params(), m.Active(),
				known.Params(), known.Active())
		}
	}
	if len(table) > 0 {
		t.Errorf("no configuration of %v", table)
	}
}

const small = `{"num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 100, "intermediate_size": 128`

// A model that is not a decoder with attention only is refused, with the value that says so.
func TestConfigsThatAreRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{``, "my.json is empty: expected the config.json of a language model"},
		{`{`, "my.json is not JSON (unexpected end of JSON input, at byte 1): expected the config.json of a language model"},
		{small + `, "hidden_size": "64"}`, `hidden_size is "64": expected a number`},
		{small + `, "vocab_size": true}`, "vocab_size is true: expected a number"},
		{small + `, "num_hidden_layers": 1e12}`, "num_hidden_layers is 1000000000000: expected 1 to 100000000"},
		{`[]`, "my.json is not an object (array): expected the config.json of a language model"},
		{`"text"`, "my.json is not an object (string)"},
		{`null`, "my.json: num_hidden_layers is missing or 0"},
		{small + `, "model_type": "bert"}`, "a model of the family bert is not a decoder with attention only"},
		{small + `, "model_type": "whisper"}`, "family whisper"},
		{small + `, "model_type": "mamba"}`, "family mamba"},
		{small + `, "model_type": "xlm-roberta"}`, "family xlm-roberta"},
		{small + `, "model_type": "mt5"}`, "family mt5"},
		{small + `, "model_type": "qwen3_next"}`, "family qwen3_next"},
		{small + `, "model_type": "siglip_vision_model"}`, "family siglip_vision_model"},
		{small + `, "architectures": ["RobertaForMaskedLM"]}`, "RobertaForMaskedLM"},
		{small + `, "architectures": ["T5ForConditionalGeneration"]}`, "T5ForConditionalGeneration"},
		{small + `, "num_key_value_heads": 3}`, "num_key_value_heads is 3: expected a number that divides the 4 heads"},
		{small + `, "hidden_size": 64.5}`, "hidden_size is 64.5: expected a whole number"},
		{small + `, "hidden_size": 65}`, "hidden_size is 65: expected a multiple of the 4 heads, or a head_dim"},
		{small + `, "vocab_size": 100.25}`, "vocab_size is 100.25: expected a whole number"},
		{`{"hidden_size": 64}`, "my.json: num_hidden_layers is missing or 0: expected the config.json of a language model"},
		{`{"num_hidden_layers": -1}`, "num_hidden_layers is -1"},
		{small + `, "num_attention_heads": 0}`, "num_attention_heads is missing or 0"},
		{small + `, "num_key_value_heads": -2}`, "num_key_value_heads is -2"},
		{small + `, "num_experts": 8}`, "num_experts_per_tok is missing or 0"},
		{small + `, "num_experts": 8, "num_experts_per_tok": 9}`, "num_experts_per_tok is 9: expected 1 to 8"},
		{small + `, "num_experts": 8, "num_experts_per_tok": 2, "first_k_dense_replace": 5}`, "first_k_dense_replace is 5"},
		{small + `, "kv_lora_rank": -1}`, "kv_lora_rank is -1"},
		{small + `, "num_key_value_heads": 0}`, "num_key_value_heads is missing or 0"},
		{small + `, "model_type": "mixtral"}`, "num_experts is missing: a model of the family mixtral has experts"},
		{small + `, "moe_experts": 8}`, "moe_experts is 8, and num_experts is missing"},
		{small + `, "hidden_size_per_layer_input": 256}`, "embeddings of each layer are not known"},
		{small + `, "linear_key_head_dim": 128}`, "linear_key_head_dim: layers that keep a state are not known"},
		{small + `, "model_type": "beit"}`, "family beit"},
		{small + `, "model_type": "ernie"}`, "family ernie"},
		{small + `, "model_type": "voxtral_encoder"}`, "family voxtral_encoder"},
		{small + `, "is_encoder_decoder": true}`, "encoder and decoder"},
		{small + `, "mamba_d_state": 16}`, "mamba_d_state: layers that keep a state are not known"},
		{small + `, "layer_types": ["full_attention", "linear_attention"]}`, "layer_types has linear_attention"},
		{small + `, "sliding_window": 8, "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention",
			"sliding_attention", "sliding_attention"]}`, "layer_types is 1.25"},
	} {
		if _, err := ParseConfig("my.json", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
	for _, family := range strings.Fields(
		"llama phi4_multimodal gpt_neox qwen2_5_vl_text modernbert-decoder my-own gpt5 scaled ernie4_5 digit") {
		if _, err := ParseConfig("my.json", []byte(small+`, "model_type": "`+family+`"}`)); err != nil {
			t.Errorf("%s: %v", family, err)
		}
	}
	m, err := ParseConfig("my.json", []byte(small+`}`))
	if err != nil || m.KVHeads != 4 || m.HeadSize != 16 || m.Tied || m.Experts != 0 || m.Window != 0 {
		t.Errorf("%+v, %v", m, err)
	}
}

// A file says how its weights are stored, and whether it describes more than text.
func TestConfigsSayHowWeightsAreStored(t *testing.T) {
	for _, c := range []struct {
		text     string
		weights  hardware.Precision
		textOnly bool
	}{
		{`}`, "", false},
		{`, "quantization_config": {"quant_method": "awq", "bits": 4}}`, INT4, false},
		{`, "quantization_config": {"quant_method": "gptq", "bits": 8}}`, hardware.INT8, false},
		{`, "quantization_config": {"quant_method": "fp8"}, "vision_config": {"depth": 32}}`, hardware.FP8, true},
		{`, "quantization_config": {"quant_method": "mxfp4"}}`, INT4, false},
		{`, "quantization_config": {"quant_method": "bitsandbytes", "load_in_8bit": true}}`, hardware.INT8, false},
		{`, "quantization_config": "awq"}`, "", false},
	} {
		m, err := ParseConfig("my.json", []byte(small+c.text))
		if err != nil || m.Weights != c.weights || m.TextOnly != c.textOnly {
			t.Errorf("%s: weights in %q, of text alone: %v, %v", c.text, m.Weights, m.TextOnly, err)
		}
	}
	m, err := ParseConfig("gemma.json", []byte(`{"text_config": {"model_type": "gemma3_text", "num_hidden_layers": 62,
		"hidden_size": 5376, "intermediate_size": 21504, "num_attention_heads": 32, "num_key_value_heads": 16,
		"head_dim": 128, "sliding_window": 1024}, "vision_config": {}}`))
	if err != nil || math.Abs(m.Params()/27.0e9-1) > 0.005 || m.Words != 262_208 || !m.TextOnly {
		t.Errorf("Gemma 3 27B: %.4g parameters, %v words, %v", m.Params(), m.Words, err)
	}
	m, err = ParseConfig("dbrx.json", []byte(`{"model_type": "dbrx", "d_model": 6144, "n_layers": 40, "n_heads": 48,
		"vocab_size": 100352, "attn_config": {"kv_n_heads": 8},
		"ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4}}`))
	if err != nil || math.Abs(m.Params()/131.6e9-1) > 0.001 || math.Abs(m.Active()/36.5e9-1) > 0.03 {
		t.Errorf("DBRX: %.4g parameters, %.4g active, published 132 B and 36 B: %v", m.Params(), m.Active(), err)
	}
}

// Local layers are told by each family in its own way.
func TestConfigsOfLocalLayers(t *testing.T) {
	for _, c := range []struct {
		text          string
		window, local float64
	}{
		{`, "sliding_window": 8}`, 8, 1},
		{`, "sliding_window": null}`, 0, 0},
		{`, "sliding_window": 8, "use_sliding_window": false}`, 0, 0},
		{`, "sliding_window": 8, "sliding_window_pattern": 2}`, 8, 0.5},
		{`, "sliding_window": 8, "model_type": "gpt_oss", "num_experts": 2, "num_experts_per_tok": 1}`, 8, 0.5},
		{`, "sliding_window": 8, "model_type": "qwen2", "use_sliding_window": true, "max_window_layers": 3}`, 8, 0.25},
		{`, "sliding_window": 8, "layer_types": ["full_attention", "full_attention", "full_attention", "full_attention"]}`, 0, 0},
		{`, "sliding_window": 8, "layer_types": ["full_attention", "sliding_attention", "full_attention", "full_attention"]}`, 8, 0.25},
	} {
		m, err := ParseConfig("my.json", []byte(small+c.text))
		if err != nil || m.Window != c.window || math.Abs(m.Local-c.local) > 1e-9 {
			t.Errorf("%s: window %v of %v of the layers, %v", c.text, m.Window, m.Local, err)
		}
	}
}

// Whatever a file says, it is refused, or the model has a size.
func FuzzParseConfig(f *testing.F) {
	for _, c := range readConfigs(f) {
		f.Add([]byte(c.Config))
	}
	f.Add([]byte(small + `}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseConfig("my.json", data)
		if err != nil {
			return
		}
		for _, v := range []float64{m.Params(), m.Active(), m.forward(1000), m.touchedWeights(10)} {
			if !(v > 0) || math.IsInf(v, 0) {
				t.Errorf("%v of %+v", v, m)
			}
		}
		if v := m.cacheSize(1000); !(v >= 0) || math.IsInf(v, 0) {
			t.Errorf("a cache of %v of %+v", v, m)
		}
	})
}
