package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/recording"
)

// Grounds are what a recording can carry advice on: which kind of program it shows, whose
// settings that has, what its collectives exchange, and how its data set is split between
// workers. All advice, by a finding or by a plan, is asked of them first (Refuse,
// RefuseAny), and nowhere else.
type Grounds struct {
	Program   Program
	Framework string             // as of recording.Software: "" is PyTorch
	Server    string             // as of recording.Software
	Recorder  string             // as of recording.Software
	Torch     bool               // PyTorch is known to be there; its absence, where Framework is "", is not
	Loads     bool               // PyTorch's DataLoader prepares the batches, in any framework
	Beside    bool               // the thread that asks for batches is another one than that which launches
	Exchange  recording.Exchange // what most of the judged collectives' time carries
	Mixed     bool               // of the other collectives some carry gradients
	OwnReduce bool               // a trace shows the host's operators, and no DistributedDataParallel
	Sharded   bool               // a trace shows FSDP or ZeRO, which gather shards of weights in every pass
	FewSends  bool               // a trace's steps have so few collectives that larger ones gain nothing
	HalfSends bool               // most of what a trace's collectives add up is of 16 bit
	NoDevice  bool               // no GPU could be seen, by the driver or by the program
	Joined    bool               // direct links between the machine's devices: NVLink, Infinity Fabric
	OneOwner  bool               // one process drives several devices
	Reach     hardware.Reach     // how the device gets at the host's memory
	Hidden    bool               // CUDA_VISIBLE_DEVICES hides the machine's GPUs from the program
	Chip      Chip               // what the device can do
	Record    string             // how to record what a profiler's file lacks; "" of a live run, or if it lacks nothing
	Traffic   Traffic            // what a trace shows of the copies over the host's link
	Kernels   int                // that a trace's judged window holds; 0 if they were not counted
	Kinds     int                // of these kernels, by name
	Unlisted  bool               // a trace without work of a device lists no GPU
	Serves    bool               // a server of language models runs the model, and captures graphs by its own settings
	Made      Made               // what a trace shows to be done to its kernels
	Reads     float64            // how often a step of a trace asks the device for a value
	Grows     bool               // each step of a decoder makes its cache longer
	Shaped    bool               // a trace's steps read how many results there are, again and again, and go on by that
	HostWork  HostWork           // what a trace shows of the host's work in long gaps
	LateRank  string             // what shows that most of the exchange waits for another rank; "" if nothing does
	Updates   bool               // a trace shows the optimizer's steps alone: neither model nor batch
	Kind      string             // what PyTorch calls the device, if it is not "cuda": "xpu", "npu"
	Loader    *recording.Loader  // whose samples advice must keep; nil if it is not known
}

// HostWork is what the host does in the long gaps of a trace.
type HostWork struct {
	In     string // the function, operator or range with most of it; "" if nothing of it was recorded
	First  bool   // most of the longest gap is before the first kernel
	Once   bool   // one gap of the only step has most of it
	Last   bool   // no kernel comes behind the longest gap of the only step
	Keeps  bool   // most of the long gaps' time allocates or frees memory
	Before bool   // a step that is left out takes longer than all judged ones, most of it to allocate or free memory
	Unseen bool   // of most of it no operator, no call and no line of Python was recorded
	Silent bool   // of most of it a program without a framework has no call and no sample in the file
	Waits  bool   // most of the long gaps pass inside calls that wait for something else than the judged device
}

// launchers are parts of the names of calls whose own work is to launch the device's.
var launchers = []string{
	"PjitFunction(", "_engine_run_backward", "PjRt", "TfrtCpuExecutable", "XlaModule", "ExecuteSharded",
	"CompiledFxGraph", "Torch-Compiled Region",
}

// KeepMemory is what to do about a host that allocates and frees memory while the device waits.
func (g Grounds) KeepMemory() string {
	if g.Framework == "" {
		return "let the program need less memory, or keep what it has (a smaller batch_size, no torch.cuda.empty_cache() in " +
			"the loop): the allocator frees blocks and allocates others"
	}
	return "keep memory from one round to the next, instead of allocating and freeing it in each"
}

// Launches reports whether the work is to launch that of the device: it cannot run beside what it launches.
func (w HostWork) Launches() bool { return w.In != "" && recording.ContainsAny(w.In, launchers...) }

// IsFirstCall reports whether an operator takes long before the first kernel, as it does once.
func (w HostWork) IsFirstCall() bool { return w.First && strings.HasPrefix(w.In, "aten::") }

