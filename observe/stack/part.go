package stack

import (
	"regexp"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// part is what a function is to a loader.
type part byte

const (
	inside part = iota // of a fetch, or of anything else
	fetch              // begins to prepare a batch: all that it calls belongs to it
	ours               // of the start-up hook
)

// library finds where a library's own path begins.
var library = regexp.MustCompile(`^.*/(?:(?:site|dist)-packages|lib/python3\.\d+)/`)

// partOf is what a function is to a loader, and its file as it is recorded: a library's
// begins with the library's name, the program's own with "/", "." or "<".
func partOf(file, name string) (string, part) {
	switch {
	case strings.HasSuffix(file, "torch/utils/data/_utils/fetch.py"):
		return file, fetch
	case strings.HasPrefix(file, "<stoker>/"), strings.Contains(file, "/stoker/hook-"):
		return file, ours
	case library.MatchString(file):
		return file[len(library.FindString(file)):], inside
	case strings.HasPrefix(file, "<frozen "):
		return strings.Trim(file, "<>"), inside
	case strings.HasPrefix(file, "/") || strings.HasPrefix(file, "<"):
		return file, inside
	}
	return "./" + file, inside
}

// mostPlaces bounds how much of a stack is recorded: its outermost and its innermost
// half.
const mostPlaces = 24

// fetched are the places of a stack inside of a fetch, outermost first, added to a
// list; false where the thread is in none.
func fetched(stack []place, into []recording.Place) ([]recording.Place, bool) {
	begin := -1
	for i, p := range stack {
		if p.code != nil && p.code.part == fetch {
			begin = i
		}
	}
	if begin < 0 {
		return into, false
	}
	for i := begin; i >= 0; i-- {
		if c := stack[i].code; c != nil && c.part == inside {
			into = append(into, stack[i].asPlace())
		}
	}
	if cut := len(into) - mostPlaces; cut > 0 {
		into = append(into[:mostPlaces/2], into[mostPlaces/2+cut:]...)
	}
	return into, true
}

// around are the places of a stack outside of a fetch: the program's own innermost line and the library's
// that it calls, or the library's that began it all where none is its own; false where there is none.
func around(stack []place, into []recording.Place) ([]recording.Place, bool) {
	var call *place
	for i := range stack {
		p := &stack[i]
		if p.code == nil || p.code.part != inside {
			continue
		}
		if own := p.asPlace(); own.Own() {
			into = append(into, own)
			break
		}
		call = p
	}
	if call != nil {
		into = append(into, call.asPlace())
	}
	return into, len(into) > 0
}

func (p place) asPlace() recording.Place {
	return recording.Place{File: p.code.file, Line: p.line, Function: p.code.name}
}
