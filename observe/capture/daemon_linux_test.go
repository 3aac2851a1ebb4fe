package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/internal/private/privatetest"
)

func TestMain(m *testing.M) {
	answerTime = time.Hour // what the kernel's buffers take at once, they take
	os.Exit(leash.Main(m))
}

// client is a small libkineto: it asks, and writes what it is asked for.
type client struct {
	t    *testing.T
	conn *net.UnixConn
	to   *net.UnixAddr
}

func newClient(t *testing.T, own, daemon string) *client {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: own})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &client{t, conn, &net.UnixAddr{Net: "unixgram", Name: daemon}}
}

// ask sends a message and returns the type and payload of its answer; "" without
// one.
func (c *client) ask(data []byte) (kind, payload string) {
	c.t.Helper()
	if _, err := c.conn.WriteToUnix(data, c.to); err != nil {
		c.t.Fatal(err)
	}
	_ = c.conn.SetReadDeadline(leash.Deadline(c.t))
	buf := make([]byte, 1<<16)
	n, err := c.conn.Read(buf)
	if err != nil {
		return "", ""
	}
	if size := binary.LittleEndian.Uint64(buf); size != uint64(n-header) {
		c.t.Errorf("the answer says %d bytes and has %d", size, n-header)
	}
	return strings.TrimRight(string(buf[8:header]), "\x00"), string(buf[header:n])
}

