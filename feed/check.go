package feed

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/stoker-dev/stoker/feed/order"
	"github.com/stoker-dev/stoker/feed/source"
)

// How bad samples are handled (Spec.OnError).
const (
	Fail       = "fail"       // the batch is an error
	substitute = "substitute" // another sample, always the same one, is used instead
	Mask       = "mask"       // its place is zero and flagged
)

const (
	// defaultMaxBad: ImageNet has at most one such file in a million. One in a thousand means
	// that the whole set is at fault, not a file.
	defaultMaxBad = 0.001
	// defaultDepth: one batch at the trainer, one on its way, two to even out fluctuations.
	defaultDepth = 4
	maxDepth     = 64
)

// withDefaults returns the spec with zero values replaced by defaults.
func (s Spec) withDefaults() Spec {
	set := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	set(&s.Tail, string(order.Short))
	set(&s.OnError, Fail)
	set(&s.Output.DType, "float32")
	set(&s.Output.Layout, "nchw")
	if s.MaxBad == 0 {
		s.MaxBad = defaultMaxBad
	}
	if s.Depth == 0 {
		s.Depth = defaultDepth
	}
	if s.World == 0 {
		s.World = 1
	}
	return s
}

// checkSpec returns the faults of a spec. Package transform checks ops and output.
func (s Spec) checkSpec() error {
	switch {
	case s.Name == "":
		return errors.New("name is empty: it tells the loaders of a job apart, for example \"train\"")
	case !filepath.IsAbs(s.Root) && (!source.InBucket(s.Root) || s.List != ""):
		return fmt.Errorf("root is %q: an absolute path is needed, since the daemon may run in another folder", s.Root)
	case s.OnError != Fail && s.OnError != substitute && s.OnError != Mask:
		return fmt.Errorf(
			"on_error is %q: %q stops at a bad sample, %q puts another in its place, %q leaves its place zero and flags it",
			s.OnError, Fail, substitute, Mask)
	case !(s.MaxBad >= 0 && s.MaxBad <= 1): // also not a number
		return fmt.Errorf("max_bad is %v: a share of the samples, 0 to 1, is expected", s.MaxBad)
	case s.MaxPixels < 0 || s.MaxPixels > maxPixels:
		return fmt.Errorf(
			"max_pixels is %d: 1 to %d, which Pillow takes for a bomb beyond, are possible: 0 is the latter",
			s.MaxPixels, maxPixels)
	case s.Depth < 2 || s.Depth > maxDepth:
		return fmt.Errorf("depth is %d: 2 (one batch is used while one is made) to %d slots per rank are possible",
			s.Depth, maxDepth)
	}
	for _, extension := range s.Extensions {
		if extension == "" || strings.Contains(extension, "/") || extension != strings.ToLower(extension) {
			return fmt.Errorf(
				"extensions has %q: the end of a file name in lower case is expected, for example \".jpg\"", extension)
		}
	}
	return s.PlanOrder(0, s.Batch).Validate()
}

// PlanOrder returns the plan by which ranks share the given number of samples.
func (s Spec) PlanOrder(samples, batch int) order.Plan {
	return order.Plan{Samples: samples, World: s.World, Batch: batch, Tail: order.Tail(s.Tail)}
}
