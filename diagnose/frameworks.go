package diagnose

import (
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// What other frameworks than PyTorch call the same cure: their files name no DataLoader
// and have no settings of PyTorch's. A finding without words here has no advice there.
const (
	FrameworkTensorFlow = "TensorFlow"
	frameworkGraphs     = recording.TensorFlowGraphs
	frameworkJAX        = "JAX"
	frameworkXLA        = "XLA" // whose program it is, the file does not tell

	FrameworkCUDA = "CUDA" // a program of none of them
	FrameworkHIP  = "HIP"  // the same on AMD's devices
)

// IsTensorFlow reports whether a program is one of TensorFlow's, of any version.
func IsTensorFlow(framework string) bool {
	return framework == FrameworkTensorFlow || framework == frameworkGraphs
}

// IsBare reports whether a program uses the device without a framework that is known.
func IsBare(framework string) bool { return framework == FrameworkCUDA || framework == FrameworkHIP }

// recordDevice is how to record what the device does.
func recordDevice(s recording.Software) string {
	switch recordsAs(s) {
	case "":
		return "record with ProfilerActivity.CUDA"
	case FrameworkCUDA:
		return "nsys profile --trace=cuda,nvtx"
	case FrameworkHIP:
		return recordHIP
	case recording.CANN:
		return recordCANN
	}
	return "profile with the device's tracer on"
}

// What a profiler's file can lack, and what to record for it by framework.
const (
	LacksDevice = "device" // the device's work
	LacksCalls  = "calls"  // the calls that launch it
	LacksSteps  = "steps"  // enough work to judge
	LacksRanks  = "ranks"  // files of other ranks
)

var recordings = map[string]map[string]string{
	LacksDevice: {
		"": "record the device's work as well: torch.profiler.profile(activities=[ProfilerActivity.CPU, " +
			"ProfilerActivity.CUDA])",
		FrameworkCUDA:  "record the device's work as well: nsys profile --trace=cuda,nvtx,osrt",
		FrameworkHIP:   "record the device's work as well: " + recordHIP,
		recording.CANN: "record the device's work as well: " + recordCANN,
	},
	LacksCalls: {
		"": "record the host as well: ProfilerActivity.CPU together with the activity of the device (of ROCm with " +
			"PyTorch 2.5 or newer)",
		FrameworkCUDA:  "record the host as well: nsys profile --trace=cuda,nvtx,osrt, and no --cuda-graph-trace=graph",
		FrameworkHIP:   "record the host as well: " + recordHIP,
		recording.CANN: "record the host's calls as well: " + recordCANN,
	},
	LacksSteps: {
		"":              "record five and more steps: torch.profiler.schedule(wait=1, warmup=2, active=5)",
		FrameworkCUDA:   "record five and more steps, with an NVTX range around each (nvtxRangePush(\"step\"))",
		FrameworkHIP:    "record five and more steps, with a roctx range around each (roctxRangePush(\"step\"))",
		frameworkGraphs: laterRun,
		recording.CANN:  laterIterations,
	},
}

// laterIterations is how to see steps of a program on Ascend's devices.
const laterIterations = "record five and more later iterations, in one file"

// laterRun is how to see more than the one run of a graph that a timeline holds.
const laterRun = "take the timelines of several later runs, and compare them"

// recordsAs is the framework in whose words one tells how to record: a profiler of any program is told
// in the same words for any program.
func recordsAs(s recording.Software) string {
	switch s.Recorder {
	case recording.NsightSystems:
		return FrameworkCUDA
	case recording.Rocprof:
		return FrameworkHIP
	case recording.Msprof:
		return recording.CANN
	}
	return s.Framework
}

// recordMore is how to record steps that can be judged, later steps, and what the host did.
func recordMore(s recording.Software) (steps, later, host string) {
	switch recordsAs(s) {
	case "":
		return "record five and more with torch.profiler.schedule(wait=1, warmup=2, active=5)",
			"record later steps with torch.profiler.schedule(wait=5, warmup=2, active=5)",
			"with_stack=True tells the line"
	case FrameworkCUDA:
		return "mark steps with NVTX ranges (nvtxRangePush(\"step\")) and record five and more",
			"record later steps (nsys profile --delay, or --capture-range=cudaProfilerApi)",
			"nsys profile --sample=cpu, and NVTX ranges, tell what"
	case FrameworkHIP:
		return "mark steps with roctx ranges (roctxRangePush(\"step\")) and record five and more",
			"record later steps (roctxProfilerPause and roctxProfilerResume around what is not of interest)",
			"roctx ranges around its parts tell what"
	case recording.CANN:
		return laterIterations, "record later iterations", recordCANN + " tells its calls"
	case frameworkGraphs:
		return laterRun, "take the timeline of a later run", "nsys profile --sample=cpu tells what"
	case FrameworkTensorFlow:
		return "profile five and more", "profile later steps",
			"tf.profiler.experimental.ProfilerOptions(python_tracer_level=1) tells the line"
	}
	return "profile five and more", "profile later steps",
		"jax.profiler.ProfileOptions with python_tracer_level = 1 tells the line"
}

const recordCANN = "msprof --ascendcl=on --runtime-api=on --task-time=on --application=CMD"

const recordHIP = "rocprofv3 --sys-trace --output-format json -- CMD"

// RecordWhat is how to record what a profiler's file lacks.
func RecordWhat(lacks string, s recording.Software) string {
	if text := recordings[lacks][recordsAs(s)]; text != "" {
		return text
	}
	return map[string]string{
		LacksDevice: "profile with the device's tracer on", LacksCalls: "profile with the host's tracer on",
		LacksSteps: "profile five and more steps", LacksRanks: "give the folder with the files of all ranks",
	}[lacks]
}

// TakeTrace is how to take a trace of some steps, and the command for it.
func TakeTrace(framework string) (how, command string) {
	const why = "take a trace of five steps, which names most idle time"
	switch framework {
	case "":
		return why, "stoker observe --trace 5 -- CMD"
	case FrameworkTensorFlow:
		return why + `: tf.profiler.experimental.start("FOLDER") and stop() around them`, "stoker trace FOLDER"
	case frameworkJAX:
		return why + `: with jax.profiler.trace("FOLDER") around them`, "stoker trace FOLDER"
	case FrameworkHIP:
		return why, recordHIP
	case recording.CANN:
		return why, recordCANN
	default:
		return why, "nsys profile --trace=cuda,nvtx -- CMD"
	}
}

// cures are advice by finding and framework.
var cures = map[string]map[string]string{
	FindingDataLoaderWait: {
		FrameworkTensorFlow: "dataset.map(..., num_parallel_calls=tf.data.AUTOTUNE), and " +
			"dataset.prefetch(tf.data.AUTOTUNE) as the last of the pipeline",
		frameworkGraphs: "dataset.map(..., num_parallel_calls=N), and dataset.prefetch(1) as the last of the pipeline",
		frameworkJAX: "prepare batches in worker processes (grain, or another loader) and put the next " +
			"one on the device while this one is computed: jax.device_put in a thread",
	},
	FindingHostWork: {
		FrameworkCUDA: "do it in another thread while the device computes, or before the loop. NVTX " +
			"ranges around it tell which part of the program it is",
		FrameworkTensorFlow: "what prepares inputs belongs into the tf.data pipeline, behind prefetch. " +
			"log and save every so many steps",
		frameworkGraphs: "what prepares inputs belongs into the tf.data pipeline, behind prefetch. Operators that have " +
			"no kernel for the GPU run on the host: look for others",
		frameworkJAX: "prepare inputs in worker processes, one step ahead, and log and save every so many " +
			"steps, or in another thread",
	},
	FindingLaunchBound: {
		FrameworkCUDA: "capture the calls of a step in a CUDA graph (cudaStreamBeginCapture, " +
			"cudaGraphLaunch), or let one kernel do more",
		FrameworkTensorFlow: "tf.function(jit_compile=True) around the step, steps_per_execution=8 in " +
			"model.compile, or a larger batch, so that each launch has more work",
		frameworkGraphs: "XLA (config.graph_options.optimizer_options.global_jit_level = " +
			"tf.OptimizerOptions.ON_1), or a larger batch, so that each launch has more work",
		frameworkJAX: "jax.jit around the whole step, jax.lax.scan over several steps, or a larger batch, " +
			"so that each launch has more work",
	},
	FindingHiddenSync: {
		FrameworkCUDA: "copy results asynchronously into page-locked memory and read them a step " +
			"later, behind an event",
		FrameworkTensorFlow: "no .numpy(), float(loss) or print of a tensor within the step: read metrics " +
			"every 50 steps",
		frameworkJAX: "no float(loss), np.asarray() or print of an array within the step: keep metrics on " +
			"the device and read them every 50 steps",
	},
	FindingExplicitSync: {
		FrameworkCUDA: "no cudaDeviceSynchronize or cudaStreamSynchronize within the step: order " +
			"work by streams and events",
		FrameworkTensorFlow: "take the wait out of the step. To time a step, time many",
		frameworkJAX:        "take block_until_ready() out of the step. To time a step, time many",
	},
	FindingPageableCopies: {
		FrameworkCUDA: "allocate host buffers with cudaMallocHost (or cudaHostRegister them) and " +
			"copy with cudaMemcpyAsync",
		FrameworkTensorFlow: "dataset.apply(tf.data.experimental.prefetch_to_device(\"/gpu:0\"))",
		frameworkGraphs:     "tf.data in the place of feed_dict, and tf.data.experimental.prefetch_to_device(\"/gpu:0\")",
		frameworkJAX:        "jax.device_put of the next batch while this one is computed",
	},
	FindingSerialCopies: {
		FrameworkCUDA: "copy the next buffer on a stream of its own (cudaMemcpyAsync from " +
			"page-locked memory) while this one is computed, two buffers in turn",
		FrameworkTensorFlow: "dataset.apply(tf.data.experimental.prefetch_to_device(\"/gpu:0\"))",
		frameworkGraphs:     "tf.data in the place of feed_dict, and tf.data.experimental.prefetch_to_device(\"/gpu:0\")",
		frameworkJAX:        "jax.device_put of the next batch while this one is computed",
	},
	FindingTinyCopies: {
		FrameworkCUDA: "put small values into one page-locked buffer and copy once, or pass them as " +
			"arguments of kernels",
		FrameworkTensorFlow: "make constants within the compiled function, and one array in the place of " +
			"many small ones",
		frameworkJAX: "make constants within the compiled function, and one array in the place of many small ones",
	},
	FindingPCIeLimited: {
		FrameworkCUDA:       "send fewer bytes: narrower types, or compressed data that a kernel unpacks",
		FrameworkTensorFlow: "send images as uint8 and normalise on the device (a quarter of float32)",
		frameworkJAX:        "send images as uint8 and normalise on the device (a quarter of float32)",
	},
	FindingElementwiseChains: {
		FrameworkCUDA:       "one kernel for what follows each other on the same array",
		FrameworkTensorFlow: "tf.function(jit_compile=True)",
		frameworkGraphs:     "XLA (config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1)",
		frameworkJAX:        "jax.jit around more of the step, so that XLA sees the chain as a whole",
	},
	FindingNoTensorCores: {
		FrameworkCUDA: "cuBLAS with CUBLAS_COMPUTE_32F_FAST_TF32 or 16-bit types, cuDNN with CUDNN_TENSOR_OP_MATH",
		FrameworkTensorFlow: `tf.keras.mixed_precision.set_global_policy("mixed_bfloat16"), or ` +
			"tf.config.experimental.enable_tensor_float_32_execution(True)",
		frameworkJAX: `jax.config.update("jax_default_matmul_precision", "tensorfloat32"), ` +
			"or parameters and inputs in bfloat16",
	},
	FindingSmallGrids: {
		FrameworkCUDA:       "more blocks and threads in a launch, or several streams at a time",
		FrameworkTensorFlow: "a larger batch while memory lasts",
		frameworkGraphs:     "a larger batch while memory lasts",
		frameworkJAX:        "a larger batch while memory lasts",
	},
	FindingAllocator: {
		FrameworkCUDA:       "allocate once before the loop, or from a pool (cudaMallocAsync)",
		FrameworkTensorFlow: "TF_GPU_ALLOCATOR=cuda_malloc_async",
		frameworkJAX:        "XLA_PYTHON_CLIENT_PREALLOCATE=true",
	},
	FindingGarbageCollection: {
		FrameworkTensorFlow: "gc.collect(); gc.freeze() before the loop, gc.disable() in it and " +
			"gc.collect() every 100 steps",
		frameworkJAX: "gc.collect(); gc.freeze() before the loop, gc.disable() in it and gc.collect() " +
			"every 100 steps",
	},
	FindingExposedCommunication: {
		FrameworkCUDA: "start an exchange on a stream of its own as soon as its data are ready, and " +
			"compute meanwhile",
		recording.CANN: "start an exchange as soon as its data are ready, several tensors in a call, in 16 bit. Compare the " +
			"ranks: one that waits for a slower one is not helped",
		FrameworkTensorFlow: "XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true with " +
			"jit_compile=True, gradients in 16 bit",
		frameworkJAX: "XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true, gradients in 16 bit",
	},
	FindingDeviceCopies: {FrameworkCUDA: "let kernels write to the place that needs the results"},
	FindingDeviceWait: {
		FrameworkCUDA: "look for cudaStreamWaitEvent before the place. Work that needs no order belongs " +
			"on streams without events between them",
	},
	FindingUnalignedShapes: {
		FrameworkCUDA:       "pad dimensions to a multiple of 64",
		FrameworkTensorFlow: "pad hidden sizes, vocabulary and channels to a multiple of 64",
		frameworkJAX:        "pad hidden sizes, vocabulary and channels to a multiple of 64",
	},
}

// InputAdvice is how batches come faster, or ahead, in the words of a framework. in is what waits for them.
func InputAdvice(framework, in string) string {
	if strings.Contains(in, "QueueDequeue") {
		return "more threads that fill the queue (num_threads of tf.train.batch), or tf.data with prefetch(1)"
	}
	if framework == frameworkXLA {
		framework = frameworkJAX
	}
	if advice := cures[FindingDataLoaderWait][framework]; framework != "" && advice != "" {
		return advice
	}
	return "DataLoader(..., num_workers=4) if it has no worker, else more of them or cheaper decoding"
}

// Translate puts a finding into the words of the run's framework.
func Translate(f Finding, framework string) Finding {
	if framework == "" {
		return f
	}
	if framework == frameworkXLA {
		framework = frameworkJAX
	}
	f.Settings, f.Advice = nil, cures[f.Name][framework]
	if framework == FrameworkHIP {
		f.Advice = hipWords.Replace(cures[f.Name][FrameworkCUDA])
	}
	return f
}

// hipWords turn advice for CUDA into that for HIP.
var hipWords = strings.NewReplacer("cudaMallocHost", "hipHostMalloc", "cudaHostRegister", "hipHostRegister",
	"cudaMemcpyAsync", "hipMemcpyAsync", "cudaDeviceSynchronize", "hipDeviceSynchronize", "cudaStreamSynchronize",
	"hipStreamSynchronize", "cudaStreamWaitEvent", "hipStreamWaitEvent", "cudaMallocAsync", "hipMallocAsync",
	"cudaStreamBeginCapture", "hipStreamBeginCapture", "cudaGraphLaunch", "hipGraphLaunch", "CUDA graph", "HIP graph",
	"NVTX ranges", "roctx ranges")
