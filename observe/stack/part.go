package stack

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// part is the role of a function in a loader.
type part byte

const (
	inside part = iota // of a fetch, or of anything else
	fetch              // begins to prepare a batch: all that it calls belongs to it
	ours               // of the start-up hook
)

// client is the folder of Stoker's own library in Python. Waits of its emulated device do not
// count as lines of the program.
const client = "/stoker/"

// compiledModel is the folder of code that torch.compile wrote for a model, as a Place names it.
const compiledModel = "torchinductor/"

// library matches the part of a path before a library's own path.
var library = regexp.MustCompile(`^.*/(?:(?:site|dist)-packages|lib/python3\.\d+)/`)

// partOf returns the role of a function in a loader, and its file as it is recorded: a library's
// begins with the library's name, the program's own with "/", "." or "<".
func partOf(file, name string) (string, part) {
	switch {
	case strings.HasSuffix(file, "torch/utils/data/_utils/fetch.py"):
		return file, fetch
	case strings.HasPrefix(file, "<stoker>/"), strings.Contains(file, "/stoker/hook-"):
		return file, ours
	case strings.HasSuffix(file, client+"emulated.py"):
		return file[strings.LastIndex(file, client)+1:], inside
	case strings.Contains(file, "/torchinductor_"), strings.Contains(file, "/torch_compile_cache/"):
		return compiledModel + file[strings.LastIndexByte(file, '/')+1:], inside
	case library.MatchString(file):
		return file[len(library.FindString(file)):], inside
	case strings.HasPrefix(file, "<frozen "):
		return strings.Trim(file, "<>"), inside
	case strings.HasPrefix(file, "/") || strings.HasPrefix(file, "<"):
		return file, inside
	}
	return "./" + file, inside
}

// mostPlaces bounds how much of a stack is recorded: its outermost and its innermost
// half.
const mostPlaces = 24

// placesInFetch appends the places of a stack inside a fetch to a list, outermost first; false
// if the thread is in no fetch.
func placesInFetch(stack []place, into []recording.Place) ([]recording.Place, bool) {
	begin := -1
	for i, p := range stack {
		if p.code != nil && p.code.part == fetch {
			begin = i
		}
	}
	if begin < 0 {
		return into, false
	}
	for i := begin; i >= 0; i-- {
		if c := stack[i].code; c != nil && c.part == inside {
			into = append(into, stack[i].asPlace())
		}
	}
	if cut := len(into) - mostPlaces; cut > 0 {
		into = append(into[:mostPlaces/2], into[mostPlaces/2+cut:]...)
	}
	return into, true
}

// placesOutsideFetch appends the places of a stack outside a fetch: the program's own innermost
// line and the library's function that it calls, or the outermost library's function if no line
// is the program's. A function around it that evaluates the model comes first.
// Then comes the innermost function that names the work, if that is another
// one. If a DataLoader called the own line, as it calls a sampler, the loader's function comes
// first. The result is false if there is no place.
func placesOutsideFetch(stack []place, into []recording.Place, server bool) ([]recording.Place, bool) {
	var call, loader, telling, preparing *place
	for i := range stack {
		p := &stack[i]
		if p.code == nil || p.code.part != inside {
			continue
		}
		if server && startsWithAny(p.code.file, eventLoops) {
			break
		}
		if server && telling == nil && startsWithAny(p.code.file, stages) && p.code.name != atImport {
			telling = p
		}
		if strings.HasPrefix(p.code.file, "<") && (server || hasFile(stack[i+1:])) {
			continue // made by a library, as multiprocessing's start or the __init__ of a data class
		}
		if own := p.asPlace(); own.Own() {
			if around := callingLoader(stack[i+1:]); around != nil {
				into = append(into, around.asPlace())
			} else if around := evaluating(stack[i+1:]); around != nil && !own.Evaluates() {
				into = append(into, around.asPlace())
			} else if server && onEventLoop(stack[i+1:]) {
				into = append(into, recording.Place{File: recording.EventLoopFile})
			}
			into = append(into, own)
			break
		}
		if telling == nil && tells(p.code.file) && p.code.name != atImport {
			telling = p
		}
		if preparing == nil && startsWithAny(p.code.file, preparers) {
			preparing = p
		}
		if p.code.file == recording.LoaderFile {
			loader = p
		}
		call = p
	}
	if call != nil {
		into = append(into, call.asPlace())
	}
	if loader != nil && loader != call { // a framework's loop calls it
		into = append(into, loader.asPlace())
	}
	telling = cmp.Or(telling, preparing)
	if telling != nil && telling != call && telling != loader {
		into = append(into, telling.asPlace())
	}
	return into, len(into) > 0
}

