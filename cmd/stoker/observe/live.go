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

// liveVerdict prints a line on stderr when the verdict on the running command changes.
type liveVerdict struct {
	app   *cli.App
	quiet bool
	said  diagnose.Class
	seen  diagnose.Class // by the last judgement: a class is printed once two in a row agree on it
	state diagnose.State
	next  float64 // when to judge again, seconds of the run

	prometheus string   // file for Prometheus; "" for none
	log        []string // tools that get figures in their open run
	collector  *collector
	written    float64
	toLog      *observe.Log

	inside *inside
	// the verdict of a captured trace; nil if it cannot be read
	read   func(run *recording.Run, pid int) *diagnose.Verdict
	traced *diagnose.Verdict
	looked int // number of traces read so far
}

// judge judges the run so far, with its captured traces.
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

// handOut sends figures of the run to other tools.
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

// nextLog is called by observe.Options.Log.
func (l *liveVerdict) nextLog() *observe.Log {
	log := l.toLog
	l.toLog = nil
	return log
}

// writeTextfile writes the run's figures for Prometheus.
func writeTextfile(a *cli.App, name string, run *recording.Run, v diagnose.Verdict) {
	if name == "" {
		return
	}
	plan := advise.Rank(run, v)
	if err := cli.WriteFiles(context.Background(), cli.Output{
		Name: name, Mode: cli.ToOthers,
		Produce: func(w io.Writer) error {
			return export.Prometheus(w, run, v, judged.ListForecasts(plan))
		},
	}); err != nil {
		a.Say("--prometheus: %v", err)
	}
}

// When the live verdict is computed and printed.
const (
	firstLook   = 10.0 // seconds of steady steps before the first line
	lookAgain   = 2.0  // seconds between two judgements
	lookCost    = 500  // judging may take a five hundredth of the time
	unknownPast = 25.0 // seconds after which "unknown" is printed, too

	mostReadLive = 32 << 20 // largest trace, in bytes, that is read during the run: it takes a tenth of a second
)

// tick judges the run so far if it is time to.
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
