//go:build linux

package serve

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-dev/stoker/feed"
	"github.com/stoker-dev/stoker/feed/source"
	"github.com/stoker-dev/stoker/feed/transform"
	"github.com/stoker-dev/stoker/internal/spare/sparetest"
)

// TestOutOfDescriptors: a daemon without spare descriptors reads one file at a time. Without
// any, the session ends with an outage. A valid file is never a bad sample, under any policy.
func TestOutOfDescriptors(t *testing.T) {
	was := source.Patience
	defer func() { source.Patience = was }()
	for _, policy := range []string{feed.Fail, "substitute", feed.Mask} {
		for _, none := range []bool{false, true} {
			takeAway := sparetest.UseUp
			if source.Patience = was; none { // before the daemon begins to read it
				takeAway, source.Patience = sparetest.Forbid, 50*time.Millisecond
			}
			root := pictures(t, 40)
			s := start(t, Options{Threads: 2})
			spec := aSpec("train", 4, 1)
			spec.Root, spec.OnError, spec.MaxBad, spec.Shuffle = root, policy, 1, false
			spec.Ops = []transform.Op{{Name: "resize", Size: []int{4, 4}}, {Name: "pil_to_tensor"}}
			must(t, s.open(spec, 0))
			giveBack := takeAway(t)
			must(t, s.start(1, 0, 0, true))
			var seen []int
			a, err := s.receive()
			for ; err == nil && a.Type == "batch"; a, err = s.receive() {
				seen = append(seen, s.samples(a)...)
				must(t, s.release(a.Slot))
			}
			must(t, err)
			giveBack()
			switch {
			case none && (a.Type != "error" || a.Kind != "outage" || !a.Fatal):
				t.Errorf("%s: %+v, expected an outage", policy, a)
			case none && !strings.Contains(a.Text, "too many open files"):
				t.Errorf("%s: it says %q", policy, a.Text)
			case !none && (a.Type != "end" || len(seen) != 40 || !slices.IsSorted(seen)):
				t.Errorf("%s: after %v came %+v", policy, seen, a)
			}
			s.close()
			s.over(t)
		}
	}
}

// TestLostDescriptors: pictures whose descriptors found no number are for the client to make; the
// connection stays.
func TestLostDescriptors(t *testing.T) {
	s := start(t, Options{Threads: 1})
	file := photograph(t)
	size, _ := json.Marshal([2]int{0, len(file)})
	text := `{"pictures":[{` + program + `,"file":` + string(size) + `,"to":0}]}`
	fd, memory := room(t, 1<<12)
	s.ask(t, file, text, fd)
	first, err := s.expect("made")
	must(t, err)
	want := slices.Clone(memory)
	clear(memory)
	from, err := memfd("test", append(slices.Clone(file), text...))
	must(t, err)
	defer closeDescriptor(from)
	packet, _ := json.Marshal(fields{"type": "make", "n": 7, "at": len(file), "bytes": len(text)})
	giveBack := sparetest.Forbid(t)
	must(t, sendWaiting(s.conn, packet, from, fd))
	a, err := s.expect("made")
	giveBack()
	must(t, err)
	if a.FailedMore == 0 || a.N != 7 || first.FailedMore != 0 {
		t.Errorf("%+v, before %+v", a, first)
	}
	s.ask(t, file, text, fd)
	a, err = s.expect("made")
	must(t, err)
	if a.FailedMore != 0 || !slices.Equal(memory, want) {
		t.Errorf("afterwards %+v", a)
	}
	s.close()
	s.over(t)
}

// TestConnectWaits: another connection comes once there are descriptors for it.
func TestConnectWaits(t *testing.T) {
	s := start(t, Options{engine: &clockwork{samples: 3}})
	must(t, s.send(fields{"type": "ping", "n": 1}))
	_, err := s.expect("pong")
	must(t, err)
	giveBack := sparetest.Forbid(t)
	must(t, s.send(fields{"type": "connect"}))
	must(t, s.send(fields{"type": "ping", "n": 2}))
	_, err = s.expect("pong") // it is answered meanwhile
	must(t, err)
	giveBack()
	a, err := s.expect("connected")
	must(t, err)
	for _, fd := range a.fds {
		closeDescriptor(fd)
	}
	s.close()
	s.over(t)
}
