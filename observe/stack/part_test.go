package stack

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// TestAround is what is recorded of a launching thread's stack, given innermost first.
func TestAround(t *testing.T) {
	const loader = "torch/utils/data/dataloader.py"
	for want, frames := range map[string][]string{
		"/train.py main": {"/train.py main"},
		// a loader calls the program's sampler
		loader + " __next__ /train.py Buckets.__iter__ wave.py open": {
			"wave.py open", "/train.py Buckets.__iter__", "torch/utils/data/sampler.py __iter__", loader + " _next_index", loader + " __next__", "/train.py main",
		},
		// the program's loop calls a loader, which starts workers
		"/train.py main " + loader + " __iter__ multiprocessing/popen_fork.py _launch": {
			"multiprocessing/popen_fork.py _launch", loader + " __init__", loader + " __iter__", "/train.py main",
		},
		// a function around the line evaluates the model
		"/train.py Trainer.evaluate /train.py Net.forward": {"/train.py Net.forward", "/train.py Trainer.evaluate", "/train.py main"},
		// transforms of a batch, which are modules
		"/train.py main torch/nn/modules/module.py _call_impl torchvision/transforms/v2/functional/_color.py adjust_hue": {
			"torchvision/transforms/v2/functional/_color.py adjust_hue", "torchvision/transforms/v2/_color.py transform",
			"torch/nn/modules/module.py _call_impl", "/train.py main",
		},
		// a figure is drawn, and its pixels are encoded
		"/train.py main matplotlib/pyplot.py savefig matplotlib/image.py imsave": {
			"PIL/Image.py save", "matplotlib/image.py imsave", "matplotlib/pyplot.py savefig", "/train.py main",
		},
		// a library made code from text
		"/train.py main torch/_dynamo/eval_frame.py _fn torch/_dynamo/utils.py wrap": {
			"torch/_dynamo/utils.py wrap", "<string> __init__", "torch/_dynamo/eval_frame.py _fn", "/train.py main",
		},
		"<string> main": {"<string> main", "<string> <module>"}, // python -c
		// a framework's loop calls the loader
		"/train.py main lightning/trainer.py fit " + loader + " __iter__ multiprocessing/popen_fork.py _launch": {
			"multiprocessing/popen_fork.py _launch", loader + " __iter__", "lightning/loops/fetchers.py next", "lightning/trainer.py fit", "/train.py main",
		},
	} {
		var stack []place
		for _, frame := range frames {
			file, name, _ := strings.Cut(frame, " ")
			stack = append(stack, place{code: &code{file: file, name: name, part: inside}})
		}
		places, found := placesOutsideFetch(stack, nil, false)
		var got []string
		for _, p := range places {
			got = append(got, p.File+" "+p.Function)
		}
		if text := strings.Join(got, " "); !found || text != want {
			t.Errorf("%v gives %q, want %q", frames, text, want)
		}
	}
}

// A server's line that an event loop calls is marked: the loop is blocked meanwhile. What the loop's own thread waits for is not.
func TestALineOnTheEventLoop(t *testing.T) {
	for want, frames := range map[string][]string{
		"asyncio/events.py  /app.py predict": {"/app.py predict", "starlette/routing.py app", "asyncio/events.py Handle._run", "/app.py main"},
		"/app.py predict":                    {"/app.py predict", "concurrent/futures/thread.py run"},
		"selectors.py select":                {"selectors.py select", "asyncio/base_events.py _run_once", "asyncio/runners.py run", "/app.py main"},
	} {
		var stack []place
		for _, frame := range frames {
			file, name, _ := strings.Cut(frame, " ")
			stack = append(stack, place{code: &code{file: file, name: name, part: inside}})
		}
		places, _ := placesOutsideFetch(stack, nil, true)
		var got []string
		for _, p := range places {
			got = append(got, p.File+" "+p.Function)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%v gives %q, want %q", frames, text, want)
		}
	}
}

// A coroutine keeps the program's line and the function that it awaits, or else its two innermost functions.
func TestPlacesOfACoroutine(t *testing.T) {
	at := func(names ...string) (frames []recording.Place) {
		for _, name := range names {
			frames = append(frames, recording.Place{File: name, Line: 1})
		}
		return frames
	}
	const lib = "/usr/lib/python3.11/site-packages/"
	for name, c := range map[string]struct{ frames, want []recording.Place }{
		"own": {
			at(lib+"uvicorn/x.py", "<stoker>/serving.py", "/srv/app.py", lib+"httpx/a.py", lib+"httpx/b.py", lib+"anyio/c.py"),
			at("/srv/app.py", "httpx/a.py", "anyio/c.py"),
		},
		"own within own": {at("/srv/app.py", lib+"a.py", "/srv/own.py"), at("/srv/own.py")},
		"an answer in pieces": {
			append(at(lib+"starlette/responses.py"), recording.Place{File: lib + "starlette/concurrency.py", Line: 1, Function: "iterate_in_threadpool"},
				at(lib + "anyio/to_thread.py")[0], at(lib + "anyio/_backends/_asyncio.py")[0]),
			append([]recording.Place{{File: "starlette/concurrency.py", Line: 1, Function: "iterate_in_threadpool"}},
				at("anyio/to_thread.py", "anyio/_backends/_asyncio.py")...),
		},
		"of libraries": {at(lib+"uvicorn/x.py", lib+"fastapi/a.py", lib+"starlette/b.py"), at("fastapi/a.py", "starlette/b.py")},
	} {
		if got := PlacesOfCoroutine(c.frames); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, expected %v", name, got, c.want)
		}
	}
}
