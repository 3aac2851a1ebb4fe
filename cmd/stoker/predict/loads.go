package predict

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/predict/serving"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/wire"
)

// recordedServer holds the flags about a recorded server.
type recordedServer struct {
	file        string
	loads, most string // "" is what is usual
	json        *bool
}

func (f *recordedServer) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.file, "run", "", "recording of a server (stoker observe -- CMD): capacity and latency at other loads")
	flags.StringVar(&f.loads, "load", "", "with --run: requests a second (default: parts of the capacity)")
	flags.StringVar(&f.most, "max-batch", "", "with --run: requests that one pass takes at most (default: as many "+
		"as were seen)")
}

// recordedFlags are the flags that count with --run.
var recordedFlags = []string{"run", "load", "max-batch", "json"}

// checkFlags refuses flags that have no effect: others with --run, and those about a recording without it.
func (f *recordedServer) checkFlags(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(flag *pflag.Flag) {
		about := slices.Contains(recordedFlags, flag.Name)
		switch {
		case err != nil || flag.Name == "json" || flag.Name == "color":
		case f.file != "" && flag.Name == "model":
			err = errRunAndModel
		case f.file != "" && !about:
			err = fmt.Errorf("the recording of --run tells what the server runs: leave --%s out", flag.Name)
		case f.file == "" && about:
			err = fmt.Errorf("--%s is about a recorded server: name its recording with --run", flag.Name)
		}
	})
	return err
}

// readLoads parses --load; none is given if it is empty.
func (f *recordedServer) readLoads() (loads []float64, err error) {
	if f.loads == "" {
		return nil, nil
	}
	for text := range strings.SplitSeq(f.loads, ",") {
		rate, err := quantity.ParseNumber(strings.TrimSpace(text))
		if err != nil || !(rate > 0 && rate <= mostLoad) {
			return nil, hint.Attach(fmt.Errorf("--load %q: expected requests a second, more than 0 and at most %s", f.loads,
				quantity.About(mostLoad)), "--load 20,40")
		}
		loads = append(loads, float64(rate))
	}
	return loads, nil
}

// readMost parses --max-batch; 0 is as many as were seen.
func (f *recordedServer) readMost() (int, error) {
	if f.most == "" {
		return 0, nil
	}
	n, err := quantity.ParseCount(f.most)
	if err != nil || n < 1 || n > mostBatch {
		return 0, fmt.Errorf("--max-batch %q: expected 1 to %s", f.most, quantity.Count(mostBatch))
	}
	return int(n), nil
}

// Limits beyond any server: requests a second, and requests of one pass. [J]
const mostLoad, mostBatch = 1e9, 1e6

// shownUse are the shares of a server's capacity that are shown without --load. [J]
var shownUse = []float64{0.25, 0.5, 0.7, 0.8, 0.9}

// printLoads prints how long requests to a recorded server would take at other loads.
func printLoads(a *cli.App, f recordedServer) error {
	loads, err := f.readLoads()
	if err != nil {
		return cli.AsUsage(err)
	}
	most, err := f.readMost()
	if err != nil {
		return cli.AsUsage(err)
	}
	opened, err := judged.Open(a, []string{f.file})
	if err != nil {
		return err
	}
	requests := opened.Verdict.Measured.Requests
	server, err := measure.FitServer(requests, opened.Verdict.Costs.Window, most)
	if err != nil {
		return hint.Attach(fmt.Errorf("predict from %s: %w", f.file, err), "stoker observe -o server.jsonl.gz -- python server.py")
	}
	a.Began = true
	if len(loads) == 0 {
		for _, use := range shownUse {
			loads = append(loads, use*server.Capacity().Point)
		}
	}
	var forecasts []serving.Forecast
	for _, rate := range loads {
		forecasts = append(forecasts, server.At(rate))
	}
	hour := opened.Verdict.Cost.Prices.GPUHour * countDevices(opened.Run)
	if *f.json {
		return wire.WriteLoads(a.Stdout, requests, server, forecasts, hour)
	}
	c := server.Capacity()
	fmt.Fprintf(a.Stdout, "recorded  %s requests/s, half answered within %s, 99 %% within %s\n",
		quantity.About(requests.Rate),
		quantity.AboutSeconds(requests.Time(0.5)), quantity.AboutSeconds(requests.Time(0.99)))
	fmt.Fprintf(a.Stdout, "capacity  %s requests/s (%s to %s), with up to %d in a pass\n", quantity.About(c.Point),
		quantity.About(c.Low), quantity.About(c.High), server.Lines[0].Most)
	if !math.IsNaN(hour) {
		basis := "list prices"
		if opened.Verdict.Cost.Prices.Given {
			basis = "your prices"
		}
		if opened.Verdict.Cost.Assumed {
			basis += ", emulated device"
		}
		fmt.Fprintf(a.Stdout, "price     %s an hour for a server (%s)\n", quantity.AboutDollars(hour), basis)
	}
	fmt.Fprintf(a.Stdout, "\n%12s  %8s  %-30s  %-30s  %7s  %s\n", "requests/s", "in use", "half within",
		"99 % within", "servers", "a million cost")
	for _, one := range forecasts {
		fmt.Fprintf(a.Stdout, "%12s  %8s  %-30s  %-30s  %7s  %s\n", quantity.About(one.Rate),
			quantity.Percent(min(one.Use.Point, 9.99)),
			sayWithin(one.P50), sayWithin(one.P99), quantity.About(one.Servers()),
			quantity.AboutDollars(hour*one.Million()))
	}
	return nil
}

// countDevices returns how many devices the processes of a server hold, at least 1.
func countDevices(run *recording.Run) float64 {
	devices := map[int]bool{}
	for _, p := range run.Facts.Processes {
		if p.Device >= 0 {
			devices[p.Device] = true
		}
	}
	return float64(max(1, len(devices)))
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
