package device

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stoker-dev/stoker/internal/spelling"
)

// layers adds up a convolutional network: multiply-adds, parameters and values
// that its convolutions put out.
type layers struct{ products, params, values float64 }

// conv is a convolution with its normalisation: in and out channels, kernel and
// output size along one of so many dimensions.
func (l *layers) conv(in, out, kernel, size, dimensions float64) {
	taps, points := math.Pow(kernel, dimensions), math.Pow(size, dimensions)
	l.products += in * out * taps * points
	l.params += in*out*taps + 2*out
	l.values += out * points
}

func resnet50() layers {
	var l layers
	l.conv(3, 64, 7, 112, 2)
	in, size := 64.0, 56.0
	for stage, blocks := range []int{3, 4, 6, 3} {
		width := 64 * math.Pow(2, float64(stage))
		for b := range blocks {
			l.conv(in, width, 1, size, 2)
			if b == 0 && stage > 0 {
				size /= 2
			}
			l.conv(width, width, 3, size, 2)
			l.conv(width, 4*width, 1, size, 2)
			if b == 0 {
				l.conv(in, 4*width, 1, size, 2)
			}
			in = 4 * width
		}
	}
	l.products += 2048 * 1000
	l.params += 2048*1000 + 1000
	return l
}

func vgg16() layers {
	var l layers
	in, size := 3.0, 224.0
	for stage, convolutions := range []int{2, 2, 3, 3, 3} {
		out := 64 * math.Pow(2, float64(min(stage, 3)))
		for range convolutions {
			l.conv(in, out, 3, size, 2)
			in = out
		}
		size /= 2
	}
	for _, of := range [][2]float64{{512 * 7 * 7, 4096}, {4096, 4096}, {4096, 1000}} {
		l.products += of[0] * of[1]
		l.params += of[0]*of[1] + of[1]
	}
	return l
}

func unet3d() layers {
	var l layers
	filters := []float64{32, 64, 128, 256, 320, 320}
	in, size := 1.0, 128.0
	for level, out := range filters {
		if level > 0 {
			size /= 2
		}
		l.conv(in, out, 3, size, 3)
		l.conv(out, out, 3, size, 3)
		in = out
	}
	for level := len(filters) - 2; level >= 0; level-- {
		out := filters[level]
		size *= 2
		points := size * size * size
		l.products += in * out * points // transposed, 2x2x2 with stride 2: one input per output
		l.params += in*out*8 + out
		l.values += out * points
		l.conv(2*out, out, 3, size, 3)
		l.conv(out, out, 3, size, 3)
		in = out
	}
	l.products += 32 * 3 * size * size * size
	return l
}

// The figures of the convolutional networks follow from their layers.
func TestConvolutionsAreDerived(t *testing.T) {
	for name, l := range map[string]layers{"resnet50": resnet50(), "vgg16": vgg16(), "unet3d": unet3d()} {
		w, _ := FindWorkload(name)
		for what, pair := range map[string][2]float64{
			"parameters":  {w.Params.Value, l.params},
			"FLOP":        {w.Forward.Value, 2 * l.products},
			"bytes moved": {w.Activations.Value, 4 * 2 * l.values},
			"bytes kept":  {w.Stored.Value, 2 * 2 * l.values},
		} {
			if math.Abs(pair[0]/pair[1]-1) > 0.003 {
				t.Errorf("%s: %s are %.5g, layers give %.5g", name, what, pair[0], pair[1])
			}
		}
	}
}

// The transformers' FLOP agree with 2 per parameter and token outside the
// embedding, and with what others publish.
func TestTransformersAreDerived(t *testing.T) {
	for name, want := range map[string]float64{
		"vit-b16":    2 * 17.56e9,                           // torchvision's table: 17.56 G multiply-adds
		"bert-base":  128 * 2 * (85e6 + 2*12*768*128),       // 85 M parameters in its 12 layers
		"bert-large": 128 * 2 * (302e6 + 2*24*1024*128),     // 302 M in 24
		"gpt2":       1024 * 2 * (124e6 + 2*12*768*1024),    // output layer is the embedding
		"llama-1b":   2048 * 2 * (1.236e9 + 2*16*2048*2048), // the same
		"llama-8b":   8192 * 2 * (7.505e9 + 2*32*4096*8192), // 8.03 B less the 0.525 B of the embedding
	} {
		w, _ := FindWorkload(name)
		if math.Abs(w.Forward.Value/want-1) > 0.02 {
			t.Errorf("%s: %.4g FLOP, expected about %.4g", name, w.Forward.Value, want)
		}
	}
}

func TestEveryWorkloadIsComplete(t *testing.T) {
	for _, w := range Workloads {
		for what, f := range map[string]struct {
			value  float64
			source string
		}{
			"parameters": {w.Params.Value, w.Params.Source}, "FLOP": {w.Forward.Value, w.Forward.Source},
			"bytes moved": {w.Activations.Value, w.Activations.Source}, "bytes kept": {w.Stored.Value, w.Stored.Source},
		} {
			if !(f.value > 0) || len(f.source) < 20 {
				t.Errorf("%s: %s are %v, source %q", w.Name, what, f.value, f.source)
			}
		}
		if w.Profile == "" || w.Unit == "" || w.Family == "" || !(w.Layers > 0) {
			t.Errorf("%s: profile %q, unit %q, family %q, layers %v", w.Name, w.Profile, w.Unit, w.Family, w.Layers)
		}
	}
}

