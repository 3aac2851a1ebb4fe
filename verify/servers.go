package verify

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
)

// mostUnasked is the time without a request up to which the pace of passes is the server's and not that of its
// clients. [J] As diagnose.Unasked has it.
const mostUnasked = 0.20

// refuseServers says why runs of servers cannot be compared by the time from pass to pass; "" if they can, or are
// none. A server that keeps up makes passes as often as it is asked, so that twice the load would read like twice the
// speed.
func refuseServers(was, now observed) string {
	before, after := was.requests(), now.requests()
	if !before.Known() || !after.Known() || max(before.None, after.None) <= mostUnasked {
		return ""
	}
	return fmt.Sprintf("the server keeps up with its requests, so its pace is that of its clients: %s before, %s after. Compare "+
		"recordings of a load that keeps it busy", sayRequests(before), sayRequests(after))
}

func (o observed) requests() measure.Requests {
	w := o.costs.Window
	return measure.MeasureRequests(o.run, w, w.Start, w.End)
}

// sayRequests is a load, and how long its requests took.
func sayRequests(r measure.Requests) string {
	text := quantity.About(r.Rate) + " requests/s"
	if p99 := r.Time(0.99); !math.IsNaN(p99) {
		text += fmt.Sprintf(", half within %s and 99 %% within %s", quantity.AboutSeconds(r.Time(0.5)), quantity.AboutSeconds(p99))
	}
	return text
}
