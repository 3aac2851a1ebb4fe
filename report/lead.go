package report

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/rules"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Lead is what a page says first.
type Lead struct {
	Verdict string // what limits the run
	Why     string // the figure that proves it
	Next    string // what to do first, in which file and line, and the gain
	Then    string // the change after that; "" for none that gains much
	Try     string // the command for that; "" for none

	Caution []string // why figures may not describe the program
}

// LeadOf returns the lead of a judged run. file is the recording as written in a shell, "" for
// the newest one.
func LeadOf(run *recording.Run, v diagnose.Verdict, plan advise.Plan, file string) Lead {
	title, why := lowerFirst(titleOf(v)), sayWhy(v)
	named := len(plan.Fixes) > 0 && plan.Fixes[0].Cause && len(plan.Fixes[0].Notes) > 0
	if v.Class == diagnose.Unknown && v.Lead == nil && named {
		waits, share := "the device waits for input", v.Stall
		if !(v.Stall >= diagnose.Mostly*v.Idle) { // work of the step keeps it waiting
			waits, share = "the device is idle", v.Idle
		}
		title, why = waits, fmt.Sprintf("%s %s of the time: %s", waits, quantity.Percent(share), plan.Fixes[0].Notes[0])
	}
	if of := titleOfWork(v, plan); of != "" {
		title = of
		if fix := plan.Fixes[0]; fix.Name == string(diagnose.RowEvaluation) && len(fix.Notes) > 0 {
			if v.Class == diagnose.StragglerRank {
				why += ". " + Capitalise(fix.Notes[0])
			} else {
				why = fix.Notes[0]
			}
		}
	}
	l := Lead{Verdict: string(v.Headline()) + ": " + title + MarkEmulated(run.Emulated()), Why: why, Caution: v.Doubts}
	l.Next, l.Try = sayNext(v, plan, strings.TrimSpace(" "+file))
	outside := sayOutside(v)
	if outside != "" && v.Class.Is(diagnose.GPUBound) && LeadsWithFix(v, plan) && v.Lead == nil {
		l.Next = outside + ". Of the steps: " + l.Next
	}
	if own, ok := ownLargest(v, plan); ok {
		l.Next += ". Of the program's own: " + sayWhole(own, v)
	} else if LeadsWithFix(v, plan) {
		l.Then = sayThen(v, plan.Fixes)
	} else if len(plan.Fixes) > 0 && isBesideModel(plan.Fixes[0]) {
		l.Then = sayWhole(plan.Fixes[0], v)
	}
	l.hideFolder(run.ProgramFolder())
	return l
}

// hideFolder names the program's own files as the command does: "train.py:41", and not from the root.
func (l *Lead) hideFolder(folder string) {
	if folder == "" {
		return
	}
	for _, text := range []*string{&l.Verdict, &l.Why, &l.Next, &l.Then} {
		*text = strings.ReplaceAll(*text, folder, "")
	}
}

// sayWhole says what a fix changes and what that gains. If it is to make a line cheaper it says how.
func sayWhole(fix advise.Fix, v diagnose.Verdict) string {
	text := SayFix(fix) + placeOf(fix, v) + ": " + fix.Worth()
	if (IsOneLine(fix) || fix.Name == string(diagnose.LaunchBound)) && fix.At == "" && len(fix.Notes) > 0 {
		text += ". " + Capitalise(fix.Notes[0])
	}
	if fix.Risk == advise.LearningRisk {
		text += ". " + Capitalise(SayRisk(fix))
	}
	return text
}

// gainsMuch is the gain at best from which a second change is said with the first. [J]
const gainsMuch = 1.2

// sayThen says the change after the first one, if it may gain much; else "".
func sayThen(v diagnose.Verdict, fixes []advise.Fix) string {
	if len(fixes) < 2 || v.Device >= 0 || isFormat(fixes[0]) && isFormat(fixes[1]) { // one or the other
		return ""
	}
	next := fixes[1]
	if gain := next.Forecast.Speedup.High; !(gain >= gainsMuch || math.IsInf(gain, 1)) || isElsewhere(next) {
		return ""
	}
	return sayWhole(next, v)
}

