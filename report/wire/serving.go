package wire

import (
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/report"
)

type jsonServed struct {
	Phase    string   `json:"pass"`
	Requests *int     `json:"requests"`
	Count    int      `json:"passes"`
	Seconds  float64  `json:"seconds"` // of all passes
	Kernel   float64  `json:"kernel_s"`
	Idle     float64  `json:"idle_s"`
	Rate     *float64 `json:"tokens_per_s"`
}

func servingJSON(r report.TraceReport) []jsonServed {
	out := []jsonServed{}
	for _, s := range report.FindServed(r) {
		o := jsonServed{
			Phase: s.Phase, Count: s.Count, Seconds: asSeconds(s.Time), Kernel: asSeconds(s.Kernel),
			Idle: asSeconds(s.Idle), Rate: stat.Known(report.RateTokens(s)),
		}
		if s.Requests >= 0 {
			o.Requests = &s.Requests
		}
		out = append(out, o)
	}
	return out
}
