package live

import (
	"math"
	"regexp"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
)

// takesMessage matches functions that take what came over a connection, by how clients of queues call them. [J]
var takesMessage = regexp.MustCompile(`(?i)read|recv|receive|pop|fetch|drain|consum|poll|dequeue|reserve|(?:^|[._])get`)

// fillWorker fills in whether jobs wait for a worker of a queue, which counts no requests: one that seldom waits for
// its next job leaves others waiting.
func (l filler) fillWorker() {
	if l.Requests.Known() || !l.HasUnfedSteps || l.Grounds.Program != diagnose.Inference || math.IsNaN(l.Util) {
		return
	}
	take, waits, found := l.waitForJobs()
	if !found {
		return
	}
	batch := l.Costs.Window.Samples()
	q := diagnose.AskShare("Is the next job nearly always there at once?", 1-waits, diagnose.JobsAtOnce,
		"how many jobs wait is not seen, only that the worker does not").
		WithEvidence(batch, "samples", "step.samples",
			"a pass of the model takes %s of the jobs that come over a connection, and the worker waits for the next one %s of the "+
				"time, at %s", quantity.About(batch), quantity.Percent(waits), take.String()).
		AddMeter(l.Case, l.Util, "some kernel runs %s of the time", quantity.Percent(l.Util))
	q.Score *= diagnose.SmallPass.Score(batch) * diagnose.DeviceAsked.Score(l.Util)
	l.PassesSmall = q
}

// waitForJobs is the program's line that takes what comes over a connection, and the share of the looks in which it
// waits there; false without one.
func (l filler) waitForJobs() (take diagnose.LoopLine, share float64, found bool) {
	if !(l.LoopLines.Looks >= diagnose.FewLooks) {
		return take, 0, false
	}
	for _, line := range l.LoopLines.Lines {
		if line.Kind != diagnose.Uploading || line.Own.File == "" || !takesMessage.MatchString(line.Call.Function) {
			continue
		}
		if share += line.Asleep / l.LoopLines.Seconds; !found {
			take, found = line, true
		}
	}
	return take, share, found
}
