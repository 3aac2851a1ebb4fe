package step

import "github.com/stoker-dev/stoker/recording"

// addInside adds what was inside of a step that was sampled.
func (in *Intake) addInside(p *Process, r *hookRecord) bool {
	found := recording.Inside{
		Clock: r.Clock, Span: toDuration(r.Span),
		Input: toDuration(r.Input), Copy: toDuration(r.Copy), Forward: toDuration(r.Forward),
		Backward: toDuration(r.Backward), Optimizer: toDuration(r.Optimizer), Exchange: toDuration(r.Exchange),
		Launches: r.Launches, LaunchTime: toSeconds(r.Launching), Copies: r.Copies, CopyBytes: r.Bytes,
		Pageable: r.Pageable, Syncs: r.Syncs, SyncTime: toSeconds(r.Waited), SyncAt: r.At,
	}
	if r.N < 0 || r.N > maxN || r.Loader < recording.OwnLoop || r.Loader > maxN || !found.Sound() {
		return false
	}
	in.to.AddInside(p.PID, r.Loader, r.N, found)
	return true
}

func toSeconds(ns *float64) *float64 {
	if ns == nil {
		return nil
	}
	return new(*ns / 1e9)
}
