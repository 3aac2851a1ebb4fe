package language

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/spelling"
)

// Model is a language model as its published configuration describes it.
type Model struct {
	Name    string // our key: "llama-3.1-70b"
	Title   string
	Aliases []string

	Layers   float64
	Width    float64 // of a token, numbers
	Heads    float64 // of queries
	KVHeads  float64 // of keys and values
	HeadSize float64
	Inner    float64 // width of a dense layer's feed-forward part
	Words    float64 // of the vocabulary
	Tied     bool    // the output layer shares the embedding's weights

	Experts     float64 // of a layer with experts; 0 in a dense model
	Chosen      float64 // of them for a token
	Always      float64 // experts that every token passes, besides
	ExpertInner float64 // width of one of them
	DenseLayers float64 // layers without experts, in a model with them

	Latent Latent // keys and values as DeepSeek compresses them; zero elsewhere

	Window float64 // tokens that a local layer attends to; 0 if all attend to all
	Local  float64 // share of the layers that are local

	Source string // of the configuration

	Weights  hardware.Precision // of a quantized checkpoint; "" if it is not known to be one
	TextOnly bool               // parts that see or hear are not counted
}

// Latent is multi-head latent attention, which keeps one vector of a token.
type Latent struct{ Query, Kept, Rotary, Plain, Value float64 }

// gated is the number of matrices of a gated feed-forward part: gate, up and down.
const gated = 3

// attentionWeights returns the weights of one layer's attention.
func (m Model) attentionWeights() float64 {
	if l := m.Latent; l.Kept > 0 {
		query := m.Width * m.Heads * (l.Plain + l.Rotary)
		if l.Query > 0 {
			query = m.Width*l.Query + l.Query*m.Heads*(l.Plain+l.Rotary)
		}
		return query + m.Width*(l.Kept+l.Rotary) + l.Kept*m.Heads*(l.Plain+l.Value) + m.Heads*l.Value*m.Width
	}
	return 2*m.Width*m.Heads*m.HeadSize + 2*m.Width*m.KVHeads*m.HeadSize
}

func (m Model) sparseLayers() float64 {
	if m.Experts == 0 {
		return 0
	}
	return m.Layers - m.DenseLayers
}

// expertWeights returns the weights of all experts that a router chooses among.
func (m Model) expertWeights() float64 {
	return m.sparseLayers() * m.Experts * gated * m.Width * m.ExpertInner
}

// sharedWeights returns the weights that every token passes, with the output layer.
func (m Model) sharedWeights() float64 {
	sparse := m.sparseLayers()
	return m.Layers*m.attentionWeights() + (m.Layers-sparse)*gated*m.Width*m.Inner +
		sparse*(m.Always*gated*m.Width*m.ExpertInner+m.Width*m.Experts) + m.Words*m.Width
}

// Params returns the number of parameters.
func (m Model) Params() float64 {
	embedding := m.Words * m.Width
	if m.Tied {
		embedding = 0
	}
	return m.sharedWeights() + m.expertWeights() + embedding
}

// Active returns the number of parameters that a token passes, with the output layer.
func (m Model) Active() float64 {
	if m.Experts == 0 {
		return m.sharedWeights()
	}
	return m.sharedWeights() + m.expertWeights()*m.Chosen/m.Experts
}

// touchedWeights returns the weights that a batch of tokens needs. Of the experts it counts those that get at
// least one token, if the router sends them evenly.
func (m Model) touchedWeights(tokens float64) float64 {
	if m.Experts == 0 {
		return m.sharedWeights()
	}
	return m.sharedWeights() + m.expertWeights()*(1-math.Pow(1-m.Chosen/m.Experts, tokens))
}

// seenTokens returns how many tokens all layers together attend to, at a context.
func (m Model) seenTokens(context float64) float64 {
	if m.Window == 0 {
		return m.Layers * context
	}
	return m.Layers * ((1-m.Local)*context + m.Local*math.Min(context, m.Window))
}

// forward returns the FLOP of one token at a context: two for each active weight, and attention.
func (m Model) forward(context float64) float64 { return 2*m.Active() + m.attention(context) }

// attention returns the FLOP of attention for one token at a context.
func (m Model) attention(context float64) float64 {
	each := 2 * m.HeadSize
	if m.Latent.Kept > 0 {
		each = m.Latent.Plain + m.Latent.Rotary + m.Latent.Value
	}
	return 2 * m.Heads * each * m.seenTokens(context)
}

// cacheSize returns how many numbers are kept of a sequence.
func (m Model) cacheSize(context float64) float64 {
	each := 2 * m.KVHeads * m.HeadSize
	if m.Latent.Kept > 0 {
		each = m.Latent.Kept + m.Latent.Rotary
	}
	return each * m.seenTokens(context)
}

// FindModel returns the model of a name or alias, regardless of case and punctuation. A name of the Hugging
// Face hub may have an owner and words such as Instruct.
func FindModel(name string) (Model, bool) {
	if m, known := spelling.Find(name, Models, Model.names); known {
		return m, true
	}
	_, repository, found := strings.Cut(name, "/")
	if !found {
		repository = name
	}
	return spelling.Find(dropTuning(repository), Models, Model.names)
}

// tunings are words of a repository's name that do not change the model's shape.
var tunings = []string{"meta", "instruct", "it", "chat", "hf", "base", "thinking"}

// release matches words that number a release of the same shape: v0.1, 2507.
var release = regexp.MustCompile(`^(v\d+\.\d+|\d{4})$`)

// dropTuning removes those words from a repository's name.
func dropTuning(name string) string {
	words := strings.Split(strings.ToLower(name), "-")
	return strings.Join(slices.DeleteFunc(words, func(word string) bool {
		return slices.Contains(tunings, word) || release.MatchString(word)
	}), "-")
}

// NearestModels returns the names of models that are spelled most like name.
func NearestModels(name string) []string { return spelling.Nearest(name, Models, Model.names) }

func (m Model) names() []string { return append([]string{m.Name, m.Title}, m.Aliases...) }
