package judge

import (
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/ledger"
	"github.com/stoker-dev/stoker/diagnose/live"
	"github.com/stoker-dev/stoker/diagnose/rules"
	"github.com/stoker-dev/stoker/diagnose/traced"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

// Judge says what limits the run.
func Judge(run *recording.Run) diagnose.Verdict { return WithGaps(run, nil) }

// WithGaps judges a run with a Timeline whose gaps the caller has analysed
// already; nil: it is done here. An Analysis is not for two goroutines at once.
func WithGaps(run *recording.Run, gaps *idle.Analysis) diagnose.Verdict {
	c := caseOf(run, gaps)
	v := diagnose.Verdict{
		Confidence: math.NaN(), State: diagnose.Provisional, Rank: c.Costs.Window.Rank,
		Device: c.Device, Costs: c.Costs, HasSteps: c.HasSteps || c.HasUnfedSteps,
	}
	answers := rules.AskAll(c)
	v.Class, v.RunnerUp, v.Most = answers.Class, answers.RunnerUp, answers.Most
	v.Scores, v.Questions, v.Evidence = answers.Scores, answers.Questions, answers.Evidence
	settleStall(c, v.Class)
	v.Measured, v.Ledger = c.Measured, ledger.Fill(run, c)
	if v.Lead = ledger.FindLead(v.Ledger, c, v.Class); v.Lead != nil && v.Lead.Name == diagnose.RowEvaluation {
		v.Lead.Alone = ledger.EvaluatesAlone(run, c, v.Lead.Row)
	}
	if v.Headline() == diagnose.WaitsOutside {
		c.Findings = slices.DeleteFunc(c.Findings, live.OfLoopsAlone)
	}
	v.Stall, v.StallSource, v.Idle, v.Shares = c.Stall, c.StallSource, c.Idle, c.Shares
	v.Lines, v.Grounds, v.Causes, v.Ending = c.Lines, c.Grounds, c.Causes, c.Ending
	if class, evidence := standsOut(c); v.Class == diagnose.Unknown && v.Lead == nil && evidence != nil {
		v.Class, v.Evidence = class, evidence
	}
	if v.Class == diagnose.CPUBound && v.Lead == nil {
		v.Evidence = append(heldInstead(c), v.Evidence...)
	}
	if evidence := restarting(c); evidence != nil {
		v.Class, v.Evidence, v.Lead = diagnose.CPUBound, evidence, nil
		v.Most = 1 / (1 - min(c.Restarts.Share, mostRestarts))
	}
	if v.Class == diagnose.Unknown {
		v.Evidence = unknownEvidence(c, v.Scores)
	}
	if v.HasSteps && c.Costs.Window.Stationary {
		v.State = diagnose.Final
	}
	v.Confidence = measureConfidence(c, v)
	v.Unexplained = measureUnexplained(c, v.Class)
	v.Findings = slices.Concat(c.Findings, rules.FindBeside(c, v.Class), ledger.FindSlowEnd(v.Ledger), c.UtilPattern)
	if v.Headline() != diagnose.StartUp {
		v.Findings = append(v.Findings, ledger.FindSlowStart(v.Ledger)...)
	}
	if v.Lead == nil {
		v.Findings = append(v.Findings, ledger.FindBusyBeside(run, c, v.Ledger)...)
	}
	now := run.SettingsOf(c.Costs.Window.PID, c.Costs.Window.Loader)
	for i := range v.Findings {
		v.Findings[i].Settings = now.Settle(v.Findings[i].Settings)
	}
	v.Doubts, v.Recorder, v.Replay = c.Doubts, c.Recorder, c.Replay
	v.Paced = c.Paced && v.Class.Is(diagnose.GPUBound)
	v.Warnings = slices.Concat(c.Doubts, c.Warnings, without(run.Warnings, c.Doubts))
	if c.WorksRecorded == 0 { // the verdict says so, and what to record
		v.Warnings = slices.DeleteFunc(v.Warnings, func(said string) bool {
			return strings.HasPrefix(said, recording.NoDeviceWork)
		})
	}
	v.Cost = CostOf(run, v, predict.Prices{})
	return v
}

// without are texts that others do not say.
func without(texts, others []string) (out []string) {
	for _, text := range texts {
		if !slices.Contains(others, text) {
			out = append(out, text)
		}
	}
	return out
}

// caseOf is the only place that asks what kind of recording this is.
func caseOf(run *recording.Run, gaps *idle.Analysis) *diagnose.Case {
	c := diagnose.NewCase()
	live.FillCase(c, run)
	if run.Timeline != nil { // facts stay, and the steps of the host's clock
		traced.FillCase(c, run, gaps)
	}
	return c
}

// settleStall gives the stall of a run whose device clock is not known: where
// input is the limit, at most the idle time; where there is hardly any idle
// time, no more than that; else it is unknown.
func settleStall(c *diagnose.Case, class diagnose.Class) {
	if c.OnlyRingKnown() && c.RingWait() < littleWait {
		c.Stall, c.StallSource = c.RingWait(), diagnose.HostWait
	}
	if !math.IsNaN(c.Stall) || math.IsNaN(c.Idle) {
		return
	}
	if !c.Requests.Known() && (class.Starves() || class.Is(diagnose.GPUBound)) {
		c.Stall, c.StallSource = c.MostStall(), c.IdleSource()
	}
}
