package diagnose

import "slices"

// Kind is what a line of a loader does.
type Kind string

// The kinds of lines.
const (
	Decoder      Kind = "decoder"
	Augmentation Kind = "augmentation"
	Conversion   Kind = "conversion" // of a picture into numbers, or back
	Collate      Kind = "collate"
	Stacking     Kind = "stacking" // torch's own collate, of nothing but tensors as far as was seen
	Tokenizer    Kind = "tokenizer"
	Connection   Kind = "connection" // made again for a sample
	Request      Kind = "request"
	Opening      Kind = "file" // opened again for a sample
	Parser       Kind = "parser"
	Waits        Kind = "wait"
	FileLock     Kind = "file-lock"  // or one of multiprocessing, which another worker has
	Proxies      Kind = "proxies"    // of objects that a Manager's process has
	Threads      Kind = "threads"    // started, or waited for
	Programs     Kind = "program"    // started for each sample
	OnDevice     Kind = "on-device"  // of each sample, by the data set
	Chunks       Kind = "chunks"     // rows of an array that is stored in chunks
	Rows         Kind = "row-by-row" // of tensors in memory
	Inflating    Kind = "inflating"  // an array or a file out of a compressed archive
	Tables       Kind = "table-rows" // read one by one
	DeepCopies   Kind = "deep-copy"  // of Python objects
	Drawing      Kind = "drawing"    // items of a container at random
	Reading      Kind = "reading"    // a file, for each sample
	Queries      Kind = "query"      // of a database
	Matching     Kind = "matching"   // of text with patterns
	Hashing      Kind = "hashing"
	Sorting      Kind = "sorting"
	Neighbours   Kind = "neighbours" // of a graph's nodes, drawn for a batch
	MappedRows   Kind = "mapped"     // small slices of a memory map
	Rewarding    Kind = "rewards"    // of what a model generated, to learn from
	Acting       Kind = "acting"     // by a policy, which is asked what to do next
	Growing      Kind = "growing"    // an array, which is copied whole each time
	OfLists      Kind = "of-lists"   // arrays, element by element
	Unpacking    Kind = "unpacking"  // of arrays into numbers of Python
	Video        Kind = "video"      // decoded
	Sound        Kind = "sound"      // decoded or resampled
	Volumes      Kind = "volumes"    // medical, of microscopes or satellites
	ArrowRows    Kind = "arrow-rows" // turned into objects of Python
	Clustering   Kind = "clustering" // or components
	Assigning    Kind = "assigning"  // pairs of the least cost
	Masks        Kind = "masks"      // or positions, that a model uses
	Searching    Kind = "searching"  // a list, from its begin
	Nearest      Kind = "nearest"    // points
	Arrays       Kind = "arrays"     // worked on whole, on the CPU
	Joining      Kind = "joining"    // of arrays
	Converting   Kind = "converting" // copies, or other types
	Elements     Kind = "elements"   // a loop of Python over them
	Spectra      Kind = "spectra"    // of sound
	Filtering    Kind = "filtering"  // or resampling, of signals
	Targets      Kind = "targets"    // made of labels
	Negatives    Kind = "negatives"  // drawn for positive samples
	Graphs       Kind = "graphs"     // built or walked through
	Windowing    Kind = "windows"    // of longer sequences
	Averaging    Kind = "averaging"  // of weights
	Replaying    Kind = "replay"     // of experience
	Returns      Kind = "returns"    // summed from the last step to the first
	Afterwards   Kind = "afterwards" // work on what a model predicted
	Generating   Kind = "generating" // sequences, by the model
	Simulating   Kind = "simulating" // an environment to learn in
	Rendering    Kind = "rendering"  // its pictures
	Code         Kind = "code"       // Python, or native code that it calls
)

