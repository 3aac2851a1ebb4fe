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

// Lead is what a page says before all else.
type Lead struct {
	Verdict string // what limits the run
	Why     string // the figure that shows it
	Next    string // what to do first, in which file and line, and what it gains
	Try     string // the command for that; "" none

	Caution []string // why figures may not be the program's
}

// LeadOf is the lead of a judged run. file is what a shell calls the recording, "" the newest one.
func LeadOf(run *recording.Run, v diagnose.Verdict, plan advise.Plan, file string) Lead {
	l := Lead{
		Verdict: string(v.Class) + ": " + lowerFirst(titleOf(v)) + MarkEmulated(run.Emulated()), Why: sayWhy(v),
		Caution: v.Doubts,
	}
	l.Next, l.Try = sayNext(v, plan, strings.TrimSpace(" "+file))
	return l
}

func titleOf(v diagnose.Verdict) string {
	if title, _, known := rules.Describe(v); known {
		return title
	}
	title := "the evidence does not decide"
	if v.RunnerUp != "" && v.RunnerUp != diagnose.Unknown {
		title += ", the nearest is " + string(v.RunnerUp)
	}
	return title
}

// lowerFirst is a sentence that goes on behind a colon. An acronym stays one.
func lowerFirst(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if next, _ := utf8.DecodeRuneInString(text[size:]); unicode.IsUpper(next) {
		return text
	}
	return string(unicode.ToLower(first)) + text[size:]
}

// sayWhy is the figure that shows a verdict.
func sayWhy(v diagnose.Verdict) string {
	switch {
	case v.Class == diagnose.Unknown && !math.IsNaN(v.Idle) && !math.IsNaN(v.Stall):
		return fmt.Sprintf("the device is idle %s of the time and waits for input %s, and %s", quantity.Percent(v.Idle),
			quantity.Percent(v.Stall), sayUndecided(v))
	case len(v.Evidence) > 0:
		// the row of the device says so
		return strings.Replace(v.Evidence[0].Text, ", by the device's own clock)", ")", 1)
	case !math.IsNaN(v.Idle):
		return fmt.Sprintf("the device is idle %s of the time", quantity.Percent(v.Idle))
	}
	return "no figure that was recorded decides it"
}

// sayUndecided says why no class has an idle device.
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

// leastCause is the share of the time below which the leading cause of idle time decides nothing. [J]
const leastCause = 0.05

// FurtherEvidence is the evidence that a lead does not say.
func FurtherEvidence(v diagnose.Verdict) []string {
	lines := ListEvidence(v)
	if len(lines) > 0 && v.Class != diagnose.Unknown {
		lines = lines[1:]
	}
	return lines
}

// LeadsWithFix reports whether the best fix is what to do first. While the model computes on the
// CPU it is not, whatever else helps the run as it is.
func LeadsWithFix(v diagnose.Verdict, plan advise.Plan) bool {
	return len(plan.Fixes) > 0 && v.Class != diagnose.ComputeOnCPU
}

// sayNext is what to do first, and the command for it.
func sayNext(v diagnose.Verdict, plan advise.Plan, file string) (next, try string) {
	traced := v.Device >= 0
	switch {
	case LeadsWithFix(v, plan):
		fix := plan.Fixes[0]
		return SayFix(fix) + placeOf(fix, v) + ": " + fix.Worth(), commandOf(fix, traced, file)
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
		return diagnose.TakeTrace(v.Grounds.Framework)
	case v.Class == diagnose.NotTraining && skips(v):
		return "resume by " + diagnose.ResumeAdvice + ". A verdict on the steps comes once it trains", ""
	case v.Class == diagnose.NotTraining:
		return "record a program that trains, for long enough to see 20 steps", "stoker observe -- python train.py"
	}
	if isDenied(v, plan) {
		return "no change here has a measurable gain", ""
	}
	return strings.TrimSuffix(SayWhatElse(v), "."), ""
}

// settingsOfClass are what a class's own words tell to set.
var settingsOfClass = map[diagnose.Class][]stoker.Setting{
	diagnose.TransferBound: {stoker.PinMemory}, diagnose.LaunchBound: {stoker.Compile},
}

