package live

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// knownBy are the libraries whose functions tell a kind: by the begin of their file, and
// where there are some by a part of their name. The first that fits counts.
var knownBy = []struct {
	kind      diagnose.Kind
	files     []string
	functions []string
}{
	{
		diagnose.Chunks,
		[]string{"h5py/_hl/dataset.py", "zarr/", "netCDF4/", "tables/"},
		[]string{"__getitem__", "get_basic_selection", "read"},
	},
	{diagnose.Chunks, []string{"pyarrow/parquet/"}, []string{"read_row_group", "iter_batches"}},
	{
		diagnose.Inflating,
		[]string{"numpy/lib/npyio.py", "numpy/lib/_npyio_impl.py"},
		[]string{"NpzFile.__getitem__", "NpzFile"},
	},
	{
		diagnose.Inflating,
		[]string{"zipfile", "gzip.py", "lzma.py", "bz2.py"},
		[]string{"ZipExtFile.", "_read1", "_GzipReader", "decompress"},
	},
	{diagnose.Rows, []string{"torch/utils/data/dataset.py"}, []string{"TensorDataset.__getitem__", "TensorDataset"}},
	{diagnose.Tokenizer, []string{
		"transformers/tokenization", "transformers/models/", "tokenizers/",
		"sentencepiece/", "tiktoken/", "nltk/", "spacy/",
	}, nil},
	{
		diagnose.Connection,
		[]string{
			"urllib3/", "http/client.py", "socket.py", "ssl.py", "psycopg", "pymysql/", "pymongo/", "redis/",
			"sqlalchemy/", "paramiko/",
		},
		[]string{"connect", "create_connection", "do_handshake", "wrap_socket", "_new_conn", "getaddrinfo"},
	},
	{diagnose.Reading, []string{"fsspec/implementations/local.py", "fsspec/implementations/memory.py"}, nil},
	{diagnose.Request, []string{
		"urllib3/", "urllib/", "http/client.py", "requests/", "socket.py", "ssl.py", "botocore/", "boto3/", "fsspec/",
		"s3fs/", "gcsfs/", "aiohttp/", "httpx/",
		"psycopg", "pymysql/", "pymongo/", "redis/", "sqlalchemy/", "asyncio/",
	}, nil},
	{diagnose.Video, []string{
		"torchcodec/", "decord/", "av/", "torchvision/io/video", "torchvision/io/_video", "imageio_ffmpeg/", "moviepy/",
	}, nil},
	{diagnose.Sound, []string{
		"soundfile.py", "librosa/core/audio.py", "audioread/", "torchaudio/_", "torchaudio/backend/", "wave.py",
		"pydub/", "resampy/", "soxr/", "samplerate/",
	}, nil},
	{diagnose.Volumes, []string{
		"pydicom/", "nibabel/", "tifffile/", "rasterio/", "SimpleITK/", "openslide/", "nrrd/",
	}, nil},
	{diagnose.Spectra, []string{"librosa/", "torchaudio/", "python_speech_features/", "pyworld/"}, []string{
		"spectro", "Spectro", "mel", "Mel", "mfcc", "MFCC", "stft", "filterbank", "fbank", "cqt", "chroma",
		"harvest", "dio",
	}},
	{diagnose.Augmentation, []string{"PIL/ImageFile.py"}, []string{"_save", "_encode_tile"}}, // to spoil a picture
	{diagnose.Decoder, []string{
		"PIL/ImageFile.py", "torchvision/io/", "imageio/", "skimage/io/", "nvidia/dali/",
	}, nil},
	{diagnose.Decoder, []string{"PIL/Image.py"}, []string{"open", "_getexif"}}, // reads what the file is
	{diagnose.Elements, []string{"PIL/Image.py", "PIL/PyAccess.py"}, []string{"getpixel", "putpixel", "PyAccess"}},
	{
		diagnose.Parser,
		[]string{"numpy/lib/npyio.py", "numpy/lib/_npyio_impl.py"},
		[]string{"loadtxt", "genfromtxt", "fromregex", "_read"},
	},
	{
		diagnose.Opening,
		[]string{
			"h5py/_hl/files.py", "zipfile", "tarfile.py", "netCDF4/", "zarr/", "pyarrow/parquet/",
			"numpy/lib/npyio.py", "numpy/lib/_npyio_impl.py", "dbm/", "shelve.py", "lmdb/",
		},
		[]string{"open", "__init__", "load", "make_fid", "_RealGetContents", "_update"},
	},
	{
		diagnose.Conversion,
		[]string{"torchvision/transforms/"},
		[]string{"ToTensor", "to_tensor", "ToImage", "to_image", "pil_to_tensor", "PILToTensor"},
	},
	{
		diagnose.Conversion,
		[]string{"PIL/Image.py"},
		[]string{"__array_interface__", "tobytes", "fromarray", "frombuffer"},
	},
	{diagnose.Sound, []string{"torchaudio/", "librosa/", "audiomentations/"}, []string{"resample", "Resample"}},
	{diagnose.Filtering, []string{"scipy/signal/"}, nil},
	{diagnose.Augmentation, []string{
		"torchvision/transforms/", "PIL/", "albumentations/", "albucore/", "kornia/", "imgaug/", "monai/transforms/",
		"torchio/", "torchaudio/", "scipy/ndimage/",
		"skimage/", "librosa/", "audiomentations/",
	}, nil},
	{
		diagnose.Collate,
		[]string{"torch/utils/data/_utils/collate.py"},
		[]string{
			"collate_numpy_array_fn", "collate_numpy_scalar_fn", "collate_float_fn", "collate_int_fn",
			"collate_str_fn",
		},
	},
	{diagnose.Collate, []string{"transformers/data/data_collator.py"}, nil},
	{diagnose.Stacking, []string{"torch/utils/data/_utils/collate.py"}, nil},
	{diagnose.Programs, []string{"subprocess.py"}, nil},
	{diagnose.OnDevice, []string{"torch/cuda/", "stoker/emulated.py"}, nil},
	{
		diagnose.MappedRows,
		[]string{"numpy/_core/memmap.py", "numpy/core/memmap.py"},
		[]string{"__getitem__", "__array_finalize__"},
	},
	{diagnose.Neighbours, []string{
		"dgl/dataloading/", "dgl/sampling/", "dgl/transforms/", "torch_geometric/sampler/", "torch_geometric/loader/",
	}, nil},
	{diagnose.Nearest, []string{
		"scipy/spatial/", "sklearn/neighbors/", "torch_cluster/", "faiss/", "annoy/", "hnswlib/", "open3d/",
	}, nil},
	{diagnose.Graphs, []string{
		"networkx/", "scipy/sparse/", "igraph/", "rdkit/", "torch_geometric/utils/", "torch_geometric/transforms/",
		"dgl/",
	}, nil},
	{diagnose.Arrays, []string{"numpy/linalg/", "numpy/fft/", "scipy/fft", "scipy/linalg/", "scipy/interpolate/"}, nil},
	{diagnose.Matching, []string{"re/", "re.py", "regex/", "jinja2/", "string.py", "textwrap.py", "difflib.py"}, nil},
	{diagnose.Tables, []string{"pandas/core/"}, nil},
	{diagnose.Growing, []string{"numpy/lib/"}, []string{"append"}},
	{diagnose.Elements, []string{"numpy/lib/"}, []string{"vectorize", "apply_along_axis", "apply_over_axes"}},
	{diagnose.DeepCopies, []string{"copy.py"}, []string{"deepcopy", "_reconstruct"}},
	{diagnose.DeepCopies, []string{"dataclasses.py"}, []string{"asdict", "astuple"}},
	{diagnose.Reading, []string{"pathlib.py", "glob.py", "genericpath.py", "fnmatch.py"}, nil},
	{diagnose.Drawing, []string{"random.py"}, []string{"sample", "choice", "shuffle"}},
	{diagnose.ArrowRows, []string{"datasets/"}, nil},
	{diagnose.Proxies, []string{"multiprocessing/managers.py"}, nil},
	{diagnose.FileLock, []string{"filelock/", "portalocker/", "fasteners/"}, nil},
	{diagnose.FileLock, []string{"multiprocessing/synchronize.py"}, []string{"__enter__", "acquire"}},
	{diagnose.Threads, []string{"concurrent/futures/", "threading.py", "multiprocessing/pool.py"}, nil},
	{diagnose.Parser, []string{
		"json/", "csv.py", "xml/", "lxml/", "yaml/", "ast.py", "_strptime.py", "dateutil/", "base64.py", "html/",
		"pandas/", "pyarrow/", "h5py/", "gzip.py",
		"lzma.py", "bz2.py", "zstandard/", "msgpack/", "pickle.py",
		serialization,
	}, nil},
}