// isFormat reports whether a change is one of number formats.
func isFormat(f advise.Fix) bool {
	of := []stoker.Setting{stoker.Precision, stoker.TF32}
	return len(f.Changes) > 0 && slices.Contains(of, f.Changes[0].Setting)
}

// ownLargest returns the fix with the largest gain in the program itself, if other programs use
// the cores and the first fix is to stop them: the line that takes the time, or else the first
// change of the program.
func ownLargest(v diagnose.Verdict, plan advise.Plan) (advise.Fix, bool) {
	if v.Class != diagnose.Neighbour || v.Lead != nil || len(plan.Fixes) == 0 || !isElsewhere(plan.Fixes[0]) {
		return advise.Fix{}, false
	}
	for _, wanted := range []func(advise.Fix) bool{
		func(f advise.Fix) bool { return f.Cause || IsOneLine(f) },
		func(f advise.Fix) bool { return !isElsewhere(f) },
	} {
		if i := slices.IndexFunc(plan.Fixes, wanted); i >= 0 {
			return plan.Fixes[i], true
		}
	}
	return advise.Fix{}, false
}

// IsOneLine reports whether a change is to make one line of the loader's work cheaper.
func IsOneLine(f advise.Fix) bool {
	return f.Name == diagnose.SlowTransform || f.Name == advise.CollateFn
}

// isElsewhere reports whether a change concerns the machine, not the program.
func isElsewhere(f advise.Fix) bool { return f.Effort == advise.Machine }

// titleOf describes a verdict in words.
func titleOf(v diagnose.Verdict) string {
	if v.Lead != nil {
		return v.Lead.Title()
	}
	if title, _, known := rules.Describe(v); known {
		if v.Class == diagnose.TooFewWorkers && diagnose.IsTensorFlow(v.Grounds.Framework) {
			return "The input pipeline is the limit"
		}
		return title
	}
	title := "the evidence does not decide"
	if v.Stall >= diagnose.FedStall && v.Stall >= v.Idle/2 {
		title = "the device waits for input, and no cause of that stands out"
	}
	if v.RunnerUp != "" && v.RunnerUp != diagnose.Unknown {
		title += ", the nearest is " + string(v.RunnerUp)
	}
	return title
}

// titleOfWork names the work that the first change is about, where the class says no more than that the program works
// on the host; "" elsewhere.
func titleOfWork(v diagnose.Verdict, plan advise.Plan) string {
	if v.Headline() == diagnose.StragglerRank && sharesEvaluation(plan) {
		return "one rank evaluates, and the others wait for it"
	}
	if v.Lead != nil || v.Class != diagnose.CPUBound || len(plan.Fixes) == 0 {
		return ""
	}
	switch fix := plan.Fixes[0]; {
	case fix.Name == string(diagnose.RowEvaluation):
		return "evaluation takes much of the run"
	case fix.Name == diagnose.FindingHostTensors:
		return "a step copies more than its batch, and the device waits"
	case fix.Name == string(diagnose.LaunchBound):
		return "the program launches kernels one by one, and the device waits"
	case fix.Kind != "" && !fix.Kind.IsWait():
		return fix.Kind.Words() + ", and the device waits"
	}
	return ""
}

// lowerFirst makes the first letter lower-case, for use after a colon. It does not change an
// acronym or a name.
func lowerFirst(text string) string {
	if strings.HasPrefix(text, "Py") { // Python, PyTorch
		return text
	}
	first, size := utf8.DecodeRuneInString(text)
	if next, _ := utf8.DecodeRuneInString(text[size:]); unicode.IsUpper(next) {
		return text
	}
	return string(unicode.ToLower(first)) + text[size:]
}

// saysAll are signals of evidence that says alone why nothing is decided: next to no work of the device was recorded.
var saysAll = []string{diagnose.SignalGlimpse, "trace.device"}

