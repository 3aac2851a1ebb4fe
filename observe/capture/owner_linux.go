package capture

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ownedError says that somebody else answers libkineto here. He is left alone.
type ownedError struct {
	Address string // "@dynolog" or a file
	PID     int    // who, 0 where it cannot be seen
	Command string // his name, "" where it cannot be seen
}

// Error says who it is and what to do.
func (e *ownedError) Error() string {
	who := "another daemon (its process cannot be seen)"
	if e.PID > 0 {
		who = fmt.Sprintf("%s (process %d)", e.Command, e.PID)
	}
	if e.Command == "stoker" {
		return fmt.Sprintf("another stoker observe --trace (process %d) answers libkineto at %s: only one can at a time; wait until it ends", e.PID, e.Address)
	}
	return fmt.Sprintf("%s answers libkineto at %s already and is left alone: ask it for the trace while the job runs "+
		"(dyno gputrace --pids PID --iterations 5 --log-file /tmp/trace.json), then stoker trace /tmp/trace_PID.json", who, e.Address)
}

// owner looks for the process behind an address, among those that we may see.
func owner(address string) (pid int, command string) {
	inode := inodeOf(address)
	if inode == "" {
		return 0, ""
	}
	link := "socket:[" + inode + "]"
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, ""
	}
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		fds, err := os.ReadDir(filepath.Join("/proc", e.Name(), "fd"))
		if err != nil {
			continue // another user's
		}
		for _, fd := range fds {
			if to, err := os.Readlink(filepath.Join("/proc", e.Name(), "fd", fd.Name())); err == nil && to == link {
				comm, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "comm"))
				return n, strings.TrimSpace(string(comm))
			}
		}
	}
	return 0, ""
}

// inodeOf finds an address in /proc/net/unix, which prints NUL as @.
func inodeOf(address string) string {
	f, err := os.Open("/proc/net/unix")
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 8 && strings.TrimRight(fields[7], "@") == address {
			return fields[6]
		}
	}
	return ""
}
