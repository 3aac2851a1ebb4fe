package kineto

import (
	"bytes"
	"math"
	"strconv"
)

// The fast scanner. It knows the form in which Kineto writes events, reads the
// members and arguments that become columns and steps over all others with no
// more than a search for quotes and brackets. Whatever it does not expect makes
// it give the event to the general reader, so that it needs to be right only
// about what it accepts.
//
// A zero byte behind the last one ends every loop, so that none needs to ask
// where the chunk ends.

// scan reads the events in b, which begins between two elements of traceEvents.
// It returns how many bytes it used: up to an event that does not end in b, or
// behind the bracket, or the brace instead of it, that closes the array. It writes a
// zero behind b.
func (s *scanner) scan(b []byte, out *batch) (used int, closed bool) {
	n := len(b)
	b = append(b, 0)
	for i := 0; ; {
		for space(b[i]) || b[i] == ',' {
			i++
		}
		if i >= n {
			return n, false
		}
		switch b[i] {
		case ']':
			return i + 1, true
		case '}': // of the object around an array that nobody closed
			return i + 1, true
		case '{':
			if !s.slow {
				if end, ok := s.fast(b, i); ok {
					s.record(out)
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
		s.record(out)
	} else {
		out.dropped[damaged]++
	}
	return max(end, i+1), true
}

// fast reads the event at b[i] into s.e; not ok where it is odd or does not end.
func (s *scanner) fast(b []byte, i int) (end int, ok bool) {
	s.e = blank
	e := &s.e
	for i++; ; {
		for space(b[i]) || b[i] == ',' {
			i++
		}
		if b[i] == '}' {
			return i + 1, true
		}
		key, v, ok := keyOf(b, i)
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
			e.cat, i, ok = plain(b, i)
		case "name":
			e.name, i, ok = s.text(b, i)
		case "pid":
			i, ok = scanRow(b, i, &e.pid)
		case "tid":
			i, ok = scanRow(b, i, &e.tid)
		case "ts":
			e.ts, i, ok = micros(b, i)
			e.flags = e.flags&^(nanoUnit|absurdTS) | hasTS
		case "dur":
			e.dur, i, ok = micros(b, i)
			e.flags = e.flags&^absurdDur | hasDur
		case "id":
			i, ok = e.scanInt(b, i, &e.id, hasID)
		case "args":
			i, ok = s.argumentsOf(b, i)
		default:
			i, ok = skip(b, i)
		}
		if !ok {
			return i, false
		}
	}
}

// arguments reads the object of an event's arguments at b[i].
func (s *scanner) arguments(b []byte, i int) (end int, ok bool) {
	e := &s.e
	for i++; ; {
		for space(b[i]) || b[i] == ',' {
			i++
		}
		if b[i] == '}' {
			return i + 1, true
		}
		key, v, ok := keyOf(b, i)
		if !ok {
			return i, false
		}
		i = v
		switch string(key) {
		case "correlation", "correlation id", "Correlation":
			i, ok = e.scanInt(b, i, &e.corr, 0)
		case "stream":
			i, ok = e.scanInt(b, i, &e.stream, hasStream)
		case "device":
			i, ok = e.scanInt(b, i, &e.device, hasDevice)
		case "bytes", "size", "Bytes":
			i, ok = e.scanInt(b, i, &e.bytes, 0)
		case "grid":
			i, ok = scanProduct(b, i, &e.blocks)
		case "block":
			i, ok = scanProduct(b, i, &e.threads)
		case "blocks per SM":
			i, ok = scanRatio(b, i, &e.perSM, 1)
		case "est. achieved occupancy %":
			i, ok = scanRatio(b, i, &e.occ, 100)
		case "Input Dims", "Input dims", "Input Shapes":
			i, ok = scanList(b, i, &e.shapes)
		case "Input type", "Input Type":
			i, ok = scanList(b, i, &e.types)
		case "Call stack":
			e.stack, i, ok = s.text(b, i)
		case "name":
			e.label, i, ok = plain(b, i)
		case "Collective name":
			var name []byte
			name, i, ok = plain(b, i)
			if len(name) > 0 {
				e.flags |= hasCollective
			}
		case "In msg nelems":
			i, ok = e.scanInt(b, i, &e.nelems, 0)
		case "Addr":
			i, ok = e.scanInt(b, i, &e.address, 0)
		case "Total Allocated":
			i, ok = e.scanInt(b, i, &e.allocated, 0)
		case "Total Reserved":
			i, ok = e.scanInt(b, i, &e.reserved, 0)
		case "Device Id":
			i, ok = e.scanInt(b, i, &e.device, 0)
		case "dtype":
			e.dtype, i, ok = plain(b, i)
		case "Process Group Name":
			e.group, i, ok = plain(b, i)
		default:
			i, ok = skip(b, i)
		}
		if !ok {
			return i, false
		}
	}
}

// argumentsOf reads or steps over the value of "args" at b[i].
func (s *scanner) argumentsOf(b []byte, i int) (end int, ok bool) {
	if b[i] != '{' {
		return skip(b, i)
	}
	if s.class(s.e.cat) == frameClass {
		if end = unread(b, i); end > 0 {
			return end, true
		}
	}
	return s.arguments(b, i)
}

// unread is where the object at b[i] ends, 0 where that takes a closer look: nobody asks
// for the arguments of a Python frame, and most of a trace with stacks is frames. Between
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

// keyOf reads the key at b[i] and finds its value. Keys are short: a loop over
// their bytes is faster than a call that searches.
func keyOf(b []byte, i int) (key []byte, v int, ok bool) {
	if b[i] != '"' {
		return nil, i, false
	}
	j := i + 1
	for !endsKey[b[j]] {
		j++
	}
	if b[j] != '"' {
		return nil, i, false
	}
	for v = j + 1; space(b[v]); v++ {
	}
	if b[v] != ':' {
		return nil, i, false
	}
	for v++; space(b[v]); v++ {
	}
	return b[i+1 : j], v, true
}

// endsKey are the bytes at which the loop over a key stops: one look-up per byte
// instead of three comparisons.
var endsKey = [256]bool{'"': true, '\\': true, 0: true}

// plain is a string without escapes.
func plain(b []byte, i int) (text []byte, end int, ok bool) {
	if b[i] != '"' {
		return nil, i, false
	}
	k := bytes.IndexByte(b[i+1:], '"')
	if k < 0 {
		return nil, i, false
	}
	text = b[i+1 : i+1+k]
	if bytes.IndexByte(text, '\\') >= 0 {
		return nil, i, false
	}
	return text, i + k + 2, true
}

// text is a string, decoded where it holds escapes: Windows writes a path's
// backslashes so, in the names of all Python frames.
func (s *scanner) text(b []byte, i int) (text []byte, end int, ok bool) {
	if text, end, ok = plain(b, i); ok || b[i] != '"' {
		return text, end, ok
	}
	end, ok = skip(b, i)
	if !ok {
		return nil, i, false
	}
	raw := b[i:end]
	text, found := s.decoded[string(raw)]
	if !found {
		text = unquote(raw)
		if s.decodedBytes += len(raw); s.decodedBytes < mostRawBytes {
			s.decoded[string(raw)] = text
		}
	}
	return text, end, true
}

// digits18 is the most digits that always fit an int64.
const digits18 = 18

// integer reads a whole number that a comma, a bracket or a space follows.
func integer(b []byte, i int) (v int64, end int, ok bool) {
	j := i
	negative := b[j] == '-'
	if negative {
		j++
	}
	from := j
	for c := b[j] - '0'; c <= 9; c = b[j] - '0' {
		v = v*10 + int64(c)
		j++
	}
	if j == from || j-from > digits18 || !delimits(b[j]) {
		return 0, i, false
	}
	if negative {
		v = -v
	}
	return v, j, true
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
	text, end, ok := plain(b, i)
	if ok {
		*field = rowOf(text)
	}
	return end, ok
}

func (e *event) scanInt(b []byte, i int, field *int64, seen flags) (end int, ok bool) {
	if b[i] == '"' {
		text, end, ok := plain(b, i)
		if v, number := numeral(text); ok && number {
			*field = v
			e.flags |= seen
		}
		return end, ok
	}
	v, end, ok := integer(b, i)
	if ok {
		*field = v
		e.flags |= seen
	}
	return end, ok
}

func scanList(b []byte, i int, field *[]byte) (end int, ok bool) {
	end, ok = skip(b, i)
	if ok && b[i] == '[' {
		*field = b[i:end]
	}
	return end, ok
}

func scanProduct(b []byte, i int, field *int32) (end int, ok bool) {
	end, ok = skip(b, i)
	if ok && b[i] == '[' {
		*field = product(b[i:end])
	}
	return end, ok
}

// tens are powers of ten that a double holds exactly.
var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// scanRatio reads a decimal number. With at most 15 digits the division below
// rounds once and so gives the nearest double, as strconv does.
func scanRatio(b []byte, i int, field *float32, unit float64) (end int, ok bool) {
	j, point := i, -1
	var v int64
	for ; ; j++ {
		c := b[j]
		if c == '.' && point < 0 && j > i {
			point = j
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		v = v*10 + int64(c-'0')
		if j-i > 17 {
			return i, false
		}
	}
	if j == i || point == j-1 || !delimits(b[j]) {
		return i, false
	}
	f := float64(v)
	if point >= 0 {
		if j-i > 16 {
			f, _ = strconv.ParseFloat(string(b[i:j]), 64)
		} else {
			f /= tens[j-point-1]
		}
	}
	if f /= unit; f < math.MaxFloat32 {
		*field = float32(f)
	}
	return j, true
}

func delimits(c byte) bool { return c == ',' || c == '}' || c == ']' || space(c) }

// skip steps over a value of any kind.
func skip(b []byte, i int) (end int, ok bool) {
	switch b[i] {
	case '"':
		for j := i + 1; ; {
			k := bytes.IndexByte(b[j:], '"')
			if k < 0 {
				return i, false
			}
			j += k
			if b[j-1] != '\\' {
				return j + 1, true
			}
			n := 1
			for b[j-1-n] == '\\' {
				n++
			}
			if j++; n&1 == 0 {
				return j, true
			}
		}
	case '{', '[':
		return skipNest(b, i)
	}
	j := i
	for !delimits(b[j]) {
		if c := b[j]; c == 0 || c == '"' || c == '{' || c == '[' {
			return i, false
		}
		j++
	}
	return j, j > i
}

// nests are the bytes at which skipNest has to look.
var nests = [256]bool{'"': true, '{': true, '[': true, '}': true, ']': true, 0: true}

func skipNest(b []byte, i int) (end int, ok bool) {
	for depth, j := 0, i; ; j++ {
		for !nests[b[j]] {
			j++
		}
		switch b[j] {
		case '"':
			if j, ok = skip(b, j); !ok {
				return i, false
			}
			j--
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return j + 1, true
			}
		case 0:
			return i, false
		}
	}
}