// sayWhy returns the figure that proves a verdict.
func sayWhy(v diagnose.Verdict) string {
	switch {
	case v.Lead != nil:
		return v.Lead.Why()
	case v.Class == diagnose.Unknown && len(v.Evidence) > 0 && slices.Contains(saysAll, v.Evidence[0].Signal):
		return v.Evidence[0].Text
	case v.Class == diagnose.Unknown && !math.IsNaN(v.Idle) && !math.IsNaN(v.Stall):
		waits := ""
		if v.Grounds.Loads || v.Grounds.Loader != nil || v.Stall > 0 {
			waits = " and waits for input " + quantity.Percent(v.Stall) + ","
		}
		return fmt.Sprintf("the device is idle %s of the time%s and %s", quantity.Percent(v.Idle), waits, sayUndecided(v))
	case len(v.Evidence) > 0:
		// the row of the device names the clock
		return strings.Replace(v.Evidence[0].Text, ", by the device's own clock)", ")", 1) + sayWork(v)
	case !math.IsNaN(v.Idle):
		return fmt.Sprintf("the device is idle %s of the time", quantity.Percent(v.Idle))
	}
	return "no figure that was recorded decides it"
}

// mostOfWork is the share of preparing batches from which a line says what that work is. [J]
const mostOfWork = 0.5

// sayWork says which work most of preparing a batch is, if the device awaits that; "" if no line has most of it.
func sayWork(v diagnose.Verdict) string {
	if !v.Class.Starves() || len(v.Lines) == 0 {
		return ""
	}
	if v.Lines[0].Share.Point < mostOfWork {
		return sayBothWorks(v.Lines)
	}
	line := v.Lines[0]
	what := cmp.Or(line.Class, line.Where().Function, line.Short())
	if at := line.Short(); at != "" && at != what {
		what += " (" + at + ")"
	}
	text := fmt.Sprintf(". %s of preparing a batch is %s", diagnose.WholePercent(line.Share.Point), what)
	if line.Kind != "" && line.Kind != diagnose.Code {
		text += ": " + line.Kind.Words()
	}
	return text
}

// sayBothWorks says so of two lines that have most of it together, if it is known what both do.
func sayBothWorks(lines []diagnose.Line) string {
	if len(lines) < 2 || lines[0].Share.Point+lines[1].Share.Point < mostOfWork {
		return ""
	}
	var said []string
	for _, line := range lines[:2] {
		if line.Kind == "" || line.Kind == diagnose.Code || line.Own.File == "" || line.Class != "" {
			return ""
		}
		said = append(said, fmt.Sprintf("%s (%s)", line.Kind.Words(), line.Short()))
	}
	both := diagnose.WholePercent(lines[0].Share.Point + lines[1].Share.Point)
	return fmt.Sprintf(". %s of preparing a batch: %s", both, strings.Join(said, ", and "))
}

// sayUndecided says why an idle device has no class.
func sayUndecided(v diagnose.Verdict) string {
	for _, e := range v.Evidence {
		if e.Signal == diagnose.SignalScores {
			return e.Text
		}
	}
	if len(v.Causes) > 0 && 2*v.Causes[0].Share > v.Idle && v.Causes[0].Share > leastCause {
		for _, word := range diagnose.GapCauses {
			if lead := v.Causes[0]; word.Name == lead.Cause {
				return fmt.Sprintf("most of it (%s) is %s: %s", quantity.Percent(lead.Share), lead.Cause, word.Says)
			}
		}
	}
	return "no cause explains enough of it"
}

// leastCause is the share of time that the leading cause of idle time needs to be named. [J]
const leastCause = 0.05

// FurtherEvidence returns the evidence that a lead does not contain.
func FurtherEvidence(v diagnose.Verdict) []string {
	lines := ListEvidence(v)
	if len(lines) > 0 && (v.Class != diagnose.Unknown || lines[0] == sayWhy(v)) {
		lines = lines[1:]
	}
	return lines
}

