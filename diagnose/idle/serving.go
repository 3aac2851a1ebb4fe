package idle

import (
	"cmp"
	"slices"

	"github.com/stoker-dev/stoker/recording"
)

// Served is what a server's judged passes of one kind amount to. Nanoseconds.
type Served struct {
	recording.Pass // Tokens of all of them; -1 if one did not tell

	Count              int
	Time, Kernel, Idle int64
}

// SumServing adds up a device's judged steps by what a server's ranges say of them, most time
// first; none where no server marked them.
func (a *Analysis) SumServing(d *Device) []Served {
	names := a.passes()
	if len(names) == 0 {
		return nil
	}
	var out []Served
	parts := a.CutSteps(d)
	for i, step := range d.Steps {
		pass, known := names[step.HostFrom]
		if !known {
			continue
		}
		at := slices.IndexFunc(out, func(s Served) bool {
			return s.Phase == pass.Phase && s.Requests == pass.Requests
		})
		if at < 0 {
			at = len(out)
			out = append(out, Served{Pass: recording.Pass{Phase: pass.Phase, Requests: pass.Requests}})
		}
		s, p := &out[at], &parts[i]
		if pass.Tokens < 0 || s.Tokens < 0 {
			s.Tokens = -1
		} else {
			s.Tokens += pass.Tokens
		}
		s.Count, s.Time, s.Kernel, s.Idle = s.Count+1, s.Time+p.To-p.From, s.Kernel+p.Kernel, s.Idle+p.Idle
	}
	slices.SortStableFunc(out, func(a, b Served) int { return cmp.Compare(b.Time, a.Time) })
	return out
}

// passes are the ranges of servers by when they begin.
func (a *Analysis) passes() map[int64]recording.Pass {
	h := &a.t.Host
	out := map[int64]recording.Pass{}
	kinds := map[int32]recording.Pass{} // by name; the zero Pass is no pass
	for k, kind := range h.Kind {
		if kind != recording.Annotation {
			continue
		}
		pass, known := kinds[h.Name[k]]
		if !known {
			pass, _ = recording.ServingPass(a.t.Names[h.Name[k]])
			kinds[h.Name[k]] = pass
		}
		if pass != (recording.Pass{}) {
			out[h.Start[k]] = pass
		}
	}
	return out
}
