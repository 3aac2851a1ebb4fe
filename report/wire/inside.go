package wire

import (
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

type jsonStep struct {
	Median *float64 `json:"median_s"`
	Mean   *float64 `json:"mean_s"`
	Count  int      `json:"count"`
	Window *float64 `json:"window_s"`
	Wait   *float64 `json:"host_wait_s"`
	Idle   *float64 `json:"device_idle_s"`

	Parts  []recording.Part `json:"parts"`       // of the steps whose parts were recorded
	Clock  *string          `json:"parts_clock"` // "cuda", "emulated", "host"
	Inside int              `json:"parts_count"` // number of those steps
	Asks   *jsonAsks        `json:"asks"`        // requests to the device
}

// jsonAsks holds means per step.
type jsonAsks struct {
	Launches   *float64 `json:"launches"`
	LaunchTime *float64 `json:"launch_s"`
	Copies     *float64 `json:"copies"`
	CopyBytes  *float64 `json:"copy_bytes"`
	Pageable   *float64 `json:"pageable_bytes"`
	Syncs      *float64 `json:"syncs"`
	SyncTime   *float64 `json:"sync_s"`
}

// addInside adds the parts of a step.
func (s *jsonStep) addInside(w recording.Window) {
	parts, clock := w.StepParts()
	if parts == nil {
		return
	}
	a := w.Asks()
	s.Parts, s.Clock, s.Inside = parts, textOrNull(clock), len(w.Insides())
	s.Asks = &jsonAsks{
		stat.Known(a.Launches), stat.Known(a.LaunchTime), stat.Known(a.Copies), stat.Known(a.CopyBytes),
		stat.Known(a.Pageable), stat.Known(a.Syncs), stat.Known(a.SyncTime),
	}
}
