package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
	"time"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/advise/emit"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/report/wire"
	"github.com/stoker-dev/stoker/verify"
)

// The parts of the page. It loads nothing else, and its Content-Security-Policy allows only
// this style and this script.
var (
	//go:embed html/page.html
	pageHTML string
	//go:embed html/page.css
	pageCSS string
	//go:embed html/page.js
	pageJS string
)

// parseTemplate is called when a page is written, because parsing takes a millisecond, which
// other commands should not pay.
func parseTemplate() *template.Template { return template.Must(template.New("page").Parse(pageHTML)) }

// Subject is the content of a page.
type Subject struct {
	Name    string // name of the file
	Version string // version of Stoker
	Run     *recording.Run
	Verdict diagnose.Verdict
	Plan    advise.Plan

	Live    bool                // the page is served and reloads itself
	Trace   *report.TraceReport // set if the run was read from a profiler's files
	Picture string              // roofline drawn by report/plot from RooflineCeilings; "" for none
	Before  *EarlierRun         // set if the run is compared with an earlier one
}

// EarlierRun is an earlier run, compared with that of the page.
type EarlierRun struct {
	Name    string
	Run     *recording.Run
	Verdict diagnose.Verdict
	Outcome verify.Outcome
	Traces  *verify.TraceOutcome // set if both runs come from a profiler
}

// WriteRun writes a self-contained page: it needs no network and no other file, and can be read
// without scripts.
func WriteRun(w io.Writer, s Subject) error {
	safe.Values(&s.Name, &s.Version, &s.Run, &s.Verdict, &s.Plan)
	if s.Before != nil {
		b := *s.Before
		safe.Values(&b)
		s.Before = &b
	}
	if s.Trace != nil {
		t := *s.Trace
		safe.Values(&t)
		s.Trace = &t
	}
	p, err := describeRun(s)
	if err != nil {
		return err
	}
	return parseTemplate().Execute(w, p)
}

// document holds the formatted values of the template.
type document struct {
	Policy string
	Live   bool
	CSS    template.CSS
	JS     template.JS

	Title, Class, Tone   string
	Headline, Sub, Badge string
	Lead                 *report.Lead // why, and what to do first; nil for a page without a verdict
	Figures              []report.Figure
	Time                 *bar // of the run, by row
	TimeRows             []report.LedgerLine
	Step, Inside         *bar
	InsideClock          string
	Runs                 []htmlStrip // the earlier run, if any, and the run
	Why, Findings, Notes []string
	Tried                bool // the fixes were tried
	Fixes                []card
	NoFix                string
	Rejected             []advise.Rejected
	WhatIf               *forecastTable
	Trace                *htmlTrace
	Forecast             *htmlForecast
	Outcome              *htmlOutcome
	Commands             []string
	Facts                []report.Figure
	Questions            []askedQuestion

	Object json.RawMessage // the output of --json
	Data   any             // input of the script
}

// question is a question that was asked for the verdict.
type askedQuestion struct{ Rule, Text, Answer, Note string }

// describeRun formats the content of a run's page.
func describeRun(s Subject) (*document, error) {
	v := s.Verdict
	p := &document{
		Policy: FormPolicy(s.Live), Live: s.Live, CSS: template.CSS(pageCSS), JS: template.JS(pageJS),
		Title: s.Name, Class: string(v.Headline()), Tone: PickTone(v), Headline: report.Summarize(v), Sub: subtitle(s),
		Figures: report.ListFigures(s.Run, v), Step: stepBar(v), Why: report.ListEvidence(v),
		Findings: report.ListFindings(v), Notes: report.ListNotes(v),
		Rejected: s.Plan.Rejected, Facts: facts(s), Commands: commands(s),
	}
	lead := report.LeadOf(s.Run, v, s.Plan, report.QuoteForShell(s.Name))
	p.Lead = &lead
	p.Time, p.TimeRows = timeBar(v.Ledger), report.LedgerLines(v.Ledger)
	p.Inside, p.InsideClock = insideBar(v.Costs.Window)
	if s.Run.Emulated() {
		p.Badge = "emulated device"
	}
	if s.Trace == nil {
		p.Runs = append(p.Runs, stripOf(s.Name, s.Run, v))
		if v.Costs.Fed() { // a server, or a loop of the program's own, has no workers to change
			p.WhatIf = whatIfOf(s.Run)
		}
	} else {
		p.Trace = htmlTraceOf(*s.Trace, s.Picture)
	}
	if s.Before != nil {
		p.Outcome, p.Step = outcomeOf(*s.Before, s, p.Step), nil
		p.Headline = report.Capitalise(p.Outcome.Title) + ". " + p.Headline
		lead = report.LeadOfOutcome(s.Before.Outcome, report.QuoteForShell(s.Name))
		if s.Trace == nil {
			p.Runs = append([]htmlStrip{stripOf(s.Before.Name, s.Before.Run, s.Before.Verdict)}, p.Runs...)
			sameScale(p.Runs)
		}
	}
	if p.Fixes = cards(s); len(p.Fixes) == 0 {
		p.NoFix = report.SayWhatElse(v)
	}
	for _, q := range v.Questions {
		p.Questions = append(p.Questions, askedQuestion{string(q.Rule), q.Text, q.Answer, q.Note})
	}
	var b bytes.Buffer
	write := func() error { return wire.WriteVerdict(&b, s.Run, v, s.Plan) }
	if s.Trace != nil {
		write = func() error { return wire.WriteTrace(&b, *s.Trace) }
	}
	if err := write(); err != nil {
		return nil, err
	}
	p.Object = b.Bytes()
	p.Data = p.forScript()
	return p, nil
}

