package language

import (
	"errors"
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/quantity"
)

// Serving is a question: a model that answers requests.
type Serving struct {
	Model     Model
	GPU       hardware.GPU
	Precision hardware.Precision
	Stack     Stack
	Tensor    float64 // GPUs that share each layer

	Input, Output float64 // tokens of a prompt and of an answer
	Batch         float64 // requests in progress; 0: as many as memory holds
}

// ServingRate is the answer.
type ServingRate struct {
	Batch     float64         // requests in progress
	Prefill   stoker.Interval // seconds to the first token of one prompt, nothing else running
	PerToken  stoker.Interval // seconds from token to token of one request
	TokenRate stoker.Interval // tokens/s of all requests, prompts not counted

	// What the time from token to token goes into, shares of it.
	Weights, Cache, Compute, Messages, Launches float64

	Memory float64 // bytes of weights and cache on each GPU
}

const (
	// bandwidthShare is what decoding reaches of the sheet's bandwidth, prefillShare what
	// prefill reaches of the peak: the rows "tune" of testdata/published.csv.
	bandwidthShare = 0.75
	prefillShare   = 0.55
	// cacheShare is what attention over a scattered cache reaches of the bandwidth.
	cacheShare = 0.80
	// messageLatency is that of one sum over the GPUs of a machine, seconds, per doubling of them.
	messageLatency = 8e-6
	// launchPerLayer is the host's share of a layer where a graph is replayed, seconds.
	launchPerLayer = 5e-6
	// schedule is what choosing the next batch costs a step, seconds.
	schedule = 1e-3
	// memoryUsed is the part of memory that weights and cache may take, as the engines' default.
	memoryUsed = 0.9
	// mostRequests is where the engines' own limit lies.
	mostRequests = 2048
)

// Solve solves the question.
func (s Serving) Solve() (ServingRate, error) {
	if err := s.validate(); err != nil {
		return ServingRate{}, err
	}
	batch := s.Batch
	if batch == 0 {
		batch = math.Floor(math.Min(mostRequests, s.room()/s.cacheOf(s.Input+s.Output/2)))
	}
	if batch < 1 || s.room() < 0 {
		return ServingRate{}, fmt.Errorf("%s takes %s of each of %v %s, which has %s: spread it over more (--tp), or "+
			"choose a narrower --precision", s.Model.Title, quantity.AboutBytes(s.weights()/s.Tensor), s.Tensor,
			s.GPU.Title, quantity.AboutBytes(s.GPU.MemoryBytes.Value))
	}
	one := s.decodeStep(batch)
	prefill := s.prefillTime(s.Input)
	// Prompts of other requests are computed between the tokens of one.
	perToken := one.sum() + batch*prefill/s.Output
	width := servingWidth(s.Model, s.Stack, s.GPU)
	around := func(v float64) stoker.Interval { return stoker.Interval{Low: v / width, Point: v, High: v * width} }
	return ServingRate{
		Batch: batch, Prefill: around(prefill + schedule), PerToken: around(perToken),
		TokenRate: around(batch / perToken),
		Weights:   one.weights / perToken, Cache: one.cache / perToken,
		Compute:  (one.compute + batch*prefill/s.Output) / perToken,
		Messages: one.messages / perToken, Launches: one.launches / perToken,
		Memory: (s.weights() + batch*s.cacheOf(s.Input+s.Output/2)) / s.Tensor,
	}, nil
}

// parts are what one step of decoding goes into, seconds.
type parts struct{ weights, compute, cache, messages, launches float64 }

func (p parts) sum() float64 { return p.weights + p.compute + p.cache + p.messages + p.launches }

// decodeStep is one token of each of so many requests.
func (s Serving) decodeStep(batch float64) parts {
	rate := s.GPU.MemoryRate.Value * s.Tensor
	read := s.Model.touched(batch) * weightBytes(s.Precision) / (rate * bandwidthShare)
	compute := batch * 2 * s.Model.Active() / (s.peak() * s.Tensor * prefillShare)
	p := parts{weights: read, compute: math.Hypot(read, compute) - read}
	p.cache = batch * s.cacheOf(s.Input+s.Output/2) / (rate * cacheShare)
	p.messages = s.messages(batch)
	p.launches = schedule + s.Model.Layers*launchPerLayer
	if s.Stack == PyTorch {
		p.launches = s.Model.Layers * launchPerLayer // one request, no scheduler
	}
	return p
}

// prefillTime is that of one prompt.
func (s Serving) prefillTime(tokens float64) float64 {
	return tokens*s.Model.forward(tokens/2)/(s.peak()*s.Tensor*prefillShare) + s.messages(tokens)
}

// messages are the two sums of each layer over the GPUs that share it.
func (s Serving) messages(tokens float64) float64 {
	if s.Tensor == 1 {
		return 0
	}
	bytes := tokens * s.Model.Width * 2 * 2 * (s.Tensor - 1) / s.Tensor
	return 2 * s.Model.Layers * (messageLatency*(1+math.Log2(s.Tensor)) + bytes/near(s.GPU))
}

// peak is what the GPU computes in; weights alone of 8 bits are multiplied in 16.
func (s Serving) peak() float64 {
	if s.Precision == hardware.INT8 {
		return s.GPU.FP16.Value
	}
	return s.GPU.Peak(s.Precision).Value
}

func (s Serving) weights() float64 { return s.Model.Params() * weightBytes(s.Precision) }

func (s Serving) cacheOf(context float64) float64 {
	return s.Model.cacheSize(context) * cacheBytes(s.Precision)
}

// room is what weights leave for caches, bytes of all GPUs.
func (s Serving) room() float64 { return s.Tensor*memoryUsed*s.GPU.MemoryBytes.Value - s.weights() }

func (s Serving) validate() error {
	for _, f := range []struct {
		flag  string
		value float64
	}{{"tp", s.Tensor}, {"input", s.Input}, {"output", s.Output}} {
		if !(f.value >= 1) || math.IsInf(f.value, 0) {
			return fmt.Errorf("--%s is %v: expected 1 or more", f.flag, f.value)
		}
	}
	if s.Stack == "" {
		return errors.New("--software is not named, and it decides more than all else: " + Names(ServingStacks))
	}
	if s.Tensor > 1 && !s.GPU.NVLink.Known() {
		return fmt.Errorf("%s has no link of its own to other GPUs that is known: --tp 1", s.GPU.Title)
	}
	return checkPeak(s.GPU, s.Precision)
}
