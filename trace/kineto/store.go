package kineto

import (
	"fmt"
	"math"
	"slices"
)

// recordStore holds the records of a file in file order. It grows in blocks, so that
// no list is ever copied to a larger one.
type recordStore struct {
	names     []string
	nameBytes int
	traits    []traits
	known     map[string]int32
	rows      []row
	rowID     map[row]int32
	byTable   map[int]*indexTables

	host   blocks[hostRecord]
	work   blocks[workRecord]
	frames blocks[frameRecord]
	loose  blocks[looseRecord]
	flows  blocks[flowRecord]
	labels map[int32]int32 // row: name of its thread
	procs  map[int32]int32 // row: name of its process
	sizes  map[int64]int64 // correlation: bytes
	memory blocks[memoryRecord]
	held   map[int32]memoryRecord // by device, the most of it

	events  int64
	phased  int64 // of them, those with a phase, as events of a trace have
	dropped [numWhy]int64
	lost    int64 // of dropped, work of a device with an impossible time
	strange map[string]int64
	stop    int64      // when the recorder stopped; 0 unknown
	began   int64      // when it began, the earliest of several; 0 unknown
	awaits  [][2]int64 // waits for another rank's notification
	placed  bool       // operators of a timeline stand in the lane of a GPU
}

// indexTables translate one scanner's indices to the store's.
type indexTables struct{ names, rows []int32 }

func newStore() *recordStore {
	return &recordStore{
		known: map[string]int32{}, rowID: map[row]int32{}, byTable: map[int]*indexTables{},
		labels: map[int32]int32{}, procs: map[int32]int32{}, sizes: map[int64]int64{},
		held: map[int32]memoryRecord{}, strange: map[string]int64{},
	}
}

// blocks is a list that grows without moving its elements.
type blocks[T any] struct {
	list [][]T
	n    int
}

const blockSize = 1 << 13

func (b *blocks[T]) append(item T) {
	if b.n%blockSize == 0 {
		b.list = append(b.list, make([]T, 0, blockSize))
	}
	last := &b.list[len(b.list)-1]
	*last = append(*last, item)
	b.n++
}

func (b *blocks[T]) at(i int) *T { return &b.list[i/blockSize][i%blockSize] }

// Limits on the number of records, as memory is limited. 100 million records are about
// 40 GB of JSON; real files have a few thousand names and a few hundred rows.
const (
	mostRecords   = 100_000_000
	mostRows      = 10_000_000
	mostNameBytes = 1 << 30
)

// addBatch takes what a scanner found. Names get their numbers in file order, whoever
// found them, so that the same file gives the same Timeline on any machine.
func (s *recordStore) addBatch(b *batch, by int) error {
	t := s.byTable[by]
	if t == nil {
		t = &indexTables{}
		s.byTable[by] = t
	}
	t.growTo(len(b.names), len(b.rows))
	name := func(i int32) int32 { return s.nameID(t, b, i) }
	for i := range b.host {
		h := &b.host[i]
		h.name, h.shapes, h.types, h.row = name(h.name), name(h.shapes), name(h.types), s.rowPlace(t, b, h.row)
		s.host.append(*h)
	}
	for i := range b.work {
		w := &b.work[i]
		w.name, w.group, w.row = name(w.name), name(w.group), s.rowPlace(t, b, w.row)
		s.work.append(*w)
	}
	for i := range b.frames {
		f := &b.frames[i]
		f.name, f.row = name(f.name), s.rowPlace(t, b, f.row)
		s.frames.append(*f)
	}
	for i := range b.loose {
		l := &b.loose[i]
		l.name, l.task, l.row = name(l.name), name(l.task), s.rowPlace(t, b, l.row)
		s.loose.append(*l)
	}
	s.addRest(b, t, name)
	return s.checkLimits()
}

func (s *recordStore) checkLimits() error {
	switch {
	case s.host.n+s.work.n+s.frames.n+s.loose.n+s.flows.n+s.memory.n > mostRecords:
		return &SyntaxError{
			-1,
			fmt.Sprintf("it holds more than %d million events, expected at most that: record fewer steps "+
				"(torch.profiler.schedule)", mostRecords/1_000_000),
		}
	case len(s.rows) > mostRows:
		return &SyntaxError{-1, fmt.Sprintf("it holds more than %d million threads and streams", mostRows/1_000_000)}
	case s.nameBytes > mostNameBytes:
		return &SyntaxError{-1, fmt.Sprintf("its different names are longer than %d MB in all", mostNameBytes>>20)}
	}
	return nil
}

