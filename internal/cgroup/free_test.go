package cgroup

import (
	"strings"
	"testing"
)

// TestFreeMemory: the tightest of the machine's memory and of all groups' limits
// counts, of both versions of control groups.
func TestFreeMemory(t *testing.T) {
	const mib = 1 << 20
	meminfo := "MemTotal: 8388608 kB\nMemFree: 1 kB\nMemAvailable: 4194304 kB\n"
	two := "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup rw,nsdelegate\n"
	one := "36 32 0:33 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n37 32 0:34 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
	inside := "36 32 0:33 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  int64
		who   string
	}{
		{"no groups", map[string]string{"proc/meminfo": meminfo}, 4096 * mib, "the machine has 4096.0 MiB left"},
		{"nothing known", nil, 0, "nothing is known"},
		{"version 2, limit above", map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": two, "proc/5/cgroup": "0::/job/step\n",
			"sys/fs/cgroup/job/step/memory.max": "max\n", "sys/fs/cgroup/job/step/memory.current": "1048576\n",
			"sys/fs/cgroup/job/memory.max": "1073741824\n", "sys/fs/cgroup/job/memory.current": "536870912\n",
			"sys/fs/cgroup/job/memory.stat": "anon 1\ninactive_file 268435456\n",
		}, 768 * mib, "limit leaves 768.0 MiB"},
		{"version 1", map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": one, "proc/5/cgroup": "3:cpu,cpuacct:/x\n4:memory:/job\n0::/\n",
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "1073741824\n", "sys/fs/cgroup/memory/job/memory.usage_in_bytes": "1073741824\n",
			"sys/fs/cgroup/memory/job/memory.stat": "total_inactive_file 1048576\n",
		}, mib, "leaves 1.0 MiB"},
		{"version 1 without limit", map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": one, "proc/5/cgroup": "4:memory:/job\n",
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "9223372036854771712\n", "sys/fs/cgroup/memory/job/memory.usage_in_bytes": "1\n",
		}, 4096 * mib, "the machine"},
		{"in a container", map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": inside, "proc/5/cgroup": "4:memory:/docker/abc\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "2097152\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "0\n",
		}, 2 * mib, "leaves 2.0 MiB"},
		{"used up", map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": inside, "proc/5/cgroup": "4:memory:/docker/abc\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "2097152\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "2097152\n",
		}, 1, "leaves 0.0 MiB"},
		{"address space", map[string]string{
			"proc/meminfo": meminfo, "proc/5/status": "Name:\tstoker\nVmPeak:\t 2097152 kB\nVmSize:\t 1048576 kB\nVmData:\t 9 kB\n",
			"proc/5/limits": "Limit  Soft Limit  Hard Limit  Units\nMax data size             unlimited            unlimited            bytes\n" +
				"Max address space         2147483648           unlimited            bytes\n",
		}, 1024 * mib, "(ulimit -v) leaves 1024.0 MiB"},
		{"data", map[string]string{
			"proc/meminfo": meminfo, "proc/5/status": "VmSize:\t 1048576 kB\nVmData:\t 1024 kB\n",
			"proc/5/limits": "Max data size             2097152            unlimited            bytes\nMax address space unlimited unlimited bytes\n",
		}, mib, "(ulimit -d) leaves 1.0 MiB"},
	} {
		if got, who := FreeMemory(tree(test.files), "5"); got != test.want || !strings.Contains(who, test.who) {
			t.Errorf("%s: %d bytes (%s), expected %d (%s)", test.name, got, who, test.want, test.who)
		}
	}
}
