package kineto

import (
	"bytes"
	"fmt"
)

// phase is the merger's position in the file.
type phase uint8

const (
	head    phase = iota // before the first bracket
	between              // among the members of the outermost object
	events               // within traceEvents
	over                 // behind the last bracket
)

// merger puts the results of the scanners together in file order, and reads what
// they could not: the head, the members other than traceEvents, glued events.
type merger struct {
	scanner   *scanner
	store     *recordStore
	phase     phase
	bare      bool // the file is an array
	offset    int64
	tail      []byte // read but not used yet
	again     int    // length of the tail from which reading it is tried again
	meta      map[string][]byte
	metaBytes int
	arrays    int // how many traceEvents there were
	damage    []string
	packedCut bool // the archive around the JSON ends too early
}

// mostDamage is how many sentences on damage are kept of a file: one of each event would fill it.
const mostDamage = 20

// addDamage records missing or impossible data of the file.
func (m *merger) addDamage(format string, args ...any) {
	if len(m.damage) < mostDamage {
		m.damage = append(m.damage, fmt.Sprintf(format, args...))
	}
}

// takeChunk accepts one chunk.
func (m *merger) takeChunk(p *pipe, c *chunk, r result) error {
	if r.out != nil && m.phase == events && len(m.tail) == 0 && !r.closed && r.used == len(c.data) {
		m.offset += int64(r.used)
		err := m.store.addBatch(r.out, r.by)
		p.recycle(c, r.out)
		return err
	}
	m.tail = append(m.tail, c.data...)
	p.recycle(c, r.out)
	if len(m.tail) < m.again {
		return nil
	}
	return m.advance()
}

// advance reads as much of the tail as it can.
func (m *merger) advance() error {
	out := &batch{}
	at := 0
	for {
		used, err := m.readNext(m.tail[at:], out)
		if err != nil {
			return err
		}
		if used == 0 {
			break
		}
		at += used
		m.offset += int64(used)
	}
	m.tail = append(m.tail[:0], m.tail[at:]...)
	m.again = 0
	if at == 0 { // one long thing: to look at it after each chunk takes time by the square of its length
		m.again = len(m.tail) * 3 / 2
	}
	m.scanner.handLists(out)
	if err := m.store.addBatch(out, -1); err != nil {
		return err
	}
	if len(m.tail) > mostEvent {
		return m.resync()
	}
	return nil
}

// readNext reads the next thing in b and returns how many bytes it took; 0 if b
// ends too early.
func (m *merger) readNext(b []byte, out *batch) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	switch m.phase {
	case head:
		return m.readHead(b)
	case between:
		return m.readMember(b)
	case events:
		used, closed := m.scanner.scanEvents(b, out)
		if closed {
			m.phase = between
			if m.bare {
				m.phase = over
			}
			if b[used-1] == '}' {
				m.addDamage("The list of events is not closed at byte %d: what lies before it was read.",
					m.offset+int64(used-1))
				m.phase = over
			}
		}
		return used, nil
	default: // over: bytes behind the last bracket are ignored
		return len(b), nil
	}
}

// readHead reads the first bracket.
func (m *merger) readHead(b []byte) (int, error) {
	i := 0
	if bytes.HasPrefix(b, []byte("\xef\xbb\xbf")) {
		i = 3
	}
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	if i == len(b) {
		return i, nil
	}
	switch b[i] {
	case '{':
		m.phase = between
	case '[':
		m.phase, m.bare = events, true
		m.arrays++
	default:
		return 0, &SyntaxError{
			m.offset + int64(i),
			fmt.Sprintf("expected { or [ as the first character of a trace, found %q", b[i]),
		}
	}
	return i + 1, nil
}