// LeadsWithFix reports whether the best fix is what to do first. It is not while the model
// computes on the CPU, for any gain, nor where the device is a server's limit, nor beside a late rank, if its gain is
// only bounded.
func LeadsWithFix(v diagnose.Verdict, plan advise.Plan) bool {
	if len(plan.Fixes) == 0 || v.Headline() == diagnose.ComputeOnCPU ||
		v.Class.Is(diagnose.GPUBound) && isBesideModel(plan.Fixes[0]) {
		return false
	}
	return v.Headline() != diagnose.StragglerRank || sharesEvaluation(plan) ||
		!math.IsNaN(plan.Fixes[0].Forecast.Speedup.Point)
}

// isBesideModel reports whether a change is of what keeps the model of a server waiting.
func isBesideModel(f advise.Fix) bool {
	return f.Name == string(diagnose.ServerHost) || f.Name == string(diagnose.ServerWaits)
}

// sharesEvaluation reports whether a plan begins with evaluation that one rank makes for all: it is late for that.
func sharesEvaluation(plan advise.Plan) bool {
	return len(plan.Fixes) > 0 && plan.Fixes[0].Title == diagnose.EvaluateOnAllAdvice
}

// sayNext says what to do first, and the command for it.
func sayNext(v diagnose.Verdict, plan advise.Plan, file string) (next, try string) {
	traced := v.Device >= 0
	switch {
	case LeadsWithFix(v, plan):
		fix := plan.Fixes[0]
		return sayWhole(fix, v), commandOf(fix, traced, file)
	case v.Class == diagnose.ComputeOnCPU && len(plan.Fixes) > 0:
		return v.Do(), "nvidia-smi"
	case v.Ending.Failed() && (v.Class == diagnose.NotTraining || v.Class == diagnose.Unknown):
		return v.Ending.Advice(), ""
	case v.Class == diagnose.Unknown && v.Grounds.Record != "":
		return v.Grounds.Record, ""
	case traced && v.Class == diagnose.Unknown:
		for _, f := range v.Findings {
			if set, _ := AdviceOn(f, plan); set != "" {
				return set, ""
			}
		}
		return "no change here has a measurable gain", ""
	case v.Class == diagnose.Unknown:
		if outside := sayOutside(v); outside != "" {
			return lowerFirst(outside), ""
		}
		return diagnose.TakeTrace(v.Grounds.Framework)
	case v.Class == diagnose.NotTraining && v.Has(diagnose.FindingSkippingBatches):
		return "to resume, " + diagnose.ResumeAdvice + ". A verdict on the steps comes once it trains", ""
	case v.Class == diagnose.NotTraining:
		return "record a program that trains, for long enough to see 20 steps", "stoker observe -- python train.py"
	}
	if set := sayLeadingFinding(v, plan); set != "" {
		return set + " (how much that gains is unknown here)", ""
	}
	if isDenied(v, plan) {
		return "no change here has a measurable gain", ""
	}
	if why := whyNone(v, plan); why != "" {
		return "no change is named: " + why, ""
	}
	next = strings.TrimSuffix(SayWhatElse(v), ".")
	switch outside := sayOutside(v); {
	case outside != "" && v.Class.Is(diagnose.GPUBound): // the host's side has something after all
		next = outside + ". Of the steps: " + next
	case outside != "":
		next += ". " + outside
	}
	return next, ""
}

// mostOfWindow is the share of the window from which a finding of the device's is what to do first. [J]
const mostOfWindow = 0.5

// sayLeadingFinding returns what to set for the finding of a trace that says more of its verdict than the words of the
// class do: kernels that leave most of the device empty, and what else than its own work the host does. "" without.
func sayLeadingFinding(v diagnose.Verdict, plan advise.Plan) string {
	at := -1
	switch {
	case v.Device < 0 || len(v.Findings) == 0:
	case v.Class.Is(diagnose.GPUBound):
		at = slices.IndexFunc(v.Findings, func(f diagnose.Finding) bool {
			return f.Name == diagnose.FindingSmallGrids && f.Share >= mostOfWindow ||
				f.Name == diagnose.FindingLayoutChanges ||
				f.Name == diagnose.FindingAllocator && f.Share >= diagnose.LaunchTrigger
		})
	case v.Class == diagnose.CPUBound && v.Findings[0].Name != diagnose.FindingHostWork:
		at = 0
	}
	if at < 0 {
		return ""
	}
	set, _ := AdviceOn(v.Findings[at], plan)
	return set
}

