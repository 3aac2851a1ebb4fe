package advise

import (
	"fmt"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
)

// outOfOrder proposes to give batches as they get ready, if few slow ones hold the others up. On a
// machine whose cores others use any fetch is slow now and then: another order helps no sample there.
func (a adviser) outOfOrder() (Fix, string) {
	inOrder, known := a.base.Settings.Bool(stoker.InOrder)
	if a.verdict.Class != diagnose.SlowSamples || !known || !inOrder || a.costs.Workers < 2 || a.queuesAtLock() {
		return Fix{}, ""
	}
	fix := Fix{
		Name: string(stoker.InOrder), Title: "give batches as they get ready: few slow ones hold the others up",
		Effort: Flag, Risk: SeedRisk, Cause: true,
		Mind: "whether training may see batches in another order from run to run",
	}
	if l := a.judgedLoader(); a.costs.EpochSteps > 0 || l != nil && !l.Iterable {
		fix.Mind += ": each is still seen once an epoch"
	}
	fix.Changes = []stoker.Change{a.makeChange(stoker.InOrder, false)}
	fix.Forecast = a.forecast(fix.Changes...)
	fix.Notes = []string{fmt.Sprintf("preparing a batch takes %s in the mean, and differs by %.1f times that (standard "+
		"deviation): few take very long, and the batches behind them wait", quantity.AboutSeconds(a.costs.Fetch), a.costs.FetchCV)}
	if slow := a.run.FindSlowItems(a.costs.Window.PID); len(slow.Items) > 0 {
		items := diagnose.SaySlowItems(slow, a.judgedLoader().Dataset)
		fix.Notes = append(fix.Notes, "better: mend what is slow. "+items)
	}
	if len(a.verdict.Lines) > 0 {
		fix.Notes = append(fix.Notes, "or find what is slow about these samples and mend it, at "+a.verdict.Lines[0].String())
	}
	return fix, ""
}
