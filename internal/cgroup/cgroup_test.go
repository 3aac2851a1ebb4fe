package cgroup

import (
	"math"
	"testing"
	"testing/fstest"
)

func tree(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	return m
}

const (
	mountsV1 = `30 20 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
31 20 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
32 20 0:28 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio
34 20 0:30 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids`
	mountV2     = "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate"
	mountHybrid = mountsV1 + "\n33 20 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"
	mountDocker = "30 20 0:26 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu"
)

// The three arrangements of control groups, and a container in which only its
// own part is mounted.
func TestGroups(t *testing.T) {
	for name, c := range map[string]struct {
		files                                         map[string]string
		quota, limit, free, disk, throttled, pressure float64
	}{
		"v1": {map[string]string{
			"proc/5/cgroup":       "4:memory:/job\n3:blkio:/job\n2:cpu,cpuacct:/job/step",
			"proc/self/mountinfo": mountsV1,
			"sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_quota_us":    "-1",
			"sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_period_us":   "100000",
			"sys/fs/cgroup/cpu,cpuacct/job/step/cpu.stat":            "nr_periods 4\nnr_throttled 2\nthrottled_time 500000000",
			"sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us":         "150000",
			"sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us":        "100000",
			"sys/fs/cgroup/cpu,cpuacct/job/cpu.stat":                 "throttled_time 1500000000",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":             "9223372036854771712",
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes":         "1000",
			"sys/fs/cgroup/memory/job/memory.usage_in_bytes":         "700",
			"sys/fs/cgroup/memory/job/memory.stat":                   "cache 1\ntotal_inactive_file 200",
			"sys/fs/cgroup/blkio/job/blkio.throttle.read_bps_device": "254:0 2097152\n8:0 1048576",
			"proc/pressure/io": "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1",
		}, 1.5, 1000, 500, 1048576, 2, 2.5},
		"v2": {map[string]string{
			"proc/5/cgroup":       "0::/user.slice/job.scope",
			"proc/self/mountinfo": mountV2,

			"sys/fs/cgroup/user.slice/job.scope/cpu.max":     "max 100000",
			"sys/fs/cgroup/user.slice/job.scope/cpu.stat":    "usage_usec 5\nthrottled_usec 3000000",
			"sys/fs/cgroup/user.slice/cpu.max":               "250000 100000",
			"sys/fs/cgroup/user.slice/memory.max":            "2000",
			"sys/fs/cgroup/user.slice/memory.current":        "500",
			"sys/fs/cgroup/user.slice/memory.stat":           "anon 1\ninactive_file 100",
			"sys/fs/cgroup/user.slice/job.scope/memory.max":  "max",
			"sys/fs/cgroup/user.slice/job.scope/io.max":      "8:0 rbps=max wbps=max riops=max wiops=max\n254:0 rbps=4194304 wbps=max",
			"sys/fs/cgroup/user.slice/job.scope/io.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=7000000",
			"proc/pressure/io":                               "some avg10=0.00 avg60=0.00 avg300=0.00 total=1",
		}, 2.5, 2000, 1600, 4194304, 3, 7},
		"hybrid": {map[string]string{
			"proc/5/cgroup":       "2:cpu,cpuacct:/job\n0::/job",
			"proc/self/mountinfo": mountHybrid,
			"sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us":  "50000",
			"sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "100000",
			"sys/fs/cgroup/unified/job/memory.max":            "300",
			"sys/fs/cgroup/unified/job/memory.current":        "100",
		}, 0.5, 300, 200, 0, 0, 0},
		"container": {map[string]string{
			"proc/5/cgroup":                       "2:cpu:/docker/abc",
			"proc/self/mountinfo":                 mountDocker,
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":  "300000",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
		}, 3, 0, math.NaN(), 0, 0, 0},
		"none": {map[string]string{"proc/5/cgroup": "", "proc/self/mountinfo": ""}, 0, 0, math.NaN(), 0, 0, 0},
		"nonsense": {map[string]string{
			"proc/5/cgroup": "x\n::\n2:cpu,cpuacct:/../../etc\n0::", "proc/self/mountinfo": mountHybrid + "\n1 - \n - - -",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "nonsense",
		}, 0, 0, math.NaN(), 0, 0, 0},
	} {
		g, err := Find(tree(c.files), "5")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		limit, free := g.MemoryLimit()
		throttled, _ := g.Throttled()
		pressure, _ := g.Pressure("io")
		for what, pair := range map[string][2]float64{
			"quota": {g.Quota(), c.quota}, "memory limit": {limit, c.limit}, "free memory": {free, c.free},
			"disk limit": {g.DiskLimit(), c.disk}, "throttled": {throttled, c.throttled}, "pressure": {pressure, c.pressure},
		} {
			if got, want := pair[0], pair[1]; got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("%s: %s is %v, want %v", name, what, got, want)
			}
		}
	}
}