// readMember reads one member of the outermost object.
func (m *merger) readMember(b []byte) (int, error) {
	i := 0
	for i < len(b) && (isSpace(b[i]) || b[i] == ',') {
		i++
	}
	if i > 0 || i == len(b) {
		return i, nil
	}
	if b[0] == '}' {
		m.phase = over
		return 1, nil
	}
	if b[0] != '"' {
		return 0, &SyntaxError{m.offset, fmt.Sprintf("expected the name of a member in quotes, found %q", b[0])}
	}
	end, ok := stringEnd(b, 0)
	if !ok {
		return 0, nil
	}
	key := string(unquote(b[:end]))
	for i = end; i < len(b) && isSpace(b[i]); i++ {
	}
	if i == len(b) {
		return 0, nil
	}
	if b[i] != ':' {
		return 0, &SyntaxError{m.offset + int64(i), fmt.Sprintf("expected a colon behind %.40q, found %q", key, b[i])}
	}
	for i++; i < len(b) && isSpace(b[i]); i++ {
	}
	if i == len(b) {
		return 0, nil
	}
	if key == "traceEvents" && b[i] == '[' {
		m.phase = events
		m.arrays++
		return i + 1, nil
	}
	end, ok = valueEnd(b, i)
	if !ok {
		return 0, nil
	}
	m.keepMember(key, b[i:end])
	return max(end, i+1), nil
}

// mostMeta bounds the bytes of all other members than traceEvents that are kept; a
// list of the process groups of ten thousand ranks is about a megabyte.
const mostMeta = 16 << 20

func (m *merger) keepMember(key string, raw []byte) {
	if m.metaBytes += len(raw) + len(key); m.metaBytes <= mostMeta && key != "INFO" {
		m.meta[key] = bytes.Clone(raw)
	}
}

// resync gives up an event that does not end and continues with the next that seems
// to begin. It is how a file survives a quote that is never closed.
func (m *merger) resync() error {
	if m.phase != events {
		return &SyntaxError{
			m.offset,
			fmt.Sprintf("a value of more than %d MB, expected a trace of PyTorch's profiler", mostEvent>>20),
		}
	}
	next := m.nextEvent()
	if next < 0 {
		return &SyntaxError{m.offset, fmt.Sprintf("an event of more than %d MB without an end", mostEvent>>20)}
	}
	m.store.dropped[damaged]++
	m.addDamage("An event at byte %d has no end: it was left out.", m.offset)
	m.offset += int64(next)
	m.tail = append(m.tail[:0], m.tail[next:]...)
	return m.advance()
}

func (m *merger) nextEvent() int {
	for i := 1; i < len(m.tail); {
		k := bytes.IndexByte(m.tail[i:], '{')
		if k < 0 {
			return -1
		}
		if beginsEvent(m.tail, i+k) {
			return i + k
		}
		i += k + 1
	}
	return -1
}

// readEnd is called behind the last byte.
func (m *merger) readEnd() error {
	if err := m.advance(); err != nil {
		return err
	}
	for m.phase == events && len(m.tail) > 0 {
		next := m.nextEvent()
		if next < 0 {
			break
		}
		m.store.dropped[damaged]++
		m.addDamage("An event at byte %d has no end: it was left out.", m.offset)
		m.offset += int64(next)
		m.tail = append(m.tail[:0], m.tail[next:]...)
		if err := m.advance(); err != nil {
			return err
		}
	}
	size := m.offset + int64(len(m.tail))
	switch {
	case m.phase == head:
		return &SyntaxError{size, "the file is empty, expected a trace of PyTorch's profiler"}
	case m.arrays == 0 && m.phase != over:
		return &SyntaxError{size, "the file ends before its traceEvents"}
	case m.phase == events && m.packedCut: // it was said
	case m.phase == events && len(m.tail) > 0:
		m.addDamage("The file ends within an event, at byte %d of its JSON, as a killed run leaves it: the events "+
			"before it were read.", size)
		m.store.dropped[damaged]++
	case m.phase == events:
		m.addDamage("The file ends within its list of events, at byte %d of its JSON, as a killed run leaves it: all "+
			"events up to there were read.", size)
	case m.phase == between:
		m.addDamage("The file ends at byte %d of its JSON before its last bracket: what lies behind the events may be "+
			"missing.", size)
	}
	m.offset = size
	m.tail = nil
	return nil
}