// drawsNeighbours are names of functions and classes that draw the neighbours of a graph's nodes. [J]
var drawsNeighbours = regexp.MustCompile(`(?i)neighbou?r_?sampl|sample_(?:neighbou?rs|blocks|subgraph)|^to_block$`)

// spoiling are names of functions that make a picture worse, so as to learn from it: what they encode, they decode. [J]
var spoiling = regexp.MustCompile(`(?i)degrad|artifact|jpeg_?(?:compress|nois|quality)|corrupt`)

func spoils(p recording.Place) bool { return p.Own() && spoiling.MatchString(p.Function) }

// kindOf names the work of a stack: the innermost function that is known says it.
func kindOf(s recording.Stack) diagnose.Kind {
	literals := diagnose.Kind("")
	for _, p := range slices.Backward(s.Places) {
		switch kind := kindOfLibrary(p); {
		case kind == diagnose.Decoder && slices.ContainsFunc(s.Places, spoils):
			return diagnose.Augmentation
		case p.File == "ast.py": // a library further out may read its index so
			literals = kind
		case kind != "":
			return kind
		}
	}
	if literals != "" {
		return literals
	}
	own := recording.Place{}
	for _, p := range s.Places {
		if !p.Own() {
			continue
		}
		if own = p; drawsNeighbours.MatchString(p.Outer()[strings.LastIndexByte(p.Outer(), '.')+1:]) {
			return diagnose.Neighbours
		}
	}
	// A sampler's class also fetches what belongs to the nodes: its name tells the work of what draws them.
	class, method, _ := strings.Cut(own.Outer(), ".")
	draws := strings.HasPrefix(method, "sample") || slices.Contains(slices.Concat(callables, iterates), method)
	if draws && !s.Asleep && drawsNeighbours.MatchString(class) {
		return diagnose.Neighbours
	}
	if strings.Contains(own.Function, "collate") { // itself, and not a function that it calls
		return diagnose.Collate
	}
	call := nativeOf(s)
	switch kind := byCall[call]; {
	case s.Awaits == recording.AwaitsFileLock:
		return diagnose.FileLock
	case kind == diagnose.OfLists:
		return cmp.Or(nameKind(s.Places, madeNames), kind)
	case kind == diagnose.Decoder: // the program's names may tell a video or a volume
		return cmp.Or(nameKind(s.Places, ofPictures), kind)
	case kind != "" && !slices.Contains(weakCalls, call):
		return kind
	case s.Asleep:
		return cmp.Or(nameKind(s.Places, waitNames), diagnose.Waits)
	default:
		return cmp.Or(nameKind(s.Places, dataNames), kind, diagnose.Code)
	}
}

