package capture

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/private"
)

// Options say whom to play for.
type Options struct {
	Request

	// Folder is where the jobs write: below what they have in
	// KINETO_ONDEMAND_TRACE_DIR, as PyTorch 2.15 writes nowhere else but to a name of
	// its own in /tmp. It must be one that this user alone can write.
	Folder string

	// SocketDir is KINETO_IPC_SOCKET_DIR of the jobs, as it is written there, at most
	// maxSocketDir bytes. It must be one that this user alone can write. "" is the
	// abstract namespace, where any user can be the first; libkineto asks whoever
	// is there, and does not look who it is.
	SocketDir string

	// Keep is how the names of kept files begin: Keep.rank0.trace.json.
	Keep string

	address string // of the socket, for tests; "" is dynolog's
}

// maxSocketDir is what libkineto has room for: the socket of each process lies there
// too, with a name of 52 bytes, and libkineto copies what is longer beyond its end.
const maxSocketDir = 107 - len("/dynoconfigclient") - 36

const (
	daemon     = "dynolog"
	lookEvery  = 200 * time.Millisecond // at files that are waited for
	afterAlien = time.Millisecond       // a flood of other people's messages costs no core
)

// answerTime is how long an answer may take: libkineto waits 90 ms.
var answerTime = 50 * time.Millisecond

// Daemon answers libkineto in a goroutine of its own, because an answer must come
// within 90 ms. Close it when done.
type Daemon struct {
	o    Options
	conn *net.UnixConn
	file string // of the socket, "" in the abstract namespace
	done chan struct{}

	mu       sync.Mutex // guards what follows
	session  *session
	traces   []Trace
	stepless int // files that held no step
	foreign  int // messages of other users
	odd      int // messages that are none
	looked   time.Time
	fault    string // of ours; nothing is answered any more
}

// Listen takes the address. Where somebody has it, the error is an *OwnedError.
func Listen(o Options) (*Daemon, error) {
	if strings.ContainsFunc(o.Folder, func(r rune) bool { return r < ' ' }) {
		return nil, fmt.Errorf("capture into %q: the folder's name has control characters, which would end a line of the configuration", o.Folder)
	}
	if err := o.private(); err != nil {
		return nil, err
	}
	d := &Daemon{o: o, done: make(chan struct{}), session: newSession(o.Request, o.Folder)}
	address := "@" + daemon + "\x00" // its closing NUL counts
	if o.address != "" {
		address = o.address
	}
	if o.SocketDir != "" {
		address = o.SocketDir + "/" + daemon // not cleaned: see the package's comment
		if err := free(address); err != nil {
			return nil, err
		}
		d.file = address
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: address})
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, owned(strings.TrimRight(address, "\x00"))
	}
	if err != nil {
		return nil, fmt.Errorf("listen for libkineto: %w", err)
	}
	d.conn = conn
	if err := d.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("listen for libkineto: %w", err), d.shut())
	}
	go d.run()
	return d, nil
}

// private says why others could come between us and the jobs.
func (o Options) private() error {
	if _, err := private.Check(o.Folder); err != nil {
		return fmt.Errorf("capture into %s: %w", o.Folder, err)
	}
	if o.SocketDir == "" {
		return nil
	}
	if _, err := private.Check(o.SocketDir); err != nil {
		return fmt.Errorf("listen for libkineto in KINETO_IPC_SOCKET_DIR: %w", err)
	}
	if len(o.SocketDir) > maxSocketDir {
		return fmt.Errorf("listen for libkineto in %s: it has room for a folder's name of %d bytes, this one has %d: set XDG_RUNTIME_DIR to a folder of yours with a short name",
			o.SocketDir, maxSocketDir, len(o.SocketDir))
	}
	return nil
}

func owned(address string) error {
	pid, command := owner(address)
	return &ownedError{address, pid, command}
}

// free makes way for a socket file: a stale one of our own is removed, one that
// somebody listens at is his.
func free(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("listen for libkineto at %s: KINETO_IPC_SOCKET_DIR must be an absolute path", path)
	}
	var s unix.Stat_t
	if err := unix.Lstat(path, &s); errors.Is(err, unix.ENOENT) {
		return nil
	} else if err != nil {
		return fmt.Errorf("listen for libkineto at %s: %w", path, err)
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Net: "unixgram", Name: path})
	if err == nil {
		_ = conn.Close()
		return owned(path)
	}
	if !errors.Is(err, unix.ECONNREFUSED) || s.Mode&unix.S_IFMT != unix.S_IFSOCK || int(s.Uid) != os.Getuid() {
		return fmt.Errorf("listen for libkineto at %s: something lies there that is not ours to remove", path)
	}
	return os.Remove(path)
}

func (d *Daemon) prepare() error {
	if d.file != "" {
		if err := os.Chmod(d.file, 0o600); err != nil {
			return err
		}
	}
	raw, err := d.conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1)
	})
	return errors.Join(err, failed)
}

// Targets replaces the processes that may be traced.
func (d *Daemon) Targets(all []Target) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.session.target(all)
}

// Traces are those kept so far, in order of their end.
func (d *Daemon) Traces() []Trace {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]Trace(nil), d.traces...)
}

// Stepless is how many files came that were worth nothing, as no step was in them.
func (d *Daemon) Stepless() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stepless
}

// Asked reports whether any process of ours has asked for a configuration.
func (d *Daemon) Asked() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.session.peers) > 0
}

// Offered are the processes that were asked for a trace and have not written it
// yet.
func (d *Daemon) Offered() (pids []int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.session.due() {
		pids = append(pids, p.pid)
	}
	return pids
}

