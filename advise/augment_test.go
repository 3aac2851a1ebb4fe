package advise

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose/judge"
)

// TestAugmentOnDevice: what workers augment is proposed for a device that waits, by its share; crops, which decide a
// picture's size, and the program's own code are not.
func TestAugmentOnDevice(t *testing.T) {
	const decode = "PIL/Image.py:9 Image.convert;PIL/ImageFile.py:9 ImageFile.load"
	const jitter = "torchvision/transforms/transforms.py:9 ColorJitter.forward;PIL/ImageEnhance.py:3 Color.enhance"
	const jitter2 = "torchvision/transforms/v2/_color.py:9 ColorJitter.transform;torch/a.py:3 mul"
	const blur = "torchvision/transforms/transforms.py:19 GaussianBlur.forward;torch/nn.py:3 conv2d"
	const crop = "torchvision/transforms/transforms.py:29 RandomResizedCrop.forward;PIL/Image.py:3 Image.resize"
	for name, test := range map[string]struct {
		stacks      map[string]float64
		least, most float64 // of the speed-up's point
		said        string
	}{
		"half":         {map[string]float64{decode: 50, jitter: 50}, 1.6, 1.8, "make ColorJitter of the whole batch"},
		"of v2":        {map[string]float64{decode: 50, jitter2: 50}, 1.6, 1.8, "K.ColorJiggle(...)"},
		"two":          {map[string]float64{decode: 40, jitter: 30, blur: 30}, 1.8, 2.1, "make ColorJitter and GaussianBlur"},
		"crops":        {map[string]float64{decode: 50, crop: 50}, 0, 0, ""},
		"own code":     {map[string]float64{decode: 50, "numpy/a.py:3 sort": 50}, 0, 0, ""},
		"its own name": {map[string]float64{decode: 50, "mine/a.py:3 ColorJitter.forward": 50}, 0, 0, ""},
	} {
		run := seenIn(t, test.stacks)
		verdict := judge.Judge(run)
		plan := Rank(run, verdict)
		at := slices.IndexFunc(plan.Fixes, func(f Fix) bool { return f.Name == AugmentOnDevice })
		if (at >= 0) != (test.said != "") {
			t.Errorf("%s: %v, rejected %v, %s", name, names(plan.Fixes), plan.Rejected, verdict.Class)
			continue
		}
		if at < 0 {
			continue
		}
		fix := plan.Fixes[at]
		if s := fix.Forecast.Speedup; s.Point < test.least || s.Point > test.most || !fix.Untested {
			t.Errorf("%s: %+v", name, s)
		}
		if said := fix.Title + strings.Join(fix.Notes, " "); !strings.Contains(said, test.said) || !strings.Contains(said, "gets at most") {
			t.Errorf("%s: %s", name, said)
		}
		if verdict.Stall = 0; slices.ContainsFunc(Rank(run, verdict).Fixes, func(f Fix) bool { return f.Name == AugmentOnDevice }) {
			t.Errorf("%s: more work for a device that does not wait", name)
		}
	}
}
