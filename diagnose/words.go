package diagnose

// Word is a word of a verdict: a class, or the name of a finding.
type Word struct {
	Name string
	Says string // its meaning, in a line
	Do   string // what to do about it; "" where the plan alone tells
}

// Advice that a class and a finding, or a class and the kind of a line, share.
const (
	evaluationAdvice = "workers for its loader, larger batches (nothing is kept for backward), metrics on the device, or " +
		"evaluation less often"
	savingAdvice = "save less often, or copy the state to host memory and let a thread write it " +
		"(torch.distributed.checkpoint.async_save does both)"
)

// Classes and Findings are all words of a verdict: the list from which the manual, the
// command's help and its pages take theirs.
var (
	Classes = []Word{
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
			"a cheaper batch (smaller images, decoded once, fewer transforms), more cores, or decoding on the device",
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
			"look at that rank alone: its input, its clock, what else runs on its machine",
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
			"faster input changes nothing: give this GPU more requests, or other work beside them",
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
			"persistent_workers=True. If the workers stay already, or batches are few: smaller batches, or a sampler " +
				"that goes over the data several times before it ends, so that the queue stays full",
		},
		{
			string(BetweenSteps),
			"the run loses most to what the loop does between its steps: logging, saving, metrics, other programs",
			"do it every so many steps, on the device, or in another thread",
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
				"Triton dynamic_batching, vLLM --max-num-seqs",
		},
		{
			string(ServerHost),
			"the host works for requests before, between or after passes, while the device idles",
			"let it run beside the model and not in turn with it: threads for native code, processes for Python code",
		},
		{
			string(Tokenizing),
			"of these, most is tokenizing, or turning tokens into text",
			"a fast tokenizer on whole batches, in a thread or process of its own",
		},
		{
			string(ServerWaits),
			"requests are there, the device idles and no core works for them: a lock, a timer, a batch that fills, another service",
			"hold no lock while you wait, ask other services with await, and let a batch wait no longer than a pass takes",
		},
		{
			string(CacheFull),
			"the key-value cache of a language model is full: requests are put off and begun anew",
			"vLLM: --gpu-memory-utilization, --kv-cache-dtype fp8, a smaller --max-model-len or --max-num-seqs, more GPUs",
		},
		{
			string(Unknown),
			"no rule convinces, or two fit about equally well",
			"stoker observe --trace 5 takes a trace of five steps, which names most idle time",
		},
	}
	Findings = []Word{
		{
			FindingEvaluation,
			"how long evaluation between the judged steps takes, which no figure of the steps counts", evaluationAdvice,
		},
		{
			FindingCheckpoint,
			"how long saving checkpoints between the judged steps takes, which no figure of the steps counts", savingAdvice,
		},
		{FindingInputWait, "how much of a step waits for input while the model computes on the CPU", ""},
		{
			FindingIntraOpThreads,
			"threads of PyTorch, OpenCV, OpenMP or BLAS, in workers or in the trainer, want more cores than there are",
			"OMP_NUM_THREADS=1, cv2.setNumThreads(0) or torch.set_num_threads(1) in each worker",
		},
		{
			FindingEpochBoundary,
			"the first batch of an epoch is waited for: workers start and fill the queue anew",
			"persistent_workers=True",
		},
		{FindingFullMemory, "device memory is full while the device idles: that says nothing about work", ""},
		{FindingRanks, "how much input the ranks wait for, one beside the other", ""},
		{FindingFailed, "the command ended with an error", "its last lines on stderr say which"},
		{
			FindingHung,
			"no step is made any more, and nobody of the job works",
			"py-spy dump --pid PID on each rank shows the line that waits. TORCH_NCCL_ASYNC_ERROR_HANDLING=1 and a " +
				"timeout end it",
		},
		{
			FindingHangs,
			"now and then a step takes half a second longer than the others",
			"what happens at that interval: checkpoints and logs less often or in another thread, gc.freeze(), a " +
				"deeper queue",
		},
		{
			FindingSlowEnd,
			"after the last step the program waits for its loader's workers, which finish the batches that they have begun",
			"end after a whole epoch instead of leaving the loop, or smaller batches",
		},
		{
			FindingSkippingBatches,
			"batches are fetched and thrown away up to the place at which training left off",
			ResumeAdvice,
		},
		{
			FindingRepeatedSamples,
			"each worker reads all of an iterable data set: each sample is trained on as often as there are workers",
			"split it in __iter__ by get_worker_info",
		},
		{
			FindingWithoutData,
			"some workers have no data to give while the epoch goes on",
			"as many shards as workers, of about the same size",
		},
		{
			FindingSharedGPU,
			"processes outside the job hold the device, and what they compute is unknown",
			"stop them, or CUDA_VISIBLE_DEVICES",
		},
		{
			FindingSlowLink,
			"PCIe runs with fewer lanes or in a lower generation than device and slot can",
			"another slot, a reseated card or riser",
		},
		{FindingPinThread, "the one thread that pins batches is always at work", "uint8 batches, or pin_memory=False"},
		{
			FindingDeepQueue,
			"batches of workers take nearly all of /dev/shm, or a good part of memory page-locked",
			"a smaller prefetch_factor, fewer workers, docker run --shm-size",
		},
		{
			FindingCopiedDataset,
			"each worker has a copy of the data set of its own",
			"a memory map, a NumPy array or an Arrow table, opened in the workers",
		},
		{
			FindingMemoryGrowth,
			"the job's memory keeps growing",
			"no lists and dictionaries of Python objects in a data set, and loss.detach() in what is kept",
		},
		{
			FindingMemoryPressure,
			"tasks wait for memory, though that is not what limits the run most",
			"a larger memory limit, fewer workers, a smaller prefetch_factor",
		},
		{FindingTooManyWorkers, "workers are twice as many as cores, and wait for them", "a smaller num_workers"},
		{FindingSlurmCores, "SLURM gave the task few of the node's cores", "--cpus-per-task"},
		{
			FindingNUMARemote,
			"the launching thread runs on another NUMA node than the one of its device",
			"numactl --cpunodebind --membind",
		},
		{
			FindingStorageSpikes,
			"a file system behind a network answers late now and then",
			"a deeper queue, or a copy on a local disk",
		},
		{FindingDataLoaderWait, "the device waits for the loader (from a trace, as all below)", ""},
		{FindingHostWork, "the launching thread does other work in long stretches", ""},
		{FindingLaunchBound, "the device waits for the host to launch", ""},
		{FindingHiddenSync, "a value is read from the device (.item(), .cpu()) within the step", ""},
		{FindingExplicitSync, "the program waits for the device within the step", ""},
		{FindingAllocator, "device memory is allocated or freed within steps", ""},
		{FindingGarbageCollection, "the device waits while Python collects garbage", ""},
		{FindingDeviceWait, "queued work waits for another stream, event or device", ""},
		{FindingDeviceCopies, "copies from one place on the device to another take a good part of the step", ""},
		{FindingPageableCopies, "copies start from memory that is not page-locked", ""},
		{FindingSerialCopies, "pinned copies that nothing overlaps", ""},
		{FindingTinyCopies, "many small copies per step", ""},
		{FindingPCIeLimited, "copies run at the link's rate", ""},
		{FindingElementwiseChains, "chains of small kernels that could be one", ""},
		{FindingNoTensorCores, "matrix work without Tensor Cores", ""},
		{FindingSmallGrids, "kernels that fill a part of the device", ""},
		{FindingUnalignedShapes, "matrices whose sizes Tensor Cores do not take as they are", ""},
		{FindingExposedCommunication, "collectives that nothing overlaps", ""},
		{FindingProbableCommunication, "kernels that look like communication", ""},
	}
)

// Do is what to do about a class; "" where the list has no word for it.
func (c Class) Do() string {
	for _, w := range Classes {
		if w.Name == string(c) {
			return w.Do
		}
	}
	return ""
}
