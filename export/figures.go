package export

import (
	"slices"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// Figure is one number of a verdict. Its name is the same in every format.
type Figure struct {
	Name, Help string // the name ends with the unit
	Value      float64
}

// Figures returns the known figures of the judged rank. They are gauges: they describe the
// judged window, not the whole run.
func Figures(run *recording.Run, v diagnose.Verdict) []Figure {
	all := []Figure{
		{"stall_ratio", "Share of the judged steps in which the device waited for input.", v.Stall},
		{"idle_ratio", "Share of the judged steps in which nothing ran on the device.", v.Idle},
		{"idle_cost_usd_per_hour", "What the device's idle share costs in an hour.", v.Cost.Hour.Dollars.Point},
	}
	if v.HasSteps {
		all = append(all,
			Figure{"step_seconds", "Mean step of the judged window.", v.Costs.Step},
			Figure{"data_wait_seconds", "Mean time per step in which the loop waited for a batch.", v.Costs.Wait},
			Figure{"samples_per_second", "Samples per second of the judged rank.", v.Costs.Rate()})
	}
	if r := v.Measured.Requests; r.Known() {
		all = append(all,
			Figure{"requests_per_second", "Requests a second that come to the server.", r.Rate},
			Figure{"request_p50_seconds", "Time within which half of the requests are answered.", r.Time(0.5)},
			Figure{"request_p99_seconds", "Time within which 99 % of them are answered.", r.Time(0.99)},
			Figure{"no_requests_ratio", "Share of the time without a request.", r.None})
	}
	if k := v.Costs.Cluster; k != nil {
		all = append(all,
			Figure{"remote_workers", "The loader's workers in a Ray cluster.", float64(k.Workers)},
			Figure{"remote_fetch_seconds", "Mean time in which one of them prepares a batch.", k.Fetch},
			Figure{"remote_moved_seconds", "Mean time from its hands into the trainer's.", k.Moved},
			Figure{"remote_bytes_per_second", "Bytes of batches that arrive.", k.Rate})
	}
	return slices.DeleteFunc(all, func(f Figure) bool { return !stat.Finite(f.Value) })
}