// The kinds of what a loop does outside of its steps.
const (
	Subprocess  Kind = "subprocess"
	Saving      Kind = "saving"
	Writing     Kind = "writing"  // files other than checkpoints
	Pickling    Kind = "pickling" // through a queue of the program's own processes
	Logging     Kind = "logging"
	Configuring Kind = "settings" // of the program, read again
	Tidying     Kind = "tidying"  // files that are kept or not
	Uploading   Kind = "uploading"
	Plotting    Kind = "plotting"
	Metrics     Kind = "metrics"
	Evaluating  Kind = "evaluating" // the model, in the middle of an epoch
	Garbage     Kind = "garbage"
	EmptyCache  Kind = "empty-cache"
	Compiling   Kind = "compiling"
	Profiling   Kind = "profiling"
	Anomalies   Kind = "anomaly-detection"
	Locking     Kind = "lock"
	Retrying    Kind = "retrying"
	SaveQueue   Kind = "save-queue"  // an earlier checkpoint is written by another thread or process
	Preparing   Kind = "preparing"   // data, in the loop itself
	LoopReads   Kind = "loop-reads"  // and parses files, in the loop itself
	Augmenting  Kind = "augmenting"  // a batch, in the loop itself
	Callback    Kind = "callback"    // of a trainer, after a step
	Disk        Kind = "disk"        // blocks on one
	Pausing     Kind = "pause"       // asleep in what nothing names
	Forking     Kind = "forking"     // a process for each job, which is waited for
	HostCode    Kind = "host-code"   // on a core in what nothing names
	Looping     Kind = "python-loop" // on a core in a loop of Python over elements
	Syncing     Kind = "sync"        // blocks on the device, which then idles
	HandOver    Kind = "hand-over"   // of what workers prepared
	Collective  Kind = "collective"  // called by the program itself
	OtherRanks  Kind = "other-ranks" // are waited for in backward
	Exchanging  Kind = "exchange"    // of gradients, in each of several backward passes of a step

	// The kinds of what a server does for a request.
	Encoding    Kind = "encoding"
	Packing     Kind = "packing"
	Tokenizes   Kind = "tokenizing"
	Templates   Kind = "templates" // of chats or pages are filled in
	Sampler     Kind = "sampler"
	HTTP        Kind = "http"
	Engine      Kind = "engine" // scheduling, inputs of a pass, messages between its processes
	RequestData Kind = "request-data"
	PerRequest  Kind = "per-request"
	OnHost      Kind = "on-host"      // a module of the model computes on the CPU
	Messages    Kind = "messages"     // to another process, pickled
	Loads       Kind = "loads"        // a model, a tokenizer or a module, again
	Database    Kind = "database"     // is asked or written
	RequestLogs Kind = "request-logs" // are written
	Held        Kind = "held"
	Timer       Kind = "timer"       // a sleep, or a batch that gathers more
	Service     Kind = "service"     // another one is asked
	Blocking    Kind = "blocking"    // the event loop, with all requests
	Pieces      Kind = "pieces"      // of an answer, many
	OnePool     Kind = "pool"        // of few threads, which all requests need in turn
	ThreadPool  Kind = "thread-pool" // all its threads are taken
	OfLibrary   Kind = "library"     // whose own thread works, is awaited
	Client      Kind = "client"      // sends its request, or takes its answer, slowly
	Queueing    Kind = "queueing"    // for a lock whose owner works

	// What a loader does in the launching thread besides.
	Sampling        Kind = "sampling" // draws the indices of the next batches
	StartingWorkers Kind = "worker-start"
	EndingWorkers   Kind = "worker-end"
	Iterating       Kind = "iterator" // made again for a batch or two
	LateEnd         Kind = "late-end" // is asked for a batch when it has given its last

	// No work outside of the steps.
	Awaiting   Kind = "next-batch"
	DeviceWait Kind = "device-wait"
	Launching  Kind = "launching"
	Copying    Kind = "copying" // to the device, in which the thread waits if memory is pageable
)

// OfResults are the kinds of work on what the device computed: what a program copies there comes from the device.
var OfResults = []Kind{Assigning, Afterwards, Metrics}

// OfDevice are the kinds of calls of the device's library: they wait for it, or give it work.
var OfDevice = []Kind{DeviceWait, Launching, Copying}

// HoldRequests are the kinds of lines on which a server's request is held, and no core works for it.
var HoldRequests = []Kind{Held, Timer, Service, Blocking, Pieces, OnePool, ThreadPool, Client}

// OfLoader are the kinds of all that a loader does in the launching thread.
var OfLoader = []Kind{Awaiting, HandOver, Sampling, StartingWorkers, EndingWorkers}

// OfCode are the kinds of work in Python, or in native code that it calls, of unknown purpose.
var OfCode = []Kind{Code, HostCode, Looping, Elements, Arrays, Joining, Converting, Searching}

// IsWait reports whether the launching thread does not work on a line of the kind, but is in its loader or awaits the
// device.
func (k Kind) IsWait() bool { return k == DeviceWait || k == Copying || slices.Contains(OfLoader, k) }

// Words says in words what a line of the kind does.
func (k Kind) Words() string { return kindWords[k][0] }

// Advice is what makes such a line cheaper; "" if nothing seen tells.
func (k Kind) Advice() string { return onModelsPlace(kindWords[k][1], true) }

// pausingAdvice is what to do where a loop sleeps.
const pausingAdvice = "what no step needs, as logs and uploads: hand it to a thread, or every so many steps. What a step needs: ask " +
	"for all of a batch at once, or ahead of the step in a thread"