// nativeOf is the name of the native code that a stack ends in. Functions of NumPy that are Python call its own.
func nativeOf(s recording.Stack) string {
	n := len(s.Places)
	if s.Native != "" || n == 0 || !strings.HasPrefix(s.Places[n-1].File, "numpy/") {
		return s.Native
	}
	switch name := s.Places[n-1].Function; {
	case numpySorts.MatchString(name):
		return "sort"
	case numpyJoins.MatchString(name):
		return "numpy.join"
	}
	return "numpy"
}

// What functions of NumPy do that are Python, by their names: they are those of the table of calls in observe/stack.
var (
	numpySorts = regexp.MustCompile(`(?:^|\.)_?(?:arg)?(?:sort|partition)$|unique|searchsorted|isin|in1d|(?:^|_)(?:percentile|` +
		`quantile|median)|lexsort`)
	numpyJoins = regexp.MustCompile(`(?:^|\.)(?:[hvd]?stack|column_stack|concatenate|pad|_pad_simple|tile|repeat|block)$`)
)

// byCall is the kind of what native code does, by the name that the sampler has for it.
var byCall = map[string]diagnose.Kind{
	"print": diagnose.Logging, "cv2.video": diagnose.Video, "cv2.imread": diagnose.Decoder,
	"cv2":       diagnose.Augmentation,
	"tokenizer": diagnose.Tokenizer, "execute": diagnose.Queries, "decompress": diagnose.Inflating,
	"loads": diagnose.Parser, "open": diagnose.Reading, "open.index": diagnose.Opening,
	"re": diagnose.Matching, "hashlib": diagnose.Hashing,
	"gc":     diagnose.Garbage,
	"random": diagnose.Drawing, "sort": diagnose.Sorting, "array": diagnose.OfLists, "tolist": diagnose.Unpacking,
	"grow": diagnose.Growing, "write": diagnose.Writing, "device": diagnose.OnDevice,
	"system": diagnose.Programs, "nearest": diagnose.Nearest, "search": diagnose.Searching, "text": diagnose.Matching,
	"numpy.join": diagnose.Joining, "torch.join": diagnose.Joining,
	"numpy.convert": diagnose.Converting, "torch.convert": diagnose.Converting,
	"numpy": diagnose.Arrays, "torch": diagnose.Arrays, loopOfPython: diagnose.Elements,
}

