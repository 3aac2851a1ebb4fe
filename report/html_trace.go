package report

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/lanes"
	"github.com/stoker-dev/stoker/diagnose/operators"
)

// htmlTrace is what a page says of a profiler's files.
type htmlTrace struct {
	Size     string
	Causes   []causeRow
	Lanes    *htmlLanes
	Operator [][]string
	Outside  string
	Roofline *htmlRoofline
	NoRoof   string
	Places   []place
}

// causeRow is a cause of idle time with a bar.
type causeRow struct{ Name, Time, Share, Class, Width string }

// place is a finding with where to look and what to set.
type place struct{ Name, Worth, Text, Where, Set string }

// htmlLanes are the worst step's two rows.
type htmlLanes struct {
	What         string
	Device, Host []band
	Legend       []figure // Name: class, Value: word
}

func htmlTraceOf(r TraceReport) *htmlTrace {
	t := &htmlTrace{Size: traceSize(r.Source)}
	steps := 1.0
	if n := len(r.Verdict.Costs.Window.Steps); r.Verdict.HasSteps && n > 0 {
		steps = float64(n)
	}
	for _, c := range r.Verdict.Causes {
		t.Causes = append(t.Causes, causeRow{c.Cause, stoker.AboutSeconds(c.Seconds / steps), stoker.Percent(c.Share), causeClass(c.Cause), px(across * min(1, c.Share))})
	}
	for _, f := range r.Verdict.Findings {
		p := place{Name: f.Name, Text: f.Text, Where: whereOf(f), Set: f.Advice}
		if f.Share > 0 {
			p.Worth = stoker.Percent(f.Share) + " of the window"
		}
		for i, c := range f.Settings {
			if f.Advice != "" {
				break
			}
			p.Set += map[bool]string{true: ", "}[i > 0] + c.String()
		}
		t.Places = append(t.Places, p)
	}
	t.Lanes = htmlLanesOf(r)
	t.operators(r.Operators)
	if r.Roofline != nil && r.Roofline.Why != "" {
		t.NoRoof = r.Roofline.Why
	} else if r.Roofline != nil {
		t.Roofline = htmlRooflineOf(r.Roofline)
	}
	return t
}

// causeClass is the colour of a cause: those of input, of the host, of waiting.
func causeClass(cause string) string {
	switch cause {
	case idle.DataLoader.String():
		return "input"
	case idle.Communication.String():
		return "exchange"
	case idle.CopyIssue.String():
		return "copy"
	case idle.Launch.String(), idle.Python.String(), idle.CPUOp.String(), idle.GC.String(), idle.Allocator.String():
		return "cpu"
	}
	return "idle"
}

var onClasses = [...]string{lanes.Idle: "nothing", lanes.Kernel: "kernel", lanes.Copy: "copy", lanes.Communication: "exchange"}

// htmlLanesOf draws the step with most idle time.
func htmlLanesOf(r TraceReport) *htmlLanes {
	d := r.Device()
	if d == nil {
		return nil
	}
	l := lanes.Of(r.Run, r.Gaps, d, columns)
	if l.Device == nil {
		return nil
	}
	h := &htmlLanes{What: "The whole window"}
	if l.Step >= 0 {
		h.What = fmt.Sprintf("The step with most idle time, number %d", l.Step)
	}
	h.What += fmt.Sprintf(": %s, from %s on", span(l.To-l.From), span(l.From))
	named := map[string]bool{}
	legend := func(class, word string) {
		if !named[word] {
			named[word] = true
			h.Legend = append(h.Legend, figure{Name: class, Value: word})
		}
	}
	h.Device = bandsOf(len(l.Device), func(i int) string {
		legend(onClasses[l.Device[i]], deviceLetters[l.Device[i]].word)
		return onClasses[l.Device[i]]
	})
	h.Host = bandsOf(len(l.Host), func(i int) string {
		cause := l.Host[i].String()
		legend(causeClass(cause), "host: "+cause)
		return causeClass(cause)
	})
	return h
}

