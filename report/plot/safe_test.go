package plot_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose/flame"
	"github.com/stoker-dev/stoker/internal/poison"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/report/plot"
)

// Names of a user's own rows stand in a picture as text.
func TestPicturesHoldNothingFromOutsideRaw(t *testing.T) {
	words := plot.Captions{Title: "title" + poison.Text, Source: "source" + poison.Text}
	r := predict.Roofline{
		Peak: 1e15, Diagonals: []predict.Diagonal{{Name: "line" + poison.Text, Over: "bytes" + poison.Text, Rate: 3e12, Ridge: 333}},
		Points: []predict.Workpoint{{Name: "work" + poison.Text, Batch: 64, Device: 90, Copied: 40000, Stored: 2e5, Bound: "line" + poison.Text}},
	}
	r.Points[0].Attained.Point, r.Points[0].Delivered.Point = 6e13, 5e13
	axes := []predict.Axis{{Name: "axis" + poison.Text, Values: []float64{1, 2}}}
	tree := &flame.Node{Name: "node" + poison.Text, Time: 10, Children: []*flame.Node{{Name: "x.py(1): y" + poison.Text, Time: 5}}}
	for name, draw := range map[string]func(*bytes.Buffer) error{
		"flame":    func(b *bytes.Buffer) error { return plot.Flame(b, words, tree) },
		"roofline": func(b *bytes.Buffer) error { return plot.WriteRoofline(b, words, r) },
		"sweep": func(b *bytes.Buffer) error {
			return plot.WriteSweep(b, words, axes, []predict.Point{{X: 1, Fits: predict.Yes}, {X: 2, Fits: predict.Yes}})
		},
	} {
		var b bytes.Buffer
		if err := draw(&b); err != nil {
			t.Fatal(err)
		}
		if leak := poison.Leak(strings.ReplaceAll(b.String(), "\t", "")); leak != "" || !bytes.Contains(b.Bytes(), []byte(`\u202e`)) {
			t.Errorf("%s: stands raw: %s", name, leak)
		}
	}
}
