package traced

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker/quantity"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/ranks"
)

// askOneRankLate scores that a rank is late: by its collectives, if they were found on
// several ranks, else by how much of their windows ranks spend in collectives.
func (t *filler) askOneRankLate() diagnose.Quantity {
	if len(t.all.Devices) < 2 {
		return diagnose.Quantity{}
	}
	if t.hasMatched() {
		note := "none comes last to most"
		s, found := t.findStraggler()
		if found {
			note = fmt.Sprintf("rank %d comes last", s.Rank)
		}
		q := diagnose.AskShare("Do the other ranks wait in collectives for one that comes last?", t.measureLate(),
			diagnose.RankLate, note)
		if found {
			q.Evidence = t.describeLate(s)
		}
		return q
	}
	least, most := t.findExtremes()
	if least.rank == most.rank {
		return diagnose.Quantity{}
	}
	apart := most.share - least.share
	return diagnose.AskShare("Do ranks differ in how long they wait in collectives?", apart, diagnose.RankLate,
		fmt.Sprintf("rank %d least, rank %d most", least.rank, most.rank)).
		WithEvidence(apart, "ratio", "trace.ranks",
			"rank %d waits in collectives %s of its window, rank %d only %s: rank %d comes last",
			most.rank, quantity.Percent(most.share), least.rank, quantity.Percent(least.share), least.rank)
}

// hasMatched reports whether collectives were found on several ranks.
func (t *filler) hasMatched() bool { return t.ranks != nil && t.ranks.Matched > 0 }

// findStraggler is the rank that the others wait for.
func (t *filler) findStraggler() (ranks.Rank, bool) {
	if !t.hasMatched() || t.ranks.Straggler < 0 {
		return ranks.Rank{}, false
	}
	return t.ranks.Ranks[t.ranks.Straggler], true
}

// measureLate is the share of its window that the others wait for the straggler, 0
// without one.
func (t *filler) measureLate() float64 {
	s, found := t.findStraggler()
	if !found {
		return 0
	}
	return min(1, s.Delayed/max(1e-9, toSeconds(t.all.Devices[s.Device].WindowLength())))
}

// describeLate names the rank that comes last, and why it does.
func (t *filler) describeLate(s ranks.Rank) []diagnose.Evidence {
	list := diagnose.AddEvidence(nil, t.measureLate(), "ratio", "trace.ranks",
		"rank %d comes last to %d of %d collectives: the other ranks wait %s for it, %s of the window",
		s.Rank, s.Last, s.Arrived, quantity.AboutSeconds(s.Delayed), quantity.Percent(t.measureLate()))
	why := fmt.Sprintf("its kernels run %s of its window, and its device is idle %s", quantity.Percent(s.Kernel),
		quantity.Percent(s.Idle))
	if s.CauseShare > 0 {
		why += fmt.Sprintf(", mostly for %s (%s)", s.Cause, quantity.Percent(s.CauseShare))
	}
	for _, other := range t.ranks.Ranks {
		if other.Rank != s.Rank {
			why += fmt.Sprintf(", kernels of rank %d run %s", other.Rank, quantity.Percent(other.Kernel))
			break
		}
	}
	return diagnose.AddEvidence(list, s.Kernel, "ratio", "trace.late", "why rank %d is late: %s", s.Rank, why)
}

type rankShare struct {
	rank  int
	share float64
}

// findExtremes are the ranks with least and most time alone in collectives.
func (t *filler) findExtremes() (least, most rankShare) {
	least.share, most.share = math.Inf(1), math.Inf(-1)
	for i := range t.all.Devices {
		d := &t.all.Devices[i]
		if d.Process < 0 || d.WindowLength() == 0 {
			continue
		}
		share := d.Share(d.Communication - d.Opening + d.Causes[idle.Communication])
		rank := t.all.Processes[d.Process].Rank
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

// describeRanks compares the devices of a trace with several ranks.
func (t *filler) describeRanks() string {
	var parts []string
	seen := map[int]bool{}
	for i := range t.all.Devices {
		d := &t.all.Devices[i]
		if d.Process < 0 || d.WindowLength() == 0 {
			continue
		}
		rank := t.all.Processes[d.Process].Rank
		seen[rank] = true
		parts = append(parts, fmt.Sprintf("Rank %d waits for input %s, idle %s, alone in collectives %s", rank,
			quantity.Percent(d.Share(d.Causes[idle.DataLoader])), quantity.Percent(d.Share(d.Idle)),
			quantity.Percent(d.Share(d.Communication+d.Causes[idle.Communication]))))
	}
	if len(seen) < 2 {
		return ""
	}
	const most = 8 // ranks in a sentence; the table of ranks has them all
	more := ""
	if len(parts) > most {
		parts, more = parts[:most], fmt.Sprintf(" and %d more", len(parts)-most)
	}
	text := fmt.Sprintf("%d ranks were recorded, and rank %d is the one judged. %s%s", len(seen), t.judgedRank(),
		strings.Join(parts, ". "), more)
	if s, found := t.findStraggler(); found {
		return text + fmt.Sprintf(". Rank %d comes last to %d of %d collectives, and the others wait %s for it: "+
			"their time in collectives is not the network's.",
			s.Rank, s.Last, s.Arrived, quantity.AboutSeconds(s.Delayed))
	}
	return text + "."
}
