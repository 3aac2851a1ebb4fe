package step

import "github.com/stoker-dev/stoker/recording"

// inside adds what was inside of a step that was sampled.
func (in *Intake) inside(p *Process, r *record) bool {
	found := recording.Inside{
		Clock: r.Clock, Span: span(r.Span),
		Input: span(r.Input), Copy: span(r.Copy), Forward: span(r.Forward), Backward: span(r.Backward), Optimizer: span(r.Optimizer), Exchange: span(r.Exchange),
		Launches: r.Launches, LaunchTime: seconds(r.Launching), Copies: r.Copies, CopyBytes: r.Bytes,
		Pageable: r.Pageable, Syncs: r.Syncs, SyncTime: seconds(r.Waited),
	}
	if r.N < 0 || r.N > maxN || r.Loader < recording.OwnLoop || r.Loader > maxN || !found.Sound() {
		return false
	}
	in.to.Inside(p.PID, r.Loader, r.N, found)
	return true
}

func seconds(ns *float64) *float64 {
	if ns == nil {
		return nil
	}
	return new(*ns / 1e9)
}
