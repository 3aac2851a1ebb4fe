package plot

import (
	"io"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict/question"
)

// WritePrediction draws a sweep or a roofline. A single setting is drawn as a point below the device's
// roofs, or not at all if its place is unknown.
func WritePrediction(w io.Writer, p question.Prediction, version string) error {
	words := Captions{Title: p.Title, Source: listSources(p, version)}
	switch r := p.Roofline; {
	case r != nil:
		return WriteRoofline(w, words, *r)
	case len(p.Points) > 0:
		return WriteSweep(w, words, p.Axes, p.Points)
	}
	if roof, unknown := p.Setup.DrawRoofline(); unknown == nil {
		return WriteRoofline(w, words, roof)
	}
	return nil
}

// listSources returns the line below a picture: the device first.
func listSources(p question.Prediction, version string) string {
	all := []string{"stoker " + version}
	add := func(text string) {
		if text != "" && text != question.Given && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	if p.Roofline != nil {
		add(p.Roofline.GPU.Peak(p.Roofline.Precision).Source)
		add(p.Roofline.GPU.MemoryRate.Source)
	}
	for _, s := range p.Answer.Stages {
		if s.Resource == stoker.GPU {
			add(s.Source)
		}
	}
	for _, in := range p.Inputs {
		if in.Name == "prepare" || in.Name == "storage" || in.Name == "sample" {
			add(in.Source)
		}
	}
	for _, s := range p.Answer.Stages {
		add(s.Source)
	}
	return strings.Join(all, ", ")
}
