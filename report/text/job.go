package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report"
)

// WriteJob prints the recordings of one job: the page of the recording that decides the
// verdict, with a row per rank.
func WriteJob(w io.Writer, j judge.Job, members []judge.Member, plan advise.Plan, style Style) error {
	rows := [][]string{{"rank", "host", "step", "waits for input", "came last", "by itself", "recording"}}
	shown := shownRanks(j)
	for _, i := range shown {
		r := j.Ranks[i]
		mark := fmt.Sprint(r.Rank)
		if slices.Contains(j.Late, i) {
			mark = "* " + mark
		}
		rows = append(rows, []string{
			mark, r.Host, quantity.AboutSeconds(r.Costs.Step), quantity.Percent(r.InputWait() / r.Costs.HostStep),
			cameLast(r, j.Steps),
			string(members[r.Member].Verdict.Class), members[r.Member].Name,
		})
	}
	safe.Values(&rows)
	table := section{title: fmt.Sprintf("%s of %s in %s", quantity.Many(len(j.Ranks), "rank"),
		safe.Text(cmp.Or(j.Name, "one job"), 0), quantity.Many(len(members), "recording"))}
	table.add(always, func(p *page) {
		p.writeTable(rows, "rlrrrll")
		if left := len(j.Ranks) - len(shown); left > 0 {
			fmt.Fprintf(&p.b, "  and %d more (--json has all)\n", left)
		}
	})
	return writeVerdict(w, members[j.Lead].Run, j.Verdict, plan, style, table)
}

// cameLast returns in how many steps a rank came last.
func cameLast(r judge.JobRank, steps int) string {
	if steps == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%d/%d", r.Last, steps)
}

// shownRanks returns indices of all ranks, or of many the ones with the longest wait for input.
func shownRanks(j judge.Job) []int {
	all := make([]int, len(j.Ranks))
	for i := range all {
		all[i] = i
	}
	if len(all) <= report.MostRanks {
		return all
	}
	slices.SortStableFunc(all, func(a, b int) int {
		return cmp.Compare(j.Ranks[b].InputWait(), j.Ranks[a].InputWait())
	})
	return all[:report.WorstFew]
}
