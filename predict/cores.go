package predict

import (
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict/bounds"
)

// coresFor returns how many cores so many busy threads of the job get next to the machine's
// other users: what those leave, and no less than a fair share, as a kernel gives threads
// of one priority. The optimist sees half of the others go, the pessimist expects that
// twice as many of them would run if they could.
func (p *numbers) coresFor(v bounds.View, threads float64) float64 {
	others := p.others * [...]float64{0.5, 1, 1}[v]
	if others == 0 {
		return p.cores[v]
	}
	waiting := [...]float64{0.5, 1, 2}[v] * p.others
	return max(p.cores[v]-others, p.cores[v]*threads/(threads+waiting))
}

// CoresGot returns how many cores the job likely gets with that many workers; NaN unknown.
func (s Setup) CoresGot(workers float64) float64 {
	s = s.WithWorkers(workers)
	p, err := s.compile()
	if err != nil {
		return math.NaN()
	}
	return p.coresFor(bounds.Likely, p.threads[bounds.Likely])
}

// othersCount reports whether the machine's other users take so much of it that they count.
func othersCount(others, cores float64) bool { return others > 0.1*cores }

// coreShare returns the part of a core that each of the job's threads gets while all of them
// want one.
func (p *numbers) coreShare(v bounds.View) float64 {
	if threads := p.threads[v]; p.cores[v] > 0 && threads > 0 {
		return min(1, p.coresFor(v, threads)/threads)
	}
	return 1
}

// keptBusy returns the share of the cores that PyTorch's workers use where these are the limit.
func (p *numbers) keptBusy(v bounds.View) float64 {
	if p.workers == 0 || p.feeds || !(p.cores[v] > 2) {
		return 1
	}
	return 1 - v.PickCost(unfilled)
}

// launchDelay returns for how long launching a step blocks on a core next to other users.
func (p *numbers) launchDelay(v bounds.View) float64 {
	if share := p.coreShare(v); p.others > 0 && share < 1 {
		return orNone(p.launch[v]) * (1/share - 1)
	}
	return 0
}

// threadsNow returns how many of the job's threads want a core at the same time: the launching
// threads, and the workers that do not wait for a read.
func (p *numbers) threadsNow(v bounds.View) float64 {
	busy := 1.0
	if p.workers > 0 {
		if work := p.batch * p.prepare[v]; work > 0 {
			_, alone := p.readTimes(v)
			busy = work / (work + orNone(alone))
		}
		busy = 1 + p.workers*busy
	}
	return p.gpus * busy
}

// beside returns the core time of a step that is not spent on its batch. A spinning thread uses
// less if it is off its core. The pessimistic view does not count on that, and it was not seen
// next to other threads (bench/gains/RESULTS.md).
func (p *numbers) beside(t times, v bounds.View) float64 {
	spin, share := orNone(p.spin[v]), p.coreShare(v)
	if math.IsNaN(p.loopCPU[v]) {
		spin = v.PickCost(spinning) * orNone(p.loopTime(t, v))
	}
	if v == bounds.Pessimist || v == bounds.Likely && othersCount(p.others, p.cores[bounds.Likely]) {
		share = 1
	}
	return orNone(p.loopCPU[v]) + spin*share
}

// queueing returns how much longer a batch takes because its process waits for a core. It is the
// measured wait, reduced in proportion if fewer threads want a core. If more of them do, the
// cores' own part of the path counts it.
func (p *numbers) queueing(v bounds.View) float64 {
	if !(p.crowd > 0) {
		return p.queue[v]
	}
	return 1 + (p.queue[v]-1)*min(1, p.crowdingExcess()/p.crowd)
}

// crowdingExcess returns by how much more threads want a core than there are cores.
func (p *numbers) crowdingExcess() float64 {
	return max(0, (p.threads[bounds.Likely]+p.others)/p.cores[bounds.Likely]-1)
}

// Crowding returns the factor by which a core slows down when its neighbours come into
// use.
func Crowding() stoker.Interval { return crowding }

// slowing returns by how much a core slows down when all workers run.
func (p *numbers) slowing(v bounds.View) float64 {
	busy := p.gpus * (p.workers + 1)
	if busy <= 2 {
		return 1
	}
	return v.TakePart(crowding) * slowTogether(v, min(busy, p.coresFor(v, busy)), p.phys)
}

// slowTogether returns by how much that many busy threads slow each other down on so many
// physical cores; 1 where those are not known.
func slowTogether(v bounds.View, busy, physical float64) float64 {
	if physical <= 0 || !(busy > physical) {
		return 1
	}
	gain := stoker.Interval{Low: sibling.High, Point: sibling.Point, High: sibling.Low} // the optimist gains most
	return busy / (physical + v.PickCost(gain)*(busy-physical))
}