// Why says why there is no trace, "" where there is one.
func (d *Daemon) Why() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fault != "" {
		return d.fault
	}
	return d.session.why(d.foreign)
}

// Close looks for files a last time and stops answering. What jobs are writing
// they go on to write.
func (d *Daemon) Close() error {
	err := d.shut()
	<-d.done
	d.mu.Lock()
	defer d.mu.Unlock()
	d.look(time.Now())
	return err
}

func (d *Daemon) shut() error {
	err := d.conn.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil // and its file may be somebody else's by now
	}
	if d.file != "" {
		_ = os.Remove(d.file)
	}
	return err
}

// run answers until the socket is closed.
func (d *Daemon) run() {
	defer close(d.done)
	defer func() {
		if fault := recover(); fault != nil {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.fault = fmt.Sprintf("a fault of stoker's own: %v", fault)
		}
	}()
	data, control := make([]byte, maxBytes+1), make([]byte, 512)
	for {
		_ = d.conn.SetReadDeadline(d.deadline())
		n, on, _, from, err := d.conn.ReadMsgUnix(data, control)
		now := time.Now()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil && !d.hear(data[:n], credentials(control[:on]), from, now) {
			time.Sleep(afterAlien)
		} else if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			time.Sleep(lookEvery) // nothing that waiting cannot cure is known
		}
		d.lookIfDue(now)
	}
}

func (d *Daemon) lookIfDue(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Sub(d.looked) >= lookEvery {
		d.look(now)
	}
}

// deadline wakes the goroutine while a file is waited for.
func (d *Daemon) deadline() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.session.outstanding() {
		return time.Now().Add(lookEvery)
	}
	return time.Time{}
}

// credentials are the sender's as the kernel gives them, nil without. Descriptors
// that somebody sends along are closed.
func credentials(control []byte) (from *unix.Ucred) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil
	}
	for i := range messages {
		if fds, err := unix.ParseUnixRights(&messages[i]); err == nil {
			for _, fd := range fds {
				_ = unix.Close(fd)
			}
		}
		if c, err := unix.ParseUnixCredentials(&messages[i]); err == nil {
			from = c
		}
	}
	return from
}

// hear answers one datagram; false where it is none of ours.
func (d *Daemon) hear(data []byte, who *unix.Ucred, from *net.UnixAddr, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if who == nil || int(who.Uid) != os.Getuid() || who.Pid <= 0 {
		d.foreign++
		return false
	}
	m, err := decode(data)
	if err != nil || from == nil {
		d.odd++
		return false
	}
	reply := []byte{1, 0, 0, 0} // to ctxt: how many processes of the job are registered
	if m.Type == typeRequest {
		pid := int(who.Pid)
		_, mine := d.session.targets[pid]
		if p := d.session.peers[pid]; mine && (p == nil || p.state == waiting) {
			d.note(pid, m.PIDs[0])
		}
		reply = []byte(d.session.answer(pid, m, now))
	}
	d.send(m.Type, reply, from)
	return true
}

// note remembers whether libkineto's own name is free, before a process is asked
// for anything: a file that lay there before is not its answer.
func (d *Daemon) note(pid int, own int32) {
	_, err := os.Lstat(fallback(own))
	p := d.session.peers[pid]
	if p == nil {
		p = &peer{pid: pid}
		d.session.peers[pid] = p
	}
	p.free = errors.Is(err, fs.ErrNotExist)
}

// fallback is where libkineto writes when it does not allow the folder that it was
// given.
func fallback(own int32) string { return fmt.Sprintf("/tmp/libkineto_activities_%d.json", own) }

func (d *Daemon) send(kind string, payload []byte, to *net.UnixAddr) {
	if strings.HasPrefix(to.Name, "@") { // Go cuts an abstract name at its closing NUL, which counts
		to = &net.UnixAddr{Net: to.Net, Name: to.Name + "\x00"}
	}
	_ = d.conn.SetWriteDeadline(time.Now().Add(answerTime))
	_, _ = d.conn.WriteToUnix(encode(kind, payload), to) // a client that went away asks no more
}

// look keeps files that have come. The mutex is held.
func (d *Daemon) look(now time.Time) {
	d.looked = now
	for _, p := range d.session.in(offered, taken, overdue) {
		for _, path := range d.session.names(p) {
			d.take(p, path, now)
		}
		if p.free {
			d.take(p, fallback(p.own), now)
		}
	}
	d.session.expire(now)
}

// take keeps a file where there is one and it may be kept. A stranger can put
// something into /tmp, so that what is no good there is no answer at all.
func (d *Daemon) take(p *peer, path string, now time.Time) {
	if p.state == waiting || p.state == kept || p.state == failed {
		return
	}
	w, err := openWritten(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errUnfinished), err != nil && path == fallback(p.own):
		return
	case err != nil:
		p.fail("keep trace: " + err.Error())
		return
	}
	defer func() { _ = w.Close() }()
	if d.session.again(p, w.works()) {
		d.stepless++
		_ = os.Remove(path)
		return
	}
	name, err := w.keep([]string{
		fmt.Sprintf("%s.rank%d.trace.json", d.o.Keep, p.rank), fmt.Sprintf("%s.rank%d.%d.trace.json", d.o.Keep, p.rank, p.pid),
	})
	if err != nil {
		p.fail(err.Error())
		return
	}
	_ = os.Remove(path)
	p.state = kept
	d.traces = append(d.traces, Trace{
		PID: p.pid, Rank: p.rank, Timed: p.timed, Offered: p.last, Ended: now, File: name, Bytes: w.bytes,
	})
}