// TellsOutside reports whether something outside of the steps takes long, which the lead says.
func TellsOutside(v diagnose.Verdict) bool { return sayOutside(v) != "" }

// sayOutside returns what takes long outside of the steps, with what to do about it; "" if nothing does.
func sayOutside(v diagnose.Verdict) string {
	for _, f := range v.Findings {
		if what, outside := outsideSteps[f.Name]; outside {
			return fmt.Sprintf("%s takes %s at %s: %s%s", what, quantity.AboutSeconds(f.Seconds),
				ShortenPlace(f.Source, 60), f.Advice, worthOfOnce(f))
		}
	}
	return ""
}

// worthOfOnce says what the run gains without what a finding has of its start or end; "" of another, or if too little.
func worthOfOnce(f diagnose.Finding) string {
	once := f.Name == diagnose.FindingSlowStart || f.Name == diagnose.FindingSlowEnd
	if !once || !(f.Share >= LeastIdle) || f.Share >= 1 {
		return ""
	}
	return fmt.Sprintf(": a run as long as this one at most %s faster", quantity.AboutRatio(1/(1-f.Share)))
}

// outsideSteps begin a sentence about a finding.
var outsideSteps = map[string]string{
	diagnose.FindingSlowStart: "Starting", diagnose.FindingSlowEnd: "The end",
	diagnose.FindingBesideTraining: "Other work than training",
}

// settingsOfClass lists the settings that the advice of a class names.
var settingsOfClass = map[diagnose.Class][]stoker.Setting{
	diagnose.TransferBound: {stoker.PinMemory}, diagnose.LaunchBound: {stoker.Compile},
	diagnose.CPUBound: {advise.Overlap},
}

// whyNone is why the change that a class calls for is none for the program; "" if it may be one.
func whyNone(v diagnose.Verdict, plan advise.Plan) string {
	if v.Class == diagnose.CPUBound && v.Grounds.HostWork.Keeps { // its own advice is about memory
		return ""
	}
	for _, r := range plan.Rejected {
		if r.Gate == advise.Program && slices.Contains(settingsOfClass[v.Class], stoker.Setting(r.Name)) {
			return r.Why
		}
	}
	return ""
}

// isDenied reports whether a plan made by replay found the gain of a class's advice too small.
func isDenied(v diagnose.Verdict, plan advise.Plan) bool {
	settings := settingsOfClass[v.Class]
	if plan.Replay == nil || len(settings) == 0 || v.Class == diagnose.CPUBound || v.Do() != v.Class.Do() {
		return false
	}
	for _, s := range settings {
		if !slices.ContainsFunc(plan.Rejected, func(r advise.Rejected) bool {
			return r.Name == string(s) && r.Gate == ""
		}) {
			return false
		}
	}
	return true
}

// AdviceOn returns what to set because of a finding; "" if nothing is known to help. denied
// says why the plan rejects the advice.
func AdviceOn(f diagnose.Finding, plan advise.Plan) (set, denied string) {
	switch fix, why := plan.FindAnswer(f); {
	case why == "":
		return cmp.Or(f.Advice, SayAllChanges(f.Settings)), ""
	case fix != nil: // of several ways, the one with a gain
		return SayChanges(*fix), ""
	default:
		return "", why
	}
}