func (s *recordStore) addRest(b *batch, t *indexTables, name func(int32) int32) {
	for i := range b.flows {
		f := &b.flows[i]
		f.row = s.rowPlace(t, b, f.row)
		s.flows.append(*f)
	}
	for _, l := range b.labels {
		of := s.labels
		if l.process {
			of = s.procs
		}
		of[s.rowPlace(t, b, l.row)] = name(l.name)
	}
	for _, m := range b.memory {
		m.row = s.rowPlace(t, b, m.row)
		s.memory.append(m)
	}
	for _, z := range b.sizes {
		s.sizes[z.corr] = z.bytes
	}
	s.events += b.events
	s.phased += b.phased
	s.lost += b.lost
	s.stop = max(s.stop, b.stop)
	if b.began > 0 && (s.began == 0 || b.began < s.began) {
		s.began = b.began
	}
	for i, n := range b.dropped {
		s.dropped[i] += n
	}
	for cat, n := range b.strange {
		s.strange[cat] += n
	}
}

func (t *indexTables) growTo(names, rows int) {
	for len(t.names) < names {
		t.names = append(t.names, -1)
	}
	for len(t.rows) < rows {
		t.rows = append(t.rows, -1)
	}
}

func (s *recordStore) nameID(t *indexTables, b *batch, i int32) int32 {
	if i < 0 {
		return -1
	}
	if t.names[i] >= 0 {
		return t.names[i]
	}
	text := b.names[i]
	id, found := s.known[text]
	if !found {
		id = int32(len(s.names))
		s.known[text] = id
		s.names = append(s.names, text)
		s.nameBytes += len(text)
		s.traits = append(s.traits, b.traits[i])
	}
	t.names[i] = id
	return id
}

// addName is the number of a name that no event has as it is.
func (s *recordStore) addName(text string) int32 {
	id, found := s.known[text]
	if !found {
		id = int32(len(s.names))
		s.known[text] = id
		s.names, s.traits = append(s.names, text), append(s.traits, traitsOf(text))
		s.nameBytes += len(text)
	}
	return id
}

func (s *recordStore) rowPlace(t *indexTables, b *batch, i int32) int32 {
	if t.rows[i] >= 0 {
		return t.rows[i]
	}
	id, found := s.rowID[b.rows[i]]
	if !found {
		id = int32(len(s.rows))
		s.rowID[b.rows[i]] = id
		s.rows = append(s.rows, b.rows[i])
	}
	t.rows[i] = id
	return id
}

// byStart is the order of n records by start, the longer first where two start
// together, so that a caller comes before its callees; else in file order. It
// sorts by digits: 1.8 million records take 40 ms, a comparing sort 300 ms.
func byStart(n int, span func(i int) (start, end int64)) []int32 {
	if n == 0 {
		return nil
	}
	type key struct {
		start uint64
		i     int32
	}
	least, largest := int64(math.MaxInt64), int64(math.MinInt64)
	sorted := true
	last := int64(math.MinInt64)
	for i := range n {
		start, _ := span(i)
		least, largest = min(least, start), max(largest, start)
		sorted = sorted && start >= last
		last = start
	}
	keys := make([]key, n)
	for i := range n {
		start, _ := span(i)
		keys[i] = key{uint64(start) - uint64(least), int32(i)}
	}
	var spare []key
	if !sorted {
		spare = make([]key, n)
	}
	const digit = 11
	for shift := 0; !sorted && (uint64(largest)-uint64(least))>>shift > 0; shift += digit {
		var count [1 << digit]int32
		for _, k := range keys {
			count[k.start>>shift&(1<<digit-1)]++
		}
		at := int32(0)
		for d, c := range count {
			count[d] = at
			at += c
		}
		for _, k := range keys {
			d := k.start >> shift & (1<<digit - 1)
			spare[count[d]] = k
			count[d]++
		}
		keys, spare = spare, keys
	}
	order := make([]int32, n)
	for i, k := range keys {
		order[i] = k.i
		for j := i; j > 0 && keys[j-1].start == k.start; j-- { // few start together
			if i-j > 1000 || !endsLater(span, order[j-1], order[j]) {
				break
			}
			order[j-1], order[j] = order[j], order[j-1]
		}
	}
	return order
}

func endsLater(span func(i int) (start, end int64), before, behind int32) bool {
	_, a := span(int(before))
	_, b := span(int(behind))
	return b > a
}

// strangest are the unknown categories, most frequent first.
func (s *recordStore) strangest() []string {
	var cats []string
	for cat := range s.strange {
		if cat != "" {
			cats = append(cats, cat)
		}
	}
	slices.SortFunc(cats, func(a, b string) int {
		if s.strange[a] != s.strange[b] {
			return int(s.strange[b] - s.strange[a])
		}
		return compare(a, b)
	})
	return cats
}

func compare(a, b string) int {
	if a < b {
		return -1
	}
	if a > b {
		return 1
	}
	return 0
}
