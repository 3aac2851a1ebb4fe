//go:build linux

package serve

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/feed"
	"github.com/stoker-dev/stoker/feed/order"
	"github.com/stoker-dev/stoker/feed/ring"
	"github.com/stoker-dev/stoker/feed/transform"
	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/internal/private/privatetest"
)

func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestEpochs reads two epochs without a second start: every sample once in each,
// steps in order, and the account says so.
func TestEpochs(t *testing.T) {
	s := start(t, Options{engine: &clockwork{samples: 103, delay: 2 * time.Millisecond}})
	must(t, s.open(aSpec("train", 10, 1), 0), s.start(1, 0, 0, false))
	if o := s.opened; o.Steps != 11 || o.Samples != 103 || !slices.Equal(o.Ring.Images.Shape, []int{10, 3, 1, 1}) || o.Ring.SlotBytes%ring.Page != 0 {
		t.Errorf("opened: %+v", o)
	}
	for epoch := range int64(2) {
		var seen []int
		for step := range 11 {
			a, err := s.expect("batch", "end")
			must(t, err)
			if a.Epoch != epoch || a.Step != step || a.Run != 1 || a.Consumed != min(10*step+10, 103) {
				t.Fatalf("%+v, expected step %d of epoch %d", a, step, epoch)
			}
			seen = append(seen, s.samples(a)...)
			must(t, s.release(a.Slot))
		}
		slices.Sort(seen)
		if len(slices.Compact(seen)) != 103 {
			t.Errorf("epoch %d: %d different samples of 103", epoch, len(slices.Compact(seen)))
		}
		a, err := s.expect("end", "batch")
		must(t, err)
		if r := a.Report; a.Epoch != epoch || r.Samples != 103 || r.Digest != r.Expected || r.ExactlyOnce == nil || !*r.ExactlyOnce {
			t.Fatalf("end: %+v", a)
		}
		if epoch == 0 {
			must(t, s.start(1, 1, 0, true)) // a run must be a new one
			a, err := s.expect("error", "batch", "end")
			must(t, err)
			if !a.Fatal || !strings.Contains(a.Text, "larger number") {
				t.Errorf("%+v", a)
			}
			return
		}
	}
}

func TestPrefetchAcrossEpochs(t *testing.T) {
	s := start(t, Options{engine: &clockwork{samples: 20}})
	must(t, s.open(aSpec("train", 10, 1), 0), s.start(1, 0, 0, false))
	var places []int64
	for range 4 { // nothing is released: all four slots come, two of the next epoch
		a, err := s.expect("batch")
		must(t, err)
		places = append(places, a.Epoch*10+int64(a.Step))
	}
	if !slices.Equal(places, []int64{0, 1, 10, 11}) {
		t.Errorf("got %v", places)
	}
	must(t, s.start(2, 5, 10, true)) // while all is on loan
	must(t, s.release(2), s.release(0), s.release(1), s.release(3))
	a, err := s.expect("batch")
	must(t, err)
	if a.Run != 2 || a.Epoch != 5 || a.Step != 0 || a.Consumed != 20 {
		t.Errorf("%+v", a)
	}
	must(t, s.release(a.Slot))
	if a, err = s.expect("end"); err != nil || a.Report.From != 10 || a.Report.ExactlyOnce != nil || a.Report.Digest != a.Report.Expected {
		t.Errorf("an epoch that was seen from the middle on: %+v, %v", a, err)
	}
}

// TestResume continues in the middle of an epoch with another batch size and world size: the
// digests of the parts merge to the epoch's digest.
func TestResume(t *testing.T) {
	s := start(t, Options{engine: &clockwork{samples: 1000, delay: time.Millisecond}})
	must(t, s.open(aSpec("one", 32, 1), 0), s.start(1, 3, 0, false))
	var all order.BagDigest
	consumed := 0
	for range 7 {
		a, err := s.expect("batch")
		must(t, err)
		for _, sample := range s.samples(a) {
			all.Add(sample)
		}
		consumed = a.Consumed
		must(t, s.release(a.Slot))
	}
	for rank := range 3 {
		c, err := s.another()
		must(t, err)
		defer c.close()
		must(t, c.open(aSpec("three", 16, 3), rank), c.start(1, 3, consumed, true))
		for {
			a, err := c.receive()
			must(t, err)
			if a.Type == "end" {
				break
			}
			for _, sample := range c.samples(a) {
				all.Add(sample)
			}
			must(t, c.release(a.Slot))
		}
	}
	var expected order.BagDigest
	for i := range 1000 {
		expected.Add(i)
	}
	if all != expected {
		t.Errorf("the parts do not make an epoch: %v, expected %v", all, expected)
	}
}

