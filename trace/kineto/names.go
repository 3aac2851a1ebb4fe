package kineto

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/stoker-dev/stoker/recording"
)

// longestName is where a name is cut: C++ kernels with many template arguments
// reach 10 kB, more is damage.
const longestName = 64 << 10

// nameTable are distinct texts in order of appearance.
type nameTable struct {
	list   []string
	traits []traits
	known  map[string]int32
	recent [1024]knownText
}

// knownText is a text with its place.
type knownText struct {
	text string
	id   int32
}

func newNames() *nameTable { return &nameTable{known: map[string]int32{}} }

// intern is the place of a text. A trace repeats few texts, so that most are found
// in a small table by length and a few bytes, before any hashing.
func (n *nameTable) intern(text []byte) int32 {
	if len(text) > longestName {
		text = text[:longestName]
	}
	r := &n.recent[recentSlot(text)]
	if r.text == string(text) && len(text) > 0 {
		return r.id
	}
	id, found := n.known[string(text)]
	if !found {
		id = n.insert(string(text))
	}
	if n.list[id] == string(text) {
		*r = knownText{n.list[id], id}
	}
	return id
}

func (n *nameTable) insert(text string) int32 {
	clean := text
	if !utf8.ValidString(text) {
		clean = string([]rune(text)) // as encoding/json reads it
	}
	id, found := n.known[clean]
	if !found {
		id = int32(len(n.list))
		n.list = append(n.list, clean)
		n.traits = append(n.traits, traitsOf(clean))
		n.known[clean] = id
	}
	n.known[text] = id
	return id
}

func recentSlot(text []byte) uint32 {
	n := len(text)
	h := uint32(n)
	if n >= 8 {
		h = h*31 + uint32(text[n-1]) + uint32(text[n-3])<<3 + uint32(text[n/2])<<5 + uint32(text[n-6])<<2
	} else if n > 0 {
		h = h*31 + uint32(text[n-1]) + uint32(text[0])<<4
	}
	return h & 1023
}

// lists finds JSON arrays as recorded, without spaces and quotes: shapes, types.
type lists struct {
	names  *nameTable
	known  map[string]knownText
	bytes  int // of the texts in known
	recent [1024]knownText
}

func newLists(n *nameTable) *lists { return &lists{names: n, known: map[string]knownText{}} }

// mostRaw and mostRawBytes bound the texts that are remembered as written: a
// foreign file may make each of them different.
const (
	mostRaw      = 1 << 16
	mostRawBytes = 32 << 20
)

// intern is the place of an array's text, -1 if the array has no text, or it is empty or
// longer than any name.
func (l *lists) intern(raw []byte) int32 {
	if len(raw) == 0 || len(raw) > longestName {
		return -1
	}
	r := &l.recent[recentSlot(raw)]
	if r.text == string(raw) {
		return r.id
	}
	k, found := l.known[string(raw)]
	if !found {
		k = knownText{string(raw), -1}
		if text := tightList(raw); len(text) > len("[]") {
			k.id = l.names.intern(text)
		}
		if l.bytes += len(raw); l.bytes < mostRawBytes {
			l.known[k.text] = k
		}
	}
	*r = k
	return k.id
}

// tightList is an array without the spaces between its values and without quotes.
func tightList(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	quoted := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted && i+1 < len(raw):
			i++
			out = append(out, raw[i])
		case !quoted && c <= ' ':
		default:
			out = append(out, c)
		}
	}
	return out
}

// stacks finds the user's innermost frame in the call stack that the dialect of
// 2021 wrote with each operator: frames from the inside out, between semicolons.
type stacks struct {
	names *nameTable
	known map[string]knownText
	bytes int // of the texts in known
	last  knownText
}

func newStacks(n *nameTable) *stacks { return &stacks{names: n, known: map[string]knownText{}} }

// internFrame is the place of the frame's name, -1 without one.
func (s *stacks) internFrame(stack []byte) int32 {
	if len(stack) == 0 || len(stack) > longestName {
		return -1
	}
	if s.last.text == string(stack) {
		return s.last.id
	}
	k, found := s.known[string(stack)]
	if !found {
		k = knownText{string(stack), s.ownFrame(stack)}
		if s.bytes += len(stack); s.bytes < mostRawBytes {
			s.known[k.text] = k
		}
	}
	s.last = k
	return k.id
}

func (s *stacks) ownFrame(stack []byte) int32 {
	for frame := range bytes.SplitSeq(stack, []byte(";")) {
		if name := strings.TrimSpace(string(frame)); recording.OwnFrame(name) {
			return s.names.intern([]byte(name))
		}
	}
	return -1
}
