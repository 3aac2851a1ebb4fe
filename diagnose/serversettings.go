package diagnose

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
			"--kv-cache-dtype fp8, no --num-gpu-blocks-override, more GPUs. Or let fewer in: a smaller --max-model-len " +
			"or --max-num-seqs",
		"transformers": "make room for more tokens: a larger num_blocks or max_memory_percent of ContinuousBatchingConfig, more GPUs. " +
			"Or let fewer in: a smaller max_requests_per_batch",
		"SGLang": "make room for more tokens: --mem-fraction-static 0.9, --kv-cache-dtype fp8_e5m2, more GPUs " +
			"(--tp-size). Or let fewer in: --max-running-requests",
		"TGI": "make room for more tokens: --cuda-memory-fraction 0.95, --kv-cache-dtype fp8_e5m2, more GPUs " +
			"(--num-shard). Or let fewer in: a smaller --max-batch-total-tokens",
	},
}

// SettingsOf is what helps against a class in the words of a server; "" if the server or its setting is unknown.
func (c Class) SettingsOf(server string) string { return serverSettings[c][server] }