// TestInherit: a daemon continues where another one died, in the middle of an epoch or at its
// end, and reports the whole epoch.
func TestInherit(t *testing.T) {
	engine := &clockwork{samples: 103}
	for _, done := range []int{4, 11} {
		var inherited order.BagDigest
		for i := range min(10*done, 103) {
			inherited.Add(order.NewPermutation(aSpec("train", 10, 1).Seed, 2, 103).At(i))
		}
		s := start(t, Options{engine: engine})
		must(t, s.open(aSpec("train", 10, 1), 0))
		packet := fields{"type": "start", "run": 1, "epoch": 2, "once": true, "done": done, "samples": min(10*done, 103), "digest": inherited.String()}
		must(t, s.send(packet))
		for step := done; step < 11; step++ {
			a, err := s.expect("batch")
			must(t, err)
			if a.Step != step || a.Consumed != min(10*step+10, 103) || a.Epoch != 2 {
				t.Fatalf("%+v, expected step %d", a, step)
			}
			must(t, s.release(a.Slot))
		}
		a, err := s.expect("end")
		must(t, err)
		if r := a.Report; r.From != 0 || r.Samples != 103 || r.Digest != r.Expected || r.ExactlyOnce == nil || !*r.ExactlyOnce {
			t.Errorf("end after %d steps: %+v", done, a)
		}
	}
}

func TestRefusals(t *testing.T) {
	long := strings.Repeat("x", maxPacket+1)
	for _, c := range []struct {
		name   string
		packet any
		opened bool
		want   string
	}{
		{"no JSON", "hello", false, "not a message of this protocol"},
		{"no object", []int{1}, false, "not a message of this protocol"},
		{"unknown type", fields{"type": "dance"}, false, `unknown type "dance"`},
		{"no type", fields{}, false, "without a type"},
		{"unknown field", fields{"type": "ping", "m": 1}, false, `unknown field "m"`},
		{"too large", fields{"type": long}, false, "more than"},
		{"start too early", fields{"type": "start", "run": 1}, false, "a start before"},
		{"release too early", fields{"type": "release", "slot": 0}, false, "a release before"},
		{"protocol", fields{"type": "open", "protocol": 2}, false, "protocol 2: this daemon speaks 1"},
		{"no spec", fields{"type": "open", "protocol": 1}, false, "without a spec"},
		{"rank", fields{"type": "open", "protocol": 1, "spec": fields{"name": "a", "world": 2}, "rank": 2}, false, "rank 2 of a world of 2"},
		{"huge batch", fields{"type": "open", "protocol": 1, "spec": fields{"name": "a", "world": 1, "batch": 9000}}, false, "at most 8192"},
		{"root", fields{"type": "open", "protocol": 1, "spec": fields{"name": "a", "world": 1, "batch": 1, "root": "nowhere"}}, false, "no such folder"},
		{"second open", fields{"type": "open", "protocol": 1, "spec": aSpec("train", 4, 1)}, true, "a second open"},
		{"no slot", fields{"type": "release"}, true, "names no slot"},
		{"free slot", fields{"type": "release", "slot": 0}, true, "slot 0 is free"},
		{"slot beyond", fields{"type": "release", "slot": 4}, true, "slot 4 of a ring"},
		{"slot below", fields{"type": "release", "slot": -1}, true, "slot -1 of a ring"},
		{"no run", fields{"type": "start"}, true, "run from 1"},
		{"consumed beyond", fields{"type": "start", "run": 1, "consumed": 1001}, true, "1001 samples consumed"},
		{"more done than there is", fields{"type": "start", "run": 1, "done": 1001, "digest": strings.Repeat("0", 32)}, true, "steps are done"},
		{"done without a digest", fields{"type": "start", "run": 1, "done": 1}, true, "32 hexadecimal digits"},
		{"batch beyond", fields{"type": "start", "run": 1, "batch": 5}, true, "batch 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			engine := &clockwork{samples: 100}
			s := start(t, Options{engine: engine})
			if c.opened {
				must(t, s.open(aSpec("train", 4, 1), 0))
			}
			text, _ := json.Marshal(c.packet)
			_, err := s.conn.Write(text)
			must(t, err)
			a, err := s.expect("error")
			must(t, err)
			if !a.Fatal || !strings.Contains(a.Text, c.want) {
				t.Errorf("got %q, expected it to say %q", a.Text, c.want)
			}
			if _, err := s.receive(); err == nil {
				t.Error("the session goes on after a fatal error")
			}
			s.close()
			s.over(t)
			if engine.live != 0 {
				t.Errorf("%d loaders are still open", engine.live)
			}
		})
	}
}

