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
	if len(p.Points) > 0 {
		return WriteSweep(w, words, p.Axes, p.Points)
	}
	roofline := p.Roofline
	if roofline == nil {
		roofline = p.Place
	}
	if roofline == nil {
		return nil
	}
	return WriteRoofline(w, words, *roofline)
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
		add(p.Roofline.Sources[0])
		add(p.Roofline.Sources[1])
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
