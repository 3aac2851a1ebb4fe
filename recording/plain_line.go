package recording

import (
	"bytes"
	"math"
	"strconv"
)

// appendSample writes a sample as json.Marshal would: samples are nine lines of
// ten, and reflection over the fields of all kinds took a tenth of the core time
// of observing.
func appendSample(b []byte, l line) []byte {
	b = append(b, `{"kind":"sample"`...)
	if l.T != 0 {
		b = appendNumber(append(b, `,"t":`...), l.T)
	}
	b = append(append(append(b, `,"signal":"`...), l.Signal...), '"')
	if l.Subject != "" {
		b = append(append(append(b, `,"subject":"`...), l.Subject...), '"')
	}
	return append(appendNumber(append(b, `,"value":`...), *l.Value), "}\n"...)
}

// isPlain reports whether a text stands in JSON as it is.
func isPlain[T string | []byte](text T) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// leadingWord is plain text up to a quote, and what stands behind the quote.
func leadingWord(text []byte) (word, rest []byte, ok bool) {
	end := bytes.IndexByte(text, '"')
	if end < 0 || !isPlain(text[:end]) {
		return nil, nil, false
	}
	return text[:end], text[end+1:], true
}

// plainStep is a step, or what its clock said, as a Writer writes it and with nothing for
// gate to do; of any other line it says false.
func plainStep(text []byte) (l line, found bool) {
	var rest, key []byte
	for _, l.Kind = range []string{"step", "clock"} {
		if rest, found = bytes.CutPrefix(text, []byte(`{"kind":"`+l.Kind+`"`)); found {
			break
		}
	}
	for found && string(rest) != "}" {
		if rest, found = bytes.CutPrefix(rest, []byte(`,"`)); found {
			key, rest, _ = leadingWord(rest)
		}
		if rest, found = bytes.CutPrefix(rest, []byte(":")); found {
			rest, found = l.plainField(string(key), rest)
		}
	}
	return l, found
}

// plainField takes the value of a field, and gives what stands behind it.
func (l *line) plainField(key string, text []byte) (rest []byte, found bool) {
	switch key {
	case "first":
		l.First = true
		return bytes.CutPrefix(text, []byte("true"))
	case "phase", "no_clock":
		word, rest, found := leadingWord(bytes.TrimPrefix(text, []byte(`"`)))
		if key == "phase" {
			l.Phase = Phase(word)
		} else {
			l.NoClock = string(word)
		}
		return rest, found && text[0] == '"'
	}
	v, rest, found := leadingNumber(text)
	if !found || absurd(v) || math.Abs(v) < leastNumber && v != 0 {
		return nil, false
	}
	whole := func(into *int) {
		n, err := strconv.Atoi(string(text[:len(text)-len(rest)]))
		*into, found = n, err == nil
	}
	switch key {
	case "t":
		l.T = v
	case "wait":
		l.Wait = v
	case "period":
		l.Period = &v
	case "samples":
		l.Samples = &v
	case "idle":
		l.Idle = &v
	case "device_period":
		l.DPeriod = &v
	case "optimized":
		l.Updates = &v
	case "pid":
		whole(&l.PID)
	case "rank":
		whole(&l.Rank)
	case "device":
		whole(&l.Device)
	case "loader":
		whole(&l.Loader)
	case "n":
		whole(&l.N)
	case "pass":
		whole(&l.Pass)
	default:
		return nil, false
	}
	return rest, found
}
