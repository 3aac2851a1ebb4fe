package predict

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
)

// Defaults are used and listed. An unknown name is answered with the nearest one, and an impossible
// split with one that fits.
func TestPredictLanguage(t *testing.T) {
	train := []string{"--model", "llama-3.1-8b", "--gpu", "h100-sxm"}
	with := func(args ...string) []string { return append(args, train...) }
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{train, cli.ExitFine, "assumed       software fsdp (--software)"},
		{with("--software", "megatron"), cli.ExitFine, "tokens/s"},
		{with("--software", "hsdp", "--gpus", "16", "--all"), cli.ExitFine, "shared as zero3"},
		{with("--software", "vllm"), cli.ExitUsage, "expected one of megatron, fsdp, deepspeed, xla"},
		{[]string{"--model", "llama-3.1-9b", "--gpu", "h100-sxm"}, cli.ExitUsage, "nearest: llama-3.1-8b"},
		{with("--tp", "3"), cli.ExitUsage, "expected a multiple of 3"},
		{with("--tokens", "lots"), cli.ExitUsage, "--tokens"},
		{with("--gpus", "12", "--global-batch", "128"), cli.ExitUsage, "expected a multiple, such as 132"},
		{with("--ep", "8"), cli.ExitUsage, "has no experts"},
		{with("--pp", "8", "--virtual", "80"), cli.ExitUsage, "--virtual is 80: expected 1 to 32"},
		{with("--gpus", "100000000"), cli.ExitUsage, "expected 1 to 262144"},
		{with("--gpus", "8", "--nodes", "3"), cli.ExitUsage, "as many GPUs on each machine"},
		{with("--shard", "zero4"), cli.ExitUsage, "expected none, zero1, zero2, zero3 (as fsdp) or hsdp"},
		{with("--compile", "maybe"), cli.ExitUsage, "expected on or off"},
		{with("--precision", "int4"), cli.ExitUsage, "expected one of bf16"},
		{with("--precision", "int8"), cli.ExitUsage, "models are not trained in int8"},
		{with("--measured", "MFU 10%"), cli.ExitFine, "below what such jobs reach"},
		{with("--measured", "8,000 tokens/s"), cli.ExitFine, "usual for such a job"},
		{with("--measured", "800,000 tokens/s"), cli.ExitUsage, "a GPU at its peak reaches"},
		{with("--measured", "8,000 tok/s/GPU"), cli.ExitFine, "usual for such a job"},
		{with("--measured", "8000 tokens/sec per gpu"), cli.ExitFine, "usual for such a job"},
		{with("--software", "deepspeed-zero2", "--all"), cli.ExitFine, "shared as zero2"},
		{with("--software", "accelerate"), cli.ExitFine, "tokens/s"},
		{with("--cp", "3", "--gpus", "9"), cli.ExitUsage, "--cp 3 does not divide the 8192 tokens"},
		{with("--network", "roce-400g", "--gpus", "16"), cli.ExitFine, "one eth-400g a machine, 6.25 GB/s a GPU"},
		{with("--network", "1B/s", "--gpus", "16"), cli.ExitUsage, "--network is 1 B/s, less than any job has"},
		{train, cli.ExitFine, "8 GPUs (--gpus), sequences of 8192 tokens (--tokens)"},
		{[]string{"--model", "meta-llama/Meta-Llama-3.1-8B-Instruct", "--gpu", "h100-sxm"}, cli.ExitFine, "tokens/s"},
		{[]string{"--model", "mistralai/Mixtral-8x7B-Instruct-v0.1", "--gpu", "h100-sxm", "--gpus", "16"}, cli.ExitFine, "tokens/s"},
		{with("--measured", "fast"), cli.ExitUsage, "such as '4,550 tokens/s' or 'MFU 46%'"},
		{with("--measured", "MFU 0%"), cli.ExitUsage, "expected what a GPU reaches"},
		{with("--measured", "0 tokens/s"), cli.ExitUsage, "expected what a GPU reaches"},
		{with("--software", "hsdp", "--shard", "none"), cli.ExitUsage, "shares as hsdp, and --shard none says otherwise"},
		{with("--shard", "none", "--shard-group", "4"), cli.ExitUsage, "--shard none shares nothing"},
		{with("--software", "maxtext", "--compile", "off"), cli.ExitUsage, "xla always compiles"},
		{with("--network", "1PB/s", "--gpus", "16"), cli.ExitUsage, "--network is 1 PB/s, more than any job has"},
		{with("--network", "ib-hdr", "--gpus", "16"), cli.ExitFine, "one ib-hdr a machine, 3.12 GB/s a GPU"},
		{with("--measured", "9,000 tokens/s", "--json"), cli.ExitFine, `"measured_tokens_per_s_per_gpu": 9000`},
		{with("--json"), cli.ExitFine, `"software fsdp (--software)"`},
		{with("--hardware", "none.json"), cli.ExitUsage, "none.json"},
		{with("--layout"), cli.ExitFine, "--gpus 8"},
		{with("--layout"), cli.ExitFine, "assumed       software fsdp (--software)"},
		{with("--layout", "--json"), cli.ExitFine, `"pipeline": `},
		{with("--layout", "--tp", "4"), cli.ExitUsage, "--layout looks for it: leave --tp out"},
		{[]string{"--model", "resnet50", "--gpu", "h100-sxm"}, cli.ExitUsage, "hint: stoker predict --model resnet50"},
		{[]string{"--model", "llama-3.2-1b", "--gpu", "v100-sxm-32gb"}, cli.ExitFine, "precision fp16 (--precision)"},
		{[]string{"--model", "llama-3.1-8b", "--gpu", "rtx-4090", "--gpus", "1"}, cli.ExitUsage, "hint: this fits: --gpus "},
		{[]string{"--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--gpus", "1"}, cli.ExitFine, "memory        it likely does not fit"},
	} {
		code, out, errs := ask(t, trainCommand, c.args...)
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%v: code %d, want %d and %q:\n%s%s", c.args, code, c.code, c.want, out, errs)
		}
		if lines := strings.Count(out, "\n"); code == cli.ExitFine && !slices.Contains(c.args, "--all") &&
			!slices.Contains(c.args, "--layout") && !slices.Contains(c.args, "--json") && lines > 8 {
			t.Errorf("%v: %d lines, expected 8 at most:\n%s", c.args, lines, out)
		}
	}
	code, out, errs := ask(t, serveCommand, "--model", "deepseek-v3", "--gpu", "h200", "--tp", "8", "--precision", "fp8", "--software", "vllm")
	for _, want := range []string{"first token", "each token", "of all requests", "memory"} {
		if code != cli.ExitFine || !strings.Contains(out, want) {
			t.Errorf("code %d, stdout lacks %q:\n%s%s", code, want, out, errs)
		}
	}
}

