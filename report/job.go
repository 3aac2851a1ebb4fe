package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/internal/stat"
)

// JobText writes what the recordings of one job tell for people: a row per rank, and then
// the page of the recording that decides.
func JobText(w io.Writer, j diagnose.Job, members []diagnose.Member, plan advise.Plan, style Style) error {
	rows := [][]string{{"rank", "host", "step", "waits for input", "came last", "by itself", "recording"}}
	shown := shownRanks(j)
	for _, i := range shown {
		r := j.Ranks[i]
		mark := fmt.Sprint(r.Rank)
		if slices.Contains(j.Late, i) {
			mark = "* " + mark
		}
		rows = append(rows, []string{
			mark, r.Host, stoker.AboutSeconds(r.Costs.Step), stoker.Percent(r.Input() / r.Costs.HostStep), cameLast(r, j.Steps),
			string(members[r.Member].Verdict.Class), members[r.Member].Name,
		})
	}
	p := newPage(style, &rows)
	p.wrapped("", "  ", p.bold(fmt.Sprintf("%s of %s in %s", stoker.Many(len(j.Ranks), "rank"), safe.Text(cmp.Or(j.Name, "one job"), 0), stoker.Many(len(members), "recording"))))
	p.table(rows, "rlrrrll")
	if left := len(j.Ranks) - len(shown); left > 0 {
		fmt.Fprintf(&p.b, "  and %d more (--json has all)\n", left)
	}
	p.b.WriteString("\n")
	if err := p.to(w); err != nil {
		return err
	}
	return Text(w, members[j.Lead].Run, j.Verdict, plan, style)
}

func cameLast(r diagnose.JobRank, steps int) string {
	if steps == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%d/%d", r.Last, steps)
}

// shownRanks are places of all ranks, or of many those that wait most for input.
func shownRanks(j diagnose.Job) []int {
	all := make([]int, len(j.Ranks))
	for i := range all {
		all[i] = i
	}
	if len(all) <= mostRanks {
		return all
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(j.Ranks[b].Input(), j.Ranks[a].Input()) })
	return all[:worstFew]
}

// diagnosis is the object of a verdict, of one recording or several of a job.
type diagnosis struct {
	object
	Job *jsonRanksOfJob `json:"job,omitempty"`
}

// jsonRanksOfJob is what the ranks of a job tell together, as programs read it.
type jsonRanksOfJob struct {
	Name      *string         `json:"name"`
	World     *int            `json:"world"`
	Ranks     []jsonRankOfJob `json:"ranks"`
	Late      []int           `json:"late"`    // ranks that the others wait for
	Delay     float64         `json:"delay_s"` // per step
	Compared  int             `json:"compared_steps"`
	Missing   []int           `json:"missing_ranks"`
	Recording string          `json:"recording"` // that the verdict is of
}

type jsonRankOfJob struct {
	Rank      int      `json:"rank"`
	Host      string   `json:"host"`
	Recording string   `json:"recording"`
	Class     string   `json:"class"` // of its recording by itself
	Step      *float64 `json:"mean_s"`
	Input     *float64 `json:"input_wait_s"`
	Last      int      `json:"came_last"`
}

func jobJSON(j diagnose.Job, members []diagnose.Member) *jsonRanksOfJob {
	o := &jsonRanksOfJob{
		Name: text(j.Name), Ranks: []jsonRankOfJob{}, Late: []int{}, Delay: j.Delay, Compared: j.Steps,
		Missing: append([]int{}, j.Missing...), Recording: members[j.Lead].Name,
	}
	if j.World > 0 {
		o.World = &j.World
	}
	for _, r := range j.Ranks {
		m := members[r.Member]
		o.Ranks = append(o.Ranks, jsonRankOfJob{r.Rank, r.Host, m.Name, string(m.Verdict.Class), stat.Known(r.Costs.Step), stat.Known(r.Input()), r.Last})
	}
	for _, i := range j.Late {
		o.Late = append(o.Late, j.Ranks[i].Rank)
	}
	return o
}

// JobJSON writes the verdict of a job of several recordings as one object: that of
// JSON, and what the ranks tell together.
func JobJSON(w io.Writer, j diagnose.Job, members []diagnose.Member, plan advise.Plan) error {
	return Object(w, diagnosis{describe(members[j.Lead].Run, j.Verdict, plan), jobJSON(j, members)})
}
