package device

import (
	"math"
	"strings"

	"github.com/stoker-dev/stoker/hardware"
)

// efficiency is what devices and software reach of their peaks, by key (see keys).
// A key that was never measured counts as 1.
type efficiency map[string]float64

// keys are those that an ideal's time is made of.
//
//	peak/convnet             share of the peak FLOP/s
//	bandwidth/convnet        share of the memory bandwidth
//	scores/compiled          times that attention scores are moved through device memory
//	scores/eager/fp16        the same where attention is computed in single steps
//	start/convnet/eager      seconds that a layer takes however small it is
//	launch/convnet/eager     seconds to launch a layer
//
// factors on the time of computing and moving:
//
//	class/convnet/eager      the software class
//	pass/convnet/training    training beyond its three passes, or inference
//	network/vit-b16          a network against its family
//
// and factors on the time of computing alone, for what keeps a chip below its peak
// (its power limit above all: a T4 has 70 W) does not slow its memory:
//
//	architecture/hopper      the architecture in all precisions
//	chip/hopper/fp16         the architecture in a precision
//	engine/convnet/fp32      an engine without Tensor Cores: most of its gain comes from theirs
//	power                    to the power of its FLOP/s over its watts (see starved)
type keys struct {
	peak, bandwidth, scores, start, launch, power string

	whole   [3]string // factors on computing and moving
	compute [3]string // factors on computing; the last is "" if absent
}

func (i ideal) keysOf() keys {
	family, class, chip := string(i.load.Workload.Family), string(i.load.Software), architecture(i.load.GPU)
	kind := family + "/" + class
	k := keys{
		peak: "peak/" + family, bandwidth: "bandwidth/" + family, scores: i.load.scoresKey(),
		start: "start/" + kind, launch: "launch/" + kind, power: "power",
		whole: [3]string{
			"class/" + kind,
			"pass/" + family + "/" + training(i.load.Training).String(),
			"network/" + i.load.Workload.Name,
		},
		compute: [3]string{"architecture/" + chip, "chip/" + chip + "/" + string(unitsOf(i.load.Precision))},
	}
	if i.load.Software == Engine && i.load.Precision == hardware.FP32 {
		k.compute[2] = "engine/" + family + "/fp32"
	}
	return k
}

// chipKey returns the key of the architecture in the precision.
func (k keys) chipKey() string { return k.compute[1] }

// termsOf returns the step time from an ideal and the efficiencies. It joins computing and
// moving by the root of their squares, because they overlap in some layers only. Their sum
// fitted as well, but with shares of the peak above 1. The least time of a layer is latency, so
// no factor applies to it.
func (e efficiency) termsOf(i ideal) Terms {
	k := i.keysOf()
	factor, chip := 1.0, 1.0
	for _, name := range k.whole {
		factor *= e.valueOf(name)
	}
	for _, name := range k.compute {
		if name != "" {
			chip *= e.valueOf(name)
		}
	}
	chip *= math.Pow(e.valueOf(k.power), logPeakPerWatt(i.load.GPU))
	return Terms{
		Floor: e.valueOf(k.launch) * i.layers,
		Fixed: e.valueOf(k.start)*i.layers + factor*i.weights,
		PerSample: factor * math.Hypot(chip*i.compute/e.valueOf(k.peak),
			(i.move+e.valueOf(k.scores)*i.scores)/e.valueOf(k.bandwidth)),
	}
}

// unfusedTime returns how much longer a sample takes where attention's scores are moved that
// many times through device memory, at the width of an activation.
func (e efficiency) unfusedTime(i ideal, moves float64) float64 {
	if moves == 0 || i.scores == 0 {
		return 1
	}
	fused := e.termsOf(i).PerSample
	i.scores *= max(1, moves/e.valueOf(i.keysOf().scores))
	return e.termsOf(i).PerSample / fused
}

// flashTime returns how long a sample takes with FlashAttention, as a share of the time by the fit.
func (e efficiency) flashTime(i ideal) float64 {
	fitted := e.termsOf(i).PerSample
	i.compute -= i.masked
	i.scores *= min(1, e.valueOf("scores/"+string(Compiled))/e.valueOf(i.keysOf().scores))
	return e.termsOf(i).PerSample / fitted
}

// valueOf returns the value of a key, and if it was never measured its prior.
func (e efficiency) valueOf(key string) float64 {
	if v, known := e[key]; known {
		return v
	}
	return math.Exp(priorOf(key).mean)
}

// prior is the belief about the logarithm of an efficiency before measuring.
type prior struct{ mean, sd float64 }

// priorOf gives the priors, all assumptions: half of the peak, 70 % of the
// bandwidth, attention scores moved once, 13 us per convolution and 46 us per
// transformer block to start, 100 and 350 us to launch; factors around 1.
func priorOf(key string) prior {
	block := 1.0
	if strings.Contains(key, "/"+string(Transformer)) {
		block = 3.5 // kernels of a block over those of a convolution with normalisation
	}
	switch {
	case strings.HasPrefix(key, "peak/"):
		return prior{math.Log(0.5), 0.4}
	case strings.HasPrefix(key, "bandwidth/"):
		return prior{math.Log(0.7), 0.4}
	case strings.HasPrefix(key, "scores/"):
		return prior{0, 1}
	case strings.HasPrefix(key, "start/"):
		return prior{math.Log(13e-6 * block), 0.7}
	case strings.HasPrefix(key, "launch/"):
		return prior{math.Log(100e-6 * block), 0.7}
	case strings.HasPrefix(key, "architecture/"):
		return prior{0, 0.3}
	case strings.HasPrefix(key, "chip/"):
		return prior{0, 0.2}
	case key == "power":
		return prior{0.15, 0.15} // a half of the power for the same units: a tenth slower
	case strings.HasPrefix(key, "engine/"):
		return prior{0, 0.3}
	case strings.HasPrefix(key, "network/"), strings.HasPrefix(key, "source/"), strings.HasPrefix(key, "maker/"):
		return prior{0, 0.25}
	}
	return prior{0, 0.5} // class and pass
}

// doubtWidth is the distance between a step and the point, as the logarithm of a ratio, for the
// launch time and for the device's time.
type doubtWidth struct{ launch, device float64 }

// level is how close the nearest measurements are.
type level int

const (
	exact    level = iota // the same network, chip, precision and software class
	alike                 // the same network and class, another chip or precision
	distant               // the same network in another software class
	stranger              // a network that was not measured
)

// levelNames are the levels as fitted.csv has them.
var levelNames = [...]string{exact: "exact", alike: "alike", distant: "distant", stranger: "stranger"}