// TestDoubleRelease: the second release of a slot that is being filled again by
// then must not free it under the pool.
func TestDoubleRelease(t *testing.T) {
	s := start(t, Options{engine: &clockwork{samples: 100, stuck: 4}})
	must(t, s.open(aSpec("train", 4, 1), 0), s.start(1, 0, 0, false))
	a, err := s.expect("batch")
	must(t, err)
	must(t, s.release(a.Slot), s.release(a.Slot))
	a, err = s.expect("error", "batch")
	must(t, err)
	if !strings.Contains(a.Text, "is being filled, expected it to be on loan") {
		t.Error(a.Text)
	}
}

func TestOneLoaderForAllRanks(t *testing.T) {
	engine := &clockwork{samples: 64, opening: 20 * time.Millisecond}
	s := start(t, Options{engine: engine})
	a, err := s.another()
	must(t, err)
	b, err := s.another()
	must(t, err)
	spec := aSpec("train", 8, 2)
	opening := make(chan error)
	go func() { opening <- a.open(spec, 0) }()
	must(t, b.open(spec, 1), <-opening)
	if engine.opened != 1 {
		t.Errorf("the folder was listed %d times", engine.opened)
	}
	other := spec
	other.Seed, other.Samples = 2, nil
	c, err := s.another()
	must(t, err)
	if err := c.open(other, 1); err == nil || !strings.Contains(err.Error(), `loader "train" has seed 2 here, another rank opened it with 1`) {
		t.Errorf("another spec of the same name: %v", err)
	}
	c.close()
	a.close()
	must(t, b.start(1, 0, 0, false)) // one rank's death is not another's
	if _, err := b.expect("batch"); err != nil {
		t.Error(err)
	}
	must(t, b.send(fields{"type": "close"}))
	s.close()
	s.over(t)
	if engine.live != 0 {
		t.Errorf("%d loaders are still open", engine.live)
	}
}

// TestRanksTogether: when two ranks complete an epoch, the last one reports it as complete,
// even if each epoch is restarted after prefetching.
func TestRanksTogether(t *testing.T) {
	s := start(t, Options{Threads: 2}) // with feed's engine
	spec := aSpec("train", 5, 2)
	spec.Root, spec.Ops = pictures(t, 64), []transform.Op{{Name: "resize", Size: []int{4, 4}}, {Name: "pil_to_tensor"}}
	ranks := []*client{s.client, nil}
	var err error
	ranks[1], err = s.another()
	must(t, err)
	for rank, c := range ranks {
		must(t, c.open(spec, rank))
	}
	early := make([][]int, 2) // slots with batches of the next epoch, by rank
	for epoch := range int64(3) {
		for rank, c := range ranks {
			must(t, c.start(epoch+1, epoch, 0, false))
			for _, slot := range early[rank] {
				must(t, c.release(slot))
			}
			early[rank] = nil
		}
		for rank, c := range ranks {
			a := answer{}
			for step := 0; a.Type != "end"; {
				a, err = c.receive()
				must(t, err)
				switch {
				case a.Type == "end":
				case a.Run <= epoch:
					must(t, c.release(a.Slot))
				case a.Epoch > epoch:
					early[rank] = append(early[rank], a.Slot)
				case a.Step != step:
					t.Fatalf("epoch %d, rank %d: step %d, expected %d", epoch, rank, a.Step, step)
				default:
					must(t, c.release(a.Slot))
					step++
				}
			}
			r := a.Report
			if a.Epoch != epoch || r.Samples != 32 || r.Digest != r.Expected || (r.ExactlyOnce == nil) != (rank == 0) || rank == 1 && !*r.ExactlyOnce {
				t.Errorf("epoch %d, rank %d: %+v", epoch, rank, r)
			}
		}
	}
}

