package rules

import (
	"github.com/stoker-dev/stoker/diagnose"
)

// pipelineText is the text for a framework whose pipeline has its own threads. A file does not say what each one does.
const pipelineText = "The pipeline that prepares batches takes longer than the device's work, which waits for it."

// Said where some workers have no data: these never work.
const (
	idleWorkersTitle = "Only some of the workers have data"
	idleWorkersText  = "Some workers of the loader have no data to prepare, and the device waits for the others, " +
		"which always have a batch to prepare."
)

var tooFewWorkers = Rule{
	Class: diagnose.TooFewWorkers,
	Title: "The workers are the limit",
	Text: "Every worker of the loader always has a batch to prepare and the device waits for them. Cores are " +
		"left for more workers, or these mostly wait for something else than a core.",
	Limits: "Workers that wait for something they share (a lock, a server) do not get faster by being more.",
	check: func(c *inquiry) float64 {
		some := c.yes(c.WorkersLoad)
		starved := c.yes(c.InputShort)
		busy := 1.0
		if c.WorkersSaturated.CanBeAsked() {
			busy = c.yes(c.WorkersSaturated.AskedAs(c.WorkersSaturated.Text,
				"workers that are not the limit park on their index queue"))
		}
		disk := c.yes(c.LoadingWaitsForStorage.AskedAs("Are they waiting for storage?", ""))
		full := c.yes(c.LoadingLacksCores)
		c.because(c.InputShort.Evidence, c.WorkersSaturated.Evidence, c.FetchEvidence, c.WorkersLoad.Evidence)
		return some * starved * busy * (1 - disk) * (1 - full) * c.inputLeads()
	},
}
