package advise

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/live"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

const (
	// imageFolder is the class of torchvision's data set that stoker.DataLoader reads,
	// folderReader the one whose __getitem__ does it, for that and all that inherit it.
	imageFolder  = "ImageFolder"
	folderReader = "torchvision.datasets.folder.DatasetFolder"
	vision       = "torchvision.transforms."
	identity     = "torch.nn.modules.linear.Identity"
)

// known are the transforms that stoker.DataLoader translates, of torchvision's v1
// and v2: those of python/stoker/loader/translate.py, which a test holds against this.
var known = []string{
	"CenterCrop", "ConvertImageDtype", "Identity", "Normalize", "PILToTensor", "RandomCrop", "RandomHorizontalFlip",
	"RandomResizedCrop",
	"RandomVerticalFlip", "Resize", "ToDtype", "ToImage", "ToPureTensor", "ToTensor",
}

// whyUnfed returns why stoker.DataLoader would leave a loader to torch, by what was observed of it;
// "" if no reason is known.
func whyUnfed(l *recording.Loader) string {
	if l.Reader == "" {
		return "this recording does not name the data set's transforms, and with an unknown one stoker.DataLoader " +
			"falls back to PyTorch's loader: record it again"
	}
	if len(l.Own) > 0 {
		return fmt.Sprintf("stoker.DataLoader would fall back to PyTorch's loader: the program has its own %s",
			strings.Join(l.Own, ", "))
	}
	for _, name := range l.Transforms {
		class := name[strings.LastIndexByte(name, '.')+1:]
		if name != identity && (!strings.HasPrefix(name, vision) || !slices.Contains(known, class)) {
			return fmt.Sprintf(
				"stoker.DataLoader would fall back to PyTorch's loader: it does not know the transform %s", class)
		}
	}
	return ""
}

// judgedLoader is the judged loader; nil if it is not known.
func (a adviser) judgedLoader() *recording.Loader {
	return a.run.FindLoader(a.costs.Window.PID, a.costs.Window.Loader)
}

// feedable reports whether PyTorch's loader prepares the batches, and may be waited for.
func (a adviser) feedable() bool {
	return a.costs.Feed == nil && !a.costs.Uncounted && (!a.idleKnown() || a.isStarved())
}

// feed proposes stoker.DataLoader in the place of PyTorch's.
func (a adviser) feed() (Fix, string) {
	l := a.judgedLoader()
	reads := l != nil && (l.Reader == folderReader || l.Reader == "" && l.Dataset == imageFolder)
	if !reads || !a.feedable() {
		return Fix{}, ""
	}
	fix := Fix{Name: string(stoker.LoaderKind), Title: "read and decode in stoker feed", Effort: Code, Risk: SeedRisk}
	if why := whyUnfed(l); why != "" {
		return fix, why
	}
	if !a.base.PrepareCPU.Known() {
		return fix, "the cost of preparing a batch was not measured"
	}
	fix.Changes = []stoker.Change{{Setting: stoker.LoaderKind, From: "torch", To: stoker.StokerLoader}}
	threads := a.makeChange(stoker.NumWorkers, measure.FeedThreads(a.run))
	if a.costs.Workers > 0 && a.costs.Workers != threads.To { // with 0 it has this many anyhow
		fix.Changes = append(fix.Changes, threads)
	}
	fix.Forecast = a.forecast(fix.Changes...)
	cost := predict.FeedCost()
	fix.Notes = []string{
		"one line: from stoker import DataLoader in the place of torch.utils.data's, with the same arguments. Pixels " +
			"stay Pillow's",
		fmt.Sprintf("assumes that an image needs %s of today's core time (measured beside torchvision with Pillow: "+
			"decode, RandomResizedCrop, flip, normalise)", quantity.Around(cost, quantity.Percent)),
		"it has its own random numbers: order, crops and flips change as with another seed",
	}
	return fix, ""
}

// FeedPictures is the name of the fix that leaves a script as it is.
const FeedPictures = "feed"

// deferred proposes stoker feed for an unchanged script, if stoker.DataLoader does not
// translate the rest. It promises no more than the observed work on pixels.
func (a adviser) deferred() (Fix, string) {
	l := a.judgedLoader()
	if l == nil || l.Reader == folderReader && whyUnfed(l) == "" || !a.feedable() {
		return Fix{}, ""
	}
	p, seen := live.FindPixels(a.run, a.costs)
	if !seen {
		return Fix{}, ""
	}
	fix := Fix{
		Name: FeedPictures, Title: "have stoker feed make the pictures of the script as it is", Effort: Flag,
		Risk: NoRisk,
	}
	switch {
	case p.Asks.File != "":
		return fix, fmt.Sprintf(
			"stoker feed gains little or nothing if a script asks for the values of each picture on its own, as %s does", p.Asks)
	case !p.Converts:
		return fix, "stoker feed defers pictures that torchvision makes tensors of (to_tensor, pil_to_tensor), and none was seen: " +
			"numpy.array(picture) decodes at once, in the worker"
	case !a.base.PrepareCPU.Known():
		return fix, "the cost of preparing a batch was not measured"
	case p.Share.Point < mostOfBatch:
		return fix, fmt.Sprintf("only %s of the core time of preparing a batch is work that stoker feed defers",
			quantity.Percent(p.Share.Point))
	}
	cost := predict.DeferredCost()
	left := func(share, cost float64) float64 { return 1 - share*(1-cost) }
	fix.Forecast = a.base.Cheaper(stoker.Interval{
		Low: left(p.Share.High, cost.Low), Point: left(p.Share.Point, cost.Point), High: left(p.Share.Low, cost.High),
	})
	fix.Notes = []string{
		"stoker feed -- CMD, nothing else changes: the batches are the script's own, bit by bit (stoker feed " +
			"--verify 20 -- CMD compares the first)",
		fmt.Sprintf("%s of the core time of preparing a batch is work on pixels that goes to Go (%s), which takes %s of it", quantity.Around(p.Share, quantity.Percent), strings.Join(p.What, ", "), quantity.Around(cost, quantity.Percent)),
	}
	if len(p.Rest) > 0 {
		fix.Notes = append(fix.Notes, "what stays in Python: "+strings.Join(p.Rest, ", "))
	}
	return fix, ""
}

// onDevice proposes that batches cross the link as uint8.
func (a adviser) onDevice() (Fix, string) {
	set, _ := a.base.Settings.Bool(stoker.OnDevice)
	l := a.judgedLoader()
	if a.costs.Feed == nil || set || a.verdict.Class != diagnose.TransferBound || l.BatchDType != "float32" {
		return Fix{}, ""
	}
	fix := Fix{
		Name: string(stoker.OnDevice), Title: "send uint8 and normalise on the device", Effort: Code,
		Risk: NumericsRisk,
	}
	fix.Changes = []stoker.Change{a.makeChange(stoker.OnDevice, true)}
	fix.Forecast = a.forecast(fix.Changes...)
	fix.Notes = []string{`DataLoader(..., device="cuda", normalize_on_device=True): a quarter of the bytes cross the link`}
	return fix, ""
}

// keepBound reduces a forecast to its upper bound.
func keepBound(f predict.Forecast) predict.Forecast {
	return predict.Forecast{
		Speedup: stoker.Interval{Low: 1, Point: math.NaN(), High: f.Speedup.High},
		Step:    stoker.Unknown(), Throughput: stoker.Unknown(), Stall: stoker.Unknown(),
		Notes: append(f.Notes, "the device was not seen: what it had queued may cover some or all of the wait"),
	}
}
