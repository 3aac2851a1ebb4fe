package main

import (
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
