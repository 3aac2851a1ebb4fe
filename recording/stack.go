package recording

import (
	"cmp"
	"fmt"
	"path"
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

// IsAt reports whether it is a line that is written as file:line, in whatever folder.
func (p Place) IsAt(where string) bool {
	return where != "" && path.Base(fmt.Sprintf("%s:%d", p.File, p.Line)) == path.Base(where)
}

// String is "train.py:41 Faces.__getitem__".
func (p Place) String() string {
	if p.Line == 0 {
		return p.File + " " + p.Function
	}
	return fmt.Sprintf("%s:%d %s", p.File, p.Line, p.Function)
}

// Loading is who prepares batches: the workers of a trainer, or its own thread.
type Loading struct {
	PID     int // of the trainer
	Worker  bool
	Outside bool // the trainer's own thread, while it prepares none
}

// String is the subject of its signals.
func (l Loading) String() string {
	who := "main"
	switch {
	case l.Worker:
		who = "worker"
	case l.Outside:
		who = "loop"
	}
	return fmt.Sprintf("process/%d;%s", l.PID, who)
}

// LoaderFile is PyTorch's DataLoader, as a Place names it.
const LoaderFile = "torch/utils/data/dataloader.py"

// Stack is where threads were seen while they prepared a batch, or a trainer's own while it prepared none.
type Stack struct {
	Loading
	// Inside of the fetch, outermost first; outside of one the program's own innermost line, the call
	// behind it, and the innermost library's function that tells what is done. None where too many
	// different ones were seen.
	Places  []Place
	Asleep  bool    // neither on a core nor waiting for one
	Seconds float64 // in which they were there, of all threads together
}

// SeriesSubject is that of the series of FetchStack, which are the lines that flame graphs
// are drawn from, with ";" between two places.
func (s Stack) SeriesSubject() string {
	words := []string{s.String(), "core"}
	if s.Asleep {
		words[1] = "asleep"
	}
	for _, p := range s.Places {
		words = append(words, strings.ReplaceAll(p.String(), ";", "_"))
	}
	return strings.Join(words, ";")
}

// stackOf reads a subject; false where it is none.
func stackOf(subject string) (s Stack, ok bool) {
	words := strings.Split(subject, ";")
	if len(words) < 3 || words[2] != "core" && words[2] != "asleep" {
		return s, false
	}
	pid, err := strconv.Atoi(strings.TrimPrefix(words[0], "process/"))
	who := Loading{PID: pid, Worker: words[1] == "worker", Outside: words[1] == "loop"}
	s = Stack{Loading: who, Asleep: words[2] == "asleep"}
	for _, word := range words[3:] {
		s.Places = append(s.Places, placeOf(word))
	}
	return s, err == nil
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

// FetchStacks are where the time of fetches went from one time to another, most first, and
// how often their threads were looked at in them, in all: of some, or of all that load.
func (r *Run) FetchStacks(from, to float64, who ...Loading) (stacks []Stack, looks float64) {
	wanted := func(l Loading) bool { return len(who) == 0 && !l.Outside || slices.Contains(who, l) }
	written := map[Loading][]float64{}
	for _, series := range r.All(FetchLooks) {
		if s, ok := stackOf(series.Subject + ";core"); ok && wanted(s.Loading) {
			written[s.Loading] = series.T
			looks += series.added(from, to, series.T)
		}
	}
	for _, series := range r.All(FetchStack) {
		s, ok := stackOf(series.Subject)
		if !ok || !wanted(s.Loading) {
			continue
		}
		if s.Seconds = series.added(from, to, written[s.Loading]); s.Seconds > 0 {
			stacks = append(stacks, s)
		}
	}
	slices.SortStableFunc(stacks, func(a, b Stack) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return stacks, looks
}

// added is by how much a counter grew from one time to another that has a sample only
// where it grew. It grew evenly since its last sample, or since the last of the times at
// which such counters were written.
func (s *Series) added(from, to float64, written []float64) (sum float64) {
	for i := 1; i < len(s.T); i++ {
		begin, end := s.T[i-1], s.T[i]
		if j, _ := slices.BinarySearch(written, end); j > 0 {
			begin = max(begin, written[j-1])
		}
		share := 0.0
		switch inside := min(end, to) - max(begin, from); {
		case inside > 0:
			share = inside / (end - begin)
		case begin == end && from < end && end <= to:
			share = 1
		}
		sum += share * (s.V[i] - s.V[i-1])
	}
	return sum
}