// Version 2 counts in memory.events, version 1 in memory.oom_control.
func TestKilled(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		count float64
		known bool
	}{
		"v1": {map[string]string{
			"proc/5/cgroup": "4:memory:/job", "proc/self/mountinfo": mountsV1, "sys/fs/cgroup/memory/memory.limit_in_bytes": "9",
			"sys/fs/cgroup/memory/job/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3",
		}, 3, true},
		"v2": {map[string]string{
			"proc/5/cgroup": "0::/job", "proc/self/mountinfo": mountV2, "sys/fs/cgroup/job/memory.max": "max",
			"sys/fs/cgroup/job/memory.events": "low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 0",
		}, 1, true},
		"none": {map[string]string{"proc/5/cgroup": "0::/", "proc/self/mountinfo": mountV2}, 0, false},
	} {
		g, err := Find(tree(c.files), "5")
		if err != nil {
			t.Fatal(err)
		}
		if count, known := g.Killed(); count != c.count || known != c.known {
			t.Errorf("%s: %v, %v", name, count, known)
		}
	}
}

func TestFreeThreads(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		free  float64
	}{
		"v1": {map[string]string{
			"proc/5/cgroup": "8:pids:/job/step", "proc/self/mountinfo": mountsV1,
			"sys/fs/cgroup/pids/job/step/pids.max": "max", "sys/fs/cgroup/pids/job/step/pids.current": "7",
			"sys/fs/cgroup/pids/job/pids.max": "20", "sys/fs/cgroup/pids/job/pids.current": "8",
		}, 12},
		"v2, over the limit": {map[string]string{
			"proc/5/cgroup": "0::/job", "proc/self/mountinfo": mountV2,
			"sys/fs/cgroup/job/pids.max": "20", "sys/fs/cgroup/job/pids.current": "21",
		}, 0},
		"none": {map[string]string{"proc/5/cgroup": "0::/", "proc/self/mountinfo": mountV2}, math.NaN()},
	} {
		g, err := Find(tree(c.files), "5")
		if err != nil {
			t.Fatal(err)
		}
		if got := g.FreeThreads(); got != c.free && !(math.IsNaN(got) && math.IsNaN(c.free)) {
			t.Errorf("%s: %v, want %v", name, got, c.free)
		}
	}
}

func TestReadsLimit(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"v1": {"proc/5/cgroup": "3:blkio:/job", "proc/self/mountinfo": mountsV1, "sys/fs/cgroup/blkio/job/blkio.throttle.read_iops_device": "254:0 400\n8:0 100"},
		"v2": {"proc/5/cgroup": "0::/job", "proc/self/mountinfo": mountV2, "sys/fs/cgroup/job/io.max": "8:0 rbps=max wbps=max riops=100 wiops=9"},
	} {
		g, err := Find(tree(files), "5")
		if err != nil || g.ReadsLimit() != 100 || g.DiskLimit() != 0 {
			t.Errorf("%s: %v, %v", name, g, err)
		}
	}
}
