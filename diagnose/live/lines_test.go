package live

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// places reads "FILE FUNCTION" as the places of a stack, outermost first.
func places(text ...string) (all []recording.Place) {
	for i, one := range text {
		file, function, _ := strings.Cut(one, " ")
		all = append(all, recording.Place{File: file, Line: i + 1, Function: function})
	}
	return all
}

func TestKindsAndPlaces(t *testing.T) {
	for _, c := range []struct {
		stack     []recording.Place
		asleep    bool
		kind      diagnose.Kind
		own, call string
	}{
		{stack: places("/train.py Faces.__getitem__"), kind: diagnose.Code, own: "Faces.__getitem__"},
		{stack: places("/train.py Faces.__getitem__"), asleep: true, kind: diagnose.Waits, own: "Faces.__getitem__"},
		{stack: places("/train.py Faces.__getitem__", "/train.py read", "PIL/Image.py Image.convert", "PIL/ImageFile.py ImageFile.load"), kind: diagnose.Decoder, own: "read", call: "Image.convert"},
		{stack: places("torchvision/datasets/folder.py DatasetFolder.__getitem__", "torchvision/datasets/folder.py default_loader", "torchvision/datasets/folder.py pil_loader",
			"PIL/Image.py Image.convert", "PIL/ImageFile.py ImageFile.load"), kind: diagnose.Decoder, call: "pil_loader"},
		{stack: places("torchvision/datasets/folder.py DatasetFolder.__getitem__", "torchvision/transforms/transforms.py Compose.__call__", "torch/nn/modules/module.py Module._call_impl",
			"torchvision/transforms/transforms.py RandomResizedCrop.forward", "torchvision/transforms/functional.py resize", "PIL/Image.py Image.resize"), kind: diagnose.Augmentation, call: "RandomResizedCrop.forward"},
		{stack: places("/train.py Faces.__getitem__", "PIL/Image.py Image.rotate", "PIL/Image.py Image.transform"), kind: diagnose.Augmentation, own: "Faces.__getitem__", call: "Image.rotate"},
		{stack: places("torchvision/datasets/mnist.py MNIST.__getitem__", "torchvision/transforms/transforms.py Compose.__call__", "torchvision/transforms/transforms.py ToTensor.__call__",
			"torchvision/transforms/functional.py to_tensor"), kind: diagnose.Conversion, call: "ToTensor.__call__"},
		{stack: places("/train.py Faces.__getitem__", "PIL/Image.py Image.__array_interface__", "PIL/Image.py Image.tobytes"), kind: diagnose.Conversion, own: "Faces.__getitem__", call: "Image.__array_interface__"},
		{stack: places("/train.py Pairs.__getitem__", "numpy/_core/memmap.py memmap.__getitem__"), kind: diagnose.MappedRows, own: "Pairs.__getitem__", call: "memmap.__getitem__"},
		{stack: places("/train.py MultiLayerNeighborSampler.to_block", "numpy/lib/_arraysetops_impl.py unique"), kind: diagnose.Neighbours, own: "MultiLayerNeighborSampler.to_block", call: "unique"},
		{stack: places("/a.py NeighborSampler.sample", "/a.py NeighborSampler.features"), asleep: true, kind: diagnose.Waits, own: "NeighborSampler.features"},
		{stack: places("/a.py NeighborSampler.sample", "/a.py NeighborSampler.features"), kind: diagnose.Code, own: "NeighborSampler.features"},
		{stack: places("/a.py NeighborSampler.sample", "numpy/lib/_arraysetops_impl.py unique"), kind: diagnose.Neighbours, own: "NeighborSampler.sample", call: "unique"},
		{stack: places("/a.py sample_neighbors", "/a.py pick"), kind: diagnose.Neighbours, own: "pick"},
		{stack: places("/train.py Graph.collate", "dgl/sampling/neighbor.py sample_neighbors"), kind: diagnose.Neighbours, own: "Graph.collate", call: "sample_neighbors"},
		{stack: places("/train.py Faces.__getitem__", "numpy/lib/_npyio_impl.py loadtxt", "numpy/lib/_npyio_impl.py _read"), kind: diagnose.Parser, own: "Faces.__getitem__", call: "loadtxt"},
		{stack: places("/train.py pad_collate"), kind: diagnose.Collate, own: "pad_collate"},
		{stack: places("torch/utils/data/_utils/collate.py default_collate", "torch/utils/data/_utils/collate.py collate"), kind: diagnose.Stacking, call: "collate"},
		{stack: places("torch/utils/data/_utils/collate.py default_collate", "torch/utils/data/_utils/collate.py collate_float_fn"), kind: diagnose.Collate, call: "default_collate"},
		{stack: places("torch/utils/data/_utils/collate.py default_collate", "torch/utils/data/_utils/collate.py collate_tensor_fn"), kind: diagnose.Stacking, call: "default_collate"},
		{stack: places("/train.py collate", "transformers/tokenization_utils_base.py PreTrainedTokenizerBase.__call__", "transformers/tokenization_utils_tokenizers.py _encode_plus"), kind: diagnose.Tokenizer, own: "collate", call: "PreTrainedTokenizerBase.__call__"},
		{stack: places("/train.py read", "http/client.py HTTPConnection.request", "http/client.py HTTPConnection.connect", "socket.py create_connection"), asleep: true, kind: diagnose.Connection, own: "read", call: "HTTPConnection.request"},
		{stack: places("/train.py read", "urllib3/connectionpool.py HTTPConnectionPool.urlopen", "ssl.py SSLSocket.do_handshake"), kind: diagnose.Connection, own: "read", call: "HTTPConnectionPool.urlopen"},
		{stack: places("/train.py read", "http/client.py HTTPResponse.read", "socket.py SocketIO.readinto"), asleep: true, kind: diagnose.Request, own: "read", call: "HTTPResponse.read"},
		{stack: places("/train.py read", "h5py/_hl/files.py File.__init__", "h5py/_hl/files.py make_fid"), kind: diagnose.Opening, own: "read", call: "File.__init__"},
		{stack: places("/train.py connect_db", "dbm/__init__.py open", "dbm/dumb.py _Database._update"), kind: diagnose.Opening, own: "connect_db", call: "open"},
		{stack: places("/train.py read", "zipfile.py ZipFile.__init__", "zipfile.py ZipFile._RealGetContents"), kind: diagnose.Opening, own: "read", call: "ZipFile.__init__"},
		{stack: places("/train.py read", "json/__init__.py loads", "json/decoder.py JSONDecoder.decode"), kind: diagnose.Parser, own: "read", call: "loads"},
		{stack: places("/train.py Rows.__getitem__", "pandas/core/indexing.py _LocationIndexer.__getitem__", "pandas/core/internals/managers.py BlockManager.fast_xs"), kind: diagnose.Tables, own: "Rows.__getitem__", call: "_LocationIndexer.__getitem__"},
		{stack: places("/train.py Rows.__init__", "pandas/io/parsers/readers.py read_csv"), kind: diagnose.Parser, own: "Rows.__init__", call: "read_csv"},
		{stack: places("/train.py decode", "subprocess.py run", "subprocess.py Popen.communicate", "selectors.py select"), asleep: true, kind: diagnose.Programs, own: "decode", call: "run"},
		{stack: places("/train.py Faces.__getitem__", "torch/cuda/__init__.py _lazy_init"), kind: diagnose.OnDevice, own: "Faces.__getitem__", call: "_lazy_init"},
		{stack: places("/a.py Files.read", "multiprocessing/synchronize.py SemLock.__enter__"), asleep: true, kind: diagnose.FileLock, own: "Files.read", call: "SemLock.__enter__"},
		{stack: places("/a.py Clips.load", "string __getitem__", "multiprocessing/managers.py BaseProxy._callmethod"), kind: diagnose.Proxies, own: "Clips.load", call: "BaseProxy._callmethod"},
		{stack: places("/a.py Views.__getitem__", "concurrent/futures/thread.py ThreadPoolExecutor.submit"), kind: diagnose.Threads, own: "Views.__getitem__", call: "ThreadPoolExecutor.submit"},
		{stack: places("/a.py Bend.transform", "numpy/_core/fromnumeric.py sort"), kind: diagnose.Sorting, own: "Bend.transform", call: "sort"},
		{stack: places("/a.py Masks.__getitem__", "numpy/lib/_function_base_impl.py vectorize.__call__"), kind: diagnose.Elements, own: "Masks.__getitem__", call: "vectorize.__call__"},
		{stack: places("/a.py Speech.__getitem__", "scipy/signal/_signaltools.py resample_poly"), kind: diagnose.Filtering, own: "Speech.__getitem__", call: "resample_poly"},
		{stack: places("/a.py Masks.__getitem__", "PIL/Image.py Image.getpixel"), kind: diagnose.Elements, own: "Masks.__getitem__", call: "Image.getpixel"},
		{stack: places("/a.py Low.degrade", "PIL/ImageFile.py ImageFile.load"), kind: diagnose.Augmentation, own: "Low.degrade", call: "ImageFile.load"},
		{stack: places("/a.py Arrays.__getitem__", "fsspec/spec.py AbstractFileSystem.glob", "fsspec/implementations/local.py LocalFileSystem.ls"), kind: diagnose.Reading, own: "Arrays.__getitem__", call: "AbstractFileSystem.glob"},
		{stack: places("/a.py Pairs.open", "dbm/dumb.py open", "ast.py literal_eval"), kind: diagnose.Opening, own: "Pairs.open", call: "open"},
		{stack: places("/a.py Poses.__getitem__", "ast.py literal_eval", "ast.py parse"), kind: diagnose.Parser, own: "Poses.__getitem__", call: "literal_eval"},
		{stack: places("/a.py Low.read", "PIL/ImageFile.py ImageFile.load"), kind: diagnose.Decoder, own: "Low.read", call: "ImageFile.load"},
		{stack: places("/train.py Faces.__getitem__", "copy.py deepcopy", "copy.py _deepcopy_dict"), kind: diagnose.DeepCopies, own: "Faces.__getitem__", call: "deepcopy"},
	} {
		own, call := splitStack(c.stack)
		if kind := kindOf(recording.Stack{Places: c.stack, Asleep: c.asleep}); kind != c.kind || own.Function != c.own || call.Function != c.call {
			t.Errorf("%v is %s at %q in %q, want %s at %q in %q", c.stack, kind, own.Function, call.Function, c.kind, c.own, c.call)
		}
	}
	for _, kind := range []diagnose.Kind{
		diagnose.Decoder, diagnose.Augmentation, diagnose.Conversion, diagnose.Collate, diagnose.Stacking, diagnose.Tokenizer, diagnose.Connection, diagnose.Request, diagnose.Opening, diagnose.Parser, diagnose.Waits, diagnose.FileLock, diagnose.Proxies, diagnose.Threads, diagnose.Rendering, diagnose.Tables, diagnose.DeepCopies, diagnose.Drawing, diagnose.Code,
		diagnose.Programs, diagnose.OnDevice, diagnose.Writing, diagnose.Pickling, diagnose.Configuring, diagnose.Tidying,
		diagnose.Reading, diagnose.Queries, diagnose.Matching, diagnose.Hashing, diagnose.Sorting, diagnose.Growing, diagnose.OfLists, diagnose.Unpacking,
		diagnose.Searching, diagnose.Nearest, diagnose.Arrays, diagnose.Joining, diagnose.Converting, diagnose.Elements, diagnose.Spectra, diagnose.Targets,
		diagnose.Negatives, diagnose.Graphs, diagnose.Windowing, diagnose.Averaging, diagnose.Replaying, diagnose.Returns, diagnose.Afterwards, diagnose.Clustering, diagnose.Masks, diagnose.Assigning,
	} {
		if kind.Words() == "" || kind.Advice() == "" {
			t.Errorf("%s has no words", kind)
		}
	}
	for _, known := range knownBy {
		if known.kind.Words() == "" {
			t.Errorf("there are no words for %s", known.kind)
		}
	}
}

