package diagnose

import (
	"fmt"
	"math"
	"strings"

	"stoker/diagnose/idle"
	"stoker/diagnose/ranks"
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
	Text:   "Collectives end on all ranks together: one rank comes last to them, and all others wait.",
	Limits: "Needs the traces of the ranks of one run, of the same steps.",
	Check: func(c *Case) float64 {
		late := c.lagging()
		if late > 0 {
			c.lateEvidence()
			c.gapEvidence()
		}
		if c.traced == nil {
			return 0
		}
		return late * c.traced.besideInput() // why it is late says more than that it is
	},
}

// Late by a tenth of the step is TraceML's warning, by a fifth critical.
const lateLow, lateHigh = 0.10, 0.20

// lagging scores that a rank is late: by its collectives, where they were found on
// several ranks, else by how much of their windows ranks spend in collectives.
func (c *Case) lagging() float64 {
	if c.traced == nil || len(c.traced.all.Devices) < 2 {
		return 0
	}
	if c.traced.matched() {
		share, note := c.traced.late(), "none comes last to most"
		if s, found := c.traced.straggler(); found {
			note = fmt.Sprintf("rank %d comes last", s.Rank)
		}
		return c.ask("Do the other ranks wait in collectives for one that comes last?", share, lateLow, lateHigh, note)
	}
	least, most := c.slowest()
	if least.rank == most.rank {
		return 0
	}
	return c.ask("Do ranks differ in how long they wait in collectives?", most.share-least.share, lateLow, lateHigh,
		fmt.Sprintf("rank %d least, rank %d most", least.rank, most.rank))
}

// matched reports whether collectives were found on several ranks.
func (t *traced) matched() bool { return t.ranks != nil && t.ranks.Matched > 0 }

// straggler is the rank that the others wait for.
func (t *traced) straggler() (ranks.Rank, bool) {
	if !t.matched() || t.ranks.Straggler < 0 {
		return ranks.Rank{}, false
	}
	return t.ranks.Ranks[t.ranks.Straggler], true
}

// late is the share of its window that the others wait for the straggler, 0
// without one.
func (t *traced) late() float64 {
	s, found := t.straggler()
	if !found {
		return 0
	}
	return min(1, s.Delayed/max(1e-9, seconds(t.all.Devices[s.Device].Window())))
}

// lateEvidence names the rank that comes last, and why it does.
func (c *Case) lateEvidence() {
	s, found := c.traced.straggler()
	if !found {
		least, most := c.slowest()
		c.because(most.share-least.share, "ratio", "trace.ranks", "rank %d waits in collectives %s of its window, rank %d only %s: rank %d comes last",
			most.rank, percent(most.share), least.rank, percent(least.share), least.rank)
		return
	}
	c.because(c.traced.late(), "ratio", "trace.ranks", "rank %d comes last to %d of %d collectives: the other ranks wait %s for it, %s of the window",
		s.Rank, s.Last, s.Arrived, ms(s.Delayed), percent(c.traced.late()))
	why := fmt.Sprintf("its kernels run %s of its window, and its device is idle %s", percent1(s.Kernel), percent1(s.Idle))
	if s.CauseShare > 0 {
		why += fmt.Sprintf(", mostly for %s (%s)", s.Cause, percent1(s.CauseShare))
	}
	for _, other := range c.traced.ranks.Ranks {
		if other.Rank != s.Rank {
			why += fmt.Sprintf("; kernels of rank %d run %s", other.Rank, percent1(other.Kernel))
			break
		}
	}
	c.because(s.Kernel, "ratio", "trace.late", "why rank %d is late: %s", s.Rank, why)
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
	text := fmt.Sprintf("%d ranks were recorded; rank %d is the one judged: %s%s", len(seen), c.rank(c.traced.d), strings.Join(parts, "; "), more)
	if s, found := c.traced.straggler(); found {
		return text + fmt.Sprintf(". Rank %d comes last to %d of %d collectives, and the others wait %s for it: their time in collectives is not the network's.",
			s.Rank, s.Last, s.Arrived, ms(s.Delayed))
	}
	return text + "."
}
