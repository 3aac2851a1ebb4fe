package recording

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Place is a line of code in which a thread was.
type Place struct {
	File     string // a library's begins with the library's name, the program's own with "/", "." or "<"
	Line     int    // 0 unknown
	Function string // "Faces.__getitem__"
}

// Own reports whether it is the program's own code.
func (p Place) Own() bool { return p.File != "" && strings.ContainsRune("/.<", rune(p.File[0])) }

// String is "train.py:41 Faces.__getitem__".
func (p Place) String() string {
	if p.Line == 0 {
		return p.File + " " + p.Function
	}
	return fmt.Sprintf("%s:%d %s", p.File, p.Line, p.Function)
}

// Stack is where the threads of a trainer's loader were seen while they prepared a
// batch.
type Stack struct {
	PID     int     // of the trainer
	Places  []Place // inside of the fetch, outermost first; none where too many different ones were seen
	Asleep  bool    // neither on a core nor waiting for one
	Seconds float64 // in which they were there, of all threads together
}

// Subject is that of the series of FetchStack, which are the lines that flame graphs
// are drawn from, with ";" between two places.
func (s Stack) Subject() string {
	var b strings.Builder
	state := onCore
	if s.Asleep {
		state = asleep
	}
	fmt.Fprintf(&b, "process/%d;%s", s.PID, state)
	for _, p := range s.Places {
		b.WriteByte(';')
		b.WriteString(strings.ReplaceAll(p.String(), ";", "_"))
	}
	return b.String()
}

const onCore, asleep = "core", "asleep"

// stackOf reads a subject; false where it is none.
func stackOf(subject string) (s Stack, ok bool) {
	words := strings.Split(subject, ";")
	if len(words) < 2 || words[1] != onCore && words[1] != asleep {
		return s, false
	}
	pid, err := strconv.Atoi(strings.TrimPrefix(words[0], "process/"))
	if err != nil {
		return s, false
	}
	s = Stack{PID: pid, Asleep: words[1] == asleep}
	for _, word := range words[2:] {
		s.Places = append(s.Places, placeOf(word))
	}
	return s, true
}

func placeOf(text string) (p Place) {
	p.File = text
	if at := strings.LastIndexByte(text, ' '); at >= 0 {
		p.File, p.Function = text[:at], text[at+1:]
	}
	if at := strings.LastIndexByte(p.File, ':'); at >= 0 {
		if line, err := strconv.Atoi(p.File[at+1:]); err == nil && line > 0 {
			p.File, p.Line = p.File[:at], line
		}
	}
	return p
}

// Stacks are where the time of fetches went from one time to another, most first, and
// how often their threads were looked at in them, in all. pid is the trainer; 0: of all
// of them.
func (r *Run) Stacks(pid int, from, to float64) (stacks []Stack, looks float64) {
	for _, series := range r.All(FetchStack) {
		s, ok := stackOf(series.Subject)
		if !ok || pid != 0 && s.PID != pid {
			continue
		}
		if s.Seconds = series.added(from, to); s.Seconds > 0 {
			stacks = append(stacks, s)
		}
	}
	for _, series := range r.All(FetchLooks) {
		if pid == 0 || series.Subject == fmt.Sprintf("process/%d", pid) {
			looks += series.added(from, to)
		}
	}
	slices.SortStableFunc(stacks, func(a, b Stack) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return stacks, looks
}

// added is by how much a counter grew from one time to another that has a sample only
// where it grew: in between it stands still.
func (s *Series) added(from, to float64) float64 {
	var before, after float64
	for i, t := range s.T {
		if t <= from || i == 0 {
			before = s.V[i]
		}
		if t <= to || i == 0 {
			after = s.V[i]
		}
	}
	return after - before
}