func TestFindWorkload(t *testing.T) {
	for spelling, want := range map[string]string{
		"resnet50": "resnet50", "ResNet-50": "resnet50", "ResNet50": "resnet50", "resnet_50": "resnet50",
		"vit": "vit-b16", "vit_base_patch16_224": "vit-b16", "ViT-B/16": "vit-b16",
		"bert": "bert-base", "bert-large-uncased": "bert-large", "gpt2": "gpt2", "GPT-2": "gpt2",
		"llama3-8b": "llama-8b", "meta-llama/Llama-3.1-8B": "llama-8b", "llama-3.2-1b": "llama-1b",
		"3D-UNet": "unet3d", "nnU-Net": "unet3d",
	} {
		if w, known := FindWorkload(spelling); !known || w.Name != want {
			t.Errorf("%q is %q, %v, want %q", spelling, w.Name, known, want)
		}
	}
	for _, stranger := range []string{"", " ", "resnet51", "llama-70b", "///"} {
		if w, known := FindWorkload(stranger); known {
			t.Errorf("%q is %q, want none", stranger, w.Name)
		}
	}
	seen := map[string]string{}
	for _, w := range Workloads {
		for _, name := range w.names() {
			if other, taken := seen[spelling.Plain(name)]; taken && other != w.Name {
				t.Errorf("%q is both %s and %s", name, other, w.Name)
			}
			seen[spelling.Plain(name)] = w.Name
		}
	}
}

func TestNearestWorkloads(t *testing.T) {
	for typed, want := range map[string]string{
		"resnet-51": "resnet50", "lama-8b": "llama-8b",
		"brt-large": "bert-large", "unet": "unet3d",
	} {
		if names := NearestWorkloads(typed); len(names) != 3 || names[0] != want {
			t.Errorf("nearest to %q are %q, want %s first", typed, names, want)
		}
	}
	if names := NearestWorkloads(string(make([]byte, 1<<16))); len(names) != 3 {
		t.Errorf("nearest to nothing that can be read: %q", names)
	}
}

// Costs per token grow with the length, those of attention with its square, and
// there and back again is where we began.
func TestWithTokens(t *testing.T) {
	for _, w := range Workloads {
		if w.Tokens == 0 {
			if got := w.WithTokens(77); got.Forward != w.Forward {
				t.Errorf("%s has no tokens but changed", w.Name)
			}
			continue
		}
		twice := w.WithTokens(2 * w.Tokens)
		pairs := 4 * w.Layers * w.Width * w.Tokens * w.Tokens
		if want := 2*(w.Forward.Value-pairs) + 4*pairs; math.Abs(twice.Forward.Value/want-1) > 1e-9 {
			t.Errorf("%s: %g FLOP at twice the length, want %g", w.Name, twice.Forward.Value, want)
		}
		if back := twice.WithTokens(w.Tokens); math.Abs(back.Forward.Value/w.Forward.Value-1) > 1e-9 {
			t.Errorf("%s: %g FLOP there and back, want %g", w.Name, back.Forward.Value, w.Forward.Value)
		}
		for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
			if got := w.WithTokens(bad); got.Forward != w.Forward {
				t.Errorf("%s changed for %v tokens", w.Name, bad)
			}
		}
	}
}

func TestWithSide(t *testing.T) {
	vit, _ := FindWorkload("vit")
	if got := vit.WithSide(384).Tokens; got != 577 {
		t.Errorf("ViT-B/16 at 384 pixels has %v tokens, want 577", got)
	}
	resnet, _ := FindWorkload("resnet50")
	if got := resnet.WithSide(448).Forward.Value / resnet.Forward.Value; got != 4 {
		t.Errorf("twice the side costs ResNet-50 %vx, want 4x", got)
	}
	unet, _ := FindWorkload("unet3d")
	if got := unet.WithSide(64).Forward.Value / unet.Forward.Value; got != 0.125 {
		t.Errorf("half the side costs the 3-D U-Net %vx, want 1/8", got)
	}
	if names := []string{resnet.WithSide(0).Name, resnet.WithSide(-3).Name}; !slices.Equal(names,
		[]string{"resnet50", "resnet50"}) {
		t.Errorf("bad sides give %q", names)
	}
}

func ExampleFindWorkload() {
	w, _ := FindWorkload("ViT-B/16")
	w = w.WithSide(384)
	fmt.Printf("%s: %.1f M parameters, %.0f tokens, %.0f GFLOP per %s\n", w.Title, w.Params.Value/1e6, w.Tokens,
		w.Forward.Value/1e9, w.Unit)
	// Output: ViT-B/16: 86.6 M parameters, 577 tokens, 110 GFLOP per image
}
