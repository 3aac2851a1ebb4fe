package kineto

import (
	"bytes"
)

// The general reader: slow, but it accepts everything that real files hold: escapes,
// exponents, numbers as strings, control characters inside strings, bare tokens
// such as N/A and NaN, keys twice (the last one counts). It reads one event whose
// extent is known.

// general reads one JSON object into s.e and reports whether it could.
func (s *scanner) general(b []byte) bool {
	s.e = blank
	return members(b, func(key string, v jsonValue) {
		if key == "args" && v.is == '{' {
			members(v.text, func(key string, v jsonValue) {
				if form := formOf([]byte(key)); form != nil {
					form.setValue(&s.e, v)
				}
			})
			return
		}
		s.e.setMember(key, v)
	})
}

func (e *event) setMember(key string, v jsonValue) {
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
		if v.isTime() {
			ns, nano, ok := nanoseconds(v.text)
			e.setStart(ns, nano, ok)
		}
	case "dur":
		if v.isTime() {
			ns, nano, ok := nanoseconds(v.text)
			e.setDuration(ns, ok && !nano)
		}
	case "id":
		if v.is == '"' {
			e.setID(v.text)
		} else {
			e.setInt(&e.id, hasID, v)
		}
	}
}

// isTime reports whether a value is a number, also in quotes, as Ascend's exporter writes it.
func (v jsonValue) isTime() bool {
	return v.is == '0' || v.is == '"' && len(v.text) > 0 && (v.text[0] == '-' || v.text[0] >= '0' && v.text[0] <= '9')
}

func (e *event) setStart(ns int64, nano, ok bool) {
	e.ts = ns
	e.flags = e.flags&^(nanoUnit|absurdTS) | hasTS
	if nano {
		e.flags |= nanoUnit
	}
	if !ok {
		e.flags |= absurdTS
	}
}

func (e *event) setDuration(ns int64, ok bool) {
	e.dur = ns
	e.flags = e.flags&^absurdDur | hasDur
	if !ok {
		e.flags |= absurdDur
	}
}

// setRow sets a pid or tid: a number, a number in quotes, "stream 7", or a word
// such as "Spans".
func setRow(field *int64, v jsonValue) {
	switch v.is {
	case '0':
		if n, ok := wholePart(v.text); ok {
			*field = n
		}
	case '"':
		*field = rowNumber(v.text)
	}
}

// rowNumber is the number of a row that is given as text. Each word gets its
// negative number.
func rowNumber(text []byte) int64 {
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
