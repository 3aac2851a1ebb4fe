package live

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// FindLoopLines finds where a trainer's own thread was from one time to another. The lines of one
// function that call the same are one, which has the number of the most frequent.
func FindLoopLines(run *recording.Run, pid int, from, to float64) diagnose.LoopLines {
	stacks, looks := run.FetchStacks(from, to, recording.Loading{PID: pid, Outside: true})
	all, awaits := diagnose.LoopLines{Looks: looks}, awaitsOf(stacks)
	type key struct{ file, function, call, name string }
	places, evaluations := map[key]int{}, map[recording.Place]float64{}
	for _, s := range stacks {
		if all.Seconds += s.Seconds; awaits(s) {
			all.Locked += s.Seconds
		}
		if len(s.Places) == 0 || from > 0 && imports(s) {
			continue
		}
		if slices.ContainsFunc(s.Places, acts) {
			all.Acting += s.Seconds
		}
		if slices.ContainsFunc(s.Places, generates) {
			all.Generating += s.Seconds
		}
		at := slices.IndexFunc(s.Places, recording.Place.Evaluates)
		if at >= 0 {
			all.Evaluating += s.Seconds
			if evaluations[s.Places[at]] += s.Seconds; evaluations[s.Places[at]] > evaluations[all.Evaluation] {
				all.Evaluation = s.Places[at]
			}
		}
		kind := kindOfLoop(s)
		own, call := splitLoop(s, kind)
		if kind == diagnose.Arrays && isOfLine(own, call) {
			call = recording.Place{}
		}
		k := key{own.File, own.Function, call.File, call.Function}
		if kind == diagnose.Preparing { // one line may call many transforms
			k = key{own.File, own.Function, "", strconv.Itoa(own.Line)}
			call = recording.Place{}
		} else if slices.Contains(diagnose.OfLoader, kind) { // one call waits for a batch, then takes it over
			k.name = string(kind)
		}
		line := addStack(&all, places, k, diagnose.Line{Own: own, Call: call, Kind: kind}, s)
		if at >= 0 {
			line.Evaluating += s.Seconds
			line.Evaluation = s.Places[at]
		}
	}
	for i := range all.Lines {
		all.Lines[i].Share = estimateShare(all.Lines[i].Seconds, all.Seconds, looks)
	}
	slices.SortStableFunc(all.Lines, func(a, b diagnose.LoopLine) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.String(), b.String()))
	})
	return all
}

// imports reports whether a stack loads modules for the program's main file. A loop does that before its first step:
// stacks are written every few seconds, and some of the time before a window is counted in.
func imports(s recording.Stack) bool {
	own := slices.IndexFunc(s.Places, recording.Place.Own)
	return own >= 0 && s.Places[own].Function == "<module>" && slices.ContainsFunc(s.Places, recording.Place.Imports)
}

// addStack adds a stack's seconds to the line of its key, which is line if the key is new. It returns that line.
func addStack[K comparable](
	all *diagnose.LoopLines, places map[K]int, key K, line diagnose.Line, s recording.Stack,
) *diagnose.LoopLine {
	at, known := places[key]
	if !known {
		at = len(all.Lines)
		places[key] = at
		all.Lines = append(all.Lines, diagnose.LoopLine{Line: line})
	}
	if all.Lines[at].Seconds += s.Seconds; s.Asleep {
		all.Lines[at].Asleep += s.Seconds
		if s.Awaits == recording.AwaitsLock {
			all.Lines[at].Locked += s.Seconds
		}
	}
	return &all.Lines[at]
}

// splitLoop returns the program's own line, and the library's function behind it that names the work.
func splitLoop(s recording.Stack, kind diagnose.Kind) (own, call recording.Place) {
	for _, p := range s.Places {
		if p.Own() {
			own, call = p, recording.Place{}
		} else if call.File == "" || kind == diagnose.Sampling && p.File == recording.SamplerFile ||
			cmp.Or(kindOfPlace(p), kindOfData(p)) == kind {
			call = p
		}
	}
	return own, call
}

// kindsByFile maps the file of a library's function to its kind. The first row that fits counts.
type kindsByFile []struct {
	kind  diagnose.Kind
	files []string
}

// find returns what a function of a file does; "" if the table does not have it.
func (t kindsByFile) find(file string) diagnose.Kind {
	for _, row := range t {
		if startsWithAny(file, row.files) {
			return row.kind
		}
	}
	return ""
}

