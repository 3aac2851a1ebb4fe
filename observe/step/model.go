package step

import (
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/recording"
)

// notePrecision notes the precision of a process, next to the settings of its loaders.
func (in *Intake) notePrecision(p *Process, r *hookRecord) bool {
	for i := range in.loaders {
		l := &in.loaders[i]
		if l.PID != p.PID {
			continue
		}
		switch r.Matmul {
		case "high", "medium":
			l.Settings[stoker.TF32] = true
		case "highest":
			l.Settings[stoker.TF32] = false
		}
		if r.Autocast != nil && *r.Autocast {
			l.Settings[stoker.Precision] = "autocast"
		}
	}
	return true
}

// optim records what the optimizer shows about the model, and which thread launches its work.
func (in *Intake) optim(p *Process, own int, r *hookRecord) bool {
	if r.Steps < 0 {
		return false
	}
	in.software.Framework = r.Framework // the one that computes, of all that are imported
	in.model = &recording.ModelFacts{Device: r.Device, DType: r.DType, Steps: r.Steps}
	if own == p.PID && r.TID > 0 && (!p.Launches || p.LaunchThread != r.TID) {
		p.LaunchThread, p.Launches = r.TID, true
	}
	kind, _, _ := strings.Cut(r.Device, ":")
	for i := range in.loaders {
		if l := &in.loaders[i]; l.PID == p.PID && kind != "" {
			l.Settings[stoker.ComputeOn] = kind
			if l.Settings.Text(stoker.Precision) != "autocast" && r.DType != "" {
				l.Settings[stoker.Precision] = r.DType
			}
		}
	}
	return true
}
