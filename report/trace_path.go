package report

import (
	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict/replay"
)

// pathSheet is the table of what decided how long the judged steps took.
func pathSheet(r TraceReport) sheet {
	s := sheet{
		Title: "critical path", About: " of the judged steps: what shortens nothing of it makes no step shorter",
		Says: "What decided how long the judged steps took: what shortens nothing of it makes no step shorter.",
		Rows: [][]string{{"part", "per step", "share", "most of it"}}, Align: "lrrl",
	}
	c := r.Plan.Replay
	for _, part := range pathParts(c) {
		most := ""
		if len(part.Names) > 0 {
			most = stoker.Percent(part.Names[0].Share) + " " + pathName(r, part.Names[0])
		}
		s.Rows = append(s.Rows, []string{part.Part.String(), span(part.Time / int64(max(1, c.Steps))), stoker.Percent(part.Share), most})
	}
	return s
}

// pathPart is a part of the critical path, with the names that it was spent on.
type pathPart struct {
	replay.Spent

	Share float64 // of the path
	Names []pathPart
}

// pathParts are the parts that take something, most first.
func pathParts(c *replay.Check) []pathPart {
	if c == nil {
		return nil
	}
	sum := 0.0
	for _, ns := range c.Path {
		sum += float64(ns)
	}
	var out []pathPart
	for _, part := range c.Path.Parts() {
		at := pathPart{Spent: part, Share: float64(part.Time) / sum}
		for _, s := range c.Spent {
			if share := float64(s.Time) / sum; s.Part == part.Part && share >= leastOfPath && (s.Name >= 0 || s.Part == replay.Host) {
				at.Names = append(at.Names, pathPart{Spent: s, Share: share})
			}
		}
		out = append(out, at)
	}
	return out
}

// leastOfPath is the share of the critical path from which a name is told: text has the
// first of a part, JSON all. [J]
const leastOfPath = 0.01

// pathName is what a stretch of the path was spent on, for people.
func pathName(r TraceReport, s pathPart) string {
	if s.Name < 0 {
		return "between operators"
	}
	return r.name(s.Name)
}

type jsonPath struct {
	Part    string     `json:"part"`
	Name    *string    `json:"name,omitempty"` // of what a part was spent on
	Seconds float64    `json:"seconds"`        // of all judged steps
	Share   float64    `json:"share"`          // of the path
	Names   []jsonPath `json:"names,omitempty"`
}

func pathJSON(r TraceReport) []jsonPath {
	out := []jsonPath{}
	for _, part := range pathParts(r.Plan.Replay) {
		o := jsonPath{Part: part.Part.String(), Seconds: asSeconds(part.Time), Share: part.Share}
		for _, s := range part.Names {
			name := pathName(r, s)
			o.Names = append(o.Names, jsonPath{Part: o.Part, Name: &name, Seconds: asSeconds(s.Time), Share: s.Share})
		}
		out = append(out, o)
	}
	return out
}
