package language

import (
	"fmt"
	"slices"
	"strings"
)

// otherFamilies are words in the names of families that are not decoders with attention only:
// encoders, encoder-decoders, models that see or hear, and models whose layers keep a state. The
// values of a file may not show that. The words are spelled as transformers spells them.
var otherFamilies = []string{
	"bert", "roformer", "electra", "mpnet", "canine", "xlm", "xlnet", "esm", "esmc", "longformer", "big_bird",
	"bigbird",
	"gte", "jina_embeddings", "dpr", "fnet", "yoso", "mra", "bros", "lilt", "siglip", "funnel", "luke", "layoutlm",
	"ernie_m", "splinter", "nystromformer", "data2vec", "deberta",
	"t5", "mt5", "umt5", "longt5", "byt5", "t5gemma", "bart", "pegasus", "marian", "m2m", "nllb", "prophetnet",
	"blenderbot", "led", "fsmt", "switch_transformers",
	"whisper", "wav2vec", "hubert", "speech", "audio", "musicgen", "clip", "vision", "vit", "dino", "blip", "trocr",
	"mamba", "rwkv", "xlstm", "recurrent", "jamba", "bamba", "zamba", "hybrid", "nemotron_h", "falcon_h1", "lfm2",
	"lfm3", "kimi_linear", "qwen3_next", "reformer", "minimax_text",
	"aimv2", "beit", "bridgetower", "clap", "clvp", "flava", "groupvit", "markuplm", "layoutx", "omdet", "owlv", "sam",
	"sam2", "sam3", "sew", "tapas", "tips", "tvp", "videoprism", "vilt", "vits", "wavlm", "xmod", "moshi", "csm", "dia",
	"git", "perceiver", "encoder", "jetmoe", "doge", "longcat", "hrm", "decision",
}

// otherNames are whole names of such families. As parts they occur in names of decoders, such as ernie4_5.
var otherNames = []string{"ernie", "align", "align_text_model"}

// refuseFamily refuses a model whose family or class is not a decoder of attention alone.
func (c config) refuseFamily() error {
	family, _ := c["model_type"].(string)
	if isOther(family) {
		return fmt.Errorf("a model of the family %s is not a decoder with attention only, so its cost is unknown: "+
			"stoker.count counts any model (stoker predict --help)", family)
	}
	classes, _ := c["architectures"].([]any)
	for _, class := range classes {
		if name, _ := class.(string); isOther(name) {
			return fmt.Errorf("%s is not a decoder with attention only, so its cost is unknown: stoker.count counts any "+
				"model (stoker predict --help)", name)
		}
	}
	return nil
}

// shortWord is the length below which only whole words match: "led" is in "scaled".
const shortWord = 4

// isOther reports whether the name of a family or class has one of those words.
func isOther(name string) bool {
	name, _, _ = strings.Cut(name, "For") // a class is named by its family and its task
	name = strings.ToLower(name)
	if strings.Contains(name, "decoder") && !strings.Contains(name, "encoder") {
		return false // modernbert-decoder
	}
	if slices.Contains(otherNames, name) {
		return true
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' })
	return slices.ContainsFunc(otherFamilies, func(word string) bool {
		if len(word) < shortWord {
			return slices.Contains(words, word)
		}
		return strings.Contains(name, word)
	})
}
