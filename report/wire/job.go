package wire

import (
	"io"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/internal/stat"
)

// diagnosis is the object of a verdict, on one recording or several of a job.
type diagnosis struct {
	object
	Job *jsonRanksOfJob `json:"job,omitempty"`
}

// jsonRanksOfJob holds the combined results of a job's ranks.
type jsonRanksOfJob struct {
	Name      *string         `json:"name"`
	World     *int            `json:"world"`
	Ranks     []jsonRankOfJob `json:"ranks"`
	Late      []int           `json:"late"`    // ranks that the others wait for
	Delay     float64         `json:"delay_s"` // per step
	Compared  int             `json:"compared_steps"`
	Missing   []int           `json:"missing_ranks"`
	Recording string          `json:"recording"` // the recording that the verdict comes from
}

type jsonRankOfJob struct {
	Rank      int      `json:"rank"`
	Host      string   `json:"host"`
	Recording string   `json:"recording"`
	Class     string   `json:"class"` // of its recording alone
	Step      *float64 `json:"mean_s"`
	Input     *float64 `json:"input_wait_s"`
	Last      int      `json:"came_last"`
}

func jobJSON(j judge.Job, members []judge.Member) *jsonRanksOfJob {
	o := &jsonRanksOfJob{
		Name: textOrNull(j.Name), Ranks: []jsonRankOfJob{}, Late: []int{}, Delay: j.Delay, Compared: j.Steps,
		Missing: append([]int{}, j.Missing...), Recording: members[j.Lead].Name,
	}
	if j.World > 0 {
		o.World = &j.World
	}
	for _, r := range j.Ranks {
		m := members[r.Member]
		o.Ranks = append(o.Ranks, jsonRankOfJob{
			r.Rank, r.Host, m.Name, string(m.Verdict.Class),
			stat.Known(r.Costs.Step), stat.Known(r.InputWait()), r.Last,
		})
	}
	for _, i := range j.Late {
		o.Late = append(o.Late, j.Ranks[i].Rank)
	}
	return o
}

// WriteJob writes the verdict on a job of several recordings as one object: the object of a
// verdict with the combined results of the ranks.
func WriteJob(w io.Writer, j judge.Job, members []judge.Member, plan advise.Plan) error {
	return WriteObject(w, diagnosis{describe(members[j.Lead].Run, j.Verdict, plan), jobJSON(j, members)})
}
