package serve

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/private"
)

// Inherited returns the connection whose descriptor the daemon's starter left open for it.
func Inherited(fd int) (*net.UnixConn, error) {
	if fd < 3 {
		return nil,
			fmt.Errorf("descriptor %d: expected 3 or above, an end of a socket pair that the client keeps open for the daemon", fd)
	}
	unix.CloseOnExec(fd)
	return connection(fd)
}

// connection wraps a descriptor of a SOCK_SEQPACKET socket and takes it over.
func connection(fd int) (*net.UnixConn, error) {
	file := os.NewFile(uintptr(fd), "connection")
	defer func() { _ = file.Close() }() // FileConn makes a copy
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || kind != unix.SOCK_SEQPACKET {
		return nil, fmt.Errorf("descriptor %d is not a unix socket of type SOCK_SEQPACKET", fd)
	}
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("descriptor %d: %w", fd, err)
	}
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("descriptor %d is not a unix socket", fd), conn.Close())
	}
	return u, nil
}

// socketPair creates a connection and returns the daemon's end, and the descriptor of the
// client's end.
func socketPair() (*net.UnixConn, int, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, -1, fmt.Errorf("make a socket pair: %w", err)
	}
	ours, err := connection(fds[0])
	if err != nil {
		return nil, -1, errors.Join(err, unix.Close(fds[1]))
	}
	return ours, fds[1], nil
}

// Listener is a socket with a path, for the ranks of one node.
type Listener struct {
	*net.UnixListener
	path  string
	inode uint64
}

// Listen creates the socket. Clients hold a lock while they start a daemon, but the path is
// safe without it too: the socket is renamed into place, so that no client sees one that does not
// listen yet. It replaces an existing socket only if nothing answers there.
func Listen(path string) (*Listener, error) {
	l, err := listen(path)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	return l, nil
}

func listen(path string) (*Listener, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if _, err := private.CheckPath(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("others could take its place: %w", err)
	}
	if isAnswered(path) {
		return nil, errors.New("another daemon listens there: let the ranks connect to it, or give another name")
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != os.ModeSocket {
		return nil, errors.New("a file that is not a socket exists there: remove it, or give another name")
	}
	own := path + "." + strconv.Itoa(os.Getpid())
	_ = os.Remove(own) // left by a killed daemon with our pid
	name, done, err := private.Reach(own)
	if err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: name, Net: "unixpacket"})
	if done(); err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // the socket is renamed
	listener := &Listener{UnixListener: l, path: path}
	if err := listener.placeName(own); err != nil {
		return nil, errors.Join(err, l.Close(), os.Remove(own))
	}
	return listener, nil
}

// isAnswered reports whether a process accepts connections at a path.
func isAnswered(path string) bool {
	name, done, err := private.Reach(path)
	if err != nil {
		return false // no other process can reach it either
	}
	defer done()
	conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: name, Net: "unixpacket"})
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

func (l *Listener) placeName(own string) error {
	var s unix.Stat_t
	if err := errors.Join(os.Chmod(own, 0o600), unix.Lstat(own, &s)); err != nil {
		return err
	}
	l.inode = s.Ino
	return os.Rename(own, l.path)
}

// removeName removes the socket's path, unless another daemon has replaced it.
func (l *Listener) removeName() {
	var s unix.Stat_t
	if unix.Lstat(l.path, &s) == nil && s.Ino == l.inode {
		_ = os.Remove(l.path) // whoever started the daemon may have removed it
	}
}

// sendNow sends a packet if the socket takes it at once. It never blocks.
func sendNow(conn *net.UnixConn, packet []byte, fds ...int) (sent bool, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false, err
	}
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		_, failed = unix.SendmsgN(int(fd), packet, rights(fds), nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		return true
	})
	if err == nil && errors.Is(failed, unix.EAGAIN) {
		return false, nil
	}
	return err == nil && failed == nil, errors.Join(err, failed)
}

// sendWaiting sends a packet before the connection's write deadline.
func sendWaiting(conn *net.UnixConn, packet []byte, fds ...int) error {
	_, _, err := conn.WriteMsgUnix(packet, rights(fds), nil)
	return err
}

// truncatedControl flags a message that had more descriptors than were received.
const truncatedControl = unix.MSG_CTRUNC

func rights(fds []int) []byte {
	if len(fds) == 0 {
		return nil
	}
	return unix.UnixRights(fds...)
}

// descriptors returns the descriptors in a control message.
func descriptors(control []byte) (all []int) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err == nil { // else it carries something else
			all = append(all, fds...)
		}
	}
	return all
}

// duplicate returns a copy of a descriptor for a packet that may be sent later.
func duplicate(fd uintptr) (int, error) {
	return unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 3)
}

func closeDescriptor(fd int) { _ = unix.Close(fd) }

// memfd returns the descriptor of a sealed memory file with content that does not fit into a
// packet.
func memfd(name string, content []byte) (int, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return -1, fmt.Errorf("make a memfd: %w", err)
	}
	for at := 0; at < len(content); {
		n, err := unix.Pwrite(fd, content[at:], int64(at))
		if err != nil {
			return -1, errors.Join(fmt.Errorf("write a memfd: %w", err), unix.Close(fd))
		}
		at += n
	}
	const all = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, all); err != nil {
		return -1, errors.Join(fmt.Errorf("seal a memfd: %w", err), unix.Close(fd))
	}
	return fd, nil
}
