//go:build linux

package step

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/private"
)

// Bounds of the listener.
const (
	maxConnections = 1024 // processes at a time; a node has some hundred workers
	maxBurst       = 256  // packets of one process per Poll: so that none keeps the others waiting
	maxRounds      = 64   // of at most 64 processes per Poll
)

// Listener hears the hooks of all processes of a job. It has no goroutine: what
// arrives stays in the kernel, which holds some 200 KB per process, until Poll
// takes it. (Goroutines that read at once made observing twice as dear: each
// packet of each worker woke two threads.) Close it when done.
type Listener struct {
	path    string
	socket  int
	epoll   int
	pids    map[int]int // of each open connection's file descriptor
	gone    []int       // processes that hung up, since Gone was asked
	refused int
	buffer  []byte
}

// Listen makes the socket, with mode 0600. The folder must be ours alone.
func Listen(path string) (*Listener, error) {
	l := &Listener{path: path, socket: -1, epoll: -1, pids: map[int]int{}, buffer: make([]byte, maxPacket+1)}
	if err := l.listen(); err != nil {
		return nil, errors.Join(fmt.Errorf("listen for the hook at %s: %w", path, err), l.Close())
	}
	return l, nil
}

func (l *Listener) listen() (err error) {
	if l.socket, err = unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC,
		0); err != nil {
		return err
	}
	// The socket's file gets the mode of the socket's inode, so it is never open to others, not
	// even for a moment.
	if err := unix.Fchmod(l.socket, 0o600); err != nil {
		return err
	}
	name, done, err := private.Reach(l.path)
	if err != nil {
		return err
	}
	err = unix.Bind(l.socket, &unix.SockaddrUnix{Name: name})
	if done(); err != nil {
		return err
	}
	if err := os.Chmod(l.path, 0o600); err != nil {
		return err
	}
	if err := unix.Listen(l.socket, maxConnections); err != nil {
		return err
	}
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	return l.addSocket(l.socket)
}

func (l *Listener) addSocket(fd int) error {
	return unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// Poll passes on the packets that have arrived, per process in the order of arrival, without
// waiting for more. It returns their number.
func (l *Listener) Poll(take func(Packet)) (n int) {
	var events [64]unix.EpollEvent
	for range maxRounds {
		ready, err := unix.EpollWait(l.epoll, events[:], 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || ready <= 0 {
			return n
		}
		got := 0
		for _, event := range events[:ready] {
			if fd := int(event.Fd); fd != l.socket {
				got += l.hear(fd, take)
			} else if l.accept() {
				got++ // a connection is news as well
			}
		}
		if n += got; got == 0 {
			return n
		}
	}
	return n
}

// Refused returns how many connections were turned away: of another user, or too many.
func (l *Listener) Refused() int { return l.refused }

// Close stops hearing and removes the socket.
func (l *Listener) Close() error {
	for fd := range l.pids {
		l.drop(fd)
	}
	for _, fd := range []int{l.epoll, l.socket} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
	if err := os.Remove(l.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// accept takes all waiting connections; false without any or if we
// are out of file descriptors, which the end of some process cures.
func (l *Listener) accept() (any bool) {
	for {
		fd, _, err := unix.Accept4(l.socket, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.ECONNABORTED) {
			continue
		}
		if err != nil {
			return any
		}
		any = true
		peer, err := private.PeerOf(fd)
		if err != nil || len(l.pids) >= maxConnections || l.addSocket(fd) != nil {
			l.refused++
			_ = unix.Close(fd)
			continue
		}
		l.pids[fd] = int(peer.Pid)
	}
}

// hear reads what one process has sent, and lets it go when it has ended.
func (l *Listener) hear(fd int, take func(Packet)) (n int) {
	for n < maxBurst {
		size, err := unix.Read(fd, l.buffer) // what does not fit is cut, fails to decode, and is counted there
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return n
		case err != nil || size <= 0:
			l.drop(fd)
			return n
		}
		n++
		take(Packet{PID: l.pids[fd], Data: l.buffer[:size]})
	}
	return n
}

// Gone returns the processes that hung up since the last call: most of them have ended.
func (l *Listener) Gone() []int {
	gone := l.gone
	l.gone = nil
	return gone
}

func (l *Listener) drop(fd int) {
	l.gone = append(l.gone, l.pids[fd])
	delete(l.pids, fd)
	_ = unix.Close(fd) // which also takes it out of the epoll set
}
