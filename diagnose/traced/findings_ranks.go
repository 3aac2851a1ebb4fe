package traced

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/quantity"
)

// exposedTrigger: torch-tb-profiler warns at 10 %; half of that is a start value. [J]
const exposedTrigger = 0.05

// A collective below shortExchange is mostly latency, nanoseconds, [J] as within a node one of a few bytes takes 10 to
// 50 us, and between nodes twice as long; and so is the time of all if mostlyShort of it is in such ones. [J]
const (
	shortExchange = 100_000
	mostlyShort   = 0.75
)

func (t *filler) findExposedCommunication() (diagnose.Finding, bool) {
	if t.parts.Exchange < exposedTrigger {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingExposedCommunication)
	t.weigh(&f, int64(t.parts.Exchange*float64(t.d.WindowLength())))
	count, time := t.sumExchanges()
	alone, apart := t.d.Communication, t.describeOpening()
	if apart != "" { // the others are as long as they are
		count, time, alone = count-1, time-t.d.Opening, alone-t.d.Opening
	}
	lengths, short, longest := t.listExchanges(apart != "")
	t.locateWork(&f, longest)
	each := describeLengths(lengths, time/int64(max(1, count)))
	bare := quantity.Percent(min(1, max(0, float64(alone))/float64(max(1, time))))
	said := fmt.Sprintf("%.0f%s, %s, %s of their time without computation beside them",
		float64(count)/t.countSteps(), t.sayPerStep(), each, bare)
	if count == 1 {
		said = fmt.Sprintf("one of %s, %s of its time without computation beside it",
			quantity.AboutSeconds(toSeconds(time)), bare)
	}
	f.Text = fmt.Sprintf("collectives run alone or are waited for %s of the window%s: %s",
		quantity.Percent(t.parts.Exchange), apart, said)
	many := float64(count)/t.countSteps() > diagnose.ManyExchanges
	if many && float64(short) >= mostlyShort*float64(time) {
		f.Text += ": so many small ones cost latency, not bytes"
	}
	if len(t.t.Host.Start) == 0 || t.grounds.Refuse(stoker.BucketMB) != "" { // nothing tells of gradients
		f.Advice = "compare the ranks: one that waits for a slower one is late itself nowhere"
		return f, true
	}
	if !many { // larger buckets would only begin later
		f.Advice = "gradients in bf16 (ddp_comm_hooks.bf16_compress_hook), model.no_sync() while gradients accumulate. Larger " +
			"buckets gain nothing: gradients go in few calls. A rank that waits for a slower one is not helped by any of " +
			"them: compare the ranks"
		return f, true
	}
	f.Settings = []stoker.Change{diagnose.ProposeChange(stoker.BucketMB, nil, 100)}
	f.Advice = "DistributedDataParallel(model, bucket_cap_mb=100, gradient_as_bucket_view=True), gradients in bf16 " +
		"(ddp_comm_hooks.bf16_compress_hook), model.no_sync() while gradients accumulate. A rank that waits for a " +
		"slower one is not helped by any of them: compare the ranks"
	return f, true
}

// listExchanges returns the lengths of the window's collectives, shortest first, the time of the short ones, and the
// longest; without the first one if that is told apart.
func (t *filler) listExchanges(apart bool) (lengths []int64, short int64, longest int32) {
	longest = -1
	w := &t.t.Device
	for i := range w.Start {
		if w.Device[i] != t.d.Index || w.Start[i] < t.d.From || w.Start[i] >= t.d.To || !t.all.IsCollective(int32(i)) {
			continue
		}
		if apart {
			apart = false
			continue
		}
		length := w.End[i] - w.Start[i]
		if longest < 0 || length > w.End[longest]-w.Start[longest] {
			longest = int32(i)
		}
		if lengths = append(lengths, length); length < shortExchange {
			short += length
		}
	}
	slices.Sort(lengths)
	return lengths, short, longest
}

// meanTells is how far the mean of some lengths is at most from those at a quarter, the half and three quarters of
// their order, relative, to be said of each. [J]
const meanTells = 0.25

