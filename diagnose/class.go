package diagnose

import (
	"slices"
	"strings"
)

// Class names what limits a run, in the words of Classes.
type Class string

// The classes that rules of this package can give. Later ailments add theirs.
const (
	GPUBound      Class = "gpu-bound"
	GPUTensor     Class = "gpu-bound/tensor"    // most kernel time is matrix work on Tensor Cores
	GPUMemory     Class = "gpu-bound/memory"    // most kernel time moves data and computes little
	GPUPrecision  Class = "gpu-bound/precision" // matrix work that could run on Tensor Cores and does not
	CPUBound      Class = "cpu-bound"           // the host works between launches, at something else than loading
	MainThread    Class = "cpu-bound/main-thread-loader"
	TooFewWorkers Class = "cpu-bound/too-few-workers"
	CPUExhausted  Class = "cpu-bound/cpu-exhausted"
	Neighbour     Class = "cpu-bound/neighbour" // other programs have the cores

	// CgroupThrottled says that a CPU quota holds the job back.
	CgroupThrottled Class = "cpu-bound/cgroup-throttled"

	// SlowSamples says that few samples take far longer than the others, and batches behind them wait.
	SlowSamples Class = "cpu-bound/slow-samples"

	// HandsOver says that taking a batch over from a worker takes long, not preparing it.
	HandsOver Class = "cpu-bound/hand-over"

	// ClusterBound says that workers in a Ray cluster, or the network between them and the trainer, are the limit.
	ClusterBound    Class = "cluster-bound"
	ClusterWorkers  Class = "cluster-bound/too-few-workers"
	ClusterSlowNode Class = "cluster-bound/slow-node" // one node takes longer, and batches come in turn
	ClusterNetwork  Class = "cluster-bound/network"
	ClusterStore    Class = "cluster-bound/object-store" // Ray's, of a node, is full

	IOBound Class = "io-bound"
	// the disk, or what the control group may read from it, is used up
	DeviceSaturated Class = "io-bound/device-saturated"
	SmallFiles      Class = "io-bound/small-files"     // requests take the time, not bytes
	RemoteFS        Class = "io-bound/remote-fs"       // over a network, or from a program (FUSE)
	MemoryPressure  Class = "io-bound/memory-pressure" // what was read is thrown out and fetched again

	TransferBound Class = "transfer-bound"
	LaunchBound   Class = "launch-bound"
	NetworkBound  Class = "network-bound"
	StragglerRank Class = "straggler"
	ThrottledGPU  Class = "throttled"  // heat or the board's protection keeps its clock down
	SharedGPU     Class = "shared-gpu" // programs outside the job compute on it
	ComputeOnCPU  Class = "compute-on-cpu"
	WaitsOutside  Class = "waits-outside" // for requests, a timer, a network: nothing of the job works
	NotTraining   Class = "not-training"

	// Of servers.
	NoLoad        Class = "no-load"         // no request is there for much of the time
	BatchTooSmall Class = "batch-too-small" // requests wait, and a pass takes one or few of them
	ServerHost    Class = "cpu-bound/server"
	Tokenizing    Class = "cpu-bound/tokenizer"
	ServerWaits   Class = "server-waits" // requests are there, the device idles, and no core works for them
	CacheFull     Class = "cache-full"   // a language model's key-value cache

	StartUp Class = "start-up" // of a program: nothing of it is about steady steps
	Unknown Class = "unknown"

	// Of runs that lose most outside of their steps.
	InEvaluation  Class = "evaluation"
	InCheckpoints Class = "checkpoint"
	AtEpochEdges  Class = "epoch-edge"
	BetweenSteps  Class = "between-steps"
	Skipping      Class = "skipping"
)

// Starves reports whether the class says that the device is waiting for input.
func (c Class) Starves() bool {
	return c.Is(IOBound) || c.Is(ClusterBound) || slices.Contains([]Class{
		MainThread, TooFewWorkers, CPUExhausted, Neighbour,
		CgroupThrottled, HandsOver, SlowSamples,
	}, c)
}

// LacksCores reports whether the class says that loading gets no core, whoever has them.
func (c Class) LacksCores() bool { return c == CPUExhausted || c == Neighbour || c == CgroupThrottled }

// Is reports whether the class is the other one or a kind of it: gpu-bound/memory
// is gpu-bound.
func (c Class) Is(other Class) bool {
	return c == other || strings.HasPrefix(string(c), string(other)+"/")
}

