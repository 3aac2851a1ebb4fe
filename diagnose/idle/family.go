package idle

import (
	"strings"
	"unicode"

	"github.com/stoker-dev/stoker/recording"
)

// Family says what a kernel computes, as far as its name tells.
type Family uint8

// The families of kernels.
const (
	Other       Family = iota
	Matmul             // matrix products
	Convolution        // by matrix products or Winograd
	Attention          // fused attention
	Elementwise        // one value in, one value out
	Reduction          // sums, means, norms, softmax
	Fused              // several of these in one, by a compiler or by hand
	Moving             // copies, transpositions, gathers, concatenations
	Exchange           // collectives
)

var familyWords = [...]string{
	"other", "matmul", "convolution", "attention", "elementwise", "reduction", "fused",
	"moving", "exchange",
}

// String returns the family's word.
func (f Family) String() string {
	if int(f) < len(familyWords) {
		return familyWords[f]
	}
	return "unknown"
}

// FamilyOf says what a kernel computes, by its name.
func FamilyOf(name string) Family {
	if strings.HasPrefix(name, "triton__") {
		return Other // a compiler's kernel with its arguments for a name: it may be a matrix product
	}
	// pointwise kernels and reductions of PyTorch's compiler have names of operators that are not in them, as addmm
	for _, kind := range []string{"triton_poi_", "triton_red_", "triton_per_"} {
		if strings.HasPrefix(name, kind) {
			return Fused
		}
	}
	words := wordsOf(name)
	for _, f := range families {
		if recording.ContainsAny(words, f.words...) {
			return f.family
		}
	}
	return Other
}

// families are known by words of a kernel's name; the first row that fits counts. A space is
// a word's end: " conv " is the word, " conv" begins one, and "convert" is another. Names of
// cuBLAS, cuDNN, CUTLASS, MIOpen, Tensile, Triton, XLA, Eigen and PyTorch's own kernels.
var families = []struct {
	family Family
	words  []string
}{
	{Attention, []string{
		" flash fwd ", " flash bwd ", " flash attn ", " flash attention ", " fmha", " attention ",
		" attn fwd ", " attn bwd ", " paged att", " sage fwd ",
	}},
	{Convolution, []string{
		" conv ", " convolve ", " convolution", " winograd", " dgrad ", " wgrad ", " fprop ", " scudnn ",
		" 884 cudnn ", " 1688 cudnn ", " 16816 cudnn ",
		" 2 col ", " miopen sp 3 ", " fft 2 d ", " igemm ", " implicit gemm ", " im 2 col",
	}},
	{Matmul, []string{
		"gemm ", " gemm", "gemv ", " gemv", " cublas", " nvjet ", " cijk ", "matmul ", " mat mul ",
		" mm ", " addmm ", " bmm ",
		" triton tem ", " cutlass ", " kreduce ", " wgmma ",
		" dot kernel ", " fc ",
	}},
	{Moving, []string{" transpose fusion "}},
	{Reduction, []string{" reduce fusion "}},
	{Fused, []string{" triton ", " multi tensor apply ", " fused ", " fusion ", " act and mul "}},
	{Elementwise, []string{" bn fw inf "}}, // a batch norm of inference only scales and shifts
	{Reduction, []string{
		" reduce ", " reduction ", " softmax", " soft max ", " norm ", " layernorm", " rmsnorm", " batchnorm",
		" bn fw", " bn bw", " argmax ", " topk ", " cumsum ", " scan ",
	}},
	{Elementwise, []string{" elementwise ", " pointwise ", " dropout", " gelu", " silu", " relu", " leaky relu"}},
	{Moving, []string{
		" copy", "copy ", " memcpy", " transpose", " permute", " gather", " scatter", " cat array ", " cat ",
		" index", " indices ", " embedding", " nchw to nhwc", " nhwc to nchw",
		" fill", " memset", " rowwise adagrad", " reshape and cache ",
	}},
	{Elementwise, []string{
		" convert ", " conversion ", " cast ", " tensor op ", " eigen meta ", " sigmoid ", " tanh ", " where ",
		" add ", " sub ", " mul ", " divide ", " sqrt ", " reciprocal ",
		" clip ", " neg ", " eq ", " gt ", " le ", " threshold ", " wrapped ",
	}},
}

