package report

import (
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/quantity"
)

// ListPath returns the table of the critical path of the judged steps.
func ListPath(r TraceReport) Sheet {
	s := Sheet{
		Title: "critical path", About: " of the judged steps: what shortens nothing of it makes no step shorter",
		Says: "What decided how long the judged steps took: what shortens nothing of it makes no step shorter.",
		Rows: [][]string{{"part", "per step", "share", "most of it"}}, Align: "lrrl",
	}
	c := r.Plan.Replay
	for _, part := range PathOf(r) {
		most := ""
		if len(part.Names) > 0 {
			most = quantity.Percent(part.Names[0].Share) + " " + NamePath(r, part.Names[0])
		}
		s.Rows = append(s.Rows, []string{
			part.Part.String(), FormatSpan(part.Time / int64(max(1, c.Steps))),
			quantity.Percent(part.Share), most,
		})
	}
	return s
}

// PathPart is a part of the critical path, divided by name.
type PathPart struct {
	replay.Spent

	Share float64 // of the path
	Names []PathPart
}

// SplitPath returns the parts that take time, most first.
func SplitPath(c *replay.Check) []PathPart {
	if c == nil {
		return nil
	}
	sum := 0.0
	for _, ns := range c.Path {
		sum += float64(ns)
	}
	var out []PathPart
	for _, part := range c.Path.LongestParts() {
		at := PathPart{Spent: part, Share: float64(part.Time) / sum}
		for _, s := range c.Spent {
			if share := float64(s.Time) / sum; s.Part == part.Part && share >= leastOfPath &&
				(s.Name >= 0 || s.Part == replay.Host) {
				at.Names = append(at.Names, PathPart{Spent: s, Share: share})
			}
		}
		out = append(out, at)
	}
	return out
}

// sameWindow is how much longer than the judged window the path may be. [J] A longer one is of other time as well.
const sameWindow = 1.05

// PathOf returns the parts of the critical path of the judged window; nil if the path is longer than that.
func PathOf(r TraceReport) []PathPart {
	sum := 0.0
	for _, part := range SplitPath(r.Plan.Replay) {
		sum += float64(part.Time) / 1e9
	}
	if w := r.Verdict.Costs.Window; sum > sameWindow*(w.End-w.Start) {
		return nil
	}
	return SplitPath(r.Plan.Replay)
}

// leastOfPath is the share of the critical path from which a name is listed: text shows the
// first of each part, JSON all. [J]
const leastOfPath = 0.01

// NamePath returns the name of a part of the path for readers.
func NamePath(r TraceReport, s PathPart) string {
	if s.Name < 0 {
		return "between operators"
	}
	return r.Name(s.Name)
}
