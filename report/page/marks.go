package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
)

// Pictures on the page are 1,000 units wide and scale with it. They hold only shapes; all text
// is HTML.
const across = 1000

// px formats a coordinate with one decimal.
func px(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// bar is a whole divided into parts.
type bar struct {
	Parts []barPart
	About string // the same in words
}

// barPart is a part of a bar, in units of the picture.
type barPart struct {
	Name, Class, Text string
	X, Width          string
}

// barOf draws shares one after the other and leaves out unknown ones.
func barOf(parts []barPart, shares []float64) *bar {
	b := &bar{}
	at := 0.0
	var words []string
	for i, share := range shares {
		if !(share > 0) {
			continue
		}
		part := parts[i]
		part.Text = quantity.Percent(share)
		part.X, part.Width = px(across*at), px(across*min(share, 1-at))
		at += share
		b.Parts = append(b.Parts, part)
		words = append(words, part.Name+" "+part.Text)
	}
	b.About = strings.Join(words, ", ")
	return b
}

// rowClasses maps the rows of a ledger to colours.
var rowClasses = map[diagnose.RowName]string{
	diagnose.RowTraining: "kernel", diagnose.RowInference: "kernel", diagnose.RowEvaluation: "backward",
	diagnose.RowCheckpoint: "copy", diagnose.RowBetween: "cpu", diagnose.RowEdge: "input",
	diagnose.RowRanks: "exchange", diagnose.RowAwaited: "input",
}

// timeBar shows how a run's time was spent; nil if there is only one row.
func timeBar(l diagnose.Ledger) *bar {
	var parts []barPart
	var shares []float64
	for _, r := range l.Rows {
		class := rowClasses[r.Name]
		if class == "" {
			class = "idle"
		}
		parts, shares = append(parts, barPart{Name: string(r.Name), Class: class}), append(shares, r.Share)
	}
	if len(parts) < 2 {
		return nil
	}
	return barOf(parts, shares)
}

// stepBar shows how the time of the judged steps was spent, by the device clock.
func stepBar(v diagnose.Verdict) *bar {
	s := v.Shares
	if math.IsNaN(s.Idle) || math.IsNaN(s.Kernel) {
		return nil
	}
	stall := min(stat.Or(v.Stall, 0), s.Idle)
	return barOf([]barPart{
		{Name: "waiting for input", Class: "input"},
		{Name: "idle otherwise", Class: "idle"},
		{Name: "kernels", Class: "kernel"},
		{Name: "copies alone", Class: "copy"},
		{Name: "communication alone", Class: "exchange"},
	}, []float64{stall, s.Idle - stall, s.Kernel, s.Copy, s.Communication})
}

// insideBar shows the parts of a step, as far as they were recorded, and which clock measured
// them.
func insideBar(w recording.Window) (*bar, string) {
	parts, clock := w.StepParts()
	if len(parts) == 0 {
		return nil, ""
	}
	total := 0.0
	for _, part := range parts {
		total += part.Mean
	}
	var drawn []barPart
	var shares []float64
	for _, part := range parts {
		drawn = append(drawn, barPart{Name: fmt.Sprintf("%s %s (95 %% below %s)", part.Name,
			quantity.AboutSeconds(part.Mean), quantity.AboutSeconds(part.P95)), Class: insideClasses[part.Name]})
		shares = append(shares, part.Mean/total)
	}
	return barOf(drawn, shares), report.DescribeClock(clock)
}

// insideClasses maps the parts of a step to colours.
var insideClasses = map[string]string{
	"input wait": "input", "copy in": "copy", "forward": "kernel", "backward": "backward", "optimizer": "cpu",
	"exchange": "exchange", "rest": "idle",
}

// whisker is an interval on a scale of factors, from half as fast to the greatest.
type whisker struct {
	One, Low, High, Point, Achieved string // x in units of the picture; "" if unknown
	Width                           string // of the interval
	About                           string
}

// slowest is the left end of the scale.
const slowest = 0.5

// rangeOf places a speed-up on a logarithmic scale; nil if it is unknown.
func rangeOf(i stoker.Interval, most float64) *whisker {
	place := func(v float64) float64 {
		v = min(max(v, slowest), max(most, 2))
		return across * math.Log(v/slowest) / math.Log(max(most, 2)/slowest)
	}
	if math.IsNaN(i.High) {
		return nil
	}
	low := i.Low
	if math.IsNaN(low) {
		low = 1
	}
	w := &whisker{
		One: px(place(1)), Low: px(place(low)), High: px(place(i.High)),
		Width: px(max(2, place(i.High)-place(low))), About: quantity.Factor(i),
	}
	if i.Known() {
		w.Point = px(place(i.Point))
	}
	return w
}

// curvePath returns the path of values over the width of the picture, in a box of a given
// height. Unknown values make gaps.
func curvePath(values []float64, most, height float64, area bool) string {
	if !(most > 0) {
		return ""
	}
	var b strings.Builder
	step := across / float64(len(values))
	for i := 0; i < len(values); {
		if math.IsNaN(values[i]) {
			i++
			continue
		}
		from := i
		for ; i < len(values) && !math.IsNaN(values[i]); i++ {
			y := height * (1 - min(1, max(0, values[i]/most)))
			letter := "L"
			if i == from {
				letter = "M"
			}
			b.WriteString(letter + px(float64(i)*step) + " " + px(y) + "H" + px(float64(i+1)*step))
		}
		if area {
			b.WriteString("V" + px(height) + "H" + px(float64(from)*step) + "Z")
		}
	}
	return b.String()
}