// libraries are namespaces whose words are a library's name and tell nothing of a kernel.
var libraries = strings.NewReplacer("fbgemm_gpu", "", "fbgemm", "", "typeConvert", "", "cudaDataType", "")

// wordsOf splits a name: at all but letters and digits, between letters and digits, and
// where a capital begins a word. In lower case, each between two spaces.
func wordsOf(name string) string {
	var b strings.Builder
	b.Grow(len(name) + len(name)/4)
	const (
		gap = iota
		lower
		upper
		digit
	)
	last := gap
	runes := []rune(libraries.Replace(name))
	for i, r := range runes {
		kind := gap
		switch {
		case unicode.IsDigit(r):
			kind = digit
		case unicode.IsUpper(r):
			kind = upper
		case unicode.IsLetter(r):
			kind = lower
		}
		capital := last == upper && kind == lower // "Conv" is one word
		begins := kind != last && !capital
		if last == upper && kind == upper && i+1 < len(runes) && unicode.IsLower(runes[i+1]) {
			begins = true // the last capital of several begins the next word
		}
		if begins {
			b.WriteByte(' ')
		}
		if kind != gap {
			b.WriteRune(unicode.ToLower(r))
		}
		last = kind
	}
	return " " + strings.TrimSpace(strings.Join(strings.Fields(b.String()), " ")) + " "
}

// MultipliesVector reports whether a kernel multiplies a matrix with a vector, or an expert's weights with a tile of
// 16 tokens, the least that Triton has: it reads each value once and waits for memory, on whichever cores.
func MultipliesVector(name string) bool {
	return strings.Contains(name, "gemv") || strings.Contains(name, "matmul_ogs") && strings.Contains(name, "_16x")
}

// CoreKind says whether a kernel computes on Tensor Cores (AMD: matrix cores).
type CoreKind uint8

// What a name tells of Tensor Cores.
const (
	UnknownCores CoreKind = iota // the name tells nothing; never taken for "no"
	TensorCores
	PlainCores
)

// Parts of names of kernels that use Tensor Cores and of those that do not, in
// lower case: tile shapes of the matrix instructions, their mnemonics, data types
// that only they compute in; against the names of single-precision kernels. A product with a vector (gemv) is
// in neither: it waits for memory, and Tensor Cores do not help it.
var (
	tensorParts = []string{
		"h884", "s884", "h1688", "s1688", "i8816", "16816", "161616", "hmma", "imma", "c1688", "tensorop", "wgmma",
		"gmma", "umma", "utcmma",
		"bf16", "fp8", "e4m3", "e5m2", "tf32", "nvjet_", "f16f16", "mfma", "_hss", "_hsh", "sm100_",
	}
	plainParts = []string{
		"sgemm", "volta_scudnn", "maxwell_scudnn", "ampere_scudnn", "simt", "f32f32_f32f32_f32",
		"gemmsn", "winograd", "dgemm", "cgemm", "fft2d_r2c_16x16<float", "fft2d_c2r_16x16<float",
		"fft2d_r2c_32x32<float", "fft2d_c2r_32x32<float", "wgrad_alg0_engine<float", "wgrad_alg1_engine<float",
		"dgrad_engine<float", "dgrad2d_alg1_1<float",
	}
)

// CoresOf returns the cores that a kernel of this name runs on.
func CoresOf(name string) CoreKind {
	lower := lowered(name)
	switch {
	case strings.Contains(lower, "f32f32_f32f32_f32") && !strings.Contains(lower, "tf32"):
		return PlainCores
	case recording.ContainsAny(lower, tensorParts...), mfma(lower):
		return TensorCores
	case recording.ContainsAny(lower, plainParts...):
		return PlainCores
	}
	return UnknownCores
}

// mfma finds Tensile's sign of a matrix instruction: "_mi16x16".
func mfma(lower string) bool {
	_, after, found := strings.Cut(lower, "_mi")
	return found && after != "" && after[0] >= '0' && after[0] <= '9' && strings.Contains(after, "x")
}
