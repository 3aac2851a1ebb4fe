package diagnose

import (
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// Kind is what a line of a loader does.
type Kind string

// The kinds of lines.
const (
	Decoder      Kind = "decoder"
	Augmentation Kind = "augmentation"
	Collate      Kind = "collate"
	Tokenizer    Kind = "tokenizer"
	Connection   Kind = "connection" // made anew for a sample
	Request      Kind = "request"
	Opening      Kind = "file" // opened anew for a sample
	Parser       Kind = "parser"
	Waits        Kind = "wait"
	Code         Kind = "code" // Python, or native code that it calls
)

// knownBy are the libraries whose functions tell a kind: by the begin of their file, and
// where there are some by a part of their name. The first that fits counts.
var knownBy = []struct {
	kind      Kind
	files     []string
	functions []string
}{
	{Tokenizer, []string{"transformers/tokenization", "transformers/models/", "tokenizers/", "sentencepiece/", "tiktoken/", "nltk/", "spacy/"}, nil},
	{
		Connection,
		[]string{"urllib3/", "http/client.py", "socket.py", "ssl.py", "psycopg", "pymysql/", "pymongo/", "redis/", "sqlalchemy/", "paramiko/"},
		[]string{"connect", "create_connection", "do_handshake", "wrap_socket", "_new_conn", "getaddrinfo"},
	},
	{Request, []string{
		"urllib3/", "urllib/", "http/client.py", "requests/", "socket.py", "ssl.py", "botocore/", "boto3/", "fsspec/", "s3fs/", "gcsfs/", "aiohttp/", "httpx/",
		"psycopg", "pymysql/", "pymongo/", "redis/", "sqlalchemy/", "asyncio/",
	}, nil},
	{Decoder, []string{
		"PIL/ImageFile.py", "torchvision/io/", "torchcodec/", "imageio/", "skimage/io/", "soundfile.py", "librosa/core/audio.py", "audioread/", "torchaudio/_", "torchaudio/backend/",
		"decord/", "av/", "pydicom/", "nibabel/", "tifffile/", "rasterio/", "nvidia/dali/",
	}, nil},
	{Decoder, []string{"PIL/Image.py"}, []string{"open", "_getexif"}}, // reads what the file is
	{
		Opening,
		[]string{"h5py/_hl/files.py", "zipfile", "tarfile.py", "netCDF4/", "zarr/", "pyarrow/parquet/", "numpy/lib/npyio.py", "numpy/lib/_npyio_impl.py"},
		[]string{"open", "__init__", "load", "make_fid", "_RealGetContents"},
	},
	{Augmentation, []string{
		"torchvision/transforms/", "PIL/", "albumentations/", "albucore/", "kornia/", "imgaug/", "monai/transforms/", "torchio/", "torchaudio/", "scipy/ndimage/", "scipy/signal/",
		"skimage/", "librosa/", "audiomentations/",
	}, nil},
	{Collate, []string{"torch/utils/data/_utils/collate.py", "transformers/data/data_collator.py"}, nil},
	{Parser, []string{"json/", "csv.py", "xml/", "lxml/", "yaml/", "pandas/", "pyarrow/", "h5py/", "gzip.py", "lzma.py", "bz2.py", "zstandard/", "msgpack/", "datasets/", "pickle.py"}, nil},
}

// kindOf tells what is done in a stack: the innermost function that is known says it.
func kindOf(s recording.Stack) Kind {
	for i := len(s.Places) - 1; i >= 0; i-- {
		for _, known := range knownBy {
			if begins(s.Places[i].File, known.files) && (known.functions == nil || contains(s.Places[i].Function, known.functions)) {
				return known.kind
			}
		}
	}
	for _, p := range s.Places {
		if p.Own() && strings.Contains(p.Function, "collate") {
			return Collate
		}
	}
	if s.Asleep {
		return Waits
	}
	return Code
}

func begins(text string, with []string) bool {
	for _, w := range with {
		if strings.HasPrefix(text, w) {
			return true
		}
	}
	return false
}

func contains(text string, any []string) bool {
	for _, part := range any {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// what says in words what a line of the kind does.
func (k Kind) what() string { return kindWords[k][0] }

// Advice is what makes such a line cheaper.
func (k Kind) Advice() string { return kindWords[k][1] }

var kindWords = map[Kind][2]string{
	Decoder: {
		"decoding",
		"decode smaller (Image.draft() before load() for JPEG, files stored at the size that is used), with a faster decoder (torchvision.io.decode_jpeg, Pillow-SIMD, stoker.DataLoader), or once beforehand",
	},
	Augmentation: {
		"an augmentation",
		"crop before you resize and colour, work on uint8 and turn into float last, do it on the whole batch on the device (torchvision.transforms.v2 takes tensors there), or do once, before training, what is not random",
	},
	Collate: {
		"collating",
		"let samples be tensors or arrays of one type and shape, so that collating is one stack; pad and convert beforehand; or collate fewer, larger pieces",
	},
	Tokenizer: {
		"tokenising",
		"tokens are the same in every epoch: tokenise the data set once and store it (datasets.map keeps what it made); or hand a fast tokenizer the whole batch at once, not one text after the other",
	},
	Connection: {
		"a connection is made for each sample",
		"make the connection once per worker (in worker_init_fn, or on the first __getitem__) and keep it: a requests.Session, a client of boto3, a database's connection",
	},
	Request: {
		"waiting for a server",
		"ask for several samples at once, or several at a time (threads in the data set); pack samples into files of 100 MB and more (WebDataset, MosaicML's MDS); or keep a copy on a local disk",
	},
	Opening: {
		"a file is opened for each sample",
		"open the file once per worker (on the first __getitem__) and keep it open: h5py.File, zipfile.ZipFile and LMDB read their index each time; np.load(mmap_mode=\"r\") reads only what is used",
	},
	Parser: {
		"parsing",
		"store what parsing gives in a form that needs none: arrays in .npy or a memory map, Arrow, safetensors",
	},
	Waits: {
		"there it waits, not on a core",
		"what it waits for is unknown: a timer, a lock, another process or thread. Whatever it is, prepare several samples at a time (more workers, threads in the data set)",
	},
	Code: {
		"Python, or native code that the line calls",
		"one call on whole arrays (NumPy, torch) instead of a loop in Python; do beforehand what is the same in every epoch; functools.lru_cache for what repeats",
	},
}
