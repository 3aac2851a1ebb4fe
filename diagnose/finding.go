package diagnose

import (
	"math"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/quantity"
)

// NewFinding is one of which nothing but the name is known.
func NewFinding(name string) Finding {
	return Finding{Name: name, Seconds: math.NaN(), Share: math.NaN(), Saves: math.NaN()}
}

// NewTextFinding is one of which there is nothing but a text.
func NewTextFinding(name, text string) Finding {
	f := NewFinding(name)
	f.Text = text
	return f
}

// ProposeChange is a change of one setting.
func ProposeChange(name stoker.Setting, from, to any) stoker.Change {
	return stoker.Change{Setting: name, From: from, To: to}
}

// What to do about a start, an end and work beside training that take long.
const (
	SlowStartAdvice = "do it once, and keep what it finds in a file that later starts read, or share it out to several " +
		"processes. If it only measures or counts, a part of the data is enough"
	// SlowScanAdvice is that of a start that fetches samples themselves, as a sampler that sorts them by length.
	SlowScanAdvice = "it fetches samples before the first step. What it looks for in each (its length, its class): find it " +
		"once, and keep it in a file or a column that later starts read. A mean or a count: of a part of the samples"
	BesideAdvice = "if it is not needed each time: less often, on fewer samples, or in larger batches"
	// EvaluateOnAllAdvice is what to do about one rank that evaluates while the others wait.
	EvaluateOnAllAdvice = "evaluate on all ranks, each on its part of the samples, and add up the sums (all_reduce). Or on " +
		"fewer batches, or less often: the other ranks wait meanwhile"
	SlowEndAdvice  = "end after a whole epoch instead of leaving the loop"
	LateWorkAdvice = "do it in a process without a GPU, from what was saved, so that another job has the GPU meanwhile. " +
		"In this one: in several worker processes, or by calls on whole arrays"
)

// AdviseStart is what to do about a line that works for long before the first step.
func AdviseStart(line Line) string {
	if name := line.Own.Function; strings.HasSuffix(name, "__getitem__") || strings.HasSuffix(name, "__getitems__") {
		return SlowScanAdvice
	}
	return SlowStartAdvice
}

// InterpreterAdvice is what to do about a thread that holds Python's interpreter lock.
const InterpreterAdvice = "run what the other threads compute in a process of its own (multiprocessing, subprocess), by compiled " +
	"code that gives the lock back (NumPy, zlib, hashlib), or less often: a thread in Python keeps the lock for 5 ms at a time, and taking a batch over from a worker asks for it many times"

// OptimizerAdvice is what to do about an optimizer that steps on the CPU.
const OptimizerAdvice = "let it step on the device, if its state fits there, or take one that is made for the " +
	"CPU: torch.optim.AdamW(..., fused=True), DeepSpeedCPUAdam"

// OptimizerLaunchesAdvice is what to do about an optimizer that launches kernel after kernel.
const OptimizerLaunchesAdvice = "all parameters in few kernels: fused=True or foreach=True, parameters with the same settings in " +
	"one group, torch._foreach_* in an optimizer of your own, or torch.compile around its step"

// BeyondBatchAdvice is what to do about large copies that are not the loader's batch.
const BeyondBatchAdvice = "keep on the device what comes from there, and what is used again, if it fits (weights, masks, tables). What has to be " +
	"copied: through pinned memory (tensor.pin_memory()) with non_blocking=True, and only the part that is used"

// LongerStepsAdvice is what to do about steps that get longer and longer.
const LongerStepsAdvice = "what is kept of all earlier steps is worked through again in each: a running sum or a counter " +
	"instead of a list that is added up, only what is new instead of the whole log, and a limit on what is kept. Losses that " +
	"are kept without .item() or .detach() keep their graph. Hooks and handles are registered once, not in each step"

// What to do about findings that a trace and a live run share.
const (
	compileAdvice = `torch.compile(model, mode="reduce-overhead"), which captures CUDA graphs, or a larger ` +
		`batch_size, so that each launch has more work (in training, the learning rate follows)`
	SyncAdvice = "no .item(), .cpu(), .tolist(), print(loss) or tensor in an if within the step: keep " +
		"loss.detach() on the device and read it every 50 steps. Copy with non_blocking=True into pinned memory"
	// plainSyncAdvice is SyncAdvice for a program that reads no loss.
	plainSyncAdvice = "no .item(), .cpu(), .tolist(), print or tensor in an if within the step: keep results on the device " +
		"and read them every so many steps. Copy with non_blocking=True into pinned memory"
	// ManyReadsAdvice is what saves many reads of the device in a step.
	ManyReadsAdvice = "one .tolist() or .cpu() of a whole tensor before the loop over its parts, torch.stack(values).cpu() " +
		"after it, or calls on whole tensors that need no value on the host. What only logs need: every 50 steps"
	// LaunchAdvice is what takes launches and calls of Python off a step.
	LaunchAdvice = "by calls on whole tensors instead of loops over their parts (nn.LSTM instead of a cell for each time " +
		"step, torch.func.vmap over models alike), on all parameters at once (torch._foreach_*, an optimizer's " +
		"foreach=True). Shapes that stay the same: CUDA graphs, or torch.compile(mode=\"reduce-overhead\")"
	// TinyCopiesAdvice is what saves many small copies.
	TinyCopiesAdvice = "make tensors on the device (torch.arange(..., device=device)), or put the small ones into one " +
		"pinned buffer and copy once. Scalars as Python numbers need no copy"
	ResumeAdvice = "skip indices in place of batches (accelerate.skip_first_batches), or resume the sampler at " +
		"its position (StatefulDataLoader)"
	UnusedAdvice = "leave out their samples in the data set or the sampler (a list of indices, made once of labels or " +
		"lengths), so that no worker prepares them"
	// GatheredAdvice is what to do about a loop that puts batches together by itself.
	GatheredAdvice = "let the loader put them together, in its workers: a larger batch_size, with a collate_fn that does what the " +
		"loop does with several (torch.cat, padding)"
	pinAdvice = "DataLoader(..., pin_memory=True), or tensor.pin_memory(), and batch.to(device, non_blocking=True)"
)

// SayPadding says how much of a batch is padding, and how much of it its longest sample does not need.
func SayPadding(padded, beyond float64) string {
	text := quantity.Percent(padded) + " of the numbers of a batch are padding"
	if beyond < PaddingBeyond {
		return text + ", as samples of unlike length share one"
	}
	return text + ", and " + quantity.Percent(beyond) + " lie beyond the longest sample of their batch"
}

// PaddingAdvice is what to do about batches that are mostly padding.
const PaddingAdvice = "pad to the longest sample of each batch and not to one length (padding=True or " +
	"DataCollatorWithPadding, not padding=\"max_length\"). Samples of like length in one batch (group_by_length, a sampler " +
	"by length) need less still"

// LostToWaits is the share of a step that it can lose at most if the host did not wait for the
// device: no more than the device idles meanwhile, and no more than the host waited. Its
// own work stays. Unknown figures bound nothing.
func LostToWaits(idle, held float64) float64 {
	if math.IsNaN(held) {
		return idle
	}
	return min(idle, held)
}
