package page

import (
	"encoding/json"
	"html/template"
	"io"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/verify"
)

// Tuned is the result of a tuning, for its page.
type Tuned struct {
	Name    string // name of the file
	Version string // version of Stoker
	Stopped string // why nothing more was tried
	Outcome *verify.Outcome
	Trials  []Tried
	Patch   string   // patch of the script; "" for none
	Command []string // the tuned command
	Object  json.RawMessage
}

// Tried is one fix with its promised and its achieved speed-up.
type Tried struct {
	Settings           string
	Promised, Achieved stoker.Interval
	Kept               bool
	Why                string // why it could not be compared, or how far its losses differ; else ""
}

// WriteTuning writes a tuning as a page.
func WriteTuning(w io.Writer, t Tuned) error {
	patch := strings.Split(t.Patch, "\n") // line breaks must stay
	safe.Values(&t.Name, &t.Version, &t.Stopped, &t.Outcome, &t.Trials, &patch, &t.Command)
	p := &document{
		Policy: FormPolicy(false), CSS: template.CSS(pageCSS), JS: template.JS(pageJS), Title: t.Name, Class: "tuned",
		Tone:     "todo",
		Headline: "Nothing is changed: " + t.Stopped + ".",
		Sub:      report.Shorten(strings.Join(append([]string{t.Name, "·"}, t.Command...), " "), 200),
		Tried:    true, Object: t.Object, Commands: []string{
			"stoker tune --plan plan.json -- CMD",
			"stoker report " + report.QuoteForShell(t.Name),
		},
	}
	if t.Outcome != nil {
		p.Outcome = comparedOutcome(*t.Outcome, "as it was", "tuned")
		p.Headline, p.Tone = report.Capitalise(p.Outcome.Title)+".", "good"
		p.Notes = []string{"stopped: " + t.Stopped}
		if t.Outcome.Emulated {
			p.Badge = "emulated device"
		}
	}
	p.trials(t.Trials)
	if t.Patch != "" {
		p.Fixes = append(p.Fixes, card{Title: "The script's change, as a patch", Lines: strings.Join(patch, "\n")})
	}
	p.Facts = []report.Figure{{Name: "page by", Value: "stoker " + t.Version}}
	p.Data = p.forScript()
	return parseTemplate().Execute(w, p)
}

// trials adds a card for each trial, with promised and achieved speed-up on one scale.
func (p *document) trials(all []Tried) {
	most := 1.0
	for _, t := range all {
		most = max(most, upper(t.Promised), upper(t.Achieved))
	}
	for _, t := range all {
		verdict := "not kept"
		if t.Kept {
			verdict = "kept"
		}
		c := card{
			Title: t.Settings, Worth: "promised " + quantity.Factor(t.Promised) + ", " + verdict,
			Range: rangeOf(t.Promised, most),
		}
		if t.Why != "" {
			c.Notes = []string{t.Why}
		}
		if achieved := rangeOf(t.Achieved, most); achieved != nil {
			c.Worth = "promised " + quantity.Factor(t.Promised) +
				", achieved by itself " + quantity.Factor(t.Achieved) + ", " + verdict
			if c.Range != nil {
				c.Range.Achieved = achieved.Point
			}
		}
		p.Fixes = append(p.Fixes, c)
	}
}