// loopBy has the libraries that a loop calls outside of its steps.
var loopBy = kindsByFile{
	{diagnose.Saving, []string{
		serialization, "torch/distributed/checkpoint/", "safetensors/", "shutil.py", "tarfile.py",
	}},
	{diagnose.Subprocess, []string{"subprocess.py", "multiprocessing/popen", "multiprocessing/process.py"}},
	{diagnose.Compiling, []string{"torch/_dynamo/", "torch/_inductor/", "triton/", "torch/_functorch/", "torch/jit/"}},
	{diagnose.Profiling, []string{"torch/profiler/"}}, // record_function, which all may call, is in torch/autograd
	{diagnose.Anomalies, []string{"torch/fx/traceback.py"}},
	{diagnose.Plotting, []string{"matplotlib/", "seaborn/", "plotly/", "PIL/ImageDraw"}},
	{diagnose.Logging, []string{
		"wandb/", "mlflow/", "comet_ml/", "neptune/", "clearml/", "torch/utils/tensorboard/", "tensorboard/",
		"tensorboardX/",
		"logging/", "tqdm/", "rich/", "swanlab/", "aim/", "torch/_tensor_str.py", "warnings.py",
	}},
	{diagnose.Clustering, []string{
		"sklearn/cluster/", "sklearn/decomposition/", "sklearn/mixture/", "sklearn/manifold/",
	}},
	{diagnose.Nearest, []string{"scipy/spatial/", "sklearn/neighbors/"}},
	{diagnose.Assigning, []string{"scipy/optimize/", "lap/"}},
	{diagnose.Metrics, []string{
		"sklearn/", "torchmetrics/", "pycocotools/", "evaluate/", "scipy/ndimage/", "scipy/stats/",
		"nltk/translate/", "sacrebleu/", "rouge_score/", "Levenshtein/", "rapidfuzz/", "jiwer/", "seqeval/", "lpips/",
	}},
	{diagnose.Arrays, []string{"scipy/"}},
	{diagnose.Generating, []string{"transformers/generation/"}},
	{diagnose.Simulating, []string{"gym/", "gymnasium/", "pettingzoo/", "dm_control/", "mujoco/", "ale_py/"}},
	{diagnose.DeviceWait, []string{"torch/cuda/streams.py", "stoker/emulated.py"}},
	{diagnose.EmptyCache, []string{"torch/cuda/memory.py"}},
	{diagnose.Launching, []string{
		"torch/nn/", "torch/optim/", "torch/autograd/", "torch/_tensor.py", "torch/functional.py", "torch/_ops.py",
		"torchinductor/", // what torch.compile wrote
		"torch/distributed/", "torchvision/models/", "torchvision/ops/", "timm/", "transformers/models/", "torch/amp/",
		// loops of frameworks: the program's line that calls them is all of its training
		"transformers/trainer.py", "lightning/", "pytorch_lightning/", "accelerate/", "fastai/", "ultralytics/engine/",
		"mmengine/runner/", "composer/trainer/",
	}},
	{diagnose.Locking, []string{
		"threading.py", "queue.py", "concurrent/", "multiprocessing/", "selectors.py", "asyncio/",
	}},
}

// kindOfEmulated tells what a function that waits for a device does. One of the emulated device that launches waits
// only if the queue is full.
func kindOfEmulated(p recording.Place, asleep bool) diagnose.Kind {
	switch {
	case p.File == "stoker/emulated.py" && strings.HasSuffix(p.Function, "copy"):
		return diagnose.Copying
	case p.File == "stoker/emulated.py" && strings.HasSuffix(p.Function, "launch") && !asleep:
		return diagnose.Launching
	}
	return diagnose.DeviceWait
}

// handsOver are functions in which a process takes over what a worker prepared: tensors in shared memory one
// by one, and what was pickled.
var handsOver = []string{
	"torch/multiprocessing/", "multiprocessing/reduction.py", "multiprocessing/resource_sharer.py",
	"multiprocessing/connection.py", "torch/storage.py", "socket.py",
}

// queues has the queue from which a loader takes what workers pickled. A thread on a core there unpickles it.
const queues = "multiprocessing/queues.py"