// Made is what was done to a program's kernels.
type Made struct {
	Fused  bool // a compiler made some of them
	Graphs bool // graphs launch at least half of the work
	XLA    bool // operators of TensorFlow are clusters of XLA

	// Calls of the judged window that a graph cannot hold: those that allocate or free, and those that wait.
	Allocations, Waits int

	Frees int // of Allocations, those that free what is allocated again
}

// FitLaunches takes from advice on launches what the file shows to be done, or not to be possible between them.
func (g Grounds) FitLaunches(advice string) string {
	switch {
	case g.Made.XLA:
		return xlaAlready.Replace(advice)
	case IsBare(g.Framework) && 2*(g.Made.Allocations+g.Made.Waits) > g.Kernels && g.Kernels > 0:
		return fmt.Sprintf("allocate once before the loop, and wait once behind it: %d calls that allocate or free and %d "+
			"that wait stand beside %d kernels, and no graph of launches can hold them. Or let one kernel do more",
			g.Made.Allocations, g.Made.Waits, g.Kernels)
	}
	return advice
}

// xlaAlready takes XLA off the advice for a program that uses it.
var xlaAlready = strings.NewReplacer("XLA (config.graph_options.optimizer_options.global_jit_level = "+
	"tf.OptimizerOptions.ON_1), or a", "a", "tf.function(jit_compile=True) around the step, ", "")

// RecordDevice is how to record the device's work.
func (g Grounds) RecordDevice() string {
	if g.Kind == Apple {
		return recordApple
	}
	return recordDevice(g.software())
}

// Apple is what PyTorch calls an Apple GPU.
const Apple = "mps"

// recordApple is said of Apple's GPUs, whose work torch.profiler cannot record.
const recordApple = "torch.profiler records no work of an Apple GPU: torch.mps.profiler.profile() around the steps, under " +
	"Instruments, does"

// RecordMore is how to record steps that can be judged, later steps, and what the host did.
func (g Grounds) RecordMore() (steps, later, host string) { return recordMore(g.software()) }

func (g Grounds) software() recording.Software {
	return recording.Software{Framework: g.Framework, Recorder: g.Recorder}
}

// Program is what a program does with a model.
type Program string

// The kinds of programs.
const (
	UnknownProgram Program = ""
	Training       Program = "training"
	Inference      Program = "inference" // a forward pass, and no sign of another one
)

// settings of which only some programs have use.
var (
	ofTraining  = []stoker.Setting{stoker.Accumulation, stoker.BucketMB, stoker.FusedOptimizer}
	ofGradients = []stoker.Setting{stoker.Accumulation, stoker.BucketMB}
	// ofCUDA are settings that PyTorch has on devices of CUDA and ROCm alone. Compile is among them
	// as "reduce-overhead" captures CUDA graphs.
	ofCUDA = []stoker.Setting{stoker.CUDAGraphs, stoker.Compile, stoker.TF32, stoker.Allocator}
	// ofTorch are settings that PyTorch alone calls so; others have the same by other means.
	ofTorch = []stoker.Setting{
		stoker.NumWorkers, stoker.PrefetchFactor, stoker.PinMemory, stoker.NonBlocking, stoker.PersistentWorkers,
		stoker.InOrder, stoker.Precision, stoker.TF32,
		stoker.Compile, stoker.CUDAGraphs, stoker.FusedOptimizer, stoker.BucketMB, stoker.Allocator,
		stoker.SideStream, stoker.LoaderKind, stoker.OnDevice, stoker.Split, stoker.Shards,
	}
	// ofLoader are those of PyTorch's DataLoader that mean the same for all frameworks.
	ofLoader = []stoker.Setting{
		stoker.NumWorkers, stoker.PrefetchFactor, stoker.PersistentWorkers, stoker.InOrder, stoker.LoaderKind,
	}
)

// ReadsLoss reports whether a program trains, or may train: only then is there a loss to read.
// Inference and plain CUDA programs have none. An unknown program may train if it loops over a data set.
func (g Grounds) ReadsLoss() bool {
	loops := g.Loads || g.Loader != nil
	return !IsBare(g.Framework) && (g.Program == Training || g.Program == UnknownProgram && loops)
}

// HasEpochs reports whether a program whose file shows so many steps may go over its data again: a loader that a call
// makes for its own few batches ends with it, and so do its workers.
func (g Grounds) HasEpochs(steps int) bool {
	return g.Program == Training || g.Program != Inference && steps > 1
}

// SyncAdvice removes synchronisation that the program never asked for.
func (g Grounds) SyncAdvice() string {
	if g.ReadsLoss() {
		return SyncAdvice
	}
	return plainSyncAdvice
}

// ForeignSetting is why a setting is refused that the program's framework does not have.
const ForeignSetting = "it is a setting of another framework"

