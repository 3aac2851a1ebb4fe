package traced

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Findings of a trace. Each says what was seen with numbers, where to look, and
// the exact setting. Triggers without a source are start values [J]: shares of the
// judged window.
const (
	loaderTrigger  = 0.03
	allocTrigger   = 0.01
	collectTrigger = 0.01
	queuedTrigger  = 0.05 // [J] queued work that does not start
)

// findAll are those of a trace, what can save most first.
func (t *filler) findAll() []diagnose.Finding {
	if t.d.StartUp || t.d.Apart != "" || t.isTrial() {
		return nil
	}
	var out []diagnose.Finding
	for _, find := range []func() (diagnose.Finding, bool){
		t.findLoaderWait, t.findHostWork, t.findLaunching, t.findHiddenSync, t.findExplicitSync, t.findAllocating,
		t.findCollecting, t.findDeviceWaits,
		t.findPageableCopies, t.findSerialCopies, t.findTinyCopies, t.findLinkLimited, t.findDeviceCopies,
		t.findElementwiseChains, t.findNoTensorCores, t.findLayoutChanges, t.findSmallGrids, t.findUnalignedShapes,
		t.findExposedCommunication, t.findProbableCommunication,
	} {
		if f, ok := find(); ok {
			out = append(out, f)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return t.weighFinding(out[i]) > t.weighFinding(out[j]) })
	return out
}

// weighFinding is what findings go by: what they can save. Where input is short, what the host
// does between launches shows because nothing is queued: it comes after.
func (t *filler) weighFinding(f diagnose.Finding) float64 {
	if f.Name == diagnose.FindingLaunchBound || f.Name == diagnose.FindingHostWork {
		return stat.Or(f.Saves, 0) * diagnose.BesideInput(t.parts.Input)
	}
	return stat.Or(f.Saves, 0)
}

func (t *filler) findLoaderWait() (diagnose.Finding, bool) {
	ns, share := t.shareOfCauses(idle.DataLoader)
	if share < loaderTrigger {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingDataLoaderWait)
	t.weigh(&f, ns)
	t.locateCause(&f, idle.DataLoader)
	where, _ := t.findMostly(func(s idle.Slice) bool { return s.Cause == idle.DataLoader })
	f.Text = fmt.Sprintf("the device waits for the loader %s of the window, %s%s", quantity.Percent(share),
		quantity.AboutSeconds(toSeconds(ns)/t.countSteps()), t.sayPerStep()) + where
	if t.itself < diagnose.LikelyScore {
		t.adviseWorkers(&f, share)
		return f, true
	}
	n := 4 // PyTorch's own tutorials begin with it; the steps did not tell better
	if step := t.costs.Step * (1 - share); t.hasSteps && t.costs.Wait > 0 && step > 0 {
		n = max(1, int(math.Ceil(t.costs.Wait/step)))
		f.Text += fmt.Sprintf(" (the loader takes %s of a step, the rest %s)", quantity.AboutSeconds(t.costs.Wait),
			quantity.AboutSeconds(step))
	}
	f.Settings = []stoker.Change{diagnose.ProposeChange(stoker.NumWorkers, t.countWorkers(), n)}
	f.Advice = fmt.Sprintf("DataLoader(..., num_workers=%d)", n)
	if t.grounds.HasEpochs(len(t.d.Steps)) {
		f.Settings = append(f.Settings, diagnose.ProposeChange(stoker.PersistentWorkers, nil, true))
		f.Advice = fmt.Sprintf("DataLoader(..., num_workers=%d, persistent_workers=True)", n)
	}
	return f, true
}

// countWorkers is how many workers there are; nil if a trace does not tell.
func (t *filler) countWorkers() any {
	single, several := t.findIterators()
	switch {
	case !t.costs.Uncounted:
		return t.costs.Workers
	case single && !several:
		return 0
	}
	return nil
}

// mostTimes bounds how many times as many workers are advised at once. [J]
const mostTimes = 8

// adviseWorkers advises for worker processes that are too slow. Where steps follow
// each other as fast as batches come, so many times the workers as the step would
// be shorter without the wait are enough, if cores are free.
func (t *filler) adviseWorkers(f *diagnose.Finding, share float64) {
	times := min(mostTimes, 1/max(1e-9, 1-share))
	now, known := t.countWorkers().(int)
	if !known {
		now = 1 // the least that a multi-process iterator has
	}
	n := max(now+1, int(math.Ceil(float64(now)*times)))
	f.Settings = []stoker.Change{diagnose.ProposeChange(stoker.NumWorkers, t.countWorkers(), n)}
	f.Advice = fmt.Sprintf("%.1f times as many workers (num_workers), %d at least, while cores are free, cheaper "+
		"decoding if none are, prefetch_factor=4 if single batches take long", times, n)
}

// LaunchTrigger's smaller brother: long stretches are few and easy to move. [J] As
// for the loader.
const stretchTrigger = 0.03

