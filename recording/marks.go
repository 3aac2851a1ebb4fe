package recording

import (
	"regexp"
	"strconv"
	"strings"
)

// The conventions in names of host events and Python frames, in one place for readers of
// profiler files and for judges.

// loaderSpans are prefixes of spans in which a loop waits for its next batch: PyTorch's loader
// (torch/utils/data/dataloader.py), its data pipes, and those that Lightning's profiler writes
// around them (before and since 1.6).
var loaderSpans = []string{
	"enumerate(DataLoader)#",
	"enumerate(DataPipe)#",
	"[pl][profile]get_train_batch",
	"[pl][profile][_TrainingEpochLoop].train_dataloader_next",
	"[pl][profile][_EvaluationLoop].val_next",
	"[pl][profile][_EvaluationLoop].test_next",
	"[pl][profile][_PredictionLoop].predict_next",
}

// tfdata are the operators of TensorFlow that pass the next batch of a tf.data pipeline, or of the queues of version 1,
// to the loop, in the forms of XLA's profiler: "IteratorGetNext: IteratorGetNext",
// "cond/IteratorGetNextAsOptional_4:IteratorGetNextAsOptional", "IteratorGetNextOp::DoCompute".
// The pipeline's own spans, Iterator::…, also run ahead in other threads, where they are no
// wait.
var tfdata = []string{
	"IteratorGetNext", "IteratorGetNextSync", "IteratorGetNextAsOptional",
	"QueueDequeue", "QueueDequeueV2", "QueueDequeueMany", "QueueDequeueManyV2",
	"QueueDequeueUpTo", "QueueDequeueUpToV2",
}

// TFDataWait reports whether a span is TensorFlow's wait for the next batch. It may be on a
// different thread than the one that launches work.
func TFDataWait(name string) bool {
	for _, operator := range tfdata {
		if name == operator || strings.HasPrefix(name, operator+"Op::") || strings.HasSuffix(name, ":"+operator) {
			return true
		}
	}
	return false
}

// compileSpans are prefixes of spans in which XLA compiles a program.
var compileSpans = []string{
	"XlaCompile", "XLACompile", "XLA::", "backend_compile", "PjRtStreamExecutorClient::Compile",
	"TfrtGpuClient::Compile",
	"PJRT_Client_Compile", "LocalClient::Compile", "LLVMCompiler::", "NVPTXCompiler::", "AMDGPUCompiler::",
	"GpuCompiler::",
	"RunHloPasses", "HloPassPipeline",
}

// How frames of Inductor's front door begin, and those of Triton's compiler and of the kernels that it compiled.
const (
	inductorFrames = "torch/_inductor/compile_fx.py("
	tritonFrames   = "triton/compiler/compiler.py("
)

// compileFrames are Python frames of PyTorch's compilers.
var compileFrames = []string{
	"): backend_compile", "): backend_compile_and_load", "): compile_or_get_cached",
	inductorFrames, "torch/_dynamo/convert_frame.py(", tritonFrames,
}

// compiledFrames are functions in the files of compileFrames that run in every call of what was compiled.
var compiledFrames = []string{
	"): run", "): copy_misaligned_inputs", "): __getitem__", "): runner", "): launch_metadata", "): __init__",
}

