package replay

import (
	"math"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// job is eight ranks of which rank 1 computes longer; all meet in an all-reduce in each
// step, and in an exchange of embeddings.
func job(name string) *machine {
	m := newMachine()
	var ranks []*host
	for range 8 {
		ranks = append(ranks, m.rank())
	}
	for range 8 {
		for r, h := range ranks {
			h.kernel(8000)
			if r == 1 {
				h.kernel(11_000)
			}
		}
		met(ranks, 900, name)
		for _, h := range ranks {
			h.sync()
			h.step()
		}
	}
	return m
}

// met is meet with a name of its own.
func met(ranks []*host, us float64, name string) {
	before := len(ranks[0].m.t.Device.Start)
	meet(ranks, us)
	w := &ranks[0].m.t.Device
	for i := before; i < len(w.Start); i++ {
		w.Name[i] = ranks[0].m.name(name)
	}
}

// only keeps one rank's events.
func only(m *machine, rank int32) *recording.Run {
	run := m.done()
	t := run.Timeline
	out := *t
	out.Host, out.Device = recording.Calls{}, recording.Work{}
	place := map[int32]int32{}
	h := &t.Host
	for i := range h.Start {
		if h.Thread[i] != rank {
			continue
		}
		place[int32(i)] = int32(len(out.Host.Start))
		c := &out.Host
		c.Start, c.End, c.Name = append(c.Start, h.Start[i]), append(c.End, h.End[i]), append(c.Name, h.Name[i])
		c.Thread, c.Kind = append(c.Thread, h.Thread[i]), append(c.Kind, h.Kind[i])
		c.Shapes, c.Types = append(c.Shapes, -1), append(c.Types, -1)
	}
	d := &t.Device
	for i := range d.Start {
		if d.Device[i] != rank {
			continue
		}
		w := &out.Device
		w.Start, w.End, w.Name = append(w.Start, d.Start[i]), append(w.End, d.End[i]), append(w.Name, d.Name[i])
		w.Device, w.Stream, w.Kind = append(w.Device, rank), append(w.Stream, d.Stream[i]), append(w.Kind, d.Kind[i])
		w.Call, w.Bytes, w.Group = append(w.Call, place[d.Call[i]]), append(w.Bytes, -1), append(w.Group, -1)
		w.Blocks, w.Threads = append(w.Blocks, 0), append(w.Threads, 0)
		w.PerSM, w.Occupancy = append(w.PerSM, float32(math.NaN())), append(w.Occupancy, float32(math.NaN()))
	}
	kept := recording.Run{Timeline: &out}
	for _, s := range run.Steps {
		if s.Rank == int(rank) {
			kept.Steps = append(kept.Steps, s)
		}
	}
	return &kept
}

const allReduce, allToAll = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "ncclDevKernel_SendRecv(x)"

// Inference exchanges activations, not gradients: twice the batch takes twice the exchange.
func TestExchangesGrowWithTheBatchOfInference(t *testing.T) {
	for _, learns := range []bool{false, true} {
		run := job(allReduce).done()
		if learns {
			run.Timeline.Names = append(run.Timeline.Names, "Optimizer.step#SGD.step")
		}
		all := ready(t, run)
		exchange := 1 - 19.0/19.9 // of a step
		got, want := all.Forecast(Edit{Batch: 2}).Speedup.Point, 1.0
		if learns {
			want = 2 / (2 - exchange)
		}
		if math.Abs(got-want) > 0.01 {
			t.Errorf("learns %t: %.3fx, want %.3fx", learns, got, want)
		}
	}
}

// What one rank's file shows of a collective is mostly waiting for others: what exchanging
// less often is worth, the files of all ranks tell.
func TestAccumulationOfALoneRank(t *testing.T) {
	all := ready(t, job(allReduce).done()).Forecast(Edit{Accumulate: 4})
	if all.Speedup.Point > 1.06 || math.IsNaN(all.Speedup.Point) {
		t.Errorf("of all ranks: %v, want 1.03x", all.Speedup)
	}
	lone := ready(t, only(job(allReduce), 0))
	f := lone.Forecast(Edit{Accumulate: 4})
	if f.Speedup.Low > 1 || !math.IsNaN(f.Speedup.Point) || f.Speedup.High < all.Speedup.High {
		t.Errorf("of one rank: %v, want at most, and what all ranks tell within", f.Speedup)
	}
	if batch := lone.Forecast(Edit{Batch: 2}); batch.Speedup.Low > 1.05 {
		t.Errorf("twice the batch, of which the others take twice as long: %v", batch.Speedup)
	}
}

// An exchange of activations or embeddings takes place in every micro-step.
func TestAccumulationLeavesOtherExchanges(t *testing.T) {
	f := ready(t, job(allToAll).done()).Forecast(Edit{Accumulate: 4})
	if f.Speedup.High > 1.03 {
		t.Errorf("all_to_all is left out by accumulation: %v", f.Speedup)
	}
}
