package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/verify"
)

// WriteTraces writes the differences between two traces, per step. top is the number of rows of
// work; 0 for all.
func WriteTraces(w io.Writer, o verify.TraceOutcome, top int, style Style) error {
	p := newPage(style, &o)
	p.outcomeHeadline(o.Outcome)
	if o.Refused == "" {
		if o.Noise != nil {
			p.writeSide("noise", noiseText(*o.Noise))
		}
		p.printPromise(o)
	}
	p.writeSide("limited by", o.Was+" -> "+p.makeBold(o.Now))
	steps, work := report.CompareSteps(o.Rows), top
	steps.Rows, steps.Align = p.fitRows(steps.Rows, steps.Align, "least to most", "least to most")
	if !style.All && (top == 0 || top > fewWorks) {
		work = fewWorks
	}
	p.show([]section{
		{items: []item{{important, func(p *page) { p.writeSheet(steps) }}}},
		{items: []item{{useful, func(p *page) { p.writeSheet(report.CompareWork(o.Work, work)) }}}},
		p.notes(o.Warnings),
	}, strings.TrimSpace("stoker trace --all "+style.File))
	return p.to(w)
}

// fewWorks is the number of rows of work shown without --all.
const fewWorks = 5

// printPromise compares the advice for the trace before with the result.
func (p *page) printPromise(o verify.TraceOutcome) {
	if o.Promise.Promised != nil {
		p.writePromise(o.Outcome)
		return
	}
	if len(o.Promises) == 0 || o.Speedup == nil {
		return
	}
	p.writeSide("achieved", quantity.Factor(*o.Speedup)+". What was promised before, if that is what was changed:")
	for _, f := range o.Promises {
		name := report.SayAllChanges(f.Changes)
		if name == "" {
			name = f.Fix
		}
		ended := string(f.Kept)
		if words, found := promises[f.Kept]; found {
			ended = p.paint(words.colour, words.text)
		}
		p.printWrapped("    - ", "      ", fmt.Sprintf("%s: %s   %s", name, quantity.Factor(f.Promised), ended))
	}
}
