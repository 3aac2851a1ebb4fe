package device

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/spelling"
)

// Software is the class of software that a model runs in: one chip and one
// network spread 2.3x by it alone.
type Software string

// The classes of software. An unnamed class means the whole spread.
const (
	Eager        Software = "eager"         // PyTorch as it comes, in the named precision
	ChannelsLast Software = "channels-last" // eager with channels_last and AMP, as its tuning guide says
	// torch.compile or XLA, or hand-fused kernels: NVIDIA's own containers, FlashAttention
	Compiled Software = "compiled"
	// inference engines with their own kernels and plan: TensorRT, FasterTransformer,
	// llama.cpp
	Engine      Software = "engine"
	AnySoftware Software = ""
)

// Family is a class of networks with similar kernels, and so with similar limits.
type Family string

// The families that efficiencies are fitted for.
const (
	ConvNet     Family = "convnet"     // images through convolutions and batch normalisation
	Transformer Family = "transformer" // matrix products and attention over tokens
	VolumeNet   Family = "volume"      // 3-D convolutions
	AnyFamily   Family = ""            // not said: the whole spread
)

// Families are those that a person can name.
var Families = []Family{ConvNet, Transformer, VolumeNet}

// Workload is a network with what one sample costs.
type Workload struct {
	Name    string   // our key: "resnet50"
	Title   string   // "ResNet-50"
	Aliases []string // other spellings that people type
	Family  Family
	Unit    string // what a sample is: "image", "sequence", "volume"
	Profile string // key of the data profile that it usually reads

	Params hardware.Figure // parameters
	// FLOP of one sample's forward pass, 2 per multiply-add, attention over all pairs of tokens
	// included
	Forward hardware.Figure
	// bytes that one sample's forward pass moves through device memory at 16 bits, attention scores
	// not included (fused attention keeps them on the chip)
	Activations hardware.Figure
	Stored      hardware.Figure // bytes that one sample's forward pass keeps for the backward pass at 16 bits

	Grouped float64 // part of Forward in convolutions by groups of several channels
	Masked  float64 // part of Forward between tokens that a causal mask hides from each other
	Fused   bool    // its programs are younger than PyTorch's fused attention (2023), and have it

	Tokens float64 // of one sample; 0 where samples are not sequences
	Side   float64 // pixels or voxels along one side of a sample; 0 where samples have none
	Layers float64 // layers that are launched one after the other
	Width  float64 // of a token, numbers; 0 where samples are not sequences
	Heads  float64 // of attention; 0 where samples are not sequences
}

// attentionScores returns the numbers that attention compares one sample's tokens by.
func (w Workload) attentionScores() float64 { return w.Layers * w.Heads * w.Tokens * w.Tokens }

const (
	layerSum = "derived: sum over the layers of the published architecture, 2 FLOP per multiply-add " +
		"(workload_test.go repeats it)"
	convBytes = "estimate, derived: every convolution's output is written, read and written again by " +
		"normalisation with activation, and read by the next layer, 2 bytes each"
	convKept  = "estimate, derived: every convolution's output and its normalised copy are kept, 2 bytes each"
	textBytes = "estimate, derived: 38 values of model width per token and layer for a plain block, 18 and 8 of " +
		"the inner width for a gated one, 2 bytes each; logits 12 bytes per token and word"
	textKept = "derived: 34 bytes of model width per token and layer (Korthikanti et al., Reducing Activation " +
		"Recomputation, 2022, without its score term: fused attention); gated blocks 17 and 8 of the inner width; " +
		"logits 6 bytes per token and word"
)

