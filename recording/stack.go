package recording

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Place is a line of code in which a thread was.
type Place struct {
	File     string // a library's path begins with the library's name, the program's own with "/", "." or "<"
	Line     int    // 0 unknown
	Function string // "Faces.__getitem__"
}

// Own reports whether the place is in the program's own code.
func (p Place) Own() bool { return p.File != "" && strings.ContainsRune("/.<", rune(p.File[0])) }

// IsInFunctionOf reports whether two places are in the same function of the same file.
func (p Place) IsInFunctionOf(other Place) bool {
	return p.File == other.File && p.Function == other.Function
}

// Outer is the function, or the one that it is defined in: a comprehension's is that around it.
func (p Place) Outer() string {
	outer, _, _ := strings.Cut(p.Function, ".<locals>")
	return outer
}

// TakesPieces reports whether it is Starlette's function that asks a plain generator for each piece of an answer in a
// thread.
func (p Place) TakesPieces() bool { return p.Function == "iterate_in_threadpool" }

// Imports reports whether the place is Python's own, where it loads a module.
func (p Place) Imports() bool { return strings.HasPrefix(p.File, "frozen importlib") }

// evaluates are names by which programs call the functions that evaluate a model. [J]
var evaluates = regexp.MustCompile(
	`(?i)(?:^|\.)_?(?:run_|do_)?(?:evaluate|evaluation|eval|validate|validation|test)(?:_\w+)?$`)

// Evaluates reports whether the place is in a function of the program's own that evaluates a model, by its name.
func (p Place) Evaluates() bool { return p.Own() && evaluates.MatchString(p.Function) }

// IsAt reports whether the place is the line where, written as file:line with any folder.
func (p Place) IsAt(where string) bool {
	return where != "" && path.Base(fmt.Sprintf("%s:%d", p.File, p.Line)) == path.Base(where)
}

// String returns "train.py:41 Faces.__getitem__".
func (p Place) String() string {
	if p.Line == 0 {
		return p.File + " " + p.Function
	}
	return fmt.Sprintf("%s:%d %s", p.File, p.Line, p.Function)
}

// Loading identifies who prepares batches: the workers of a trainer, or its own thread.
type Loading struct {
	PID     int // of the trainer
	Worker  bool
	Outside bool // the trainer's own thread, while it does not prepare a batch
	Beside  bool // another thread of the trainer, which runs while its own waits for a lock
}

// String returns the subject of its signals.
func (l Loading) String() string {
	who := "main"
	switch {
	case l.Worker:
		who = "worker"
	case l.Outside:
		who = "loop"
	case l.Beside:
		who = "beside"
	}
	return fmt.Sprintf("process/%d;%s", l.PID, who)
}

// LoaderFile is PyTorch's DataLoader, as a Place names it.
const LoaderFile = "torch/utils/data/dataloader.py"

// SamplerFile has PyTorch's samplers, which draw indices in the launching thread.
const SamplerFile = "torch/utils/data/sampler.py"

// EventLoopFile is where asyncio calls what an event loop runs, as a Place names it. Without a line, as the first place
// of a stack, it says that the loop runs it, and is blocked meanwhile.
const EventLoopFile = "asyncio/events.py"

// Stack is where threads were seen while they prepared a batch, or where a trainer's own thread
// was while it did not.
type Stack struct {
	Loading
	// For a fetch, the frames inside of it, outermost first. Otherwise the program's own
	// innermost line, the call after it, and the innermost library function that tells what is
	// done. Empty if too many different ones were seen.
	Places  []Place
	Native  string  // what the innermost line calls, by its text: native code has no frame; "" unknown
	Asleep  bool    // neither running nor waiting for a core
	Awaits  Awaits  // what a thread asleep waits for, if the kernel tells
	OnLoop  bool    // an event loop runs it, and is blocked meanwhile
	Seconds float64 // total time of all threads there
}

// Awaits is what a thread asleep waits for.
type Awaits string

// What the kernel tells of that. "" is anything else: a timer, a socket, another process.
const (
	AwaitsLock Awaits = "lock" // a lock of the program, or a condition: another thread has to act
	AwaitsDisk Awaits = "disk"

	AwaitsFileLock Awaits = "file-lock" // of a file, which another process may have
)

// Of a suspended coroutine, whose it is: only AwaitStack has these.
const (
	OfRequest Awaits = "request" // the task that answers a request
	OfTask    Awaits = "task"    // another one
	OfThread  Awaits = "thread"  // either, and a thread of a pool has what it awaits
	OfPool    Awaits = "pool"    // none's: a thread of a pool is there, and others wait for their turn in it
)

// SeriesSubject returns the subject of the stack's FetchStack series. These are lines for flame
// graphs, with ";" between two places.
func (s Stack) SeriesSubject() string {
	words := []string{s.String(), "core"}
	if s.Asleep {
		words[1] = cmp.Or(string(s.Awaits), "asleep")
	}
	if s.OnLoop {
		words = append(words, EventLoopFile)
	}
	for _, p := range s.Places {
		words = append(words, strings.ReplaceAll(p.String(), ";", "_"))
	}
	if s.Native != "" {
		words = append(words, Place{File: nativeCode, Function: s.Native}.String())
	}
	return strings.Join(words, ";")
}

