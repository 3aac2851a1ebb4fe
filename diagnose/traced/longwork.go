package traced

import (
	"fmt"
	"regexp"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// longWork is what the file tells of the host's own time in long gaps, nanoseconds.
type longWork struct {
	all    int64
	waits  int64 // inside calls of the operating system that wait
	silent int64 // in which nothing was recorded
	on     int64 // on a CPU, without a call
	off    int64 // not on a CPU, without a call
}

// readLongWork reads what the host does in its long gaps.
func (t *filler) readLongWork() {
	t.long = longWork{}
	for s := range t.all.Slices(t.d, t.d.From, t.d.To) {
		if !s.LongWork() {
			continue
		}
		length := s.To - s.From
		t.long.all += length
		switch name := t.all.Name(s); {
		case name >= 0 && recording.AwaitsSystem(t.t.Names[name]):
			t.long.waits += length
		case s.Cause == idle.Unrecorded:
			t.long.silent += length
		}
	}
	sampled := t.all.SumSamples(t.d, t.d.From, t.d.To, func(s idle.Slice) bool {
		return s.LongWork() && t.all.Name(s) < 0
	})
	t.long.on, t.long.off = sampled.On, sampled.Known-sampled.On
}

// waitsInSystem reports whether most of the host's own time in long gaps is a wait.
func (w longWork) waitsInSystem() bool { return 2*(w.waits+w.off) > w.all }

// isSilent reports whether the file tells nothing of most of that time.
func (w longWork) isSilent() bool { return 2*(w.silent-w.off) > w.all }

// describeDoing says what the launching thread does in long gaps.
func (t *filler) describeDoing() string {
	switch {
	case t.long.all > 0 && 2*t.long.waits > t.long.all:
		return "waits in calls of the operating system"
	case t.long.all > 0 && t.long.waitsInSystem():
		return "is on no CPU and waits"
	case t.long.isSilent() && diagnose.IsBare(t.grounds.Framework):
		return "does nothing that was recorded"
	}
	return "does other work"
}

// describeSamples says what samples of the CPU and the scheduler's turns tell of some idle time, and names the
// function; "" if the file has neither.
func (t *filler) describeSamples(fits func(idle.Slice) bool) (text, function string) {
	s := t.all.SumSamples(t.d, t.d.From, t.d.To, fits)
	switch {
	case s.Name >= 0:
		function = hashOfRust.ReplaceAllString(t.t.Samples.Names[s.Name], "")
		return fmt.Sprintf("%d of %d CPU samples lie in %s", s.In, s.Of, quote(function)), function
	case s.Known > 0:
		return fmt.Sprintf("it is on a CPU for %s of %s", quantity.AboutSeconds(toSeconds(s.On)),
			quantity.AboutSeconds(toSeconds(s.Known))), ""
	case s.Of > 0:
		return fmt.Sprintf("its %d CPU samples lie in no one function", s.Of), ""
	}
	return "", ""
}

// hashOfRust ends the name of a function in Rust.
var hashOfRust = regexp.MustCompile(`::h[0-9a-f]{16}$`)
