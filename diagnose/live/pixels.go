package live

import (
	"cmp"
	_ "embed" // recorded.txt
	"maps"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/recording"
)

// Pixels says how much of preparing batches is work on pixels that stoker feed does for
// an unchanged script, by where threads were seen on a core.
type Pixels struct {
	Share stoker.Interval // of the core time
	What  []string        // the functions whose work it is, most first
	Rest  []string        // the program's lines whose work is not moved, most first
	// needs the values of each picture at once, so that they cannot wait; without a file where nothing does
	Asks recording.Place
	// torchvision makes tensors of the pictures, which can wait. numpy.array(picture) decodes at once, and may take
	// too little time to be seen
	Converts bool
}

// converters are functions and transforms of torchvision that make a picture a tensor, and are deferred.
var converters = []string{"to_tensor", "pil_to_tensor", "to_image", "ToTensor", "PILToTensor", "ToImage"}

// converts reports whether a function or a transform of a library is one of them.
func converts(name string) bool {
	return slices.Contains(converters, name[strings.LastIndexByte(name, '.')+1:])
}

// leastAsked is the share of the core time from which a line counts that needs a
// picture's values. [J]
const leastAsked = 0.02

// work is the kind of a stack, as stoker feed sees it.
type work int

const (
	otherWork work = iota
	fedWork        // the daemon does it, with pictures that wait
	asking         // somebody else gets the values of one picture
)

// FindPixels reads the stacks of those that load for the judged trainer; false if too few samples
// were taken, or none of them saw Pillow decode a file.
func FindPixels(run *recording.Run, c measure.Costs) (p Pixels, ok bool) {
	stacks, looks := run.FetchStacks(c.Window.Start, c.Window.End,
		recording.Loading{PID: c.Window.PID, Worker: c.Workers > 0})
	var all spent
	if d := run.FindLoader(c.Window.PID, c.Window.Loader); d != nil {
		p.Converts = slices.ContainsFunc(d.Transforms, func(name string) bool {
			return strings.HasPrefix(name, "torchvision.") && converts(name)
		})
	}
	did := map[work]map[recording.Place]float64{otherWork: {}, fedWork: {}, asking: {}}
	for _, s := range stacks {
		all.addStack(s)
		if s.Asleep || len(s.Places) == 0 {
			continue
		}
		own, behind := innermost(s.Places)
		kind, by := workOf(behind)
		if kind == fedWork {
			own = recording.Place{Function: by.Function}
		}
		did[kind][own] += s.Seconds
		p.Converts = p.Converts || slices.ContainsFunc(behind, func(p recording.Place) bool {
			return strings.HasPrefix(p.File, "torchvision/") && converts(p.Function)
		})
		ok = ok || slices.ContainsFunc(behind,
			func(p recording.Place) bool { return p.File == "PIL/ImageFile.py" && p.Function == "ImageFile.load" })
	}
	looks *= all.core / all.whole()
	if !ok || !areJPEGs(stacks) || !(looks >= fewLooks) {
		return Pixels{}, false
	}
	fed, rest := did[fedWork], did[otherWork]
	if sumSeconds(did[asking]) >= leastAsked*all.core {
		p.Asks = ordered(did[asking])[0]
	}
	p.Share = estimateShare(sumSeconds(fed), all.core, looks)
	p.What, p.Rest = foremost(fed, all.core), foremost(rest, all.core)
	return p, true
}

// areJPEGs reports whether the files that Pillow's plugins were seen to read are mostly JPEGs, the
// only files that are deferred. It is true if none was seen, as reading a header is short.
func areJPEGs(stacks []recording.Stack) bool {
	var jpegs, others float64
	for _, s := range stacks {
		for _, p := range s.Places {
			switch format, found := strings.CutSuffix(p.File, "ImagePlugin.py"); {
			case !found:
			case format == "PIL/Jpeg":
				jpegs += s.Seconds
			default:
				others += s.Seconds
			}
		}
	}
	return jpegs >= others
}

// innermost is the program's own innermost line, else the outermost of all, and the function it calls.
func innermost(places []recording.Place) (own recording.Place, behind []recording.Place) {
	for i, p := range slices.Backward(places) {
		if p.Own() {
			return p, places[i+1:]
		}
	}
	return places[0], places
}

