package language

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/quantity"
)

// Serving describes a server: a model that answers requests.
type Serving struct {
	Model     Model
	GPU       hardware.GPU
	Precision hardware.Precision
	Stack     Stack
	Tensor    float64 // GPUs that share each layer

	// Draft is a model that guesses tokens, which Model checks together. nil means none.
	Draft   *Model
	Guesses float64 // tokens of a guess
	Accept  float64 // chance that the model agrees with one, 0 to 1

	Input, Output float64 // tokens of a prompt and of an answer
	Batch         float64 // requests in progress; 0: as many as memory holds
}

// ServingRate is the forecast of a server.
type ServingRate struct {
	Batch     float64         // requests in progress
	Prefill   stoker.Interval // seconds to the first token of one prompt, nothing else running
	PerToken  stoker.Interval // seconds from token to token of one request
	TokenRate stoker.Interval // tokens/s of all requests, prompts not counted

	// Shares of the time from token to token.
	Weights, Cache, Compute, Messages, Launches float64

	Memory float64 // bytes of weights and cache on each GPU
}

const (
	// bandwidthShare is the share of the sheet's bandwidth that decoding reaches. inEngines is the share of
	// the chip's timed products that prefill reaches, as law.inModels in training. Both were tuned on the
	// rows "tune" of testdata/published.csv.
	bandwidthShare = 0.75
	inEngines      = 0.776
	// cacheShare is the share of the bandwidth that attention over a scattered cache reaches.
	cacheShare = 0.80
	// How many weights of 8 and of 4 bits one multiprocessor widens a second in the kernels of gpt-fast and
	// torchao: tuned on the rows "tune" of torchao. The engines' kernels keep up with memory.
	widenedInt8, widenedInt4 = 10.7e9, 12.7e9
	// messageLatency is the latency of a sum over the GPUs of a machine, seconds, for each doubling of them.
	messageLatency = 8e-6
	// launchPerLayer is the host's time for a layer of a CUDA graph, seconds.
	launchPerLayer = 5e-6
	// schedule is the time to choose the next batch, seconds.
	schedule = 1e-3
	// memoryUsed is the share of memory for weights and cache, as the engines have it by default.
	memoryUsed = 0.9
	// mostTokens of a request is more than any model takes.
	mostTokens = 1e8
	// mostRequests and passTokens are how many requests, and tokens of prompts, an engine computes in one pass:
	// TensorRT-LLM's defaults of max_batch_size and max_num_tokens. The others are vLLM's defaults of
	// max_num_seqs and max_num_batched_tokens (vllm/engine/arg_utils.py, 0.10), which are smaller below 70 GiB
	// and on A100s.
	mostRequests, passTokens = 2048, 8192
	vllmRequests             = 1024
	smallRequests, smallPass = 256, 2048
	largeMemory              = 70 << 30
)

// passLimits returns how many requests, and tokens of prompts, one pass computes at most.
func (s Serving) passLimits() (requests, tokens float64) {
	switch {
	case s.Stack != VLLM:
		return mostRequests, passTokens
	case s.GPU.MemoryBytes.Value < largeMemory || strings.HasPrefix(s.GPU.Name, "a100"):
		return smallRequests, smallPass
	}
	return vllmRequests, passTokens
}

// Solve forecasts the server's rates.
func (s Serving) Solve() (ServingRate, error) {
	if err := s.validate(); err != nil {
		return ServingRate{}, err
	}
	batch, err := s.requests()
	if err != nil {
		return ServingRate{}, err
	}
	one := s.decodeStep(batch)
	if s.Draft != nil {
		one = s.guessedStep(batch)
	}
	prefill := s.prefillTime(s.Input)
	// Prompts of other requests are computed between the tokens of one.
	others := s.sharedPrefill()
	perToken := one.sum() + batch*others/s.Output
	width := s.width()
	around := func(v float64) stoker.Interval { return stoker.Interval{Low: v / width, Point: v, High: v * width} }
	return ServingRate{
		Batch: batch, Prefill: around(prefill + schedule), PerToken: around(perToken),
		TokenRate: around(batch / perToken),
		Weights:   one.weights / perToken, Cache: one.cache / perToken,
		Compute:  (one.compute + batch*others/s.Output) / perToken,
		Messages: one.messages / perToken, Launches: one.launches / perToken,
		Memory: (s.weights() + batch*s.cacheOf(s.Input+s.Output/2)*s.cacheCopies()) / s.Tensor,
	}, nil
}