// writers are functions of libraries that write a file, by the begin of their module's and of
// their own name. The same modules read files as well.
var writers = [][2]string{
	{"PIL/", "save"},
	{"PIL/", "_save"},
	{"torchvision/utils.py", "save_image"},
	{"torchvision/io/", "write_"},
	{"imageio/", "imwrite"},
	{"imageio/", "mimwrite"},
	{"skimage/io/", "imsave"},
	{"numpy/lib/", "save"},
	{"pickle.py", "dump"},
	{"json/", "dump"},
	{"pandas/", "to_"},
	{"soundfile.py", "write"},
	{"h5py/_hl/dataset.py", "__setitem__"},
	{"h5py/_hl/group.py", "create_dataset"},
	{"csv.py", "writerow"},
}

// writes reports whether a library's function writes a file.
func writes(p recording.Place) bool {
	name := p.Function[strings.LastIndexByte(p.Function, '.')+1:]
	if name == "dumps" { // it returns the text, and writes nothing
		return false
	}
	return slices.ContainsFunc(writers, func(w [2]string) bool {
		return strings.HasPrefix(p.File, w[0]) && strings.HasPrefix(name, w[1])
	})
}

// kindOfData is the kind of a library's function that prepares data in a loop; "" of another.
func kindOfData(p recording.Place) diagnose.Kind {
	switch kind := kindOfLibrary(p); {
	case kind == diagnose.Elements:
		return diagnose.Looping
	case p.File == "difflib.py": // texts are compared for a score
		return diagnose.Metrics
	case slices.Contains(ofData, kind):
		return diagnose.Preparing
	case slices.Contains(anywhere, kind):
		return kind
	}
	return ""
}

// serialization has torch.save and torch.load.
const serialization = "torch/serialization.py"

// kindOfPlace tells what a library's function does; "" unknown.
func kindOfPlace(p recording.Place) diagnose.Kind {
	if p.Own() {
		return ""
	}
	if p.File == "torch/cuda/__init__.py" && p.Function == "synchronize" {
		return diagnose.DeviceWait
	}
	if p.File == "torch/nn/modules/module.py" && copiesToDevice(p) {
		return diagnose.Copying
	}
	if p.File == "torch/_tensor.py" && recording.ContainsAny(p.Function, "__iter__", "__contains__", "__array__") {
		return diagnose.Unpacking
	}
	if p.File == "torch/_tensor.py" && recording.ContainsAny(p.Function, "__repr__", "__format__") {
		return diagnose.Logging
	}
	if writes(p) {
		return diagnose.Writing
	}
	if p.File == "zmq/sugar/socket.py" && packs.MatchString(p.Function) {
		return diagnose.Messages
	}
	if p.File == queues {
		return diagnose.Pickling
	}
	if p.File == serialization && strings.Contains(p.Function, "load") {
		return "" // it reads: what a data set's line does says more
	}
	return loopBy.find(p.File)
}

// packs are names of functions that turn a message into objects, or objects into one.
var packs = regexp.MustCompile(`(?:send|recv)_(?:json|pyobj|serialized)$`)

// kindInLoader tells what a loader does in the launching thread, by its function that was called
// and by what that calls. Before Python 3.11 the function's name comes without its class.
func kindInLoader(s recording.Stack) diagnose.Kind {
	places := s.Places
	last, loader := places[len(places)-1], places[slices.IndexFunc(places, isLoader)]
	called := loader.Function[strings.LastIndexByte(loader.Function, '.')+1:]
	switch {
	case places[0] == loader, last.File == recording.SamplerFile:
		return diagnose.Sampling
	case called == "__iter__" || called == "_get_iterator":
		return diagnose.StartingWorkers
	case called == "__del__" || called == "_shutdown_workers":
		return diagnose.EndingWorkers
	case startsWithAny(last.File, handsOver), last.File == queues && !s.Asleep:
		return diagnose.HandOver
	}
	return diagnose.Awaiting
}

func isLoader(p recording.Place) bool { return p.File == recording.LoaderFile }

