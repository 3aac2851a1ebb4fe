package language

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/quantity"
)

// Training describes a training job: the model, its GPUs, and how the model is split over them.
type Training struct {
	Model     Model
	GPU       hardware.GPU
	Precision hardware.Precision
	Stack     Stack
	Compiled  Switch // torch.compile; XLA always compiles
	LoRA      bool   // the model is frozen, and adapters are trained

	GPUs       float64
	PerMachine float64 // GPUs that share the fast links; 0 is MachineOf the GPU
	Network    float64 // bytes/s between machines per GPU, one direction; 0 is UsualPort of the GPU

	// How many GPUs share each layer, the layers, a sequence, and the experts. 1 means no split. Sequence
	// parallelism is part of Tensor: it sends as many bytes.
	Tensor, Pipeline, Context, Expert float64
	Virtual                           float64 // stages that a rank holds, interleaved

	Shard Shard   // what replicas share
	Group float64 // ranks that share it; 0 is all. HSDP is ZeRO3 within a machine

	Tokens      float64 // of a sequence
	MicroBatch  float64 // sequences that a rank computes at once
	GlobalBatch float64 // sequences of a step
	Activations Activations
}

// Switch is a setting that is on, off, or not given.
type Switch string

// The values of a Switch.
const (
	Unsaid Switch = ""
	On     Switch = "on"
	Off    Switch = "off"
)

// TrainingStep is the forecast of a step.
type TrainingStep struct {
	Time      stoker.Interval // seconds
	TokenRate stoker.Interval // tokens/s of each GPU
	MFU       stoker.Interval // FLOP of the model, all pairs of attention counted, over the sheet's peak

	// Shares of the step's time.
	Products, Attention, Moved float64 // on the chip: the last are simple operators
	TensorLinks, ContextLinks  float64
	ExpertLinks                float64
	Bubble                     float64
	Replicas                   float64 // exchange of weights and gradients that does not hide
	Optimizer                  float64
	Launches                   float64 // the host launches more slowly than the chip computes

	Memory      Memory
	Fit         Fit
	Activations Activations // all that is kept
	Shard       Shard
}

// MemoryError is the error for a job that does not fit into memory.
type MemoryError struct {
	Question Training
	Needs    Memory
	Why      string // the largest part
}

// Error says what each GPU needs and has.
func (e *MemoryError) Error() string {
	return fmt.Sprintf("%s does not fit: each of %v %s needs at least %s (%s), and has %s", e.Question.Model.Title,
		e.Question.GPUs, e.Question.GPU.Title, quantity.AboutBytes(e.Needs.Total.Low), e.Why,
		quantity.AboutBytes(e.Question.GPU.MemoryBytes.Value))
}

// Solve forecasts a step. It returns a *MemoryError if the job does not fit into memory.
func (t Training) Solve() (TrainingStep, error) {
	if err := t.validate(); err != nil {
		return TrainingStep{}, err
	}
	t = t.settle()
	memory := t.estimateMemory()
	fit := memory.fit(t.GPU.MemoryBytes.Value)
	if fit == TooLarge {
		return TrainingStep{}, &MemoryError{t, memory, t.largest(memory)}
	}
	likely, least, most := t.passings()
	s := t.stepWith(likely)
	s.Memory, s.Fit, s.Activations, s.Shard = memory, fit, t.Activations, t.sharing()
	width := t.width()
	s.Time = stoker.Interval{
		Low: t.stepWith(least).Time.Point / width, Point: s.Time.Point, High: t.stepWith(most).Time.Point * width,
	}
	tokens := t.GlobalBatch * t.Tokens / t.GPUs
	s.TokenRate = stoker.Interval{Low: tokens / s.Time.High, Point: tokens / s.Time.Point, High: tokens / s.Time.Low}
	use := 3 * t.Model.forward(t.Tokens) / t.GPU.Peak(t.Precision).Value
	if t.LoRA {
		use *= 2. / 3
	}
	s.MFU = stoker.Interval{
		Low: use * s.TokenRate.Low, Point: use * s.TokenRate.Point, High: math.Min(1, use*s.TokenRate.High),
	}
	return s, nil
}

