package metrics

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// findTarget returns where a process serves metrics; false if it is no known server, or does not listen there yet,
// or not on loopback.
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

// listensAt returns the address on loopback of a port on which one of a process's files listens.
func listensAt(folder string, port int, files []string) (string, bool) {
	for _, name := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(folder + "/net/" + name)
		if err != nil {
			continue // a machine without IPv6 has one of them
		}
		for line := range strings.Lines(string(text)) {
			s, ok := parseSocket(line)
			if !ok || s.port != port || !slices.Contains(files, "socket:["+s.inode+"]") {
				continue
			}
			if host, ok := onLoopback(s.at); ok {
				return net.JoinHostPort(host, strconv.Itoa(port)), true
			}
		}
	}
	return "", false
}

// socket is one that listens.
type socket struct {
	at    net.IP
	port  int
	inode string
}

// listening is the state of a socket that takes connections (TCP_LISTEN of the kernel).
const listening = "0A"

// parseSocket reads a line of /proc/net/tcp; false if the socket does not listen. An address is words of four bytes,
// each in the machine's own order.
func parseSocket(line string) (s socket, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 10 || fields[3] != listening {
		return s, false
	}
	address, port, _ := strings.Cut(fields[1], ":")
	words, err := hex.DecodeString(address)
	if err != nil || len(words)%4 != 0 {
		return s, false
	}
	for word := range slices.Chunk(words, 4) {
		s.at = binary.BigEndian.AppendUint32(s.at, binary.NativeEndian.Uint32(word))
	}
	number, err := strconv.ParseUint(port, 16, 16)
	s.port, s.inode = int(number), fields[9]
	return s, err == nil
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
