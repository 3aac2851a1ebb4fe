package metrics

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"

	"github.com/prometheus/procfs"
)

// target is a port of a server that listens.
type target struct {
	pid     int
	server  *server
	port    int
	address string // on loopback
}

// findTarget returns where a process serves metrics; false if it is no known server, or does not listen there yet, or not
// on loopback.
func findTarget(proc string, pid int) (t target, found bool) {
	p, err := procfs.NewFS(proc)
	if err != nil {
		return t, false
	}
	one, err := p.Proc(pid)
	if err != nil {
		return t, false
	}
	command, err := one.CmdLine()
	if err != nil {
		return t, false
	}
	s, port := recognise(command)
	if s == nil || !sharesNetwork(proc, pid) {
		return t, false
	}
	files, err := one.FileDescriptorTargets()
	if err != nil {
		return t, false
	}
	address, found := listensAt(fmt.Sprintf("%s/%d", proc, pid), port, files)
	return target{pid, s, port, address}, found
}

// sharesNetwork reports whether a process has our network: loopback is another one in a container.
func sharesNetwork(proc string, pid int) bool {
	theirs, err := os.Readlink(fmt.Sprintf("%s/%d/ns/net", proc, pid))
	if err != nil {
		return false
	}
	ours, err := os.Readlink(proc + "/self/ns/net")
	return err == nil && ours == theirs
}

// listening is the state of a socket that takes connections (TCP_LISTEN of the kernel).
const listening = 0x0A

// listensAt returns the address on loopback of a port on which one of a process's files listens.
func listensAt(folder string, port int, files []string) (string, bool) {
	p, err := procfs.NewFS(folder)
	if err != nil {
		return "", false
	}
	four, _ := p.NetTCP() // without IPv6 there is no second file, and nothing of it counts
	six, _ := p.NetTCP6()
	for _, line := range slices.Concat(four, six) {
		if line.St != listening || line.LocalPort != uint64(port) || !slices.Contains(files, fmt.Sprintf("socket:[%d]", line.Inode)) {
			continue
		}
		if host, ok := onLoopback(line.LocalAddr); ok {
			return net.JoinHostPort(host, strconv.Itoa(port)), true
		}
	}
	return "", false
}

// onLoopback returns the address on loopback at which one answers that listens at an address; false if it does not.
func onLoopback(at net.IP) (string, bool) {
	a, ok := netip.AddrFromSlice(at)
	switch a = a.Unmap(); {
	case !ok:
		return "", false
	case a.IsUnspecified() && a.Is6():
		return "::1", true
	case a.IsUnspecified():
		return "127.0.0.1", true
	}
	return a.String(), a.IsLoopback()
}
