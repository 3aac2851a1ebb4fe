package diagnose

// GapCauses are the causes of idle time in a trace, in the order of idle.Cause. The
// manual and the command's list take their words from here.
var GapCauses = []Word{
	{
		"data-loader", "the loop waits for its next batch, or makes it",
		"more workers, a faster loader, or data that is closer",
	},
	{
		"python", "Python code that is no operator",
		"less work between launches. With stacks in the trace the finding names the line",
	},
	{
		"host-code", "a marked range of a program without Python, a wait in the operating system, or code that a CPU ran",
		"less work between launches, or in another thread",
	},
	{"cpu-op", "an operator's own time on the host", "torch.compile or CUDA graphs, which launch with less of it"},
	{
		"launch", "calls that launch work, and the way to the device",
		"torch.compile(mode=\"reduce-overhead\"), CUDA graphs, a larger batch",
	},
	{
		"copy-issue", "a copy between host and device is being started, staging of pageable memory included",
		"pin_memory=True and non_blocking=True",
	},
	{"sync", "a call returns that waited for the device (.item(), .cpu(), synchronize)", "read values less often"},
	{
		"allocator", "device or pinned memory is allocated or freed",
		"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, and shapes that stay the same",
	},
	{"gc", "Python collects garbage", "gc.freeze(), or collections at a place of your own"},
	{"communication", "a collective, on the host or the device", ""},
	{"device-wait", "queued work does not start: for an event, or for what no file shows", ""},
	{"device-latency", "up to 10 µs between two pieces of queued work", ""},
	{"warm-up", "what happens once: contexts, modules, first allocations, compilation", "record later steps"},
	{"unlinked", "the launch of the work that ends the gap is not recorded", ""},
	{"unrecorded", "the host did nothing that was recorded", "record with stacks (with_stack=True)"},
}
