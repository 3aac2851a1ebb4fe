package observe

import (
	"context"
	"io"
	"time"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/export"
	"github.com/stoker-dev/stoker/observe"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/text"
)

// liveVerdict says on stderr when the verdict of a run that goes on changes.
type liveVerdict struct {
	app   *cli.App
	quiet bool
	said  diagnose.Class
	seen  diagnose.Class // of the last look: a class must hold for two looks
	state diagnose.State
	next  float64 // when to look again, seconds

	prometheus string   // file for Prometheus; "" none
	log        []string // tools whose open run gets figures
	collector  *collector
	written    float64
	toLog      *observe.Log

	inside *inside
	// of the traces that were kept; nil where none can be read
	read   func(run *recording.Run, pid int) *diagnose.Verdict
	traced *diagnose.Verdict
	looked int // traces that were read
}

// judge judges the run so far, with the traces that were taken of it.
func (l *liveVerdict) judge(run *recording.Run) diagnose.Verdict {
	verdict := judge.Judge(run)
	if n := len(run.Facts.Captures); n > l.looked && l.read != nil {
		l.looked, l.traced = n, l.read(run, verdict.Costs.Window.PID)
	}
	if l.traced != nil {
		verdict = judge.Merge(run, verdict, *l.traced)
	}
	return verdict
}

func newLive(a *cli.App, o observeFlags) *liveVerdict {
	return &liveVerdict{app: a, quiet: o.quiet, prometheus: o.prometheus, log: o.log, collector: o.collector}
}

// handOutEach is how often other tools get figures, seconds: about as often as
// Prometheus scrapes.
const handOutEach = 15.0

// handOut gives other tools what they are to know of a run.
func (l *liveVerdict) handOut(run *recording.Run, v diagnose.Verdict) {
	writeTextfile(l.app, l.prometheus, run, v)
	if l.collector != nil {
		l.collector.send(run, v)
	}
	if len(l.log) == 0 || !v.HasSteps {
		return
	}
	l.toLog = &observe.Log{PID: v.Costs.Window.PID, To: l.log, Values: map[string]float64{}}
	if steps := v.Costs.Window.Steps; len(steps) > 0 {
		l.toLog.Step = steps[len(steps)-1].N
	}
	for _, f := range export.Figures(run, v) {
		l.toLog.Values[f.Name] = f.Value
	}
}

// nextLog is what observe.Options.Log asks.
func (l *liveVerdict) nextLog() *observe.Log {
	log := l.toLog
	l.toLog = nil
	return log
}

// writeTextfile writes what Prometheus is to know of a run.
func writeTextfile(a *cli.App, name string, run *recording.Run, v diagnose.Verdict) {
	if name == "" {
		return
	}
	plan := advise.Rank(run, v)
	if err := cli.WriteFiles(context.Background(), cli.Output{Name: name, Mode: cli.ToOthers, Produce: func(w io.Writer) error {
		return export.Prometheus(w, run, v, judged.ListForecasts(plan))
	}}); err != nil {
		a.Say("--prometheus: %v", err)
	}
}

// Start values of the live verdict.
const (
	firstLook   = 10.0 // seconds of steady steps before the first word
	lookAgain   = 2.0  // seconds between looks
	lookCost    = 500  // a look may take a five hundredth of the time
	unknownPast = 25.0 // seconds after which "unknown" is worth a line

	mostReadLive = 32 << 20 // bytes of a trace that is read while the run goes on: a tenth of a second
)

// tick looks at the run so far.
func (l *liveVerdict) tick(sofar func() *recording.Run, now float64) {
	forOthers := l.prometheus != "" || len(l.log) > 0 || l.collector != nil
	if l.quiet && !forOthers || now < l.next {
		return
	}
	began := time.Now()
	run := sofar()
	verdict := l.judge(run)
	if forOthers && now >= l.written+handOutEach {
		l.written = now
		l.handOut(run, verdict)
	}
	l.next = now + max(lookAgain, lookCost*time.Since(began).Seconds())
	if l.quiet {
		return
	}
	window := verdict.Costs.Window
	if !verdict.HasSteps || window.End-window.Start < firstLook {
		return
	}
	if says := l.inside.look(run, verdict, now); says != "" {
		l.app.Say("%s", says)
	}
	settled := verdict.Class == l.seen
	l.seen = verdict.Class
	if verdict.Class == diagnose.Unknown && window.End-window.Start < unknownPast {
		return
	}
	becameFinal := verdict.State == diagnose.Final && l.state != diagnose.Final
	if settled && (verdict.Class != l.said || becameFinal) {
		l.said, l.state = verdict.Class, verdict.State
		l.app.Say("%.0f s: %s", now, text.SumUp(run, verdict))
	}
}