// A draft belongs to the model that checks it, and so do flags about it.
func TestPredictDraft(t *testing.T) {
	serve := []string{"--model", "llama-3.1-8b", "--gpu", "h100-sxm"}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--draft", "llama-3.2-1b"}, cli.ExitFine, "each token"},
		{[]string{"--accept", "50%"}, cli.ExitUsage, "--accept is about a --draft"},
		{[]string{"--guesses", "5"}, cli.ExitUsage, "--guesses is about a --draft"},
		{[]string{"--draft", "llama-3.1-405b"}, cli.ExitUsage, "Llama 3.1 405B is not smaller than Llama 3.1 8B"},
		{[]string{"--draft", "foo"}, cli.ExitUsage, "--draft \"foo\" is not in the table"},
	} {
		code, out, errs := ask(t, serveCommand, append(c.args, serve...)...)
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%v: code %d, want %d and %q:\n%s%s", c.args, code, c.code, c.want, out, errs)
		}
	}
}

// A model of one's own is its config.json, and what was read of it is said. A file that is
// none is refused by its name.
func TestPredictOwnLanguageModel(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	own := write("config.json", `{"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
		"num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256}`)
	for _, c := range []struct {
		model string
		code  int
		want  string
	}{
		{own, cli.ExitFine, "config.json: 8.03 B parameters, 32 layers of width 4096"},
		{write("list.json", `[]`), cli.ExitUsage, "list.json is not an object"},
		{write("other.json", `{"hidden_size": 8}`), cli.ExitUsage, "num_hidden_layers is missing or 0: expected the config.json of a language model"},
		{filepath.Join(dir, "none.json"), cli.ExitUsage, "none.json: no such file"},
		{"my-model", cli.ExitUsage, "A model of your own is named by its config.json"},
	} {
		code, out, errs := ask(t, trainCommand, "--model", c.model, "--gpu", "h100-sxm", "--software", "fsdp")
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%s: code %d, want %d and %q:\n%s%s", c.model, code, c.code, c.want, out, errs)
		}
	}
	table := func(model string) string {
		_, out, _ := ask(t, serveCommand, "--model", model, "--gpu", "h100-sxm", "--software", "vllm")
		_, answer, _ := strings.Cut(out, "tokens/s ")
		return answer
	}
	if got, want := table(own), table("llama-3.1-8b"); got != want || got == "" {
		t.Errorf("of the file:\n%s\nof the table:\n%s", got, want)
	}
}