// stepWith computes a step and its parts. passing is how often activations pass device memory.
func (t Training) stepWith(passing float64) TrainingStep {
	chip := t.onChip(passing)
	tensor, context, expert := t.tensorTime(), t.contextTime(chip.attention), t.expertTime()
	once := chip.sum() + tensor + context + expert
	launches := math.Max(0, t.launchTime()-once)
	once += launches
	gather := t.gatherTime(once)
	micros, micro := t.micros(), once+gather
	bubble := (t.Pipeline - 1) / math.Max(1, t.Virtual) * once
	replicas := micros*gather + t.gradientTime(micros, once)
	optimizer := t.optimizerTime()
	time := micros*micro + bubble + replicas - micros*gather + optimizer
	return TrainingStep{
		Time: stoker.Exactly(time), Products: micros * chip.products / time, Attention: micros * chip.attention / time,
		Moved: micros * chip.moved / time, TensorLinks: micros * tensor / time, ContextLinks: micros * context / time,
		ExpertLinks: micros * expert / time, Bubble: bubble / time, Replicas: replicas / time,
		Optimizer: optimizer / time, Launches: micros * launches / time,
	}
}

// data returns the number of replicas.
func (t Training) data() float64 { return t.GPUs / (t.Tensor * t.Pipeline * t.Context) }

// micros returns how many micro-batches a replica computes in a step. The last may be smaller.
func (t Training) micros() float64 { return t.GlobalBatch / (t.data() * t.MicroBatch) }

// largest names the largest part of the memory.
func (t Training) largest(m Memory) string {
	if m.State.Low >= m.Activations.Low {
		return quantity.AboutBytes(m.State.Low) + " of it weights, gradients and optimizer"
	}
	return quantity.AboutBytes(m.Activations.Low) + " of it activations and logits"
}

// mostGPUs is beyond any published job: about 100,000 GPUs trained together in 2024.
const mostGPUs = 1 << 18

// mostSequences is beyond any step: published ones have at most 16 million tokens.
const mostSequences = 1e8

func (t Training) validate() error {
	for _, f := range []struct {
		flag        string
		value, most float64
	}{
		{"gpus", t.GPUs, mostGPUs},
		{"tp", t.Tensor, t.Model.Heads},
		{"pp", t.Pipeline, t.Model.Layers},
		{"virtual", math.Max(1, t.Virtual), t.Model.Layers},
		{"cp", t.Context, t.Tokens},
		{"ep", t.Expert, math.Max(1, t.Model.Experts)},
		{"tokens", t.Tokens, mostTokens},
		{"micro-batch", t.MicroBatch, t.GlobalBatch},
		{"global-batch", t.GlobalBatch, mostSequences},
	} {
		if !(f.value >= 1 && f.value <= f.most) {
			return fmt.Errorf("--%s is %s: expected 1 to %s%s", f.flag, quantity.Count(f.value), quantity.Count(f.most),
				t.whyMost(f.flag))
		}
	}
	if err := t.checkSplit(); err != nil {
		return err
	}
	return t.checkWords()
}

// whyMost explains the upper limit of a flag.
func (t Training) whyMost(flag string) string {
	m := t.Model
	switch {
	case flag == "tp":
		return fmt.Sprintf(", since %s has %v heads", m.Title, m.Heads)
	case flag == "pp" || flag == "virtual":
		return fmt.Sprintf(", since %s has %v layers", m.Title, m.Layers)
	case flag == "ep" && m.Experts == 0:
		return fmt.Sprintf(", since %s has no experts", m.Title)
	case flag == "ep":
		return fmt.Sprintf(", since %s has %v experts", m.Title, m.Experts)
	}
	return ""
}

