package idle

import "github.com/stoker-dev/stoker/recording"

// cursor goes over one host thread in order of time and knows the open calls.
// Each event is looked at once, however many gaps there are.
type cursor struct {
	a             *Analysis
	thread        int32
	calls, frames []int32 // still to come
	open, stack   []int32 // calls and frames that are open, in order of start
}

// findSlice says what the thread did at t, and until when that holds, at most until to.
// t never goes back.
func (c *cursor) findSlice(t, to int64) (Slice, int64) {
	until := min(to, c.advance(t))
	p := Slice{From: t, Cause: Unrecorded, Thread: c.thread, Call: -1, Frame: -1}
	best := noRow
	h := &c.a.t.Host
	for _, call := range c.open {
		until = min(until, h.End[call])
		if r := c.a.causeRow(uint8(h.Kind[call]), h.Name[call]); r <= best { // of equals the inner one
			best, p.Call = r, call
		}
	}
	f := &c.a.t.Frames
	for _, frame := range c.stack {
		until = min(until, f.End[frame])
		p.Frame = frame
		if r := c.a.causeRow(frameRow, f.Name[frame]); r < best {
			best, p.Call = r, -1
		}
	}
	if best != noRow {
		p.Cause = table[best].cause
	}
	if p.Cause == Python && (c.a.compiled || best == rowMark && recording.AwaitsSystem(c.a.t.Names[h.Name[p.Call]])) {
		p.Cause = HostCode
	}
	if best == rowSteps || best == noRow {
		p.Call = -1
	}
	p.To = until
	return p, until
}

// advance opens what has started by t, drops what has ended, and says when the
// next event starts.
func (c *cursor) advance(t int64) int64 {
	h, f := &c.a.t.Host, &c.a.t.Frames
	c.open = alive(c.open, h.End, t)
	c.stack = alive(c.stack, f.End, t)
	next := int64(1<<63 - 1)
	for len(c.calls) > 0 {
		i := c.calls[0]
		if h.Start[i] > t {
			next = h.Start[i]
			break
		}
		if h.End[i] > t {
			c.open = append(c.open, i)
		}
		c.calls = c.calls[1:]
	}
	for len(c.frames) > 0 {
		i := c.frames[0]
		if f.Start[i] > t {
			next = min(next, f.Start[i])
			break
		}
		if f.End[i] > t {
			c.stack = append(c.stack, i)
		}
		c.frames = c.frames[1:]
	}
	return next
}

// mostOpen bounds what may be open on a thread at once, as all of it is looked at again and
// again. Python itself nests 1,000 calls. [J]
const mostOpen = 2048

// alive keeps calls that end after t, the outermost if there are too many. Most threads nest
// their events properly, but what a foreign file holds need not.
func alive(open []int32, end []int64, t int64) []int32 {
	kept := open[:0]
	for _, i := range open {
		if end[i] > t && len(kept) < mostOpen {
			kept = append(kept, i)
		}
	}
	return kept
}
