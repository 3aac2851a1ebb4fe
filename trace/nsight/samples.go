package nsight

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// mostSampleRows bounds what is read of samples and turns: more rows take longer to read than all events.
const mostSampleRows = 4_000_000

// readSamples reads what the sampler of the CPU and the scheduler tell of the threads that matter.
func (r *reader) readSamples() error {
	if err := r.readTurns(); err != nil {
		return err
	}
	return r.readStacks()
}

// isSmall reports whether a table is there and has few enough rows.
func (r *reader) isSmall(table string) bool {
	t := r.db.tables[table]
	if t == nil {
		return false
	}
	n, err := r.db.countRows(r.ctx, t)
	return err == nil && n <= mostSampleRows
}

// turn is a time of one thread on a CPU.
type turn struct {
	from, to int64
	thread   int32
}

// readTurns reads when threads were on a CPU. One that the recorder's end met there was there until the last event.
func (r *reader) readTurns() error {
	const table = "SCHED_EVENTS"
	if !r.isSmall(table) {
		return nil
	}
	type event struct {
		at     int64
		thread int32
		in     bool
	}
	var events []event
	last := int64(0)
	err := r.scanColumns(table, []string{"start", "isSchedIn", "globalTid"}, nil, func(row *row) error {
		at, ok := row.intAt(0)
		if !ok || at < 0 || at >= latest {
			return nil
		}
		last = max(last, at)
		if thread, found := r.threads[readNumber(row, 2)]; found && r.cuda[thread] {
			events = append(events, event{at, thread, readNumber(row, 1) > 0})
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	since, turns := map[int32]int64{}, []turn(nil)
	for _, e := range events {
		from, on := since[e.thread]
		if on && !e.in && e.at > from {
			turns = append(turns, turn{from, e.at, e.thread})
		}
		if delete(since, e.thread); e.in {
			since[e.thread] = e.at
		}
	}
	for thread, from := range since {
		if last > from {
			turns = append(turns, turn{from, last, thread})
		}
	}
	slices.SortFunc(turns, func(a, b turn) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.thread, b.thread))
	})
	t := &r.out.Timeline.Turns
	for _, one := range turns {
		t.Start, t.End = append(t.Start, one.from), append(t.End, one.to)
		t.Thread = append(t.Thread, one.thread)
	}
	return nil
}

// readStacks reads the samples with their stacks.
func (r *reader) readStacks() error {
	const table, chains = "COMPOSITE_EVENTS", "SAMPLING_CALLCHAINS"
	if !r.isSmall(table) || !r.isSmall(chains) {
		return nil
	}
	type sample struct {
		at     int64
		thread int32
		stack  []frame
	}
	symbols, samples := symbols{r: r}, map[int64]*sample{}
	err := r.scanColumns(table, []string{"start", "id", "globalTid"}, nil, func(row *row) error {
		at, ok := row.intAt(0)
		thread, found := r.threads[readNumber(row, 2)]
		if ok && found && r.cuda[thread] && at >= 0 && at < latest {
			samples[readNumber(row, 1)] = &sample{at: at, thread: thread}
		}
		return nil
	})
	if err != nil || len(samples) == 0 {
		return err
	}
	err = r.scanColumns(chains, []string{"id", "symbol", "stackDepth"}, nil, func(row *row) error {
		s := samples[readNumber(row, 0)]
		if s == nil || len(s.stack) >= deepestStack {
			return nil
		}
		if name := symbols.at(readNumber(row, 1)); name >= 0 {
			s.stack = append(s.stack, frame{readNumber(row, 2), name})
		}
		return nil
	})
	if err != nil {
		return err
	}
	order := make([]*sample, 0, len(samples))
	for _, s := range samples {
		order = append(order, s)
	}
	slices.SortFunc(order, func(a, b *sample) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.thread, b.thread))
	})
	out := &r.out.Timeline.Samples
	out.Names = symbols.names.list
	for _, s := range order {
		out.At, out.Thread = append(out.At, s.at), append(out.Thread, s.thread)
		out.Stack = append(out.Stack, innermostFirst(s.stack))
	}
	return nil
}

// symbols are the functions' names, apart from those of events.
type symbols struct {
	r     *reader
	names nameTable
}

// at is the place of the function with a number in StringIds; -1 if that names none.
func (s *symbols) at(id int64) int32 {
	if at, found := s.names.byID[id]; found {
		return at
	}
	if s.names.byID == nil {
		s.names.byID = map[int64]int32{}
	}
	at := int32(-1)
	if s.r.strings != nil {
		if text := s.r.strings.textOf(s.r.ctx, id); namesFunction(string(text)) {
			at = s.names.intern(text)
		}
	}
	s.names.byID[id] = at
	return at
}

// frame is a function on a sample's stack.
type frame struct {
	depth int64 // 0 is the innermost
	name  int32
}

// deepestStack is how many functions are kept of a sample.
const deepestStack = 256

func innermostFirst(stack []frame) (names []int32) {
	slices.SortStableFunc(stack, func(a, b frame) int { return cmp.Compare(a.depth, b.depth) })
	for _, f := range stack {
		names = append(names, f.name)
	}
	return names
}

// namesFunction reports whether a symbol is a function's name: no address, no word in brackets for what has none, and
// none of those that are around every program.
func namesFunction(symbol string) bool {
	switch symbol {
	case "", "main", "_start", "__libc_start_main", "__libc_start_call_main", "start_thread", "clone", "__clone3":
		return false
	}
	return !strings.HasPrefix(symbol, "0x") && !strings.HasPrefix(symbol, "[") &&
		!strings.HasPrefix(symbol, "__libc_start_main@")
}

// moveSamples moves samples and turns with the events.
func moveSamples(t *recording.Timeline, base int64) {
	for _, column := range [][]int64{t.Samples.At, t.Turns.Start, t.Turns.End} {
		for i := range column {
			column[i] -= base
		}
	}
}
