package diagnose

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// SlowTransform is the finding that names a line.
const SlowTransform = "slow-transform"

// Line is a part of a loader's work that the program asks for on one line.
type Line struct {
	// Own is the program's own innermost line; without a file if only libraries were seen.
	Own recording.Place
	// Call is the library's function that does it; without a file if it is the line itself,
	// or native code called there.
	Call recording.Place
	// Data is the class of the data set if only libraries were seen; "" unknown.
	Data string
	// Class is the program's class or function whose lines are counted together: no single one of them has much, or
	// they do the same work; "" of one line.
	Class string
	Kind  Kind
	Share stoker.Interval // of the time that is spent on preparing batches

	// Without is the gain if it took no time.
	Without predict.Forecast
}

// Where is where to look: the program's own line where there is one.
func (l Line) Where() recording.Place {
	if l.Own.File != "" {
		return l.Own
	}
	return l.Call
}

// String says where the time goes.
func (l Line) String() string {
	if l.Class != "" {
		class := l.Class
		l.Class = ""
		if class == l.Own.Function {
			return l.String() + ", the whole function"
		}
		return class + ", most of it at " + l.String()
	}
	switch {
	case l.Own.File == "" && l.Data != "":
		return "the data set " + l.Data + ", in " + l.Call.File + " " + l.Call.Function
	case l.Own.File == "":
		return strings.TrimSpace(l.Call.String())
	case l.Call.File == "":
		return strings.TrimSpace(l.Own.String())
	}
	return strings.TrimSpace(l.Own.String()) + ", in " + l.Call.File + " " + l.Call.Function
}

// Short is its file without folders, and its number: "train.py:41"; "" of the zero Line.
func (l Line) Short() string {
	p := l.Where()
	switch {
	case p.File == "":
		return ""
	case p.Line == 0:
		return path.Base(p.File)
	}
	return fmt.Sprintf("%s:%d", path.Base(p.File), p.Line)
}

// LoopLines are the lines on which a trainer's own thread was seen while it prepared no batch.
type LoopLines struct {
	Lines   []LoopLine // most first
	Seconds float64    // in all of them
	// Evaluation is where evaluation is most, and Evaluating the seconds beneath functions that are called so.
	Evaluation recording.Place
	Evaluating float64
	Acting     float64 // seconds beneath functions that choose what to do next, by their names
	Generating float64 // the same of functions that generate sequences
	Locked     float64 // of these, waiting for Python's interpreter lock while it takes a batch over
	Looks      float64
	// Awaits are the lines on which coroutines of a server wait, the reason first. Their seconds are not in Seconds.
	Awaits []LoopLine
	// InThreads are the seconds of all coroutines of requests whose answer a thread of a pool makes.
	InThreads float64
}

// LoopLine is one of them. Its Share is of all samples.
type LoopLine struct {
	Line

	Seconds, Asleep float64
	Locked          float64 // of Asleep, seconds of waiting for a lock that another thread has
	Evaluating      float64 // seconds beneath a function of the program that evaluates
	Work            Kind    // of a server's line that works: what it does, by what it calls; "" unknown
	Holds           Kind    // of a server's line on which a thread sleeps: by the libraries that it calls; "" unknown
	Blocks          bool    // a server's event loop is blocked meanwhile

	Evaluation recording.Place // the function beneath which it evaluates, and its line
}

// Evaluates reports whether most of a line's time is beneath a function that evaluates.
func (l LoopLine) Evaluates() bool { return l.Evaluating > l.Seconds/2 }

// ServerAdvice is what makes a server's line cheaper, on a machine with a device or without; "" if nothing seen tells.
func (l LoopLine) ServerAdvice(device bool) string {
	if hint, known := workOfRequest[l.Work]; known && slices.Contains(forRequests, l.Kind) {
		return onModelsPlace(hint, device) + ". " + onceAndKept + besideModel
	}
	return onModelsPlace(kindWords[l.Kind][1], device)
}

// ServerWords is what a server's line does.
func (l LoopLine) ServerWords() string {
	if _, known := workOfRequest[l.Work]; known && slices.Contains(forRequests, l.Kind) {
		return l.Work.Words()
	}
	return l.Kind.Words()
}

// forRequests are kinds of a server's lines that much else is made of.
var forRequests = []Kind{PerRequest, RequestData}

// FirstOf is the line with most time among those of some kinds; false without one.
func (l LoopLines) FirstOf(kinds ...Kind) (LoopLine, bool) {
	return firstOf(l.Lines, func(line LoopLine) bool { return slices.Contains(kinds, line.Kind) })
}

// firstOf is the first line for which a condition holds; false without one.
func firstOf(lines []LoopLine, holds func(LoopLine) bool) (LoopLine, bool) {
	if i := slices.IndexFunc(lines, holds); i >= 0 {
		return lines[i], true
	}
	return LoopLine{}, false
}

