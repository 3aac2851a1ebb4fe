package columns

import (
	"fmt"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// A device works off a stream one piece after the other. A piece that lasts beyond whole ones
// that others launched behind it has a corrupt length, as ROCm's tracer writes now and then.
// Two exceptions are left as they are: pieces of one graph, and a kernel that begins early
// while the one before it ends (NVIDIA's programmatic launches).
const (
	lookAhead     = 16         // pieces behind one that are looked at. [J] A corrupt length covers far more.
	severalWithin = 2          // whole pieces inside, from which no early start explains them [J]
	nestedShare   = 0.1        // of a stream's pieces that cover others: from here on its rows nest by intent [J]
	lateEnd       = 10_000_000 // ns after a wait for the device, beyond any error between two clocks [J]
)

// ClipOverlaps cuts lengths that no stream allows: at the start of the next piece, and for the
// last piece of a stream at the end of the host's wait for the whole device. It returns how
// many it cut, and moves the Timeline's end if that was one of them.
func ClipOverlaps(t *recording.Timeline) (clipped int) {
	streams := streamsOf(&t.Device)
	waits := deviceWaits(t, len(streams) == 1)
	for _, works := range streams {
		clipped += clipStream(t, works, waits)
	}
	if clipped > 0 {
		t.End = lastEnd(t)
	}
	return clipped
}

// DescribeClipped says what ClipOverlaps did, for a reader of figures.
func DescribeClipped(clipped, all int) string {
	return fmt.Sprintf("%d of %d pieces of device work lasted beyond what followed on the same stream, or beyond a wait "+
		"for it, which no device can do: the profiler wrote a wrong length, and it was cut there.", clipped, all)
}

// streamsOf are the pieces of work of each stream, in order of start.
func streamsOf(w *recording.Work) [][]int32 {
	type stream struct{ device, stream int32 }
	place := map[stream]int{}
	var out [][]int32
	for i := range w.Start {
		s := stream{w.Device[i], w.Stream[i]}
		at, known := place[s]
		if !known {
			at = len(out)
			place[s] = at
			out = append(out, nil)
		}
		out[at] = append(out[at], int32(i))
	}
	return out
}

func clipStream(t *recording.Timeline, works []int32, waits []deviceWait) int {
	w := &t.Device
	var corrupt []int32 // places in works
	for at := range works {
		if coversOthers(w, works, at) {
			corrupt = append(corrupt, int32(at))
		}
	}
	if float64(len(corrupt)) > max(1, nestedShare*float64(len(works))) {
		return 0
	}
	for _, at := range corrupt {
		w.End[works[at]] = max(w.Start[works[at]], w.Start[works[at+1]])
	}
	return len(corrupt) + clipLast(t, works[len(works)-1], waits)
}

// coversOthers reports whether a piece lasts beyond several whole ones behind it that other
// calls launched.
func coversOthers(w *recording.Work, works []int32, at int) bool {
	long, within := works[at], 0
	for _, next := range works[at+1 : min(len(works), at+1+lookAhead)] {
		if w.Start[next] >= w.End[long] {
			break
		}
		if (w.Call[next] < 0 || w.Call[next] != w.Call[long]) && w.End[next] < w.End[long] {
			within++
		}
	}
	return within >= severalWithin
}

// deviceWait is a call that returned when all work of a process's devices was over.
type deviceWait struct {
	from, to int64
	pid      int
}

// deviceWaits lists them. A wait for a stream is one if there is only one stream.
func deviceWaits(t *recording.Timeline, oneStream bool) (waits []deviceWait) {
	whole := make([]int8, len(t.Names)) // of a name: 1 it is no such wait, 2 it is
	for i, kind := range t.Host.Kind {
		if kind != recording.Runtime {
			continue
		}
		name := t.Host.Name[i]
		if whole[name] == 0 {
			whole[name] = 1
			text := t.Names[name]
			if strings.Contains(text, "DeviceSynchronize") || strings.Contains(text, "CtxSynchronize") ||
				oneStream && strings.Contains(text, "StreamSynchronize") {
				whole[name] = 2
			}
		}
		if whole[name] == 2 {
			waits = append(waits, deviceWait{t.Host.Start[i], t.Host.End[i], t.Threads[t.Host.Thread[i]].PID})
		}
	}
	return waits
}

// clipLast cuts the last piece of a stream, which nothing follows, at the end of the wait for
// the device that began after its launch, and returns 1 if it did.
func clipLast(t *recording.Timeline, last int32, waits []deviceWait) int {
	w := &t.Device
	call := w.Call[last]
	if call < 0 {
		return 0
	}
	pid, launched := t.Threads[t.Host.Thread[call]].PID, t.Host.Start[call]
	for _, wait := range waits {
		if wait.pid == pid && wait.from > launched && wait.to > w.Start[last] {
			if w.End[last]-wait.to < lateEnd {
				return 0
			}
			w.End[last] = wait.to
			return 1
		}
	}
	return 0
}

// lastEnd is where the last event ends.
func lastEnd(t *recording.Timeline) (end int64) {
	for _, ends := range [][]int64{t.Host.End, t.Device.End, t.Frames.End} {
		for _, at := range ends {
			end = max(end, at)
		}
	}
	return end
}
