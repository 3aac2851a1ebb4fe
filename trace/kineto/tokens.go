package kineto

import "bytes"

// memberKey reads the key at b[i] and finds its value. Keys are short: a loop over
// their bytes is faster than a call that searches.
func memberKey(b []byte, i int) (key []byte, v int, ok bool) {
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
	for v = j + 1; isSpace(b[v]); v++ {
	}
	if b[v] != ':' {
		return nil, i, false
	}
	for v++; isSpace(b[v]); v++ {
	}
	return b[i+1 : j], v, true
}

// endsKey are the bytes at which the loop over a key stops: one look-up per byte
// instead of three comparisons.
var endsKey = [256]bool{'"': true, '\\': true, 0: true}

// plainString is a string without escapes.
func plainString(b []byte, i int) (text []byte, end int, ok bool) {
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

// stringAt is a string, decoded if it holds escapes: Windows writes a path's
// backslashes so, in the names of all Python frames.
func (s *scanner) stringAt(b []byte, i int) (text []byte, end int, ok bool) {
	if text, end, ok = plainString(b, i); ok || b[i] != '"' {
		return text, end, ok
	}
	end, ok = skipValue(b, i)
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

func delimits(c byte) bool { return c == ',' || c == '}' || c == ']' || isSpace(c) }

// skipValue steps over a value of any kind.
func skipValue(b []byte, i int) (end int, ok bool) {
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
			if j, ok = skipValue(b, j); !ok {
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
