package device

import (
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict/bounds"
)

// What exchanges between ranks reach, and how much of them is seen.
var (
	// reached is the share of a link's rate that a sum over the GPUs of one machine
	// reaches: 138 of 300 GB/s at 32 MB, as in PyTorch's buckets of 25 MB, 194 at 268
	// MB, 235 at 16 GB (nccl-tests on 8 A100, github.com/stas00/ml-engineering
	// network/README.md at 744d01e, read 2026-11); 313 of 448 on 8 MI300X (the same).
	reached = stoker.Interval{Low: 0.46, Point: 0.65, High: 0.78}

	// reachedOut is the same between machines: 37 of 50 GB/s per GPU over AWS EFA, 16
	// GB on 4 machines of 8 H200 (the same). Low: for smaller pieces, so that the
	// interval holds 80 % of testdata/ranks.csv.
	reachedOut = stoker.Interval{Low: 0.37, Point: 0.6, High: 0.75}

	// byHost is the share of the host link's rate that GPUs without a link of their own get.
	// Assumption: every byte crosses the host twice, and all GPUs send at once.
	byHost = stoker.Interval{Low: 0.15, Point: 0.3, High: 0.5}

	// hidden is the share of the exchange that runs behind the backward pass: from
	// none, as most of testdata/ranks.csv shows, to the 0.85 that mlsysim takes.
	hidden = stoker.Interval{Low: 0, Point: 0.25, High: 0.85}

	// together is the further cost of ranks that share a step, as a share of the device's time:
	// they wait for the slowest rank, and sums take units from their kernels. ResNet-50, whose
	// exchange takes 0.3 % of a step, takes 1.024 to 1.156 times as long on 4 or 8 GPUs of a
	// machine as on one, median 1.047 (n = 11, testdata/ranks.csv); some of that is the shared
	// host.
	together = stoker.Interval{Low: 0.01, Point: 0.045, High: 0.12}
)

const (
	// nvlinkLatency and wireLatency are of one message, seconds: mlsysim's constants
	// (NVLink 500 ns; InfiniBand NDR 5 us, RoCE 10 us, TCP 50 us), read 2026-11.
	nvlinkLatency = 500e-9
	wireLatency   = 10e-6

	// gradientBytes is the width of a gradient on its way between ranks: PyTorch
	// keeps gradients as wide as weights, which under autocast is 32 bits.
	gradientBytes = 4
)

// Exchange is what data-parallel ranks send each other in a training step, one
// figure per view; the optimist sends least and fastest.
type Exchange struct {
	machines  float64
	Bytes     bounds.Views // that pass each rank once, were there infinitely many
	Near, far bounds.Views // bytes/s in a machine and between machines, one direction
	beside    float64      // share of the device's time next to which it can run
	training  bool
}

// ExchangeOver returns the exchange between the load's ranks on a number of machines, joined by
// a network, whose GPUs have that host link.
func (l Load) ExchangeOver(link hardware.Link, network stoker.Interval, machines float64) Exchange {
	e := Exchange{machines: machines, training: l.Training, beside: 2. / 3} // backward is two of three passes
	least := math.Min(gradientBytes, bytesPer(l.Precision))
	if l.Precision == AnyPrecision {
		least = 2
	}
	weight := bytesPer(l.Precision)
	for v, gradient := range [3]float64{least, gradientBytes, gradientBytes} {
		each := 2 * gradient // gradients are summed to one rank each, and the sums sent to all
		switch l.Shard {
		case ZeRO1, ZeRO2: // the sums stay, updated weights are sent
			each = gradient + weight
		case ZeRO3: // and weights are gathered for either pass
			each = gradient + 2*weight
		case NoShard:
		}
		e.Bytes[v] = orUnknown(l.Workload.Params.Value * each)
	}
	if l.Shard == ZeRO3 {
		e.beside = 1
	}
	e.Near = bounds.RateViews(l.nearRate(link))
	e.far = bounds.RateViews(bounds.Multiply(bounds.Given(network), reachedOut))
	return e
}

// nearRate returns the rate at which a rank sends to the others of its machine.
func (l Load) nearRate(link hardware.Link) stoker.Interval {
	if own := l.GPU.NVLink; own.Known() {
		return bounds.Scale(reached, own.Value)
	}
	if link.Name == "" {
		link, _ = hardware.FindLink(l.GPU.Link)
	}
	if !link.Pinned.Known() {
		return stoker.Unknown()
	}
	return bounds.Scale(byHost, link.Pinned.Value)
}

// orUnknown takes a figure of 0 as one that is unknown.
func orUnknown(v float64) float64 {
	if v == 0 {
		return math.NaN()
	}
	return v
}

// Time returns how long an exchange takes on machines with that many GPUs, in seconds; 0 if
// there is only one rank. Within a machine gradients go round a ring, (n-1)/n of all bytes.
// Between machines each GPU exchanges its part with its peers, through all ports at once. The
// two overlap, except in the pessimistic view.
func (e *Exchange) Time(v bounds.View, gpus float64) float64 {
	if !e.training || gpus*e.machines <= 1 {
		return 0
	}
	near := 0.0
	if gpus > 1 {
		near = (gpus-1)/gpus*e.Bytes[v]/e.Near[v] + 2*(gpus-1)*nvlinkLatency
	}
	if e.machines == 1 {
		return near
	}
	far := (e.machines-1)/e.machines*e.Bytes[v]/e.far[v] + 2*(e.machines-1)*wireLatency
	if v == bounds.Pessimist {
		return near + far
	}
	return math.Max(near, far)
}

// Exposed returns how much of it a step is longer for: what does not run behind the
// passes that it blocks on, and what ranks cost each other besides.
func (e *Exchange) Exposed(v bounds.View, gpus, device float64) float64 {
	t := e.Time(v, gpus)
	if t == 0 || math.IsNaN(t) {
		return t
	}
	if !(device > 0) {
		device = 0
	}
	return math.Max(t*(1-v.Gain(hidden)), t-e.beside*device) + v.PickCost(together)*device
}
