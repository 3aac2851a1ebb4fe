package live

import (
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// TestKindOfLoop is what a launching thread does outside of fetches.
func TestKindOfLoop(t *testing.T) {
	const loader = "torch/utils/data/dataloader.py"
	for _, c := range []struct {
		kind  diagnose.Kind
		stack []recording.Place
	}{
		{diagnose.Launching, places("/train.py main", "transformers/trainer.py Trainer.train")},
		{diagnose.Launching, places("/train.py main", "lightning/pytorch/trainer/trainer.py Trainer.fit")},
		{diagnose.Saving, places("/train.py main", "transformers/trainer.py Trainer.train", "torch/serialization.py save")},
		{diagnose.StartingWorkers, places("/train.py main", "lightning/pytorch/trainer/trainer.py Trainer.fit", loader+" DataLoader.__iter__", "multiprocessing/popen_fork.py Popen._launch")},
		{diagnose.Sampling, places(loader+" __next__", "/train.py Buckets.__iter__", "wave.py open")},
		{diagnose.EndingWorkers, places("/train.py main", loader+" _MultiProcessingDataLoaderIter.__del__", "selectors.py select")},
		{diagnose.HandOver, places("/train.py main", loader+" __next__", "multiprocessing/reduction.py rebuild")},
		{diagnose.Awaiting, places("/train.py main", loader+" __next__", "selectors.py select")},
		{diagnose.HandOver, places("/train.py main", loader+" __next__", "multiprocessing/queues.py Queue.get")},
		{diagnose.Retrying, places("/train.py offer", "queue.py Queue.put_nowait", "queue.py Queue.put")},
		{diagnose.Locking, places("/train.py offer", "queue.py Queue.put")},
		{diagnose.Writing, places("/train.py dump", "PIL/Image.py Image.save")},
		{diagnose.Writing, places("/train.py dump", "PIL/Image.py Image.save", "PIL/PngImagePlugin.py _save", "PIL/ImageFile.py _encode_tile")},
		{diagnose.Plotting, places("/train.py plot_losses", "PIL/Image.py Image.save", "PIL/ImageFile.py _encode_tile")},
		{diagnose.Profiling, places("/train.py main", "torch/profiler/profiler.py profile.step")},
		{diagnose.Launching, places("/train.py main", "torch/optim/optimizer.py step", "torch/autograd/profiler.py record_function.__enter__")},
		{diagnose.Anomalies, places("/train.py Block.forward", "torch/nn/modules/linear.py Linear.forward", "torch/fx/traceback.py format_stack")},
		{diagnose.Preparing, places("/train.py read", "PIL/Image.py Image.open")},
		{diagnose.Drawing, places("/train.py Buffer.sample", "random.py Random.sample")},
		{diagnose.Collective, places("/train.py reduce_losses", "torch/distributed/c10d_logger.py _exception_logger.<locals>.wrapper")},
		{diagnose.Launching, places("/train.py main", "torch/nn/modules/module.py Module._call_impl", "torch/distributed/fsdp/_runtime_utils.py _unshard", "torch/distributed/c10d_logger.py wrapper")},
		{diagnose.Saving, places("/train.py keep", "torch/serialization.py save", "torch/serialization.py _save")},
		{diagnose.Preparing, places("/train.py read", "torch/serialization.py load", "torch/serialization.py _load")},
		{diagnose.Preparing, places("/train.py index", "json/__init__.py dumps")},
		{diagnose.Writing, places("/train.py keep", "json/__init__.py dump")},
		{diagnose.Preparing, places("/train.py main", "torch/nn/modules/module.py Module._call_impl", "torchvision/transforms/v2/_color.py ColorJitter.transform")},
		{diagnose.Saving, places("/train.py keep", "torch/serialization.py save", "pickle.py _Pickler.memoize")},
		{diagnose.Saving, places("/train.py keep", "torch/serialization.py save", "pickle.py dump")},
		{diagnose.Pickling, places("/train.py get", "multiprocessing/queues.py Queue.get")},
		{diagnose.Launching, places("/train.py forward", "stoker/emulated.py Device.launch")},
		{diagnose.DeviceWait, places("/train.py forward", "stoker/emulated.py Device.item")},
		{diagnose.Rewarding, places("/train.py main", "/train.py reward_fn", "difflib.py SequenceMatcher.ratio")},
		{diagnose.Logging, places("/train.py Aggregator.get_logs", "PIL/Image.py Image.resize")},
		{diagnose.Plotting, places("/train.py Figure.draw", "PIL/Image.py Image.resize")},
		{diagnose.Plotting, places("/train.py plot_losses")},
		{diagnose.HostCode, places("/train.py draw")},
		{diagnose.Plotting, places("/train.py show", "PIL/ImageDraw.py ImageDraw.line")},
		{diagnose.Plotting, places("/train.py History.save_figure", "PIL/Image.py Image.resize")},
		{diagnose.Callback, places("/train.py Shown.on_train_batch_end", "PIL/Image.py Image.resize")},
		{diagnose.Acting, places("/train.py MLPPolicy.get_action", "torch/distributions/categorical.py Categorical.sample")},
		{diagnose.HostCode, places("/train.py action_space")},
		{diagnose.HostCode, places("/train.py rewarded")},
		{diagnose.Copying, places("/train.py DQN.setInput", "stoker/emulated.py Device.copy")},
		{diagnose.Copying, places("/train.py Stages.swap", "torch/nn/modules/module.py Module.to")},
		{diagnose.Launching, places("/train.py train", "torch/nn/modules/module.py Module._call_impl")},
		{diagnose.HostCode, places("/train.py extract")},
		{diagnose.Generating, places("/train.py main", "torch/utils/_contextlib.py decorate_context", "transformers/generation/utils.py GenerationMixin._sample")},
		{diagnose.Generating, places("/train.py Decoder.generate")},
		{diagnose.Simulating, places("/train.py main", "gymnasium/envs/classic_control/cartpole.py CartPoleEnv.step")},
		{diagnose.Unpacking, places("/train.py main", "torch/_tensor.py Tensor.__iter__")},
		{diagnose.Logging, places("/train.py main", "torch/_tensor.py Tensor.__repr__", "torch/_tensor_str.py _str")},
		{diagnose.Logging, places("/train.py debug", "torch/_tensor.py Tensor.__repr__")},
		{diagnose.Configuring, places("/train.py LiveConfig.refresh", "yaml/__init__.py safe_load")},
		{diagnose.Tidying, places("/train.py Features.evict", "pathlib.py Path.stat")},
		{diagnose.Tidying, places("/train.py clear_cache", "pathlib.py Path.unlink")},
		{diagnose.EmptyCache, places("/train.py clear_cache")},
		{diagnose.Preparing, places("/train.py load_sample", "json/__init__.py loads")},
		{diagnose.HostCode, places("/train.py generate_anchors")},
		{diagnose.Growing, places("/train.py evaluate", "numpy/lib/_function_base_impl.py append")},
		{diagnose.Metrics, places("/train.py update_metrics", "/train.py spearman", "numpy/lib/_function_base_impl.py corrcoef")},
		{diagnose.SaveQueue, places("/train.py fit", "/train.py CheckpointManager.wait_until_finished", "threading.py Thread.join")},
		{diagnose.Locking, places("/train.py train_and_save", "/train.py Inbox.take", "threading.py Condition.wait")},
	} {
		if got := kindOfLoop(recording.Stack{Places: c.stack}); got != c.kind {
			t.Errorf("%v is %s, want %s", c.stack, got, c.kind)
		}
	}
}

// Launches and waits of a function that generates are counted as its own, though their lines have other kinds.
func TestSecondsOfGenerating(t *testing.T) {
	run := &recording.Run{Series: []recording.Series{
		{Signal: recording.FetchLooks, Subject: "process/7;loop", T: []float64{0, 20}, V: []float64{0, 2000}},
		{
			Signal: recording.FetchStack, T: []float64{0, 20}, V: []float64{0, 15},
			Subject: "process/7;loop;asleep;/t.py:9 Trainer.generate;stoker/emulated.py:300 Device.item",
		},
		{Signal: recording.FetchStack, Subject: "process/7;loop;core;/t.py:5 generate_anchors", T: []float64{0, 20}, V: []float64{0, 2}},
	}}
	if got := FindLoopLines(run, 7, 0, 20); got.Generating != 15 || got.Lines[0].Kind != diagnose.DeviceWait {
		t.Errorf("%v s of %+v", got.Generating, got.Lines)
	}
}

// Native code has no frame. What the line's text calls tells its kind, in a loop and in a data set.
func TestKindOfNativeCode(t *testing.T) {
	for call, want := range map[string][2]diagnose.Kind{
		"":          {diagnose.HostCode, diagnose.Code},
		"array":     {diagnose.OfLists, diagnose.OfLists},
		"execute":   {diagnose.Queries, diagnose.Queries},
		"cv2":       {diagnose.Preparing, diagnose.Augmentation},
		"open":      {diagnose.LoopReads, diagnose.Reading},
		"grow":      {diagnose.Growing, diagnose.Growing},
		"print":     {diagnose.Logging, diagnose.Logging},
		"loop":      {diagnose.Looping, diagnose.Elements},
		"search":    {diagnose.Searching, diagnose.Searching},
		"numpy":     {diagnose.Arrays, diagnose.Arrays},
		"torch":     {diagnose.HostCode, diagnose.Arrays},
		"system":    {diagnose.Subprocess, diagnose.Programs},
		"new word":  {diagnose.HostCode, diagnose.Code},
		"tokenizer": {diagnose.Preparing, diagnose.Tokenizer},
	} {
		s := recording.Stack{Places: places("/train.py step"), Native: call}
		if loop, data := kindOfLoop(s), kindOf(s); loop != want[0] || data != want[1] {
			t.Errorf("%q is %s in a loop and %s in a data set, want %v", call, loop, data, want)
		}
	}
	blocked := recording.Stack{Places: places("/train.py step", "threading.py Lock.acquire"), Native: "open"}
	if got := kindOfLoop(blocked); got != diagnose.Locking {
		t.Errorf("a lock is %s", got)
	}
}

// An environment that sleeps waits for its simulator, which is the program's own; what nothing names is not.
func TestEnvironmentsWait(t *testing.T) {
	for function, want := range map[string]float64{"DriveEnv.step": 0.9, "Client.step": 0} {
		l := filler{Case: diagnose.NewCase(), run: &recording.Run{Series: []recording.Series{
			{Signal: recording.FetchLooks, Subject: "process/7;loop", T: []float64{0, 20}, V: []float64{0, 2000}},
			{Signal: recording.FetchStack, Subject: "process/7;loop;asleep;/t.py:9 " + function, T: []float64{0, 20}, V: []float64{0, 18}},
			{Signal: recording.FetchStack, Subject: "process/7;loop;core;/t.py:5 main", T: []float64{0, 20}, V: []float64{0, 2}},
		}}}
		l.LoopLines = FindLoopLines(l.run, 7, 0, 20)
		if got := l.shareOfOwnWait(); got != want {
			t.Errorf("%s waits for its own %g of the time", function, got)
		}
	}
}

// A device that gets a little to do again and again is in use.
func TestKernelsRecur(t *testing.T) {
	for name, c := range map[string]struct {
		every, until int
		want         bool
	}{
		"again and again": {7, 100, true},
		"at the begin":    {7, 40, false},
		"once":            {100, 100, false},
	} {
		s := recording.Series{Signal: recording.GPUUtilisation, Subject: "gpu/0"}
		for i := range 100 {
			s.T, s.V = append(s.T, float64(i)), append(s.V, 0)
			if i%c.every == 0 && i < c.until {
				s.V[i] = 0.04
			}
		}
		l := filler{Case: diagnose.NewCase(), run: &recording.Run{Series: []recording.Series{s}}}
		l.run.Facts.GPUs = []recording.GPU{{Index: 0}}
		l.From, l.To = 0, 100
		if got := l.seesKernelsRecur(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// The names of the program's functions tell their work where no library's do. log_prob is not logging.
func TestKindOfNames(t *testing.T) {
	for function, want := range map[string]diagnose.Kind{
		"TensorboardWriter.add_train_histogram": diagnose.Logging, "Logger.write": diagnose.Logging, "log_metrics": diagnose.Logging,
		"Policy.log_prob": diagnose.HostCode, "logits": diagnose.HostCode, "log_softmax": diagnose.HostCode, "Catalog.read": diagnose.HostCode,
		"CartPoleEnv.step": diagnose.Simulating, "CartPoleEnv.render": diagnose.Rendering, "Environment.reset": diagnose.Simulating, "Envelope.fit": diagnose.HostCode,
		"Meter.edit_distance": diagnose.Metrics, "compute_metrics.<locals>.<listcomp>": diagnose.Metrics, "buffer": diagnose.HostCode,
		"EMAHook.update": diagnose.Averaging, "update_target": diagnose.Averaging, "update_momentum": diagnose.Averaging,
		"update_moments": diagnose.HostCode, "schema": diagnose.HostCode,
		"ReplayMemory.sample": diagnose.Replaying, "compute_advantages": diagnose.Returns, "returns": diagnose.HostCode,
		"CachingAllocator.malloc": diagnose.EmptyCache, "Detector.postprocess": diagnose.Afterwards,
		"collate_batch": diagnose.Preparing, "next_batch": diagnose.Preparing, "nextafter": diagnose.HostCode,
		"reload_settings": diagnose.Configuring, "GPT2Config.to_dict": diagnose.HostCode, "rotate_boxes": diagnose.HostCode, "remove_old_checkpoints": diagnose.Tidying,
		"make_heatmaps": diagnose.Targets, "sample_negatives": diagnose.Negatives,
		"mixup_data": diagnose.Augmenting, "Hook.after_train_iter": diagnose.Callback, "on_weekend": diagnose.HostCode,
	} {
		for _, native := range []string{"", "tolist"} {
			if got := kindOfLoop(recording.Stack{Places: places("/train.py " + function), Native: native}); got != want && native == "" ||
				got != want && want != diagnose.HostCode {
				t.Errorf("%s that calls %q is %s, want %s", function, native, got, want)
			}
		}
	}
}

// What others do for the program is told by the name of the function that waits for them.
func TestKindOfWaits(t *testing.T) {
	for function, want := range map[string]diagnose.Kind{
		"RewardModel.score": diagnose.Rewarding, "Azure.log_metric": diagnose.Logging, "CartPoleEnv.step": diagnose.Simulating,
		"Broker.poll": diagnose.Pausing, "Policy.log_prob": diagnose.Pausing,
	} {
		if got := kindOfLoop(recording.Stack{Places: places("/train.py " + function), Asleep: true}); got != want {
			t.Errorf("%s sleeps: %s, want %s", function, got, want)
		}
	}
}

// A line of Python that waits for a lock takes none itself: it is the interpreter's. What sleeps at another line may
// wait for anything.
func TestLoopsAwaitTheInterpreter(t *testing.T) {
	at := func(line int, asleep bool, awaits recording.Awaits, native string) recording.Stack {
		return recording.Stack{Places: []recording.Place{{File: "/train.py", Line: line, Function: "step"}}, Asleep: asleep, Awaits: awaits, Native: native}
	}
	locked, sleeps, other := at(54, true, recording.AwaitsLock, loopOfPython), at(54, true, "", loopOfPython), at(60, true, "", loopOfPython)
	awaits := awaitsOf([]recording.Stack{locked, sleeps, other, at(54, false, "", loopOfPython)})
	for i, c := range []struct {
		stack recording.Stack
		want  bool
	}{
		{locked, true},
		{sleeps, true},
		{other, false},
		{at(54, false, "", loopOfPython), false},
		{at(70, true, recording.AwaitsLock, ""), false},
	} {
		if got := awaits(c.stack); got != c.want {
			t.Errorf("%d: %t", i, got)
		}
	}
	if awaitsOf([]recording.Stack{sleeps})(sleeps) {
		t.Error("no look found it at the lock")
	}
}

// A thread that sleeps in the queue waits for a worker; on a core it unpickles what one sent.
func TestQueueOfWorkers(t *testing.T) {
	stack := recording.Stack{
		Places: places("/train.py main", "torch/utils/data/dataloader.py __next__", "multiprocessing/queues.py Queue.get"),
		Asleep: true,
	}
	if got := kindOfLoop(stack); got != diagnose.Awaiting {
		t.Errorf("%+v is %s", stack, got)
	}
}

// An import is over before a loop's first step: what is counted in of it, as stacks are written late, is left out.
func TestLoopLinesLeaveImportsOut(t *testing.T) {
	series := func(signal recording.Signal, subject string, v float64) recording.Series {
		return recording.Series{Signal: signal, Subject: subject, T: []float64{0, 5}, V: []float64{0, v}}
	}
	const thread = "process/7;loop"
	run := &recording.Run{Series: []recording.Series{
		series(recording.FetchLooks, thread, 50),
		series(recording.FetchStack, thread+";core;/home/me/train.py:3 <module>;frozen importlib._bootstrap:9 _find_and_load", 4),
		series(recording.FetchStack, thread+";core;/home/me/train.py:30 main", 1),
	}}
	for from, want := range map[float64]int{0: 3, 4: 30} {
		if lines := FindLoopLines(run, 7, from, 5).Lines; len(lines) == 0 || lines[0].Own.Line != want {
			t.Errorf("from %v s on: %v, want line %d first", from, lines, want)
		}
	}
}
