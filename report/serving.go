package report

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/quantity"
)

// ListServing returns the table of a server's passes with the time of each kind on the device.
func ListServing(r TraceReport, top int) Sheet {
	served := FindServed(r)
	shown := takeFirst(served, top)
	s := Sheet{
		Title: "serving", About: fmt.Sprintf(", %d of %d kinds of passes by time, of the judged steps", len(shown),
			len(served)),
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
			Shorten(pass.Phase, MostName), requests, fmt.Sprint(pass.Count), FormatSpan(pass.Time / int64(pass.Count)),
			quantity.Percent(float64(pass.Kernel) / whole), quantity.Percent(float64(pass.Idle) / whole),
			quantity.About(RateTokens(pass)),
		})
	}
	return s
}

// FindServed returns the phases of a server that the trace marks.
func FindServed(r TraceReport) []idle.Served {
	if d := r.JudgedDevice(); d != nil {
		return r.Gaps.SumServing(d)
	}
	return nil
}

// RateTokens returns the input tokens per second; NaN if unknown.
func RateTokens(s idle.Served) float64 {
	if s.Tokens < 0 || s.Time <= 0 {
		return math.NaN()
	}
	return 1e9 * float64(s.Tokens) / float64(s.Time)
}
