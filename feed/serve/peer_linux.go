package serve

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/private"
)

// peer is the process at the other end of a connection. Usually the end of file shows its
// death. But children of a trainer (workers of another loader) inherit its sockets and keep
// them open after it was killed. So the process itself is watched too.
type peer struct {
	pid int
	fd  int // pidfd; -1 if the process is in another PID namespace and cannot be watched
}

// peerOf returns the process at the other end, and refuses one of another user.
func peerOf(conn *net.UnixConn) (*peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var who *unix.Ucred
	var asked error
	if err := raw.Control(func(fd uintptr) { who, asked = private.PeerOf(int(fd)) }); err != nil {
		return nil, err
	}
	if asked != nil {
		return nil, fmt.Errorf("refuse a connection: %w", asked)
	}
	return watchProcess(int(who.Pid)), nil
}

func watchProcess(pid int) *peer {
	p := &peer{pid: pid, fd: -1}
	if pid > 0 {
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			p.fd = fd
		}
	}
	return p
}

// watchAgain returns a second watch on the same process, for a further connection.
func (p *peer) watchAgain() *peer { return watchProcess(p.pid) }

// hasEnded reports whether the process has ended.
func (p *peer) hasEnded() bool {
	if p.fd < 0 {
		return false
	}
	poll := []unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}
	n, err := unix.Poll(poll, 0)
	return err == nil && n == 1 && poll[0].Revents&unix.POLLIN != 0
}

func (p *peer) stopWatching() {
	if p.fd >= 0 {
		_ = unix.Close(p.fd)
	}
}