func (t *filler) findHostWork() (diagnose.Finding, bool) {
	share := t.d.Share(t.d.LongWork)
	if share < stretchTrigger {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingHostWork)
	t.weigh(&f, t.d.LongWork)
	place := t.longestWork()
	t.locateGap(&f, place)
	t.grounds.HostWork.First = t.isFirst(place)
	t.grounds.HostWork.Last = t.countSteps() <= 1 && t.isLast(place)
	t.grounds.HostWork.Once = t.countSteps() <= 1 && 2*place.Time >= t.d.LongWork
	f.Text = fmt.Sprintf("the device waits %s of the window in gaps of %s, while the launching thread %s, for up to %s "+
		"at a time", quantity.Percent(share), t.describeLongGaps(), t.describeDoing(),
		quantity.AboutSeconds(toSeconds(place.Time)))
	if t.grounds.HostWork.First {
		f.Text += ", before the first kernel"
	}
	text, function := t.findMostly(idle.Slice.LongWork)
	f.Text += text
	t.grounds.HostWork.In = function
	f.Advice = t.hostAdvice(function)
	return f, true
}

// longestWork is the gap with most of the host's own work: the rest of a gap may be launches, or work that waits.
func (t *filler) longestWork() (most idle.Place) {
	gap := idle.Place{From: math.MinInt64}
	for s := range t.all.Slices(t.d, t.d.From, t.d.To) {
		if s.Gap[0] != gap.From {
			gap = idle.Place{From: s.Gap[0], To: s.Gap[1]}
		}
		if !s.LongWork() {
			continue
		}
		gap.Time += s.To - s.From
		if s.To-s.From > gap.Slice.To-gap.Slice.From {
			gap.Slice = s
		}
		if gap.Time > most.Time {
			most = gap
		}
	}
	return most
}

// What functions are about, by parts of their names in lower case.
var (
	preparing = []string{
		"preprocess", "read_", "load", "decod", "resize", "transform(", "transforms/", "collat", "tokeniz",
		"image_processing", "feature_extraction",
		"pil/", "cv2", "scipy", "librosa", "soundfile", "torchvision", "zoom", "augment", "__getitem__", "numpy",
		"pandas", "normalize", "crop", "next_batch", "get_batch",
	}
	telling = []string{"tensorboard", "wandb", "logging", "logger", "print", "tqdm", "mlflow", "json/", "save"}
)

// hostAdvice is what to do about work of the launching thread, by the function that takes
// most of it; "" if nothing was recorded of it.
func (t *filler) hostAdvice(function string) string {
	lower := strings.ToLower(function)
	has := func(parts []string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(lower, part) })
	}
	switch {
	case t.grounds.HostWork.Launches():
		return "let one call do more, so that the device has work for longer than the call takes"
	case t.grounds.HostWork.IsFirstCall():
		return "nothing, if it is a first call, which comes once: record later steps"
	case has(telling):
		return "log, print and save every so many steps, or in another thread"
	case has(preparing):
		return "prepare inputs one step ahead, while the device computes: in the workers of a DataLoader, or in a " +
			"thread with a queue of a few batches"
	case function == "" && len(t.t.Frames.Start) == 0 && t.long.on == 0 && t.long.waits == 0:
		_, _, how := t.grounds.RecordMore()
		return "nothing of it was recorded: " + how + ". Input that is prepared in the loop " +
			"belongs one step ahead, logging and saving into another thread"
	}
	return "do it less often, on the device, or in another thread while the device computes"
}

func (t *filler) findLaunching() (diagnose.Finding, bool) {
	late := t.parts.Host
	if late < diagnose.LaunchTrigger || t.kernels.Count == 0 || toSeconds(t.kernels.Median) >= shortKernel &&
		late < 2*diagnose.LaunchTrigger {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingLaunchBound)
	t.weigh(&f, int64(late*float64(t.d.WindowLength())))
	t.locateGap(&f, t.d.Short[worstCause(&t.d.Short)])
	slower := "while an operator with its launch takes the host longer"
	if diagnose.IsBare(t.grounds.Framework) || !slices.Contains(t.t.Host.Kind, recording.Op) {
		slower = "and the host takes longer to launch one"
	}
	if t.grounds.Made.Graphs {
		slower = "most of them in graphs, between which the device has nothing to do"
	}
	f.Text = fmt.Sprintf("the device waits for the host to launch %s of the window: %.0f kernels and copies%s, "+
		"kernels of %s in the median, %s", quantity.Percent(late),
		float64(t.d.Works)/t.countSteps(), t.sayPerStep(), quantity.AboutSeconds(toSeconds(t.kernels.Median)), slower)
	f.Settings = []stoker.Change{t.grounds.LaunchChange()}
	f.Advice = t.grounds.LaunchAdvice()
	return f, true
}
