package advise

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict/bounds"
	"github.com/stoker-dev/stoker/quantity"
)

// AugmentOnDevice is the name of the fix that moves augmentations of pictures to the device.
const AugmentOnDevice = "augment-on-device"

// augmentation is a transform of torchvision that can be made of a whole batch on the device.
type augmentation struct {
	kornia string  // the class of Kornia that draws random numbers for each picture of a batch
	passes float64 // kernels over the batch there. [J] counted in torchvision's functional code for tensors
}

// augmentations keep the shape of a picture: what makes all pictures of a batch equally large stays with the workers.
var augmentations = map[string]augmentation{
	"ColorJitter":           {"ColorJiggle", 60},
	"ElasticTransform":      {"RandomElasticTransform", 20},
	"GaussianBlur":          {"RandomGaussianBlur", 10},
	"RandomAdjustSharpness": {"RandomSharpness", 10},
	"RandomAffine":          {"RandomAffine", 15},
	"RandomAutocontrast":    {"RandomAutoContrast", 10},
	"RandomEqualize":        {"RandomEqualize", 30},
	"RandomErasing":         {"RandomErasing", 4},
	"RandomGrayscale":       {"RandomGrayscale", 6},
	"RandomInvert":          {"RandomInvert", 2},
	"RandomPerspective":     {"RandomPerspective", 15},
	"RandomPosterize":       {"RandomPosterize", 4},
	"RandomRotation":        {"RandomRotation", 15},
	"RandomSolarize":        {"RandomSolarize", 4},
}

// What a kernel over a batch takes at most: twice what memory allows, and the time to launch it. [J]
const (
	slowPass   = 2
	launchTime = 20e-6
)

// augment proposes to make on the device the changes that workers make to each picture, if the
// device is waiting for them. It is
// never proposed for a busy device, which would have more to do.
func (a adviser) augment() (Fix, string) {
	moved, share := a.findMovable()
	if len(moved) == 0 || !a.feedable() || !a.isStarved() || !a.verdict.Class.Is(diagnose.CPUBound) {
		return Fix{}, ""
	}
	fix := Fix{
		Name: AugmentOnDevice, Title: "make " + strings.Join(moved, " and ") + " of the whole batch on the device",
		Effort: Code, Risk: NumericsRisk, Untested: true,
	}
	gpu, _ := hardware.FindGPU(a.findDevice().Name)
	if !gpu.MemoryRate.Known() || !a.base.PrepareCPU.Known() || !(a.base.BatchBytes() > 0) {
		return fix, "the device's memory, the batch or the cost of preparing it is not known"
	}
	pass := 2 * a.base.BatchBytes() / gpu.MemoryRate.Value // each reads all and writes all
	kernels := 0.0
	for _, name := range moved {
		kernels += augmentations[name].passes
	}
	added := stoker.Interval{Low: pass, Point: kernels * pass, High: kernels * (slowPass*pass + launchTime)}
	fix.Forecast = a.base.MovedToDevice(stoker.Interval{
		Low: 1 - share.High, Point: 1 - share.Point, High: 1 - share.Low,
	}, added)
	var kornia []string
	for _, name := range moved {
		kornia = append(kornia, "K."+augmentations[name].kornia+"(...)")
	}
	fix.Notes = []string{
		fmt.Sprintf("%s of preparing a batch leaves the workers, and a step on the device gets at most %s longer",
			quantity.Around(share, quantity.Percent), quantity.AboutSeconds(added.High)),
		"once: import kornia.augmentation as K, then augment = K.AugmentationSequential(" + strings.Join(kornia, ", ") +
			`, data_keys=["input"])`,
		"in the loop: images = augment(images.to(device)), before Normalize, which moves there as well",
		"torchvision.transforms.v2 takes a batch on the device too, and draws once for all of it",
	}
	return fix, ""
}

// findMovable returns the transforms on the lines that preparing goes into, which the device can make, and their share.
func (a adviser) findMovable() (names []string, share stoker.Interval) {
	for _, line := range a.verdict.Lines {
		name, _, _ := strings.Cut(line.Call.Function, ".")
		if !strings.HasPrefix(line.Call.File, "torchvision/transforms/") || augmentations[name].kornia == "" {
			continue
		}
		share = bounds.Add(share, line.Share)
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	share.High, share.Point = min(share.High, 1), min(share.Point, 1)
	return names, share
}
