package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/verify"
)

// WriteTraces writes what changed between two traces, per step. top is how many rows of
// work are shown; 0: all.
func WriteTraces(w io.Writer, o verify.TraceOutcome, top int, style Style) error {
	p := newPage(style, &o)
	p.outcomeHeadline(o.Outcome)
	if o.Refused != "" {
		p.b.WriteString("\n")
	} else {
		p.side("step time", p.time(o.Before)+" -> "+p.time(o.After))
		if o.Noise != nil {
			p.side("noise floor", noiseText(*o.Noise))
		}
		p.promised(o)
	}
	p.side("bound by", o.Was+" -> "+p.bold(o.Now))
	p.b.WriteString("\n")
	steps := report.CompareSteps(o.Rows)
	steps.Rows, steps.Align = p.fitted(steps.Rows, steps.Align, "least to most", "least to most")
	p.sheet(steps)
	p.sheet(report.CompareWork(o.Work, top))
	p.list("note", o.Warnings)
	return p.to(w)
}

// promised sets what the trace before was advised beside what came.
func (p *page) promised(o verify.TraceOutcome) {
	if o.Promise.Promised != nil {
		p.promise(o.Outcome)
		return
	}
	if len(o.Promises) == 0 || o.Speedup == nil {
		return
	}
	p.side("achieved", stoker.Factor(*o.Speedup)+"; what was promised before, if that is what was changed:")
	for _, f := range o.Promises {
		var changes []string
		for _, c := range f.Changes {
			changes = append(changes, c.String())
		}
		name := strings.Join(changes, ", ")
		if name == "" {
			name = f.Fix
		}
		ended := string(f.Kept)
		if words, found := promises[f.Kept]; found {
			ended = p.colour(words.colour, words.text)
		}
		p.wrapped("    - ", "      ", fmt.Sprintf("%s: %s   %s", name, stoker.Factor(f.Promised), ended))
	}
}
