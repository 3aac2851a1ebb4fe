package serve

import (
	"encoding/json"
	"errors"

	"github.com/stoker-dev/stoker/feed"
)

// openedOf returns the answer to an open with its descriptors: the ring's, and a memfd with the
// classes if they do not fit into a packet.
func openedOf(s *session) (*opened, []int, error) {
	l := s.share.loader
	spec := l.FullSpec()
	m := &opened{
		Type: "opened", Samples: l.Samples(), Steps: spec.PlanOrder(l.Samples(), spec.Batch).Steps(0),
		Classes: l.Classes(), Manifest: l.Manifest(), Pipeline: l.Pipeline(),
		Ring: ringLayoutOf(s), Notes: fitting(l.Notes(), maxPacket/4),
	}
	ring, err := duplicate(s.ring.File().Fd())
	if err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(m.Classes)
	if err == nil && len(text) <= maxPacket/2 {
		return m, []int{ring}, nil
	}
	classes := -1
	if err == nil {
		classes, err = memfd("stoker-classes", text)
	}
	if err != nil {
		closeDescriptor(ring)
		return nil, nil, errors.Join(errors.New("send the names of the classes"), err)
	}
	m.Classes, m.Bytes = nil, len(text)
	return m, []int{ring, classes}, nil
}

func ringLayoutOf(s *session) ringLayout {
	spec, layout := s.share.loader.FullSpec(), s.share.loader.SlotLayout()
	height, width := s.share.loader.TensorShape()
	images := field{
		Offset: int(layout.Images), Shape: []int{spec.Batch, channels, height, width}, DType: spec.Output.DType,
		Strides: stridesOf(spec, height, width, int(layout.Sample)),
	}
	return ringLayout{
		Bytes: s.ring.Bytes(), Slots: s.ring.Slots(), SlotBytes: s.ring.SlotBytes(), Images: images,
		Labels:  field{Offset: int(layout.Labels), DType: "int64"},
		Indices: field{Offset: int(layout.Indices), DType: "int64"},
	}
}

const channels = 3

// stridesOf returns the distances, in bytes, to the next sample, channel, row and column.
func stridesOf(spec feed.Spec, height, width, sample int) []int {
	item := sample / (channels * height * width)
	if spec.Output.Layout == "channels_last" {
		return []int{sample, item, channels * width * item, channels * item}
	}
	return []int{sample, height * width * item, width * item, item}
}

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

// failureOf tells a client why its session ends, and whether its data are at fault.
func failureOf(why error) failure {
	f := failure{Type: "error", Text: shorten([]byte(why.Error()), maxPacket/8), Fatal: true}
	if kind := feed.KindOf(why); kind != "" {
		f.Kind, f.Hint = string(kind), "the files may be sound, so nothing was put in their place"
	}
	return f
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
