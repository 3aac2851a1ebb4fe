package verify

import (
	"fmt"
	"math"
	"path"
	"strings"

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
// its clients request, so that twice the load would look like twice the speed: loads that differ are refused. It
// returns false if the runs are not of servers, or tell too little of them.
func (o *Outcome) compareServers(was, now group, promised stoker.Interval) bool {
	before, after := was[0].requests(), now[0].requests()
	if !before.Known() || !after.Known() {
		return false
	}
	if max(before.None, after.None) <= mostUnasked {
		return o.compareBusyServers(was, now, before, after, promised)
	}
	a, b := was.measureEach(measure.Requests.TimesInOrder), now.measureEach(measure.Requests.TimesInOrder)
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

// moreAtOnce is how many times the requests of one run are there at once in the other, from which that is said. [J]
const moreAtOnce = 1.5

// compareBusyServers compares the time from answer to answer, in runs of a server that its requests keep busy: a pass
// may take any number of them. It returns false if single answers are not recorded.
func (o *Outcome) compareBusyServers(was, now group, before, after measure.Requests, promised stoker.Interval) bool {
	a, b := was.measureEach(measure.Requests.Gaps), now.measureEach(measure.Requests.Gaps)
	if a.steps < leastSteps || b.steps < leastSteps {
		return false
	}
	w := work{was: was[0].name, now: now[0].name}
	w.compareDevice(was[0], now[0])
	w.addWarning("requests keep the server busy, so the time from answer to answer is compared: %s before, %s after. That "+
		"requests are alike is assumed", sayRequests(before), sayRequests(after))
	if x, y := before.InFlightAsked(), after.InFlightAsked(); ratio(x, y) > moreAtOnce {
		w.addWarning("%s requests are there at a time before, %s after: the load may be another one", quantity.About(x), quantity.About(y))
	}
	if x, y := was[0].script(), now[0].script(); x != y && x != "" && y != "" {
		w.addWarning("the programs are %s before and %s after: of two servers for different requests this says nothing", x, y)
	}
	o.Changes = append(o.Changes, Changes(was[0].run, now[0].run)...)
	if o.Refused = w.refusal(); o.Refused != "" {
		return true
	}
	o.Basis, o.Warnings = PerAnswer, append(o.Warnings, w.warnings...)
	o.Before.Steps, o.After.Steps = int(a.steps), int(b.steps)
	o.settle(a, b, promised)
	return true
}

// script is the file that a run's interpreter ran; "" if it ran none.
func (s observed) script() string {
	for _, word := range s.run.Facts.Command[min(1, len(s.run.Facts.Command)):] {
		if strings.HasSuffix(word, ".py") {
			return path.Base(word)
		}
	}
	return ""
}

// measureEach estimates the mean of times of a server's requests, from all runs.
func (g group) measureEach(timesOf func(measure.Requests) []float64) sample {
	var samples []sample
	for _, s := range g {
		if times := timesOf(s.requests()); len(times) >= leastSteps {
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
