package verify

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
)

// mostUnasked is the share of time without a request up to which the server, not its clients, determines the
// pace of passes. [J] It equals diagnose.Unasked.
const mostUnasked = 0.20

// sameLoad is how much more requests a second one of two runs may have than the other, so that what a request takes
// is compared. [J] A queue of 80 % load gets longer by half from a tenth more.
const sameLoad = 1.10

// compareServers compares what requests take, in runs of a server that keeps up with them. It makes as many passes as
// its clients request, so that twice the load would look like twice the speed. False if the runs are not of such
// servers, and a refusal if their loads differ.
func (o *Outcome) compareServers(was, now group, promised stoker.Interval) bool {
	before, after := was[0].requests(), now[0].requests()
	if !before.Known() || !after.Known() || max(before.None, after.None) <= mostUnasked {
		return false
	}
	a, b := was.measureRequests(), now.measureRequests()
	ratio := before.Rate / after.Rate
	if a.steps < leastSteps || b.steps < leastSteps || !(max(ratio, 1/ratio) <= sameLoad) {
		o.Refused = fmt.Sprintf("the server keeps up with its requests, so its pace is that of its clients: %s before, %s after. "+
			"Compare recordings of the same load, or of one that keeps it busy", sayRequests(before), sayRequests(after))
		return true
	}
	o.Basis = PerRequest
	o.Before.Steps, o.After.Steps = int(a.steps), int(b.steps)
	o.Changes = append(o.Changes, Changes(was[0].run, now[0].run)...)
	o.Warnings = append(o.Warnings, fmt.Sprintf("the server keeps up with its requests, so what they take is compared: %s before, %s after",
		sayRequests(before), sayRequests(after)))
	o.settle(a, b, promised)
	o.Promise = untestedPromise(promised) // that is one of requests a second at the most
	return true
}

// measureRequests estimates the mean time that a request takes, from all runs.
func (g group) measureRequests() sample {
	var samples []sample
	for _, s := range g {
		if times := s.requests().TimesInOrder(); len(times) >= leastSteps {
			samples = append(samples, takeSample(times))
		}
	}
	if len(samples) < len(g) {
		return sample{}
	}
	return poolRuns(samples)
}

// requests returns the requests to a server in the judged window.
func (s observed) requests() measure.Requests {
	w := s.costs.Window
	return measure.ReadRequests(s.run, w, w.Start, w.End)
}

// sayRequests describes a load, and how long its requests took.
func sayRequests(r measure.Requests) string {
	text := quantity.About(r.Rate) + " requests/s"
	if p99 := r.Time(0.99); !math.IsNaN(p99) {
		text += fmt.Sprintf(", half within %s and 99 %% within %s", quantity.AboutSeconds(r.Time(0.5)),
			quantity.AboutSeconds(p99))
	}
	return text
}
