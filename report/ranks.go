package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/diagnose/ranks"
	"github.com/stoker-dev/stoker/quantity"
)

// ListRanks returns the table over all ranks.
func ListRanks(t *ranks.Table) Sheet {
	shown := worstRanks(t)
	s := Sheet{
		Title: "ranks", Align: "rrrrrrrlrrr", Lines: rankLines(t),
		Says: "What each rank's device did, and how long the others waited for it: of the judged steps.",
		Rows: [][]string{{
			"rank", "step", "kernel", "copy", "comm.", "idle", "input", "mostly idle for", "last",
			"waited", "made wait",
		}},
	}
	if len(shown) < len(t.Ranks) {
		s.About = fmt.Sprintf(", the %d of %d for which the others wait most (--json has all)", len(shown),
			len(t.Ranks))
	}
	for _, r := range shown {
		cause := "-"
		if r.CauseShare > 0 {
			cause = fmt.Sprintf("%s %s", r.Cause, quantity.Percent(r.CauseShare))
		}
		last, waited, delayed := "unknown", "unknown", "unknown"
		if r.Arrived > 0 {
			last, waited, delayed = fmt.Sprintf("%d/%d", r.Last,
				r.Arrived), quantity.AboutSeconds(r.Waited), quantity.AboutSeconds(r.Delayed)
		}
		s.Rows = append(s.Rows, []string{
			fmt.Sprint(r.Rank), quantity.AboutSeconds(r.Step), quantity.Percent(r.Kernel), quantity.Percent(r.Copy),
			quantity.Percent(r.Communication), quantity.Percent(r.Idle), quantity.Percent(r.Input),
			cause, last, waited, delayed,
		})
	}
	return s
}

// Up to MostRanks ranks are shown; of more, only the WorstFew.
const (
	MostRanks = 16
	WorstFew  = 10
)

// worstRanks returns all ranks, or of many the ones that others wait for most.
func worstRanks(t *ranks.Table) []ranks.Rank {
	if len(t.Ranks) <= MostRanks {
		return t.Ranks
	}
	all := slices.Clone(t.Ranks)
	slices.SortStableFunc(all, func(a, b ranks.Rank) int {
		return cmp.Or(cmp.Compare(b.Delayed, a.Delayed), cmp.Compare(b.Idle, a.Idle))
	})
	return all[:WorstFew]
}

// rankLines says which ranks wait for which, and how the clocks were aligned.
func rankLines(t *ranks.Table) []string {
	if t.Matched == 0 && t.Apart > 0 {
		return []string{fmt.Sprintf(
			"Collectives could not be matched: the ends of those with the same number differ by %s in the median "+
				"once the clocks are set, so they are not the same ones. Who waits for whom is unknown (give files "+
				"of the same steps).", quantity.AboutSeconds(t.Apart))}
	}
	if t.Matched == 0 {
		return []string{"No collective was found on two ranks: who waits for whom is unknown (give the files of all " +
			"ranks, recorded over the same steps)."}
	}
	var lines []string
	if t.Straggler >= 0 {
		s := t.Ranks[t.Straggler]
		line := fmt.Sprintf(
			"Rank %d is the straggler: it comes last to %d of %d collectives, and the other ranks wait %s for it",
			s.Rank, s.Last, s.Arrived, quantity.AboutSeconds(s.Delayed))
		if s.CauseShare > 0 {
			line += fmt.Sprintf(". Its own device is idle mostly for %s (%s of the window)", s.Cause,
				quantity.Percent(s.CauseShare))
		}
		lines = append(lines, line+".")
	} else {
		lines = append(lines,
			"No rank is a straggler: none makes the others wait for 3 % of the window and more than all others together.")
	}
	lines = append(lines, waitLines(t)...)
	clock := fmt.Sprintf(
		"Clocks: %d collectives were matched and set to end together, and their ends then differ by %s in the median",
		t.Matched, quantity.AboutSeconds(t.Aligned))
	if t.OneClock {
		lines = append(lines, fmt.Sprintf(
			"All ranks are on one clock, by which %d collectives ran at the same time, and their ends differ by "+
				"%s in the median.", t.Matched, quantity.AboutSeconds(t.Aligned)))
		return append(lines, unmatchedLine(t)...)
	}
	if len(t.Ranks) <= mostClocks {
		for _, r := range t.Ranks[1:] {
			clock += fmt.Sprintf(", rank %d's clock was %+.3f ms off rank %d's", r.Rank, 1e3*r.Clock, t.Ranks[0].Rank)
		}
	} else {
		most := 0.0
		for _, r := range t.Ranks {
			most = max(most, math.Abs(r.Clock))
		}
		clock += fmt.Sprintf(", clocks were up to %s off rank %d's", quantity.AboutSeconds(most), t.Ranks[0].Rank)
	}
	return append(append(lines, clock+"."), unmatchedLine(t)...)
}

// mostClocks is the number of ranks up to which the clock of each is reported.
const mostClocks = 8

// waitLines names the rank for which each rank mostly has to wait: for each rank or, if there are
// many, how many wait for each.
func waitLines(t *ranks.Table) (lines []string) {
	waiting, longest := make([]int, len(t.Ranks)), make([]float64, len(t.Ranks))
	many := len(t.Ranks) > MostRanks
	for i, r := range t.Ranks {
		for j, waited := range r.For {
			if i == j || j == t.Straggler || waited <= 0.5*r.Waited || waited < 1e-3 {
				continue
			}
			if waiting[j]++; !many {
				lines = append(lines,
					fmt.Sprintf("Rank %d waits %s for rank %d.", r.Rank, quantity.AboutSeconds(waited),
						t.Ranks[j].Rank))
			}
			longest[j] = max(longest[j], waited)
		}
	}
	for j, n := range waiting {
		if many && n > 0 {
			lines = append(lines, fmt.Sprintf("%d rank%s wait%s mostly for rank %d, %s at most.", n,
				quantity.Ending(n, "", "s"), quantity.Ending(n, "s", ""), t.Ranks[j].Rank,
				quantity.AboutSeconds(longest[j])))
		}
	}
	return lines
}

func unmatchedLine(t *ranks.Table) []string {
	if t.Unmatched == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d collectives have no counterpart and were left out.", t.Unmatched)}
}
