//go:build !linux

package serve

import (
	"errors"
	"net"
)

// errLinux is why there is no daemon on other systems: they lack SOCK_SEQPACKET, memfd and
// SO_PEERCRED.
var errLinux = errors.New("the daemon of stoker feed needs Linux")

const truncatedControl = 0

// Listener is a socket with a path, for the ranks of one node.
type Listener struct{ *net.UnixListener }

// removeName does nothing.
func (l *Listener) removeName() {}

// Inherited returns an error.
func Inherited(int) (*net.UnixConn, error) { return nil, errLinux }

// Listen returns an error.
func Listen(string) (*Listener, error) { return nil, errLinux }

func socketPair() (*net.UnixConn, int, error)             { return nil, -1, errLinux }
func sendNow(*net.UnixConn, []byte, ...int) (bool, error) { return false, errLinux }
func sendWaiting(*net.UnixConn, []byte, ...int) error     { return errLinux }
func descriptors([]byte) []int                            { return nil }
func duplicate(uintptr) (int, error)                      { return -1, errLinux }
func closeDescriptor(int)                                 {}
func memfd(string, []byte) (int, error)                   { return -1, errLinux }

// peer is the process at the other end of a connection.
type peer struct{}

func peerOf(*net.UnixConn) (*peer, error) { return nil, errLinux }
func (p *peer) watchAgain() *peer         { return p }
func (p *peer) hasEnded() bool            { return false }
func (p *peer) stopWatching()             {}
