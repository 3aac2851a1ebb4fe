package language

import (
	"math"
	"strings"

	"github.com/stoker-dev/stoker/hardware"
)

// Constants of links in training. The fitted ones are in trainingLaw.
const (
	// hiddenGradients is the share of a micro-batch with which the exchange of gradients overlaps: the
	// backward pass. Derived.
	hiddenGradients = 2. / 3

	// reachedNVLink is the share of NVLink's rate that sums reach; byHost is the same share of
	// the host link if GPUs lack NVLink. predict/device/exchange.go has their sources.
	reachedNVLink, byHost = 0.65, 0.3
	// nearLatency and farLatency are of one step of a ring, seconds: nvlinkLatency and
	// wireLatency of predict/device, with the launch of a kernel.
	nearLatency, farLatency = 1e-6, 10e-6
	// reachedSends is the share of a port's rate that tokens on their way to experts reach: 43 of 50 GB/s
	// on 16 GPUs, more on 32 and 64 (github.com/deepseek-ai/DeepEP README, 2025-04).
	reachedSends = 43. / 50
)

// near returns how fast a GPU sends to others in its machine, bytes/s.
func near(gpu hardware.GPU) float64 {
	if gpu.NVLink.Known() {
		return reachedNVLink * gpu.NVLink.Value
	}
	link, _ := hardware.FindLink(gpu.Link)
	return byHost * link.Pinned.Value
}

// MachineOf returns how many GPUs usually share fast links.
func MachineOf(gpu hardware.GPU) float64 {
	switch {
	case gpu.Name == "gb200", gpu.Name == "gb300":
		return 72
	case isTPU(gpu):
		return 256 // of a v5e or v6e pod; the others have more
	case gpu.Name == "trainium2":
		return 16
	}
	return 8
}

// UsualPort returns the usual network rate of a GPU. Each GPU of a DGX H100 or later has a port of
// 400 Gbit/s, of a DGX A100 one of 200, and four GPUs of a DGX-1 or of a server with PCIe boards
// share one of 100 (assumption).
func UsualPort(gpu hardware.GPU) float64 {
	name := "eth-100g"
	share := 0.25
	switch {
	case gpu.ComputeMajor >= 9 && gpu.NVLink.Known(), strings.HasPrefix(gpu.Name, "mi3"):
		name, share = "ib-ndr", 1
	case strings.HasPrefix(gpu.Name, "a100") && gpu.NVLink.Known():
		name, share = "ib-hdr", 1
	}
	network, _ := hardware.Known.FindNetwork(name)
	return share * network.Rate.Value
}

// perMachine returns how many GPUs share fast links.
func (t Training) perMachine() float64 {
	if t.PerMachine > 0 {
		return t.PerMachine
	}
	return MachineOf(t.GPU)
}

// port returns how fast a GPU sends to other machines, bytes/s.
func (t Training) port() float64 {
	if isTPU(t.GPU) {
		return near(t.GPU)
	}
	return law.reachedNetwork * t.wire()
}

// sendRate returns how fast a GPU sends tokens to experts in other machines, bytes/s.
func (t Training) sendRate() float64 {
	if isTPU(t.GPU) {
		return near(t.GPU)
	}
	return reachedSends * t.wire()
}

// wire returns the rate of a GPU's port on paper, bytes/s.
func (t Training) wire() float64 {
	if t.Network > 0 {
		return t.Network
	}
	return UsualPort(t.GPU)
}

// ringTime returns how long ranks take to gather or scatter bytes in a ring, in a number of pieces. inside is
// how many of them are in one machine. Between machines a ring uses the ports of all its ranks.
func (t Training) ringTime(bytes, ranks, inside, pieces float64) float64 {
	switch {
	case ranks <= 1:
		return 0
	case ranks <= inside:
		return bytes*(ranks-1)/ranks/near(t.GPU) + pieces*(ranks-1)*nearLatency
	}
	rate := math.Min(near(t.GPU), t.port()*inside)
	return bytes*(ranks-1)/ranks/rate + pieces*(ranks/inside*farLatency+inside*nearLatency)
}

// tensorTime returns the time that sums within layers add to a micro-batch: two sums for each
// pass and layer. PyTorch waits for them (asynchronous tensor parallelism is off by default),
// others overlap a part.
func (t Training) tensorTime() float64 {
	if t.Tensor == 1 {
		return 0
	}
	sums := 4.
	if t.Activations == Recompute {
		sums = 6
	}
	bytes := t.tokensOfMicro() * t.Model.Width * 2
	one := 2 * t.ringTime(bytes, t.Tensor, math.Min(t.Tensor, t.perMachine()), 1)
	hidden := law.hiddenTensor
	if t.isPyTorch() {
		hidden = 0
	}
	return (1 - hidden) * sums * t.Model.Layers / t.Pipeline * one
}

