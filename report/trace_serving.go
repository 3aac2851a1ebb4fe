package report

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/internal/stat"
)

// serving is the table of a server's passes: what each kind takes on the device.
func (p *page) serving(r TraceReport, top int) {
	served := servedBy(r)
	if len(served) == 0 {
		return
	}
	shown := served
	if top > 0 {
		shown = served[:min(top, len(served))]
	}
	p.wrapped("", "  ", fmt.Sprintf("%s, %d of %d kinds of passes by time; the judged steps", p.bold("serving"), len(shown), len(served)))
	rows := [][]string{{"pass", "requests", "passes", "mean", "kernel", "idle", "tokens/s"}}
	for _, s := range shown {
		requests := "unknown"
		if s.Requests >= 0 {
			requests = fmt.Sprint(s.Requests)
		}
		whole := float64(max(1, s.Time))
		rows = append(rows, []string{
			cut(s.Phase, mostName), requests, fmt.Sprint(s.Count), span(s.Time / int64(s.Count)), stoker.Percent(float64(s.Kernel) / whole), stoker.Percent(float64(s.Idle) / whole), stoker.About(tokenRate(s)),
		})
	}
	p.table(rows, "lrrrrrr")
	p.b.WriteString("\n")
}

func servedBy(r TraceReport) []idle.Served {
	if d := r.Device(); d != nil {
		return r.Gaps.Serving(d)
	}
	return nil
}

// tokenRate is how many tokens go in per second; NaN unknown.
func tokenRate(s idle.Served) float64 {
	if s.Tokens < 0 || s.Time <= 0 {
		return math.NaN()
	}
	return 1e9 * float64(s.Tokens) / float64(s.Time)
}

type jsonServed struct {
	Phase    string   `json:"pass"`
	Requests *int     `json:"requests"`
	Count    int      `json:"passes"`
	Seconds  float64  `json:"seconds"` // of all of them
	Kernel   float64  `json:"kernel_s"`
	Idle     float64  `json:"idle_s"`
	Rate     *float64 `json:"tokens_per_s"`
}

func servingJSON(r TraceReport) []jsonServed {
	out := []jsonServed{}
	for _, s := range servedBy(r) {
		o := jsonServed{Phase: s.Phase, Count: s.Count, Seconds: asSeconds(s.Time), Kernel: asSeconds(s.Kernel), Idle: asSeconds(s.Idle), Rate: stat.Known(tokenRate(s))}
		if s.Requests >= 0 {
			o.Requests = &s.Requests
		}
		out = append(out, o)
	}
	return out
}
