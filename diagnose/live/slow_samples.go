package live

import (
	"fmt"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// askFewSlow asks whether few fetches take far longer than the others.
func (l filler) askFewSlow() diagnose.Quantity {
	k := l.Costs
	if !(k.FetchCV > 0) || k.Workers == 0 || k.Feed != nil {
		return diagnose.Quantity{}
	}
	if k.FetchSlow < diagnose.SlowOfWait*stat.Or(k.Idle, k.Wait) {
		return diagnose.Quantity{} // they differ, and the loop waits for all of them
	}
	q := diagnose.AskShare("Do few samples take far longer than the others?", k.FetchCV, diagnose.FewSlow, "").
		WithEvidence(k.FetchCV, "ratio", string(recording.FetchWallSquares),
			"preparing a batch takes %s in the mean, and differs by %.1f times that (standard deviation)",
			quantity.AboutSeconds(k.Fetch), k.FetchCV)
	q.Answer = fmt.Sprintf("%s, %.1f times the mean", diagnose.YesNo(q.Score), k.FetchCV)
	slow := l.run.FindSlowItems(k.Window.PID)
	if len(slow.Items) > 0 {
		q = q.WithEvidence(float64(slow.Items[0]), "index", "fetch.slow", "%s",
			diagnose.SaySlowItems(slow, l.nameDataset()))
	}
	return q
}

// nameDataset is the class of the judged loader's data set; "the data set" where that is unknown.
func (l filler) nameDataset() string {
	if d := l.run.FindLoader(l.Costs.Window.PID, l.Costs.Window.Loader); d != nil && d.Dataset != "" {
		return d.Dataset
	}
	return "the data set"
}
