package runs

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/summary"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/report"
)

// group is the recordings of one job: of its nodes, and of ranks that were observed separately.
type group []summary.Summary

// jobsOf groups recordings by job. Recordings of one job have the same command, overlap in time
// and have different ranks. They name the same job of a launcher or, without a launcher, the same
// number of ranks.
func jobsOf(found []summary.Summary) []group {
	slices.SortStableFunc(found, func(a, b summary.Summary) int { return cmp.Compare(a.Started, b.Started) })
	var all []group
	open := map[string][]int{} // indices in all
	for _, s := range found {
		key := fmt.Sprintf("%s\n%d\n%s", s.Job, s.World, s.Command)
		at := slices.IndexFunc(open[key], func(i int) bool { return all[i].takes(s) })
		if at >= 0 {
			i := open[key][at]
			all[i] = append(all[i], s)
			continue
		}
		open[key] = append(open[key], len(all))
		all = append(all, group{s})
	}
	return all
}

// takes reports whether a recording with the group's command belongs to the same job. Recordings
// come in order of their start.
func (g group) takes(s summary.Summary) bool {
	if s.Job == "" && s.World < 2 {
		return false
	}
	ends := 0.0
	for _, known := range g {
		ends = max(ends, known.Started+known.Seconds)
		if len(s.Ranks) == 0 || slices.ContainsFunc(s.Ranks, func(rank int) bool {
			return slices.Contains(known.Ranks, rank)
		}) {
			return false
		}
	}
	return s.Started < ends
}

// addUp sums the group up, at the user's prices.
func (g group) addUp(own predict.Prices) report.Job {
	j := report.Job{Started: g[0].Started, Command: g[0].Command, Lost: math.NaN(), Stall: math.NaN()}
	if j.Started == 0 {
		j.Started = math.NaN() // unknown in this recording
	}
	worst := -1.0
	for _, s := range g {
		j.Files, j.Ranks = append(j.Files, s.Name), j.Ranks+len(s.Ranks)
		if !slices.Contains(j.Hosts, s.Host) && s.Host != "" {
			j.Hosts = append(j.Hosts, s.Host)
		}
		j.Seconds = max(j.Seconds, s.Started+s.Seconds-g[0].Started)
		j.Emulated = j.Emulated || s.Emulated
		j.Ended = cmp.Or(j.Ended, s.Ended)
		j.Rate += stat.Value(s.Rate)
		hours := s.Seconds / 3600 * float64(s.Devices)
		j.GPUHours += hours
		if share := stat.Value(s.Share); share >= 0 {
			j.Idle += share * hours
		}
		if lost := s.CostIdle(hours, own); lost >= 0 {
			j.Lost = lost + max(0, stat.Or(j.Lost, 0))
		}
		if stall := stat.Value(s.Stall); stat.Or(stall, 0) > worst {
			worst, j.Stall, j.Class = stat.Or(stall, 0), stall, s.Class
			j.Fix, j.Speedup, j.AtMost = s.Fix, stat.Value(s.Speedup), stat.Value(s.AtMost)
		}
	}
	return j
}
