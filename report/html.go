package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for the page's texts
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
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/verify"
)

// The page's parts. Nothing else is loaded by it, and nothing else may be: its
// Content-Security-Policy allows this style and this script alone.
var (
	//go:embed html/page.html
	pageHTML string
	//go:embed html/page.css
	pageCSS string
	//go:embed html/page.js
	pageJS string

	pageTemplate = template.Must(template.New("page").Parse(pageHTML))
)

// Subject is what a page is about.
type Subject struct {
	Name    string // of the file
	Version string // of Stoker
	Run     *recording.Run
	Verdict diagnose.Verdict
	Plan    advise.Plan

	Live    bool         // the page is served, and asks for itself again
	Trace   *TraceReport // where the run was read from a profiler's files
	Picture string       // its roofline, as report/plot draws its Ceilings; "" where there is none
	Before  *Before      // where the run is held against an earlier one
}

// Before is the run that came first, and how the two compare.
type Before struct {
	Name    string
	Run     *recording.Run
	Verdict diagnose.Verdict
	Outcome verify.Outcome
	Traces  *verify.TraceOutcome // where both are a profiler's
}

// HTML writes one page that needs nothing else: no network, no file, and no script
// to be read.
func HTML(w io.Writer, s Subject) error {
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
	p, err := htmlOf(s)
	if err != nil {
		return err
	}
	return pageTemplate.Execute(w, p)
}

// htmlPage is what the template shows: values that are ready to read.
type htmlPage struct {
	Policy string
	Live   bool
	CSS    template.CSS
	JS     template.JS

	Title, Class, Tone   string
	Headline, Sub, Badge string
	Figures              []figure
	Step, Inside         *bar
	InsideClock          string
	Runs                 []htmlStrip // of the run before it, where there is one, and of the run
	Why, Findings, Notes []string
	Tried                bool // the fixes were
	Fixes                []card
	NoFix                string
	Rejected             []advise.Rejected
	WhatIf               *whatIf
	Trace                *htmlTrace
	Forecast             *htmlForecast
	Outcome              *htmlOutcome
	Commands             []string
	Facts                []figure
	Questions            []question

	Object json.RawMessage // what --json prints
	Data   any             // what the script works with
}

// figure is a number with its name and where it comes from.
type figure struct{ Name, Value, Note string }

// question is one that was asked for the verdict.
type question struct{ Rule, Text, Answer, Note string }

func htmlOf(s Subject) (*htmlPage, error) {
	v := s.Verdict
	p := &htmlPage{
		Policy: Policy(s.Live), Live: s.Live, CSS: template.CSS(pageCSS), JS: template.JS(pageJS),
		Title: s.Name, Class: string(v.Class), Tone: Tone(v), Headline: headline(v), Sub: subtitle(s),
		Figures: figures(s.Run, v), Step: stepBar(v), Why: evidenceLines(v), Findings: findingLines(v), Notes: v.Warnings,
		Rejected: s.Plan.Rejected, Facts: facts(s), Commands: commands(s),
	}
	p.Inside, p.InsideClock = insideBar(v.Costs.Window)
	if s.Run.Emulated() {
		p.Badge = "emulated device"
	}
	if s.Trace == nil {
		p.Runs = append(p.Runs, stripOf(s.Name, s.Run, v))
		p.WhatIf = whatIfOf(s.Run)
	} else {
		p.Trace = htmlTraceOf(*s.Trace, s.Picture)
	}
	if s.Before != nil {
		p.Outcome, p.Step = outcomeOf(*s.Before, s, p.Step), nil
		p.Headline = title(p.Outcome.Title) + ". " + p.Headline
		if s.Trace == nil {
			p.Runs = append([]htmlStrip{stripOf(s.Before.Name, s.Before.Run, s.Before.Verdict)}, p.Runs...)
			sameScale(p.Runs)
		}
	}
	if p.Fixes = cards(s); len(p.Fixes) == 0 {
		p.NoFix = nothingToDo(v)
	}
	for _, q := range v.Questions {
		p.Questions = append(p.Questions, question{string(q.Rule), q.Text, q.Answer, q.Note})
	}
	var b bytes.Buffer
	write := func() error { return JSON(&b, s.Run, v, s.Plan) }
	if s.Trace != nil {
		write = func() error { return TraceJSON(&b, *s.Trace) }
	}
	if err := write(); err != nil {
		return nil, err
	}
	p.Object = b.Bytes()
	p.Data = p.forScript()
	return p, nil
}