var kindWords = map[Kind][2]string{
	Decoder: {
		"decoding",
		"decode smaller (Image.draft() before load() for JPEG, files stored at the size that is used), with a " +
			"faster decoder (torchvision.io.decode_jpeg, Pillow-SIMD, stoker.DataLoader), or once beforehand " +
			"(stoker pack FOLDER -o packed --decoded)",
	},
	Augmentation: {
		"a transform of pictures or sound",
		"cut out the part that is used (a crop, a clip) before you resize, resample or colour it, work on uint8 and turn " +
			"into float last, do it on the whole batch on the device (torchvision.transforms.v2 takes tensors there), or do " +
			"once, before training, what is not random",
	},
	Conversion: {
		"turning pictures into tensors, or back",
		"keep samples as uint8 tensors, made once, before training, or leave them uint8 and turn the whole batch " +
			"into float on the device (torchvision.transforms.v2 takes tensors there)",
	},
	Collate: {
		"collating",
		"let samples be tensors or arrays of one type and shape, so that collating is one stack. Pad and convert " +
			"beforehand, or collate fewer, larger pieces",
	},
	Stacking: {
		"torch itself stacks samples into a batch",
		"samples of fewer bytes: labels as numbers of classes (one_hot on the device), uint8 or float32 instead of " +
			"float64, the part that is used. A batch is copied once more in a worker, and once to the device",
	},
	Tokenizer: {
		"tokenising",
		"tokens are the same in every epoch: tokenise the data set once and store it (datasets.map keeps what it " +
			"made), or hand a fast tokenizer the whole batch at once, not one text after the other",
	},
	Connection: {
		"a connection is made for each sample",
		"make the connection once per worker (in worker_init_fn, or on the first __getitem__) and keep it: a " +
			"requests.Session, a client of boto3, a database's connection",
	},
	Request: {
		"waiting for a server",
		"ask for several samples at once, or several at a time (threads in the data set), pack samples into files " +
			"of 100 MB and more (WebDataset, MosaicML's MDS), or keep a copy on a local disk",
	},
	Opening: {
		"a file is opened for each sample",
		"open the file once per worker (on the first __getitem__) and keep it open: h5py.File, zipfile.ZipFile and " +
			"LMDB read their index each time, and np.load(mmap_mode=\"r\") reads only what is used",
	},
	Parser: {
		"parsing",
		"store what parsing gives in a form that needs none: arrays in .npy or a memory map, Arrow, safetensors " +
			"(torch.load of a large file: mmap=True, or a file per sample)",
	},
	Waits: {
		"there it waits, not on a core",
		"what it waits for is unknown: a timer, a lock, another process or thread. Whatever it is, prepare several " +
			"samples at a time (threads in the data set, or more workers if the data set is split between them)",
	},
	FileLock: {
		"workers wait for each other at a lock",
		"hold the lock for what it protects alone, not while files are read, copied or decoded: a lock for each file, or none " +
			"(a handle of its own in each worker. Writing: to a name of the worker's own, then os.replace). More workers only " +
			"wait longer",
	},
	Proxies: {
		"objects of another process are asked (multiprocessing.Manager), which pickles each answer",
		"what does not change: in each worker itself, as an array or a file that is mapped. What is shared: tensors after " +
			"share_memory_(), or arrays in multiprocessing.shared_memory. A list or dictionary of a Manager lives in one " +
			"process, which answers all workers in turn, and sends what is asked for whole",
	},
	Threads: {
		"threads are started for each sample, or waited for",
		"make the pool once per worker (on the first __getitem__) and keep it. Threads help with files and " +
			"servers, which they wait for: Python code takes turns with the interpreter lock, and is as fast without them. More at a time: worker " +
			"processes (num_workers)",
	},
	Programs: {
		"a program is started each time, and waited for",
		"let a library do it within the process (PyAV, torchcodec or soundfile instead of ffmpeg and sox), or do it once " +
			"beforehand and store what comes out as arrays. Each start takes milliseconds, and the program needs a core as well",
	},
	OnDevice: {
		"the data set works on the device, or copies to it, sample by sample",
		"let the data set return tensors in memory, and move the whole batch in the loop (.to(device, non_blocking=True)). " +
			"Data that lie on the device: index whole batches there (x[indices] with torch.randperm on the device, or " +
			"__getitems__ with a BatchSampler and batch_size=None), without worker processes",
	},
	Tables: {
		"rows of a table are read, or worked on, one by one",
		"take the columns out once (df[\"name\"].to_numpy()) and index these: each .iloc or .loc checks the index " +
			"and makes a Series",
	},
	DeepCopies: {
		"objects are copied with all that they hold",
		"copy no more than what is changed (dict(sample), array.copy()): deepcopy walks through each object, and " +
			"copies arrays and tensors as well. Weights: torch._foreach_copy_ into tensors that are kept",
	},
	Drawing: {
		"numbers or items are drawn at random",
		"draw all numbers of a batch at once (numpy.random.Generator.integers, torch.randint) and index an array or " +
			"a list by them, on the device if they are used there (device=, also for torch.multinomial). A deque " +
			"walks to each place, and sampling without replacement first makes a list",
	},
	Reading: {
		"a file is looked for or read for each sample",
		"keep what was read (functools.lru_cache, a dictionary by path, one array of all samples in memory), read " +
			"only the part that is used (np.load(path, mmap_mode=\"r\"), a frame or a window instead of the whole " +
			"file, a line by seek() and a table of their begins), or pack samples into few files",
	},
	Queries: {
		"a database is asked, or written",
		"reading: all rows of a batch at once (__getitems__, WHERE ... IN), with an index on the column by which " +
			"they are found, or the whole table once, before training, into arrays or a file. Writing: many rows in " +
			"one transaction, from a thread",
	},
	Matching: {
		"text is searched, split or put together",
		"the same text gives the same each time: do it once, before training, and store what comes out. Else one " +
			"pattern for several, made once (re.compile, a template), or plain methods of str",
	},
	Hashing: {
		"hashes are computed",
		"once for what stays the same, and kept: a number, a path or a place in the list is a key as well",
	},
	Sorting: {
		"sorting",
		"what stays the same: once, and kept. Fewer values, if so many are not used. Only the first few: torch.topk or " +
			"numpy.argpartition instead of a whole sort. Values that come from the device: there",
	},
	Neighbours: {
		"neighbours of a graph's nodes are drawn",
		"draw them on the device, without workers (DGL: the graph there or use_uva=True, PyG: NeighborLoader with pyg-lib, or " +
			"cugraph-pyg), else in more workers. Features of nodes stay on the device if they fit",
	},
	MappedRows: {
		"a memory map is sliced, and each slice makes a map object again",
		"slice a plain view of it, numpy.asarray(map), made once in each worker: it copies nothing, and a slice of it costs a " +
			"tenth. What fits in memory: read it there once. Or build samples once, before training",
	},
	Acting: {
		"a policy is asked what to do next",
		"several environments (games, tables) at a time, so that one pass of the policy has a batch of states, and one read " +
			"of the device is for all of them. More of them than now change in which order experience comes",
	},
	Rewarding: {
		"rewards are computed on the host, or asked for",
		"all completions at a time. Of a server: in one request, or in several at once. In this program: in worker processes " +
			"(multiprocessing.Pool). Each as soon as it is there, while the device generates the next ones. Texts that come " +
			"again: functools.lru_cache",
	},
	Growing: {
		"an array is made longer by a piece, and copied whole each time",
		"append the pieces to a list and put them together once, at the end, or write into an array that has the " +
			"full size from the start. A sum or a count needs no piece kept",
	},
	OfLists: {
		"arrays or tensors are made, of lists or of other arrays",
		"make arrays once, before training, of what is the same each time (columns of a table, targets), and index them. " +
			"numpy.stack(arrays), then torch.from_numpy, copies each at once, and a list of arrays handed to torch.tensor is " +
			"walked through. What is read of a file or copied for a step: ahead of it, in a thread or a worker. What each step " +
			"needs on the device: kept there",
	},
	Unpacking: {
		"values are taken out of arrays or tensors as numbers of Python, or read from the device",
		"compute with whole arrays, or with tensors, and take out results at " +
			"once (one .tolist() or .cpu() for all), not one by one",
	},
	Generating: {
		"sequences are generated",
		"token by token: keep what the earlier ones gave (use_cache=True), all sequences of a batch at once, and no " +
			"value read for each token. What no step needs, as examples to look at: fewer of them, or once in " +
			"several epochs",
	},
	Simulating: {
		"an environment makes its steps",
		"environments that are stepped one after the other: each in a worker process, all in lockstep " +
			"(gymnasium.vector.AsyncVectorEnv), several in one if a step is short. That changes no experience. Only one: " +
			"several at a time, so that one pass of the policy has a batch of states. Or environments of whole arrays, " +
			"on the device",
	},
	Rendering: {
		"an environment draws its pictures",
		"draw none that nobody uses (render_mode=None): step() gives the state. What somebody looks at: every so many episodes. " +
			"What the policy sees: in the size that it takes, and environments in worker processes " +
			"(gymnasium.vector.AsyncVectorEnv)",
	},
	Video: {
		"frames of a video are decoded",
		"decode the frames that are used alone (torchcodec: get_frames_at, with seek_mode=\"approximate\", decord: get_batch), " +
			"on the device (NVDEC, torchcodec's device=\"cuda\"), or store short clips of the size that is used, with many key " +
			"frames. Or decode once, before training, into pictures or arrays",
	},
	Sound: {
		"sound is read, decoded or resampled",
		"read the part that is used alone (soundfile.read(start=, frames=), torchaudio.load(frame_offset=, num_frames=)), and cut it " +
			"before you resample. Store it once at the rate that is used, as WAV or FLAC. Or resample the whole batch on the device",
	},
	Filtering: {
		"signals are resampled or filtered",
		"store them once at the rate that is used, and filtered, if nothing of it is random. What is: cut the part that is " +
			"used first, and work on float32, or on the whole batch on the device (torchaudio.functional takes tensors there)",
	},
	Volumes: {
		"volumes or slides are read",
		"store them once as arrays without compression, and read the part that is used (np.load(path, mmap_mode=\"r\"), Zarr with " +
			"chunks of a patch, nibabel's dataobj of a plain .nii): a compressed file is read whole for one slice. What fits: in memory",
	},
	ArrowRows: {
		"rows of an Arrow data set are turned into objects of Python",
		"with_format(\"torch\") or \"numpy\" on the columns that are used (select_columns), rows of a batch at once (datasets has " +
			"__getitems__ for that), and flatten_indices() after shuffle, select or filter. What transforms make of a " +
			"row alone: once, by map",
	},
	Clustering: {
		"clusters or components are fitted",
		"on the device, by calls on whole arrays (torch.cdist, torch.pca_lowrank, faiss), on a part of the samples, more rarely, and from " +
			"the last result on",
	},
	Assigning: {
		"predictions and targets are matched on the host",
		"compute and clean the costs on the device, split them there, and copy only the part that each picture needs, its own targets, " +
			"all in one smaller copy. Then scipy's linear_sum_assignment, which is compiled, in threads. Or match on the device " +
			"(topk, a greedy or an auction algorithm), which may match other pairs",
	},
	Masks: {
		"masks or positions that the model uses are made",
		"once for each size, and kept on the device (register_buffer, functools.lru_cache), or made there by calls on whole arrays " +
			"(torch.arange, triu, broadcasting) instead of loops",
	},
	Searching: {
		"items are looked for (a list is searched from its begin)",
		"a set or a dictionary, made once, finds at once what it is asked for: a dictionary of places instead of " +
			"list.index, a deque instead of pop(0). For many at a time: numpy.isin or searchsorted on whole arrays",
	},
	Nearest: {
		"nearest points are searched",
		"what is the same in every epoch: once, and stored. The rest on the device, for the whole batch (torch.cdist and topk, " +
			"the operators of torch_cluster or PyTorch3D, faiss), or among fewer points (a voxel grid first)",
	},
	Arrays: {
		"whole arrays are worked on, on the CPU",
		"what is the same each time, or has nothing random in it: once, and kept. Else the same call on the device, " +
			"for the whole batch (torch has most of what NumPy has), or on less: first cut out the part that is used, then " +
			"float32 or uint8 instead of float64, one pass instead of several, a separable filter",
	},
	Joining: {
		"arrays are padded or put together",
		"put no more together than is used: pad to the longest of the batch, take the part that is used first, and write into " +
			"one array that has the full size (numpy.empty, torch.empty). repeat and tile copy, expand and broadcasting " +
			"do not. What is the same each time: once, and kept",
	},
	Converting: {
		"data are copied or converted",
		"first cut out the part that is used, then convert that. Store the type that is used (float32, not float64). Pictures stay " +
			"uint8 until the batch is on the device, and become float there. What maps each pixel alone: a table (cv2.LUT). A view, asarray or astype(copy=False) copies nothing",
	},
	Elements: {
		"a loop in Python goes over elements",
		"one call on whole arrays (NumPy, torch, a picture's numpy.asarray) instead of the loop, which numpy.vectorize is as well: " +
			"take the columns that are used out once, as arrays, when the data set is made, and index these. Or compile the loop (numba.njit). What is the same in every epoch: " +
			"once, before training, stored or kept (functools.lru_cache)",
	},
	Spectra: {
		"spectrograms or other features of sound are computed",
		"on the device, for the whole batch: the transforms of torchaudio take tensors there. If nothing random comes before them: " +
			"once, before training, and stored. Make the transform (its windows, its filter bank) once, not for each sample",
	},
	Targets: {
		"targets are made of labels",
		"what comes of the labels alone: once, before training, and stored. Else on the device, for the whole batch, by calls on whole " +
			"arrays (broadcasting, scatter_, one_hot) instead of loops over boxes, points or classes",
	},
	Negatives: {
		"negative samples are drawn",
		"draw all of a batch at once (torch.randint, on the device), and draw anew only those that are known pairs: one number " +
			"for each pair (user * items + item), sorted once, then torch.isin or searchsorted. Or take the other samples of the " +
			"batch as negatives, which alters training",
	},
	Graphs: {
		"graphs are built or walked through",
		"what is the same in every epoch: once, and stored (PyG: pre_transform and InMemoryDataset). The rest by calls on whole " +
			"arrays of edges (scipy.sparse, scatter), on the device for the whole batch. Neighbours: by a sampler of PyG or DGL",
	},
	Windowing: {
		"windows are cut out of longer sequences",
		"hold the series as one array or tensor, and cut all windows of a batch at once: indices plus arange(length), or " +
			"unfold and sliding_window_view, which copy nothing. If it fits: on the device. Scale and fill gaps once, before",
	},
	Averaging: {
		"averages of weights are kept, one tensor after the other",
		"for all tensors at once (torch._foreach_lerp_, or AveragedModel with get_ema_multi_avg_fn of torch.optim.swa_utils), or every " +
			"few steps with a decay to match. state_dict() and deepcopy copy all weights: keep a list of the tensors",
	},
	Replaying: {
		"a replay buffer is written or sampled",
		"one array or tensor for each field, written in place and indexed by a whole batch (on the device if it fits), instead of a " +
			"list of tuples. Priorities: a tree of arrays, asked and written for the whole batch at once. A thread can " +
			"draw the next batch while the device works",
	},
	Returns: {
		"returns or advantages are summed step by step",
		"for all environments at once, from the last step to the first, on arrays in memory (NumPy, numba.njit, " +
			"scipy.signal.lfilter) or in one compiled function on the device: a loop over tensors of one element launches each",
	},
	Afterwards: {
		"predictions are worked on, on the host",
		"on the device, for the whole batch (topk, masks, torchvision.ops.batched_nms), and read once. What only logs or " +
			"evaluation need: more rarely, or in a thread or process while the device goes on",
	},
	Code: {
		"Python, or native code that the line calls",
		"once, before training, what is the same in every epoch (functools.lru_cache for what repeats). The rest: one call on " +
			"whole arrays (NumPy, torch) instead of a loop in Python, or on the device for the whole batch, of the part that " +
			"is used alone (a crop, a clip)",
	},

	Subprocess: {
		"a program is started and waited for",
		"ask within the process instead (pynvml and psutil take microseconds). What the step does not need: every " +
			"100 steps, in a thread",
	},
	Saving: {
		"checkpoints are written", savingAdvice,
	},
	Writing: {
		"files are written",
		"write from a thread or a process beside the loop, with a queue of a few, while the device works. Results that all " +
			"are needed: many in a file, and as bytes (numpy.save, HDF5, Arrow), not as text. What is only " +
			"looked at: more rarely",
	},
	Pickling: {
		"objects come from or go to another process through a queue, which pickles them and sends the bytes",
		"put tensors into a queue of torch.multiprocessing, or into shared memory (share_memory_()): then only a handle is " +
			"sent. Let a thread take the next batch from the queue while the device works, and more processes prepare if it " +
			"is empty. A DataLoader with worker processes does all of that",
	},
	Logging: {
		"logging",
		"log every 50 steps, keep values on the device until then, and leave sending to a thread",
	},
	Configuring: {
		"the program's settings are read again",
		"read the file only if it has changed (os.stat(path).st_mtime tells in microseconds), every so many steps, or in a " +
			"thread. What stays the same: once, before training",
	},
	Tidying: {
		"files are looked through or deleted",
		"less often, or in a thread or another process: no step needs it. Keep a list of the files with their sizes and " +
			"ages instead of asking the file system for each again",
	},
	Uploading: {
		"waiting for a server",
		"if the step needs the answer, as a reward: ask for all of a batch at once, or several at a time in " +
			"threads. If not, as with metrics: send every so many steps, from a thread with a queue",
	},
	Plotting: {
		"figures, or pages that show results, are made",
		"draw once an epoch, or in another process from values that were saved",
	},
	Metrics: {
		"computing metrics on the host",
		"what only logs need: once an epoch, on the device (torchmetrics keeps its state there), or in a thread. " +
			"What the loss needs, as a matching: for the whole batch at once, or on the device. What it needs of the labels " +
			"alone, as a map of distances: in the data set's workers, or once, before training",
	},
	Evaluating: {
		"the program evaluates between its steps",
		"less often, or on a small part of the set, in large batches under torch.no_grad(). What it computes on the host: for " +
			"all samples at once, or in worker processes while training goes on",
	},
	Garbage: {
		"Python collects garbage",
		"make fewer objects that live on (whole arrays, one tensor in the place of many), and call no gc.collect() " +
			"in the loop. gc.collect(); gc.freeze() once before it takes what is there out of later collections. " +
			"gc.disable() with a collection every 1,000 steps bounds the rest",
	},
	EmptyCache: {
		"device memory is given back to the driver, and asked for again",
		"no empty_cache() in the loop: PyTorch uses its own free memory again, and the driver has to give it anew. Memory that comes in " +
			"pieces of many sizes: PYTORCH_ALLOC_CONF=expandable_segments:True",
	},
	Compiling: {
		"the model is compiled or traced again",
		"keep shapes the same (drop_last=True, padding to a few lengths), or compile with dynamic=True. Numbers of Python that " +
			"change, as a learning rate or a count of steps: tensors. TORCH_LOGS=recompiles names each reason. torch.jit.trace: once for " +
			"each size, in a cache that holds them all",
	},
	Profiling: {
		"the profiler of PyTorch is on",
		"leave the profiler off, or let it record a few steps once: schedule(wait=10, warmup=2, active=5, " +
			"repeat=1), without profile_memory, record_shapes and with_stack",
	},
	Anomalies: {
		"autograd's anomaly detection is on, and takes a stack for each operation",
		"torch.autograd.set_detect_anomaly(False), or detect_anomaly=False in Lightning: it finds the operation " +
			"that made a NaN, and costs time in each step until then",
	},
	SaveQueue: {
		"waiting until an earlier checkpoint is written",
		"save less often: the next save begins before the last one is written. Or write fewer bytes (weights alone, a " +
			"smaller type) or faster (less compression, another disk)",
	},
	Locking: {
		"waiting for a lock, a queue or another thread",
		"let the other thread or process run ahead of the loop (a queue of several), if it needs nothing of this " +
			"step. If it does, as an environment its action: several of them in a process, so that a message " +
			"carries more, or in this one if they answer fast. A thread that is never ahead: less work in it, or several " +
			"processes (Python code), or threads (NumPy, files). Do less while the lock is held",
	},
	Retrying: {
		"a queue is asked again and again without a wait",
		"wait within the call: put() or get() with a timeout, not put_nowait() or get_nowait() in a loop. Each try holds Python's " +
			"interpreter lock, which the thread at the queue's other end needs",
	},
	Disk: {
		"a line reads or writes a file and waits for the disk",
		"write from a thread, and logs every so many steps, without fsync. Read ahead of the step, in worker processes",
	},
	Preparing: {
		"data or pictures are read or prepared in the loop itself",
		"what is the same in every epoch, as tokens or decoded pictures: once, before training. The rest in " +
			"worker processes, which run ahead of the loop: in a DataLoader's __getitem__ or collate_fn, if it has " +
			"one. What takes tensors may come after the batch is on the device. Rows of a table that fits there, as features of " +
			"nodes: keep it on the device and index it there",
	},
	LoopReads: {
		"files are read or parsed in the loop itself",
		"a file that is the same each time: read and parse it once, before the loop, and keep what it gives (a dictionary by " +
			"its path, functools.cache), or store that as arrays (.npy). Files that differ: in worker processes, which run ahead " +
			"of the loop",
	},
	Augmenting: {
		"batches are augmented or mixed on the host, in the loop itself",
		"copy the batch to the device first, as uint8, and augment it there, whole (torchvision.transforms.v2 and MixUp take " +
			"tensors there, kornia). Or in worker processes: in the DataLoader's collate_fn, or in __getitem__",
	},
	Callback: {
		"a callback works on the host after a step",
		"call it every so many steps, or once an epoch, if only logs need it. What the next step does not need: in a thread or a " +
			"process. What it needs: by calls on whole arrays (NumPy, torch), on the device if values come from there",
	},
	Pausing: {
		"the loop sleeps (a request, a timer, a file, another program)",
		pausingAdvice,
	},
	Forking: {
		"a process is started for each job, and waited for",
		"let processes stay, and take one job after the other (RQ: SimpleWorker, Celery: no --max-tasks-per-child, " +
			"multiprocessing.Pool without maxtasksperchild): each new one imports PyTorch, loads the model and starts the device " +
			"anew. A model that the parent loaded cannot be used on a GPU by a child that was forked",
	},
	Looping: {
		"a loop in Python works on the host",
		"one call on whole arrays (NumPy, torch, torch._foreach_* for all parameters) instead of the loop, on the device " +
			"if values come from there or go there, or the loop compiled (numba.njit). What needs no result of the step: " +
			"ahead of it, in worker processes or a thread. What stays the same: once, and kept. What only logs need: every " +
			"so many steps",
	},
	HostCode: {
		"a line works on the host, in Python or in native code that it calls",
		"run it on the device, if values come from there or go there. What needs no result of the step: ahead of it, in worker " +
			"processes or a thread. What stays the same: once, and kept. What only logs need: every so many steps. A loop " +
			"in Python: by calls on whole arrays (NumPy, torch, torch._foreach_* for all parameters)",
	},
	Chunks: {
		"reading parts of an array that is stored in chunks: for one row the whole chunk that holds it is read and " +
			"decompressed",
		"store it with chunks of one sample (h5py: chunks=(1, ...)) and without gzip (lzf, lz4 or none), or read " +
			"whole chunks (row groups of Parquet): shuffle blocks, not rows. file[name].chunks tells what it has",
	},
	Inflating: {
		"data are decompressed for each sample, often more of them than it uses",
		"compress by the sample (chunks of one row, an array or a file for each), or not at all: arrays as .npy, opened by " +
			"np.load(path, mmap_mode=\"r\"), which reads only the rows that are used. np.load ignores mmap_mode for .npz",
	},
	Rows: {
		"reading rows in memory one by one, and stacking them again",
		"index whole batches: DataLoader(data, batch_size=None, sampler=BatchSampler(RandomSampler(data), " +
			"batch_size, False)), without worker processes: TensorDataset takes the list of indices, as x[indices] " +
			"does. A data set of your own does so in __getitems__(self, indices), with a collate_fn that returns " +
			"what it gets",
	},
	Syncing: {
		"each step waits for the device, which then idles while the program goes on",
		"read values from the device every 50 steps, not in each: " + SyncAdvice,
	},
	Collective: {
		"the program itself exchanges values with the other ranks",
		"losses and metrics that only the log needs: every 50 steps, and all at once (torch.stack, then one all_reduce or " +
			"reduce). Gradients: once for each step of the optimizer, by DistributedDataParallel, which exchanges them " +
			"while backward runs. No barrier() in the loop. A rank with longer samples is waited for there: give each as " +
			"many tokens, not as many samples",
	},
	OtherRanks: {
		"ranks wait for each other in backward",
		"give all ranks batches of equal cost in each step: buckets of one length, drawn by all from one seed, or as many " +
			"tokens instead of as many samples. If one rank is always late: what slows that one. If all come at once: " +
			"exchange fewer bytes (a hook that compresses), or less often (accumulation under no_sync(), which the learning rate follows)",
	},
	Exchanging: {
		"ranks exchange their gradients in each backward, though several make a step of the optimizer",
		"exchange them in the last backward of a step only: forward and backward of the others inside model.no_sync() " +
			"(Accelerate: accelerator.accumulate(model), FSDP2: set_requires_gradient_sync(False) or, between replicas, " +
			"set_requires_all_reduce(False)). backward() alone inside of it does nothing",
	},
	Copying: {
		"data are copied between host and device, one call after the other",
		"what the host makes of results, as rewards or observations: on the device (torch has most of what NumPy has), or all " +
			"results in one copy (torch.cat). What goes there: keep on the device what is used again (a model, a replay buffer, a table, a data set as uint8, if it fits), and copy a batch " +
			"at once, as uint8, from pinned memory with non_blocking=True: from pageable memory the thread waits for each copy, " +
			"and for all work before it",
	},
	HandOver: {
		"taking batches over from workers, one tensor or object after the other",
		"run it by stoker feed -- CMD, which changes nothing else and sends a batch at once, or let collate_fn make " +
			"few large tensors of it (pad and stack, or concatenate and keep the lengths) instead of lists and " +
			"dictionaries of small ones. Strings and objects are pickled: keep numbers that name them",
	},
	Encoding: {
		"encoding answers",
		"write it by orjson or msgpack, or send the array's own bytes: a Response of your own, which FastAPI neither " +
			"walks through nor checks. Send fewer numbers: the best few, or a link to a file",
	},
	Packing: {
		"compressing answers",
		"compress less (Starlette's GZipMiddleware: compresslevel=1, a larger minimum_size), or not here: a proxy before the " +
			"server does it beside the model. Pictures and sound are compressed already",
	},
	Tokenizes: {
		"tokenizing, or turning tokens into text",
		"use a fast tokenizer (transformers' AutoTokenizer with tokenizers installed) on all texts of a batch at " +
			"once, in a thread of its own: it releases Python's interpreter lock. vLLM: --api-server-count takes " +
			"tokenizing out of one process",
	},
	Templates: {
		"a chat's template is rendered, and may be tokenized",
		"render once what a conversation has said before, and keep it (a cache by conversation), or send fewer of its messages. " +
			"It is Python code: beside the model in another process (vLLM: --api-server-count), and not in the event loop. " +
			"The tokens by a fast tokenizer",
	},
	Sampler: {
		"choosing tokens on the host",
		"choose tokens {place}, for the whole batch at once. Penalties, top-k and grammars on the host run " +
			"once for each request and token",
	},
	HTTP: {
		"handling HTTP",
		"run more processes for it (vLLM: --api-server-count, LitServe: num_api_servers, Ray Serve: proxies on each " +
			"node), and answer several inputs with one request",
	},
	Engine: {
		"the engine's own work between passes: scheduling, inputs of a pass, messages between its processes",
		"keep a core free for each of its processes, and let it work ahead of the model: vLLM --async-scheduling, " +
			"--stream-interval 8 for streamed answers, no --enforce-eager. More requests in a pass " +
			"share it",
	},
	RequestData: {
		"preparing a request's data",
		"prepare less (Image.draft decodes JPEG smaller, the size that the model takes), for a whole batch {place}, or " +
			"ahead of the model: in threads (most decoders release Python's interpreter lock: a def endpoint, " +
			"asyncio.to_thread), or in a process of its own before the model (a Ray Serve deployment, LitServe's " +
			"workers_per_device)",
	},
	PerRequest: {
		"a line works for each request, in Python or in native code that it calls",
		"what several requests share: once, and kept (at start-up, functools.lru_cache). A loop in Python: array operations for a " +
			"whole batch, in NumPy or PyTorch. " + besideModel,
	},
	OnHost: {
		"PyTorch computes on the CPU",
		"move the module, and the tensors that it is given, to the device: module.to(\"cuda\") once, at the start. What has to stay " +
			"on the CPU: beside the model and not in turn with it, for a whole batch, under torch.inference_mode()",
	},
	Loads: {
		"a model, a tokenizer or a module is loaded, built or imported for a request",
		"do it once, when the server starts, and keep it: at the head of the file, FastAPI's lifespan, LitServe's setup, __init__ of " +
			"a deployment of Ray Serve or a service of BentoML, before a worker forks. Several variants: a cache " +
			"(functools.lru_cache) that holds all that are in use",
	},
	Database: {
		"a database is asked or written for a request",
		"ask once for a whole batch (WHERE ... IN), with an index on the column that finds the rows, and keep what stays the same " +
			"(functools.lru_cache). Writing: many rows in one transaction, behind the answer (a background task, a thread)",
	},
	RequestLogs: {
		"log lines are written for requests or tokens",
		"write fewer lines (one for each request, none for each token), from a thread: logging.handlers.QueueHandler and " +
			"QueueListener",
	},
	Held: {
		"a request waits there, not on a core: a lock, a timer, another service",
		"hold no lock in a wait, ask other services with await or in threads, for several requests at the same time, and let a " +
			"batch wait at most as long as a pass takes (LitServe: batch_timeout, Ray Serve: batch_wait_timeout_s, " +
			"Triton: max_queue_delay_microseconds)",
	},
	Blocking: {
		"the event loop stands still there, and all requests with it",
		"wait without the event loop: await with an asynchronous client (httpx, aiohttp, asyncio.sleep), asyncio.to_thread, " +
			"asyncio.wrap_future in the place of result(), or a plain def in the place of async def, which FastAPI and Starlette " +
			"run in a thread (endpoints and background tasks). What needs no answer: off the request's path",
	},
	OfLibrary: {
		"a request waits there for a library's own thread, which works for it",
		"ask the library once for all that a request needs (one query with WHERE ... IN, a list in one call): each call goes to " +
			"its thread and back. Keep what stays the same (functools.lru_cache)",
	},
	Pieces: {
		"an answer is sent in pieces, and a thread has to take its turn for each",
		"send it whole (Response(content=...)), or in few pieces of 64 kB and more: StreamingResponse takes a BytesIO or a file " +
			"line by line. An async generator needs no thread",
	},
	OnePool: {
		"a request waits there for a thread of a pool, and others for their turn",
		"ThreadPoolExecutor(max_workers=16) for what waits for another service or a file, a pool of one thread for the model alone, " +
			"or await with an asynchronous client (httpx, aiohttp). Threads that work on a core need processes",
	},
	Messages: {
		"requests or answers go to another process through a queue, which pickles them and copies the bytes",
		"send large arrays through shared memory (multiprocessing.shared_memory, tensors after share_memory_() through " +
			"torch.multiprocessing), and through the queue their names alone. Send less: uint8, compressed as it came, " +
			"decoded by the process that has the model. LitServe: fast_queue=True. ZeroMQ: send(array, copy=False) behind its " +
			"dtype and shape, not send_json",
	},
	Timer: {
		"a request waits there for a timer: a sleep, or a batch that gathers more requests",
		"let a batch wait at most as long as a pass takes, and for no more requests than there are clients (FastAPI: the " +
			"timeout of wait_for, LitServe: batch_timeout, Ray Serve: batch_wait_timeout_s, BentoML: max_latency_ms, Triton: " +
			"max_queue_delay_microseconds). In the place of a sleep: wait for the event itself",
	},
	Service: {
		"a request waits there for another service",
		"ask it while no lock is held, before the model's turn, and for several requests at the same time: with await (httpx, " +
			"aiohttp) or threads, Ray Serve's max_ongoing_requests, LitServe's workers_per_device. One waits there while another " +
			"has the model. What needs no answer: a background task. Ask once for several, keep connections open, and cache what " +
			"stays the same",
	},
	ThreadPool: {
		"a request waits there for a thread: all of the pool are taken",
		"let handlers that wait for other services be async def with await: they need no thread. If they cannot: more " +
			"threads (FastAPI, Starlette: anyio.to_thread.current_default_thread_limiter().total_tokens, 40 by default, " +
			"waitress: threads, gunicorn: --threads). More bring nothing if they wait for one lock or for a core",
	},
	Client: {
		"the client sends its request, or takes its answer, slowly",
		"let a proxy that buffers stand before the server (nginx: proxy_buffering, proxy_request_buffering), or give slow " +
			"clients threads of their own (gunicorn: -k gthread --threads 8). Send fewer bytes: compressed, uint8 in the " +
			"place of float32, a link to a file",
	},
	Sampling: {
		"the sampler draws indices in the launching thread",
		"draw all indices of an epoch by one call of NumPy or torch and hand them on as a list (tensor.tolist()): a " +
			"loop over a tensor makes an object of each element. What the sampler needs of each sample (lengths, " +
			"classes, the samples of each class) is the same in every epoch: find it once, and keep it in an array",
	},
	StartingWorkers: {
		"the loader's workers are started",
		"persistent_workers=True, and a data set whose large tables lie in a file or a NumPy array: with spawn and " +
			"forkserver all of it is pickled for each worker",
	},
	EndingWorkers: {"the loader waits for its workers to end", "persistent_workers=True"},
	Iterating: {
		"an iterator of the loader is made for every batch or two, and each begins with nothing prepared",
		"make the iterator once, outside of the loop (batches = iter(loader), then next(batches) in each step), or " +
			"loop over the loader itself",
	},
	Queueing: {"waiting for a lock while its owner works", ""},
	Awaiting: {"waiting for the next batch", ""},
	LateEnd: {
		"a loader is asked once more after its last batch, and answers late",
		"its workers are at work until they say that no data are left: let them end sooner (a thread that is " +
			"joined, a look for more, files that are closed)",
	},
	DeviceWait: {"waiting for the device", ""},
	Launching:  {"calls of the model", LaunchAdvice},
}
