package kineto

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// The general reader: slow, and at home with whatever real files hold: escapes,
// exponents, numbers as strings, control characters inside strings, bare tokens
// such as N/A and NaN, keys twice (the last one counts). It reads one event whose
// extent is known.

// general reads one JSON object into s.e and reports whether it could.
func (s *scanner) general(b []byte) bool {
	s.e = blank
	return members(b, func(key string, v value) {
		if key == "args" && v.is == '{' {
			members(v.text, func(key string, v value) { s.e.setArgument(key, v) })
			return
		}
		s.e.set(key, v)
	})
}

// value is one JSON value: is tells by its first byte what it is, '"' a string,
// '0' a number, '{', '[' or '?' a bare token; text is the decoded string, else
// the value as written.
type value struct {
	is   byte
	text []byte
}

func (e *event) set(key string, v value) {
	switch key {
	case "ph":
		if v.is == '"' {
			e.ph = 0
			if len(v.text) == 1 {
				e.ph = v.text[0]
			}
		}
	case "cat":
		setText(&e.cat, v)
	case "name":
		setText(&e.name, v)
	case "pid":
		setRow(&e.pid, v)
	case "tid":
		setRow(&e.tid, v)
	case "ts":
		if v.is == '0' {
			ns, nano, ok := nanoseconds(v.text)
			e.setTS(ns, nano, ok)
		}
	case "dur":
		if v.is == '0' {
			ns, nano, ok := nanoseconds(v.text)
			e.setDur(ns, ok && !nano)
		}
	case "id":
		e.setInt(&e.id, hasID, v)
	}
}

func (e *event) setTS(ns int64, nano, ok bool) {
	e.ts = ns
	e.flags = e.flags&^(nanoUnit|absurdTS) | hasTS
	if nano {
		e.flags |= nanoUnit
	}
	if !ok {
		e.flags |= absurdTS
	}
}

func (e *event) setDur(ns int64, ok bool) {
	e.dur = ns
	e.flags = e.flags&^absurdDur | hasDur
	if !ok {
		e.flags |= absurdDur
	}
}

func (e *event) setArgument(key string, v value) {
	switch key {
	case "correlation", "correlation id", "Correlation":
		e.setInt(&e.corr, 0, v)
	case "stream":
		e.setInt(&e.stream, hasStream, v)
	case "device":
		e.setInt(&e.device, hasDevice, v)
	case "bytes", "size", "Bytes":
		e.setInt(&e.bytes, 0, v)
	case "grid":
		e.blocks = setProduct(e.blocks, v)
	case "block":
		e.threads = setProduct(e.threads, v)
	case "blocks per SM":
		setRatio(&e.perSM, 1, v)
	case "est. achieved occupancy %":
		setRatio(&e.occ, 100, v)
	case "Input Dims", "Input dims", "Input Shapes":
		setList(&e.shapes, v)
	case "Input type", "Input Type":
		setList(&e.types, v)
	case "Call stack":
		setText(&e.stack, v)
	case "name":
		setText(&e.label, v)
	case "Collective name":
		if v.is == '"' && len(v.text) > 0 {
			e.flags |= hasCollective
		}
	case "In msg nelems":
		e.setInt(&e.nelems, 0, v)
	case "Addr":
		e.setInt(&e.address, 0, v)
	case "Total Allocated":
		e.setInt(&e.allocated, 0, v)
	case "Total Reserved":
		e.setInt(&e.reserved, 0, v)
	case "Device Id":
		e.setInt(&e.device, 0, v)
	case "dtype":
		setText(&e.dtype, v)
	case "Process Group Name":
		setText(&e.group, v)
	}
}

func setText(field *[]byte, v value) {
	if v.is == '"' {
		*field = v.text
	}
}

func setList(field *[]byte, v value) {
	if v.is == '[' {
		*field = v.text
	}
}

