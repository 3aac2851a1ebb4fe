package report

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/safe"
)

// htmlForecast is what a page has of a prediction.
type htmlForecast struct {
	Stages  [][]string // part, likely, interval
	Bound   []string   // what is the limit, and what comes next
	Wrong   []string
	Picture template.HTML
}

// PredictHTML writes a prediction as a page. The picture is an SVG by report/plot, "" where
// there is none; it stands on the page as it is.
func PredictHTML(w io.Writer, f Prediction, version, picture string) error {
	safe.Values(&f, &version)
	var object bytes.Buffer
	if err := PredictJSON(&object, f); err != nil {
		return err
	}
	p := &htmlPage{
		Policy: Policy(false), CSS: template.CSS(pageCSS), JS: template.JS(pageJS),
		Title: f.Title, Class: "forecast", Tone: "todo", Headline: f.Title, Sub: "no run was observed: stoker predict " + version,
		Notes: f.Answer.Notes, Object: object.Bytes(),
		Forecast: &htmlForecast{Wrong: f.Answer.Wrong, Picture: template.HTML(picture)},
	}
	p.Data = p.forScript()
	for _, in := range f.Inputs {
		p.Facts = append(p.Facts, figure{Name: in.Name, Value: in.Value + " (" + in.Source + ")"})
	}
	if f.Roofline == nil {
		p.forecast(f)
	}
	return pageTemplate.Execute(w, p)
}

// forecast adds the answer; of a sweep, at its first setting.
func (p *htmlPage) forecast(f Prediction) {
	a := f.Answer
	p.Figures = []figure{
		{"utilisation", stoker.Percent(a.Utilization.Point), stoker.Ranged(a.Utilization, stoker.Percent)},
		{"waiting for input", stoker.Percent(a.Stall.Point), stoker.Ranged(a.Stall, stoker.Percent)},
		{"step", stoker.AboutSeconds(a.Step.Point), stoker.Ranged(a.Step, stoker.AboutSeconds)},
		{"throughput", stoker.AboutSamples(a.Throughput.Point), stoker.Ranged(a.Throughput, stoker.AboutSamples)},
	}
	for _, s := range a.Stages {
		p.Forecast.Stages = append(p.Forecast.Stages, []string{
			fmt.Sprintf("%s (%s)", s.Stage, partOf(f, s.Stage, s.Resource)), stoker.AboutSeconds(s.Time.Point), stoker.Ranged(s.Time, stoker.AboutSeconds),
		})
	}
	text := &page{style: Style{Width: 1 << 20}} // a paragraph a line
	text.bound(f)
	p.Forecast.Bound = strings.Split(strings.TrimSpace(text.b.String()), "\n")
}
