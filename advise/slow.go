package advise

import (
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// leadWithLine puts a cheaper line before another or a free machine, if most of preparing a batch goes into that line:
// a program is changed sooner than a machine, and then needs fewer cores. It also comes before more workers that run
// out of cores long before it would. If the verdict is that other programs have the cores, it comes after that.
func (a adviser) leadWithLine(fixes []Fix) {
	if len(fixes) == 0 || len(a.verdict.Lines) == 0 {
		return
	}
	title := fixes[0].Title
	at := slices.IndexFunc(fixes, func(f Fix) bool { return f.Name == diagnose.SlowTransform || f.Name == CollateFn })
	if at < 1 {
		return
	}
	if title != anotherMachine && title != freeMachine && !a.startsPrograms() && !a.outdoes(fixes[at], fixes[0]) {
		return
	}
	// of its whole function, and of the second line, if it is known what both do
	share, first := 0.0, a.verdict.Lines[0]
	for i, line := range a.verdict.Lines {
		if line.Own.IsInFunctionOf(first.Own) || i == 1 && isKnownWork(first) && isKnownWork(line) {
			share += line.Share.Point
		}
	}
	if share < mostOfBatch && !a.decodesMuch() {
		return
	}
	to := 0
	if title == freeMachine && a.verdict.Class == diagnose.Neighbour {
		to = 1
	}
	line := fixes[at]
	copy(fixes[to+1:], fixes[to:at])
	fixes[to] = line
}

// isKnownWork reports whether it is a line of the program's of which is known what it does.
func isKnownWork(l diagnose.Line) bool {
	unknown := []diagnose.Kind{"", diagnose.Code, diagnose.Waits}
	return l.Own.File != "" && l.Class == "" && !slices.Contains(unknown, l.Kind)
}

// How many times the gain of more workers a cheaper line may bring, from which it is said first: of work that its
// remedy takes away, and of any that has a name. [J]
const (
	more     = 1.2
	muchMore = 1.5
)

// takenAway are kinds of work that need not be done for each sample.
var takenAway = []diagnose.Kind{
	diagnose.Connection, diagnose.Opening, diagnose.Parser, diagnose.Tokenizer, diagnose.Inflating, diagnose.Chunks,
	diagnose.DeepCopies, diagnose.Tables, diagnose.Searching, diagnose.Growing, diagnose.OfLists, diagnose.Programs,
	diagnose.Proxies, diagnose.Matching, diagnose.Graphs,
}

// outdoes reports whether a cheaper line may bring much more than workers, if they or the cores stay the limit. Of a
// line whose work has no name, nothing is known that makes it cheaper.
func (a adviser) outdoes(line, workers Fix) bool {
	unnamed := []diagnose.Kind{diagnose.Code, diagnose.Waits, diagnose.Stacking}
	limits := []stoker.Resource{stoker.CPU, stoker.Worker}
	least, gain := muchMore, workers.Forecast.Speedup.High
	if slices.Contains(takenAway, a.verdict.Lines[0].Kind) {
		least, gain = more, workers.Forecast.Speedup.Point
	}
	splits := workers.Name == string(stoker.Split) && workers.Saves == "" // for more workers
	return (workers.Name == string(stoker.NumWorkers) || splits) && slices.Contains(limits, workers.Forecast.Bound) &&
		!slices.Contains(unnamed, a.verdict.Lines[0].Kind) &&
		line.Forecast.Speedup.High >= least*gain
}

// mostOfBatch is the share of preparing a batch from which a line comes before another machine. [J]
const mostOfBatch = 0.5

// slow proposes to make the line cheaper on which most of preparing a batch goes: there
// is no setting for it, and its gain is bounded by that of a line that takes no
// time at all.
func (a adviser) slow() (Fix, string) {
	at := slices.IndexFunc(a.verdict.Findings,
		func(f diagnose.Finding) bool { return f.Name == diagnose.SlowTransform })
	if at < 0 || a.mostlyCollates() || a.isSaidOf(diagnose.SignalSampler) { // collate says that, or workers keep up
		return Fix{}, ""
	}
	line := a.verdict.Lines[0]
	if line.Kind.Advice() == "" { // its share is given, and no more
		return Fix{}, ""
	}
	title := "make this line cheaper: "
	if line.Data != "" { // it is no line of the program's
		title = "make this cheaper: "
	}
	switch {
	case line.Kind == diagnose.FileLock:
		title = "hold this lock for less time: "
	case line.Class != "":
		title = "make this work cheaper: "
	}
	if line.Kind == diagnose.Chunks {
		title = "read whole chunks, or store the array in chunks of one sample: "
	}
	fix := Fix{
		Name: diagnose.SlowTransform, Title: title + line.String(), Effort: Code, Risk: riskOfLine(line.Kind),
		Forecast: a.atMost(line.Without.Speedup.High),
		Notes:    []string{line.Kind.Advice()},
	}
	if a.decodesMuch() {
		fix.Title = "store pictures at the size that is used, or decode them smaller: " + line.String()
		fix.Risk, fix.Notes = NumericsRisk, []string{decodeSmaller}
		share := stoker.Exactly(min(1, a.shareOfPictures()))
		fix.Forecast = a.atMost(a.base.Without(share, stoker.Exactly(0)).Speedup.High)
	}
	return fix, ""
}

const decodeSmaller = "once, before training: stoker pack FOLDER -o packed --decoded --resize N, or save each file resized. In the " +
	"data set: picture.draft(\"RGB\", size) before the first use lets a JPEG decode to a half, a quarter or an eighth"

// mostKept is how many bytes of pixels are kept for a second of decoding, up to which most of what is decoded is not
// used. [J] Pillow decodes a hundred megabytes of pixels a second and more: a sixth of that is kept at most.
const mostKept = 15e6

// decodesMuch reports whether most of preparing a batch is to decode pictures far larger than what is kept of them,
// and to shrink them.
func (a adviser) decodesMuch() bool {
	l := a.judgedLoader()
	if l == nil || !(l.BatchBytes > 0) || len(a.verdict.Lines) == 0 || a.verdict.Lines[0].Kind != diagnose.Decoder ||
		!strings.HasPrefix(a.verdict.Lines[0].Call.File, "PIL/") { // of a video, draft() decodes no less
		return false
	}
	pixels := l.BatchBytes
	if l.BatchDType == "float32" {
		pixels /= 4
	}
	return a.shareOfPictures() >= mostOfBatch && pixels < mostKept*a.verdict.Lines[0].Share.Point*a.costs.FetchCPU
}

// shareOfPictures is the share of preparing a batch that decodes pictures or shrinks them: smaller ones need less of
// both.
func (a adviser) shareOfPictures() (share float64) {
	for _, line := range a.verdict.Lines {
		file := line.Call.File
		transforms := strings.HasPrefix(file, "PIL/") || strings.HasPrefix(file, "torchvision/transforms/")
		if line.Kind == diagnose.Decoder ||
			transforms && recording.ContainsAny(line.Call.Function, "esize", "thumbnail", "reduce", "convert") {
			share += line.Share.Point
		}
	}
	return share
}

// queuesAtLock reports whether workers mostly wait for each other at the lock of a file.
func (a adviser) queuesAtLock() bool {
	return len(a.verdict.Lines) > 0 && a.verdict.Lines[0].Kind == diagnose.FileLock
}

// asksManager reports whether most of preparing a batch is to ask the process of a Manager.
func (a adviser) asksManager() bool {
	lines := a.verdict.Lines
	return len(lines) > 0 && lines[0].Kind == diagnose.Proxies && lines[0].Share.Point >= mostOfBatch
}