// kindOfLoop tells what the launching thread does in a stack: the innermost function that is known
// says it. A wait says less than the thing that is waited for.
func kindOfLoop(s recording.Stack) diagnose.Kind {
	if slices.ContainsFunc(s.Places, isLoader) {
		return kindInLoader(s)
	}
	if callsCollective(s.Places) {
		return diagnose.Collective
	}
	waits, encodes, data := false, false, diagnose.Kind("")
	for _, p := range slices.Backward(s.Places) {
		switch kind := kindOfPlace(p); kind {
		case diagnose.Locking:
			waits = true
		case diagnose.Messages:
			if !s.Asleep {
				return kind
			}
			waits = true // for one to come
		case "":
			data = cmp.Or(data, kindOfData(p))
		case diagnose.Writing: // of a checkpoint, a figure or a log, if a function further out says so
			encodes = data == diagnose.Preparing // encoders are in the modules of decoders
			data = cmp.Or(data, kind)
		case diagnose.Launching: // a transform may be a module
			return cmp.Or(data, kind)
		case diagnose.DeviceWait:
			return kindOfEmulated(p, s.Asleep)
		default:
			return kind
		}
	}
	switch {
	case waits:
		if own, _ := innermost(s.Places); awaitsSave.MatchString(own.Function) {
			return diagnose.SaveQueue
		}
		if !s.Asleep && slices.ContainsFunc(s.Places, retries) {
			return diagnose.Retrying
		}
		return diagnose.Locking
	case data == diagnose.Preparing, data == diagnose.Metrics: // pictures are also made to be looked at
		kind := kindOfNames(s.Places)
		if kind == diagnose.EmptyCache && data == diagnose.Preparing { // of files
			kind = diagnose.Tidying
		}
		if encodes {
			data = diagnose.Writing
		}
		return cmp.Or(kind, data)
	case slices.Contains(ofNumbers, data): // the program's own names tell more
		return cmp.Or(kindOfNames(s.Places), data)
	case data != "":
		return data
	}
	call := nativeOf(s)
	switch kind := byCall[call]; {
	case s.Native == loopOfPython, strings.HasPrefix(s.Native, "torch"): // what torch works on may be on the device
	case kind == diagnose.Programs:
		return diagnose.Subprocess
	case slices.Contains(ofFiles, kind):
		return cmp.Or(kindOfNames(s.Places), diagnose.LoopReads)
	case slices.Contains(ofData, kind):
		return cmp.Or(kindOfNames(s.Places), diagnose.Preparing)
	case slices.Contains(ofNumbers, kind):
		return cmp.Or(kindOfNames(s.Places), kind)
	case kind == diagnose.OnDevice: // a loop moves its batch, or makes a tensor and moves that
		return diagnose.Copying
	case kind != "":
		return kind
	}
	return kindOfState(s, call == receives)
}

// retries reports whether a function asks a queue and does not wait for it.
func retries(p recording.Place) bool {
	return p.File == "queue.py" && strings.HasSuffix(p.Function, "_nowait")
}

// kindOfState tells what a thread does if no function of its stack is known, by what it waits for.
func kindOfState(s recording.Stack, takes bool) diagnose.Kind {
	switch kind := kindOf(s); {
	case kind == diagnose.Request, kind == diagnose.Connection:
		return diagnose.Uploading
	case s.Awaits == recording.AwaitsLock, s.Awaits == recording.AwaitsFileLock, s.Asleep && takes:
		return diagnose.Locking
	case s.Awaits == recording.AwaitsDisk:
		return diagnose.Disk
	case s.Asleep && slices.Contains(ofOthers, kindOfNames(s.Places)):
		return kindOfNames(s.Places)
	case s.Asleep:
		return cmp.Or(loopWaits[nameKind(s.Places, waitNames)], diagnose.Pausing)
	}
	own := diagnose.HostCode
	if s.Native == loopOfPython {
		own = diagnose.Looping
	}
	return cmp.Or(kindOfNames(s.Places), own)
}

// ofEnvironments are kinds of work of an environment, which waits where its simulator is another program.
var ofEnvironments = []diagnose.Kind{diagnose.Simulating, diagnose.Rendering}

// ofOthers are kinds of what a program lets others do and waits for: those, and a service that logs or that rewards.
var ofOthers = append([]diagnose.Kind{diagnose.Logging, diagnose.Rewarding}, ofEnvironments...)

// awaitsSave matches functions that wait for a checkpoint, by how programs call them and their classes. [J]
var awaitsSave = regexp.MustCompile(`(?i)checkpoint|ckpt|(?:^|[._])sav(?:e|er|ing)(?:$|[._])`)

// receives is the sampler's name for a line that takes a message from a socket or a queue of another program.
const receives = "receive"

// loopOfPython is the sampler's name for a line in a loop over elements.
const loopOfPython = "loop"

// ofNumbers are kinds of native work that much else is made of.
var ofNumbers = []diagnose.Kind{
	diagnose.Drawing, diagnose.Sorting, diagnose.Hashing, diagnose.OfLists, diagnose.Unpacking, diagnose.Searching,
	diagnose.Nearest, diagnose.Arrays, diagnose.Joining, diagnose.Converting,
}

