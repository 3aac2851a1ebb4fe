package report

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A place that is cut still names its file and line.
func TestShortenPlace(t *testing.T) {
	const deep = "/opt/conda/lib/python3.9/site-packages/moca/library/vision/pipeline/model.py(1041): forward_features"
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"train.py:41", 60, "train.py:41"},
		{deep, 200, deep},
		{deep, 60, "…/library/vision/pipeline/model.py(1041): forward_features"},
		{deep, 40, "model.py(1041): forward_features"},
		{deep, 24, "model.py(1041): forward…"},
		{deep, 5, "model.py(1041)"},
		{"/a/b/c/d/e/train.py:41 Faces.__getitem__", 30, "train.py:41 Faces.__getitem__"},
		{"35 % /a/very/long/way/to/train.py:41", 24, "…/way/to/train.py:41"},
		{"/data/traces/of/november/resnet50.pt.trace.json.gz", 32, "resnet50.pt.trace.json.gz"},
		{"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor>", 20, "void at::native::vec…"},
	} {
		if got := ShortenPlace(c.text, c.most); got != c.want {
			t.Errorf("%s in %d: %q, want %q", c.text, c.most, got, c.want)
		}
	}
	for most := range 120 {
		got := ShortenPlace(deep, most)
		if !strings.Contains(got, "model.py(1041)") || utf8.RuneCountInString(got) > max(most, len("model.py(1041)")) {
			t.Errorf("%d: %q", most, got)
		}
	}
}