// forScript returns the input of the page's script: the values of the strips and the table of
// forecasts.
func (p *document) forScript() any {
	type data struct {
		Strips []stripData    `json:"strips"`
		WhatIf *forecastTable `json:"what_if"`
	}
	d := data{Strips: []stripData{}, WhatIf: p.WhatIf}
	for _, s := range p.Runs {
		d.Strips = append(d.Strips, s.data())
	}
	return d
}

// FormPolicy returns a policy that allows only the page's style and script, by hash; a live
// page may also request itself.
func FormPolicy(live bool) string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	again := ""
	if live {
		again = "; connect-src 'self'"
	}
	return "default-src 'none'; style-src " + hash(pageCSS) + "; script-src " + hash(pageJS) +
		"; base-uri 'none'; form-action 'none'" + again
}

// PickTone returns the tone of a verdict: "good", "bad", "todo".
func PickTone(v diagnose.Verdict) string {
	switch {
	case v.Lead != nil:
		return "todo"
	case v.Class.Is(diagnose.GPUBound):
		return "good"
	case v.Class.Starves():
		return "bad"
	}
	return "todo"
}

// subtitle returns the line below the headline.
func subtitle(s Subject) string {
	parts := []string{s.Name}
	f := s.Run.Facts
	if len(f.Command) > 0 {
		parts = append(parts, report.Shorten(strings.Join(f.Command, " "), 160))
	}
	if f.Started > 0 {
		parts = append(parts, time.Unix(int64(f.Started), 0).UTC().Format("2006-01-02 15:04 UTC"))
	}
	if s.Trace != nil {
		parts = append(parts, s.Trace.FormatLength()+" recorded")
	} else if end := s.Run.End(); end > 0 {
		parts = append(parts, quantity.AboutSeconds(end)+" recorded")
	}
	return strings.Join(parts, " · ")
}

// facts returns the environment of the run.
func facts(s Subject) []report.Figure {
	f := s.Run.Facts
	var all []report.Figure
	add := func(name, value string) {
		if value != "" {
			all = append(all, report.Figure{Name: report.Shorten(name, 120), Value: report.Shorten(value, 400)})
		}
	}
	for _, g := range f.GPUs {
		add(fmt.Sprintf("GPU %d", g.Index), g.Name)
	}
	add("processor", f.Machine.CPU)
	if n := f.Machine.Cores(); n > 0 {
		add("cores the job may use", quantity.AboutCores(n))
	}
	if f.Machine.MemoryBytes != nil {
		add("memory", quantity.AboutBytes(*f.Machine.MemoryBytes))
	}
	for _, v := range [][2]string{
		{"driver", f.Software.Driver},
		{"CUDA", f.Software.CUDA},
		{"ROCm", f.Software.ROCm},
		{"Python", f.Software.Python},
		{"PyTorch", f.Software.Torch},
		{"kernel", f.Machine.Kernel},
	} {
		add(v[0], v[1])
	}
	if f.Version != "" {
		add("recorded by", "stoker "+f.Version)
	}
	add("page by", strings.TrimSpace("stoker "+s.Version))
	if o := f.Overhead; o != nil && o.Wall > 0 {
		add("observing took", fmt.Sprintf("%s of a core", quantity.Percent(o.CPU/o.Wall)))
	}
	for _, a := range f.Absent {
		add("not seen: "+a.What, a.Why)
	}
	return all
}

// commands returns the commands that reproduce the page.
func commands(s Subject) []string {
	name := report.QuoteForShell(s.Name)
	if s.Trace != nil && s.Before != nil {
		name = report.QuoteForShell(s.Before.Name) + " " + name
	}
	if s.Trace != nil {
		return []string{"stoker trace " + name, "stoker report " + name}
	}
	all := []string{"stoker diagnose --explain " + name, "stoker advise --emit torch " + name}
	if s.Before != nil {
		return append(all, "stoker verify "+report.QuoteForShell(s.Before.Name)+" "+name,
			"stoker report "+report.QuoteForShell(s.Before.Name)+" "+name)
	}
	return append(all, "stoker report "+name)
}

// card is a fix.
type card struct {
	Title, Worth, Effort, Risk string
	Range                      *whisker
	Notes                      []string
	Lines                      string // lines to paste
}

// cards returns the fixes, with their intervals on one scale.
func cards(s Subject) []card {
	most := 1.0
	for _, f := range s.Plan.Fixes {
		most = max(most, upper(f.Forecast.Speedup))
	}
	var all []card
	for _, f := range s.Plan.Fixes {
		c := card{
			Title: report.SayChanges(f), Worth: report.DescribeGain(f), Effort: report.SayEffort(f.Effort),
			Risk: report.SayRisk(f), Notes: mindFirst(f), Range: rangeOf(f.Forecast.Speedup, most),
		}
		var b bytes.Buffer
		if len(f.Changes) > 0 && emit.Torch(&b, f) == nil {
			c.Lines = b.String()
		}
		all = append(all, c)
	}
	return all
}

// upper returns the upper end of an interval, or its point; 1 if unknown.
func upper(i stoker.Interval) float64 {
	for _, v := range []float64{i.High, i.Point} {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v
		}
	}
	return 1
}

// mindFirst returns the notes on a fix, beginning with what to check before the change.
func mindFirst(f advise.Fix) []string {
	if f.Mind == "" {
		return f.Notes
	}
	return append([]string{"first: " + f.Mind}, f.Notes...)
}