// acting matches functions that choose what to do next, by how programs call them. [J]
var acting = regexp.MustCompile(`(?:^|[._])(?:get|select|choose|sample)_actions?$|(?:^|\.)act$`)

// acts reports whether a place is in a function of the program's own that chooses what to do next.
func acts(p recording.Place) bool { return p.Own() && acting.MatchString(p.Function) }

// generating matches functions that generate sequences, by how programs call them. [J]
var generating = regexp.MustCompile(`(?:^|\.)generate$|(?:greedy|beam)_(?:search|decode)|` +
	`generate_(?:text|tokens?|responses?|completions?|answers?|sequences?)`)

// generates reports whether a place is in a function of the program's own that generates sequences.
func generates(p recording.Place) bool { return p.Own() && generating.MatchString(p.Function) }

// optimizing matches the steps of optimizers, by how programs call their classes: by what they are or by the method's
// name. [J]
var optimizing = regexp.MustCompile(`(?:(?i:optim|adam|adagrad|adadelta|rmsprop|adafactor)|SGD|Lion|Lamb|LAMB|LARS|Muon|Shampoo|` +
	`Sophia)\w*\.(?:_?step|update)$`)

// byName are kinds of the program's own work, by how programs call the functions and classes that do it. [J]
var byName = []nameRow{
	{diagnose.Tidying, regexp.MustCompile(`(?i)(?:^|[._])(?:evict|prune|purge|rotate|expire)_?(?:old|oldest|stale|files?|cache|` +
		`checkpoints?|logs?)?$|(?:remove|delete|drop|clean\w*)_(?:old|oldest|stale|expired|files?|folders?|director(?:y|ies))`)},
	{diagnose.Configuring, regexp.MustCompile(`(?i)config\w*\.(?:reload|refresh|load|read|poll)$|` +
		`(?:re)?(?:load|read|parse|poll|check|refresh)_?(?:config|cfg|settings|hparams|hyper_?params|yaml|toml)`)},
	{diagnose.EmptyCache, regexp.MustCompile(`(?i)malloc$|empty_?cache|(?:free|release|clear|clean\w*)_(?:gpu_|cuda_)?(?:memory|cache)`)},
	{diagnose.Averaging, regexp.MustCompile(`(?:^|[._])(?:ema|EMA|polyak|swa|SWA)(?:$|[._])|EMA(?:Hook|Model|Callback|Helper|Updater)\.|` +
		`(?i)moving_average|soft_update|update_(?:ema|target|teacher|momentum)|momentum_update|ema_update|target_update`)},
	{diagnose.Returns, regexp.MustCompile(`(?i)advantage|(?:^|[._])gae(?:$|_)|(?:compute|calc\w*|discount\w*|n_?step)_(?:return|reward)s?|` +
		`discount(?:ed)?_cumsum`)},
	{diagnose.Replaying, regexp.MustCompile(`Replay|(?:Sum|Segment|Min|Priority)Tree|(?i)replay_?(?:buffer|memory)|(?:^|[._])rollout_?buffer`)},
	{diagnose.Afterwards, regexp.MustCompile(`(?i)(?:^|[._])(?:nms|non_max\w*|post_?process\w*)(?:$|_)|decode_(?:pred|box|output|batch)`)},
	{diagnose.Logging, regexp.MustCompile(`(?i)logger|logging|tensorboard|summary_?writer|progress_?bar|` +
		`(?:^|[._])log(?:$|\.|_(?:metric|scalar|histogram|image|stat|grad|weight|param|value|step|to|loss|train|artifact))|` +
		`(?:^|[._])(?:get|make|collect|write)_logs?$`)},
	{diagnose.Plotting, regexp.MustCompile(`(?i)(?:^|[._])(?:plot|(?:draw|save|update)_?(?:fig(?:ure)?|plot|image|curve|chart)s?)(?:$|_|s$)|` +
		`(?:^|\.)Figure\.|Plot(?:s|ter|ting)?\.|visuali[sz]e`)},
	{diagnose.Rewarding, regexp.MustCompile(`(?i)rewards?(?:_?fn|_?func(?:tion)?s?)?$|reward_?(?:manager|worker|model|client|server)|` +
		`score_(?:completions?|responses?|rollouts?)`)},
	{diagnose.Acting, acting},
	{diagnose.Generating, generating},
	{diagnose.Rendering, regexp.MustCompile(`(?:Env(?:[A-Z_\d]\w*)?|Environment\w*|Simulat(?:or|ion)\w*)\.\w*render`)},
	{diagnose.Simulating, regexp.MustCompile(`Env(?:[A-Z_\d]\w*)?\.|Environment\w*\.|Simulat(?:or|ion)\w*\.`)},
	{diagnose.Metrics, regexp.MustCompile(`(?i)metric|accuracy|f1_?score|confusion|average_precision|` +
		`(?:^|[._])(?:auc|bleu|rouge|wer|cer|fid|ndcg|mrr|psnr|ssim)(?:$|[._])|auroc|auprc|roc_?auc|spearman|pearson|kendall|` +
		`edit_?distance|levenshtein|n_?grams?(?:$|_)|modified_precision|update_state$|recall_?at|hit_?rat(?:e|io)`)},
	{diagnose.Assigning, regexp.MustCompile(`(?i)munkres|hungarian|linear_(?:sum_)?assignment|(?:^|[._])match(?:er|ing)?(?:$|[._])`)},
	{diagnose.Clustering, regexp.MustCompile(`(?i)k_?means|centroid|(?:^|[._])cluster|(?:^|[._])(?:pca|whiten|zca)(?:$|_)`)},
	{diagnose.Masks, regexp.MustCompile(`(?i)(?:calculate|calc|compute|make|build|get|create|generate)_\w*(?:mask|position\w*|bias|alibi|rotary)s?$|` +
		`(?:causal|attention|attn|padding|subsequent)_masks?$|positional_encoding`)},
	{diagnose.Callback, regexp.MustCompile(`(?:^|[._])(?:on_(?:\w+_)?end|after_(?:\w+_)?(?:iter|step|epoch))$`)},
}

