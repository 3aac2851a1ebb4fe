package wire

import (
	"github.com/stoker-dev/stoker/report"
)

type jsonPath struct {
	Part    string     `json:"part"`
	Name    *string    `json:"name,omitempty"` // what a part was spent on
	Seconds float64    `json:"seconds"`        // of all judged steps
	Share   float64    `json:"share"`          // of the path
	Names   []jsonPath `json:"names,omitempty"`
}

func pathJSON(r report.TraceReport) []jsonPath {
	out := []jsonPath{}
	for _, part := range report.PathOf(r) {
		o := jsonPath{Part: part.Part.String(), Seconds: asSeconds(part.Time), Share: part.Share}
		for _, s := range part.Names {
			name := report.NamePath(r, s)
			o.Names = append(o.Names, jsonPath{Part: o.Part, Name: &name, Seconds: asSeconds(s.Time), Share: s.Share})
		}
		out = append(out, o)
	}
	return out
}
