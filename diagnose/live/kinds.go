package live

import (
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
	{diagnose.Request, []string{
		"urllib3/", "urllib/", "http/client.py", "requests/", "socket.py", "ssl.py", "botocore/", "boto3/", "fsspec/",
		"s3fs/", "gcsfs/", "aiohttp/", "httpx/",
		"psycopg", "pymysql/", "pymongo/", "redis/", "sqlalchemy/", "asyncio/",
	}, nil},
	{diagnose.Decoder, []string{
		"PIL/ImageFile.py", "torchvision/io/", "torchcodec/", "imageio/", "skimage/io/", "soundfile.py",
		"librosa/core/audio.py", "audioread/", "torchaudio/_", "torchaudio/backend/",
		"decord/", "av/", "pydicom/", "nibabel/", "tifffile/", "rasterio/", "nvidia/dali/",
	}, nil},
	{diagnose.Decoder, []string{"PIL/Image.py"}, []string{"open", "_getexif"}}, // reads what the file is
	{
		diagnose.Parser,
		[]string{"numpy/lib/npyio.py", "numpy/lib/_npyio_impl.py"},
		[]string{"loadtxt", "genfromtxt", "fromregex", "_read"},
	},
	{
		diagnose.Opening,
		[]string{
			"h5py/_hl/files.py", "zipfile", "tarfile.py", "netCDF4/", "zarr/", "pyarrow/parquet/",
			"numpy/lib/npyio.py", "numpy/lib/_npyio_impl.py",
		},
		[]string{"open", "__init__", "load", "make_fid", "_RealGetContents"},
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
	{diagnose.Augmentation, []string{
		"torchvision/transforms/", "PIL/", "albumentations/", "albucore/", "kornia/", "imgaug/", "monai/transforms/",
		"torchio/", "torchaudio/", "scipy/ndimage/", "scipy/signal/",
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
	{diagnose.Matching, []string{"re/", "re.py", "regex/"}, nil},
	{diagnose.Tables, []string{"pandas/core/"}, nil},
	{diagnose.Growing, []string{"numpy/lib/"}, []string{"append"}},
	{diagnose.DeepCopies, []string{"copy.py"}, []string{"deepcopy", "_reconstruct"}},
	{diagnose.Drawing, []string{"random.py"}, []string{"sample", "choice", "shuffle"}},
	{diagnose.Parser, []string{
		"json/", "csv.py", "xml/", "lxml/", "yaml/", "pandas/", "pyarrow/", "h5py/", "gzip.py",
		"lzma.py", "bz2.py", "zstandard/", "msgpack/", "datasets/", "pickle.py",
		serialization,
	}, nil},
}

// drawsNeighbours are names of functions and classes that draw the neighbours of a graph's nodes. [J]
var drawsNeighbours = regexp.MustCompile(`(?i)neighbou?r_?sampl|sample_(?:neighbou?rs|blocks|subgraph)|(?:^|\.)to_block$`)

// kindOf names the work of a stack: the innermost function that is known says it.
func kindOf(s recording.Stack) diagnose.Kind {
	for _, p := range slices.Backward(s.Places) {
		if kind := kindOfLibrary(p); kind != "" {
			return kind
		}
	}
	own := recording.Place{}
	for _, p := range s.Places {
		if !p.Own() {
			continue
		}
		if own = p; drawsNeighbours.MatchString(p.Function) {
			return diagnose.Neighbours
		}
	}
	if strings.Contains(own.Function, "collate") { // itself, and not a function that it calls
		return diagnose.Collate
	}
	switch kind := byCall[s.Native]; {
	case kind != "":
		return kind
	case s.Asleep:
		return diagnose.Waits
	}
	return diagnose.Code
}

// byCall is the kind of what native code does, by the name that the sampler has for it.
var byCall = map[string]diagnose.Kind{
	"print": diagnose.Logging, "cv2.imread": diagnose.Decoder, "cv2": diagnose.Augmentation,
	"tokenizer": diagnose.Tokenizer, "execute": diagnose.Queries, "decompress": diagnose.Inflating,
	"loads": diagnose.Parser, "open": diagnose.Reading, "re": diagnose.Matching, "hashlib": diagnose.Hashing,
	"gc":     diagnose.Garbage,
	"random": diagnose.Drawing, "sort": diagnose.Sorting, "array": diagnose.OfLists, "tolist": diagnose.Unpacking,
	"grow": diagnose.Growing, "write": diagnose.Writing, "device": diagnose.OnDevice,
}

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
