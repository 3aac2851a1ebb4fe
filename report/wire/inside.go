package wire

import (
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// jsonInsidePart is a part of a step.
type jsonInsidePart struct {
	Part string  `json:"part"`
	Mean float64 `json:"mean_s"`
	P95  float64 `json:"p95_s"`
}

// jsonAsks are means per step.
type jsonAsks struct {
	Launches   *float64 `json:"launches"`
	LaunchTime *float64 `json:"launch_s"`
	Copies     *float64 `json:"copies"`
	CopyBytes  *float64 `json:"copy_bytes"`
	Pageable   *float64 `json:"pageable_bytes"`
	Syncs      *float64 `json:"syncs"`
	SyncTime   *float64 `json:"sync_s"`
}

// addInside adds what is inside of a step.
func (s *jsonStep) addInside(w recording.Window) {
	parts, clock := w.StepParts()
	if parts == nil {
		return
	}
	for _, part := range parts {
		s.Parts = append(s.Parts, jsonInsidePart{part.Name, part.Mean, part.P95})
	}
	a := w.Asks()
	s.Clock, s.Inside = textOrNull(clock), len(w.Insides())
	s.Asks = &jsonAsks{
		stat.Known(a.Launches), stat.Known(a.LaunchTime), stat.Known(a.Copies), stat.Known(a.CopyBytes),
		stat.Known(a.Pageable), stat.Known(a.Syncs), stat.Known(a.SyncTime),
	}
}
