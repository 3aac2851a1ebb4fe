package traced

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// mostlyCPU is the share of the recorded time in operators of the CPU alone from which the model computes there. [J]
// A transform of pictures in a loop for a GPU takes less.
const mostlyCPU = 0.2

// leastLoading is the share of the recorded time inside the loader from which a file without work of a device says
// so. [J]
const leastLoading = 0.1

// fillWithoutWork fills a Case of a file that holds no work of a device.
func fillWithoutWork(c *diagnose.Case, run *recording.Run) {
	c.WorksRecorded, c.WorksJudged, c.LaunchCalls = 0, 0, countLaunchCalls(run.Timeline)
	c.IsTrial = true
	c.ModelComputes = slices.Contains(run.Timeline.Host.Kind, recording.Op)
	c.DeviceSign, c.DeviceListed = findDeviceSign(run)
	c.DeviceTraced = run.Facts.DeviceTraced && !slices.Contains(run.Timeline.Host.Kind, recording.Runtime)
	fillHost(c, run)
	loader := c.Grounds.Loader
	c.Grounds = (&filler{t: run.Timeline}).groundsOfHost(run)
	c.Grounds.Loader = loader
	if slices.ContainsFunc(run.Timeline.Names, recording.AppleSign) {
		c.Grounds.Kind = diagnose.Apple
		c.Grounds.Record = c.Grounds.RecordDevice()
	}
	if record := recordInstead(c, run); record != "" {
		c.Grounds.Record = record
	}
}

// recordInstead is what to do or to record where a file holds no work of a device, if that is more than to ask for it.
func recordInstead(c *diagnose.Case, run *recording.Run) string {
	framework := c.Grounds.Framework
	switch {
	case len(c.Doubts) > 0:
		return "take the whole file, or record again: what this one lost may be the device's work"
	case len(c.HostInput) > 0:
		return "let input come faster, or ahead: " + diagnose.InputAdvice(framework, c.HostInput[0].Text)
	case len(c.HostReceives) > 0 && framework == "":
		return "compare the ranks: one that waits for a slower one is late itself nowhere"
	case len(c.HostReceives) > 0:
		return "send fewer and larger tensors from process to process: a faster device is worth little here"
	case c.LaunchCalls > 0 && framework == "":
		return "record again without another profiler beside this one, with a CUPTI of the driver's version, or under nsys " +
			"profile"
	case c.LaunchCalls > 0 && framework == diagnose.FrameworkCUDA:
		return "record again until the program has waited for the device (cudaDeviceSynchronize) and ended, with a newer " +
			"nsys and no other profiler beside it"
	case c.DeviceTraced:
		return "record while the program uses the device. If it did, the recorder could not follow the process that does"
	case c.LaunchCalls == 0 && !c.ModelComputes && c.Grounds.Kind == "" &&
		slices.Contains(run.Timeline.Host.Kind, recording.Runtime):
		return "record while the device works: calls of the device's runtime are in the file, and none of them launches " +
			"anything"
	case c.LaunchCalls == 0 && c.ModelComputes && (c.DeviceSign == "" || c.DeviceListed) && framework == "":
		onCPU := &diagnose.Verdict{Class: diagnose.ComputeOnCPU, Device: -1, Grounds: c.Grounds}
		return "if it computes on the CPU: " + onCPU.Do() + ". If not: " + c.Grounds.Record
	}
	return ""
}

// fillHost takes what the host's side tells of a file that holds no work of a device.
func fillHost(c *diagnose.Case, run *recording.Run) {
	t := run.Timeline
	all := t.End - t.Start
	if c.HostInput = findInputWaits(c, run); len(c.HostInput) > 0 {
		return
	}
	if run.Facts.StepsFrom == recording.OneRun {
		if c.HostReceives = findReceiving(t); len(c.HostReceives) > 0 || len(run.Facts.GPUs) > 0 {
			return
		}
		c.CPUWork = diagnose.AddEvidence(nil, float64(len(t.Host.Start)), "operators", "trace.host",
			"all %d operators of the run are on a CPU: a timeline lists those of a device as well", len(t.Host.Start))
		return
	}
	if all <= 0 {
		return
	}
	if c.HostReceives = findHostExchanges(t); len(c.HostReceives) > 0 {
		return
	}
	if ns, name := sumSpans(t, recording.CPUSign); float64(ns) >= mostlyCPU*float64(all) {
		c.CPUWork = diagnose.AddEvidence(nil, float64(ns)/float64(all), "ratio", "trace.host",
			"operators that run on a CPU alone take %s of %s, %s above all, and no work of a device was recorded",
			quantity.AboutSeconds(toSeconds(ns)), quantity.AboutSeconds(toSeconds(all)), quote(name))
	}
	if ns, _ := sumSpans(t, recording.LoaderSpan); float64(ns) >= leastLoading*float64(all) {
		share := float64(ns) / float64(all)
		if n := countSpans(t, recording.LoaderSpan); n < fewToJudge {
			c.HostLoading = diagnose.AddEvidence(nil, share, "ratio", "trace.loader",
				"the loop is inside its loader %s of %s, for %s: whether others take as long is not known",
				quantity.AboutSeconds(toSeconds(ns)), quantity.AboutSeconds(toSeconds(all)),
				fmt.Sprintf("%d batch%s", n, quantity.Ending(n, "", "es")))
			return
		}
		c.HostLoading = diagnose.AddEvidence(nil, share, "ratio", "trace.loader",
			"the loop is inside its loader %s of %s: batches that are always there are worth at most %s",
			quantity.AboutSeconds(toSeconds(ns)), quantity.AboutSeconds(toSeconds(all)),
			quantity.AboutRatio(1/(1-min(share, 0.99))))
	}
}