// RefuseAny says why changes cannot be advised on these grounds, the samples included; "" if they can.
func (g Grounds) RefuseAny(changes []stoker.Change) string {
	for _, c := range changes {
		if why := g.Refuse(c.Setting); why != "" {
			return why
		}
	}
	return g.Alters(changes...)
}

// Refuse says why a setting cannot be advised on these grounds; "" if it can.
func (g Grounds) Refuse(s stoker.Setting) string {
	switch {
	case g.NoDevice && s == stoker.ComputeOn:
		return "no GPU is visible: " + g.findDevice()
	case g.Hidden && s == stoker.ComputeOn:
		return "no GPU is visible: " + showDevice
	case g.Loads && slices.Contains(ofLoader, s):
	case g.Framework != "" && slices.Contains(ofTorch, s):
		return ForeignSetting
	case g.Kind != "" && slices.Contains(ofCUDA, s):
		return fmt.Sprintf("a setting of CUDA's, and this device is an %s", g.Kind)
	case IsBare(g.Framework) && (s == stoker.ManualGC || s == stoker.BatchSize): // a program without batches
		return ForeignSetting
	case IsBare(g.Framework) && s == stoker.SyncEvery && g.Traffic.Read:
		return "the host reads what the device computed, and only a wait tells it when it may"
	case g.Shaped && s == stoker.BatchSize:
		return "the host goes on by what the device found (aten::nonzero): it may do as much more for a larger batch"
	case g.Shaped && s == stoker.SyncEvery:
		return "the host goes on by what the device found (aten::nonzero): it needs it at once"
	case g.Serves && s == stoker.BatchSize:
		return "a server computes together what requests it has: a larger batch needs more of them"
	case g.Framework != "" && g.Program == UnknownProgram && !g.Loads && g.Loader == nil && s == stoker.BatchSize:
		return "no loader and no backward pass were recorded: whether it computes batches is not known"
	case g.Updates && s == stoker.BatchSize:
		return "only the optimizer's steps are in the file: what a larger batch takes is not"
	case g.Program != Training && slices.Contains(ofTraining, s):
		return "no backward pass and no optimizer were recorded: this is about training"
	case g.LateRank != "" && slices.Contains(ofGradients, s):
		return g.LateRank + ": a faster exchange does not shorten such a wait"
	case g.OwnReduce && slices.Contains(ofGradients, s):
		return "DistributedDataParallel is not in the file: the program exchanges otherwise"
	case slices.Contains(ofGradients, s) && (g.Exchange == recording.Activations || g.Exchange == recording.Weights):
		if g.Mixed {
			return "most of what the collectives exchange is no gradients: " + exchangeWords[g.Exchange]
		}
		return "the collectives exchange no gradients: " + exchangeWords[g.Exchange]
	}
	return ""
}

// ExchangesSamples reports whether ranks exchange, as far as is known, what grows with the batch. Shards of weights are
// gathered in training: what an all-gather of inference carries, its name does not tell.
func (g Grounds) ExchangesSamples() bool {
	return g.Exchange == recording.Activations || g.Exchange == recording.Weights && g.Program != Training
}

// findDevice is where to look for a GPU that a program does not see.
func (g Grounds) findDevice() string {
	const driver = "nvidia-smi tells whether the machine has one. CUDA_VISIBLE_DEVICES, or a container without " +
		"--gpus all, hides it"
	if build := cpuBuild[g.Framework]; build != "" && (g.Framework != "" || g.Torch) {
		return driver + ". " + build
	}
	return driver
}

// cpuBuild says how to tell a framework that was built without GPUs.
var cpuBuild = map[string]string{
	"":           "A build of PyTorch for the CPU alone prints None as torch.version.cuda",
	frameworkJAX: `A build of JAX for the CPU alone lists no GPU as jax.devices(): pip install "jax[cuda12]"`,
	FrameworkTensorFlow: `A build of TensorFlow for the CPU alone lists none as tf.config.list_physical_devices("GPU"): ` +
		`pip install "tensorflow[and-cuda]"`,
}

// useDevice is how a program computes on a GPU; "" where the class's own word says it.
func (g Grounds) useDevice() string {
	switch {
	case g.Serves:
		return "a build of the server for the GPU: this one is for the CPU"
	case g.Unlisted && g.Framework == "":
		return `model.to("cuda"), or "mps" on a Mac, and batches to the same device, if the machine has a GPU`
	}
	return wordsOfDevice[g.Framework]
}