func (e *event) setInt(field *int64, seen flags, v value) {
	var n int64
	ok := false
	switch v.is {
	case '0':
		n, ok = whole(v.text)
	case '"':
		n, ok = numeral(v.text)
	}
	if ok {
		*field = n
		e.flags |= seen
	}
}

// setRow sets a pid or tid: a number, a number in quotes, "stream 7", or a word
// such as "Spans".
func setRow(field *int64, v value) {
	switch v.is {
	case '0':
		if n, ok := whole(v.text); ok {
			*field = n
		}
	case '"':
		*field = rowOf(v.text)
	}
}

// rowOf is the number of a row that is given as text. Words get a negative
// number of their own.
func rowOf(text []byte) int64 {
	if n, ok := decimal(text); ok {
		return n
	}
	if rest, found := bytes.CutPrefix(text, []byte("stream ")); found {
		if n, ok := decimal(rest); ok {
			return n
		}
	}
	if n, ok := numeral(text); ok {
		return n
	}
	h := uint32(2166136261) // FNV-1a
	for _, c := range string([]rune(string(text))) {
		h = (h ^ uint32(c)) * 16777619
	}
	return -2 - int64(h)
}

// decimal is a short number of digits alone.
func decimal(text []byte) (n int64, ok bool) {
	if len(text) == 0 || len(text) > digits18 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// numeral is a decimal or hexadecimal number given as text.
func numeral(text []byte) (int64, bool) {
	if len(text) == 0 || len(text) > 20 {
		return 0, false
	}
	if hex, found := strings.CutPrefix(string(text), "0x"); found {
		n, err := strconv.ParseUint(hex, 16, 63)
		return int64(n), err == nil
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, err == nil && text[0] != '+'
}

// whole is the part of a number before its point.
func whole(text []byte) (int64, bool) {
	r := rational(text)
	if r == nil {
		return 0, false
	}
	q := new(big.Int).Quo(r.Num(), r.Denom())
	return q.Int64(), q.IsInt64()
}

// Times are microseconds by Chrome's format. A number that would lie after the
// year 5000 is nanoseconds, one that is neither is damage.
const (
	mostMicros  = 9e15
	leastNanos  = 1e17
	mostNanos   = 9e18
	longestJSON = 64 // characters of a number
)

// nanoseconds reads a time, to the nearest nanosecond and without floating
// point: a double has no room for a date in nanoseconds.
func nanoseconds(text []byte) (ns int64, nano, ok bool) {
	r := rational(text)
	if r == nil {
		return 0, false, false
	}
	size := new(big.Rat).Abs(r)
	switch {
	case size.Cmp(new(big.Rat).SetInt64(mostMicros)) < 0:
		size.Mul(size, new(big.Rat).SetInt64(1000))
	case size.Cmp(new(big.Rat).SetInt64(leastNanos)) < 0, size.Cmp(new(big.Rat).SetInt64(mostNanos)) >= 0:
		return 0, false, false
	default:
		nano = true
	}
	size.Add(size, big.NewRat(1, 2))
	q := new(big.Int).Quo(size.Num(), size.Denom()).Int64()
	if r.Sign() < 0 {
		q = -q
	}
	return q, nano, true
}

// rational is a JSON number, nil where it is none or has an exponent that would
// fill the memory.
func rational(text []byte) *big.Rat {
	if len(text) > longestJSON {
		return nil
	}
	number, exponent, found := strings.Cut(strings.ToLower(string(text)), "e")
	if found {
		if n, err := strconv.Atoi(exponent); err != nil || n < -40 || n > 40 {
			return nil
		}
	}
	if strings.Trim(number, "-0123456789.") != "" {
		return nil
	}
	r, ok := new(big.Rat).SetString(string(text))
	if !ok {
		return nil
	}
	return r
}

func setRatio(field *float32, unit float64, v value) {
	if v.is != '0' {
		return
	}
	if f, err := strconv.ParseFloat(string(v.text), 64); err == nil && f >= 0 && f/unit < math.MaxFloat32 {
		*field = float32(f / unit)
	}
}

func setProduct(old int32, v value) int32 {
	if v.is != '[' {
		return old
	}
	return product(v.text)
}

// product multiplies the whole numbers of an array, "[8, 16, 5]"; 0 where it
// holds anything else.
func product(list []byte) int32 {
	p, n, digits, any := int64(1), int64(0), 0, false
	for _, c := range list[1:] {
		switch {
		case c >= '0' && c <= '9' && digits < 10:
			n, digits = n*10+int64(c-'0'), digits+1
		case c == ',' || c == ']':
			if digits == 0 {
				return 0
			}
			p, n, digits, any = min(p*n, math.MaxInt32), 0, 0, true
		case c > ' ':
			return 0
		}
	}
	if !any {
		return 0
	}
	return int32(p)
}

// members calls f for each member of a JSON object and reports whether it has
// the form of one.
func members(b []byte, f func(key string, v value)) bool {
	i := 1
	for {
		for i < len(b) && (space(b[i]) || b[i] == ',') {
			i++
		}
		if i >= len(b) {
			return false
		}
		if b[i] == '}' {
			return true
		}
		if b[i] != '"' {
			return false
		}
		end, ok := valueEnd(b, i)
		if !ok {
			return false
		}
		key := unquote(b[i:end])
		for i = end; i < len(b) && space(b[i]); i++ {
		}
		if i >= len(b) || b[i] != ':' {
			return false
		}
		for i++; i < len(b) && space(b[i]); i++ {
		}
		if end, ok = valueEnd(b, i); !ok || end == i {
			return false
		}
		f(string(key), valueOf(b[i:end]))
		i = end
	}
}

func valueOf(raw []byte) value {
	switch c := raw[0]; {
	case c == '"':
		return value{'"', unquote(raw)}
	case c == '{' || c == '[':
		return value{c, raw}
	case c == '-' || c >= '0' && c <= '9':
		return value{'0', raw}
	}
	return value{'?', raw}
}

// unquote decodes a JSON string. What the format forbids is read as it stands:
// control characters (pytorch issue 130622), escapes that do not exist.
func unquote(raw []byte) []byte {
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return []byte(string([]rune(string(inner))))
	}
	clean := make([]byte, 0, len(raw)+8)
	for _, c := range raw {
		if c < ' ' {
			clean = append(clean, `\u00`...)
			clean = append(clean, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
			continue
		}
		clean = append(clean, c)
	}
	var s string
	if json.Unmarshal(clean, &s) != nil {
		return []byte(string([]rune(string(inner))))
	}
	return []byte(s)
}

// valueEnd is the index behind the JSON value at b[i]; not ok where the value
// does not end within b. It knows strings and brackets, and nothing else needs to
// be right. It does not recurse, so that no depth harms it.
func valueEnd(b []byte, i int) (end int, ok bool) {
	if i >= len(b) {
		return i, false
	}
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		return nestEnd(b, i)
	}
	for j := i; j < len(b); j++ {
		if c := b[j]; c == ',' || c == '}' || c == ']' || space(c) {
			return j, true
		}
	}
	return len(b), false
}

func nestEnd(b []byte, i int) (int, bool) {
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			end, ok := stringEnd(b, i)
			if !ok {
				return end, false
			}
			i = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(b), false
}

// stringEnd is the index behind the quote that closes the string at b[i].
func stringEnd(b []byte, i int) (int, bool) {
	for j := i + 1; ; {
		k := bytes.IndexByte(b[j:], '"')
		if k < 0 {
			return len(b), false
		}
		j += k
		n := 0
		for b[j-1-n] == '\\' {
			n++
		}
		if j++; n&1 == 0 {
			return j, true
		}
	}
}

// space holds for all control characters but zero, which JSON forbids and nobody
// misses.
func space(c byte) bool { return c-1 < ' ' }
