package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A stack that nobody named is asked for, with what each would reach; a name that is not
// known is answered by the nearest.
func TestPredictLanguage(t *testing.T) {
	train := []string{"--model", "llama-3.1-8b", "--gpu", "h100-sxm"}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{train, exitUsage, "--software is not named, and it decides more than all else. Likely: megatron "},
		{append([]string{"--software", "megatron"}, train...), exitFine, "tokens/s"},
		{append([]string{"--software", "vllm"}, train...), exitUsage, "expected one of megatron, fsdp, xla"},
		{[]string{"--model", "llama-3.1-9b", "--gpu", "h100-sxm"}, exitUsage, "nearest: llama-3.1-8b"},
		{append([]string{"--software", "megatron", "--tp", "3"}, train...), exitUsage, "expected a multiple of 3"},
		{append([]string{"--software", "megatron", "--tokens", "lots"}, train...), exitUsage, "--tokens"},
	} {
		code, out, errs := ask(t, (*app).predictTrainCommand, c.args...)
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%v: code %d, want %d and %q:\n%s%s", c.args, code, c.code, c.want, out, errs)
		}
	}
	code, out, errs := ask(t, (*app).predictServeCommand, "--model", "deepseek-v3", "--gpu", "h200", "--tp", "8", "--precision", "fp8", "--software", "vllm")
	for _, want := range []string{"first token", "each token", "of all requests", "memory"} {
		if code != exitFine || !strings.Contains(out, want) {
			t.Errorf("code %d, stdout lacks %q:\n%s%s", code, want, out, errs)
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
		{own, exitFine, "config.json: 8.03 B parameters, 32 layers of width 4096"},
		{write("list.json", `[]`), exitUsage, "list.json: "},
		{write("other.json", `{"hidden_size": 8}`), exitUsage, "num_hidden_layers is 0: expected the config.json of a language model"},
		{filepath.Join(dir, "none.json"), exitUsage, "none.json: no such file"},
		{"my-model", exitUsage, "A model of your own is named by its config.json"},
	} {
		code, out, errs := ask(t, (*app).predictTrainCommand, "--model", c.model, "--gpu", "h100-sxm", "--software", "fsdp")
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%s: code %d, want %d and %q:\n%s%s", c.model, code, c.code, c.want, out, errs)
		}
	}
	table := func(model string) string {
		_, out, _ := ask(t, (*app).predictServeCommand, "--model", model, "--gpu", "h100-sxm", "--software", "vllm")
		_, answer, _ := strings.Cut(out, "requests ")
		return answer
	}
	if got, want := table(own), table("llama-3.1-8b"); got != want || got == "" {
		t.Errorf("of the file:\n%s\nof the table:\n%s", got, want)
	}
}
