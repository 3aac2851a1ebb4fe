package wire

import (
	"io"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/predict/serving"
)

// loadsObject is what predict serve --run says of a recorded server.
type loadsObject struct {
	Schema   int             `json:"schema"`
	Recorded recordedLoad    `json:"recorded"`
	Capacity stoker.Interval `json:"capacity_per_s"`
	Loads    []loadObject    `json:"loads"`
}

type recordedLoad struct {
	Rate     float64 `json:"requests_per_s"`
	P50      float64 `json:"p50_s"`
	P99      float64 `json:"p99_s"`
	Requests float64 `json:"requests"`
}

type loadObject struct {
	Rate float64         `json:"requests_per_s"`
	Use  stoker.Interval `json:"share_of_capacity"`
	P50  stoker.Interval `json:"p50_s"`
	P99  stoker.Interval `json:"p99_s"`

	Servers float64  `json:"servers"`
	Million *float64 `json:"dollars_per_million"` // requests
}

// WriteLoads writes what requests take at other loads than the recorded one, as one object. hour is what a server
// costs.
func WriteLoads(w io.Writer, r measure.Requests, s serving.Server, loads []serving.Forecast, hour float64) error {
	o := loadsObject{schema, recordedLoad{r.Rate, r.Time(0.5), r.Time(0.99), r.Count}, s.Capacity(), []loadObject{}}
	for _, f := range loads {
		o.Loads = append(o.Loads, loadObject{f.Rate, f.Use, f.P50, f.P99, f.Servers(), stat.Known(hour * f.Million())})
	}
	return WriteObject(w, o)
}
