package serve

import (
	"encoding/json"

	"github.com/stoker-dev/stoker/feed"
)

// batchOf returns the announcement of a batch. bad is how many samples of the epoch were bad up
// to its end.
func batchOf(f *slotFill, bad int) *batch {
	m := &batch{
		Type: "batch", Run: f.run.number, Epoch: f.passage.epoch, Step: f.step, Slot: f.slot, Count: f.batch.Count,
		Mask: f.batch.Mask, Consumed: f.batch.Consumed, BadSoFar: bad,
	}
	m.Times = times{f.batch.Stages, f.batch.Finished.Sub(f.since).Seconds()}
	m.Bad = fitting(f.batch.Bad, maxPacket/4)
	m.BadMore, m.Inexact = len(f.batch.Bad)-len(m.Bad), len(f.batch.Inexact)
	digest, samples := f.batch.Own()
	m.Digest, m.Samples = digest.String(), samples
	return m
}

// endPacket returns the report of an epoch. It names the inexact samples. Bad ones are only
// counted, since they were named with their batches.
func endPacket(r *startRequest, p *passage, report feed.Report) *endAnswer {
	return &endAnswer{Type: "end", Run: r.number, Epoch: p.epoch, Report: account{
		From: p.from, Samples: report.Samples, Digest: report.Digest.String(), Expected: report.Expected.String(),
		ExactlyOnce: exactlyOnce(p, report),
		Bad:         report.Bad, Inexact: report.Inexact, First: fitting(report.First, maxPacket/2),
	}}
}

// exactlyOnce does not claim success for an epoch that this daemon did not serve from its
// beginning.
func exactlyOnce(p *passage, report feed.Report) *bool {
	if p.from > 0 && report.ExactlyOnce != nil && *report.ExactlyOnce {
		return nil
	}
	return report.ExactlyOnce
}

// fitting returns the first items of a list, as many as fit into the given number of bytes of
// JSON. Paths can be long, and a packet is limited.
func fitting[T any](list []T, bytes int) []T {
	for i, item := range list {
		text, err := json.Marshal(item)
		bytes -= len(text) + 1
		if err != nil || bytes < 0 {
			return list[:i]
		}
	}
	return list
}
