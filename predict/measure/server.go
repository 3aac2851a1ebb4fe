package measure

import (
	"errors"
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/serving"
	"github.com/stoker-dev/stoker/recording"
)

// leastRequests is the number of answered requests below which a recording says too little of a server. [J]
const leastRequests = 30

// FitServer takes a server's law from its requests and the passes of a window. most is how many requests a pass
// takes at most; 0: as many as were seen. While any request is there the server works, so that the time with
// requests, over the passes, is what a pass costs.
func FitServer(r Requests, w recording.Window, most int) (serving.Server, error) {
	if !r.Known() || !(r.Passes > 0) {
		return serving.Server{}, errors.New("it holds no requests and passes of a model: record a server with stoker observe -- CMD")
	}
	if r.Count < leastRequests {
		return serving.Server{}, fmt.Errorf("it holds %.0f answered requests, too few to tell: expected %d", r.Count, leastRequests)
	}
	f := serving.Fit{
		Rate: r.Rate, P50: r.Time(0.5), P99: r.Time(0.99), Busy: (1 - r.None) / r.Passes,
		Batch: max(1, stat.Or(r.Batch, r.PerPass())), Most: most, CV: spreadOfPasses(w),
	}
	if most <= 0 {
		f.Most = 1
		for _, s := range w.Steps {
			f.Most = max(f.Most, int(stat.Or(s.Samples, 1)))
		}
	}
	f.PerRequest = boundSlope(w, f.Busy, f.Batch)
	return serving.FitServer(f), nil
}

// boundSlope is what each further request of a pass may cost: what the device's clock says of passes of several sizes,
// and that with all the host's time. Without it, between nothing and as much as the first.
func boundSlope(w recording.Window, busy, batch float64) [2]float64 {
	slope, first, ok := FitPasses(w)
	if !ok {
		return [2]float64{0, busy / batch}
	}
	slope = min(max(0, slope), busy/batch)
	host := max(0, busy-first-slope*batch)
	return [2]float64{slope, min(slope+host/batch, busy/batch)}
}

// FewerPasses returns by how much the device's work would shrink if one pass took all requests that
// are there at a time. If nothing tells how a pass grows, it is the number of passes.
func FewerPasses(r Requests, w recording.Window) float64 {
	waiting, batch := r.InFlightAsked(), r.Batch
	if slope, first, ok := FitPasses(w); ok && slope >= 0 && first >= 0 && first+slope > 0 {
		return waiting / batch * (first + slope*batch) / (first + slope*waiting)
	}
	return waiting / batch
}

// For passes that were not traced. [J]
const (
	unknownSpread = 0.5
	fewLooked     = 5
)

// spreadOfPasses is the coefficient of variation of the time that passes take on the device.
func spreadOfPasses(w recording.Window) float64 {
	var t []float64
	for _, s := range w.Steps {
		if i := s.Inside; i != nil && i.Forward > 0 {
			t = append(t, i.Forward)
		}
	}
	if len(t) < fewLooked {
		return unknownSpread
	}
	mean, sum := stat.Mean(t), 0.0
	for _, v := range t {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum/float64(len(t))) / mean
}
