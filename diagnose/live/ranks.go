package live

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Of ranks in one recording a device that is waiting in a collective seems as busy as one
// that computes: some kernel runs. What tells them apart is how much of the device is at
// work (SM activity), else its power.
const (
	LooksBusy    = 0.9  // utilisation from which a device seems busy
	RanksApart   = 0.2  // of the device: how much more the late one is at work than the others
	idleWaiting  = 0.5  // SM activity below which a busy device is mostly waiting (NVIDIA calls it likely ineffective)
	waitingPower = 0.35 // of the limit: the same by power
	busyNetwork  = 0.5  // of an interface's speed
)

// measureEffort is how much of a device is at work, by SM activity, else by power over its
// limit; NaN unknown. least is the value below which it is mostly waiting.
func (l filler) measureEffort(device int) (share, least float64, what string) {
	if s := l.meanLevel(recording.GPUActive, device); !math.IsNaN(s) {
		return s, idleWaiting, "of its multiprocessors at work"
	}
	for _, g := range l.run.Facts.GPUs {
		if g.Index == device {
			return l.meanLevel(recording.GPUPower, device) / stat.Value(g.PowerLimit), waitingPower,
				"of its power limit drawn"
		}
	}
	return math.NaN(), waitingPower, ""
}

// MeasureEffort is how much of a device is at work in a window; NaN unknown.
func MeasureEffort(run *recording.Run, w recording.Window, device int) float64 {
	l := filler{Case: diagnose.NewCase(), run: run}
	l.From, l.To = w.Start, w.End
	effort, _, _ := l.measureEffort(device)
	return effort
}

// rankOnDevice is one rank of a job in one recording, and how busy its device seems.
type rankOnDevice struct {
	Rank, Device int
	Busy         float64
}

// listRanks are the ranks of the judged job that compute on a device: those whose steps are
// known, else those whose processes hold one.
func (l filler) listRanks() (ranks []rankOnDevice) {
	for _, k := range l.trainers {
		if p := l.run.FindProcess(k.Window.PID); p != nil && p.World > 1 {
			ranks = append(ranks, rankOnDevice{k.Window.Rank, p.Device, k.Busy})
		}
	}
	if len(l.trainers) > 0 {
		return ranks
	}
	for _, p := range l.run.Facts.Processes {
		if p.Role == recording.RoleTrainer && p.World > 1 && p.Device >= 0 {
			ranks = append(ranks, rankOnDevice{p.Rank, p.Device, l.measureKernels(p.Device)})
		}
	}
	return ranks
}

// compareRanks fills in whether one rank is late, and whether the exchange between them
// is the limit, where the devices of several ranks tell.
func (l filler) compareRanks() {
	l.RankLateBy = math.NaN()
	var ranks []rankOnDevice
	var efforts []float64
	least, what := 0.0, ""
	all := l.listRanks()
	if l.SeveralRanks = len(all) > 0; !l.SeveralRanks {
		return
	}
	for _, r := range all {
		if !(r.Busy >= LooksBusy) {
			return // an idle device alone tells more of its rank
		}
		share, bound, of := l.measureEffort(r.Device)
		if math.IsNaN(share) {
			efforts = nil
			break
		}
		ranks, efforts, least, what = append(ranks, r), append(efforts, share), bound, of
	}
	if len(efforts) > 0 {
		l.fillOneLate(ranks, efforts, what)
		l.fillAllWait(efforts, least, what)
	}
	l.fillUntimed(efforts)
}

// fillUntimed is whether ranks that look busy exchange so much that some of it may run alone,
// which neither the hook timed nor full multiprocessors rule out.
func (l filler) fillUntimed(efforts []float64) {
	if in, ok := sumInsides(l.Costs.Window); ok && in.exchange > 0 {
		return
	}
	name, use, both := l.findNetwork()
	if !both {
		return
	}
	q := diagnose.AskShareOr(0, "Do ranks exchange much, with nothing that tells how long computing waits for it?",
		use, diagnose.ExchangeOnNetwork, "PyTorch hides a part of it behind kernels").
		WithEvidence(use, "ratio", string(recording.NetSent),
			"%s is used %s of what it can by the exchange between ranks, and how long kernels wait for it is not "+
				"timed: a profiler trace tells", name, quantity.Percent(min(1, use)))
	if len(efforts) > 0 {
		q.Score *= diagnose.RoomForExchange.Score(slices.Max(efforts))
	}
	l.ExchangeUntimed = q
}

// fillOneLate is whether one rank is at work while the others wait for it: by how much less
// they are at work is by how much of the time they wait.
func (l filler) fillOneLate(ranks []rankOnDevice, efforts []float64, what string) {
	if len(efforts) < 2 {
		return
	}
	most := slices.Max(efforts)
	at := slices.Index(efforts, most)
	others := stat.Mean(slices.Delete(slices.Clone(efforts), at, at+1))
	late := ranks[at].Rank
	answer := fmt.Sprintf("rank %d has %s %s, the others %s", late, quantity.Percent(most), what,
		quantity.Percent(others))
	l.OneRankLate = diagnose.AskShare("Do the other ranks wait for one, though all devices look busy?",
		(most-others)/most, diagnose.RankLate, "").
		WithEvidence(most-others, "ratio", string(recording.GPUActive),
			"all devices look busy, but %s: they wait for rank %d in collectives", answer, late)
}

// fillAllWait is whether all ranks wait in collectives while an interface is busy.
func (l filler) fillAllWait(efforts []float64, least float64, what string) {
	most := slices.Max(efforts)
	name, use, both := l.findNetwork()
	waits := most < least && use >= busyNetwork && both
	if waits {
		l.Parts.Exchange = l.Util * (1 - most) // of the time in which the device seems busy
	}
	l.CollectivesRunAlone = diagnose.AskFact("Do all devices wait for the exchange between ranks?", waits,
		fmt.Sprintf("at most %s %s", quantity.Percent(most), what)).
		WithEvidence(most, "ratio", string(recording.GPUActive),
			"some kernel runs nearly all the time, but there is at most %s %s: a kernel that waits for other ranks "+
				"counts as running", quantity.Percent(most), what).
		WithEvidence(use, "ratio", string(recording.NetSent), "%s is used %s of what it can", name,
			quantity.Percent(min(1, use)))
}

// findNetwork is the interface that is used most, how much of it, and whether it sends about
// as much as it receives, as ranks do and readers of a data set do not.
func (l filler) findNetwork() (name string, use float64, both bool) {
	use = math.NaN()
	for _, s := range l.run.All(recording.NetReceived) {
		speed := l.run.Facts.Machine.NetSpeed[s.Subject]
		in, out := s.Rate(l.From, l.To), l.run.Find(recording.NetSent, s.Subject).Rate(l.From, l.To)
		if u := max(in, out) / speed; speed > 0 && !(u <= use) {
			name, use, both = s.Subject[len("net/"):], u, min(in, out) >= diagnose.BothWays*max(in, out)
		}
	}
	return name, use, both
}
