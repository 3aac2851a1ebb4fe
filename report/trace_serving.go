package report

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/internal/stat"
)

// servingSheet is the table of a server's passes: what each kind takes on the device.
func servingSheet(r TraceReport, top int) sheet {
	served := servedBy(r)
	shown := first(served, top)
	s := sheet{
		Title: "serving", About: fmt.Sprintf(", %d of %d kinds of passes by time; the judged steps", len(shown), len(served)),
		Says: "What each kind of a server's passes takes on the device, those with most time first.",
		Rows: [][]string{{"pass", "requests", "passes", "mean", "kernel", "idle", "tokens/s"}}, Align: "lrrrrrr",
	}
	for _, pass := range shown {
		requests := "unknown"
		if pass.Requests >= 0 {
			requests = fmt.Sprint(pass.Requests)
		}
		whole := float64(max(1, pass.Time))
		s.Rows = append(s.Rows, []string{
			cut(pass.Phase, mostName), requests, fmt.Sprint(pass.Count), span(pass.Time / int64(pass.Count)),
			stoker.Percent(float64(pass.Kernel) / whole), stoker.Percent(float64(pass.Idle) / whole), stoker.About(tokenRate(pass)),
		})
	}
	return s
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