// shownOperators is how many rows of the table a page has.
const shownOperators = 15

func (t *htmlTrace) operators(table *operators.Table) {
	if table == nil {
		return
	}
	for i, row := range table.Rows {
		if i == shownOperators {
			break
		}
		t.Operator = append(t.Operator, []string{cut(row.Name, 80), fmt.Sprint(row.Calls), span(row.DeviceSelf), span(row.CPUSelf), row.Source})
	}
}

// htmlRoofline is a roofline over powers of ten.
type htmlRoofline struct {
	Device string
	Lines  []roofLine
	Points []roofPoint
	Ticks  []figure // Name: "x" or "y"; Value: text; Note: position as a percentage
	About  string
}

type roofLine struct{ Path, Name, Class string }

type roofPoint struct{ X, Y, Radius, Name string }

// htmlRooflineOf draws each precision's roof and the operators below it.
func htmlRooflineOf(r *operators.Roofline) *htmlRoofline {
	const high = 500.
	left, right, low, top := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, p := range r.Points {
		if !(p.Intensity > 0) || !(p.Attained > 0) || !(p.Peak > 0) || !(p.Ridge > 0) {
			continue
		}
		left, right = min(left, p.Intensity/3, p.Ridge/30), max(right, p.Intensity*3, p.Ridge*10)
		low, top = min(low, p.Attained/3), max(top, p.Peak*2)
	}
	if !(right > left) || !(top > low) {
		return nil
	}
	x := func(v float64) float64 { return across * math.Log(v/left) / math.Log(right/left) }
	y := func(v float64) float64 { return high * (1 - math.Log(v/low)/math.Log(top/low)) }
	h := &htmlRoofline{Device: r.Device, About: fmt.Sprintf("matrix work against the roofs of %s; it covers %s of kernel time", orUnknown(r.Device), stoker.Percent(r.Covered))}
	drawn := map[string]bool{}
	for _, p := range r.Points {
		if !(p.Intensity > 0) || !(p.Attained > 0) || !(p.Peak > 0) || !(p.Ridge > 0) {
			continue
		}
		if name := string(p.Precision); !drawn[name] {
			drawn[name] = true
			begin := max(left, low*p.Ridge/p.Peak)
			h.Lines = append(h.Lines, roofLine{
				Path: "M" + px(x(begin)) + " " + px(y(p.Peak*begin/p.Ridge)) + "L" + px(x(p.Ridge)) + " " + px(y(p.Peak)) + "H" + px(across),
				Name: fmt.Sprintf("%s: %s, ridge at %s FLOP/B", orUnknown(name), stoker.AboutFLOPs(p.Peak), stoker.About(p.Ridge)), Class: fmt.Sprintf("roof%d", len(drawn)%3),
			})
		}
		h.Points = append(h.Points, roofPoint{
			px(x(p.Intensity)), px(y(p.Attained)), px(5 + 15*math.Sqrt(p.Seconds/math.Max(r.Seconds, p.Seconds))),
			fmt.Sprintf("%s, %s: %s at %s FLOP/B, %s of the peak, %s", p.Name, orUnknown(string(p.Precision)), stoker.AboutFLOPs(p.Attained), stoker.About(p.Intensity), stoker.Percent(p.Share), stoker.AboutSeconds(p.Seconds)),
		})
	}
	for e := math.Ceil(math.Log10(left)); e <= math.Log10(right); e++ {
		h.Ticks = append(h.Ticks, figure{"x", stoker.About(math.Pow(10, e)), px(x(math.Pow(10, e)) / across * 100)})
	}
	for e := math.Ceil(math.Log10(low)); e <= math.Log10(top); e++ {
		h.Ticks = append(h.Ticks, figure{"y", stoker.AboutFLOPs(math.Pow(10, e)), px(y(math.Pow(10, e)) / high * 100)})
	}
	return h
}
