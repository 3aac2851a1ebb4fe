package rules

import (
	"github.com/stoker-dev/stoker/diagnose"
)

var cpuExhausted = Rule{
	Class: diagnose.CPUExhausted,
	Title: "The cores are used up",
	Text:  "Preparing batches takes more core time than the job's cores have: more workers only queue for them.",
	Limits: "Cores are what affinity mask and quota allow. If loading mostly waits for something else, full " +
		"cores are not its limit.",
	check: func(c *inquiry) float64 {
		if !c.LoadingLacksCores.CanBeAsked() {
			return 0
		}
		return c.coresRunOut() * c.no(c.QuotaTakesCores) * c.no(c.OthersTakeCores)
	},
}

// coresRunOut is whether the device starves because loading gets no core; whoever has
// the cores.
func (c *inquiry) coresRunOut() float64 {
	starved := c.yes(c.InputShort)
	busy := 1.0
	if c.Costs.Workers > 0 {
		busy = c.yes(c.WorkersSaturated)
	}
	disk := c.yes(c.LoadingWaitsForStorage)
	full := c.yes(c.LoadingLacksCores)
	c.because(c.InputShort.Evidence, c.LoadingLacksCores.Evidence)
	if c.Costs.Workers > 0 {
		c.because(c.WorkersSaturated.Evidence)
	}
	c.because(c.FetchEvidence)
	return starved * busy * (1 - disk) * full
}