// PlacesOfCoroutine returns the places that tell where a server's coroutine is suspended, of its frames, the outermost
// first: the program's own innermost line, the library's function that it awaits, and the innermost one. If only
// libraries were seen, the two innermost, or the one that takes an answer's pieces from a plain generator.
func PlacesOfCoroutine(frames []recording.Place) (into []recording.Place) {
	pieces := false
	for _, f := range frames {
		file, role := partOf(f.File, f.Function)
		if f.File = file; role == ours {
			continue
		}
		switch n := len(into); {
		case f.Own(), f.TakesPieces():
			into, pieces = into[:0], f.TakesPieces()
		case n > 0 && (into[0].Own() || pieces):
			into = into[:min(n, 2)]
		default:
			into = into[max(0, n-1):]
		}
		into = append(into, f)
	}
	return into
}

// IsOwn reports whether a file, as Python names it, is the program's own.
func IsOwn(file string) bool {
	named, role := partOf(file, "")
	return role == inside && recording.Place{File: named}.Own()
}

// atImport is the function of a module's own code. An import does nothing of what the library is
// for.
const atImport = "<module>"

// hasFile reports whether a function of a file of the program is among some.
func hasFile(outer []place) bool {
	return slices.ContainsFunc(outer, func(p place) bool {
		return p.code != nil && p.code.part == inside && !strings.HasPrefix(p.code.file, "<") && p.asPlace().Own()
	})
}

// callingLoader returns the DataLoader's function that the program called, if a function further in
// was called by it; else nil.
func callingLoader(outer []place) (called *place) {
	for i := range outer {
		if c := outer[i].code; c != nil && c.file == recording.LoaderFile {
			called = &outer[i]
		}
	}
	return called
}

// evaluating returns the program's innermost function around a line that evaluates the model, by its name; nil
// without one.
func evaluating(outer []place) *place {
	for i := range outer {
		if c := outer[i].code; c != nil && c.part == inside && outer[i].asPlace().Evaluates() {
			return &outer[i]
		}
	}
	return nil
}

// tellers are libraries whose functions say what a thread does, however deep a framework calls
// them: it starts a program, waits for another process, takes tensors from a worker, saves,
// compiles, sends.
var tellers = []string{
	"subprocess.py", "multiprocessing/", "threading.py", "queue.py", "selectors.py", "socket.py", "ssl.py",
	"concurrent/",
	"torch/multiprocessing/", "torch/utils/data/sampler.py", "torch/utils/data/_utils/pin_memory.py",
	"torch/utils/data/_utils/collate.py", "torch/storage.py",
	"torch/serialization.py", "torch/distributed/checkpoint/", "safetensors/", "pickle.py", "shutil.py", "tarfile.py",
	"torch/_dynamo/", "torch/_inductor/", "triton/", "torch/cuda/", "torch/utils/tensorboard/", "tensorboard/",
	"wandb/", "mlflow/", "comet_ml/", "neptune/", "clearml/", "urllib3/", "requests/", "http/", "matplotlib/",
	"sklearn/", "transformers/generation/",
	"torchmetrics/", "pycocotools/", "logging/", "tqdm/",
}

// preparers are libraries whose functions prepare data. They name the work if no teller does: plots and logs
// encode pictures as well.
var preparers = []string{
	"torchvision/transforms/", "albumentations/", "kornia/augmentation/", "monai/transforms/", "torchio/",
	"torchaudio/", "librosa/", "PIL/", "skimage/", "pandas/core/", "tokenizers/", "transformers/tokenization",
}

// onEventLoop reports whether an event loop calls a function, by those around it: it is blocked meanwhile.
func onEventLoop(outer []place) bool {
	for i := range outer {
		if c := outer[i].code; c != nil && startsWithAny(c.file, asyncLoops) {
			return true
		}
	}
	return false
}

// asyncLoops are the files of functions that run an event loop: of uvloop's, which is native code, those around it.
var asyncLoops = []string{recording.EventLoopFile, "asyncio/base_events.py", "asyncio/runners.py"}

// stages are libraries whose functions say what a server does for a request.
var stages = []string{
	"json/", "fastapi/", "starlette/", "pydantic/", "orjson/", "transformers/tokenization", "transformers/generation/",
	"tokenizers/", "PIL/", "torchvision/transforms/", "litserve/", "ray/serve/", "bentoml/", "vllm/", "multipart/",
	"python_multipart/", "base64.py", "gzip.py", "httpx/", "aiohttp/", "redis/", "psycopg", "gunicorn/http/wsgi.py",
	"gunicorn/http/body.py", "waitress/channel.py",
}

// eventLoops are the files in which a thread begins to work on a request. The frames that
// started the loop, or the thread, say nothing.
var eventLoops = []string{
	"asyncio/events.py", "asyncio/base_events.py", "asyncio/runners.py",
	"uvicorn/server.py", "uvicorn/_compat.py", "uvicorn/main.py", "anyio/_backends/", "concurrent/futures/thread.py",
}

func tells(file string) bool { return startsWithAny(file, tellers) }

func startsWithAny(file string, with []string) bool {
	return slices.ContainsFunc(with, func(t string) bool { return strings.HasPrefix(file, t) })
}

func (p place) asPlace() recording.Place {
	return recording.Place{File: p.code.file, Line: p.line, Function: p.code.name}
}