// Launches is the line of the function that launches most, and the seconds of all launches. Work without a frame in a
// module's forward that mostly launches is calls of PyTorch as well. What backward launches follows from the calls of
// the model, so its line is named only if no other one launches much.
func (l LoopLines) Launches() (first LoopLine, seconds float64) {
	type function struct{ file, name string }
	calls, works := map[function]float64{}, map[function]float64{}
	for _, line := range l.Lines {
		switch at := (function{line.Own.File, line.Own.Function}); line.Kind {
		case Launching:
			calls[at] += line.Seconds
		default:
			if slices.Contains(OfCode, line.Kind) {
				works[at] += line.Seconds
			}
		}
	}
	launches := func(line LoopLine) bool {
		at := function{line.Own.File, line.Own.Function}
		native := slices.Contains(OfCode, line.Kind)
		module := native && strings.HasSuffix(at.name, "forward") && calls[at] >= works[at]
		return line.Own.File != "" && (line.Kind == Launching || module)
	}
	for _, line := range l.Lines {
		if launches(line) {
			seconds += line.Seconds
		}
	}
	first, _ = BusiestFunction(l.Lines, launches)
	model, most := BusiestFunction(l.Lines, func(line LoopLine) bool {
		return launches(line) && !strings.HasSuffix(line.Call.Function, "backward")
	})
	if most >= leastForward*seconds && model.Own.Function != first.Own.Function {
		first = model
	}
	return first, seconds
}

// leastForward is the share of the launches from which a line is named before that of backward, which has the double
// of what it differentiates. [J]
const leastForward = 0.15

// noWork are kinds of a server's lines in which no core works for a request.
var noWork = append([]Kind{Awaiting, DeviceWait, Launching, Queueing}, HoldRequests...)

// FirstHeld is the line on which requests wait for something else than work: of a coroutine where those wait longer
// than threads; false without one.
func (l LoopLines) FirstHeld() (LoopLine, bool) {
	// of a library's own thread no line tells why it waits
	thread, found := firstOf(l.Lines, func(line LoopLine) bool {
		return slices.Contains(HoldRequests, line.Kind) && (line.Kind != Held || line.Own.File != "")
	})
	if blocks, found := l.FirstOf(Blocking); found && blocks.Share.Point >= blocksMuch {
		return blocks, true // what coroutines wait for meanwhile follows from it
	}
	if len(l.Awaits) > 0 && (!found || l.Awaits[0].Seconds > thread.Seconds) {
		first := l.Awaits[0]
		if first.Kind == ThreadPool && first.Own.File == "" && found {
			first.Own, first.Call = thread.Own, thread.Call // the line that keeps the pool's threads
		}
		return first, true
	}
	return thread, found
}

// blocksMuch is the share of the looks from which a line that stops the event loop is named before others. [J]
const blocksMuch = 0.2

// FirstPieces is where coroutines wait for the pieces of answers, if they do that for much of the time; false if not.
func (l LoopLines) FirstPieces() (LoopLine, bool) {
	return firstOf(l.Awaits, func(line LoopLine) bool { return line.Kind == Pieces && line.Share.Point >= NamedLine })
}

// BeforeLock is the line on which coroutines wait for a lock longer than its owner does on the line that FirstHeld
// names; false without one.
func (l LoopLines) BeforeLock() (LoopLine, bool) {
	if first, found := l.FirstHeld(); found && len(l.Awaits) > 0 && first.String() == l.Awaits[0].String() {
		for _, line := range l.Awaits[1:] {
			if line.Locked > first.Seconds {
				return line, true
			}
		}
	}
	return LoopLine{}, false
}

// mostWaits is the share of the time of all suspended coroutines from which one line of the program is named. [J]
const mostWaits = 0.5

// Gate is the program's line at which most of all coroutines wait for a lock or a semaphore; false without one.
func (l LoopLines) Gate() (LoopLine, bool) {
	return firstOf(l.Awaits, func(line LoopLine) bool {
		return line.Own.File != "" && line.Locked > line.Seconds/2 && line.Share.Point > mostWaits
	})
}

// FirstWork is the line with most time of the kind of work that takes a server's host most; false without one. A line
// of the program's own comes before a library's that no line called, as in a thread that sends for it.
func (l LoopLines) FirstWork() (LoopLine, bool) {
	sums, most := map[Kind]float64{}, Kind("")
	for _, line := range l.Lines {
		if slices.Contains(noWork, line.Kind) {
			continue
		}
		kind := l.collectsFor(line)
		if sums[kind] += line.Seconds; most == "" || sums[kind] > sums[most] {
			most = kind
		}
	}
	first, found := l.FirstOf(most)
	for _, line := range l.Lines {
		if line.Kind == most && line.Own.File != "" && line.Seconds >= ownCounts*first.Seconds {
			return line, found
		}
	}
	if slices.Contains(forRequests, first.Kind) && first.Own.File == "" {
		if waits, known := firstOf(l.Awaits, LoopLine.awaitsLibrary); known {
			waits.Kind = OfLibrary
			return waits, true
		}
	}
	return first, found
}

