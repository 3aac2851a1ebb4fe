package kineto

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// jsonValue is one JSON value: is tells its kind by its first byte, '"' a string,
// '0' a number, '{', '[' or '?' a bare token; text is the decoded string, else
// the value as written.
type jsonValue struct {
	is   byte
	text []byte
}

// members calls f for each member of a JSON object and reports whether it has
// the form of one.
func members(b []byte, f func(key string, v jsonValue)) bool {
	i := 1
	for {
		for i < len(b) && (isSpace(b[i]) || b[i] == ',') {
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
		for i = end; i < len(b) && isSpace(b[i]); i++ {
		}
		if i >= len(b) || b[i] != ':' {
			return false
		}
		for i++; i < len(b) && isSpace(b[i]); i++ {
		}
		if end, ok = valueEnd(b, i); !ok || end == i {
			return false
		}
		f(string(key), valueOf(b[i:end]))
		i = end
	}
}

func valueOf(raw []byte) jsonValue {
	switch c := raw[0]; {
	case c == '"':
		return jsonValue{'"', unquote(raw)}
	case c == '{' || c == '[':
		return jsonValue{c, raw}
	case c == '-' || c >= '0' && c <= '9':
		return jsonValue{'0', raw}
	}
	return jsonValue{'?', raw}
}

// unquote decodes a JSON string. Text that the format forbids is kept unchanged:
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
		if c := b[j]; c == ',' || c == '}' || c == ']' || isSpace(c) {
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

// isSpace holds for all control characters but zero, which JSON forbids and no program
// misses.
func isSpace(c byte) bool { return c-1 < ' ' }

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

// wholePart is the part of a number before its point.
func wholePart(text []byte) (int64, bool) {
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

// rational is a JSON number, nil if it is not a number or has an exponent that would
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

func setText(field *[]byte, v jsonValue) {
	if v.is == '"' {
		*field = v.text
	}
}

// digits18 is the most digits that always fit an int64.
const digits18 = 18