// contextTime returns how much longer passing keys and values takes than the attention that it overlaps with.
func (t Training) contextTime(attention float64) float64 {
	if t.Context == 1 || t.Model.Latent.Kept > 0 {
		return 0
	}
	rate := near(t.GPU)
	if t.Tensor*t.Context > t.perMachine() {
		rate = t.port()
	}
	// Forward once, and backward with gradients twice.
	bytes := 3 * 2 * t.Model.KVHeads * t.Model.HeadSize * t.tokensOfMicro() * 2 / t.Tensor
	return math.Max(0, t.Model.Layers/t.Pipeline*bytes*(t.Context-1)/rate-attention)
}

// expertTime returns how long tokens take to experts and back, in both passes. A token is sent to another
// machine once, however many of its experts are there.
func (t Training) expertTime() float64 {
	m := t.Model
	if t.Expert <= 1 || m.Experts == 0 {
		return 0
	}
	token := t.tokensOfMicro() / t.Tensor * m.Width * 2
	time := token * math.Min(m.Chosen, t.Expert) * (t.Expert - 1) / t.Expert / near(t.GPU)
	if machines := t.Expert * t.Tensor / t.perMachine(); machines > 1 {
		reached := 1 - math.Pow(1-1/machines, m.Chosen) // chance that a token has an expert in a machine
		time = math.Max(time, (machines-1)*reached*token/t.sendRate())
	}
	return 4 * m.sparseLayers() / t.Pipeline * time
}

// replicas describes the ranks that hold the same part of the model, and what they share.
type replicas struct {
	ranks, inside float64 // all of them, and those of one machine
	group         float64 // ranks that share the state
	bytes         float64 // of the part in 16 bits
	pieces        float64 // layers of it
}

func (t Training) replicas() replicas {
	r := replicas{ranks: t.data() * t.Context, bytes: 2 * t.ownWeights(), pieces: t.Model.Layers / t.Pipeline}
	r.inside = math.Max(1, math.Min(r.ranks, t.perMachine()/t.Tensor))
	r.group = r.ranks
	if t.Group > 0 {
		r.group = math.Min(t.Group, r.ranks)
	}
	if t.sharing() == NoShard {
		r.group = 1
	}
	return r
}

// ownWeights returns the weights of a rank if replicas share none.
func (t Training) ownWeights() float64 {
	m := t.Model
	return (m.Params() - m.expertWeights() + m.expertWeights()/math.Max(1, t.Expert)) / (t.Tensor * t.Pipeline)
}

// gatherTime returns what FSDP adds to a micro-batch: it gathers weights for both passes, and scatters
// gradients.
func (t Training) gatherTime(micro float64) float64 {
	r := t.replicas()
	if t.sharing() != ZeRO3 || r.ranks <= 1 {
		return 0
	}
	moves := 3.
	if t.LoRA {
		moves = 2
	}
	all := moves * t.ringTime(r.bytes, r.group, math.Min(r.group, r.inside), r.pieces)
	return math.Max(0, all-law.hiddenGather*micro)
}

// gradientTime returns what the exchange of gradients adds to the end of a step.
func (t Training) gradientTime(micros, micro float64) float64 {
	r := t.replicas()
	if r.ranks <= 1 || t.LoRA {
		return 0
	}
	near := math.Min(r.group, r.inside)
	all := 0.0
	switch t.sharing() {
	case NoShard: // PyTorch keeps gradients as wide as weights, 32 bits
		wide := 2.
		if t.Stack == Megatron {
			wide = 1
		}
		all = 2 * t.ringTime(wide*r.bytes, r.ranks, r.inside, r.pieces)
	case ZeRO1:
		all = 2 * t.ringTime(r.bytes, r.group, near, r.pieces)
	case ZeRO2: // gradients are scattered for each micro-batch
		all = (1 + micros) * t.ringTime(r.bytes, r.group, near, r.pieces)
	case ZeRO3, AnyShard: // gathered above
	}
	if r.group > 1 && r.group < r.ranks { // and summed over the groups
		all += 2 * t.ringTime(r.bytes/r.group, r.ranks/r.group, math.Max(1, r.inside/r.group), r.pieces)
	}
	return math.Max(0, all-hiddenGradients*micro)
}

// optimizerTime returns how long Adam takes: it reads state and gradients, and writes state and weights.
func (t Training) optimizerTime() float64 {
	if t.LoRA {
		return 0
	}
	// Bytes: three numbers of 32 bits both ways and a gradient, and a weight of 16 bits both ways.
	const state, weight = 28, 4
	bytes := state * t.ownWeights() / t.replicas().group
	if t.sharing() != ZeRO3 {
		bytes += weight * t.ownWeights()
	}
	return bytes / (t.GPU.MemoryRate.Value * reachedMemory)
}