// generated is the file of code that a library wrote and ran, as that of data classes and of proxies. Beneath the
// program's own lines it is none of them.
const generated = "<string>"

// Generated is the file of such code beneath the program's own lines.
const Generated = "string"

// nativeCode is the file of a function without a frame, as the last place of a subject.
const nativeCode = "native"

// stackOf parses a subject; ok is false if it is not a stack.
func stackOf(subject string) (s Stack, ok bool) {
	words := strings.Split(subject, ";")
	if len(words) < 3 {
		return s, false
	}
	awaits := Awaits("")
	switch words[2] {
	case "core", "asleep":
	case string(AwaitsLock), string(AwaitsDisk), string(AwaitsFileLock), string(OfRequest), string(OfTask),
		string(OfThread), string(OfPool):
		awaits = Awaits(words[2])
	default:
		return s, false
	}
	pid, err := strconv.Atoi(strings.TrimPrefix(words[0], "process/"))
	who := Loading{
		PID: pid, Worker: words[1] == "worker", Outside: words[1] == "loop", Beside: words[1] == "beside",
	}
	s = Stack{Loading: who, Asleep: words[2] != "core", Awaits: awaits}
	for _, word := range words[3:] {
		p := placeOf(word)
		if p.File == generated && slices.ContainsFunc(s.Places, Place.Own) {
			p.File = Generated
		}
		if p.File == nativeCode {
			s.Native = p.Function
			break
		}
		if s.OnLoop = s.OnLoop || p == (Place{File: EventLoopFile}); p != (Place{File: EventLoopFile}) {
			s.Places = append(s.Places, p)
		}
	}
	return s, err == nil
}

// IsLocked reports whether the subject of a FetchStack series is that of a thread that awaits a lock.
func IsLocked(subject string) bool {
	s, ok := stackOf(subject)
	return ok && s.Awaits == AwaitsLock
}

func placeOf(text string) Place {
	line, function := text, ""
	if at := strings.LastIndexByte(text, ' '); at >= 0 {
		line, function = text[:at], text[at+1:]
	}
	p := ParseLine(line)
	p.Function = function
	return p
}

// ParseLine reads a file and its line, "train.py:41". Without a line the whole text is the file.
func ParseLine(text string) Place {
	if at := strings.LastIndexByte(text, ':'); at >= 0 {
		if line, err := strconv.Atoi(text[at+1:]); err == nil && line > 0 {
			return Place{File: text[:at], Line: line}
		}
	}
	return Place{File: text}
}

// FetchStacks returns where the time of fetches between from and to went, most first, and how
// often the threads were sampled in total. It covers the given Loadings, or by default all that
// load.
func (r *Run) FetchStacks(from, to float64, who ...Loading) (stacks []Stack, looks float64) {
	wanted := func(l Loading) bool { return len(who) == 0 && !l.Outside && !l.Beside || slices.Contains(who, l) }
	written := map[Loading][]float64{}
	for _, series := range r.All(FetchLooks) {
		if s, ok := stackOf(series.Subject + ";core"); ok && wanted(s.Loading) {
			written[s.Loading] = series.T
			looks += series.addedBetween(from, to, series.T)
		}
	}
	for _, series := range r.All(FetchStack) {
		s, ok := stackOf(series.Subject)
		if !ok || !wanted(s.Loading) {
			continue
		}
		if s.Seconds = series.addedBetween(from, to, written[s.Loading]); s.Seconds > 0 {
			stacks = append(stacks, s)
		}
	}
	slices.SortStableFunc(stacks, func(a, b Stack) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return stacks, looks
}

// ProgramFolder returns the folder in which the command was given, with a slash at its end: a sampled file lies in it
// under the name that the command has. "" if none does.
func (r *Run) ProgramFolder() string {
	script := slices.IndexFunc(r.Facts.Command, func(word string) bool { return strings.HasSuffix(word, ".py") })
	if script < 0 {
		return ""
	}
	name := "/" + strings.TrimPrefix(r.Facts.Command[script], "./")
	for _, series := range r.All(FetchStack) {
		s, _ := stackOf(series.Subject)
		for _, place := range s.Places {
			if before, found := strings.CutSuffix(place.File, name); found && before != "" {
				return before + "/"
			}
		}
	}
	return ""
}

// AwaitStacks returns where coroutines of a process waited between from and to, most first.
func (r *Run) AwaitStacks(from, to float64, pid int) (stacks []Stack) {
	for _, series := range r.All(AwaitStack) {
		s, ok := stackOf(series.Subject)
		if !ok || s.PID != pid {
			continue
		}
		if s.Seconds = series.addedBetween(from, to, nil); s.Seconds > 0 {
			stacks = append(stacks, s)
		}
	}
	slices.SortStableFunc(stacks, func(a, b Stack) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return stacks
}

// added returns by how much a counter grew between from and to. The counter has a sample only
// when it grew. Growth is taken as even since its previous sample, or since the previous one of
// the times at which such counters were written.
func (s *Series) addedBetween(from, to float64, written []float64) (sum float64) {
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