// TestProportion: what is called 95 % holds the truth in 95 of 100, or more seldom by
// what chance gives.
func TestProportion(t *testing.T) {
	chance := rand.New(rand.NewPCG(14, 1))
	for _, truth := range []float64{0.03, 0.3, 0.7, 0.97} {
		for _, looks := range []int{50, 400} {
			held := 0
			const rounds = 2000
			for range rounds {
				n := 0
				for range looks {
					if chance.Float64() < truth {
						n++
					}
				}
				if p := estimateShare(float64(n), float64(looks), float64(looks)); p.Low <= truth && truth <= p.High {
					held++
				}
			}
			if share := float64(held) / rounds; share < 0.92 || math.IsNaN(share) {
				t.Errorf("%v of %d looks: %.3f hold it", truth, looks, share)
			}
		}
	}
}

// Where no line has enough, a class's are one.
func TestLinesOfAClass(t *testing.T) {
	at := func(function string, line int, seconds float64) *group {
		own := recording.Place{File: "/train.py", Line: line, Function: function}
		return &group{spent: spent{core: seconds}, own: own, kinds: map[diagnose.Kind]float64{diagnose.Code: seconds}}
	}
	groups := map[string]*group{
		"a": at("Factory.atom", 5, 2.4), "b": at("Factory.atom.<locals>.<listcomp>", 6, 2), "c": at("Factory.__init__", 2, 1.8), "d": at("load", 9, 2),
	}
	merged := byClass(groups, spent{core: 10}, 200)
	one := merged["/train.py\nFactory"]
	if len(merged) != 2 || one == nil || one.class != "Factory" || one.own.Line != 5 || one.core != 6.2 {
		t.Errorf("%+v", merged)
	}
	groups["e"] = at("Factory.atom", 7, 3)
	for name, kind := range map[string]diagnose.Kind{"a": diagnose.Graphs, "b": diagnose.Sorting, "c": diagnose.Sorting, "d": diagnose.Graphs, "e": diagnose.Graphs} {
		groups[name].kinds = map[diagnose.Kind]float64{kind: groups[name].core}
	}
	groups["e"].core = 4
	alike := byClass(groups, spent{core: 12.2}, 200)
	one = alike["/train.py\nFactory\ngraphs"]
	if len(alike) != 3 || one == nil || one.class != "Factory" || one.own.Line != 7 || one.core != 6.4 {
		t.Errorf("a line has enough, another of its class does the same work: %+v", alike)
	}
	delete(groups, "e")
	groups["d"].core = 8
	if kept := byClass(groups, spent{core: 14}, 200); len(kept) != 4 {
		t.Errorf("a line has most of the time: %d groups, want all four as they are", len(kept))
	}
}

// The names of a data set's own functions tell their work where neither a library nor what the line calls does.
func TestKindOfDataNames(t *testing.T) {
	for function, want := range map[string]diagnose.Kind{
		"Ratings.sample_negatives": diagnose.Negatives, "LogMel.__call__": diagnose.Spectra, "Mosaic.forward": diagnose.Augmentation,
		"Boxes.make_targets.<locals>.<listcomp>": diagnose.Targets, "sliding_windows": diagnose.Windowing, "build_adjacency": diagnose.Graphs,
		"Crops.__getitem__": diagnose.Arrays, "knowledge": diagnose.Arrays, "voxelize": diagnose.Nearest,
	} {
		if got := kindOf(recording.Stack{Places: places("/train.py " + function), Native: "numpy"}); got != want {
			t.Errorf("%s is %s, want %s", function, got, want)
		}
	}
}
