package predict

import (
	"stoker"
	"stoker/hardware"
)

// Software is the class of software that a model runs in: one chip and one
// network spread 2.3x by it alone.
type Software string

// The classes of software. An unnamed class means the whole spread.
const (
	Eager        Software = "eager"         // PyTorch as it comes, in the named precision
	ChannelsLast Software = "channels-last" // eager with channels_last and AMP, as its tuning guide says
	Compiled     Software = "compiled"      // torch.compile, or hand-fused kernels: NVIDIA's own containers, FlashAttention
	AnySoftware  Software = ""
)

// Workload is a network with what one sample costs.
type Workload struct {
	Name    string   // our key: "resnet50"
	Title   string   // "ResNet-50"
	Aliases []string // other spellings that people type
	Unit    string   // what a sample is: "image", "sequence", "volume"
	Profile string   // key of the data profile that it usually reads

	Params      hardware.Figure // parameters
	Forward     hardware.Figure // FLOP of one sample's forward pass, 2 per multiply-add
	Activations hardware.Figure // bytes that one sample's forward pass moves through device memory at 16 bits
	Tokens      float64         // of one sample; 0 where samples are not sequences
	Layers      float64         // layers that are launched one after the other
}

// Load is what a device is asked to do in a step.
type Load struct {
	Workload  Workload
	GPU       hardware.GPU
	Precision hardware.Precision
	Software  Software
	Training  bool
}

// Curve is the step time of a Load over its batch size.
type Curve struct {
	// Low, Point and High are the ends of the interval, each as
	// t(B) = (Floor^4 + (Fixed + PerSample B)^4)^(1/4), seconds: launches run
	// ahead of the device, so the slower of the two decides.
	Low, Point, High Terms

	Source string // where the figures come from, for people: "measured: NVIDIA DeepLearningExamples, 2023-01, batch 256"
	Kind   string // "measured" or "efficiency"

	Memory  float64 // bytes of device memory per sample, NaN where unknown
	Weights float64 // bytes of device memory whatever the batch, NaN where unknown
}

// Terms are the coefficients of one end of a Curve, seconds.
type Terms struct{ Floor, Fixed, PerSample float64 }

// At is the step time at a batch size, seconds.
func (c Curve) At(batch float64) stoker.Interval {
	return stoker.Interval{Low: c.Low.at(batch), Point: c.Point.at(batch), High: c.High.at(batch)}
}

func (t Terms) at(batch float64) float64 {
	device := t.Fixed + t.PerSample*batch
	if t.Floor == 0 {
		return device
	}
	a, b := t.Floor*t.Floor, device*device
	return sqrt4(a*a + b*b)
}