// checkSplit refuses a split that is not even.
func (t Training) checkSplit() error {
	whole := func(v float64) bool { return v == math.Trunc(v) }
	replicas := t.data()
	switch {
	case replicas < 1 || !whole(replicas):
		return fmt.Errorf("%v GPUs cannot be split into --tp %v x --pp %v x --cp %v: expected a multiple of %v",
			t.GPUs, t.Tensor, t.Pipeline, t.Context, t.Tensor*t.Pipeline*t.Context)
	case !whole(t.Model.Heads / t.Tensor):
		return fmt.Errorf("--tp %v does not divide the %v heads of %s", t.Tensor, t.Model.Heads, t.Model.Title)
	case !whole(t.Tokens / t.Context):
		return fmt.Errorf("--cp %v does not divide the %v tokens of a sequence", t.Context, t.Tokens)
	case t.Virtual > 1 && t.Pipeline == 1:
		return fmt.Errorf("--virtual %v is about the stages of a pipeline: expected --pp of 2 or more with it", t.Virtual)
	case t.Pipeline*math.Max(1, t.Virtual) > t.Model.Layers:
		return fmt.Errorf("--pp %v x --virtual %v is more than the %v layers of %s", t.Pipeline, t.Virtual,
			t.Model.Layers, t.Model.Title)
	case !whole(math.Max(1, t.Model.Experts)/t.Expert) || !whole(t.GPUs/t.Pipeline/t.Expert):
		return fmt.Errorf("--ep %v does not divide the %v experts of %s and the %v GPUs of a stage", t.Expert,
			t.Model.Experts, t.Model.Title, t.GPUs/t.Pipeline)
	case t.GlobalBatch < replicas*t.MicroBatch:
		return fmt.Errorf("--global-batch %v is less than one micro-batch of %v on each of %v replicas",
			t.GlobalBatch, t.MicroBatch, replicas)
	case !whole(t.GlobalBatch / replicas):
		return fmt.Errorf("--global-batch %v cannot be split over %v replicas: expected a multiple, such as %v",
			t.GlobalBatch, replicas, replicas*math.Max(1, math.Round(t.GlobalBatch/replicas)))
	case t.Group > 0 && !whole(replicas*t.Context/math.Min(t.Group, replicas*t.Context)):
		return fmt.Errorf("--shard-group %v does not divide the %v ranks that hold the same part of the model", t.Group,
			replicas*t.Context)
	}
	return nil
}

// checkWords refuses unknown words.
func (t Training) checkWords() error {
	switch {
	case !slices.Contains(TrainingStacks, t.Stack):
		return fmt.Errorf("--software %q: expected one of %s", t.Stack, Names(TrainingStacks))
	case t.Shard != AnyShard && !slices.Contains(Shards, t.Shard):
		return fmt.Errorf("--shard %q: expected none, zero1, zero2, zero3 (as fsdp) or hsdp", t.Shard)
	case t.Activations != AnyActivations && !slices.Contains(AllActivations, t.Activations):
		return fmt.Errorf("--activations %q: expected keep, selective or recompute", t.Activations)
	case t.Precision == hardware.INT8 && !isTPU(t.GPU):
		return fmt.Errorf("models are not trained in int8 on %s: expected bf16, fp8, fp16, tf32 or fp32", t.GPU.Title)
	case t.sharing() == NoShard && t.Group > 1:
		return fmt.Errorf("--shard-group %v is about what replicas share, and --shard none shares nothing: give one", t.Group)
	case t.Stack == XLA && t.Compiled == Off:
		return fmt.Errorf("--compile off: %s always compiles: leave it out", XLA)
	case t.PerMachine < 0 || t.Network < 0 || t.Group < 0:
		return fmt.Errorf("machines of %v GPUs, %v bytes/s and groups of %v: expected no negative number",
			t.PerMachine, t.Network, t.Group)
	}
	return checkPeak(t.GPU, t.Precision)
}
