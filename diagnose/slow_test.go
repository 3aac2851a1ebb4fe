package diagnose

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

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
		kind      Kind
		own, call string
	}{
		{stack: places("/train.py Faces.__getitem__"), kind: Code, own: "Faces.__getitem__"},
		{stack: places("/train.py Faces.__getitem__"), asleep: true, kind: Waits, own: "Faces.__getitem__"},
		{stack: places("/train.py Faces.__getitem__", "/train.py read", "PIL/Image.py Image.convert", "PIL/ImageFile.py ImageFile.load"), kind: Decoder, own: "read", call: "Image.convert"},
		{stack: places("torchvision/datasets/folder.py DatasetFolder.__getitem__", "torchvision/datasets/folder.py default_loader", "torchvision/datasets/folder.py pil_loader",
			"PIL/Image.py Image.convert", "PIL/ImageFile.py ImageFile.load"), kind: Decoder, call: "pil_loader"},
		{stack: places("torchvision/datasets/folder.py DatasetFolder.__getitem__", "torchvision/transforms/transforms.py Compose.__call__", "torch/nn/modules/module.py Module._call_impl",
			"torchvision/transforms/transforms.py RandomResizedCrop.forward", "torchvision/transforms/functional.py resize", "PIL/Image.py Image.resize"), kind: Augmentation, call: "RandomResizedCrop.forward"},
		{stack: places("/train.py Faces.__getitem__", "PIL/Image.py Image.rotate", "PIL/Image.py Image.transform"), kind: Augmentation, own: "Faces.__getitem__", call: "Image.rotate"},
		{stack: places("/train.py pad_collate"), kind: Collate, own: "pad_collate"},
		{stack: places("torch/utils/data/_utils/collate.py default_collate", "torch/utils/data/_utils/collate.py collate_tensor_fn"), kind: Collate, call: "default_collate"},
		{stack: places("/train.py collate", "transformers/tokenization_utils_base.py PreTrainedTokenizerBase.__call__", "transformers/tokenization_utils_tokenizers.py _encode_plus"), kind: Tokenizer, own: "collate", call: "PreTrainedTokenizerBase.__call__"},
		{stack: places("/train.py read", "http/client.py HTTPConnection.request", "http/client.py HTTPConnection.connect", "socket.py create_connection"), asleep: true, kind: Connection, own: "read", call: "HTTPConnection.request"},
		{stack: places("/train.py read", "urllib3/connectionpool.py HTTPConnectionPool.urlopen", "ssl.py SSLSocket.do_handshake"), kind: Connection, own: "read", call: "HTTPConnectionPool.urlopen"},
		{stack: places("/train.py read", "http/client.py HTTPResponse.read", "socket.py SocketIO.readinto"), asleep: true, kind: Request, own: "read", call: "HTTPResponse.read"},
		{stack: places("/train.py read", "h5py/_hl/files.py File.__init__", "h5py/_hl/files.py make_fid"), kind: Opening, own: "read", call: "File.__init__"},
		{stack: places("/train.py read", "zipfile.py ZipFile.__init__", "zipfile.py ZipFile._RealGetContents"), kind: Opening, own: "read", call: "ZipFile.__init__"},
		{stack: places("/train.py read", "json/__init__.py loads", "json/decoder.py JSONDecoder.decode"), kind: Parser, own: "read", call: "loads"},
	} {
		own, call := split(c.stack)
		if kind := kindOf(recording.Stack{Places: c.stack, Asleep: c.asleep}); kind != c.kind || own.Function != c.own || call.Function != c.call {
			t.Errorf("%v is %s at %q in %q, want %s at %q in %q", c.stack, kind, own.Function, call.Function, c.kind, c.own, c.call)
		}
	}
	for kind, words := range kindWords {
		if words[0] == "" || words[1] == "" {
			t.Errorf("%s has no words", kind)
		}
	}
	for _, known := range knownBy {
		if kindWords[known.kind][1] == "" {
			t.Errorf("there is no advice for %s", known.kind)
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
				if p := proportion(float64(n), float64(looks), float64(looks)); p.Low <= truth && truth <= p.High {
					held++
				}
			}
			if share := float64(held) / rounds; share < 0.92 || math.IsNaN(share) {
				t.Errorf("%v of %d looks: %.3f hold it", truth, looks, share)
			}
		}
	}
}
