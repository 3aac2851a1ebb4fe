package rules

import (
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
)

var noLoad = Rule{
	Class: diagnose.NoLoad,
	Title: "Nobody asks for much of the time",
	Text: "The server has no request to answer, and keeps up with those that come. That it idles is no fault: it " +
		"has capacity left.",
	Limits: "Requests that wait before the server, in a proxy or a client, are not seen.",
	check: func(c *inquiry) float64 {
		c.because(c.NobodyAsks.Evidence)
		return c.yes(c.NobodyAsks)
	},
}

var batchTooSmall = Rule{
	Class: diagnose.BatchTooSmall,
	Title: "A pass takes few of the requests that wait",
	Text: "Several requests are there at a time, and the model is called with one or few of them. A pass of several " +
		"takes little longer, up to a size.",
	Limits: "How much longer a larger pass takes was not measured: one that takes longer in proportion brings nothing.",
	check: func(c *inquiry) float64 {
		c.because(c.PassesSmall.Evidence)
		small := c.yes(c.PassesSmall)
		if c.Shares.Copy > mostlyCopies {
			small *= 1 - c.yes(c.CopiesTakeTime)
		}
		return small
	},
	// what the host does for each pass is done for several requests as well
	most: func(c *inquiry) float64 { return c.FewerPasses },
}

// jobsTitle and jobsText are said of a worker that takes jobs from a queue.
const (
	jobsTitle = "A pass takes few jobs, and the next one is there at once"
	jobsText  = "The program takes jobs over a connection and gives the model one or few at a time. A pass of several takes " +
		"little longer, up to a size. It seldom waits for a job, so others wait in the queue."
)

// mostlyCopies is the share of a pass that copies alone take, from which they come before the size of passes: a larger
// one may copy as much for each request. [J]
const mostlyCopies = 0.4

var serverHost = Rule{
	Class: diagnose.ServerHost,
	Title: "The host's work for requests keeps the model waiting",
	Text: "Requests are there, and threads of the server work for them before, between or after passes of the model, " +
		"which waits meanwhile.",
	Limits: "Looks at stacks tell the line. Native code counts for the line of Python that called it.",
	check: func(c *inquiry) float64 {
		c.because(c.HostServes.Evidence)
		return c.yes(c.HostServes) * c.weighLead(c.Parts.Long)
	},
	refine: func(c *inquiry) diagnose.Class {
		if line, found := c.LoopLines.FirstWork(); found && line.Kind == diagnose.Tokenizes {
			return diagnose.Tokenizing
		}
		return diagnose.ServerHost
	},
	most: func(c *inquiry) float64 { return withoutPart(c, c.Parts.Long) },
}

var serverWaits = Rule{
	Class: diagnose.ServerWaits,
	Title: "Requests wait, and nobody works for them",
	Text: "Requests are there and the model waits, but no thread of the server is on a core: they wait for a lock, a timer, a " +
		"batch that fills, or another service.",
	Limits: "A service on another machine that is asked looks like a timer.",
	check: func(c *inquiry) float64 {
		c.because(c.NobodyWorks.Evidence)
		return c.yes(c.NobodyWorks) * c.weighLead(c.Parts.Awaited)
	},
	most: func(c *inquiry) float64 { return withoutPart(c, c.Parts.Awaited) },
}

var cacheFull = Rule{
	Class:  diagnose.CacheFull,
	Title:  "The key-value cache is full",
	Text:   "Memory for the tokens of requests runs out: some are put off, thrown out of the cache, and computed anew later.",
	Limits: "The gain leaves out that a pass takes longer with more requests in it.",
	check: func(c *inquiry) float64 {
		c.because(c.CacheIsFull.Evidence)
		return c.yes(c.CacheIsFull)
	},
	most: func(c *inquiry) float64 { // nothing is computed again, and a pass takes all that wait
		return (1 + c.Requests.Preempted) * max(1, stat.Or(c.FewerPasses, 1))
	},
}

// withoutPart is how many more requests a server answers at most if a part of the time that it is asked is not lost.
func withoutPart(c *inquiry, part float64) float64 {
	asked := 1 - c.Parts.Unasked
	return asked / max(asked-part, (1-mostRemoved)*asked)
}

// mostRemoved is the share of the time that a bound is drawn for. [J] The rest was not measured as well.
const mostRemoved = 0.99
