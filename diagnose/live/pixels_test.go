package live

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// TestWorkOf: the outermost function behind the program's own line says whether it is
// work that stoker feed does.
func TestWorkOf(t *testing.T) {
	const own, pil, image, torch = "/t.py:4 f;", "PIL/Image.py:1 Image.", "PIL/ImageFile.py:2 ImageFile.load", "torchvision/transforms/"
	for stack, want := range map[string]work{
		own + pil + "convert;" + image:                                fedWork,
		own + pil + "open;" + image:                                   fedWork,
		own + pil + "open":                                            otherWork,
		own + "numpy/a.py:3 sort":                                     otherWork,
		own + pil + "__array_interface__;" + pil + "tobytes;" + image: asking,
		own + torch + "functional.py:5 to_tensor;" + pil + "tobytes":  fedWork,
		own + torch + "functional.py:5 normalize;" + torch + "_functional_tensor.py:6 normalize":                     fedWork,
		own + torch + "functional.py:5 gaussian_blur;" + torch + "_functional_tensor.py:6 gaussian_blur":             asking,
		own + torch + "transforms.py:5 ColorJitter.forward;" + torch + "_functional_pil.py:7 adjust_hue":             fedWork,
		own + torch + "v2/functional/_color.py:5 adjust_hue;" + torch + "_functional_pil.py:7 adjust_hue":            fedWork,
		own + torch + "v2/functional/_color.py:5 adjust_hue;" + torch + "v2/functional/_color.py:7 adjust_hue_image": otherWork,
		own + torch + "v2/functional/_color.py:5 equalize;" + torch + "v2/functional/_color.py:7 equalize_image":     asking,
		own + torch + "v2/functional/_geometry.py:5 resize;" + torch + "v2/functional/_geometry.py:7 resize_image":   fedWork,
		own + pil + "thumbnail;" + pil + "resize":                                                                    fedWork,
		own + "PIL/ImageOps.py:5 autocontrast;" + pil + "histogram":                                                  fedWork,
		own + pil + "point;" + own + "numpy/a.py:3 sort":                                                             otherWork, // a function of the program's own
		"torch/utils/data/_utils/collate.py:5 default_collate;torch/utils/data/_utils/collate.py:6 collate":          otherWork,
		"torch/utils/data/_utils/collate.py:5 collate;torch/utils/data/_utils/collate.py:6 collate_tensor_fn":        fedWork,
	} {
		run := recording.Run{Series: []recording.Series{
			{Signal: recording.FetchStack, Subject: "process/7;main;core;" + strings.TrimSuffix(stack, ";"), T: []float64{0, 5}, V: []float64{0, 4}},
		}}
		stacks, _ := run.FetchStacks(0, 5)
		_, behind := innermost(stacks[0].Places)
		if got, _ := workOf(behind); got != want {
			t.Errorf("%s: work %d, want %d", stack, got, want)
		}
	}
}

// Each recorded function is work of the daemon, or of its kind, and files have a row with functions.
func TestRecordedFunctionsAreKnown(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(recorded), "\n")
	if len(lines) < 5 {
		t.Fatalf("recorded.txt has %d files", len(lines))
	}
	for _, line := range lines {
		words := strings.Fields(line)
		for _, function := range words[1:] {
			file := words[0]
			if strings.HasSuffix(file, "/") {
				file += "_geometry.py"
			}
			work, place := workOf([]recording.Place{{File: file, Function: function}})
			if place.Function == "" || work == asking {
				t.Errorf("works of pixels.go has no row for %s of %s", function, words[0])
			}
		}
	}
}

// TestAreJPEGs: where Pillow mostly reads other files, nothing waits.
func TestAreJPEGs(t *testing.T) {
	const load, png, jpeg = "/t.py:4 f;PIL/ImageFile.py:2 ImageFile.load", "PIL/PngImagePlugin.py:3 load_read", "PIL/JpegImagePlugin.py:3 _open"
	for stacks, want := range map[string]bool{
		load:                                    true,
		load + ";" + png:                        false,
		"/t.py:3 f;" + jpeg + " " + load:        true,
		load + ";" + png + " /t.py:3 f;" + jpeg: true,
	} {
		var run recording.Run
		for stack := range strings.SplitSeq(strings.ReplaceAll(stacks, " /t.py", "\n/t.py"), "\n") {
			run.Series = append(run.Series, recording.Series{
				Signal: recording.FetchStack, Subject: "process/7;main;core;" + stack, T: []float64{0, 5}, V: []float64{0, 4},
			})
		}
		found, _ := run.FetchStacks(0, 5)
		if got := areJPEGs(found); got != want || len(found) == 0 {
			t.Errorf("%s: areJPEGs is %t, want %t (%d stacks)", stacks, got, want, len(found))
		}
	}
}
