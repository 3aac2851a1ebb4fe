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

// Findings, and Classes in class.go, are all words of a verdict: the list from which the manual,
// the command's help and its pages take theirs.
var (
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
			FindingSlowStart,
			"before the first step a line of the program works for long",
			SlowStartAdvice,
		},
		{
			FindingBesideTraining,
			"evaluation, or work between epochs, takes a quarter of the run or more while the device is busy with it",
			BesideAdvice,
		},
		{
			FindingSlowEnd,
			"after the last step the program waits for its loader's workers, which finish the batches that they have begun, or " +
				"works for long",
			SlowEndAdvice,
		},
		{
			FindingSkippingBatches,
			"batches are fetched and thrown away up to the place at which training left off",
			ResumeAdvice,
		},
		{
			FindingUnusedBatches,
			"behind many batches, between others that are trained on, the device does nothing",
			UnusedAdvice,
		},
		{
			FindingGatheredBatches,
			"the loop takes several batches of its loader for each step",
			GatheredAdvice,
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
			FindingPadding,
			"much of a batch is padding, on which the device computes as on samples",
			PaddingAdvice,
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
			FindingOptimizerLaunches,
			"the optimizer launches kernel after kernel, and the device waits for launches",
			OptimizerLaunchesAdvice,
		},
		{
			FindingLongerSteps,
			"each step takes longer than those before it",
			LongerStepsAdvice,
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
		{
			FindingAnomalyDetection,
			"autograd's anomaly detection is on, which takes a stack for each operation",
			"torch.autograd.set_detect_anomaly(False)",
		},
		{
			FindingLaunchBlocking,
			"CUDA_LAUNCH_BLOCKING is set, so each launch waits until its kernel has ended",
			"unset CUDA_LAUNCH_BLOCKING: it helps to find the kernel that fails, and nothing else",
		},
		{
			FindingInterpreterLock,
			"another thread of the trainer's process holds Python's interpreter lock while batches are taken over",
			InterpreterAdvice,
		},
		{
			FindingCPUOptimizer,
			"the optimizer steps on the CPU, on weights and gradients that come from the device",
			OptimizerAdvice,
		},
		{FindingDeviceWait, "queued work does not start on an idle device", ""},
		{FindingDeviceCopies, "copies from one place on the device to another take a good part of the step", ""},
		{
			FindingManyReads, "a step reads many values of the device one by one, and waits for each (of a live run)", ManyReadsAdvice,
		},
		{
			FindingHostTensors, "a step copies tensors from host memory beside a batch that is pinned (of a live run)",
			TinyCopiesAdvice,
		},
		{FindingPageableCopies, "copies start from memory that is not page-locked", ""},
		{FindingSerialCopies, "pinned copies that nothing overlaps", ""},
		{FindingTinyCopies, "many small copies per step", ""},
		{FindingPCIeLimited, "copies run at the link's rate", ""},
		{FindingElementwiseChains, "chains of small kernels that could be one", ""},
		{FindingNoTensorCores, "matrix work without Tensor Cores", ""},
		{FindingLayoutChanges, "cuDNN turns tensors between NCHW and NHWC", ""},
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
