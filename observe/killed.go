//go:build linux

package observe

import (
	"fmt"
	"os"

	"github.com/stoker-dev/stoker/internal/cgroup"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// memoryGroup is the control group in which the command starts, and the number of its processes that the
// kernel had killed for lack of memory until then.
type memoryGroup struct {
	groups *cgroup.Groups // nil without control groups
	before float64
}

func findMemoryGroup() (m memoryGroup) {
	found, err := cgroup.Find(os.DirFS("/"), "self")
	if err != nil {
		return m
	}
	if before, known := found.Killed(); known {
		m = memoryGroup{found, before}
	}
	return m
}

// describeKill says that a command or some of its processes were killed, and by what if that is
// known; "" if none was.
func describeKill(exit *recording.ExitStatus, m memoryGroup) string {
	count, limit := 0., 0.
	if m.groups != nil {
		now, _ := m.groups.Killed()
		count = now - m.before
		limit, _ = m.groups.MemoryLimit()
	}
	if count > 0 {
		within := ""
		if limit > 0 {
			within = ", which may have " + quantity.AboutBytes(limit)
		}
		return fmt.Sprintf(
			"the kernel killed %.0f process%s of the job's control group%s: memory ran out (oom_kill). A larger "+
				"limit, fewer workers or a smaller prefetch_factor helps",
			count, quantity.Ending(int(count), "", "es"), within)
	}
	switch {
	case exit == nil || exit.Code != 137:
		return ""
	case m.groups == nil:
		return "the command was killed (SIGKILL), and whether memory ran out cannot be seen here: journalctl -k | " +
			"grep -i 'out of memory'"
	}
	return "the command was killed (SIGKILL), not for lack of memory as far as its control group counts (oom_kill): " +
		"a person, a scheduler or a time limit did it"
}
