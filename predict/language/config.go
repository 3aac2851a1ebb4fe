package language

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/quantity"
)

// ParseConfig reads a model from its config.json, as transformers writes it. Values that a file leaves out
// get the defaults of transformers. Layers other than attention are refused, since their cost is unknown.
func ParseConfig(name string, data []byte) (Model, error) {
	c, err := readConfig(name, data)
	if err != nil {
		return Model{}, err
	}
	if err := c.refuseFamily(); err != nil {
		return Model{}, fmt.Errorf("%s: %w", name, err)
	}
	whole := c
	text, nested := c["text_config"].(map[string]any)
	if nested { // of a model that sees or hears as well
		c = text
	}
	c.liftParts()
	c.fillDefaults()
	m := c.readModel()
	m.Name, m.Title, m.Source = name, name, name
	m.Weights, m.TextOnly = whole.readWeights(), nested || whole.hasOtherSenses()
	if err := c.check(m); err != nil {
		return Model{}, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// readConfig parses the file, which has to be a JSON object.
func readConfig(name string, data []byte) (config, error) {
	c := config{}
	err := json.Unmarshal(data, &c)
	var other *json.UnmarshalTypeError
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return nil, fmt.Errorf("%s is empty: expected the config.json of a language model", name)
	case errors.As(err, &other):
		return nil, fmt.Errorf("%s is not an object (%s): expected the config.json of a language model", name, other.Value)
	case err != nil:
		return nil, fmt.Errorf("%s is not JSON (%w%s): expected the config.json of a language model", name, err,
			findPlace(err))
	}
	return c, nil
}

// findPlace returns the byte at which JSON is wrong, if the error has it.
func findPlace(err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return ""
	}
	return fmt.Sprintf(", at byte %d", syntax.Offset)
}

// config holds the values of a file by name. Some names differ from family to family.
type config map[string]any

// number returns the first of these values that the file has, or 0.
func (c config) number(keys ...string) float64 {
	for _, key := range keys {
		if v, known := c[key].(float64); known {
			return v
		}
	}
	return 0
}

// numberOr returns the first of these values that the file has, even if it is 0, or else the default.
func (c config) numberOr(otherwise float64, keys ...string) float64 {
	for _, key := range keys {
		if v, known := c[key].(float64); known {
			return v
		}
	}
	return otherwise
}

// fillDefaults adds values that published files of Gemma 3 omit: the defaults of Gemma3TextConfig.
func (c config) fillDefaults() {
	if !c.isOneOf("gemma3_text") {
		return
	}
	for key, value := range map[string]float64{
		"vocab_size": 262_208, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
		"sliding_window": 4096, "sliding_window_pattern": 6,
	} {
		if _, known := c[key]; !known {
			c[key] = value
		}
	}
}

// liftParts copies the values of attn_config and ffn_config, which DBRX and MPT have, to the top level.
func (c config) liftParts() {
	for _, part := range []string{"attn_config", "ffn_config"} {
		values, _ := c[part].(map[string]any)
		for key, value := range values {
			if _, known := c[key]; !known {
				c[key] = value
			}
		}
	}
}

// hasOtherSenses reports whether the file describes more than the part that reads and writes text.
func (c config) hasOtherSenses() bool {
	for key := range c {
		if slices.Contains([]string{"vision_config", "visual", "audio_config", "speech_config"}, key) {
			return true
		}
	}
	return false
}

// readWeights returns the precision in which a quantized checkpoint stores weights. It returns "" if the
// checkpoint is not quantized, or in an unknown format.
func (c config) readWeights() hardware.Precision {
	quantized, _ := c["quantization_config"].(map[string]any)
	method, _ := quantized["quant_method"].(string)
	inside := config(quantized)
	switch bits := inside.number("bits", "w_bit", "wbits"); {
	case method == "fp8" || method == "fbgemm_fp8":
		return hardware.FP8
	case method == "mxfp4" || bits == 4 || inside.readSwitch("load_in_4bit", false):
		return INT4
	case bits == 8 || inside.readSwitch("load_in_8bit", false):
		return hardware.INT8
	}
	return ""
}

