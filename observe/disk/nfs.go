//go:build linux

package disk

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// maxServers bounds the signals of machines with hundreds of NFS mounts.
const maxServers = 16

// NFS writes what the kernel's NFS client counts for each mount that process pid sees: bytes
// that the server sent, reads, and how long those took. Without such a mount it writes nothing.
func NFS(root string, pid int, now float64, to Sink) {
	text, err := os.ReadFile(fmt.Sprintf("%s/proc/%d/mountstats", root, pid))
	if err != nil {
		return // of another user, or it ended
	}
	subject, servers := "", 0
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) >= 8 && fields[0] == "device" && fields[3] == "on": // device S mounted on P with fstype T
			if subject = ""; strings.HasPrefix(fields[7], "nfs") && servers < maxServers {
				subject, servers = "mount/"+unescape(fields[4]), servers+1
			}
		case subject == "" || len(fields) < 7:
		case fields[0] == "bytes:": // normal, direct: read, written each; then server: read, written
			writeSample(to, recording.MountRead, subject, now, fields[5], 1)
		// operations, transmissions, timeouts, bytes out, in, queued, round trip, in all (ms)
		case fields[0] == "READ:":
			writeSample(to, recording.MountReads, subject, now, fields[1], 1)
			if len(fields) >= 9 {
				writeSample(to, recording.MountWait, subject, now, fields[8], 1e-3)
			}
		}
	}
}

func writeSample(to Sink, signal recording.Signal, subject string, now float64, text string, unit float64) {
	if v, err := strconv.ParseUint(text, 10, 64); err == nil {
		to.AddSample(signal, subject, now, float64(v)*unit)
	}
}