// forScript is what the page's script reads: the strips' values and the table of
// forecasts.
func (p *htmlPage) forScript() any {
	type data struct {
		Strips []stripData `json:"strips"`
		WhatIf *whatIf     `json:"what_if"`
	}
	d := data{Strips: []stripData{}, WhatIf: p.WhatIf}
	for _, s := range p.Runs {
		d.Strips = append(d.Strips, s.data())
	}
	return d
}

// Policy allows the page's own style and script, by what they are, and nothing else;
// a live page may ask for itself again.
func Policy(live bool) string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	again := ""
	if live {
		again = "; connect-src 'self'"
	}
	return "default-src 'none'; style-src " + hash(pageCSS) + "; script-src " + hash(pageJS) + "; base-uri 'none'; form-action 'none'" + again
}

// Tone is how a verdict is coloured: "good", "bad", "todo".
func Tone(v diagnose.Verdict) string {
	switch {
	case v.Class.Is(diagnose.GPUBound):
		return "good"
	case v.Class.Starves():
		return "bad"
	}
	return "todo"
}

// headline is the verdict in one sentence, with what it costs.
func headline(v diagnose.Verdict) string {
	text := "The evidence does not decide"
	if rule, ok := diagnose.RuleOf(v.Class); ok {
		text = rule.Title
	}
	if v.Stall >= v.Idle/2 || math.IsNaN(v.Idle) && !math.IsNaN(v.Stall) {
		text += fmt.Sprintf(": the device waits for input %s of the time", stoker.Percent(v.Stall))
	} else if !math.IsNaN(v.Idle) {
		text += fmt.Sprintf(": the device is idle %s of the time", stoker.Percent(v.Idle))
	}
	if h := v.Cost.Hour.Dollars; h.Known() && v.Cost.Share >= leastIdle {
		text += fmt.Sprintf(", which %s %s an hour per GPU", map[bool]string{true: "would cost", false: "costs"}[v.Cost.Assumed], stoker.AboutDollars(h.Point))
	}
	return text + "."
}

func subtitle(s Subject) string {
	parts := []string{s.Name}
	f := s.Run.Facts
	if len(f.Command) > 0 {
		parts = append(parts, cut(strings.Join(f.Command, " "), 160))
	}
	if f.Started > 0 {
		parts = append(parts, time.Unix(int64(f.Started), 0).UTC().Format("2006-01-02 15:04 UTC"))
	}
	if s.Trace != nil {
		parts = append(parts, s.Trace.recorded()+" recorded")
	} else if end := s.Run.End(); end > 0 {
		parts = append(parts, stoker.AboutSeconds(end)+" recorded")
	}
	return strings.Join(parts, " · ")
}

// figures are the few numbers that most people look for.
func figures(run *recording.Run, v diagnose.Verdict) []figure {
	all := []figure{
		{"waiting for input", stoker.Percent(v.Stall), strings.Trim(sourceText(v.StallSource), " ()")},
		{"device idle", stoker.Percent(v.Idle), "share of the judged steps"},
	}
	if v.HasSteps {
		all = append(all, figure{"step", stoker.AboutSeconds(v.Costs.Step), steps(v)})
		if r := v.Costs.Rate(); r > 0 {
			all = append(all, figure{"throughput", stoker.AboutSamples(r), "of the judged rank"})
		}
	}
	w := v.Costs.Window
	for _, g := range run.Facts.GPUs {
		memory, power := gpuUse(run, g, w)
		if memory > 0 {
			note := ""
			if g.MemoryBytes != nil {
				note = "of " + stoker.AboutBytes(*g.MemoryBytes)
			}
			all = append(all, figure{fmt.Sprintf("GPU %d memory", g.Index), stoker.AboutBytes(memory), note})
		}
		if power > 0 {
			all = append(all, figure{fmt.Sprintf("GPU %d power", g.Index), stoker.AboutWatts(power), "mean"})
		}
		if len(all) > 8 {
			break
		}
	}
	return all
}