// isDenied reports whether a plan by replay found that what the class tells to set is worth too little.
func isDenied(v diagnose.Verdict, plan advise.Plan) bool {
	settings := settingsOfClass[v.Class]
	if plan.Replay == nil || len(settings) == 0 || v.Do() != v.Class.Do() {
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

// AdviceOn is what to set about a finding, "" where nothing is known to help, or why the plan
// finds that not worth it.
func AdviceOn(f diagnose.Finding, plan advise.Plan) (set, denied string) {
	switch fix, why := plan.FindAnswer(f); {
	case why == "":
		return cmp.Or(f.Advice, SayAllChanges(f.Settings)), ""
	case fix != nil: // of several ways, the one that gains
		return SayChanges(*fix), ""
	default:
		return "", why
	}
}

// skips reports whether batches are thrown away up to where training left off.
func skips(v diagnose.Verdict) bool {
	return slices.ContainsFunc(v.Findings,
		func(f diagnose.Finding) bool { return f.Name == diagnose.FindingSkippingBatches })
}

// placeOf is the line of the program that a trace names for a fix; "" unknown.
func placeOf(fix advise.Fix, v diagnose.Verdict) string {
	if fix.Where != "" {
		return ""
	}
	for _, f := range v.Findings {
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

// commandOf is the command that helps to make a change, or to see what it gained.
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

// SayFix is what a fix changes, and in which DataLoader.
func SayFix(f advise.Fix) string {
	text := SayChanges(f)
	if f.Where != "" {
		text += ", in the DataLoader of " + path.Base(f.Where)
	}
	return text
}

// SayChanges is what a fix changes: settings that PyTorch knows by their names, the others in words.
func SayChanges(f advise.Fix) string {
	var changes []string
	for _, c := range f.Changes {
		text, known := f.InWords(c)
		if n := fmt.Sprint(c.To); !known && f.Lossless && c.Setting == stoker.SyncEvery && n != "0" {
			text = fmt.Sprintf("wait for the device every %s steps instead of every step", n)
		} else if !known {
			text = SayChange(c)
		}
		changes = append(changes, text)
	}
	if len(changes) == 0 { // no setting does it
		return f.Title
	}
	return strings.Join(changes, ", ")
}

// SayAllChanges names changes in words, one after the other.
func SayAllChanges(changes []stoker.Change) string {
	said := make([]string, len(changes))
	for i, c := range changes {
		said[i] = SayChange(c)
	}
	return strings.Join(said, ", ")
}

// SayChange is a change in words that a reader of PyTorch's documentation knows.
func SayChange(c stoker.Change) string {
	switch c.Setting {
	case stoker.SyncEvery:
		if n := fmt.Sprint(c.To); n != "0" {
			return fmt.Sprintf("read the loss every %s steps instead of every step", n)
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

// SayEffort is what a change takes, in words.
func SayEffort(e advise.Effort) string {
	return map[advise.Effort]string{
		advise.Flag: "one argument", advise.Code: "a few lines of code", advise.Data: "moving the data set",
		advise.Machine: "another machine, quota or schedule",
	}[e]
}

// SayRisk is what a change may break, in words.
func SayRisk(r advise.Risk) string {
	return map[advise.Risk]string{
		advise.NoRisk: "none", advise.MemoryRisk: "it takes more memory",
		advise.SeedRisk:     "other random numbers, as with another seed",
		advise.NumericsRisk: "results differ in their last digits or more",
		advise.LearningRisk: "the optimizer sees other batches, and the learning rate follows",
	}[r]
}

// DescribeEpoch says how long an epoch takes now and with the first fix; "" where its length is unknown.
func DescribeEpoch(run *recording.Run, v diagnose.Verdict, plan advise.Plan) string {
	n := epochSteps(run, v)
	if n < fewestOfEpoch || !(v.Costs.Step > 0) {
		return ""
	}
	text := fmt.Sprintf("%d steps: %s now", n, sayHours(float64(n)*v.Costs.Step))
	if len(plan.Fixes) > 0 {
		if s := plan.Fixes[0].Forecast.Speedup; s.Known() && s.Point > 1 {
			text += fmt.Sprintf(", %s with change 1", sayHours(float64(n)*v.Costs.Step/s.Point))
		}
	}
	return text
}

// fewestOfEpoch is the number of steps below which an epoch is not worth a line.
const fewestOfEpoch = 10

// epochSteps is how many steps an epoch has: as many as lie between two first ones, else what
// the data set holds; 0 where neither is known.
func epochSteps(run *recording.Run, v diagnose.Verdict) int {
	if !v.HasSteps || !v.Costs.Fed() {
		return 0
	}
	w := v.Costs.Window
	first, lengths := -1, []float64{}
	for _, s := range run.Steps {
		if s.PID != w.PID || s.Loader != w.Loader || s.Phase != recording.Train || !s.First {
			continue
		}
		if first >= 0 && s.N > first {
			lengths = append(lengths, float64(s.N-first))
		}
		first = s.N
	}
	if len(lengths) > 0 {
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

// worldOf is how many ranks share a data set.
func worldOf(run *recording.Run, pid int) int {
	for _, p := range run.Facts.Processes {
		if p.PID == pid {
			return max(1, p.World)
		}
	}
	return 1
}

// sayHours is a time as people plan with it.
func sayHours(seconds float64) string {
	switch {
	case seconds < 100:
		return quantity.AboutSeconds(seconds)
	case seconds < 100*60:
		return quantity.About(seconds/60) + " minutes"
	}
	return quantity.About(seconds/3600) + " hours"
}

// SayName is the name of a fix as a reader knows it.
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

// QuoteForShell is a name as a shell takes it.
func QuoteForShell(name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:+=@%") == "" &&
		name != "" {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
