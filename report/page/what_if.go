package page

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
)

// forecastTable is a table of forecasts for the page's sliders. Forecasts are computed here,
// not in the script.
type forecastTable struct {
	Workers  []int        `json:"workers"`
	Prefetch []int        `json:"prefetch"`
	Rows     [][]whatCell `json:"rows"` // by workers, then prefetch
	Now      [2]int       `json:"now"`  // indices of the present settings; -1 if they are not in the table
}

// whatCell is one forecast; null means unknown.
type whatCell struct {
	Low        *float64 `json:"low"`
	Point      *float64 `json:"point"`
	High       *float64 `json:"high"`
	Stall      *float64 `json:"stall"`
	Throughput *float64 `json:"throughput"`
	Binds      string   `json:"binds"`
}

// workersShown lists the numbers of workers that a page offers.
var workersShown = []int{0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64}

// whatIfOf computes forecasts for numbers of workers and prefetch factors; nil if the run has
// no steps or its loader cannot be predicted.
func whatIfOf(run *recording.Run) *forecastTable {
	costs, _ := measure.Slowest(run)
	base := measure.From(run)
	now, set := base.Settings[stoker.NumWorkers].(int)
	if !(base.Took > 0) || !set || !predict.Models(stoker.NumWorkers) {
		return nil
	}
	w := &forecastTable{Prefetch: []int{1, 2, 4, 8}, Now: [2]int{-1, -1}}
	most := max(8, 2*now, int(4*run.Facts.Machine.Cores())) // far enough to show that more gains nothing
	for _, n := range workersShown {
		change := stoker.Change{Setting: stoker.NumWorkers, From: now, To: n}
		if n <= most && (base.Alters == nil || base.Alters(change) == "") {
			w.Workers = append(w.Workers, n)
		}
	}
	w.Workers = with(w.Workers, now)
	prefetch, ok := base.Settings[stoker.PrefetchFactor].(int)
	if !ok {
		prefetch = 2
	}
	w.Prefetch = with(w.Prefetch, prefetch)
	for i, n := range w.Workers {
		var row []whatCell
		enough := base.Setup.WithWorkers(float64(n)).FewestWorkers()
		for k, m := range w.Prefetch {
			if n == now && m == prefetch {
				w.Now = [2]int{i, k}
			}
			var changes []stoker.Change
			if n != now {
				changes = append(changes, stoker.Change{Setting: stoker.NumWorkers, From: now, To: n})
			}
			if m != prefetch {
				changes = append(changes, stoker.Change{Setting: stoker.PrefetchFactor, From: prefetch, To: m})
			}
			f := base.Forecast(changes...)
			f.Bound = costs.LimitOf(f)
			row = append(row, cellOf(f, enough))
		}
		w.Rows = append(w.Rows, row)
	}
	return w
}

// with inserts a number into a sorted list, unless it is there.
func with(sorted []int, n int) []int {
	for i, v := range sorted {
		switch {
		case v == n:
			return sorted
		case v > n:
			return append(append(append([]int{}, sorted[:i]...), n), sorted[i:]...)
		}
	}
	return append(sorted, n)
}

// cellOf returns a forecast for the table, with the number of workers that do as much if half do.
func cellOf(f predict.Forecast, enough int) whatCell {
	short := func(v float64) *float64 { return stat.Known(math.Round(v*1000) / 1000) }
	c := whatCell{
		Low: short(f.Speedup.Low), Point: short(f.Speedup.Point), High: short(f.Speedup.High),
		Stall: short(f.Stall.Point), Throughput: short(f.Throughput.Point),
	}
	if f.Bound != "" {
		c.Binds = report.DescribeLimit(f.Bound)
	}
	if enough > 0 {
		text := fmt.Sprintf("%s, and %s do as much", c.Binds, quantity.Many(enough, "worker"))
		c.Binds = strings.TrimPrefix(text, ", and ")
	}
	return c
}

// Some returns some of the rows, for readers without scripts.
func (w *forecastTable) Some() [][]string {
	var all [][]string
	k := max(0, w.Now[1])
	for i, n := range w.Workers {
		c := w.Rows[i][k]
		text := func(v *float64, say func(float64) string) string {
			if v == nil {
				return "unknown"
			}
			return say(*v)
		}
		factor := func(v float64) string { return quantity.About(v) + "x" }
		all = append(all, []string{quantity.About(float64(n)), text(c.Point, factor), text(c.Low, factor) + " to " +
			text(c.High, factor), text(c.Stall, quantity.Percent), c.Binds})
	}
	return all
}
