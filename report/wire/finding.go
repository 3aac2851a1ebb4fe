package wire

import (
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
)

type jsonFinding struct {
	Name    string          `json:"name"`
	Text    string          `json:"text"`
	From    *float64        `json:"from_s,omitempty"` // place in a trace
	To      *float64        `json:"to_s,omitempty"`
	Thread  string          `json:"thread,omitempty"`
	Kernel  string          `json:"kernel,omitempty"`
	Source  string          `json:"source,omitempty"`  // the user's line
	Seconds *float64        `json:"seconds,omitempty"` // time in the judged window
	Share   *float64        `json:"share,omitempty"`   // share of the window
	Changes []stoker.Change `json:"changes,omitempty"`
	Advice  string          `json:"advice,omitempty"`
	Denied  string          `json:"denied,omitempty"` // why some of the advice gains too little here, by the plan
}

// findingJSON leaves out the unknown fields of a finding: findings of live runs have only a
// name and a text.
func findingJSON(f diagnose.Finding, denied string) jsonFinding {
	j := jsonFinding{
		Name: f.Name, Text: f.Text, Thread: f.Thread, Kernel: f.Kernel, Source: f.Source, Advice: f.Advice,
		Changes: f.Settings, Denied: denied,
	}
	if f.To > f.From {
		j.From, j.To = stat.Known(f.From), stat.Known(f.To)
	}
	if f.Share > 0 && !math.IsNaN(f.Seconds) {
		j.Seconds, j.Share = stat.Known(f.Seconds), stat.Known(f.Share)
	}
	return j
}