// collectsFor is the kind of a line's work. Collecting garbage counts as the work of the function's other lines, which
// made the garbage, if they take a good part of that time. Otherwise the line calls gc.collect() or the like.
func (l LoopLines) collectsFor(line LoopLine) Kind {
	if line.Kind != Garbage || line.Own.File == "" {
		return line.Kind
	}
	works, found := firstOf(l.Lines, func(other LoopLine) bool {
		return slices.Contains(forRequests, other.Kind) && other.Own.IsInFunctionOf(line.Own) &&
			other.Seconds >= ownCounts*line.Seconds
	})
	if !found {
		return line.Kind
	}
	return works.Kind
}

// awaitsLibrary reports whether a coroutine's line awaits what a library's own code gives it, and no lock.
func (l LoopLine) awaitsLibrary() bool {
	loops := strings.HasPrefix(l.Call.File, "asyncio/") || strings.HasPrefix(l.Call.File, "anyio/")
	return l.Own.File != "" && l.Call.File != "" && !loops && l.Kind == Held && l.Locked < l.Seconds/2
}

// ownCounts is the part of a library's time from which a line of the program's own is named in its place. [J]
const ownCounts = 0.25

// ShortWaits is the line with most time on a core of those that wait for the device: the thread sleeps through nearly
// all of a long wait, and wakes often in short ones. False without one.
func (l LoopLines) ShortWaits() (most LoopLine, found bool) {
	for _, line := range l.Lines {
		longer := !found || line.Seconds-line.Asleep > most.Seconds-most.Asleep
		if line.Kind == DeviceWait && line.Own.File != "" && longer {
			most, found = line, true
		}
	}
	return most, found
}

// SecondsOf is the time of all lines of a kind.
func (l LoopLines) SecondsOf(kind Kind) (seconds float64) {
	for _, line := range l.Lines {
		if line.Kind == kind {
			seconds += line.Seconds
		}
	}
	return seconds
}

// SecondsOfReads is the time of all waits for the device, and of the line (file:line) that is known to wait for it.
func (l LoopLines) SecondsOfReads(waitsAt string) (seconds float64) {
	for _, line := range l.Lines {
		if line.Kind == DeviceWait || line.Own.IsAt(waitsAt) {
			seconds += line.Seconds
		}
	}
	return seconds
}

// SecondsOfClass is the time of all work of the program's class that a line belongs to, of its function if that is in
// none. It counts neither waits for the device nor the loader.
func (l LoopLines) SecondsOfClass(at recording.Place) (seconds float64) {
	class, _, _ := strings.Cut(at.Outer(), ".")
	for _, line := range l.Lines {
		of, _, _ := strings.Cut(line.Own.Outer(), ".")
		if line.Own.File == at.File && of == class && line.Kind != DeviceWait && !slices.Contains(OfLoader, line.Kind) {
			seconds += line.Seconds
		}
	}
	return seconds
}

// WorksWithWait reports whether a line is in the function that waits for the device at a place (file:line): what is
// read there is for that work. A function that asks a loader for batches does not count, as it does many things.
func (l LoopLines) WorksWithWait(work recording.Place, waitsAt string) bool {
	waits := false
	for _, line := range l.Lines {
		if !line.Own.IsInFunctionOf(work) {
			continue
		}
		if slices.Contains(OfLoader, line.Kind) {
			return false
		}
		waits = waits || line.Own.IsAt(waitsAt) && line.Own.Line != work.Line
	}
	return waits
}

// SecondsAt is the time of all that a line of the program does of one kind, by whichever function of a library.
func (l LoopLines) SecondsAt(at LoopLine) (seconds float64) {
	for _, line := range l.Lines {
		if line.Own == at.Own && line.Kind == at.Kind {
			seconds += line.Seconds
		}
	}
	return seconds
}

// BusiestFunction returns the first line of the function with most time, of the lines that count, and the seconds of
// these in it. Work of a function may lie on several lines, and in functions inside of it, as comprehensions are.
func BusiestFunction(lines []LoopLine, counts func(LoopLine) bool) (LoopLine, float64) {
	return busiest(lines, counts, func(function string) string { return recording.Place{Function: function}.Outer() })
}

// BusiestClass does so for the functions of a class together, and those that are in none one by one.
func BusiestClass(lines []LoopLine, counts func(LoopLine) bool) (LoopLine, float64) {
	return busiest(lines, counts, func(function string) string {
		class, _, _ := strings.Cut(function, ".")
		return class
	})
}

func busiest(lines []LoopLine, counts func(LoopLine) bool, group func(string) string) (LoopLine, float64) {
	type function struct{ file, name string }
	sums, first, most := map[function]float64{}, map[function]LoopLine{}, function{}
	for _, line := range lines {
		if !counts(line) {
			continue
		}
		at := function{line.Own.File, group(line.Own.Function)}
		if _, seen := first[at]; !seen {
			first[at] = line
		}
		if sums[at] += line.Seconds; sums[at] > sums[most] {
			most = at
		}
	}
	return first[most], sums[most]
}

// LinesSaid is how many lines a sentence names.
const LinesSaid = 3

// WholePercent is a share in whole per cent: samples tell no more.
func WholePercent(share float64) string { return quantity.Percent(math.Round(100*share) / 100) }
