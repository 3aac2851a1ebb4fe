//go:build linux

package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/feed/order"
	"github.com/stoker-dev/stoker/feed/transform"
	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/internal/private/privatetest"
)

// The test binary is also the daemon and the ranks of TestKills: real processes,
// really killed.

func TestMain(m *testing.M) {
	switch os.Getenv("STOKER_TEST_ROLE") {
	case "daemon":
		os.Exit(daemonRole(os.Args[1:]))
	case "rank":
		os.Exit(rankRole(os.Args[1:]))
	case "stranger":
		_, err := net.Dial("unixpacket", os.Args[1])
		fmt.Println(err)
		select {} // until it is killed
	}
	os.Exit(leash.Main(m))
}

// killSamples and killBatch make an epoch of some 100 steps, with a short tail.
const (
	killSamples = 403
	killBatch   = 4
)

// daemonRole is stoker feed: --fd N, or --socket PATH and the number of ranks.
func daemonRole(args []string) int {
	signal.Ignore(os.Interrupt)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	o := Options{Threads: 2, Nice: 1} // and feed's engine: these daemons decode
	if os.Getenv("STOKER_TEST_ROOT") == "" {
		o.engine = &clockwork{samples: 1 << 30, delay: 2 * time.Millisecond, stamped: true}
	}
	var first *net.UnixConn
	var listener *Listener
	var err error
	if args[0] == "--fd" {
		fd, _ := strconv.Atoi(args[1])
		first, err = Inherited(fd)
	} else {
		o.Ranks, _ = strconv.Atoi(args[2])
		o.Parent, _ = strconv.Atoi(args[3])
		listener, err = Listen(args[1])
	}
	if err == nil {
		err = Serve(ctx, first, listener, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// rankRole is a trainer: it connects, starts at a position, and prints a line for each
// completed step: the number of consumed samples and their digest.
func rankRole(args []string) int {
	rank, _ := strconv.Atoi(args[0])
	world, _ := strconv.Atoi(args[1])
	epoch, _ := strconv.ParseInt(args[2], 10, 64)
	consumed, _ := strconv.Atoi(args[3])
	c, err := enter(args[4], rank, world)
	if errors.Is(err, io.EOF) || errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) { // it met a daemon that was just ending
		c, err = enter(args[4], rank, world)
	}
	if err == nil {
		err = train(c, epoch, consumed)
	}
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	return 0
}

// startChild starts a process that holds this one's socket and does nothing.
func startChild(c *client) error {
	socket, err := c.conn.File()
	if err != nil {
		return err
	}
	cmd := exec.Command("sleep", "1000") // it is killed before
	cmd.ExtraFiles = []*os.File{socket}
	err = cmd.Start()
	if err == nil {
		fmt.Println("child", cmd.Process.Pid)
	}
	return err
}

// enter connects and begins a session.
func enter(path string, rank, world int) (*client, error) {
	c, err := join(path, world)
	if err == nil && os.Getenv("STOKER_TEST_CHILD") != "" {
		err = startChild(c)
	}
	if err != nil {
		return nil, err
	}
	fmt.Println("at connected")
	spec := aSpec("train", killBatch, world)
	spec.Root = os.Getenv("STOKER_TEST_ROOT")
	spec.Ops = []transform.Op{{Name: "resize", Size: []int{4, 4}}, {Name: "pil_to_tensor"}}
	return c, c.open(spec, rank)
}

func train(c *client, epoch int64, consumed int) error {
	fmt.Println("at opened")
	if err := c.start(1, epoch, consumed, true); err != nil {
		return err
	}
	for {
		fmt.Println("at waiting")
		a, err := c.receive()
		if err != nil {
			return err
		}
		switch a.Type {
		case "end":
			fmt.Println("at ended")
			return nil
		case "error":
			return fmt.Errorf("%s", a.Text)
		}
		fmt.Println("at holding")
		time.Sleep(time.Duration(rand.Int64N(int64(time.Millisecond)))) // trains
		var digest order.BagDigest
		for _, sample := range c.samples(a) {
			digest.Add(sample)
		}
		fmt.Println("step", a.Consumed, digest.Sum, digest.Xor)
		if err := c.release(a.Slot); err != nil {
			return err
		}
	}
}

// join connects as the document says: over a socket pair where path is empty, else
// under the folder's lock over the path; whoever finds no daemon starts one.
func join(path string, ranks int) (*client, error) {
	if path == "" {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		theirs := os.NewFile(uintptr(fds[1]), "daemon's end")
		defer theirs.Close()
		if _, err := startDaemon(theirs, "--fd", "3"); err != nil {
			return nil, err
		}
		conn, err := connection(fds[0])
		return &client{conn: conn}, err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	if err := unix.Flock(int(folder.Fd()), unix.LOCK_EX); err != nil {
		return nil, err
	}
	var dead <-chan struct{}
	for {
		conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"})
		if err == nil {
			return &client{conn: conn}, nil
		}
		if dead == nil {
			if dead, err = startDaemon(nil, "--socket", path, strconv.Itoa(ranks), strconv.Itoa(os.Getpid())); err != nil {
				return nil, err
			}
		}
		select {
		case <-dead:
			return nil, fmt.Errorf("the daemon ended before it listened")
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// startDaemon starts one; the channel is closed when it has ended.
func startDaemon(inherited *os.File, args ...string) (<-chan struct{}, error) {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "STOKER_TEST_ROLE=daemon")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if inherited != nil {
		cmd.ExtraFiles = []*os.File{inherited}
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	fmt.Println("daemon", cmd.Process.Pid)
	dead := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(dead)
	}()
	return dead, nil
}

// TestKills kills the daemon, the only client or one of several ranks at random
// moments, again and again, and resumes each time where the last step stood that all
// ranks had done, sometimes with another number of ranks. Every epoch must come to
// every sample exactly once, all processes of a killed job must end, and nothing may
// be left: no process, no name, no descriptor, nothing in /dev/shm.
//
// STOKER_KILLS=1000 go test -run TestKills ./feed/serve kills more often, and holds
// the promise that a job has ended 2 s after the kill: on a machine that does nothing
// else.
func TestKills(t *testing.T) {
	leash.Hold(t)
	kills, err := strconv.Atoi(os.Getenv("STOKER_KILLS"))
	measured := err == nil
	if !measured {
		kills = 25
	}
	var slowest time.Duration
	var digest, expected order.BagDigest
	for i := range killSamples {
		expected.Add(i)
	}
	folder := privatetest.MakeFolder(t)
	t.Setenv("STOKER_TEST_ROOT", pictures(t, killSamples))
	var before string
	epoch, consumed, epochs := int64(0), 0, 0
	victims := map[string]int{}
	for kill := range kills + 1 {
		j := newTrial(t, 1+kill%3, epoch, consumed)
		if j.world > 1 {
			j.path = filepath.Join(folder, "job-"+strconv.Itoa(kill%2)) // a stale one of a killed daemon lies there at times
		}
		j.run(time.Duration(rand.Int64N(int64(40*time.Millisecond))), kill == kills) // the last one ends the epoch
		if kill == 0 {
			// The runtime has initialised everything it needs.
			before = holdings(t)
		}
		slowest = max(slowest, j.ending)
		if measured && j.ending > 2*time.Second {
			t.Errorf("%v after the kill a process was still there: %s", j.ending, j.victim)
		}
		if j.victim != "" {
			victims[j.victim]++
		}
		digest.Merge(j.digest)
		if consumed = j.reached; consumed == killSamples {
			if digest != expected {
				t.Fatalf("epoch %d: digest %v, expected %v", epoch, digest, expected)
			}
			digest, consumed = order.BagDigest{}, 0
			epoch++
			epochs++
		}
	}
	leash.Wait(t, "the end of the last daemon", func() bool { return daemons() == 0 })
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(left) > 2 { // names that killed daemons left, which the next start replaces
		t.Errorf("left behind: %v", left)
	}
	if after := holdings(t); after != before {
		t.Errorf("before: %s; after: %s", before, after)
	}
	if epochs == 0 || consumed > 0 {
		t.Errorf("%d epochs are whole, of the last one %d samples are done", epochs, consumed)
	}
	t.Logf("%d kills, %d epochs whole, the slowest end of a job %v", kills, epochs, slowest)
	for _, victim := range slices.Sorted(maps.Keys(victims)) {
		t.Logf("%5d x %s", victims[victim], victim)
	}
}

// pictures makes a folder of so many small images.
func pictures(t testing.TB, n int) string {
	t.Helper()
	root := t.TempDir()
	var file bytes.Buffer
	must(t, png.Encode(&file, image.NewRGBA(image.Rect(0, 0, 5, 3))))
	for i := range n {
		class := filepath.Join(root, fmt.Sprintf("class%d", i*7/n))
		if err := os.Mkdir(class, 0o755); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		must(t, os.WriteFile(filepath.Join(class, fmt.Sprintf("%06d.png", i)), file.Bytes(), 0o644))
	}
	return root
}

// trial is one start of a job, until it is killed.
type trial struct {
	t        *testing.T
	world    int
	path     string
	epoch    int64
	consumed int
	stepped  chan struct{} // closed at the first step

	mu       sync.Mutex // guards what follows
	daemon   int
	victim   string         // who was killed, and what the ranks were at
	states   map[int]string // by rank: its last reported state
	ranks    []*exec.Cmd
	errors   []string                  // of ranks
	steps    []map[int]order.BagDigest // by rank, by the number of samples consumed after the step
	children []int
	first    sync.Once // closes stepped

	reached int // consumed after the last step that all ranks did
	digest  order.BagDigest
	ending  time.Duration // from the kill to the end of the last process
}

func newTrial(t *testing.T, world int, epoch int64, consumed int) *trial {
	j := &trial{t: t, world: world, epoch: epoch, consumed: consumed, stepped: make(chan struct{}), states: map[int]string{}}
	for range world {
		j.steps = append(j.steps, map[int]order.BagDigest{})
	}
	return j
}

// run starts the ranks, and after a while kills one of them or the daemon; if spared, it waits
// for their end instead.
func (j *trial) run(life time.Duration, spared bool) {
	var reading sync.WaitGroup
	ended := make(chan int, j.world)
	for rank := range j.world {
		cmd := exec.Command(os.Args[0], strconv.Itoa(rank), strconv.Itoa(j.world), strconv.FormatInt(j.epoch, 10), strconv.Itoa(j.consumed), j.path)
		cmd.Env = append(os.Environ(), "STOKER_TEST_ROLE=rank")
		cmd.Stderr = os.Stderr // and its daemon's
		out, err := cmd.StdoutPipe()
		must(j.t, err, cmd.Start())
		j.ranks = append(j.ranks, cmd)
		reading.Go(func() {
			j.read(rank, out)
			ended <- rank
		})
	}
	if rand.IntN(3) > 0 { // else it may be killed while it starts
		j.begin(ended)
	}
	if spared {
		reading.Wait()
	} else {
		time.Sleep(life)
	}
	killed := time.Now()
	if !spared {
		j.kill(ended)
	}
	reading.Wait()
	for _, cmd := range j.ranks {
		_ = cmd.Wait()
	}
	if !leash.Happens(j.t, func() bool { return !alive(j.daemon) }) {
		_ = unix.Kill(j.daemon, unix.SIGQUIT) // makes it print its goroutines
		leash.Wait(j.t, "its last words", func() bool { return !alive(j.daemon) })
		j.t.Fatalf("the daemon %d outlives its ranks: %s", j.daemon, j.victim)
	}
	j.ending = time.Since(killed)
	j.settle()
}

// begin blocks until the first batch arrives.
func (j *trial) begin(ended chan int) {
	leash.Wait(j.t, "the first batch", func() bool {
		select {
		case <-j.stepped:
			return true
		default:
		}
		if len(ended) == j.world {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.t.Fatalf("all ranks ended without a batch: %q", j.errors)
		}
		return false
	})
}

// kill kills one process at random, and then, as a launcher does when one rank has
// ended, the ranks that are left. A daemon is never killed for having no ranks.
func (j *trial) kill(ended <-chan int) {
	j.mu.Lock()
	daemon := j.daemon
	j.mu.Unlock()
	j.checkNameless(daemon)
	victim := rand.IntN(j.world + 1)
	at := j.state(victim % j.world)
	switch {
	case victim == j.world && daemon != 0:
		j.victim = "daemon, a rank " + at
		_ = unix.Kill(daemon, unix.SIGKILL)
	case j.world == 1:
		j.victim = "client, " + at
		_ = j.ranks[0].Process.Kill()
	default:
		j.victim = "rank of several, " + at
		_ = j.ranks[victim%j.world].Process.Kill()
	}
	leash.Receive(j.t, "a rank that notices "+j.victim, ended)
	time.Sleep(time.Duration(rand.Int64N(int64(5 * time.Millisecond)))) // others go on
	for _, cmd := range j.ranks {
		_ = cmd.Process.Kill()
	}
}

// state is what a rank said last that it was at.
func (j *trial) state(rank int) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.states[rank] == "" {
		return "starting"
	}
	return j.states[rank]
}

// checkNameless: the daemon's memory has no name that a kill could leave behind.
func (j *trial) checkNameless(daemon int) {
	mapped, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", daemon)) // gone by now: nothing to see
	if bytes.Contains(mapped, []byte("/dev/shm/")) {
		j.t.Errorf("the daemon has mapped a name:\n%s", mapped)
	}
}

func (j *trial) read(rank int, out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var consumed, pid int
		var at string
		var d order.BagDigest
		j.mu.Lock()
		if n, _ := fmt.Sscanf(lines.Text(), "step %d %d %d", &consumed, &d.Sum, &d.Xor); n == 3 {
			j.steps[rank][consumed] = d
			j.first.Do(func() { close(j.stepped) })
		} else if n, _ := fmt.Sscanf(lines.Text(), "at %s", &at); n == 1 {
			j.states[rank] = at
		} else if text, found := strings.CutPrefix(lines.Text(), "error "); found {
			j.errors = append(j.errors, text)
		} else if n, _ := fmt.Sscanf(lines.Text(), "daemon %d", &pid); n == 1 {
			j.daemon = pid
		} else if n, _ := fmt.Sscanf(lines.Text(), "child %d", &pid); n == 1 {
			j.children = append(j.children, pid)
		}
		j.mu.Unlock()
	}
}

// settle adds up the steps that all ranks did: what a checkpoint would hold.
func (j *trial) settle() {
	for j.reached = j.consumed; j.reached < killSamples; {
		next := min(j.reached+j.world*killBatch, killSamples)
		var step order.BagDigest
		for rank := range j.world {
			d, ok := j.steps[rank][next]
			if !ok {
				return
			}
			step.Merge(d)
		}
		j.digest.Merge(step)
		j.reached = next
	}
}

// alive reports whether a process runs; false for a zombie.
func alive(pid int) bool {
	s := state(pid)
	return s != "" && s != "Z" && s != "X"
}

// state is the letter that the kernel has for what a process does; "": it is gone.
func state(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil || pid == 0 {
		return ""
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return after[:1]
}

// daemons counts the daemons of this test binary that run.
func daemons() (n int) {
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is right
	for _, file := range processes {
		text, _ := os.ReadFile(file) // gone by now: not running
		args := strings.Split(string(text), "\x00")
		if args[0] == os.Args[0] && len(args) > 2 && (args[1] == "--fd" || args[1] == "--socket") {
			n++
		}
	}
	return n
}

// TestStoppedDaemon: a daemon that does not run does not answer pings, which is
// how a client tells it from one that is slow.
func TestStoppedDaemon(t *testing.T) {
	root := pictures(t, 10)
	t.Setenv("STOKER_TEST_ROOT", root)
	c, cmd := process(t)
	spec := aSpec("train", 4, 1)
	spec.Root, spec.Ops = root, []transform.Op{{Name: "resize", Size: []int{4, 4}}, {Name: "pil_to_tensor"}}
	must(t, c.open(spec, 0))
	must(t, cmd.Process.Signal(unix.SIGINT)) // is the trainer's
	must(t, c.send(fields{"type": "ping", "n": 1}))
	_, err := c.expect("pong")
	must(t, err)

	must(t, cmd.Process.Signal(unix.SIGSTOP))
	leash.Wait(t, "the stop", func() bool { return state(cmd.Process.Pid) == "T" })
	must(t, c.send(fields{"type": "ping", "n": 2}))
	must(t, c.conn.SetReadDeadline(time.Now().Add(200*time.Millisecond))) // nothing comes, however long
	if n, err := c.conn.Read(make([]byte, 4096)); !os.IsTimeout(err) {
		t.Errorf("a stopped daemon answered with %d bytes, %v", n, err)
	}
	must(t, cmd.Process.Signal(unix.SIGCONT))
	if a, err := c.expect("pong"); err != nil || a.N != 2 {
		t.Errorf("after it was let go on: %+v %v", a, err)
	}
	must(t, cmd.Process.Signal(unix.SIGTERM))
	if _, err := c.receive(); err == nil || os.IsTimeout(err) {
		t.Errorf("after SIGTERM: %v", err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the daemon ended with %v", err)
	}
	c.close()
}

// TestForkedChild: a child that inherited the trainer's socket does not keep the
// session of a killed trainer.
func TestForkedChild(t *testing.T) {
	t.Setenv("STOKER_TEST_ROOT", pictures(t, killSamples))
	leash.Hold(t)
	j := newTrial(t, 1, 0, 0)
	trainer := exec.Command(os.Args[0], "0", "1", "0", "0", "")
	trainer.Env = append(os.Environ(), "STOKER_TEST_ROLE=rank", "STOKER_TEST_CHILD=1")
	out, err := trainer.StdoutPipe()
	must(t, err, trainer.Start())
	go j.read(0, out)
	leash.Receive(t, "the first batch", j.stepped)
	j.mu.Lock()
	child, daemon := j.children[0], j.daemon
	j.mu.Unlock()
	must(t, trainer.Process.Kill())
	leash.Wait(t, "the daemon's end, which the trainer's child must not hold up", func() bool { return !alive(daemon) })
	if !alive(child) {
		t.Errorf("the child %d has gone too: the test shows nothing", child)
	}
	must(t, unix.Kill(child, unix.SIGKILL))
	_ = trainer.Wait() // or its descriptors end with some collection of garbage, while TestNothingLeft counts
}

// TestStranger: another user's connection is refused, even if the socket is accessible.
func TestStranger(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be another user")
	}
	leash.Hold(t)
	folder, err := os.MkdirTemp("", "stoker-stranger") // below /tmp: t.TempDir is closed to others
	must(t, err)
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "socket")
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
	must(t, err, os.Chmod(folder, 0o755), os.Chmod(path, 0o777))
	defer l.Close()
	binary := filepath.Join(folder, "test")
	text, err := os.ReadFile(os.Args[0])
	must(t, err, os.WriteFile(binary, text, 0o755))
	cmd := exec.Command(binary, path)
	cmd.Env = append(os.Environ(), "STOKER_TEST_ROLE=stranger")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	must(t, cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Kill()
	must(t, l.SetDeadline(leash.Deadline(t)))
	conn, err := l.AcceptUnix()
	must(t, err)
	if err := newDaemon(Options{}).welcome(conn); err == nil || !strings.Contains(err.Error(), "user 65534") {
		t.Errorf("a stranger was welcome: %v", err)
	}
}

// process starts a daemon in a separate process, and a client.
func process(t testing.TB) (*client, *exec.Cmd) {
	t.Helper()
	leash.Hold(t)
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	theirs := os.NewFile(uintptr(fds[1]), "daemon's end")
	cmd := exec.Command(os.Args[0], "--fd", "3")
	cmd.Env = append(os.Environ(), "STOKER_TEST_ROLE=daemon")
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{theirs}
	must(t, cmd.Start(), theirs.Close())
	conn, err := connection(fds[0])
	must(t, err)
	return &client{conn: conn, until: leash.Deadline(t)}, cmd
}

// BenchmarkHandOver is the time from when a batch and all before it are whole in the
// daemon's process to its announcement's having been read here.
func BenchmarkHandOver(b *testing.B) {
	c, cmd := process(b)
	defer cmd.Wait()
	defer c.close()
	must(b, c.open(aSpec("train", 64, 1), 0), c.start(1, 0, 0, false))
	var took []float64
	var whole int64
	for b.Loop() {
		a, err := c.expect("batch")
		now := time.Now().UnixNano()
		must(b, err)
		at := a.Slot*c.opened.Ring.SlotBytes + c.opened.Ring.Indices.Offset
		whole = max(whole, int64(binary.LittleEndian.Uint64(c.ring[at:])))
		took = append(took, float64(now-whole)/1e3)
		must(b, c.release(a.Slot))
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], "median-us")
	b.ReportMetric(took[len(took)*99/100], "p99-us")
}

// TestNothingLeft: sessions that end in any way give back descriptors, mappings
// and goroutines.
func TestNothingLeft(t *testing.T) {
	s := start(t, Options{engine: &clockwork{samples: 100, delay: time.Millisecond}})
	must(t, s.send(fields{"type": "ping"}))
	_, err := s.expect("pong") // the daemon has begun
	must(t, err)
	before := holdings(t)
	for i := range 30 {
		c, err := s.another()
		must(t, err)
		must(t, c.open(aSpec("train", 4, 1), 0), c.start(1, 0, 0, false))
		switch i % 3 {
		case 0:
			must(t, c.release(3), c.release(3)) // an error
		case 1:
			must(t, c.send(fields{"type": "close"}))
		}
		c.close()
	}
	leash.Wait(t, before+", as before", func() bool { return holdings(t) == before })
}

// holdings are this process's descriptors and the mappings of rings.
func holdings(t *testing.T) string {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	maps, err := os.ReadFile("/proc/self/maps")
	must(t, err)
	return fmt.Sprintf("%d descriptors, %d mapped rings", len(fds), strings.Count(string(maps), "memfd:stoker-ring"))
}

// TestStartsWhileHolding: a batch on loan does not change until its release, even if runs are
// started and cancelled.
func TestStartsWhileHolding(t *testing.T) {
	s := start(t, Options{engine: &clockwork{samples: 1000, delay: time.Millisecond}})
	must(t, s.open(aSpec("train", 8, 1), 0), s.start(1, 0, 0, false))
	type holding struct {
		answer
		samples string
	}
	var held []holding
	run := int64(1)
	for n := range 2000 {
		if len(held) < 4 && (len(held) == 0 || rand.IntN(2) == 0) {
			a, err := s.expect("batch", "end")
			must(t, err)
			held = append(held, holding{a, fmt.Sprint(s.samples(a))})
		}
		if len(held) > 0 && rand.IntN(2) == 0 {
			k := rand.IntN(len(held))
			if now := fmt.Sprint(s.samples(held[k].answer)); now != held[k].samples {
				t.Fatalf("round %d: a batch on loan changed from %s to %s", n, held[k].samples, now)
			}
			must(t, s.release(held[k].Slot))
			held = append(held[:k], held[k+1:]...)
		}
		if rand.IntN(10) == 0 {
			run++
			must(t, s.start(run, rand.Int64N(5), rand.IntN(1000), false))
		}
	}
}
