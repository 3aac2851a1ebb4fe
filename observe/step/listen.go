//go:build linux

package step

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Bounds of the listener.
const (
	maxConnections = 1024 // processes at a time; a node has some hundred workers
	maxQueue       = 256  // packets between the readers and the recorder; beyond it they wait in the kernel, then the hook drops
)

// Packet is one packet as it arrived, with the sender's PID as the kernel gives
// it.
type Packet struct {
	PID  int
	Data []byte
}

// Listener hears the hooks of all processes of a job. Close it when done.
type Listener struct {
	listener *net.UnixListener
	packets  chan Packet
	done     chan struct{}
	running  sync.WaitGroup // every goroutine of this listener
	refused  atomic.Int64

	mu   sync.Mutex // guards open
	open map[*net.UnixConn]bool
}

// Listen makes the socket, with mode 0600, and hears from now on. The folder must
// be ours alone.
func Listen(path string) (*Listener, error) {
	old := unix.Umask(0o177) // the socket must never be open to others, not even for a moment
	listener, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
	unix.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("listen for the hook: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("listen for the hook: %w", err), listener.Close())
	}
	l := &Listener{
		listener: listener, packets: make(chan Packet, maxQueue), done: make(chan struct{}), open: map[*net.UnixConn]bool{},
	}
	l.running.Add(1)
	go l.accept()
	return l, nil
}

// Packets are what arrives, in the order of arrival per process. The channel is
// closed by Close, after all that had arrived by then.
func (l *Listener) Packets() <-chan Packet { return l.packets }

// Refused is how many connections were turned away: of another user, or too many.
func (l *Listener) Refused() int { return int(l.refused.Load()) }

// Close stops hearing, removes the socket, and returns when no goroutine of the
// listener is left. Whoever reads Packets must go on until it is closed, or have
// stopped reading before: packets that nobody takes are dropped then.
func (l *Listener) Close() error {
	close(l.done)
	err := l.listener.Close() // removes the socket as well
	l.mu.Lock()
	for c := range l.open {
		_ = c.Close()
	}
	l.mu.Unlock()
	l.running.Wait()
	close(l.packets)
	return err
}

func (l *Listener) accept() {
	defer l.running.Done()
	for {
		connection, err := l.listener.AcceptUnix()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			select { // out of file descriptors: some process will end
			case <-l.done:
				return
			default:
				unix.Nanosleep(&unix.Timespec{Nsec: 50e6}, nil) //nolint:errcheck // a shorter nap is as good
				continue
			}
		}
		pid, err := peer(connection)
		if err != nil || !l.enter(connection) {
			l.refused.Add(1)
			_ = connection.Close()
			continue
		}
		l.running.Add(1)
		go l.hear(connection, pid)
	}
}

// enter counts a connection in, unless there are too many or we are closing.
func (l *Listener) enter(c *net.UnixConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.done:
		return false
	default:
	}
	if len(l.open) >= maxConnections {
		return false
	}
	l.open[c] = true
	return true
}

func (l *Listener) hear(c *net.UnixConn, pid int) {
	defer l.running.Done()
	defer func() {
		l.mu.Lock()
		delete(l.open, c)
		l.mu.Unlock()
		_ = c.Close()
	}()
	buffer := make([]byte, maxPacket+1)
	for {
		n, _, _, _, err := c.ReadMsgUnix(buffer, nil)
		if err != nil || n == 0 {
			return
		}
		p := Packet{PID: pid, Data: append([]byte(nil), buffer[:n]...)} // one too long fails to decode and is counted
		select {
		case l.packets <- p:
		case <-l.done:
			return
		}
	}
}

var errStranger = errors.New("the sender belongs to another user")

// peer is the PID behind a connection, if its user is ours.
func peer(c *net.UnixConn) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var credentials *unix.Ucred
	var asked error
	if err := raw.Control(func(fd uintptr) {
		credentials, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}
	if asked != nil {
		return 0, asked
	}
	if int(credentials.Uid) != os.Getuid() {
		return 0, errStranger
	}
	return int(credentials.Pid), nil
}
