// Package summary keeps short verdicts on recordings in a cache in their folder.
package summary

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

// Summary is a short verdict on a recording. Unknown figures are nil. Figures that depend on a user's
// prices are not in it.
type Summary struct {
	Name     string      `json:"name"`
	Size     int64       `json:"size"`
	Modified int64       `json:"modified_ns"`
	Why      string      `json:"why,omitempty"` // why it cannot be read
	Started  float64     `json:"started"`
	Seconds  float64     `json:"seconds"`
	Command  string      `json:"command"`
	Job      string      `json:"job"`
	Host     string      `json:"host"`
	Ranks    []int       `json:"ranks"`
	World    int         `json:"world"`
	Devices  int         `json:"devices"`
	Class    string      `json:"class"`
	Stall    *float64    `json:"stall"`
	Share    *float64    `json:"idle_share"`
	Rate     *float64    `json:"samples_per_s"`
	Watts    [3]*float64 `json:"idle_watts"`
	Prices   [4]*float64 `json:"list_prices"` // per GPU hour, kWh, of the grid, PUE
	Fix      string      `json:"fix"`
	Speedup  *float64    `json:"speedup"`
	AtMost   *float64    `json:"speedup_at_most"`
	Emulated bool        `json:"emulated"`
	Ended    string      `json:"ended,omitempty"`

	Known bool `json:"-"` // from the cache
}

// Conclude reads and judges a recording.
func (s *Summary) Conclude(path string) {
	defer func() {
		if fault := recover(); fault != nil {
			s.Why = fmt.Sprintf("judge recording %s: a fault of stoker's own, please report it: %v", path, fault)
		}
	}()
	run, err := recording.Open(path)
	if err != nil {
		s.Why = err.Error()
		return
	}
	s.takeFrom(judged.Judge(path, run))
}

// takeFrom copies the figures that stoker runs shows.
func (s *Summary) takeFrom(j judged.Recording) {
	run, f, v := j.Run, j.Run.Facts, j.Verdict
	s.Started, s.Seconds, s.Command, s.Job, s.Host, s.Emulated = f.Started, run.End(), strings.Join(f.Command,
		" "), f.Job, f.Host, run.Emulated()
	devices := map[int]bool{}
	for _, p := range f.Processes {
		if p.Role != recording.RoleTrainer {
			continue
		}
		// short-lived helpers of a script have no rank
		if s.World = max(s.World, p.World); !slices.Contains(s.Ranks, p.Rank) {
			s.Ranks = append(s.Ranks, p.Rank)
		}
		if p.Device >= 0 {
			devices[p.Device] = true
		}
	}
	if s.Devices = len(devices); s.Devices == 0 {
		s.Devices = min(1, len(f.GPUs))
	}
	s.Class, s.Stall, s.Share = string(v.Headline()), stat.Known(v.Stall), stat.Known(v.Cost.Share)
	s.Rate = stat.Known(v.Costs.Rate() * float64(max(1, len(s.Ranks))))
	s.Watts = [3]*float64{stat.Known(v.Cost.Watts.Low), stat.Known(v.Cost.Watts.Point), stat.Known(v.Cost.Watts.High)}
	s.Prices = [4]*float64{
		stat.Known(v.Cost.Prices.GPUHour), stat.Known(v.Cost.Prices.KWh),
		stat.Known(v.Cost.Prices.Grid), stat.Known(v.Cost.Prices.PUE),
	}
	if v.Ending.Failed() {
		s.Ended = v.Ending.String()
	}
	if len(j.Plan.Fixes) > 0 {
		best := j.Plan.Fixes[0]
		s.Fix = best.Title
		s.Speedup, s.AtMost = stat.Known(best.Forecast.Speedup.Point), stat.Known(best.Forecast.Speedup.High)
	}
}

// CostIdle returns the cost of the idle share of a recording's GPU hours, in dollars; NaN if unknown.
func (s Summary) CostIdle(hours float64, own predict.Prices) float64 {
	prices := predict.Prices{
		GPUHour: stat.Value(s.Prices[0]), KWh: stat.Value(s.Prices[1]),
		Grid: stat.Value(s.Prices[2]), PUE: stat.Value(s.Prices[3]),
	}
	watts := stoker.Interval{Low: stat.Value(s.Watts[0]), Point: stat.Value(s.Watts[1]), High: stat.Value(s.Watts[2])}
	return predict.IdleAt(watts, stoker.Exactly(stat.Value(s.Share)), hours, prices.With(own)).Dollars.Point
}
