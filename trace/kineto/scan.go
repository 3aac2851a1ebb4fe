package kineto

import "bytes"

// The fast scanner. It knows the form in which Kineto writes events, reads the
// members and arguments that become columns and steps over all others with no
// more than a search for quotes and brackets. Anything that it does not expect makes
// it give the event to the general reader, so that it needs to be right only
// about the input that it accepts.
//
// A zero byte behind the last one ends every loop, so that none needs to ask
// where the chunk ends.

// scanEvents reads the events in b, which begins between two elements of traceEvents.
// It returns how many bytes it used: up to an event that does not end in b, or
// behind the bracket, or the brace instead of it, that closes the array. It writes a
// zero behind b.
func (s *scanner) scanEvents(b []byte, out *batch) (used int, closed bool) {
	n := len(b)
	b = append(b, 0)
	for i := 0; ; {
		for isSpace(b[i]) || b[i] == ',' {
			i++
		}
		if i >= n {
			return n, false
		}
		switch b[i] {
		case ']':
			return i + 1, true
		case '}': // of the object around an array that is not closed
			return i + 1, true
		case '{':
			if !s.slow {
				if end, ok := s.scanEvent(b, i); ok {
					s.keepEvent(out)
					i = end
					continue
				}
			}
		}
		end, ok := s.element(b[:n], i, out)
		if !ok {
			return i, false
		}
		i = end
	}
}

// element reads one element of the array, however odd it is.
func (s *scanner) element(b []byte, i int, out *batch) (end int, ok bool) {
	end, ok = valueEnd(b, i)
	if !ok {
		return i, false
	}
	if b[i] == '{' && s.general(b[i:end]) {
		s.keepEvent(out)
	} else {
		out.dropped[damaged]++
	}
	return max(end, i+1), true
}

// scanEvent reads the event at b[i] into s.e; not ok if it is odd or does not end.
func (s *scanner) scanEvent(b []byte, i int) (end int, ok bool) {
	s.e = blank
	e := &s.e
	for i++; ; {
		for isSpace(b[i]) || b[i] == ',' {
			i++
		}
		if b[i] == '}' {
			return i + 1, true
		}
		key, v, ok := memberKey(b, i)
		if !ok {
			return i, false
		}
		i = v
		switch string(key) {
		case "ph":
			if b[i] != '"' || b[i+1] == '\\' || b[i+1] == '"' || b[i+1] == 0 || b[i+1] >= 0x80 || b[i+2] != '"' {
				return i, false
			}
			e.ph = b[i+1]
			i += 3
		case "cat":
			e.cat, i, ok = plainString(b, i)
		case "name":
			e.name, i, ok = s.stringAt(b, i)
		case "pid":
			i, ok = scanRow(b, i, &e.pid)
		case "tid":
			i, ok = scanRow(b, i, &e.tid)
		case "ts":
			e.ts, i, ok = quotedMicros(b, i)
			e.flags = e.flags&^(nanoUnit|absurdTS) | hasTS
		case "dur":
			e.dur, i, ok = quotedMicros(b, i)
			e.flags = e.flags&^absurdDur | hasDur
		case "id":
			i, ok = e.scanID(b, i)
		case "args":
			i, ok = s.argumentsOf(b, i)
		default:
			i, ok = skipValue(b, i)
		}
		if !ok {
			return i, false
		}
	}
}

// scanArguments reads the object of an event's arguments at b[i].
func (s *scanner) scanArguments(b []byte, i int) (end int, ok bool) {
	for i++; ; {
		for isSpace(b[i]) || b[i] == ',' {
			i++
		}
		if b[i] == '}' {
			return i + 1, true
		}
		key, v, ok := memberKey(b, i)
		if !ok {
			return i, false
		}
		i = v
		if form := formOf(key); form != nil {
			i, ok = form.scanValue(s, b, i)
		} else {
			i, ok = skipValue(b, i)
		}
		if !ok {
			return i, false
		}
	}
}

// argumentsOf reads or steps over the value of "args" at b[i].
func (s *scanner) argumentsOf(b []byte, i int) (end int, ok bool) {
	if b[i] != '{' {
		return skipValue(b, i)
	}
	if s.classOf(s.e.cat) == frameClass {
		if end = unread(b, i); end > 0 {
			return end, true
		}
	}
	return s.scanArguments(b, i)
}

// unread is where the object at b[i] ends, 0 if only a closer look tells. No reader needs
// the arguments of a Python frame, and most of a trace with stacks is frames. Between
// whole strings, without an escape, another object or a list, the first closing brace is its own.
func unread(b []byte, i int) (end int) {
	k := bytes.IndexByte(b[i:], '}')
	if k < 0 {
		return 0
	}
	inner := b[i+1 : i+k]
	if bytes.Count(inner, quote)&1 != 0 {
		return 0
	}
	for _, c := range []byte{'\\', '{', '[', ']'} {
		if bytes.IndexByte(inner, c) >= 0 {
			return 0
		}
	}
	return i + k + 1
}

var quote = []byte{'"'}

// quotedMicros reads a time in microseconds, also in quotes, as Ascend's exporter writes it.
func quotedMicros(b []byte, i int) (ns int64, end int, ok bool) {
	if b[i] != '"' {
		return micros(b, i)
	}
	text, end, ok := plainString(b, i)
	if !ok || len(text) > 40 {
		return 0, i, false
	}
	var padded [48]byte
	ns, used, ok := micros(append(append(padded[:0], text...), ','), 0)
	return ns, end, ok && used == len(text)
}

// micros reads a time in microseconds as nanoseconds, to the nearest.
func micros(b []byte, i int) (ns int64, end int, ok bool) {
	j := i
	negative := b[j] == '-'
	if negative {
		j++
	}
	from := j
	for c := b[j] - '0'; c <= 9; c = b[j] - '0' {
		ns = ns*10 + int64(c)
		j++
	}
	if j == from || j-from > 16 || ns >= mostMicros {
		return 0, i, false
	}
	ns *= 1000
	if b[j] == '.' {
		j++
		from = j
		for unit := int64(100); ; unit /= 10 {
			c := b[j] - '0'
			if c > 9 {
				break
			}
			if j-from < 3 {
				ns += unit * int64(c)
			} else if j-from == 3 && c >= 5 {
				ns++
			}
			j++
		}
		if j == from || j-from > 30 {
			return 0, i, false
		}
	}
	if !delimits(b[j]) {
		return 0, i, false
	}
	if negative {
		ns = -ns
	}
	return ns, j, true
}

// scanRow reads a pid or tid: a number, also in quotes, or "stream 7".
func scanRow(b []byte, i int, field *int64) (end int, ok bool) {
	if b[i] != '"' {
		v, end, ok := integer(b, i)
		if ok {
			*field = v
		}
		return end, ok
	}
	text, end, ok := plainString(b, i)
	if ok {
		*field = rowNumber(text)
	}
	return end, ok
}
