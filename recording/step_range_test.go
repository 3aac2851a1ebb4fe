package recording_test

import (
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

func TestStepRange(t *testing.T) {
	for text, want := range map[string]string{
		"step 12": "step … 12", "iteration_3": "iteration_… 3", "Train Step #4": "Train Step #… 4", "train_step": "train_step… ", "batch": "batch… ", "epoch 1, iter 20": "epoch 1, iter … 20",
		"optimizer.step 3": "", "load batch 3": "", "footstep 3": "", "forward": "", "validation step 1": "", "step 1 of many": "",
	} {
		family, number, ok := recording.StepRange(text)
		if got := family + " " + number; ok != (want != "") || ok && got != want {
			t.Errorf("recording.StepRange(%q) = %q, %v", text, got, ok)
		}
	}
}

func TestServingPass(t *testing.T) {
	for text, want := range map[string]recording.Pass{
		"step[DECODE bs=32]":                   {Phase: "decode", Requests: 32, Tokens: 32},
		"step[EXTEND bs=15 toks=15360]":        {Phase: "prefill", Requests: 15, Tokens: 15360},
		"step[TARGET_VERIFY bs=4 toks=20]":     {Phase: "target verify", Requests: 4, Tokens: 20},
		"step[IDLE ]":                          {Phase: "idle", Requests: -1, Tokens: -1},
		"execute_context_0(0)_generation_8(8)": {Phase: "decode", Requests: 8, Tokens: 8},
		"execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)":                     {Phase: "decode", Requests: 32, Tokens: 32},
		"execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37(sq37sk34489sqsq37sqsk34489)": {Phase: "prefill and decode", Requests: 46, Tokens: 8192},
		"execute_15360_context_15(sq15360sk15360sqsq15728640sqsk15728640)_generation_0(sq0sk0sqsq0sqsk0)":      {Phase: "prefill", Requests: 15, Tokens: 15360},
		"[Executor] _forward_step 12: 1 ctx reqs, 100 ctx tokens, 8 gen reqs":                                  {Phase: "prefill and decode", Requests: 9, Tokens: 108},
		"[Executor] _forward_step 12": {Phase: "pass", Requests: -1, Tokens: -1},
		"train_step":                  {},
	} {
		if got, ok := recording.ServingPass(text); got != want || ok != (want != recording.Pass{}) {
			t.Errorf("recording.ServingPass(%q) = %+v, %v, want %+v", text, got, ok, want)
		}
	}
}

// An address in the place of a thread's number is printed as one.
func TestThreadAddresses(t *testing.T) {
	for want, thread := range map[string]recording.Thread{
		"thread 17751":                    {ID: 17751},
		"thread 17751 (python3)":          {ID: 17751, Name: "python3"},
		"thread 0xa1951ea5bf845f1b":       {ID: -6803497964841705701},
		"thread 4093687616 (pt_autograd)": {ID: 4093687616, Name: "pt_autograd"},
	} {
		if got := thread.String(); got != want {
			t.Errorf("%d is %q, want %q", thread.ID, got, want)
		}
	}
}