// wordsOfDevice is how a program that sees a GPU computes on it; "" where the class's own word says it.
var wordsOfDevice = map[string]string{
	frameworkJAX: "compute on the GPU: unset JAX_PLATFORMS and jax_platform_name, and no jax.default_device(\"cpu\"). " +
		"jax.default_backend() tells",
	FrameworkTensorFlow: "compute on the GPU: no tf.device(\"/CPU:0\") around the step",
	frameworkGraphs:     "compute on the GPU: a build of TensorFlow for it, and no tf.device(\"/cpu:0\") around the graph",
}

// showDevice is what to do about GPUs that the program was started without.
const showDevice = "CUDA_VISIBLE_DEVICES names none: unset it, or give it a number that nvidia-smi -L lists"

// ExchangeAdvice is what to do about a program's collectives.
func (g Grounds) ExchangeAdvice() string {
	if g.LateRank != "" {
		return "compare the ranks (give the folder with the files of all): " + g.LateRank + ". A faster exchange does not " +
			"shorten such a wait"
	}
	advice := exchangeAdvice[g.Exchange]
	if g.Exchange == recording.Weights && g.Program != Training || g.Program == UnknownProgram {
		advice = exchangeAdvice[recording.UnknownExchange]
	} else if g.OwnReduce && g.Program == Training && g.Exchange != recording.Activations &&
		g.Exchange != recording.Weights {
		advice = ownReduceAdvice
	} else if g.OwnReduce && g.Exchange == recording.Weights && !g.Sharded {
		advice = ownGatherAdvice
	}
	if g.Joined {
		advice = joinedAlready.Replace(advice)
	}
	if g.OneOwner {
		advice = devicesOfOne.Replace(advice)
	}
	return advice
}

// FitExchange takes from advice on collectives what the file shows to be done or to gain nothing.
func (g Grounds) FitExchange(advice string) string {
	if g.FewSends {
		advice = sentInFew.Replace(advice)
	}
	if g.HalfSends {
		advice = sentInHalf.Replace(advice)
	}
	return advice
}

var (
	sentInFew = strings.NewReplacer("larger buckets, ", "", ", several in a call", "",
		", several tensors in a call", "", "Larger batches share a collective's latency. ", "")
	sentInHalf = strings.NewReplacer("gradients in bf16 (ddp_comm_hooks.bf16_compress_hook), ", "", "gradients in bf16, ", "",
		"16 bit or 8 bit", "8 bit", ", gradients in 16 bit", "", ", in 16 bit", "")

	joinedAlready = strings.NewReplacer(", or ranks joined by NVLink", "", ", ranks joined by NVLink, a", ", or a")
	devicesOfOne  = strings.NewReplacer("ranks", "devices", "from rank to rank", "from device to device")
)

var exchangeWords = map[recording.Exchange]string{
	recording.Activations: "activations, embeddings or experts' tokens go from rank to rank in every pass",
	recording.Weights:     "shards of weights are gathered in every pass",
}

// ProgramOf is what the facts of a run tell of its program: an optimizer has stepped.
func ProgramOf(f recording.Facts) Program {
	if f.Model != nil && f.Model.Steps > 0 {
		return Training
	}
	return UnknownProgram
}

// ownReduceAdvice is for a training program that calls its collectives itself.
const ownReduceAdvice = "send gradients while backward still computes, several in a call, in 16 bit. Compare the ranks: one " +
	"that waits for a slower one is not helped"

// ownGatherAdvice is for one that gathers weights itself, as an optimizer of which each rank has a part does.
const ownGatherAdvice = "gather weights while what does not need them yet computes, several in a call, in 16 bit. Compare " +
	"the ranks: one that waits for a slower one is not helped"

// exchangeAdvice is what to do about collectives that carry no gradients, or of a program
// that has none.
var exchangeAdvice = map[recording.Exchange]string{
	recording.UnknownExchange: "fewer ranks for a model that fits on fewer, or ranks joined by NVLink. Larger " +
		"batches share a collective's latency. Compare the ranks: one that waits for a slower one is not helped",
	recording.Gradients: "if this is tensor parallelism: fewer ranks for a model that fits on fewer, ranks joined " +
		"by NVLink, a one-shot all-reduce (vLLM's and SGLang's custom all-reduce) for small messages. Compare the " +
		"ranks: one that waits for a slower one is not helped",
	recording.Activations: "start the exchange on a stream of its own before work that does not need it, send 16 " +
		"bit or 8 bit, and place tables or experts so that ranks have equal loads. Compare the ranks: one that waits " +
		"for a slower one is not helped",
	recording.Weights: "gather the next layer's weights while this one computes (FSDP and ZeRO-3 have settings " +
		"for it), or shard over fewer ranks. Compare the ranks: one that waits for a slower one is not helped",
}