func value(config, key string) string {
	for line := range strings.Lines(config) {
		if v, ok := strings.CutPrefix(line, key+"="); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// written as libkineto does: with its own number, first under another name.
func (c *client) write(config string, own int, text string) {
	c.t.Helper()
	name := strings.TrimSuffix(value(config, "ACTIVITIES_LOG_FILE"), ".json") + fmt.Sprintf("_%d.json", own)
	if err := os.WriteFile(name+".tmp", []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Rename(name+".tmp", name); err != nil {
		c.t.Fatal(err)
	}
}

// worked is a trace with an operator in it, hollow one of imports.
const (
	worked = `{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::add"}]}` + "\n"
	hollow = `{"traceEvents":[{"ph":"M","name":"process_name"}]}` + "\n"
)

// sockets are the two kinds of address: options of a daemon, and the names of the
// daemon and of a client.
func sockets(t *testing.T) map[string][3]string {
	dir := privatetest.Folder(t)
	own := fmt.Sprintf("@stoker-test-%d-%d", os.Getpid(), time.Now().UnixNano())
	return map[string][3]string{
		"abstract": {"", own + "\x00", own + "c\x00"},
		"folder":   {dir + "/", dir + "//dynolog", dir + "//dynoconfigclient1"}, // as the user wrote it
	}
}

func listen(t *testing.T, s [3]string) (*Daemon, string) {
	t.Helper()
	o := Options{Request: Request{Steps: 5}, Folder: privatetest.Folder(t), Keep: filepath.Join(t.TempDir(), "run"), SocketDir: s[0]}
	if s[0] == "" {
		o.address = s[1]
	}
	d, err := Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d, o.Keep
}

// One whole capture with the messages of each version, over both kinds of socket.
func TestCapture(t *testing.T) {
	pid := os.Getpid()
	for where, s := range sockets(t) {
		for version, kind := range map[string]int32{"2.2 and 2.8": 3, "2.15": 2} {
			d, keep := listen(t, s)
			c := newClient(t, s[2], s[1])
			if typ, text := c.ask(ask(kind, 0, 77, 1)); typ != "req" || text != "" {
				t.Errorf("%s, %s: before it is a target: %q %q", where, version, typ, text)
			}
			if typ, text := c.ask(register(0, 77, 0)); typ != "ctxt" || text != "\x01\x00\x00\x00" {
				t.Errorf("%s: ctxt was answered %q %q", where, typ, text)
			}
			d.Targets([]Target{{PID: pid, Rank: 3, Ready: true, Step: 0.01}})
			_, text := c.ask(ask(kind, 0, 77, 1))
			if value(text, "ACTIVITIES_ITERATIONS") != "5" {
				t.Fatalf("%s, %s: answered %q", where, version, text)
			}
			if got := d.Offered(); len(got) != 1 || got[0] != pid {
				t.Errorf("offered %v", got)
			}
			c.ask(ask(0, 0, 77, 1))
			c.write(text, 77, worked)
			leash.Wait(t, "the trace", func() bool { return len(d.Traces()) == 1 })
			got := d.Traces()[0]
			if got.PID != pid || got.Rank != 3 || got.File != keep+".rank3.trace.json" || got.Bytes != int64(len(worked)) || got.Ended.Before(got.Offered) || d.Why() != "" {
				t.Errorf("%s, %s: %+v, %s", where, version, got, d.Why())
			}
			if info, err := os.Stat(got.File); err != nil || info.Mode() != 0o600 {
				t.Errorf("%s: %v %v", where, info, err)
			}
			if left, _ := os.ReadDir(d.o.Folder); len(left) > 0 {
				t.Errorf("%s: %v was left", where, left)
			}
			if _, text := c.ask(ask(kind, 0, 77, 1)); text != "" {
				t.Errorf("%s: a second trace was asked for", where)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			_ = c.conn.Close()
			_ = os.Remove(s[2])
		}
	}
}

// A message of a process that is no target, damaged ones and a flood of them change
// nothing.
func TestStrangers(t *testing.T) {
	s := sockets(t)["abstract"]
	d, _ := listen(t, s)
	c := newClient(t, s[2], s[1])
	for _, data := range [][]byte{{}, []byte("x"), ask(2, 0, 1)[:45], make([]byte, 60000), encode("evil", make([]byte, 100))} {
		_, _ = c.conn.WriteToUnix(data, c.to)
	}
	d.Targets([]Target{{PID: 1, Ready: true}}) // the message may say 1, the kernel says otherwise
	if typ, text := c.ask(ask(2, 0, 1)); typ != "req" || text != "" {
		t.Errorf("a process that says it is another was answered %q %q", typ, text)
	}
	d.mu.Lock()
	odd := d.odd
	who := &unix.Ucred{Pid: int32(os.Getpid()), Uid: uint32(os.Getuid() + 1)}
	d.mu.Unlock()
	if odd < 4 {
		t.Errorf("%d damaged messages were counted", odd)
	}
	d.Targets([]Target{{PID: os.Getpid(), Ready: true}})
	if d.hear(ask(2, 0, 5), who, nil, time.Now()) || d.hear(ask(2, 0, 5), nil, nil, time.Now()) || d.foreign != 2 {
		t.Error("another user was heard")
	}
}

// Descriptors that somebody sends along do not pile up.
func TestDescriptorsAreClosed(t *testing.T) {
	s := sockets(t)["abstract"]
	d, _ := listen(t, s)
	c := newClient(t, s[2], s[1])
	count := func() int { all, _ := os.ReadDir("/proc/self/fd"); return len(all) }
	before := count()
	for range 50 {
		if _, _, err := c.conn.WriteMsgUnix(ask(2, 0, 5), unix.UnixRights(0, 1, 2), c.to); err != nil {
			t.Fatal(err)
		}
		_, _ = c.conn.Read(make([]byte, 100))
	}
	_ = d
	if after := count(); after > before+3 {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func TestOwned(t *testing.T) {
	for where, s := range sockets(t) {
		d, _ := listen(t, s)
		o := d.o
		_, err := Listen(o)
		var owned *ownedError
		if !errors.As(err, &owned) {
			t.Fatalf("%s: %v", where, err)
		}
		if owned.PID != os.Getpid() || !strings.Contains(err.Error(), "left alone") {
			t.Errorf("%s: %v", where, err)
		}
		_ = d.Close()
		again, err := Listen(o)
		if err != nil {
			t.Fatalf("%s: after the first was closed: %v", where, err)
		}
		_ = again.Close()
	}
	if text := (&ownedError{"@dynolog", 5, "stoker"}).Error(); !strings.Contains(text, "wait until it ends") {
		t.Error(text)
	}
	if text := (&ownedError{"@dynolog", 0, ""}).Error(); !strings.Contains(text, "dyno gputrace") {
		t.Error(text)
	}
}

// A socket that a killed daemon left is taken; what is no socket is not ours to
// remove.
func TestStaleSocket(t *testing.T) {
	dir := privatetest.Folder(t)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: dir + "/dynolog"}); err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(fd) // the file stays
	o := Options{Request: Request{Steps: 1}, Folder: dir, SocketDir: dir, Keep: dir + "/run"}
	d, err := Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	_ = d.Close()
	if err := os.WriteFile(dir+"/dynolog", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(o); err == nil || !strings.Contains(err.Error(), "not ours to remove") {
		t.Error(err)
	}
	o.SocketDir = "relative"
	if _, err := Listen(o); err == nil || !strings.Contains(err.Error(), "absolute") {
		t.Error(err)
	}
	if err := os.Mkdir(dir+"/a\nEVIL=1", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(Options{Folder: dir + "/a\nEVIL=1"}); err == nil || !strings.Contains(err.Error(), "control characters") {
		t.Error("a folder may end a line of the configuration: ", err)
	}
}

// Where others can write, they could answer in our place, or have the trace.
func TestFoldersOfOthers(t *testing.T) {
	own := privatetest.Folder(t)
	for _, o := range []Options{{Folder: t.TempDir()}, {Folder: own, SocketDir: t.TempDir()}, {Folder: own, SocketDir: "/tmp/"}} {
		if _, err := Listen(o); err == nil || !strings.Contains(err.Error(), "/tmp may be written by others") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	long := own + "/" + strings.Repeat("x", 60)
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(Options{Folder: long, SocketDir: long}); err == nil || !strings.Contains(err.Error(), "room for a folder's name of 54 bytes") {
		t.Error(err)
	}
}

func TestFilesThatAreNotKept(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		_ = os.WriteFile(path, []byte(text), 0o600)
		return path
	}
	good := file("good", `{"traceEvents":[]}`)
	_ = os.Symlink(good, dir+"/link")
	_ = os.Mkdir(dir+"/folder", 0o700)
	_ = unix.Mkfifo(dir+"/fifo", 0o600)
	named := file("named", `{"a":1}`)
	_ = os.Link(named, dir+"/named2")
	for _, path := range []string{dir + "/link", dir + "/folder", dir + "/fifo", dir + "/none", named, file("cut", `{"traceEvents":[`), file("empty", ""), file("{", "}")} {
		if w, err := openWritten(path); err == nil {
			t.Errorf("%s was taken", path)
			_ = w.Close()
		}
	}
	w, err := openWritten(good)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	taken := file("taken", "mine")
	if path, err := w.keep([]string{taken, dir + "/free"}); err != nil || path != dir+"/free" {
		t.Error(path, err)
	}
	if text, _ := os.ReadFile(taken); string(text) != "mine" {
		t.Error("a file of the user was overwritten")
	}
	if _, err := w.keep([]string{taken}); err == nil {
		t.Error("no name was free")
	}
}

// Two ranks, each its own file; one that answers nothing more does not hold up the
// other.
func TestRanks(t *testing.T) {
	s := sockets(t)["abstract"]
	d, keep := listen(t, s)
	d.mu.Lock() // two processes of one test: the second one's number is made up
	now := time.Now()
	d.session.target([]Target{{PID: 100, Rank: 0, Ready: true}, {PID: 200, Rank: 0, Ready: true}, {PID: 300, Rank: 1, Ready: true}})
	for _, pid := range []int{100, 200, 300} {
		text := d.session.answer(pid, message{Type: typeRequest, Kind: 2, PIDs: []int32{int32(pid)}}, now)
		if pid != 300 {
			(&client{t: t}).write(text, pid, worked)
		}
	}
	d.look(now)
	d.mu.Unlock()
	all := d.Traces()
	if len(all) != 2 || all[0].File != keep+".rank0.trace.json" || all[1].File != keep+".rank0.200.trace.json" {
		t.Errorf("%+v", all)
	}
	if d.Why() != "" {
		t.Error(d.Why())
	}
}

// A file without a step is no trace: the process is asked again, three times at most,
// and the third file is kept where it holds work.
func TestAskedAgainForSteps(t *testing.T) {
	early := Target{PID: 100, Ready: true, Stepless: true}
	for name, c := range map[string]struct {
		target Target
		files  []string
		kept   int
		why    string
	}{
		"imports, then steps":     {Target{PID: 100, Ready: true}, []string{hollow, worked}, 1, ""},
		"nothing ever":            {Target{PID: 100, Ready: true}, []string{hollow, hollow, hollow}, 0, "process 100 wrote 3 trace(s) in which no step is"},
		"the run ends before":     {Target{PID: 100, Ready: true}, []string{hollow}, 0, "process 100 wrote 1 trace(s) in which no step is, and ended, or stoker did, before it wrote another"},
		"no step was seen":        {early, []string{worked, worked, worked}, 1, ""},
		"nobody sees its steps":   {Target{PID: 100, Ready: true}, []string{worked}, 1, ""},
		"a large file of nothing": {Target{PID: 100, Ready: true}, []string{hollow[:1] + strings.Repeat(" ", 3<<20) + hollow[1:], strings.Repeat(" ", 1<<20-4) + worked}, 1, ""},
	} {
		d, keep := listen(t, sockets(t)["abstract"])
		d.mu.Lock()
		d.session.target([]Target{c.target})
		for i, file := range c.files {
			text := d.session.answer(100, message{Type: typeRequest, Kind: 2, PIDs: []int32{100}}, time.Now())
			if text == "" {
				t.Fatalf("%s: not asked for file %d", name, i+1)
			}
			(&client{t: t}).write(text, 100, file)
			d.look(time.Now())
		}
		why := d.session.why(0)
		if again := d.session.answer(100, message{Type: typeRequest, Kind: 2, PIDs: []int32{100}}, time.Now()); (again != "") != (c.kept == 0 && len(c.files) < mostFiles) {
			t.Errorf("%s: asked once more: %q", name, again)
		}
		left, _ := os.ReadDir(d.o.Folder)
		d.mu.Unlock()
		if all := d.Traces(); len(all) != c.kept || c.kept > 0 && all[0].File != keep+".rank0.trace.json" || len(left) > 0 || why != c.why {
			t.Errorf("%s: %+v, %q, left %v", name, all, why, left)
		}
		if n := d.Stepless(); n != len(c.files)-c.kept {
			t.Errorf("%s: %d files without a step, want %d", name, n, len(c.files)-c.kept)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A fault of ours ends the answers, and neither the job nor who asks for the trace.
func TestFault(t *testing.T) {
	s := sockets(t)["folder"]
	d, _ := listen(t, s)
	c := newClient(t, s[2], s[1])
	d.mu.Lock()
	whole := d.session
	d.session = &session{targets: map[int]Target{os.Getpid(): {}}} // without a map of those who ask
	d.mu.Unlock()
	if _, err := c.conn.WriteToUnix(ask(2, 0, 77, 1), c.to); err != nil {
		t.Fatal(err)
	}
	<-d.done
	d.session = whole
	if why := d.Why(); !strings.Contains(why, "a fault of stoker's own") {
		t.Error(why)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// A trace that comes after it was given up is kept, and the reason why there is none
// taken back.
func TestTraceAfterItWasGivenUp(t *testing.T) {
	s := sockets(t)["abstract"]
	d, keep := listen(t, s)
	d.mu.Lock()
	d.session.target([]Target{{PID: 100, Ready: true}})
	begun := time.Now()
	text := d.session.answer(100, message{Type: typeRequest, Kind: 2, PIDs: []int32{100}}, begun)
	d.look(begun.Add(patience + time.Second))
	d.mu.Unlock()
	if why := d.Why(); !strings.Contains(why, "took no request") {
		t.Errorf("after %v: %q", patience, why)
	}
	(&client{t: t}).write(text, 100, worked)
	if err := d.Close(); err != nil { // looks a last time
		t.Error(err)
	}
	if all := d.Traces(); len(all) != 1 || all[0].File != keep+".rank0.trace.json" || d.Why() != "" {
		t.Errorf("%+v, %q", all, d.Why())
	}
}