// workOf is what a program's line asks of libraries: the outermost function that is known says it.
func workOf(behind []recording.Place) (work, recording.Place) {
	for _, p := range behind {
		name := p.Function[strings.LastIndexByte(p.Function, '.')+1:]
		for _, known := range works {
			if strings.HasPrefix(p.File, known.file) &&
				(len(known.functions) == 0 || slices.ContainsFunc(known.functions, func(f string) bool {
					return f == name || f[0] == '*' && strings.HasSuffix(name, f[1:])
				})) {
				return known.work, p
			}
		}
	}
	return otherWork, recording.Place{}
}

// recorded lists the functions that python/stoker records as operations, in a line for each file:
// its name, then the functions. `make golden` writes it from feed/picture/operations.go.
//
//go:embed recorded.txt
var recorded string

// recordedOf returns the recorded functions of a file, and further ones.
func recordedOf(file string, further ...string) []string {
	for line := range strings.Lines(recorded) {
		if functions, found := strings.CutPrefix(line, file+" "); found {
			return append(strings.Fields(functions), further...)
		}
	}
	return further
}

// works are functions of libraries by their work: recorded ones, and others that python/stoker
// defers. The first that matches counts.
var works = []struct {
	work      work
	file      string   // how its name begins
	functions []string // empty for all; "*" matches any beginning
}{
	{fedWork, "PIL/ImageFile.py", []string{"load"}},
	{fedWork, "PIL/Image.py", recordedOf("PIL/Image.py", "copy", "load")},
	{fedWork, "PIL/ImageEnhance.py", recordedOf("PIL/ImageEnhance.py", "__init__")},
	{fedWork, "PIL/ImageOps.py", recordedOf("PIL/ImageOps.py")},
	{fedWork, "torchvision/transforms/_functional_pil.py", nil},
	{
		fedWork, "torchvision/transforms/functional.py",
		[]string{"to_tensor", "pil_to_tensor", "normalize", "erase", "convert_image_dtype"},
	},
	{fedWork, "torchvision/transforms/_functional_tensor.py", []string{"hflip", "vflip"}},
	{fedWork, "torchvision/transforms/v2/functional/_type_conversion.py", []string{"to_image"}},
	{
		fedWork, "torchvision/transforms/v2/functional/",
		recordedOf("torchvision/transforms/v2/functional/",
			"crop_image", "erase_image", "horizontal_flip_image", "normalize_image", "pad_image",
			"resized_crop_image", "to_dtype_image", "vertical_flip_image"),
	},
	{ // the daemon makes these as well, at about torch's own cost
		otherWork, "torchvision/transforms/v2/functional/_color.py",
		recordedOf("torchvision/transforms/v2/functional/_color.py",
			"adjust_brightness_image", "invert_image", "posterize_image", "solarize_image"),
	},
	{fedWork, "torch/utils/data/_utils/collate.py", []string{"collate_tensor_fn"}},
	{asking, "torchvision/transforms/_functional_tensor.py", nil},
	{asking, "torchvision/transforms/v2/functional/", []string{"*_image"}},
	{asking, "PIL/Image.py", []string{
		"__array_interface__", "tobytes", "getdata", "getpixel", "save", "split",
		"getchannel", "quantize", "histogram",
	}},
	{asking, "PIL/ImageDraw.py", nil},
}

func sumSeconds(seconds map[recording.Place]float64) (all float64) {
	for _, s := range seconds {
		all += s
	}
	return all
}

// foremost says where most of some time was spent, as shares of all.
func foremost(seconds map[recording.Place]float64, all float64) (said []string) {
	for _, p := range ordered(seconds) {
		if len(said) == diagnose.LinesSaid || seconds[p] < leastLine*all {
			break
		}
		said = append(said, strings.TrimSpace(p.String())+" "+diagnose.WholePercent(seconds[p]/all))
	}
	return said
}

// ordered are places, those with most time first.
func ordered(seconds map[recording.Place]float64) []recording.Place {
	return slices.SortedFunc(maps.Keys(seconds), func(a, b recording.Place) int {
		return cmp.Or(cmp.Compare(seconds[b], seconds[a]), cmp.Compare(a.String(), b.String()))
	})
}