func TestManyClasses(t *testing.T) {
	s := start(t, Options{engine: &clockwork{samples: 10}})
	spec := aSpec("train", 4, 1)
	spec.Root = "many"
	must(t, s.send(fields{"type": "open", "protocol": 1, "spec": spec}))
	a, err := s.expect("opened")
	must(t, err)
	if len(a.fds) != 2 || a.Classes != nil {
		t.Fatalf("%d descriptors, %d classes", len(a.fds), len(a.Classes))
	}
	text := make([]byte, a.ClassesBytes)
	n, err := unix.Pread(a.fds[1], text, 0)
	must(t, err)
	var classes []string
	must(t, json.Unmarshal(text[:n], &classes))
	if len(classes) != 20_000 || classes[19_999] != "class-19999" {
		t.Errorf("%d classes", len(classes))
	}
}

// TestSpecBeside: a spec that does not fit into a packet comes as a file, and a file
// that would keep the daemon waiting is refused.
func TestSpecBeside(t *testing.T) {
	spec := aSpec("train", 4, 1)
	spec.Samples = make([]int, 100_000)
	text, err := json.Marshal(spec)
	must(t, err)
	open := func(s *started, fd, size int) (answer, error) {
		packet, _ := json.Marshal(fields{"type": "open", "protocol": 1, "spec_bytes": size})
		_, _, err := s.conn.WriteMsgUnix(packet, unix.UnixRights(fd), nil)
		must(t, err)
		return s.receive()
	}
	s := start(t, Options{engine: &clockwork{samples: 10}})
	fd, err := memfd("spec", text)
	must(t, err)
	a, err := open(s, fd, len(text))
	must(t, err, unix.Close(fd))
	if a.Type != "opened" {
		t.Errorf("%+v", a)
	}
	for _, fd := range a.fds {
		must(t, unix.Close(fd))
	}
	must(t, s.send(fields{"type": "close"}))
	s.over(t)

	var pipe [2]int
	must(t, unix.Pipe(pipe[:]))
	s = start(t, Options{engine: &clockwork{samples: 10}})
	if a, err := open(s, pipe[0], 100); err != nil || !strings.Contains(a.Text, "expected a memfd") {
		t.Errorf("a pipe: %+v %v", a, err)
	}
	fd, err = memfd("spec", text[:50])
	must(t, err)
	s = start(t, Options{engine: &clockwork{samples: 10}})
	if a, err := open(s, fd, 60); err != nil || !strings.Contains(a.Text, "at least 60") {
		t.Errorf("a short file: %+v %v", a, err)
	}
	s = start(t, Options{engine: &clockwork{samples: 10}})
	if a, err := open(s, fd, 50); err != nil || !strings.Contains(a.Text, "a spec that cannot be decoded") {
		t.Errorf("half a spec: %+v %v", a, err)
	}
	must(t, unix.Close(fd), unix.Close(pipe[0]), unix.Close(pipe[1]))
}

