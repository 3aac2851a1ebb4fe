package predict

import (
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/predict/serving"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report/wire"
)

// recordedServer holds the flags about a recorded server.
type recordedServer struct {
	file  string
	loads []float64 // requests/s; none: parts of the capacity
	most  int
	json  *bool
}

func (f *recordedServer) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "run", "", "recording of a server (stoker observe -- CMD): capacity and latency at other loads")
	cmd.Flags().Float64SliceVar(&f.loads, "load", nil, "with --run: requests a second (default: parts of the capacity)")
	cmd.Flags().IntVar(&f.most, "max-batch", 0, "with --run: requests that one pass takes at most (default: as many as were seen)")
}

// shownUse are the shares of a server's capacity that are shown without --load. [J]
var shownUse = []float64{0.25, 0.5, 0.7, 0.8, 0.9}

// printLoads prints how long requests to a recorded server would take at other loads.
func printLoads(a *cli.App, f recordedServer) error {
	if f.most < 0 {
		return cli.AsUsage(fmt.Errorf("--max-batch %d: expected 1 or more", f.most))
	}
	for _, rate := range f.loads {
		if !(rate > 0) || math.IsInf(rate, 1) {
			return cli.AsUsage(fmt.Errorf("--load %v: expected requests a second, more than 0", rate))
		}
	}
	opened, err := judged.Open(a, []string{f.file})
	if err != nil {
		return err
	}
	requests := opened.Verdict.Measured.Requests
	server, err := measure.FitServer(requests, opened.Verdict.Costs.Window, f.most)
	if err != nil {
		return hint.Attach(fmt.Errorf("predict from %s: %w", f.file, err), "stoker observe -o server.jsonl.gz -- python server.py")
	}
	a.Began = true
	loads := f.loads
	if len(loads) == 0 {
		for _, use := range shownUse {
			loads = append(loads, use*server.Capacity().Point)
		}
	}
	var forecasts []serving.Forecast
	for _, rate := range loads {
		forecasts = append(forecasts, server.At(rate))
	}
	if *f.json {
		return wire.WriteLoads(a.Stdout, requests, server, forecasts)
	}
	c := server.Capacity()
	fmt.Fprintf(a.Stdout, "recorded  %s requests/s, half answered within %s, 99 %% within %s\n", quantity.About(requests.Rate),
		quantity.AboutSeconds(requests.Time(0.5)), quantity.AboutSeconds(requests.Time(0.99)))
	fmt.Fprintf(a.Stdout, "capacity  %s requests/s (%s to %s), with up to %d in a pass\n", quantity.About(c.Point), quantity.About(c.Low),
		quantity.About(c.High), server.Lines[0].Most)
	fmt.Fprintf(a.Stdout, "\n%12s  %8s  %-30s  %s\n", "requests/s", "in use", "half within", "99 % within")
	for _, one := range forecasts {
		fmt.Fprintf(a.Stdout, "%12s  %8s  %-30s  %s\n", quantity.About(one.Rate),
			quantity.Percent(min(one.Use.Point, 9.99)),
			sayWithin(one.P50), sayWithin(one.P99))
	}
	return nil
}

// sayWithin formats a time with its interval.
func sayWithin(t stoker.Interval) string {
	if math.IsNaN(t.Point) {
		return "more than it takes"
	}
	return fmt.Sprintf("%s (%s to %s)", quantity.AboutSeconds(t.Point), quantity.AboutSeconds(t.Low),
		quantity.AboutSeconds(t.High))
}

// errRunAndModel is the error for --run together with --model.
var errRunAndModel = errors.New("--run and --model exclude each other: the recording tells what the server runs")
