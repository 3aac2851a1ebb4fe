package kineto

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace/columns"
	"github.com/stoker-dev/stoker/trace/steps"
)

// Read reads one file's JSON, unpacked. It stops at ctx, at a fault of src and at
// bytes that cannot be a trace; an end in the middle is a warning, as killed runs
// leave it.
func Read(ctx context.Context, src io.Reader, o Options) (*Trace, error) {
	p := startPipe(ctx, src, o)
	defer p.shutDown()
	m := &merger{scanner: newScanner(), store: newStore(), meta: map[string][]byte{}}
	m.scanner.slow = o.General
	for c := range p.order {
		r := <-c.done
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := m.takeChunk(p, c, r); err != nil {
			return nil, err
		}
		if c.err == nil {
			continue
		}
		if !errors.Is(c.err, io.EOF) {
			if m.store.events == 0 {
				return nil, c.err
			}
			m.packedCut = true
			m.addDamage("The packed file is cut or damaged behind byte %d of its JSON (%v), as a killed run or an "+
				"unfinished copy leaves it: what lies before it was read.", m.offset+int64(len(m.tail)), c.err)
		}
		break
	}
	if err := m.readEnd(); err != nil {
		return nil, err
	}
	return m.buildTrace()
}

// buildTrace builds the columns of everything that was read.
func (m *merger) buildTrace() (*Trace, error) {
	s := m.store
	if s.isAscend() {
		s.adoptAscend()
	}
	s.adoptAutograd()
	isTimeline, isRocprof := s.adoptTimeline(), s.adoptRocprof()
	s.dropLoose()
	b := &builder{store: s, t: &recording.Timeline{Names: s.names}, threadOf: recording.NoPlaces(len(s.rows))}
	b.sortRecords()
	if len(b.host)+len(b.work)+len(b.frames) == 0 {
		if err := m.foreign(); err != nil {
			return nil, err
		}
	}
	b.endMarks()
	b.findZero()
	b.hostColumns()
	b.frameColumns()
	b.linkWork()
	s.host = blocks[hostRecord]{} // half of the memory, before the rest is built
	b.workColumns()
	s.work = blocks[workRecord]{}
	b.clipped = columns.ClipOverlaps(b.t)
	b.memoryColumns()
	for _, wait := range s.awaits {
		b.t.Awaits = append(b.t.Awaits, [2]int64{wait[0] - b.base, wait[1] - b.base})
	}
	slices.SortFunc(b.t.Awaits, func(x, y [2]int64) int { return cmp.Compare(x[0], y[0]) })
	b.nameThreads()
	out := &Trace{Timeline: b.t, Zero: b.base, Bytes: m.offset, Events: s.events, Rank: -1}
	b.t.Dropped = b.countDropped()
	m.readFacts(b, out)
	if isTimeline {
		out.describeTimeline(s.placed)
		return out, nil
	}
	marks, missing := "ProfilerStep marks", "The trace has no ProfilerStep marks (call prof.step() in the loop)"
	if isRocprof {
		m.describeRocprof(out)
		marks, missing = "roctx ranges", `The file has no roctx range that marks a step (roctxRangePush("step"))`
	}
	if m.describeAscend(out) {
		marks, missing = "marks", "The file has no mark of a step"
	}
	found := steps.Find(b.t, out.Facts.Processes, marks, missing)
	out.Warnings = append(slices.Clone(out.Facts.Damage), out.Warnings...)
	out.Steps, out.Facts.StepsFrom, out.Warnings = found.Steps, found.Rule, append(out.Warnings, found.Said...)
	return out, nil
}
