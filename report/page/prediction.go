package page

import (
	"bytes"
	"fmt"
	"html/template"
	"io"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/predict/question"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/report/wire"
)

// htmlForecast is a prediction on a page.
type htmlForecast struct {
	Stages  []stageRow
	Bound   []string // the limit, and the next one
	Sheets  []htmlSheet
	Wrong   []string
	Unknown []string
	Picture template.HTML
}

// stageRow is a part of a step with a bar to the likely and one to the longest time.
type stageRow struct {
	Name, Likely, Interval string
	Class, Point, High     string
}

// WritePrediction writes a prediction as a page. picture is an SVG by report/plot, or ""; it is
// inserted unchanged.
func WritePrediction(w io.Writer, f question.Prediction, version, picture string) error {
	safe.Values(&f, &version)
	var object bytes.Buffer
	if err := wire.WritePrediction(&object, f); err != nil {
		return err
	}
	p := &document{
		Policy: FormPolicy(false), CSS: template.CSS(pageCSS), JS: template.JS(pageJS),
		Title: f.Title, Class: "forecast", Tone: "todo", Headline: f.Title,
		Sub:   "no run was observed: stoker predict " + version,
		Notes: f.Answer.Notes, Object: object.Bytes(),
		Forecast: &htmlForecast{Picture: template.HTML(picture)},
	}
	p.Data = p.forScript()
	for _, in := range f.Inputs {
		p.Facts = append(p.Facts, report.Figure{Name: in.Name, Value: in.Value + " (" + in.Source + ")"})
	}
	switch {
	case f.Roofline != nil:
	case len(f.Points) > 0:
		p.sweep(f)
	default:
		p.forecast(f)
	}
	return parseTemplate().Execute(w, p)
}

// sweep adds the settings of a sweep. For two settings the picture shows them.
func (p *document) sweep(f question.Prediction) {
	if len(f.Axes) > 1 {
		return
	}
	rows := report.ListSettings(f, func(float64) string { return "" })
	for i := range rows {
		rows[i] = rows[i][:len(rows[i])-1]
	}
	p.Forecast.Sheets = []htmlSheet{htmlSheetOf(report.Sheet{
		Title: "settings",
		Says:  "The likely values, and the range in which throughput lies.", Rows: rows, Align: "rrrrrlr",
	})}
}

// forecast adds the answer.
func (p *document) forecast(f question.Prediction) {
	a, h := f.Answer, p.Forecast
	if b := a.Bound; b.Resource != "" {
		p.Headline = fmt.Sprintf("The device would wait for input %s of the time, and %s is the limit (%s).",
			quantity.Percent(a.Stall.Point), b.Stage, report.NamePart(f, b.Stage, b.Resource))
		p.Sub = f.Title + ", " + p.Sub
	}
	p.Figures = []report.Figure{
		{Name: "utilisation", Value: quantity.Percent(a.Utilization.Point), Note: quantity.Ranged(a.Utilization,
			quantity.Percent)},
		{
			Name: "waiting for input", Value: quantity.Percent(a.Stall.Point),
			Note: quantity.Ranged(a.Stall, quantity.Percent),
		},
		{
			Name: "step", Value: quantity.AboutSeconds(a.Step.Point),
			Note: quantity.Ranged(a.Step, quantity.AboutSeconds),
		},
		{Name: "throughput", Value: quantity.AboutSamples(a.Throughput.Point), Note: quantity.Ranged(a.Throughput,
			quantity.AboutSamples)},
	}
	if f.First != nil {
		p.Figures = append(p.Figures, report.Figure{
			Name:  "first epoch's step",
			Value: quantity.AboutSeconds(f.First.Step.Point), Note: "nothing is in memory yet",
		})
	}
	longest := 0.0
	for _, s := range a.Stages {
		longest = max(longest, report.ClampLength(s.Time.Point), report.ClampLength(s.Time.High))
	}
	for _, s := range a.Stages {
		class := "cpu"
		if s.Stage == a.Bound.Stage && s.Resource == a.Bound.Resource {
			class = "input"
		} else if s.Resource == stoker.GPU {
			class = "kernel"
		}
		at := func(v float64) string { return px(across * report.ClampLength(v) / longest) }
		h.Stages = append(h.Stages, stageRow{
			fmt.Sprintf("%s (%s)", s.Stage, report.NamePart(f, s.Stage, s.Resource)),
			quantity.AboutSeconds(s.Time.Point),
			quantity.Ranged(s.Time, quantity.AboutSeconds),
			class, at(s.Time.Point), at(s.Time.High),
		})
	}
	h.Bound, h.Wrong, h.Unknown = report.DescribeBound(f), a.Wrong, report.ListUnknowns(a.Unknown)
	if f.Sizing != nil {
		h.Sheets = append(h.Sheets, htmlSheetOf(report.ListNeeds(*f.Sizing)))
	}
	if f.Waste != nil {
		h.Sheets = append(h.Sheets, htmlSheetOf(report.ListWaste(f)))
	}
}