// Workloads are the known networks.
var Workloads = []Workload{
	{
		Name: "resnet50", Title: "ResNet-50", Family: ConvNet, Unit: "image", Profile: "imagenet-jpeg",
		Aliases: []string{"resnet", "resnet50v1.5", "rn50"},
		Params: hardware.Figure{
			Value:  25.557e6,
			Source: "He et al., Deep Residual Learning, 2015; count of torchvision.models.resnet50",
		},
		Forward: hardware.Figure{Value: 8.18e9, Source: layerSum + ", v1.5 (stride in the 3x3 convolution), 224x224"},

		Activations: hardware.Figure{Value: 4 * 2 * 11.114e6, Source: convBytes},
		Stored:      hardware.Figure{Value: 2 * 2 * 11.114e6, Source: convKept},
		Side:        224, Layers: 53,
	},
	{
		Name: "vgg16", Title: "VGG-16", Family: ConvNet, Unit: "image", Profile: "imagenet-jpeg",
		Aliases: []string{"vgg"},
		Params: hardware.Figure{
			Value:  138.358e6,
			Source: "Simonyan and Zisserman, Very Deep Convolutional Networks, 2014; count of torchvision.models.vgg16",
		},
		Forward: hardware.Figure{Value: 30.94e9, Source: layerSum + ", 224x224"},

		Activations: hardware.Figure{Value: 4 * 2 * 13.548e6, Source: convBytes},
		Stored:      hardware.Figure{Value: 2 * 2 * 13.548e6, Source: convKept},
		Side:        224, Layers: 16,
	},
	sequences(shape{
		name: "vit-b16", title: "ViT-B/16", unit: "image", profile: "imagenet-jpeg",
		aliases: []string{"vit", "vit-base", "vit-b-16", "vit-base-patch16-224", "deit-b", "deit-base-patch16-224"},
		params: hardware.Figure{
			Value:  86.57e6,
			Source: "Dosovitskiy et al., An Image is Worth 16x16 Words, 2020; count of torchvision.models.vit_b_16",
		},
		layers: 12, width: 768, heads: 12, inner: 3072, shared: 1, tokens: 197, side: 224,
	}),
	sequences(shape{
		name: "bert-base", title: "BERT-base", unit: "sequence", profile: "text-tokenized",
		aliases: []string{"bert", "bert-base-uncased", "bert-base-cased", "roberta-base"},
		params: hardware.Figure{
			Value:  109.48e6,
			Source: "Devlin et al., BERT, 2018 (110 M); count of bert-base-uncased with pooler",
		},
		layers: 12, width: 768, heads: 12, inner: 3072, shared: 1, tokens: 128,
	}),
	sequences(shape{
		name: "bert-large", title: "BERT-large", unit: "sequence", profile: "text-tokenized",
		aliases: []string{"bert-large-uncased", "bert-large-cased", "roberta-large"},
		params: hardware.Figure{
			Value:  335.14e6,
			Source: "Devlin et al., BERT, 2018 (340 M); count of bert-large-uncased with pooler",
		},
		layers: 24, width: 1024, heads: 16, inner: 4096, shared: 1, tokens: 128,
	}),
	sequences(shape{
		name: "gpt2", title: "GPT-2 (124M)", unit: "sequence", profile: "llm-tokens",
		aliases: []string{"gpt2-small", "gpt2-124m", "nanogpt"},
		params: hardware.Figure{
			Value: 124.44e6,
			Source: "Radford et al., GPT-2, 2019; count of huggingface.co/gpt2, output layer shared " +
				"with the embedding",
		},
		layers: 12, width: 768, heads: 12, causal: true, inner: 3072, shared: 1, words: 50257, tokens: 1024,
	}),
	sequences(shape{
		name: "llama-1b", title: "Llama-class 1 B", unit: "sequence", profile: "llm-tokens",
		aliases: []string{
			"llama", "llama3-1b", "llama-3.2-1b", "llama3.2-1b", "meta-llama/Llama-3.2-1B", "tinyllama",
			"tinyllama-1.1b",
		},
		params: hardware.Figure{
			Value:  1.2358e9,
			Source: "Meta, Llama 3.2 1B model card, 2024-09 (1.23 B); output layer shared with the embedding",
		},
		layers: 16, width: 2048, heads: 32, causal: true, inner: 8192, gated: true, shared: 0.25, words: 128256,
		tokens: 2048,
	}),
	sequences(shape{
		name: "llama-8b", title: "Llama-class 8 B", unit: "sequence", profile: "llm-tokens",
		aliases: []string{
			"llama3-8b", "llama-3-8b", "llama3.1-8b", "llama-3.1-8b", "meta-llama/Meta-Llama-3-8B",
			"meta-llama/Llama-3.1-8B",
		},
		params: hardware.Figure{
			Value:  8.0303e9,
			Source: "Grattafiori et al., The Llama 3 Herd of Models, 2024; count of Llama-3.1-8B",
		},
		layers: 32, width: 4096, heads: 32, causal: true, inner: 14336, gated: true, shared: 0.25, words: 128256,
		tokens: 8192,
	}),
	{
		Name: "unet3d", Title: "3-D U-Net", Family: VolumeNet, Unit: "volume", Profile: "medical-volume",
		Aliases: []string{"unet", "3d-unet", "unet-3d", "3dunet", "nnunet", "nn-unet", "unet3d-mlperf"},
		Params: hardware.Figure{
			Value: 31.2e6,
			Source: "MLCommons training reference unet3d: filters 32 to 320, two convolutions per level; counted " +
				"layer by layer",
		},
		Forward: hardware.Figure{
			Value:  954.6e9,
			Source: layerSum + ", MLCommons reference on a 128x128x128 patch of KiTS19",
		},

		Activations: hardware.Figure{Value: 4 * 2 * 446.5e6, Source: convBytes},
		Stored:      hardware.Figure{Value: 2 * 2 * 446.5e6, Source: convKept},
		Side:        128, Layers: 27,
	},
}

