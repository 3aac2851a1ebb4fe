package language

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// ParseConfig reads a model of one's own from its config.json, as transformers writes it.
// What a file leaves out has the value that transformers gives it. Layers that are no
// attention are refused, because nothing here knows their cost.
func ParseConfig(name string, data []byte) (Model, error) {
	c, err := readConfig(name, data)
	if err != nil {
		return Model{}, err
	}
	if err := c.refuseFamily(); err != nil {
		return Model{}, fmt.Errorf("%s: %w", name, err)
	}
	if text, nested := c["text_config"].(map[string]any); nested { // of a model that sees or hears as well
		c = text
	}
	m := c.readModel()
	m.Name, m.Title, m.Source = name, name, name
	if err := c.check(m); err != nil {
		return Model{}, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// readConfig reads the object that the file has to hold.
func readConfig(name string, data []byte) (config, error) {
	c := config{}
	err := json.Unmarshal(data, &c)
	var other *json.UnmarshalTypeError
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return nil, fmt.Errorf("%s is empty: expected the config.json of a language model", name)
	case errors.As(err, &other):
		return nil, fmt.Errorf("%s is no object (%s): expected the config.json of a language model", name, other.Value)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// config is a configuration by the names of its values. Families spell some differently.
type config map[string]any

// number is the first of these values that is there; 0 if none is.
func (c config) number(keys ...string) float64 {
	for _, key := range keys {
		if v, known := c[key].(float64); known {
			return v
		}
	}
	return 0
}

// switched is a value that is true or false, and what holds where it is not there.
func (c config) switched(key string, otherwise bool) bool {
	if v, known := c[key].(bool); known {
		return v
	}
	return otherwise
}

// isOneOf reports whether the model is of one of these families.
func (c config) isOneOf(families ...string) bool {
	kind, _ := c["model_type"].(string)
	return slices.ContainsFunc(families, func(family string) bool { return strings.HasPrefix(kind, family) })
}

// Families whose output layer shares the embedding's weights where their file does not say so, and
// families whose feed-forward part has two matrices.
var (
	tied    = []string{"gemma", "gpt2", "gpt_bigcode", "bloom", "falcon", "opt", "cohere"}
	ungated = []string{
		"gpt2", "gpt_neo", "gpt_bigcode", "gptj", "bloom", "falcon", "opt", "mpt", "phi", "starcoder2",
		"nemotron",
	}
)

// readModel takes what a model is made of.
func (c config) readModel() Model {
	m := Model{
		Layers: c.number("num_hidden_layers", "n_layer", "n_layers"),
		Width:  c.number("hidden_size", "n_embd", "d_model"),
		Heads:  c.number("num_attention_heads", "n_head", "n_heads"),
		Words:  c.number("vocab_size"),
		Inner:  c.number("intermediate_size_mlp", "intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"),
		Tied:   c.switched("tie_word_embeddings", c.isOneOf(tied...)),

		Experts:     c.number("num_local_experts", "n_routed_experts", "num_experts"),
		Chosen:      c.number("num_experts_per_tok", "experts_per_token"),
		ExpertInner: c.number("moe_intermediate_size", "intermediate_size"),
		Latent: Latent{
			Query: c.number("q_lora_rank"), Kept: c.number("kv_lora_rank"), Rotary: c.number("qk_rope_head_dim"),
			Plain: c.number("qk_nope_head_dim"), Value: c.number("v_head_dim"),
		},
	}
	m.KVHeads = cmp.Or(c.number("num_key_value_heads", "num_kv_heads"), m.Heads)
	if c.switched("multi_query", false) && !c.switched("new_decoder_architecture", false) {
		m.KVHeads = 1
	}
	m.HeadSize = cmp.Or(c.number("head_dim"), m.Width/m.Heads)
	if c.isOneOf(ungated...) && !c.isOneOf("phi3", "phimoe") {
		m.Inner = cmp.Or(m.Inner, 4*m.Width) * 2 / gated // two matrices: as many weights as three of so much less
	}
	if m.Experts > 0 {
		c.readExperts(&m)
	} else {
		m.Chosen, m.ExpertInner = 0, 0
	}
	m.Window, m.Local = c.readWindow(m.Layers)
	return m
}

// readExperts takes which layers have experts, and those that every token passes.
func (c config) readExperts(m *Model) {
	m.Always = c.number("n_shared_experts")
	if c.isOneOf("llama4") {
		m.Always = 1
	}
	if shared := c.number("shared_expert_intermediate_size"); shared > 0 {
		m.Always = shared / m.ExpertInner
	}
	m.DenseLayers = c.number("first_k_dense_replace")
	if dense, listed := c["mlp_only_layers"].([]any); listed {
		m.DenseLayers += float64(len(dense))
	}
	if each := c.number("interleave_moe_layer_step", "decoder_sparse_step"); each > 1 {
		m.DenseLayers = m.Layers - math.Floor(m.Layers/each)
	}
}

// readWindow is how far local layers look back, and their share of all.
func (c config) readWindow(layers float64) (window, local float64) {
	window = c.number("sliding_window", "attention_chunk_size")
	if window == 0 || !c.switched("use_sliding_window", true) {
		return 0, 0
	}
	each := c.number("sliding_window_pattern", "no_rope_layer_interval") // one of so many looks at all
	kinds, listed := c["layer_types"].([]any)
	switch {
	case listed:
		for _, kind := range kinds {
			if kind == "sliding_attention" || kind == "chunked_attention" {
				local += 1 / layers
			}
		}
	case each > 0:
		local = 1 - math.Floor(layers/each)/layers
	case c.isOneOf("gpt_oss", "gemma2"):
		local = 0.5
	case c.isOneOf("qwen"):
		local = max(0, 1-c.number("max_window_layers")/layers)
	default:
		local = 1
	}
	if local == 0 {
		window = 0
	}
	return window, local
}

// check fails where the values are no model whose cost is known.
func (c config) check(m Model) error {
	for _, need := range []struct {
		name  string
		value float64
	}{
		{"num_hidden_layers", m.Layers},
		{"hidden_size", m.Width},
		{"num_attention_heads", m.Heads},
		{"vocab_size", m.Words},
		{"num_key_value_heads", m.KVHeads},
		{"head_dim", m.HeadSize},
		{"intermediate_size", m.Inner + m.ExpertInner},
	} {
		if !(need.value > 0 && need.value <= 1e8) {
			return fmt.Errorf("%s is %v: expected the config.json of a language model", need.name, need.value)
		}
	}
	for _, part := range []struct {
		name               string
		value, least, most float64
	}{
		{"num_experts", m.Experts, 0, 1e6},
		{"num_experts_per_tok", m.Chosen, min(1, m.Experts), m.Experts},
		{"n_shared_experts", m.Always, 0, 1e6},
		{"moe_intermediate_size", m.ExpertInner, min(1, m.Experts), 1e8},
		{"first_k_dense_replace", m.DenseLayers, 0, m.Layers},
		{"kv_lora_rank", m.Latent.Kept, 0, 1e8},
		{"q_lora_rank", m.Latent.Query, 0, 1e8},
		{"v_head_dim", m.Latent.Value, 0, 1e8},
		{"qk_nope_head_dim", m.Latent.Plain, 0, 1e8},
		{"qk_rope_head_dim", m.Latent.Rotary, 0, 1e8},
		{"sliding_window", m.Window, 0, 1e9},
		{"layer_types", m.Local, 0, 1 + 1e-9},
	} {
		if !(part.value >= part.least && part.value <= part.most) {
			return fmt.Errorf("%s is %v: expected %v to %v", part.name, part.value, part.least, part.most)
		}
	}
	if err := c.checkWhole(m); err != nil {
		return err
	}
	return c.refuseOtherLayers()
}

// refuseOtherLayers fails on layers that are no attention, and on a model of two halves.
func (c config) refuseOtherLayers() error {
	if err := c.refuseFamily(); err != nil {
		return err
	}
	if c.switched("is_encoder_decoder", false) {
		return errors.New("a model with encoder and decoder is not known: expected a decoder alone")
	}
	for key := range c {
		if strings.HasPrefix(key, "mamba_") || strings.HasPrefix(key, "ssm_") || key == "state_size" {
			return fmt.Errorf("%s: layers that keep a state are not known: expected attention alone", key)
		}
	}
	kinds, _ := c["layer_types"].([]any)
	for _, kind := range kinds {
		if kind != "full_attention" && kind != "sliding_attention" && kind != "chunked_attention" {
			return fmt.Errorf("layer_types has %v: expected attention alone", kind)
		}
	}
	return nil
}