// placeOf returns the line of the program that a trace gives for a fix; "" if unknown.
func placeOf(fix advise.Fix, v diagnose.Verdict) string {
	if fix.Where != "" {
		return ""
	}
	for _, f := range v.Findings {
		if f.Name == diagnose.FindingLaunchBound { // its place is one of many gaps, and nothing is to be changed there
			continue
		}
		about := f.Name == diagnose.FindingHostWork && len(fix.Changes) == 0
		if len(f.Settings) > 0 && len(fix.Changes) > 0 {
			about = f.Settings[0].Setting == fix.Changes[0].Setting
		} else if len(fix.Changes) > 0 {
			about = f.Name == diagnose.FindingHiddenSync && fix.Changes[0].Setting == stoker.SyncEvery
		}
		if about && f.Source != "" {
			return ", at " + ShortenPlace(f.Source, 60)
		}
	}
	return ""
}

// commandOf returns the command that helps to make a change, or to measure its gain.
func commandOf(fix advise.Fix, traced bool, file string) string {
	switch {
	case fix.Name == advise.FeedPictures:
		return "stoker feed -- CMD"
	case traced && file != "":
		return "stoker trace " + file + " AFTER # with a trace of the changed program"
	case slices.ContainsFunc(fix.Changes, func(c stoker.Change) bool {
		return c.Setting != stoker.Cores && c.Setting != stoker.StorageKind
	}):
		return strings.TrimSpace("stoker advise --emit torch " + file)
	}
	return ""
}

// SayFix describes what a fix changes, and in which DataLoader.
func SayFix(f advise.Fix) string {
	text := SayChanges(f)
	switch {
	case f.Where != "":
		text += ", in the DataLoader of " + path.Base(f.Where)
		for _, other := range f.Also {
			text += " and the DataLoader of " + path.Base(other)
		}
	case f.At != "":
		text = f.At + ": " + text
	}
	return text
}

// SayChanges describes what a fix changes: PyTorch's settings by name, others in words.
func SayChanges(f advise.Fix) string {
	var changes []string
	for _, c := range f.Changes {
		text, known := f.InWords(c)
		if !known {
			text = SayChange(c)
		}
		changes = append(changes, text)
	}
	if len(changes) == 0 { // the fix changes no setting
		return f.Title
	}
	return strings.Join(changes, ", ")
}

// SayAllChanges describes changes, separated by commas.
func SayAllChanges(changes []stoker.Change) string {
	said := make([]string, len(changes))
	for i, c := range changes {
		said[i] = SayChange(c)
	}
	return strings.Join(said, ", ")
}

// SayChange describes a change in terms of PyTorch's documentation.
func SayChange(c stoker.Change) string {
	switch c.Setting {
	case stoker.SyncEvery:
		if n := fmt.Sprint(c.To); n != "0" {
			return fmt.Sprintf("read what only logs need, as the loss, every %s steps instead of every step", n)
		}
		return "take the waits for the device out of the step"
	case stoker.LoaderKind:
		if c.To == stoker.StokerLoader {
			return "use stoker.DataLoader in place of PyTorch's"
		}
		return "use PyTorch's DataLoader in place of stoker's"
	case stoker.Split:
		return "split the data set between its workers (get_worker_info)"
	case stoker.StorageKind:
		if c.To == stoker.PageCache {
			return "serve the data set from memory"
		}
	default:
	}
	if c.From == nil {
		return fmt.Sprintf("%s=%v", c.Setting, c.To)
	}
	return c.String()
}

// SayEffort describes the effort of a change.
func SayEffort(e advise.Effort) string {
	return map[advise.Effort]string{
		advise.Flag: "one argument", advise.Code: "a few lines of code", advise.Data: "moving the data set",
		advise.Machine: "another machine, quota or schedule",
	}[e]
}

// SayRisk describes the risk of a change; "" if there is none but what the author has to know first.
func SayRisk(f advise.Fix) string {
	if f.Risk == advise.NoRisk && f.Mind != "" {
		return ""
	}
	if f.Risk == advise.LearningRisk && f.Lossless {
		return "if it trains, the optimizer sees other batches, and the learning rate follows"
	}
	return map[advise.Risk]string{
		advise.NoRisk: "none", advise.MemoryRisk: "it takes more memory",
		advise.SeedRisk:     "other random numbers, as with another seed",
		advise.NumericsRisk: "results differ in their last digits or more",
		advise.LearningRisk: "the optimizer sees other batches, and the learning rate follows",
	}[f.Risk]
}