// CompileSpan reports whether a span or a Python frame compiles a program for the device, which
// happens once for each shape of the input.
func CompileSpan(name string) bool {
	for _, part := range compiledFrames {
		inside := strings.HasPrefix(name, inductorFrames) || strings.HasPrefix(name, tritonFrames)
		if inside && strings.HasSuffix(name, part) {
			return false
		}
	}
	for _, prefix := range compileSpans {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	for _, part := range compileFrames {
		if strings.HasSuffix(name, part) || strings.HasSuffix(part, "(") && strings.HasPrefix(name, part) {
			return true
		}
	}
	return strings.HasSuffix(name, "(dynamo_timed)")
}

// CaptureCall reports whether a runtime call records or instantiates a graph. Work launched
// during the recording does not run.
func CaptureCall(name string) bool {
	return ContainsAny(name, "StreamBeginCapture", "StreamEndCapture", "GraphInstantiate")
}

// SaveFrame reports whether a Python frame writes a checkpoint.
func SaveFrame(name string) bool {
	return strings.HasPrefix(name, "torch/serialization.py(") && strings.HasSuffix(name, "): save") ||
		strings.HasPrefix(name, "torch/distributed/checkpoint/") && strings.HasSuffix(name, "): save")
}

// RecorderFrame reports whether a Python frame is the profiler's own.
func RecorderFrame(name string) bool {
	return ContainsAny(name, "torch/profiler/", "torch/autograd/profiler", "_disable_profiler", "jax/_src/profiler.py(")
}

// ChoosesKernel reports whether an operator of PyTorch asks a library which of its kernels fits each shape that it
// meets for the first time.
func ChoosesKernel(name string) bool {
	return ContainsAny(name, "aten::cudnn_convolution", "aten::miopen_convolution")
}

// Migrates reports whether a copy's name says that a page of managed memory moves because somebody
// touched it. Such a copy has no call.
func Migrates(name string) bool { return ContainsAny(name, "Managed ->", "-> Managed") }

// ToHost reports whether a copy's name says that it goes from device to host.
func ToHost(name string) bool {
	return ContainsAny(name, "DtoH", "Device -> Host", "Device -> Pageable", "Device -> Pinned", "DeviceToHost",
		"(D2M)", "(D2H)")
}

// ToDevice reports whether a copy's name says that it goes from host to device.
func ToDevice(name string) bool {
	return ContainsAny(name, "HtoD", "HostToDevice", "-> Device)", "(M2D)", "(H2D)") &&
		!strings.Contains(name, "Device -> Device")
}

// ContainsAny reports whether a name contains one of several parts.
func ContainsAny(s string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

// WaitSpan reports whether a span or a Python frame of JAX waits for the device.
func WaitSpan(name string) bool {
	for _, suffix := range []string{"): block_until_ready", "): try_to_block"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return strings.HasPrefix(name, "BlockHostUntilDone") || strings.HasPrefix(name, "PjRtBuffer::Await") ||
		strings.HasPrefix(name, "BlockUntilReady")
}

// LoaderSpan reports whether a marked span is a wait for the next batch.
func LoaderSpan(name string) bool {
	for _, prefix := range loaderSpans {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return TFDataWait(name)
}

// MakesLoader reports whether a Python frame makes an iterator of PyTorch's DataLoader.
func MakesLoader(name string) bool {
	file, function, _ := strings.Cut(name, "): ")
	return function == "__iter__" && strings.Contains(file, "utils/data/dataloader.py(")
}

// StepSpan reads the number of a step that torch.profiler marked,
// "ProfilerStep#4".
func StepSpan(name string) (n int, ok bool) {
	digits, found := strings.CutPrefix(name, "ProfilerStep#")
	if !found {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n >= 0
}

// A range marks a step if its name ends in a word of stepWord, perhaps with a number, and is
// not about a part of a step (partsOfSteps).
var (
	stepWord = regexp.MustCompile(`(?i)^(.*[^a-z])?` +
		`(steps?|iterations?|iters?|batch|minibatch)[^a-z0-9]*(\d*)[^a-z0-9]*$`)
	partsOfSteps = []string{
		"optim", "sched", "zero_grad", "zerograd", "next", "load", "fetch", "get", "prepare", "collate", "copy",
		"valid", "eval", "test", "layer", "block",
	}
)

// serving are the ranges that inference servers put around one pass over a batch: those of
// SGLang, vLLM and TensorRT-LLM. Their groups say what a pass is for.
var serving = []struct {
	name   *regexp.Regexp
	family string
}{
	{regexp.MustCompile(`^step\[(?P<mode>[A-Z_]+) (?:bs=(?P<batch>\d+))?(?: toks=(?P<tokens>\d+))?.*\]$`), "step[…]"},
	{regexp.MustCompile(`^execute_(?:(?P<tokens>\d+)_)?context_(?P<context>\d+)\(.*\)` +
		`_generation_(?P<generation>\d+)\(.*\)$`), "execute_…"},
	{regexp.MustCompile(`^\[Executor\] _forward_step (?:.*?(?P<context>\d+) ctx reqs, ` +
		`(?P<asked>\d+) ctx tokens, (?P<generation>\d+) gen reqs)?`), "_forward_step …"},
}

// Pass is what a server's range says about one pass over a batch.
type Pass struct {
	Phase    string // "prefill", "decode", "prefill and decode", or the server's own word
	Requests int    // -1 if unknown
	Tokens   int    // input tokens; -1 if unknown
}

// ServingPass parses the name of a server's range.
func ServingPass(name string) (Pass, bool) {
	if len(name) > longestMark {
		return Pass{}, false
	}
	for _, s := range serving {
		if at := s.name.FindStringSubmatch(name); at != nil {
			return passOf(func(group string) string { return at[max(0, s.name.SubexpIndex(group))] }, s.name), true
		}
	}
	return Pass{}, false
}

// passOf builds a pass from the groups in a range's name.
func passOf(text func(string) string, of *regexp.Regexp) Pass {
	number := func(group string) int {
		n, err := strconv.Atoi(text(group))
		if of.SubexpIndex(group) < 0 || err != nil {
			return -1
		}
		return n
	}
	p := Pass{Requests: number("batch"), Tokens: number("tokens")}
	context, generation := number("context"), number("generation")
	switch {
	case of.SubexpIndex("mode") >= 0:
		p.Phase = strings.ReplaceAll(strings.ToLower(text("mode")), "_", " ")
		if p.Phase == "extend" {
			p.Phase = "prefill"
		}
	case context < 0 || generation < 0:
		p.Phase = "pass"
	case context > 0 && generation > 0:
		p.Phase = "prefill and decode"
	case context > 0:
		p.Phase = "prefill"
	default:
		p.Phase = "decode"
	}
	if context >= 0 && generation >= 0 {
		p.Requests = context + generation
	}
	if asked := number("asked"); asked >= 0 && generation >= 0 {
		p.Tokens = asked + generation
	}
	if p.Phase == "decode" && p.Tokens < 0 {
		p.Tokens = p.Requests // one token per request
	}
	return p
}

// ServingRange reports whether a family of ranges is a server's.
func ServingRange(family string) bool {
	for _, s := range serving {
		if s.family == family {
			return true
		}
	}
	return false
}

// longestMark is the longest name that is parsed.
const longestMark = 200

// StepRange splits the name of a range that marks a step, such as "iteration 12", into its
// family "iteration …" and its number, "" if it has none.
func StepRange(name string) (family, number string, ok bool) {
	if len(name) > longestMark {
		return "", "", false
	}
	for _, s := range serving {
		if s.name.MatchString(name) {
			return s.family, "", true
		}
	}
	if PartOfStep(name) {
		return "", "", false
	}
	at := stepWord.FindStringSubmatchIndex(name)
	if at == nil {
		return "", "", false
	}
	return name[:at[6]] + "…", name[at[6]:at[7]], true
}

// PartOfStep reports whether a range's name says that it is a part of a step, or of something else than training.
func PartOfStep(name string) bool { return ContainsAny(strings.ToLower(name), partsOfSteps...) }

// OptimizerSpan reports whether a marked span is one call of an optimizer's
// step, "Optimizer.step#SGD.step".
func OptimizerSpan(name string) bool { return strings.HasPrefix(name, "Optimizer.step#") }

// BackwardSpan reports whether a span belongs to the backward pass: of the autograd engine or
// of its nodes, "autograd::engine::evaluate_function: AddmmBackward0".
func BackwardSpan(name string) bool {
	return ContainsAny(name, "autograd::engine::evaluate_function", "Backward0", "Backward1")
}

// MarksTraining reports whether a range that somebody wrote is of a backward pass or of an optimizer: "optimizer_step".
func MarksTraining(name string) bool {
	return ContainsAny(strings.ToLower(name), "backward", "optimizer")
}

// libraries are the first folders under which a profiler shows code that is not the user's, and
// libraryFiles the bare files of Python's standard library. The profiler cuts off entries of
// sys.path, so that no "site-packages" remains.
var libraries = wordSet(`torch torchvision torchaudio torchtext torchdata functorch triton transformers
	accelerate datasets diffusers tokenizers huggingface_hub safetensors peft trl lightning pytorch_lightning
	lightning_fabric torchmetrics deepspeed apex megatron xformers flash_attn vllm timm numpy scipy pandas
	sklearn PIL cv2 tqdm wandb fsspec einops hydra omegaconf albumentations jax jaxlib flax optax orbax grain
	tensorflow tensorflow_datasets keras stoker multiprocessing concurrent asyncio json logging collections
	importlib encodings email urllib http unittest xml ctypes re sqlite3 tensorboard`)

var libraryFiles = wordSet(`threading.py contextlib.py functools.py abc.py queue.py random.py copy.py
	copyreg.py pickle.py selectors.py socket.py subprocess.py tempfile.py types.py typing.py enum.py
	dataclasses.py inspect.py warnings.py weakref.py operator.py os.py posixpath.py genericpath.py pathlib.py
	shutil.py stat.py glob.py fnmatch.py re.py struct.py traceback.py linecache.py tokenize.py runpy.py site.py
	string.py textwrap.py time.py heapq.py bisect.py gzip.py zipfile.py lzma.py io.py codecs.py hashlib.py
	uuid.py signal.py ssl.py numbers.py statistics.py fractions.py decimal.py platform.py locale.py argparse.py
	ast.py dis.py _collections_abc.py _weakrefset.py`)

func wordSet(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// OwnFrame reports whether a Python frame, "train.py(41): forward", is in a file of the user
// rather than in a library, as far as its path tells.
func OwnFrame(name string) bool {
	open := strings.Index(name, ".py(")
	if open < 0 || strings.HasPrefix(name, "<") {
		return false
	}
	// PyTorch calls these for every operator of a tensor's class. The caller of the operator is
	// further out.
	if strings.HasSuffix(name, ": __torch_dispatch__") || strings.HasSuffix(name, ": __torch_function__") {
		return false
	}
	path := strings.ReplaceAll(name[:open+len(".py")], `\`, "/")
	for _, part := range []string{
		"site-packages/", "dist-packages/", "/lib/python", "lib/python3", "<frozen",
		"/torch/",
	} {
		if strings.Contains(path, part) {
			return false
		}
	}
	first, _, nested := strings.Cut(path, "/")
	if nested {
		return !libraries[first]
	}
	return !libraryFiles[first]
}

// Exchange says what a collective transfers, as far as its name tells.
type Exchange uint8

// The kinds of transferred data.
const (
	UnknownExchange Exchange = iota
	Gradients                // left out when training accumulates gradients
	Activations              // embeddings, experts, layers of other ranks: proportional to the samples
	Weights                  // shards of parameters: in every micro-step
)

// ExchangeOf reads the name of a collective's kernel, or of the call around it.
func ExchangeOf(name string) Exchange {
	lower := strings.ReplaceAll(strings.ToLower(name), "_", "")
	switch {
	case ContainsAny(lower, "allreduce", "reducescatter"):
		return Gradients
	case ContainsAny(lower, "sendrecv", "alltoall"):
		return Activations
	case ContainsAny(lower, "allgather", "broadcast"):
		return Weights
	}
	return UnknownExchange
}

// HostExchange reports whether a name is of a collective that the CPU computes.
func HostExchange(name string) bool {
	return strings.HasPrefix(name, "gloo:") || strings.HasPrefix(name, "mpi:")
}

// LaunchesCluster reports whether an operator of TensorFlow is a cluster of others that XLA compiled.
func LaunchesCluster(name string) bool {
	return ContainsAny(name, "XlaLaunch", "_XlaRun", "XlaCompile")
}

// Receives reports whether an operator of a timeline of TensorFlow waits for a tensor of another process.
func Receives(name string) bool { return strings.HasSuffix(name, ":RecvTensor") }

// SendsHalf reports whether a collective's kernel adds up numbers of 16 bit, and whether its name tells.
func SendsHalf(kernel string) (half, told bool) {
	if ExchangeOf(kernel) != Gradients {
		return false, false
	}
	lower := strings.ToLower(kernel)
	half = ContainsAny(lower, "bf16", "f16", "half", "bfloat")
	return half, half || ContainsAny(lower, "f32", "f64", "float", "double")
}

// DataShaped reports whether an operator's result is as long as its data tell, so that the host waits for the number.
func DataShaped(name string) bool {
	switch name {
	case "aten::nonzero", "aten::_unique2", "aten::unique_dim", "aten::unique_consecutive":
		return true
	}
	return false
}

// SplitsLayers reports whether a name is of a layer that ranks compute together (Megatron's tensor parallelism): its
// all-reduces carry what the layer computed.
func SplitsLayers(name string) bool { return ContainsAny(name, "ModelParallelRegion", "VocabParallel") }

// ShardsWeights reports whether a name is of FSDP, or of DeepSpeed's ZeRO.
func ShardsWeights(name string) bool {
	return ContainsAny(name, "FSDP", "FullyShardedDataParallel", "fully_shard", "fsdp/", "deepspeed", "DeepSpeed")
}

// ReducesBuckets reports whether a name is of PyTorch's DistributedDataParallel, which sends gradients in buckets.
func ReducesBuckets(name string) bool {
	return ContainsAny(name, "DistributedDataParallel", "ddp.reducer", "distributed::reducer",
		"nn/parallel/distributed.py")
}

// TurnsLayout reports whether a kernel of cuDNN changes the order of a tensor's dimensions.
func TurnsLayout(kernel string) bool { return ContainsAny(kernel, "nchwToNhwc", "nhwcToNchw") }

// UpdatesWeights reports whether a kernel's name says that an optimizer runs it.
func UpdatesWeights(kernel string) bool {
	return ContainsAny(strings.ToLower(kernel), "multi_tensor_apply", "adam", "lamb_", "sgd_")
}

// Learns reports whether a span, a frame or a kernel belongs to a backward pass or an optimizer
// of PyTorch, TensorFlow or JAX.
func Learns(name string) bool {
	if OptimizerSpan(name) || BackwardSpan(name) || UpdatesWeights(name) {
		return true
	}
	lower := strings.ToLower(name)
	return ContainsAny(lower, "backward", "_bwd", "bwd_", "wgrad", "transpose(jvp", "gradient_tape",
		"gradients/", "applygradient", "run_backward")
}

// ForwardFrame reports whether a Python frame is one call of a model or a module. Repetitions
// within it are layers.
func ForwardFrame(name string) bool {
	return strings.HasPrefix(name, "nn.Module: ") || strings.HasSuffix(name, "): forward") ||
		strings.HasSuffix(name, "_call_impl")
}

// TorchSign reports whether a name comes from PyTorch: an operator, a kernel or a mark.
func TorchSign(name string) bool {
	for _, prefix := range []string{
		"aten::", "autograd::", "ProfilerStep#", "enumerate(DataLoader)#",
		"Optimizer.step#", "torch/", "pt_main_thread", "pt_autograd",
	} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return ContainsAny(name, "at::native", "at_cuda_detail", "c10::", "torch::", "triton_poi_", "triton_red_",
		"triton_per_", "2at6native")
}

// AppleSign reports whether an operator of PyTorch runs on an Apple GPU alone: aten::_mps_convolution.
func AppleSign(name string) bool { return ContainsAny(name, "aten::_mps_", "aten::mps_") }

// DeviceSign reports whether an operator or a mark of PyTorch exists only on a GPU.
func DeviceSign(name string) bool {
	return AppleSign(name) ||
		ContainsAny(name, "cudnn", "miopen", "cublas", "nccl:", "#FusedAdam.", "#FusedSGD.", "#FusedLAMB.",
			"flash_attn", "::_flash_attention_", "_cudnn_attention", "_efficient_attention", "xformers::",
			"aten::record_stream", "aten::pin_memory") && !strings.Contains(name, "for_cpu")
}

// ServerSign reports whether a name comes from a server of language models: vLLM or SGLang.
func ServerSign(name string) bool {
	return ContainsAny(name, "vllm/", "vllm::", "_vllm", "sglang/", "sgl_kernel", "sglang::")
}

// ServerOfCPU reports whether an operator is one of vLLM's build for CPUs.
func ServerOfCPU(name string) bool {
	return ContainsAny(name, "_C::onednn_", "_C::cpu_", "_C::weight_packed_linear")
}

// NoDeviceWork begins the note of a trace in which no device works.
const NoDeviceWork = "The trace holds no work of a device: "

// CPUSign reports whether an operator of PyTorch, or of vLLM, runs on a CPU alone.
func CPUSign(name string) bool {
	return ContainsAny(name, "aten::mkldnn_", "aten::_slow_conv2d", "_flash_attention_for_cpu", "_C::onednn_",
		"_C::cpu_", "_C::weight_packed_linear")
}

// XLASign reports whether a name comes from a program compiled by XLA.
func XLASign(name string) bool {
	return ContainsAny(name, "loop_", "input_reduce_", "wrapped_", "gemm_fusion_") &&
		strings.Contains(name, "fusion") || ContainsAny(name, "XlaModule", "xla::", "TSL:", "jit_")
}

// TensorRTSign reports whether a name comes from a program that TensorRT runs.
func TensorRTSign(name string) bool {
	return strings.HasPrefix(name, "trt_") ||
		ContainsAny(name, "ExecutionContext::execute", "myelinGraphExecute", "_execute_kernel_trt", "nvinfer1::")
}
