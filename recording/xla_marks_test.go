package recording

import "testing"

// TestTFDataMarks: a span that hands a batch to the loop is a wait; one that prepares batches
// ahead or passes them on is not.
func TestTFDataMarks(t *testing.T) {
	for _, c := range []struct {
		want bool
		name string
	}{
		{true, "IteratorGetNext"},
		{true, "IteratorGetNext:IteratorGetNext"},
		{true, "cond/IteratorGetNextAsOptional_4:IteratorGetNextAsOptional"},
		{true, "IteratorGetNextAsOptionalOp::DoCompute"},
		{false, "IteratorGetNextAsOptional_5/_47:_Recv"},
		{false, "cond_6/IteratorGetNextAsOptional_6/_77:Switch"},
		{true, "input/shuffle_batch:QueueDequeueMany"},
		{false, "input/shuffle_batch:QueueEnqueueMany"},
		{false, "Iterator::Prefetch::Generator"},
		{false, "MultiDeviceIteratorGetNextFromShard:MultiDeviceIteratorGetNextFromShard"},
	} {
		if got := LoaderSpan(c.name); got != c.want {
			t.Errorf("LoaderSpan(%q) = %v", c.name, got)
		}
	}
}

func TestXLAMarks(t *testing.T) {
	if !CompileSpan("jax/_src/compiler.py(238): backend_compile") || !CompileSpan("XlaCompileOp") || CompileSpan("train.py(7): compile_report") {
		t.Error("what compiles is not told from what does not")
	}
	if !CompileSpan("triton/compiler/compiler.py(226): compile") || CompileSpan("triton/compiler/compiler.py(493): runner") {
		t.Error("a launch of what Triton compiled is no compilation")
	}
	if Learns("void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>") || !Learns("cudnn::detail::wgrad_alg0_engine<float>") {
		t.Error("dgrad kernels compute transposed convolutions as well")
	}
	if !CompileSpan("torch/_inductor/compile_fx.py(640): compile_fx_inner") || CompileSpan("torch/_inductor/compile_fx.py(979): run") {
		t.Error("compiling is not told from a call of what was compiled")
	}
	if !WaitSpan("jax/_src/api.py(3154): block_until_ready") || WaitSpan("wait.py(1): forward") {
		t.Error("what waits for the device is not told from what does not")
	}
	if OwnFrame("stoker/emulated.py(289): _wait") || OwnFrame("record.py(91): __torch_dispatch__") {
		t.Error("PyTorch's and our own calls are taken for the user's")
	}
	if OwnFrame("jax/_src/api.py(3154): block_until_ready") || !OwnFrame("train.py(41): forward") {
		t.Error("JAX's files are not told from the user's")
	}
}