// shape is a transformer as its paper describes it.
type shape struct {
	name, title, unit, profile string

	aliases []string
	params  hardware.Figure
	layers  float64
	width   float64
	heads   float64
	causal  bool    // a token sees those before it alone
	inner   float64 // width of the feed-forward part
	gated   bool    // three matrices there, not two
	shared  float64 // key and value heads per query head
	words   float64 // of the output layer; 0 if it is negligible
	tokens  float64
	side    float64 // of the image that the tokens are patches of
}

// sequences derives a transformer's costs from its shape.
func sequences(s shape) Workload {
	matrices, moved, kept := 2.0, 38*s.width, 34*s.width
	if s.gated {
		matrices, moved, kept = 3, 18*s.width+8*s.inner, 17*s.width+8*s.inner
	}
	weights := s.layers*s.width*((2+2*s.shared)*s.width+matrices*s.inner) + s.words*s.width
	masked := 0.0
	if s.causal {
		masked = 2 * s.layers * s.width * s.tokens * s.tokens // half of the pairs
	}
	return Workload{
		Name: s.name, Title: s.title, Aliases: s.aliases, Family: Transformer, Unit: s.unit, Profile: s.profile,
		Params: s.params, Tokens: s.tokens, Side: s.side, Layers: s.layers, Width: s.width, Heads: s.heads,
		Masked: masked, Fused: s.gated, // Llama's blocks
		Forward: hardware.Figure{
			Value: 2*weights*s.tokens + 4*s.layers*s.width*s.tokens*s.tokens,
			Source: layerSum + fmt.Sprintf(": %.0f layers of width %.0f, %.0f tokens, attention over all pairs",
				s.layers, s.width, s.tokens),
		},
		Activations: hardware.Figure{Value: s.tokens * (2*s.layers*moved + 12*s.words), Source: textBytes},
		Stored:      hardware.Figure{Value: s.tokens * (s.layers*kept + 6*s.words), Source: textKept},
	}
}

// FindWorkload returns the network of that name or alias. Case, spaces, dots,
// slashes, dashes and underscores do not count: "ResNet-50" is "resnet50".
func FindWorkload(name string) (Workload, bool) {
	if w, known := spelling.Find(name, Workloads, Workload.names); known {
		return w, true
	}
	if w, known := spelling.Find(name, Counted(), Workload.names); known {
		return w, true
	}
	if short := dropLibrary(name); short != name {
		return FindWorkload(short)
	}
	return Workload{}, false
}

// dropLibrary removes from a name what torchvision, timm and the Hugging Face hub add to it:
// "torchvision.models.resnet50", "timm/resnet50.a1_in1k".
func dropLibrary(name string) string {
	name = name[strings.LastIndex(name, "/")+1:]
	name = strings.TrimPrefix(name, "torchvision.")
	name = strings.TrimPrefix(name, "models.")
	name, _, _ = strings.Cut(name, ".")
	return name
}

// NearestWorkloads returns the names of the three networks that are spelled most
// like name, the nearest first.
func NearestWorkloads(name string) []string {
	return spelling.Nearest(name, slices.Concat(Workloads, Counted()), Workload.names)
}

func (w Workload) names() []string { return append([]string{w.Name, w.Title}, w.Aliases...) }

// WithTokens returns the network on samples of n tokens: what each token costs
// grows with n, attention with its square. The network itself where its samples
// are not sequences, or where n is not positive.
func (w Workload) WithTokens(n float64) Workload {
	if w.Tokens == 0 || !(n > 0) || math.IsInf(n, 0) || n == w.Tokens {
		return w
	}
	pairs := 4 * w.Layers * w.Width
	each := w.Forward.Value/w.Tokens - pairs*w.Tokens
	w.Forward = hardware.Figure{
		Value:  n * (each + pairs*n),
		Source: w.Forward.Source + fmt.Sprintf(", then %.0f tokens", n),
	}
	w.Masked *= n * n / w.Tokens / w.Tokens
	w.Activations.Value *= n / w.Tokens
	w.Stored.Value *= n / w.Tokens
	w.Tokens = n
	return w
}

// WithSide returns the network on samples of n pixels or voxels along each side.
// The network itself where its samples have no sides, or where n is not positive.
func (w Workload) WithSide(n float64) Workload {
	if w.Side == 0 || !(n > 0) || math.IsInf(n, 0) || n == w.Side {
		return w
	}
	ratio := n / w.Side
	w.Side = n
	if w.Tokens > 0 {
		return w.WithTokens((w.Tokens-1)*ratio*ratio + 1) // patches, and one token for the class
	}
	scale := ratio * ratio
	if w.Family == VolumeNet {
		scale *= ratio
	}
	w.Forward.Value *= scale
	w.Forward.Source += fmt.Sprintf(", then side %.0f", n)
	w.Activations.Value *= scale
	w.Stored.Value *= scale
	return w
}

// softwareClasses are those that a person can name.
var softwareClasses = []Software{Eager, ChannelsLast, Compiled, Engine}
