package metrics

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// server is a kind of server: how its command line looks, where it listens, and what its metrics are called.
type server struct {
	name    string
	program string
	verb    string   // the program's first argument, "" any
	port    int      // where it serves metrics unless a flag says otherwise
	flags   []string // that name another port

	prefix string // of its metrics
	other  string // another prefix, for which the same names follow
	// What the metrics are called. Several names of one, with spaces between, are of several versions: the first
	// that a page has counts.
	//
	// Gauges. Of several series, running and waiting are added up, and the cache is a mean.
	running, waiting, cache string
	// Counters, added up. done has successes and failures.
	preempted, passes, samples string
	done                       []string // without it, the count of time
	// time is a histogram of requests, or a counter of their sum, in units of unit seconds.
	time string
	unit float64
}

// target is a port of a server that listens.
type target struct {
	pid     int
	server  *server
	port    int
	address string // on loopback
}

// servers are those that are known. The names were checked on 29 November 2026 on pages that people recorded, and
// that the tests have: vLLM's of 0.32, and gpu_cache_usage_perc of the versions before 0.9; SGLang's of 0.4 and 0.5,
// whose prefix has an underscore behind its router (sgl-project/sglang#12618); Triton's of 2022. TGI's are those of
// docs/source/reference/metrics.md.
var servers = []server{
	{
		name: "vLLM", program: "vllm", verb: "serve", port: 8000, flags: []string{"--port"}, prefix: "vllm:",
		running: "vllm:num_requests_running", waiting: "vllm:num_requests_waiting",
		cache:     "vllm:kv_cache_usage_perc vllm:gpu_cache_usage_perc",
		preempted: "vllm:num_preemptions_total", done: []string{"vllm:request_success_total"},
		passes: "vllm:iteration_tokens_total", time: "vllm:e2e_request_latency_seconds", unit: 1,
	},
	{
		name: "SGLang", program: "sglang", verb: "serve", port: 30000, flags: []string{"--port"},
		prefix: "sglang:", other: "sglang_",
		running: "sglang:num_running_reqs", waiting: "sglang:num_queue_reqs", cache: "sglang:token_usage",
		preempted: "sglang:num_retracted_requests_total sglang:num_retracted_reqs_total",
		done:      []string{"sglang:num_requests_total"},
		time:      "sglang:e2e_request_latency_seconds", unit: 1,
	},
	{
		name: "TGI", program: "text-generation-router", port: 3000, flags: []string{"--port", "-p"}, prefix: "tgi_",
		running: "tgi_batch_current_size", waiting: "tgi_queue_size",
		done:   []string{"tgi_request_success", "tgi_request_failure"},
		passes: "tgi_batch_inference_count", time: "tgi_request_duration", unit: 1,
	},
	{
		name: "Triton", program: "tritonserver", port: 8002, flags: []string{"--metrics-port"}, prefix: "nv_inference_",
		waiting: "nv_inference_pending_request_count",
		done:    []string{"nv_inference_request_success", "nv_inference_request_failure"},
		passes:  "nv_inference_exec_count", samples: "nv_inference_count",
		time: "nv_inference_request_duration_us", unit: 1e-6,
	},
}

// modules are programs of servers that are started as python -m MODULE.
var modules = map[string]string{
	"vllm.entrypoints.openai.api_server": "vLLM", "vllm.entrypoints.cli.main": "vLLM", "sglang.launch_server": "SGLang",
}

// recognise returns the server that a command line starts, and the port of its metrics; nil if it starts none.
func recognise(command []string) (*server, int) {
	s, rest := findServer(command)
	if s == nil {
		return nil, 0
	}
	port := s.port
	for i, word := range rest {
		flag, value, joined := strings.Cut(word, "=")
		if !slices.Contains(s.flags, flag) {
			continue
		}
		if !joined && i+1 < len(rest) {
			value = rest[i+1]
		}
		if n, ok := parsePort(value); ok {
			port = n
		}
	}
	return s, port
}

// findServer returns the server that a command line starts itself, or by Python, and the words after its name.
func findServer(command []string) (*server, []string) {
	if len(command) > 0 && strings.HasPrefix(filepath.Base(command[0]), "python") {
		command = command[1:]
		for len(command) > 1 && strings.HasPrefix(command[0], "-") {
			if command[0] == "-m" {
				return byName(modules[command[1]]), command[2:]
			}
			command = command[1:]
		}
	}
	if len(command) == 0 {
		return nil, nil
	}
	program, rest := filepath.Base(command[0]), command[1:]
	for k := range servers {
		if s := &servers[k]; s.program == program && (s.verb == "" || len(rest) > 0 && rest[0] == s.verb) {
			return s, rest
		}
	}
	return nil, nil
}

func byName(name string) *server {
	for k := range servers {
		if servers[k].name == name {
			return &servers[k]
		}
	}
	return nil
}

func parsePort(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 16)
	return int(n), err == nil && n > 0
}