// DescribeEpoch says how long an epoch takes now and with the first fix; "" if its length is
// unknown.
func DescribeEpoch(run *recording.Run, v diagnose.Verdict, plan advise.Plan) string {
	n := epochSteps(run, v)
	if n < fewestOfEpoch || !(v.Costs.Step > 0) {
		return ""
	}
	epoch := float64(n) * (v.Costs.Step + v.Costs.Window.TurnPerStep())
	text := fmt.Sprintf("%d steps: %s now", n, sayHours(epoch))
	if len(plan.Fixes) > 0 {
		if s := plan.Fixes[0].Forecast.Speedup; s.Known() && s.Point > 1 {
			text += fmt.Sprintf(", %s with change 1", sayHours(epoch/s.Point))
		}
	}
	if v.Costs.Window.TurnTime > 0 {
		text += ", with the time of other loaders"
	}
	if aside := besideEpoch(v.Ledger); aside != "" {
		text += ", " + aside + " not counted"
	}
	return text
}

// besideEpoch names what takes noticeable time between the steps and is no part of them; "" if nothing does.
func besideEpoch(l diagnose.Ledger) string {
	var names []string
	for _, name := range []diagnose.RowName{diagnose.RowEvaluation, diagnose.RowCheckpoint} {
		if seconds := l.Find(name).Seconds; seconds > 0 && seconds >= leastBeside*l.Recurring() {
			names = append(names, string(name))
		}
	}
	return strings.Join(names, " and ")
}

// fewestOfEpoch is the number of steps from which an epoch gets a line.
const fewestOfEpoch = 10

// epochSteps returns the number of steps of an epoch: between two first steps, or else from the
// size of the data set; 0 if neither is known.
func epochSteps(run *recording.Run, v diagnose.Verdict) int {
	if !v.HasSteps || !v.Costs.Fed() {
		return 0
	}
	w := v.Costs.Window
	var steps []recording.Step
	for _, s := range run.Steps {
		if s.PID == w.PID && s.Loader == w.Loader && s.Phase == recording.Train {
			steps = append(steps, s)
		}
	}
	if lengths := recording.EpochSteps(steps); len(lengths) > 0 {
		return int(stat.Median(lengths))
	}
	l := run.FindLoader(w.PID, w.Loader)
	if l == nil || l.Samples == 0 || l.Iterable || len(l.Own) > 0 {
		return 0
	}
	if batch := w.Samples(); batch > 0 {
		return int(math.Ceil(float64(l.Samples) / batch / float64(worldOf(run, w.PID))))
	}
	return 0
}

// worldOf returns the number of ranks that share a data set.
func worldOf(run *recording.Run, pid int) int {
	for _, p := range run.Facts.Processes {
		if p.PID == pid {
			return max(1, p.World)
		}
	}
	return 1
}

// sayHours prints a time with a precision suitable for planning.
func sayHours(seconds float64) string {
	switch {
	case seconds < 100:
		return quantity.AboutSeconds(seconds)
	case seconds < 100*60:
		return quantity.About(seconds/60) + " minutes"
	}
	return quantity.About(seconds/3600) + " hours"
}

// SayName returns the name of a fix for readers.
func SayName(fix string) string {
	switch fix {
	case advise.FeedPictures:
		return "stoker feed"
	case string(stoker.LoaderKind):
		return "stoker.DataLoader"
	case string(stoker.SyncEvery):
		return "waiting for the device less often"
	}
	return fix
}

// QuoteForShell quotes a name for a shell.
func QuoteForShell(name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:+=@%") == "" &&
		name != "" {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// DescribeClass returns the class of a run's steps with its title.
func DescribeClass(v diagnose.Verdict) string {
	v.Lead = nil
	return string(v.Class) + ", " + lowerFirst(titleOf(v))
}
