//go:build linux

package observe

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stoker-dev/stoker/internal/forest"
	"github.com/stoker-dev/stoker/observe/gpu"
)

// tellingGPU is a GPU that answers with the same each time.
type tellingGPU struct {
	facts gpu.Facts
	read  gpu.Reading
}

func (g tellingGPU) Facts() gpu.Facts             { return g.facts }
func (g tellingGPU) Read(time.Time) []gpu.Reading { return []gpu.Reading{g.read} }
func (g tellingGPU) Absent() []string             { return nil }
func (g tellingGPU) Close() error                 { return nil }

// healthy is a machine on which all can be seen.
func healthy(t *testing.T) (Place, *tellingGPU) {
	t.Helper()
	root := forest.Plant(t, forest.Machine{CPUs: 4, Trainers: 1, Disks: 1})
	for name, text := range map[string]string{
		"proc/self/cgroup": "2:cpu:/\n3:memory:/\n", "proc/self/io": "rchar: 1\n", "proc/self/task/1/wchan": "0", "proc/self/task/2/wchan": "futex_do_wait", "proc/self/schedstat": "1 2 3\n",
		"proc/sys/kernel/task_delayacct": "1\n", "proc/sys/kernel/yama/ptrace_scope": "0\n",
	} {
		forest.File(t, root, name, text)
	}
	me := filepath.Join(root, "proc", pidText())
	if err := os.MkdirAll(me+"/net", 0o700); err != nil {
		t.Fatal(err)
	}
	forest.File(t, me, "net/dev", "  eth0: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n")
	news := readings(1, time.Now())
	g := &tellingGPU{facts: news.Facts, read: news.Readings[0]}
	g.facts.Driver, g.facts.Source, g.facts.Devices[0].LinkWidth = "1.2", "nvml", 16
	return Place{Root: root, Python: "python3", OpenGPU: func() (GPU, error) { return g, nil }}, g
}

// missing are the things that cannot be seen.
func missing(checks []Check) (names []string) {
	for _, c := range checks {
		if !c.Seen {
			names = append(names, c.What)
		}
		if c.What == "" || c.Text == "" {
			return []string{"a line without words"}
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { // as this machine is, not the generated one
		return slices.Contains([]string{"locked memory", "start-up hook", "private folder", "room to observe", "shared memory"}, name)
	})
}

func TestDoctor(t *testing.T) {
	p, _ := healthy(t)
	if names := missing(Examine(p)); len(names) > 0 {
		t.Errorf("of a machine that shows all, missing: %q", names)
	}
	for file, want := range map[string]string{
		"proc/self/io": "bytes read", "proc/self/schedstat": "waiting for cores", "proc/sys/kernel/task_delayacct": "delay accounting",
		"proc/pressure/memory": "pressure (PSI)", "proc/diskstats": "disks", "proc/self/cgroup": "control groups",
		"proc/" + pidText() + "/net/dev": "network interfaces", "proc/self/task/2/wchan": "what threads wait for",
	} {
		p, _ := healthy(t)
		if err := os.Remove(filepath.Join(p.Root, file)); err != nil {
			t.Fatal(err)
		}
		if names := missing(Examine(p)); !slices.Equal(names, []string{want}) {
			t.Errorf("without %s missing: %q, want %s", file, names, want)
		}
	}
}

func TestDoctorOfGPUs(t *testing.T) {
	nan := math.NaN()
	for want, change := range map[string]func(*tellingGPU){
		"utilisation":            func(g *tellingGPU) { g.read.Utilisation = nil },
		"power":                  func(g *tellingGPU) { g.read.PowerWatts = nan },
		"memory":                 func(g *tellingGPU) { g.read.MemoryUsedBytes = nan },
		"clock":                  func(g *tellingGPU) { g.facts.Devices[0].MaxSMClockMHz = nan },
		"reasons of a low clock": func(g *tellingGPU) { g.read.SlowedKnown = false },
		"PCIe link":              func(g *tellingGPU) { g.facts.Devices[0].LinkWidth = 0 },
		"processes":              func(g *tellingGPU) { g.read.Processes = nil },
		"time by process":        func(g *tellingGPU) { g.read.Shares = nil },
		"SM activity":            func(g *tellingGPU) { g.read.Active = nan },
	} {
		p, g := healthy(t)
		change(g)
		if names := missing(Examine(p)); !slices.Equal(names, []string{"GPU 0: " + want}) {
			t.Errorf("missing: %q, want %s", names, want)
		}
	}
	p, g := healthy(t)
	g.facts.Devices[0].MIG, g.read.Utilisation = true, nil
	checks := Examine(p)
	if names := missing(checks); !slices.Equal(names, []string{"GPU 0: utilisation"}) || !strings.Contains(checks[1].Text, "MIG") {
		t.Errorf("in instances: %q, %q", names, checks[1].Text)
	}
	p.OpenGPU = func() (GPU, error) { return nil, errors.New("no driver") }
	if names := missing(Examine(p)); !slices.Equal(names, []string{"GPU"}) {
		t.Errorf("without a driver: %q", names)
	}
	g.facts.Devices = nil
	p.OpenGPU = func() (GPU, error) { return g, nil }
	if names := missing(Examine(p)); !slices.Equal(names, []string{"GPU"}) {
		t.Errorf("without a device: %q", names)
	}
}

// Limits are named, one by one.
func TestDoctorOfLimits(t *testing.T) {
	p, _ := healthy(t)
	forest.File(t, p.Root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n")
	forest.File(t, p.Root, "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
	forest.File(t, p.Root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "2000000000\n")
	forest.File(t, p.Root, "sys/fs/cgroup/memory/memory.usage_in_bytes", "500000000\n")
	if c := p.checkGroups(); !c.Seen || c.Text != "a CPU quota of 1.5 cores, 2 GB of memory, 1.5 GB are left" {
		t.Errorf("%+v", c)
	}
	_ = os.Remove(filepath.Join(p.Root, "sys/fs/cgroup/cpu/cpu.stat"))
	if c := p.checkGroups(); c.Seen {
		t.Errorf("a quota whose throttling is not counted: %+v", c)
	}
	forest.File(t, p.Root, "proc/sys/kernel/yama/ptrace_scope", "3\n")
	if c := p.checkTracing(); c.Seen || c.Help == "" {
		t.Errorf("%+v", c)
	}
}

// Interpreters in which the hook runs and does not.
func TestDoctorOfPython(t *testing.T) {
	script := func(text string) string {
		path := filepath.Join(t.TempDir(), "python")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		python, says string
		seen         bool
	}{
		"a good one":        {script("echo stoker 3 12"), "Python 3.12", true},
		"an old one":        {script("echo stoker 3 7"), "3.8 and later", false},
		"one shut out":      {script("exit 0"), "ignores PYTHONPATH", false},
		"one that fails":    {script("exit 3"), "does not start", false},
		"none":              {"/nowhere/python3", "is not found", false},
		"none of this name": {"python-of-nobody", "is not found", false},
		"one that talks":    {script("echo hello"), "ignores PYTHONPATH", false},
	} {
		if got := (Place{Python: c.python}).checkHook(); got.Seen != c.seen || !strings.Contains(got.Text, c.says) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func pidText() string { return strconv.Itoa(os.Getpid()) }