// kindOfNames tells what the program's own code does on the host by its names; "" unknown.
func kindOfNames(places []recording.Place) diagnose.Kind {
	for _, p := range places {
		for _, known := range byName {
			if p.Own() && known.names.MatchString(p.Function) {
				return known.kind
			}
		}
	}
	return nameKind(places, stepNames)
}

// loopWaits are the kinds in a loop for those of a data set's waits.
var loopWaits = map[diagnose.Kind]diagnose.Kind{
	diagnose.Queries: diagnose.Queries, diagnose.Request: diagnose.Uploading, diagnose.Connection: diagnose.Uploading,
	diagnose.Reading: diagnose.Disk, diagnose.Writing: diagnose.Disk,
}

// stepNames are kinds of the program's own work in its steps, by the innermost function's name. [J]
var stepNames = slices.Concat([]nameRow{
	{diagnose.Augmenting, regexp.MustCompile(`(?i)augment|mosaic|mix_?up|cut_?(?:mix|out)`)},
	{diagnose.Preparing, regexp.MustCompile(`(?i)collate|pre_?process|batchify|` +
		`(?:prepare|make|build|load|get|next|fetch)_?(?:batch|data|inputs?|samples?)(?:$|_)|` +
		`(?:load|get|slice|gather|fetch)_(?:sub)?(?:tensor|feature|embedding)s?$`)},
}, madeNames)

// anywhere are kinds of work whose advice is the same in a loop and in a data set.
var anywhere = []diagnose.Kind{
	diagnose.Tables, diagnose.DeepCopies, diagnose.Drawing, diagnose.Queries, diagnose.Hashing, diagnose.Sorting,
	diagnose.Growing, diagnose.OfLists, diagnose.Unpacking, diagnose.Proxies,
}

// collectives are the files of PyTorch's functions that exchange values between ranks.
var collectives = []string{"torch/distributed/c10d_logger.py", "torch/distributed/distributed_c10d.py"}

// callsCollective reports whether a line of the program itself exchanges values between ranks, and no library that
// it calls, such as DistributedDataParallel or FSDP.
func callsCollective(places []recording.Place) bool {
	for i, p := range slices.Backward(places) {
		if p.Own() {
			return i+1 < len(places) && startsWithAny(places[i+1].File, collectives)
		}
	}
	return false
}

// ofFiles are kinds of work on a file that a data set has.
var ofFiles = []diagnose.Kind{diagnose.Opening, diagnose.Parser, diagnose.Reading}

// ofData are kinds of work that a data set has.
var ofData = []diagnose.Kind{
	diagnose.Opening, diagnose.Parser, diagnose.Decoder, diagnose.Augmentation, diagnose.Conversion, diagnose.Tokenizer,
	diagnose.Reading, diagnose.Inflating, diagnose.Matching, diagnose.Video, diagnose.Sound, diagnose.Volumes,
	diagnose.ArrowRows, diagnose.Spectra,
}