// requests returns how many requests are in progress: as given, or as many as fit into memory.
func (s Serving) requests() (float64, error) {
	each := s.cacheOf(s.Input+s.Output/2) * s.cacheCopies()
	most := math.Floor(s.room() / each)
	room := func(what string) error {
		return fmt.Errorf("it does not fit: %s, next to %s of weights of %s on %v x %s of %s: spread it over more GPUs "+
			"(--tp), or choose a narrower --precision", what, quantity.AboutBytes(s.weights()), s.titles(), s.Tensor,
			s.GPU.Title, quantity.AboutBytes(s.GPU.MemoryBytes.Value))
	}
	switch {
	case most < 1:
		return 0, room(fmt.Sprintf("one request of %s tokens has %s of cache", quantity.AboutMany(s.Input+s.Output),
			quantity.AboutBytes(each)))
	case s.Batch > most:
		return 0, room(fmt.Sprintf("%s requests have %s of cache, and there is room for %s of them",
			quantity.AboutMany(s.Batch), quantity.AboutBytes(s.Batch*each), quantity.AboutMany(most)))
	case s.Batch > 0:
		return s.Batch, nil
	}
	limit, _ := s.passLimits()
	return math.Min(limit, most), nil
}

// guessedStep returns the mean time of a token with a draft. The draft guesses one token after the other,
// the model checks all of them together, and keeps those before the first wrong one (arXiv:2211.17192).
func (s Serving) guessedStep(batch float64) parts {
	draft := s
	draft.Model, draft.Draft = *s.Draft, nil
	guess, check := draft.decodeStep(batch), s.decodeStep(batch)
	// All tokens of a guess pass the products; weights and cache are read once.
	check.compute = math.Hypot(check.weights, (s.Guesses+1)*batch*2*s.Model.Active()/(s.productRate()*s.Tensor)) -
		check.weights
	kept := s.Guesses + 1
	if s.Accept < 1 {
		kept = (1 - math.Pow(s.Accept, s.Guesses+1)) / (1 - s.Accept)
	}
	n := s.Guesses
	return parts{
		weights: (check.weights + n*guess.weights) / kept, compute: (check.compute + n*guess.compute) / kept,
		cache: (check.cache + n*guess.cache) / kept, messages: (check.messages + n*guess.messages) / kept,
		launches: (check.launches + n*guess.launches) / kept,
	}
}

// parts are the parts of a decoding step, seconds.
type parts struct{ weights, compute, cache, messages, launches float64 }

func (p parts) sum() float64 { return p.weights + p.compute + p.cache + p.messages + p.launches }

// decodeStep returns the time of one token for each request of a batch.
func (s Serving) decodeStep(batch float64) parts {
	rate := s.GPU.MemoryRate.Value * s.Tensor
	read := math.Max(s.readBytes(batch)/(rate*bandwidthShare), s.widenTime(batch))
	compute := batch * 2 * s.Model.Active() / (s.productRate() * s.Tensor)
	p := parts{weights: read, compute: math.Hypot(read, compute) - read}
	p.cache = batch * s.cacheOf(s.Input+s.Output/2) * s.cacheCopies() / (rate * cacheShare)
	p.messages = s.messages(batch)
	p.launches = schedule + s.Model.Layers*launchPerLayer
	if s.Stack == PyTorch {
		p.launches = s.Model.Layers * launchPerLayer // one request, no scheduler
	}
	return p
}

// readBytes returns the bytes of the weights that a batch reads. AWQ and GPTQ keep the output layer in 16
// bits, PyTorch's kernels do not.
func (s Serving) readBytes(batch float64) float64 {
	bytes := s.Model.touchedWeights(batch) * weightBytes(s.Precision)
	if s.Precision == INT4 && s.Stack != PyTorch {
		bytes += s.Model.Words * s.Model.Width * (weightBytes(hardware.BF16) - weightBytes(INT4))
	}
	return bytes
}

// widenTime returns how long PyTorch's kernels take to widen narrow weights to 16 bits.
func (s Serving) widenTime(batch float64) float64 {
	widened := map[hardware.Precision]float64{hardware.INT8: widenedInt8, INT4: widenedInt4}[s.Precision]
	if s.Stack != PyTorch || widened == 0 || !s.GPU.SMs.Known() {
		return 0
	}
	return s.Model.touchedWeights(batch) / (widened * s.GPU.SMs.Value * s.Tensor)
}