// readSwitch returns a value that is true or false, or the default if the file lacks it.
func (c config) readSwitch(key string, otherwise bool) bool {
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

// Families whose output layer shares the weights of the embedding unless the file says otherwise, and
// families whose feed-forward part has two matrices.
var (
	tied = []string{
		"gemma", "gpt2", "gpt_bigcode", "gpt_neo", "gpt-sw3", "openai-gpt", "bloom", "falcon", "opt", "cohere",
		"biogpt", "cpmant", "ctrl", "ernie4_5", "granite_swa", "minicpm3", "mpt", "smollm3", "starcoder2", "vaultgemma",
		"xglm", "youtu",
	}
	ungated = []string{
		"gpt2", "gpt_neo", "gpt_bigcode", "gptj", "gpt-sw3", "openai-gpt", "codegen", "bloom", "falcon", "opt", "mpt",
		"phi", "starcoder2", "nemotron", "apertus", "arcee", "biogpt", "fuyu", "jais2", "nanochat", "persimmon", "xglm",
	}
	// sparseFamilies have experts. A file of theirs that lists none is incomplete.
	sparseFamilies = []string{
		"mixtral", "gpt_oss", "dbrx", "deepseek_v2", "deepseek_v3", "qwen2_moe", "qwen3_moe", "olmoe", "phimoe",
		"glm4_moe", "granitemoe", "llama4", "jetmoe", "ernie4_5_moe",
	}
)

// isUngated reports whether a feed-forward part has two matrices and no gate.
func (c config) isUngated() bool {
	return c.isOneOf(ungated...) && !c.isOneOf("phi3", "phimoe", "phi4")
}

// readModel reads the shape of the model.
func (c config) readModel() Model {
	m := Model{
		Layers: c.number("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
		Width:  c.number("hidden_size", "n_embd", "d_model", "n_embed"),
		Heads:  c.number("num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads"),
		Words:  c.number("vocab_size", "padded_vocab_size"),
		Inner:  c.number("intermediate_size_mlp", "intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"),
		Tied:   c.readSwitch("tie_word_embeddings", c.isOneOf(tied...) && !c.isOneOf("gpt_neox")),

		Experts:     c.number("num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts"),
		Chosen:      c.number("num_experts_per_tok", "experts_per_token", "moe_top_k", "moe_topk", "moe_k"),
		ExpertInner: c.number("moe_intermediate_size", "intermediate_size", "ffn_hidden_size"),
		Latent: Latent{
			Query: c.number("q_lora_rank"), Kept: c.number("kv_lora_rank"), Rotary: c.number("qk_rope_head_dim"),
			Plain: c.number("qk_nope_head_dim"), Value: c.number("v_head_dim"),
		},
	}
	m.KVHeads = c.numberOr(m.Heads, "num_key_value_heads", "num_kv_heads", "kv_n_heads")
	if c.readSwitch("multi_query", false) && !c.readSwitch("new_decoder_architecture", false) {
		m.KVHeads = 1
	}
	if c.readSwitch("multi_query_attention", false) { // GLM
		m.KVHeads = c.numberOr(1, "multi_query_group_num")
	}
	m.HeadSize = c.numberOr(m.Width/m.Heads, "head_dim", "kv_channels")
	if c.isUngated() {
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

// readExperts reads which layers have experts, and how many experts every token passes.
func (c config) readExperts(m *Model) {
	m.Always = c.number("n_shared_experts", "moe_num_shared_experts", "num_shared_experts")
	if c.isOneOf("llama4") {
		m.Always = 1
	}
	if shared := c.number("shared_expert_intermediate_size"); shared > 0 {
		m.Always = shared / m.ExpertInner
	}
	m.DenseLayers = c.number("first_k_dense_replace", "moe_layer_start_index")
	if dense, listed := c["mlp_only_layers"].([]any); listed {
		m.DenseLayers += float64(len(dense))
	}
	if each := c.number("interleave_moe_layer_step", "decoder_sparse_step"); each > 1 {
		m.DenseLayers = m.Layers - math.Floor(m.Layers/each)
	}
}

// readWindow returns how many tokens local layers look back on, and the share of layers that are local.
func (c config) readWindow(layers float64) (window, local float64) {
	window = c.number("sliding_window", "attention_chunk_size")
	if window == 0 || !c.readSwitch("use_sliding_window", true) {
		return 0, 0
	}
	each := c.number("sliding_window_pattern", "no_rope_layer_interval") // one of so many attends to all
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

// expected is a value of a file with its limits.
type expected struct {
	name        string
	value       float64
	least, most float64
	whole       bool
}

// Limits beyond any model.
const (
	mostOfShape  = 1e8 // layers, widths, heads, words
	mostExperts  = 1e6
	mostToLookAt = 1e9 // tokens of a window
	sliver       = 1e-9
)

// listExpected lists all values with their limits.
func (c config) listExpected(m Model) []expected {
	chosen := math.Min(1, m.Experts)
	return []expected{
		{"num_hidden_layers", m.Layers, 1, mostOfShape, true},
		{"hidden_size", m.Width, 1, mostOfShape, true},
		{"num_attention_heads", m.Heads, 1, mostOfShape, true},
		{"vocab_size", m.Words, 1, mostOfShape, true},
		{"num_key_value_heads", m.KVHeads, 1, mostOfShape, true},
		{"head_dim", m.HeadSize, sliver, mostOfShape, false},
		{"intermediate_size", m.Inner + m.ExpertInner, sliver, mostOfShape, false},
		{"num_experts", m.Experts, 0, mostExperts, true},
		{"num_experts_per_tok", m.Chosen, chosen, m.Experts, true},
		{"n_shared_experts", m.Always, 0, mostExperts, false},
		{"moe_intermediate_size", m.ExpertInner, chosen, mostOfShape, false},
		{"first_k_dense_replace", m.DenseLayers, 0, m.Layers, false},
		{"kv_lora_rank", m.Latent.Kept, 0, mostOfShape, false},
		{"q_lora_rank", m.Latent.Query, 0, mostOfShape, false},
		{"v_head_dim", m.Latent.Value, 0, mostOfShape, false},
		{"qk_nope_head_dim", m.Latent.Plain, 0, mostOfShape, false},
		{"qk_rope_head_dim", m.Latent.Rotary, 0, mostOfShape, false},
		{"sliding_window", m.Window, 0, mostToLookAt, false},
		{"layer_types", m.Local, 0, 1 + sliver, false},
	}
}

// check refuses values that are no model of known cost.
func (c config) check(m Model) error {
	for _, e := range c.listExpected(m) {
		switch given, wrong := c.findWrongKind(e.name); {
		case wrong:
			return fmt.Errorf("%s is %s: expected a number", e.name, given)
		case !(e.value >= e.least && e.value <= e.most) && e.least > 0 && e.value == 0:
			return fmt.Errorf("%s is missing or 0: expected the config.json of a language model, with the values that "+
				"transformers would fill in", e.name)
		case !(e.value >= e.least && e.value <= e.most):
			return fmt.Errorf("%s is %s: expected %s to %s", e.name, quantity.Number(e.value),
				quantity.Number(math.Ceil(e.least)), quantity.Number(e.most))
		case e.whole && e.value != math.Trunc(e.value):
			return fmt.Errorf("%s is %v: expected a whole number", e.name, e.value)
		}
	}
	switch {
	case math.Mod(m.Heads, m.KVHeads) != 0:
		return fmt.Errorf("num_key_value_heads is %v: expected a number that divides the %v heads", m.KVHeads, m.Heads)
	case m.HeadSize != math.Trunc(m.HeadSize):
		return fmt.Errorf("hidden_size is %v: expected a multiple of the %v heads, or a head_dim", m.Width, m.Heads)
	}
	if err := c.refuseOtherExperts(m); err != nil {
		return err
	}
	return c.refuseOtherLayers()
}

// refuseOtherExperts refuses a file that describes experts by unknown names, or that omits them.
func (c config) refuseOtherExperts(m Model) error {
	if m.Experts > 0 {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(c)) {
		count, _ := c[key].(float64)
		if count > 1 && namesExperts(key) {
			return fmt.Errorf("%s is %v, and num_experts is missing: expected the experts of a layer as num_experts, "+
				"num_experts_per_tok and moe_intermediate_size", key, count)
		}
	}
	if c.isOneOf(sparseFamilies...) {
		return fmt.Errorf("num_experts is missing: a model of the family %v has experts: add num_experts, "+
			"num_experts_per_tok and moe_intermediate_size", c["model_type"])
	}
	return nil
}

// namesExperts reports whether a value is about experts. The number of those for a token may be set in a
// dense model, too.
func namesExperts(key string) bool {
	word := strings.ToLower(key)
	return (strings.Contains(word, "expert") || strings.HasPrefix(word, "moe_")) && key != "num_experts_per_tok" &&
		key != "experts_per_token"
}

// findWrongKind returns the text of a value that should be a number and is not.
func (c config) findWrongKind(key string) (text string, wrong bool) {
	value := c[key]
	switch value.(type) {
	case string, bool, map[string]any:
		text, err := json.Marshal(value)
		return string(text), err == nil
	}
	return "", false
}

// refuseOtherLayers refuses layers other than attention, and models with an encoder and a decoder.
func (c config) refuseOtherLayers() error {
	if c.readSwitch("is_encoder_decoder", false) {
		return errors.New("a model with encoder and decoder is not known: expected a decoder alone")
	}
	for key := range c {
		if key == "hidden_size_per_layer_input" && c.number(key) > 0 {
			return fmt.Errorf("%s: embeddings of each layer are not known: expected attention and feed-forward parts "+
				"alone", key)
		}
		if strings.HasPrefix(key, "mamba_") || strings.HasPrefix(key, "linear_") && c.number(key) > 0 ||
			strings.HasPrefix(key, "ssm_") || key == "state_size" {
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
