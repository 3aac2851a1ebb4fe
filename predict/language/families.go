package language

import (
	"fmt"
	"slices"
	"strings"
)

// otherFamilies are words in names of families that are no decoders of attention alone, as
// transformers spells them: encoders, models of two halves, models that see or hear, and models
// whose layers keep a state. A configuration need not show by its values that it is one of them.
var otherFamilies = []string{
	"bert", "roformer", "electra", "mpnet", "canine", "xlm", "xlnet", "esm", "esmc", "longformer", "big_bird",
	"bigbird",
	"gte", "jina_embeddings", "dpr", "fnet", "yoso", "mra", "bros", "lilt", "siglip", "funnel", "luke", "layoutlm",
	"ernie_m", "splinter", "nystromformer", "data2vec", "deberta",
	"t5", "mt5", "umt5", "longt5", "byt5", "t5gemma", "bart", "pegasus", "marian", "m2m", "nllb", "prophetnet",
	"blenderbot", "led", "fsmt", "switch_transformers",
	"whisper", "wav2vec", "hubert", "speech", "audio", "musicgen", "clip", "vision", "vit", "dino", "blip", "trocr",
	"mamba", "rwkv", "xlstm", "recurrent", "jamba", "bamba", "zamba", "hybrid", "nemotron_h", "falcon_h1", "lfm2",
	"lfm3", "kimi_linear", "qwen3_next", "reformer",
}

// refuseFamily fails on a model that says itself that it is no decoder of attention alone.
func (c config) refuseFamily() error {
	family, _ := c["model_type"].(string)
	if isOther(family) {
		return fmt.Errorf("a model of the family %s is no decoder of attention alone, so its cost is not known: "+
			"stoker.count counts any model (stoker predict --help)", family)
	}
	classes, _ := c["architectures"].([]any)
	for _, class := range classes {
		if name, _ := class.(string); isOther(name) {
			return fmt.Errorf("%s is no decoder of attention alone, so its cost is not known: stoker.count counts any "+
				"model (stoker predict --help)", name)
		}
	}
	return nil
}

// shortWord is the length up to which a word has to stand alone: "led" is in "scaled".
const shortWord = 4

// isOther reports whether a name of a family or class has one of those words.
func isOther(name string) bool {
	name, _, _ = strings.Cut(name, "For") // a class is named by its family and what it is for
	name = strings.ToLower(name)
	if strings.Contains(name, "decoder") && !strings.Contains(name, "encoder") {
		return false // modernbert-decoder
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' })
	return slices.ContainsFunc(otherFamilies, func(word string) bool {
		if len(word) < shortWord {
			return slices.Contains(words, word)
		}
		return strings.Contains(name, word)
	})
}
