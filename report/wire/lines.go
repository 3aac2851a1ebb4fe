package wire

import (
	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
)

// jsonCodeLine is a line of code on which preparing a batch spends its time.
type jsonCodeLine struct {
	// the program's file if there is one; that of a library begins with the library's name
	File     string          `json:"file"`
	Line     *int            `json:"line"`
	Function string          `json:"function"`
	Calls    *string         `json:"calls"` // the function of a library that does it
	Kind     string          `json:"kind"`
	Share    stoker.Interval `json:"share"`   // of the time of preparing a batch
	Speedup  stoker.Interval `json:"speedup"` // if it took no time
}

// linesJSON returns nil if stacks were not recorded.
func linesJSON(lines []diagnose.Line) []jsonCodeLine {
	var out []jsonCodeLine
	for _, l := range lines {
		where := l.Where()
		line := jsonCodeLine{
			File: where.File, Function: where.Function, Kind: string(l.Kind), Share: l.Share,
			Speedup: l.Without.Speedup,
		}
		if where.Line > 0 {
			line.Line = &where.Line
		}
		if l.Own.File != "" && l.Call.File != "" {
			line.Calls = textOrNull(l.Call.File + " " + l.Call.Function)
		}
		out = append(out, line)
	}
	return out
}
