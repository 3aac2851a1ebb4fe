package diagnose

import "strings"

// serverSettings has what helps against a class, in the words of a server's own settings.
var serverSettings = map[Class]map[string]string{
	BatchTooSmall: {
		"vLLM": "let a pass take more requests: vllm serve --max-num-seqs 64, and a larger --max-num-batched-tokens " +
			"for long prompts",
		"transformers": "let a pass take more requests: a larger max_batch_tokens, max_requests_per_batch and num_blocks (" +
			"or max_memory_percent) of ContinuousBatchingConfig",
		"SGLang": "let a pass take more requests: --max-running-requests 64, and --cuda-graph-max-bs as large",
		"TGI": "let a pass take more requests: text-generation-launcher --max-batch-total-tokens as memory allows, " +
			"and a smaller --waiting-served-ratio",
		"Triton": "let the server make batches: max_batch_size: 8 and dynamic_batching " +
			"{ max_queue_delay_microseconds: 1000 } in the model's config.pbtxt",
	},
	CacheFull: {
		"vLLM": "make room for more tokens: vllm serve --gpu-memory-utilization 0.95 (on a CPU VLLM_CPU_KVCACHE_SPACE), " +
			"--kv-cache-dtype fp8, no --num-gpu-blocks-override, more memory (--tensor-parallel-size). Or let fewer in: a smaller " +
			"--max-model-len or --max-num-seqs",
		"transformers": "make room for more tokens: a larger num_blocks or max_memory_percent of ContinuousBatchingConfig, more memory. " +
			"Or let fewer in: a smaller max_requests_per_batch",
		"SGLang": "make room for more tokens: --mem-fraction-static 0.9, --kv-cache-dtype fp8_e5m2, more memory " +
			"(--tp-size). Or let fewer in: --max-running-requests",
		"TGI": "make room for more tokens: --cuda-memory-fraction 0.95, --kv-cache-dtype fp8_e5m2, more memory " +
			"(--num-shard). Or let fewer in: a smaller --max-batch-total-tokens",
	},
}

// SettingsOf is what helps against a class in the words of a server; "" if the server or its setting is unknown.
func (c Class) SettingsOf(server string) string { return serverSettings[c][server] }

// onceAndKept is what to do with work that several requests share.
const onceAndKept = "What several requests share: once, and kept (functools.lru_cache). "

// besideModel is where work for requests goes that stays on the host.
const besideModel = "The rest beside the model and not in turn with it: native code in a thread (asyncio.to_thread, run_in_executor), " +
	"Python code in processes (LitServe: workers_per_device, Ray Serve: num_replicas, with a part of num_gpus each)"

// workOfRequest is advice for work that is done for each request, by the kind of work. Advice for a data set speaks of
// epochs instead.
var workOfRequest = map[Kind]string{
	OfLists: "numpy.stack(arrays), then torch.from_numpy, copies each at once: a list of arrays that torch.tensor is given is " +
		"walked through number by number",
	Unpacking: kindWords[Unpacking][1],
	Growing:   kindWords[Growing][1],
	Searching: kindWords[Searching][1],
	Tables:    kindWords[Tables][1],
	Writing: "behind the answer: from a thread with a queue, or in a background task, and for several requests at once (one " +
		"write, one fsync)",
	Plotting: "numbers in the place of a drawing: boxes and words as JSON, which the client draws. Else on a smaller picture, with " +
		"fonts that are loaded once",
	Sorting: "only the first few: torch.topk or numpy.argpartition in the place of a whole sort",
	Nearest: "compare {place}, for a whole batch (one product, then torch.topk), or by an index (faiss, hnswlib). " +
		"Only the first few: numpy.argpartition in the place of argsort",
	Matching: "one pattern for several words (re.compile of an alternation, once), a set of words, or plain methods of str",
	Parser:   "a parser in native code (orjson, pyarrow, pandas.read_csv), for the part that is used",
	Arrays: "one call on whole arrays in the place of a loop over their parts, for a whole batch {place} (torch has " +
		"most of what NumPy has), or on less: the part that is used, float32 or uint8 in the place of float64",
	Augmentation: "{place}, for a whole batch (torchvision.transforms.v2 and functional.interpolate take tensors " +
		"there, torchvision.ops.roi_align cuts boxes out), or on less: the size that the model takes",
	Afterwards: "what comes out of a pass, {place} and all at once (torchvision.ops.batched_nms, torch.topk, masks as " +
		"whole tensors): only what is left becomes numbers of Python",
	Spectra: "{place}, for a whole batch: the transforms of torchaudio take tensors there. Make the transform (its " +
		"windows, its filter bank) once",
}

// onModelsPlace says in a text where the model computes: {place} is the device, if the machine has one.
func onModelsPlace(text string, device bool) string {
	place := "in PyTorch"
	if device {
		place = "on the device"
	}
	return strings.ReplaceAll(text, "{place}", place)
}