// weakCalls are names of native calls that tell less than the program's own names.
var weakCalls = []string{
	"numpy.join", "torch.join", "numpy.convert", "torch.convert", "numpy", "torch", loopOfPython, "random",
}

// nameRow has names that programs give to functions which do work of a kind.
type nameRow struct {
	kind  diagnose.Kind
	names *regexp.Regexp
}

// madeNames are kinds of work that a data set or a step does, by the program's own names. [J]
var madeNames = []nameRow{
	{diagnose.Negatives, regexp.MustCompile(`(?i)neg(?:ative)?s?_?(?:sampl|items?|users?|tails?)|sample_?neg|corrupt_`)},
	{diagnose.Spectra, regexp.MustCompile(`(?i)spectro|mel_?spec|log_?mel|mel_|mfcc|stft|fbank|filter_?bank|chroma|cqt`)},
	{diagnose.Nearest, regexp.MustCompile(`(?i)voxel|farthest|(?:^|_)fps(?:_|$)|ball_?query|(?:^|_)knn|nearest`)},
	{diagnose.Targets, regexp.MustCompile(`(?i)heat_?map|one_?hot|(?:^|_)rle(?:2|_|$)|raster|polygon|distance_(?:map|transform)|` +
		`(?:make|build|create|encode|get|draw|assign|gen\w*)_\w*(?:target|label|mask|box|keypoint|gt)`)},
	{diagnose.Windowing, regexp.MustCompile(`(?i)window|sliding|(?:^|_)lags?(?:_|$)|rolling|look_?back`)},
	{diagnose.Graphs, regexp.MustCompile(`(?i)adjacen|(?:^|_)edges?(?:_|$)|graph|laplacian|shortest|ego_|random_?walk`)},
}

// ofPictures are kinds of what is decoded, by the program's own names. [J]
var ofPictures = []nameRow{
	{diagnose.Video, regexp.MustCompile(`(?i)(?:decode|read|load|extract|grab)_\w*(?:video|clip|frame)`)},
	{diagnose.Volumes, regexp.MustCompile(`(?i)(?:decode|read|load)_\w*(?:volume|nii|nifti|dicom|scan|slide)`)},
}