// mostlyInput is the share of the recorded time in which a program waits for input, from which that is the limit in a
// file without device work. [J] Faster input then gains more than a device of any speed.
const mostlyInput = 0.5

// findInputWaits returns the evidence that the loop waits for input for most of the recorded time; nil if it does not,
// if a device may compute meanwhile, or if few batches were recorded.
func findInputWaits(c *diagnose.Case, run *recording.Run) []diagnose.Evidence {
	t := run.Timeline
	ns, all, n := coverSpans(t, recording.LoaderSpan), t.End-t.Start, countSpans(t, recording.LoaderSpan)
	oneRun := run.Facts.StepsFrom == recording.OneRun
	onCPU := oneRun || n >= fewToJudge && countSpans(t, recording.CPUSign) > 0
	if all <= 0 || float64(ns) < mostlyInput*float64(all) || !onCPU ||
		len(c.Doubts) > 0 || c.LaunchCalls > 0 || c.DeviceSign != "" && !oneRun {
		return nil
	}
	_, name := sumSpans(t, recording.LoaderSpan)
	in := ""
	if oneRun {
		in = " of the one run that the file holds"
	}
	share := float64(ns) / float64(all)
	return diagnose.AddEvidence(nil, share, "ratio", "trace.loader",
		"the loop waits for its input %s of %s%s, in %s: input that is always there is worth at most %s",
		quantity.AboutSeconds(toSeconds(ns)), quantity.AboutSeconds(toSeconds(all)), in, quote(name),
		quantity.AboutRatio(1/(1-min(share, 0.99))))
}

// mostlyExchanges is the share of the recorded time in exchanges of the CPU from which they are what a file without
// work of a device shows. [J]
const mostlyExchanges = 0.5

// findHostExchanges says that the CPU's own collectives take most of the recorded time; nil if they do not.
func findHostExchanges(t *recording.Timeline) []diagnose.Evidence {
	_, name := sumSpans(t, recording.HostExchange)
	ns, all := coverSpans(t, recording.HostExchange), t.End-t.Start
	if float64(ns) < mostlyExchanges*float64(all) {
		return nil
	}
	return diagnose.AddEvidence(nil, float64(ns)/float64(all), "ratio", "trace.host",
		"processes exchange with each other, or wait for one that is late, %s of %s, %s above all, and no work of a "+
			"device was recorded", quantity.AboutSeconds(toSeconds(ns)), quantity.AboutSeconds(toSeconds(all)),
		quote(name))
}

// findReceiving says that operators mostly wait for tensors of other processes; nil if they do not.
func findReceiving(t *recording.Timeline) []diagnose.Evidence {
	h, n, waits, all := &t.Host, 0, int64(0), int64(0)
	for i, name := range h.Name {
		length := h.End[i] - h.Start[i]
		if all += length; recording.Receives(t.Names[name]) {
			n, waits = n+1, waits+length
		}
	}
	if 2*waits <= all {
		return nil
	}
	return diagnose.AddEvidence(nil, float64(waits)/float64(all), "ratio", "trace.receives",
		"%s of %s in operators are %d of RecvTensor, which wait for tensors of other processes",
		quantity.AboutSeconds(toSeconds(waits)), quantity.AboutSeconds(toSeconds(all)), n)
}

// sumSpans adds up the spans of some names, those within another one of the same thread left out, and names the one
// that takes most.
func sumSpans(t *recording.Timeline, fits func(string) bool) (sum int64, most string) {
	h, fit := &t.Host, make([]bool, len(t.Names))
	for i, name := range t.Names {
		fit[i] = fits(name)
	}
	until, of, at := make([]int64, len(t.Threads)), map[int32]int64{}, int32(-1)
	for i, name := range h.Name {
		thread := h.Thread[i]
		if !fit[name] || h.Start[i] < until[thread] {
			continue
		}
		until[thread] = h.End[i]
		sum, of[name] = sum+h.End[i]-h.Start[i], of[name]+h.End[i]-h.Start[i]
		if at < 0 || of[name] > of[at] {
			at, most = name, t.Names[name]
		}
	}
	return sum, most
}

// coverSpans is the time in which a span of some names is open on any thread.
func coverSpans(t *recording.Timeline, fits func(string) bool) (sum int64) {
	h, until := &t.Host, int64(math.MinInt64)
	for i, name := range h.Name { // in order of start
		if h.End[i] > until && fits(t.Names[name]) {
			sum, until = sum+h.End[i]-max(h.Start[i], until), h.End[i]
		}
	}
	return sum
}

// countSpans is the number of spans of some names.
func countSpans(t *recording.Timeline, fits func(string) bool) (n int) {
	for _, name := range t.Host.Name {
		if fits(t.Names[name]) {
			n++
		}
	}
	return n
}
