//go:build linux

package observe

import "github.com/stoker-dev/stoker/observe/metrics"

// serverMetrics reads what servers among the processes tell of themselves, unless the hook counts their requests.
func (r *recorder) serverMetrics() {
	if r.job == nil {
		return
	}
	if r.takesRequests() {
		r.endMetrics()
		r.noteAbsence("metrics", "")
		return
	}
	if r.metrics == nil {
		r.metrics = metrics.Start(r.clock.now)
	}
	r.metrics.Follow(r.job.Alive())
	r.metrics.Write(r.out)
	name, why := r.metrics.Server()
	if name != "" {
		r.facts.Software.Server = name
	}
	r.noteAbsence("metrics", why)
}

func (r *recorder) endMetrics() {
	if r.metrics != nil {
		r.metrics.Close()
		r.metrics = nil
	}
}