// dataNames are kinds of what a data set does, by the program's own names. [J]
var dataNames = slices.Concat(madeNames, ofPictures, []nameRow{
	{diagnose.Tokenizer, regexp.MustCompile(`(?i)tokeni|(?:^|_)bpe|word_?piece|encode_(?:text|sentence|line)`)},
	{diagnose.Augmentation, regexp.MustCompile(`(?i)augment|mosaic|mix_?up|cut_?(?:mix|out)|jitter|warp|elastic|rotat|` +
		`flip|crop|resiz|blur|perspective|affine`)},
	{diagnose.Sound, regexp.MustCompile(`(?i)(?:decode|read|load|resample)_\w*(?:audio|wav|sound|speech)`)},
	{diagnose.Augmentation, regexp.MustCompile(`(?i)resampl`)}, // of a field, a volume or a series as well
	{diagnose.Decoder, regexp.MustCompile(`(?i)^decode$|(?:decode|read|load)_\w*(?:image|img|jpe?g|png|picture|photo)`)},
	{diagnose.Parser, regexp.MustCompile(`(?i)parse|deseriali|from_(?:json|xml|string|line|csv)`)},
	{diagnose.Opening, regexp.MustCompile(`(?i)(?:connect|open|init)_(?:db|lmdb|env|h5|hdf5?|zarr|archive|zip|tar|store)(?:_|$)`)},
})

// waitNames are kinds of what a data set waits for, by the program's own names. [J]
var waitNames = []nameRow{
	{diagnose.Queries, regexp.MustCompile(`(?i)query|(?:^|_)(?:sql|db|select|execute|cursor)(?:_|$)|database`)},
	{diagnose.Connection, regexp.MustCompile(`(?i)(?:^|_)(?:re)?connect|handshake|log_?in(?:_|$)|open_(?:session|client)`)},
	{diagnose.Request, regexp.MustCompile(`(?i)download|request|http|(?:^|_)(?:s3|gcs|url|bucket|blob|remote|rpc)(?:_|$)|` +
		`get_object|(?:fetch|get|read)_(?:object|blob|url|remote)`)},
	{diagnose.Writing, regexp.MustCompile(`(?i)fsync|fdatasync|(?:^|_)(?:flush|commit)(?:_|$)`)},
	{diagnose.Reading, regexp.MustCompile(`(?i)nfs|lustre|fuse|^(?:open|read|load)$|(?:^|_)(?:open|read|load)_(?:file|bytes|image|` +
		`img|sample|item|batch|data|chunk|shard|latent|feature|tensor|array|npy|audio|clip|frame)`)},
}

// nameKind is the kind that the name of a program's function tells, the innermost first; "" unknown. Of a callable
// object the name of its class counts.
func nameKind(places []recording.Place, rows []nameRow) diagnose.Kind {
	for _, p := range slices.Backward(places) {
		if !p.Own() {
			continue
		}
		parts := strings.Split(p.Outer(), ".")
		name := parts[len(parts)-1]
		if len(parts) > 1 && slices.Contains(callables, name) {
			name = parts[len(parts)-2]
		}
		for _, row := range rows {
			if row.names.MatchString(name) {
				return row.kind
			}
		}
	}
	return ""
}

// iterates are the methods by which a data set or a sampler is asked.
var iterates = []string{"__getitem__", "__getitems__", "__iter__", "__next__"}

// callables are the methods by which a transform is called.
var callables = []string{"__call__", "forward", "apply", "transform"}

// kindOfLibrary is the work of data that a library's function does; "" unknown.
func kindOfLibrary(p recording.Place) diagnose.Kind {
	for _, known := range knownBy {
		if !startsWithAny(p.File, known.files) {
			continue
		}
		if known.functions == nil || recording.ContainsAny(p.Function, known.functions...) {
			return known.kind
		}
	}
	return ""
}

func startsWithAny(text string, with []string) bool {
	for _, w := range with {
		if strings.HasPrefix(text, w) {
			return true
		}
	}
	return false
}