// cacheCopies returns how many copies of keys and values the GPUs that share a layer keep. A head is not
// divided: if there are more GPUs than heads, some keep copies.
func (s Serving) cacheCopies() float64 {
	if s.Model.Latent.Kept > 0 { // engines then spread requests, not heads
		return 1
	}
	return math.Max(1, s.Tensor/s.Model.KVHeads)
}

// prefillTime returns the time of one prompt.
func (s Serving) prefillTime(tokens float64) float64 {
	return tokens*s.Model.forward(tokens/2)/(s.productRate()*s.Tensor) + s.messages(tokens)
}

// sharedPrefill returns the time that the prompt of another request adds. Engines compute several short
// prompts in one pass.
func (s Serving) sharedPrefill() float64 {
	_, tokens := s.passLimits()
	together := math.Max(1, tokens/s.Input)
	return s.prefillTime(s.Input) - s.messages(s.Input) + s.messages(together*s.Input)/together
}

// messages returns the time of the two sums of each layer over the GPUs that share it.
func (s Serving) messages(tokens float64) float64 {
	if s.Tensor == 1 {
		return 0
	}
	bytes := tokens * s.Model.Width * 2 * 2 * (s.Tensor - 1) / s.Tensor
	return 2 * s.Model.Layers * (messageLatency*(1+math.Log2(s.Tensor)) + bytes/near(s.GPU))
}

// productRate returns the rate of products, FLOP/s. Weights of 8 or 4 bits are multiplied in 16 bits.
func (s Serving) productRate() float64 {
	p := s.Precision
	if p == hardware.INT8 || p == INT4 {
		p = hardware.FP16
	}
	return s.GPU.Peak(p).Value * s.GPU.ProductShare(p).Value * inEngines
}

func (s Serving) weights() float64 {
	params := s.Model.Params()
	if s.Draft != nil {
		params += s.Draft.Params()
	}
	return params * weightBytes(s.Precision)
}

func (s Serving) cacheOf(context float64) float64 {
	return s.Model.cacheSize(context) * cacheBytes(s.Precision)
}

// titles names the model and its draft.
func (s Serving) titles() string {
	if s.Draft != nil {
		return s.Model.Title + " and " + s.Draft.Title
	}
	return s.Model.Title
}

// room returns the memory that weights leave for the cache, bytes of all GPUs.
func (s Serving) room() float64 { return s.Tensor*memoryUsed*s.GPU.MemoryBytes.Value - s.weights() }

func (s Serving) validate() error {
	for _, f := range []struct {
		flag  string
		value float64
	}{{"tp", s.Tensor}, {"input", s.Input}, {"output", s.Output}} {
		if !(f.value >= 1 && f.value <= mostTokens) {
			return fmt.Errorf("--%s is %s: expected 1 to %s", f.flag, quantity.Count(f.value),
				quantity.Count(mostTokens))
		}
	}
	switch {
	case !slices.Contains(ServingStacks, s.Stack):
		return fmt.Errorf("--software %q: expected one of %s", s.Stack, Names(ServingStacks))
	case math.Mod(s.Model.Heads, s.Tensor) != 0:
		return fmt.Errorf("--tp %v does not divide the %v heads of %s", s.Tensor, s.Model.Heads, s.Model.Title)
	case s.Batch < 0:
		return fmt.Errorf("--batch is %v: expected 1 or more, or nothing for as many as memory holds", s.Batch)
	case s.Draft != nil && s.Draft.Active() >= s.Model.Active():
		return fmt.Errorf("--draft %s is not smaller than %s, so its guesses save nothing: name a smaller model",
			s.Draft.Title, s.Model.Title)
	case s.Draft != nil && !(s.Guesses >= 1 && s.Guesses <= 64 && s.Accept >= 0 && s.Accept <= 1):
		return fmt.Errorf("--guesses %v with --accept %v: expected 1 to 64 tokens and a share of 0%% to 100%%", s.Guesses,
			s.Accept)
	}
	if s.Tensor > MachineOf(s.GPU) {
		return fmt.Errorf("--tp %v is more than the %v GPUs that share fast links: expected at most %v, and more replicas "+
			"for more requests", s.Tensor, MachineOf(s.GPU), MachineOf(s.GPU))
	}
	if s.Tensor > 1 && !s.GPU.NVLink.Known() {
		return fmt.Errorf("no link of the %s to other GPUs is known: use --tp 1", s.GPU.Title)
	}
	return checkPeak(s.GPU, s.Precision)
}
