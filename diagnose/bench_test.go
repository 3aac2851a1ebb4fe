package diagnose_test

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace"
)

// BenchmarkJudge judges a public trace of 132,000 events, repeated to about a
// gigabyte of JSON: 18 times one after the other.
func BenchmarkJudge(b *testing.B) {
	const file = "../../shared/traces/kineto/owlv2_h100.json.gz"
	if _, err := os.Stat(file); err != nil {
		b.Skip("the public traces are not here: ", err)
	}
	run, err := trace.Read(context.Background(), []string{file}, trace.Options{})
	if err != nil {
		b.Fatal(err)
	}
	long := repeated(run, 18)
	b.ReportAllocs()
	b.ReportMetric(float64(len(long.Timeline.Host.Start)+len(long.Timeline.Device.Start)+len(long.Timeline.Frames.Start)), "events")
	for b.Loop() {
		judge.Judge(long)
	}
}

// repeated is a run with its Timeline and steps n times in a row.
func repeated(run *recording.Run, n int) *recording.Run {
	long, t := *run, *run.Timeline
	long.Steps, long.Timeline = nil, &t
	t.Host, t.Device, t.Frames = recording.Calls{}, recording.Work{}, recording.Frames{}
	for i := range n {
		by := int64(i) * (run.Timeline.End - run.Timeline.Start)
		appendTimeline(&t, run.Timeline, by)
		for _, s := range run.Steps {
			s.Start += float64(by) / 1e9
			long.Steps = append(long.Steps, s)
		}
	}
	t.End += int64(n-1) * (run.Timeline.End - run.Timeline.Start)
	return &long
}

func appendTimeline(t, from *recording.Timeline, by int64) {
	calls := int32(len(t.Host.Start))
	h, w, f := from.Host, from.Device, from.Frames
	t.Host = recording.Calls{
		Start: append(t.Host.Start, shifted(h.Start, by)...), End: append(t.Host.End, shifted(h.End, by)...), Name: append(t.Host.Name, h.Name...),
		Thread: append(t.Host.Thread, h.Thread...), Kind: append(t.Host.Kind, h.Kind...), Shapes: append(t.Host.Shapes, h.Shapes...), Types: append(t.Host.Types, h.Types...),
	}
	t.Frames = recording.Frames{
		Start: append(t.Frames.Start, shifted(f.Start, by)...), End: append(t.Frames.End, shifted(f.End, by)...),
		Name: append(t.Frames.Name, f.Name...), Thread: append(t.Frames.Thread, f.Thread...),
	}
	links := slices.Clone(w.Call)
	for i := range links {
		if links[i] >= 0 {
			links[i] += calls
		}
	}
	d := &t.Device
	t.Device = recording.Work{
		Start: append(d.Start, shifted(w.Start, by)...), End: append(d.End, shifted(w.End, by)...), Name: append(d.Name, w.Name...), Device: append(d.Device, w.Device...),
		Stream: append(d.Stream, w.Stream...), Kind: append(d.Kind, w.Kind...), Call: append(d.Call, links...), Bytes: append(d.Bytes, w.Bytes...),
		Blocks: append(d.Blocks, w.Blocks...), Threads: append(d.Threads, w.Threads...), PerSM: append(d.PerSM, w.PerSM...), Occupancy: append(d.Occupancy, w.Occupancy...), Group: append(d.Group, w.Group...),
	}
}

func shifted(column []int64, by int64) []int64 {
	out := make([]int64, len(column))
	for i, v := range column {
		out[i] = v + by
	}
	return out
}
