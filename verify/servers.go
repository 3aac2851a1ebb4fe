package verify

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
)

// mostUnasked is the share of time without a request up to which the server, not its clients, determines the
// pace of passes. [J] It equals diagnose.Unasked.
const mostUnasked = 0.20

// refuseServers says why runs of servers cannot be compared by the time between passes; "" if they can, or if the
// runs are not of servers. A server that keeps up makes as many passes as its clients request, so that twice the
// load would look like twice the speed.
func refuseServers(was, now observed) string {
	before, after := was.requests(), now.requests()
	if !before.Known() || !after.Known() || max(before.None, after.None) <= mostUnasked {
		return ""
	}
	return fmt.Sprintf("the server keeps up with its requests, so its pace is that of its clients: %s before, %s after. Compare "+
		"recordings of a load that keeps it busy", sayRequests(before), sayRequests(after))
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
