package wire

import (
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
)

type jsonShares struct {
	Kernel        *float64 `json:"kernel"`
	Copy          *float64 `json:"copy"`
	Communication *float64 `json:"communication"`
	Idle          *float64 `json:"idle"`
}

// jsonTraced is what a trace adds to the verdict on a live run.
type jsonTraced struct {
	Class          string     `json:"class"`
	Rank           int        `json:"rank"`
	Steps          int        `json:"steps"`
	Stall          *float64   `json:"stall"`
	Idle           *float64   `json:"idle"`
	Shares         jsonShares `json:"shares"`
	HostOnly       bool       `json:"host_only"`
	Contradictions []string   `json:"contradictions"`
}

func tracedJSON(t *diagnose.Traced) *jsonTraced {
	if t == nil {
		return nil
	}
	return &jsonTraced{
		Class: string(t.Class), Rank: t.Rank, Steps: t.Steps, Stall: stat.Known(t.Stall), Idle: stat.Known(t.Idle),
		HostOnly: t.HostOnly,
		Shares: jsonShares{
			stat.Known(t.Shares.Kernel), stat.Known(t.Shares.Copy),
			stat.Known(t.Shares.Communication), stat.Known(t.Shares.Idle),
		},
		Contradictions: append([]string{}, t.Contradictions...),
	}
}
