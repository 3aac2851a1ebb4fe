package diagnose

import (
	"fmt"
	"math"
	"strings"

	"stoker/diagnose/idle"
)

var networkBound = Rule{
	Class:  NetworkBound,
	Title:  "The exchange between ranks is the limit",
	Text:   "Collectives run alone: nothing computes while gradients or activations are exchanged.",
	Limits: "A rank that waits in a collective for a slower rank looks the same; the traces of all ranks tell the two apart.",
	Check: func(c *Case) float64 {
		t := c.traced
		if t == nil {
			return 0
		}
		// torch-tb-profiler warns above 10 %, XProf calls 3 to 15 % moderate.
		alone := c.ask("Do collectives run without computation beside them?", t.comm, 0.05, 0.12, "")
		c.because(t.comm, "ratio", "trace.communication", "collectives run alone or are waited for %s of the window", percent(t.comm))
		c.gapEvidence()
		return alone * t.rival(t.comm) * t.besideInput() * (1 - c.lagging())
	},
}

var straggler = Rule{
	Class:  StragglerRank,
	Title:  "One rank is late, the others wait for it",
	Text:   "The ranks spend very different times in collectives: the one that spends least arrives last, and all others wait.",
	Limits: "Needs the traces of the ranks of one run, of the same steps.",
	Check: func(c *Case) float64 {
		late := c.lagging()
		if late > 0 {
			least, most := c.slowest()
			c.because(most.share-least.share, "ratio", "trace.ranks", "rank %d waits in collectives %s of its window, rank %d only %s: rank %d comes last",
				most.rank, percent(most.share), least.rank, percent(least.share), least.rank)
			c.gapEvidence()
		}
		if c.traced == nil {
			return 0
		}
		return late * c.traced.besideInput() // why it is late says more than that it is
	},
}

// lagging scores that a rank is late. TraceML warns at a difference of a tenth of
// the step and calls a fifth critical.
func (c *Case) lagging() float64 {
	if c.traced == nil || len(c.traced.all.Devices) < 2 {
		return 0
	}
	least, most := c.slowest()
	if least.rank == most.rank {
		return 0
	}
	return c.ask("Do ranks differ in how long they wait in collectives?", most.share-least.share, 0.10, 0.20,
		fmt.Sprintf("rank %d least, rank %d most", least.rank, most.rank))
}

type rankShare struct {
	rank  int
	share float64
}

// slowest are the ranks with least and most time alone in collectives.
func (c *Case) slowest() (least, most rankShare) {
	least.share, most.share = math.Inf(1), math.Inf(-1)
	for i := range c.traced.all.Devices {
		d := &c.traced.all.Devices[i]
		if d.Process < 0 || d.Window() == 0 {
			continue
		}
		share := d.Share(d.Communication + d.Causes[idle.Communication])
		rank := c.traced.all.Processes[d.Process].Rank
		if share < least.share {
			least = rankShare{rank, share}
		}
		if share > most.share {
			most = rankShare{rank, share}
		}
	}
	if math.IsInf(least.share, 1) {
		return rankShare{}, rankShare{}
	}
	return least, most
}

// tracedRanks compares the devices of a trace with several ranks.
func (c *Case) tracedRanks() string {
	var parts []string
	seen := map[int]bool{}
	for i := range c.traced.all.Devices {
		d := &c.traced.all.Devices[i]
		if d.Process < 0 || d.Window() == 0 {
			continue
		}
		rank := c.traced.all.Processes[d.Process].Rank
		seen[rank] = true
		parts = append(parts, fmt.Sprintf("rank %d waits for input %s, idle %s, alone in collectives %s", rank,
			percent1(d.Share(d.Causes[idle.DataLoader])), percent1(d.Share(d.Idle)), percent1(d.Share(d.Communication+d.Causes[idle.Communication]))))
	}
	if len(seen) < 2 {
		return ""
	}
	const most = 8 // ranks in a sentence; the table of ranks has them all
	more := ""
	if len(parts) > most {
		parts, more = parts[:most], fmt.Sprintf(" and %d more", len(parts)-most)
	}
	return fmt.Sprintf("%d ranks were recorded; rank %d is the one judged: %s%s. A rank that waits in a collective for a starved one is not itself starved.",
		len(seen), c.rank(c.traced.d), strings.Join(parts, "; "), more)
}