// describeLengths says how long each of some collectives takes: the mean, or else their median and the longest.
func describeLengths(lengths []int64, mean int64) string {
	if len(lengths) == 0 {
		return quantity.AboutSeconds(toSeconds(mean)) + " each"
	}
	n := len(lengths)
	middle := (lengths[(n-1)/2] + lengths[n/2]) / 2
	if !slices.ContainsFunc([]int64{lengths[(n-1)/4], middle, lengths[n-1-(n-1)/4]}, func(length int64) bool {
		return math.Abs(float64(length-mean)) > meanTells*float64(mean)
	}) {
		return quantity.AboutSeconds(toSeconds(mean)) + " each"
	}
	return fmt.Sprintf("%s in the median, %s the longest", quantity.AboutSeconds(toSeconds(middle)),
		quantity.AboutSeconds(toSeconds(lengths[n-1])))
}

// leastOpening is the share of the window from which a sentence names the first collective apart. [J]
const leastOpening = 0.005

// describeOpening says what the share of collectives leaves out: the first one of the recording.
func (t *filler) describeOpening() string {
	share := t.d.Share(t.d.Opening)
	if share < leastOpening {
		return ""
	}
	return fmt.Sprintf(", the first one apart (%s: it may wait for another rank's %s)", quantity.Percent(share),
		map[bool]string{true: "recorder", false: "start"}[t.all.Runs(t.d)])
}

// findProbableCommunication finds exchanges that no list knows: long kernels that use
// few multiprocessors, in a run of several ranks.
func (t *filler) findProbableCommunication() (diagnose.Finding, bool) {
	if t.world < 2 {
		return diagnose.Finding{}, false
	}
	for _, total := range t.kernels.Totals {
		long := total.Count > 0 && toSeconds(total.Small/int64(total.Count)) >= diagnose.LongExchange
		if total.Family != idle.Other || !long || t.d.Share(total.Small) < exposedTrigger {
			continue
		}
		f := diagnose.NewFinding(diagnose.FindingProbableCommunication)
		t.weigh(&f, total.Small)
		t.locateWork(&f, total.Longest)
		f.Text = fmt.Sprintf("%s runs %s of the window on less than a fifth of the multiprocessors, %s at a time: "+
			"probably an exchange between ranks, counted as computation here: confirm",
			quote(t.t.Names[total.Name]), quantity.Percent(t.d.Share(total.Small)),
			quantity.AboutSeconds(toSeconds(total.Small/int64(total.Count))))
		f.Advice = "if it is an exchange, overlap it with computation as for exposed-communication"
		return f, true
	}
	return diagnose.Finding{}, false
}

// The exchange is a wait for another rank if most of its time is in waits for one, or in one collective of each step
// that takes far longer than the others do. [J] Sizes of tensors differ so much in few programs, and such a one is told
// to compare its ranks, no more.
const (
	mostlyAwaited = 0.75
	farLonger     = 50
)

// describeAwaited says what shows that a rank whose file is alone waits for another in most of its exchange; "" if
// nothing does.
func (t *filler) describeAwaited() string {
	lengths, awaited, all := []int64{}, int64(0), int64(0)
	if t.ranks != nil || len(t.all.Devices) > 1 || len(t.d.Steps) == 0 {
		return ""
	}
	w := &t.t.Device
	for i := range w.Start {
		if w.Device[i] != t.d.Index || w.Start[i] < t.d.From || w.Start[i] >= t.d.To || !t.all.IsCollective(int32(i)) {
			continue
		}
		lengths, all = append(lengths, w.End[i]-w.Start[i]), all+w.End[i]-w.Start[i]
		at := w.Start[i]
		for _, wait := range t.t.Awaits {
			from, to := max(at, wait[0]), min(w.End[i], wait[1])
			if from < to {
				awaited, at = awaited+to-from, to
			}
		}
	}
	slices.Sort(lengths)
	n, long := len(lengths), int64(0)
	switch steps := len(t.d.Steps); {
	case all > 0 && float64(awaited) >= mostlyAwaited*float64(all):
		return fmt.Sprintf("%s of the collectives' time waits for another rank's notification",
			quantity.Percent(float64(awaited)/float64(all)))
	case t.unmarked || steps < 2 || n < fewToJudge*steps:
	default:
		for _, length := range lengths[n-steps:] {
			long += length
		}
		if lengths[n-steps] >= farLonger*lengths[n/2] && float64(long) >= mostlyAwaited*float64(all) {
			return fmt.Sprintf("one collective of each step takes %s, and most of them %s at most: a rank seems to be late",
				quantity.AboutSeconds(toSeconds(long/int64(steps))), quantity.AboutSeconds(toSeconds(lengths[n/2])))
		}
	}
	return ""
}