// TestListBeside: a list of samples comes behind the spec, and is read by the rank
// that opens the loader only: the digest in the spec says that all have the same.
func TestListBeside(t *testing.T) {
	engine := &clockwork{samples: 10}
	s := start(t, Options{engine: engine, Ranks: 2})
	spec := aSpec("train", 4, 2)
	spec.List = "its digest"
	text, err := json.Marshal(spec)
	must(t, err)
	open := func(c *client, rank int, list string, size int) answer {
		fd, err := memfd("spec", append(slices.Clone(text), list...))
		must(t, err)
		packet, _ := json.Marshal(fields{"type": "open", "protocol": 1, "rank": rank, "local_rank": rank, "spec_bytes": len(text), "list_bytes": size})
		_, _, err = c.conn.WriteMsgUnix(packet, unix.UnixRights(fd), nil)
		must(t, err, unix.Close(fd))
		a, err := c.receive()
		must(t, err)
		for _, fd := range a.fds {
			must(t, unix.Close(fd))
		}
		return a
	}
	another, err := s.another()
	must(t, err)
	defer another.close()
	if a := open(s.client, 0, "paths and labels", 16); a.Type != "opened" {
		t.Fatalf("%+v", a)
	}
	if a := open(another, 1, "", 16); a.Type != "opened" {
		t.Errorf("the second rank: %+v", a)
	}
	engine.mu.Lock()
	defer engine.mu.Unlock()
	if string(engine.list) != "paths and labels" || engine.opened != 1 {
		t.Errorf("the list is %q, %d loaders", engine.list, engine.opened)
	}
	for size, want := range map[int]string{20: "at least", -1: "a list of samples of -1 bytes", maxList + 1: "expected at most"} {
		other := start(t, Options{engine: &clockwork{samples: 10}})
		if a := open(other.client, 0, "paths and labels", size); !strings.Contains(a.Text, want) {
			t.Errorf("a list of %d bytes: %+v", size, a)
		}
	}
}

// TestBadSample: the error comes in the order of steps, after the batches before it.
func TestBadSample(t *testing.T) {
	s := start(t, Options{engine: &clockwork{samples: 100, bad: 77}})
	must(t, s.open(aSpec("train", 4, 1), 0), s.start(1, 0, 0, true))
	step := 0
	for {
		a, err := s.receive()
		must(t, err)
		if a.Type == "error" {
			if !strings.Contains(a.Text, "folder/77.jpg") || !a.Fatal {
				t.Errorf("%+v", a)
			}
			break
		}
		if a.Step != step {
			t.Fatalf("step %d after %d", a.Step, step-1)
		}
		step++
		must(t, s.release(a.Slot))
	}
	position := 0
	for order.NewPermutation(1, 0, 100).At(position) != 77 {
		position++
	}
	if step != position/4 {
		t.Errorf("%d batches came before the bad one, expected %d", step, position/4)
	}
}

func TestPing(t *testing.T) {
	engine := &clockwork{samples: 100, hanging: make(chan struct{}), stuck: 1}
	s := start(t, Options{engine: engine})
	asks := func(want string) {
		t.Helper()
		leash.Wait(t, "a daemon that says: "+want, func() bool {
			must(t, s.send(fields{"type": "ping", "n": 7}))
			a, err := s.expect("pong", "opened", "batch")
			must(t, err)
			return a.N == 7 && strings.Contains(a.State, want)
		})
	}
	asks("no open")
	must(t, s.send(fields{"type": "open", "protocol": 1, "spec": aSpec("train", 4, 1)}))
	asks("is being listed since")
	close(engine.hanging)
	asks("no start")
	must(t, s.start(1, 0, 0, false))
	asks("step 1 of epoch 0 is being filled since")
}

// TestHangingStorage: a listing that does not come back keeps no daemon.
func TestHangingStorage(t *testing.T) {
	engine := &clockwork{samples: 10, hanging: make(chan struct{})}
	defer close(engine.hanging)
	var warned atomic.Bool
	s := start(t, Options{engine: engine, Warn: func(text string) { warned.Store(strings.Contains(text, "does not answer")) }})
	must(t, s.send(fields{"type": "open", "protocol": 1, "spec": aSpec("train", 4, 1)}), s.send(fields{"type": "ping"}))
	_, err := s.expect("pong")
	must(t, err)
	s.close()
	s.over(t)
	if !warned.Load() {
		t.Error("nobody was told why the daemon left work behind")
	}
}