// steps says how many steps a mean is of.
func steps(v diagnose.Verdict) string {
	if n := len(v.Costs.Window.Steps); n > 1 {
		return fmt.Sprintf("mean of %d; median %s", n, stoker.AboutSeconds(medianOf(v)))
	}
	return "of one"
}

// facts are where and with what the run was.
func facts(s Subject) []figure {
	f := s.Run.Facts
	var all []figure
	add := func(name, value string) {
		if value != "" {
			all = append(all, figure{Name: cut(name, 120), Value: cut(value, 400)})
		}
	}
	for _, g := range f.GPUs {
		add(fmt.Sprintf("GPU %d", g.Index), g.Name)
	}
	add("processor", f.Machine.CPU)
	if n := f.Machine.Cores(); n > 0 {
		add("cores the job may use", stoker.AboutCores(n))
	}
	if f.Machine.MemoryBytes != nil {
		add("memory", stoker.AboutBytes(*f.Machine.MemoryBytes))
	}
	for _, v := range [][2]string{{"driver", f.Software.Driver}, {"CUDA", f.Software.CUDA}, {"ROCm", f.Software.ROCm}, {"Python", f.Software.Python}, {"PyTorch", f.Software.Torch}, {"kernel", f.Machine.Kernel}} {
		add(v[0], v[1])
	}
	if f.Version != "" {
		add("recorded by", "stoker "+f.Version)
	}
	add("page by", strings.TrimSpace("stoker "+s.Version))
	if o := f.Overhead; o != nil && o.Wall > 0 {
		add("observing took", fmt.Sprintf("%s of a core", stoker.Percent(o.CPU/o.Wall)))
	}
	for _, a := range f.Absent {
		add("not seen: "+a.What, a.Why)
	}
	return all
}

// commands reproduce what the page says.
func commands(s Subject) []string {
	name := quoted(s.Name)
	if s.Trace != nil && s.Before != nil {
		name = quoted(s.Before.Name) + " " + name
	}
	if s.Trace != nil {
		return []string{"stoker trace " + name, "stoker report " + name}
	}
	all := []string{"stoker diagnose --explain " + name, "stoker advise --emit torch " + name}
	if s.Before != nil {
		return append(all, "stoker verify "+quoted(s.Before.Name)+" "+name, "stoker report "+quoted(s.Before.Name)+" "+name)
	}
	return append(all, "stoker report "+name)
}

// quoted is a name as a shell takes it.
func quoted(name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:+=@%") == "" && name != "" {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// card is one fix.
type card struct {
	Title, Worth, Effort, Risk string
	Range                      *whisker
	Notes                      []string
	Lines                      string // to paste
}

// cards are the fixes, with their intervals on one scale.
func cards(s Subject) []card {
	most := 1.0
	for _, f := range s.Plan.Fixes {
		most = max(most, upper(f.Forecast.Speedup))
	}
	var all []card
	for _, f := range s.Plan.Fixes {
		c := card{Title: f.Title, Worth: gain(f), Effort: string(f.Effort), Risk: string(f.Risk), Notes: f.Notes, Range: rangeOf(f.Forecast.Speedup, most)}
		var changes []string
		for _, change := range f.Changes {
			changes = append(changes, change.String())
		}
		if len(changes) > 0 {
			c.Title = strings.Join(changes, ", ")
		}
		var b bytes.Buffer
		if len(f.Changes) > 0 && emit.Torch(&b, f) == nil {
			c.Lines = b.String()
		}
		all = append(all, c)
	}
	return all
}

func upper(i stoker.Interval) float64 {
	for _, v := range []float64{i.High, i.Point} {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v
		}
	}
	return 1
}