// Classes are the words of the classes: what a class means, and what to do about it.
var Classes = []Word{
	{
		string(GPUBound),
		"kernels run nearly all the time and the device does not wait for input",
		"nothing about input: a larger batch, lower precision or compiling make the device's own work shorter",
	},
	{
		string(GPUTensor),
		"of these, most kernel time is matrix work on Tensor Cores (from a trace)",
		"what is left is less work: a smaller model, sparser or lower precision (FP8)",
	},
	{
		string(GPUMemory),
		"of these, most kernel time moves data and computes little (from a trace)",
		"torch.compile, which fuses kernels, and channels_last, bf16 or FP8: fewer bytes",
	},
	{
		string(GPUPrecision),
		"of these, matrix work runs without Tensor Cores and could use them (from a trace)",
		"TF32 or bf16 (torch.set_float32_matmul_precision(\"high\"), torch.autocast)",
	},
	{
		string(CPUBound),
		"the program's own work on the host: preparing input without a DataLoader, a simulator, logging, while the " +
			"device waits",
		"do it ahead, in another thread or process, while the device works",
	},
	{
		string(MainThread),
		"num_workers=0: the launching thread loads, the device waits",
		"load in worker processes: num_workers",
	},
	{
		string(TooFewWorkers),
		"all workers always have a batch to prepare, and cores are free or a fetch mostly waits for something " +
			"else than a core",
		"more workers: num_workers",
	},
	{
		string(HandsOver),
		"the loop takes batches over from the workers, which takes longer than preparing them",
		"`stoker feed -- CMD`, or few large tensors a batch instead of many small ones or objects (collate_fn)",
	},
	{
		string(SlowSamples),
		"few samples take far longer to prepare than the others, and the batches behind them wait",
		"mend or leave out those samples, or give batches as they get ready (in_order=False)",
	},
	{
		string(CPUExhausted),
		"loading waits for cores, and the job itself fills those that it may use",
		"a cheaper batch (smaller images, fewer transforms, decoded once by stoker pack --decoded), more cores, cores of " +
			"other nodes (stoker feed --ray), or decoding on the device",
	},
	{
		string(Neighbour),
		"loading or launching waits for cores, and other programs of the machine have them",
		"stop the other programs, or run on a machine that is free",
	},
	{
		string(CgroupThrottled),
		"loading waits for cores, and a CPU quota holds the job back",
		"raise the CPU quota (docker run --cpus, limits.cpu, --cpus-per-task)",
	},
	{
		string(ClusterBound),
		"the DataLoader's workers run in a Ray cluster (stoker feed --ray), and their batches come too slowly",
		"look at the cluster's nodes (`ray status`) while the job runs",
	},
	{
		string(ClusterWorkers),
		"of these, all workers there always have a batch to prepare",
		"more workers: num_workers, or stoker feed --ray ADDRESS --workers N",
	},
	{
		string(ClusterSlowNode),
		"of these, batches take far longer on one node, and as they come in turn all others wait for it",
		"take the node out of the cluster, or what else runs on it, or give batches as they get ready (in_order=False)",
	},
	{
		string(ClusterNetwork),
		"of these, a batch is longer on its way to the trainer than a worker prepares it",
		"fewer bytes (uint8 instead of float32, normalised on the device), nodes that are nearer, or a larger " +
			"prefetch_factor if the network is slow to answer and not full",
	},
	{
		string(ClusterStore),
		"of these, Ray's object store of a node has no room for the batches that are under way",
		"a larger store (ray start --object-store-memory), a smaller prefetch_factor, or fewer bytes (uint8 instead of float32)",
	},
	{
		string(IOBound), "loading waits for storage",
		"bring the data set closer: into memory, or onto a faster disk",
	},
	{
		string(DeviceSaturated),
		"of these, the disk that holds the data set is at its limit, or the control group's limit is reached",
		"a faster disk or a larger limit, fewer bytes (smaller or better packed samples), or as much of it in " +
			"memory as fits",
	},
	{
		string(SmallFiles),
		"of these, small requests are waited for (opening, looking up, small reads), not bytes",
		"pack samples into large files that are read in order (stoker pack, WebDataset, tar, Arrow, FFCV, " +
			"LMDB), and more workers, so that more requests are in flight",
	},
	{
		string(RemoteFS),
		"of these, answers come over a network, or from a program that serves files (FUSE)",
		"copy the data set onto a local disk at the start, else large files read in order, and more workers, " +
			"so that more requests are in flight",
	},
	{
		string(MemoryPressure),
		"of these, memory is short: what was read is thrown out and fetched again",
		"a larger memory limit, fewer workers, a smaller prefetch_factor, and no copies of the data set in workers",
	},
	{
		string(TransferBound),
		"copies to the device take a good part of the step",
		"pin_memory=True with .to(device, non_blocking=True), and fewer bytes (uint8, and normalising on " +
			"the device)",
	},
	{
		string(LaunchBound),
		"between launches the device waits for the host, in gaps below 2 ms: counted live on the emulated " +
			"device, elsewhere by a trace",
		"torch.compile(mode=\"reduce-overhead\"), CUDA graphs, a larger batch",
	},
	{
		string(NetworkBound),
		"collectives that run alone take a good part of the step",
		"gradient accumulation, gradients in bf16, larger buckets, or ranks that are nearer to each other " +
			"(NVLink, InfiniBand)",
	},
	{
		string(StragglerRank),
		"one rank is late, and all others wait for it",
		"look at that rank alone: what its batches hold (give each rank as many tokens, not as many samples), its " +
			"input, its clock, what else runs on its machine",
	},
	{
		string(ThrottledGPU),
		"heat or the board's own protection keeps the device's clock down while it is busy",
		"cooling and air flow, dust, fans, the power supply and its cables: nvidia-smi -q -d " +
			"PERFORMANCE,TEMPERATURE tells which",
	},
	{
		string(SharedGPU),
		"programs outside this job compute on the device as well",
		"a device of its own: CUDA_VISIBLE_DEVICES, the scheduler's exclusive mode, or MIG instances",
	},
	{
		string(ComputeOnCPU),
		"the model's parameters lie in host memory",
		"model.to(\"cuda\"), batches to the same device",
	},
	{
		string(WaitsOutside),
		"the program waits for something outside of the job (requests, a timer, an answer over the network), and " +
			"nothing of the job works meanwhile",
		"if it is asked: faster input changes nothing, give this GPU more requests, or other work beside them. If it asks, as a " +
			"service or a disk: for several things at once, or for the next one while the device works. What it only sends, as " +
			"logs: from a thread",
	},
	{string(NotTraining), "no step over a DataLoader and no work on a GPU, or no Python program at all", ""},
	{
		string(StartUp),
		"a trace of a program's start: contexts, modules, first allocations and first collectives take most of " +
			"the time in which nothing is computed",
		"record later steps: nothing here is about steady ones",
	},
	{
		string(InEvaluation),
		"the run loses most in evaluation: its own loader, or the program, keeps the device waiting",
		evaluationAdvice,
	},
	{
		string(InCheckpoints),
		"the run loses most while checkpoints are saved",
		savingAdvice,
	},
	{
		string(AtEpochEdges),
		"the run loses most from an epoch's end to the next one's first batch",
		"persistent_workers=True. If the workers stay already, or batches are few: a sampler that goes over the data several " +
			"times before it ends, so that the queue stays full",
	},
	{
		string(BetweenSteps),
		"the run loses most to what the loop does between its steps: logging, saving, metrics, other programs",
		"what no step needs, as logs, metrics and files: every so many steps, or in another thread",
	},
	{
		string(Skipping),
		"the run loses most to batches that are fetched and thrown away",
		ResumeAdvice,
	},
	{
		string(NoLoad),
		"a server has no request for much of the time, and keeps up: no fault",
		"nothing, or put more load on it: stoker predict serve --run FILE says how much it takes, and at which latency",
	},
	{
		string(BatchTooSmall),
		"requests wait for the model, and a pass takes one or few of them",
		"answer several requests in one pass: LitServe(max_batch_size=8, batch_timeout=0.01), Ray Serve @serve.batch(max_batch_size=8), " +
			"BentoML @bentoml.api(batchable=True, max_batch_size=8), Triton dynamic_batching, vLLM --max-num-seqs, transformers serve --continuous-batching. A server of your own: " +
			"take all that wait out of the queue, and torch.stack them",
	},
	{
		string(ServerHost),
		"the host works for requests before, between or after passes, while the model waits",
		"do it once for what requests share, for a whole batch, or beside the model: in threads, Python code in processes",
	},
	{
		string(Tokenizing),
		"of these, most is tokenizing, or turning tokens into text",
		"a fast tokenizer on whole batches, in a thread or process of its own",
	},
	{
		string(ServerWaits),
		"requests are there, the model waits and no core works for them: a lock, a timer, a batch that fills, another service",
		"hold no lock in a wait, ask other services with await, and let a batch wait at most as long as a pass takes",
	},
	{
		string(CacheFull),
		"the key-value cache of a language model is full: requests are preempted and start again",
		"vLLM: --gpu-memory-utilization (on a CPU VLLM_CPU_KVCACHE_SPACE), --kv-cache-dtype fp8, a smaller --max-model-len or " +
			"--max-num-seqs, more memory",
	},
	{
		string(Unknown),
		"no rule convinces, or two fit about equally well",
		"stoker observe --trace 5 takes a trace of five steps, which names most idle time",
	},
}