// TestDeafClient: a client that reads nothing is disconnected and does not delay others.
func TestDeafClient(t *testing.T) {
	s := start(t, Options{engine: &clockwork{samples: 1000}})
	deaf, err := s.another()
	must(t, err)
	defer deaf.close()
	must(t, deaf.open(aSpec("deaf", 4, 1), 0))
	gone := make(chan error, 1)
	go func() {
		for {
			if err := deaf.send(fields{"type": "ping", "n": 1}); err != nil {
				gone <- err
				return
			}
		}
	}()
	must(t, s.open(aSpec("train", 4, 1), 0), s.start(1, 0, 0, false))
	for range 500 {
		a, err := s.expect("batch", "end")
		must(t, err)
		must(t, s.release(a.Slot))
	}
	leash.Receive(t, "the end of a client that reads nothing", gone)
}

func TestSnapshot(t *testing.T) {
	taken := make(chan func() Snapshot, 1)
	s := start(t, Options{engine: &clockwork{samples: 100}, Record: "somewhere", Recorder: func(path string, take func() Snapshot) (func() error, error) {
		taken <- take
		return func() error { return nil }, nil
	}})
	must(t, s.open(aSpec("train", 10, 1), 0), s.start(1, 0, 0, false))
	a, err := s.expect("batch")
	must(t, err, s.send(fields{"type": "release", "slot": a.Slot, "waited": 0.25}))
	for range 4 {
		_, err := s.expect("batch")
		must(t, err)
	}
	take := <-taken
	var got sessionSnapshot
	leash.Wait(t, "a daemon that waits for its client", func() bool {
		got = take().Sessions[0]
		return got.DaemonWaits > time.Millisecond
	})
	if got.Delivered != 5 || got.Consumed != 1 || got.Samples != 10 || got.TrainerWaited != 250*time.Millisecond ||
		got.Slots.Loaned != 4 || got.Loader != "train" {
		t.Errorf("%+v", got)
	}
}

func TestListen(t *testing.T) {
	folder := privatetest.MakeFolder(t)
	path := filepath.Join(folder, "job")
	l, err := Listen(path)
	must(t, err)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), "another daemon listens there") {
		t.Errorf("a second daemon: %v", err)
	}
	must(t, l.Close()) // as kill -9 does it: the name stays
	second, err := Listen(path)
	must(t, err)
	l.removeName() // not ours any more
	if _, err := os.Stat(path); err != nil {
		t.Error("the name of the second daemon was removed by the first")
	}
	must(t, second.Close())
	second.removeName()
	left, err := os.ReadDir(folder)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}

	must(t, os.WriteFile(path, nil, 0o600))
	if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("over a file: %v", err)
	}
	must(t, os.Chmod(folder, 0o770))
	if _, err := Listen(filepath.Join(folder, "x")); err == nil || !strings.Contains(err.Error(), "may be written by others") {
		t.Errorf("in a folder of others: %v", err)
	}
	if _, err := Listen(filepath.Join(t.TempDir(), "x")); err == nil || !strings.Contains(err.Error(), "/tmp may be written by others") {
		t.Errorf("below /tmp: %v", err)
	}
	must(t, os.Chmod(folder, 0o700))
	long := filepath.Join(folder, strings.Repeat("x", 90), strings.Repeat("x", 90))
	must(t, os.MkdirAll(long, 0o700))
	far, err := Listen(filepath.Join(long, "job"))
	must(t, err)
	if _, err := Listen(filepath.Join(long, "job")); err == nil || !strings.Contains(err.Error(), "another daemon listens there") {
		t.Errorf("a second daemon at a long path: %v", err)
	}
	must(t, far.Close())
}

func TestSpecsDiffer(t *testing.T) {
	a := aSpec("train", 4, 2)
	b := a
	if err := sameSpec(a, b); err != nil {
		t.Error(err)
	}
	b.Samples = make([]int, 1000)
	if err := sameSpec(a, b); err == nil || !strings.Contains(err.Error(), "has samples [0,0") || len(err.Error()) > 400 {
		t.Error(err)
	}
	if err := sameSpec(a, feed.Spec{Name: "train"}); err == nil {
		t.Error("an empty spec is the same")
	}
}
