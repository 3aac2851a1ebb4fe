//go:build linux

package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/cgroup"
	"github.com/stoker-dev/stoker/internal/private"
	"github.com/stoker-dev/stoker/observe/disk"
	"github.com/stoker-dev/stoker/observe/gpu"
	"github.com/stoker-dev/stoker/observe/net"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Place is where Examine searches.
type Place struct {
	Root    string              // where proc, sys and dev lie, "" is "/"
	Python  string              // the interpreter whose start-up is tried
	OpenGPU func() (GPU, error) // opens the probe for GPUs
	Pause   time.Duration       // between two readings of a GPU: some values are of the time between them
}

// Examine tries everything that observe samples, here and now. It leaves nothing
// behind but the user's private folder.
func Examine(p Place) (all []Check) {
	all = append(all, p.checkGPUs()...)
	for _, check := range []func() Check{
		p.checkProcesses, p.checkBytes, p.checkStates, p.checkQueues, p.checkDelays, p.checkGroups,
		p.checkPressure, p.checkDisks, p.checkNetworks, p.checkShm, p.checkLockedMemory, p.checkTracing,
		p.checkPrivateFolder, p.checkHook, p.checkRoom,
	} {
		all = append(all, check())
	}
	return all
}

func (p Place) read(name string) (string, error) {
	text, err := os.ReadFile(p.Root + "/" + name)
	return strings.TrimSpace(string(text)), err
}

// checkGPUs returns a line for the devices, and one for each value that they do not tell.
func (p Place) checkGPUs() []Check {
	probe, err := p.OpenGPU()
	if err != nil {
		return []Check{{
			What: "GPU", Needed: true,
			Text: err.Error() + ", and without it what the device does is known only from its own clock in the hook",
			Help: "nvidia-smi, to see whether the driver works, docker run --gpus all in a container",
		}}
	}
	defer func() { _ = probe.Close() }() // an error changes nothing
	probe.Read(time.Now())
	time.Sleep(p.Pause)
	facts, readings := probe.Facts(), probe.Read(time.Now())
	if len(facts.Devices) == 0 {
		return []Check{{
			What: "GPU", Needed: true,
			Text: "there is none so far (an emulated one comes with the program that makes it)",
		}}
	}
	names := map[string]int{}
	var order []string
	for _, d := range facts.Devices {
		if names[d.Name]++; names[d.Name] == 1 {
			order = append(order, d.Name)
		}
	}
	for i, name := range order {
		order[i] = fmt.Sprintf("%d x %s", names[name], name)
	}
	checks := []Check{{What: "GPU", Seen: true, Needed: true, Text: fmt.Sprintf("%s, driver %s, by %s",
		strings.Join(order, ", "), cmp.Or(facts.Driver, "unknown"), facts.Source)}}
	for i, r := range readings {
		if i < len(facts.Devices) {
			checks = append(checks, values(facts.Devices[i], r, facts.Source)...)
		}
	}
	return checks
}

// values returns the values that a device does not tell.
func values(d gpu.Device, r gpu.Reading, source string) (lacking []Check) {
	const nvidiaSMI = "the driver's library libnvidia-ml.so.1 tells more than nvidia-smi: in a container, " +
		"NVIDIA_DRIVER_CAPABILITIES=utility,compute"
	add := func(needed, known bool, what, why, help string) {
		if known {
			return
		}
		if source == "nvidia-smi" && help == "" {
			help = nvidiaSMI
		}
		lacking = append(lacking, Check{
			What: fmt.Sprintf("GPU %d: %s", d.Index, what), Needed: needed, Text: why,
			Help: help,
		})
	}
	add(true, len(r.Utilisation) > 0 || d.MIG, "utilisation",
		"the driver does not tell it now: idle time is then known only from the device's own clock in the hook", "")
	add(true, !d.MIG, "utilisation",
		"the device is cut into instances (MIG), for which the driver tells none: idle time is then known only from "+
			"the device's own clock in the hook", "")
	add(false, !math.IsNaN(r.MemoryUsedBytes), "memory", "the driver does not tell it", "")
	add(false, !math.IsNaN(r.PowerWatts), "power",
		"the driver does not tell it: what idling costs is then by the table", "")
	add(false, !math.IsNaN(r.SMClockMHz) && !math.IsNaN(d.MaxSMClockMHz), "clock",
		"the driver does not tell it: throttled is not seen", "")
	add(false, r.SlowedKnown, "reasons of a low clock", "the driver does not tell them: throttled is not seen", "")
	add(false, !math.IsNaN(r.LinkWidth) && d.LinkWidth > 0, "PCIe link",
		"the driver does not tell its generation and width", "")
	add(false, r.Processes != nil, "processes",
		"the driver does not tell which use it: shared-gpu is not seen, and trainers are told by what they run", "")
	add(false, r.Shares != nil, "time by process",
		"the driver does not tell it: of other programs on the device is seen that they are there, not what they take", "")
	add(false, !math.IsNaN(r.Active), "SM activity",
		"no counters for it (NVIDIA Hopper and later have them): power stands in for it", "")
	return lacking
}

func (p Place) checkProcesses() Check {
	c := Check{
		What: "processes", Needed: true,
		Help: "run stoker as the user who owns the job, or as root, or mount -o remount,hidepid=0 /proc",
	}
	mounts, err := p.read("proc/self/mountinfo")
	if err != nil {
		c.Text, c.Help = "/proc is not mounted: "+err.Error(), "mount -t proc proc /proc"
		return c
	}
	for line := range strings.Lines(mounts) {
		head, tail, _ := strings.Cut(line, " - ")
		if fields := strings.Fields(head); len(fields) > 4 && fields[4] == "/proc" &&
			strings.HasPrefix(tail, "proc ") &&
			strings.Contains(tail, "hidepid=") && !strings.Contains(tail, "hidepid=0") && os.Geteuid() != 0 {
			c.Text = "/proc shows only your own (hidepid): jobs of others cannot be attached to, and neighbours have no names"
			return c
		}
	}
	return Check{What: c.What, Seen: true, Needed: true, Text: "/proc shows them"}
}

func (p Place) checkBytes() Check {
	c := Check{What: "bytes read", Needed: true, Seen: true, Text: "/proc/PID/io, from files and from storage apart"}
	if _, err := p.read("proc/self/io"); err != nil {
		c.Seen, c.Text = false, err.Error()+": whether reads come from storage or from the page cache is not known"
		c.Help = "a kernel with CONFIG_TASK_IO_ACCOUNTING, in a container, not under a sandbox such as gVisor"
	}
	return c
}

// checkStates checks that the kernel shows the states of our own threads, some of which sleep.
func (p Place) checkStates() Check {
	c := Check{
		What: "what threads wait for", Needed: true,
		Text: "/proc/PID/wchan cannot be read: waiting for a network, a lock and a timer look the same",
	}
	files, _ := filepath.Glob(p.Root + "/proc/self/task/*/wchan") // no error but of the pattern
	for _, file := range files {
		name, err := os.ReadFile(file)
		if err == nil {
			c.Text = "the kernel hides the names (/proc/PID/wchan is 0): waiting for a network, a lock and a timer " +
				"look the same"
		}
		if err == nil && string(name) != "0" {
			c.Seen, c.Text = true, "/proc/PID/wchan"
			return c
		}
	}
	c.Help = "a kernel with CONFIG_KALLSYMS, in a container, not under a sandbox such as gVisor"
	return c
}

func (p Place) checkQueues() Check {
	c := Check{What: "waiting for cores", Needed: true, Seen: true, Text: "/proc/PID/schedstat"}
	text, err := p.read("proc/self/schedstat")
	if fields := strings.Fields(text); err != nil || len(fields) < 2 {
		c.Seen, c.Text =
			false, "the kernel counts it not (/proc/PID/schedstat): cpu-exhausted and neighbour are told by full "+
				"cores alone"
		c.Help = "a kernel with CONFIG_SCHED_INFO"
	}
	return c
}

func (p Place) checkDelays() Check {
	c := Check{What: "delay accounting", Seen: true, Text: "kernel.task_delayacct=1"}
	if text, err := p.read("proc/sys/kernel/task_delayacct"); err != nil || text != "1" {
		c.Seen, c.Text = false, "off, as by default: waiting for storage is sampled ten times a second instead"
		c.Help = "nothing of stoker's needs it. For other tools, sysctl -w kernel.task_delayacct=1"
	}
	return c
}

func (p Place) checkGroups() Check {
	c := Check{What: "control groups", Needed: true}
	groups, err := cgroup.Find(os.DirFS(cmp.Or(p.Root, "/")), "self")
	if err != nil {
		c.Text = err.Error() + ": quotas and memory limits are not known"
		c.Help = "docker run --cgroupns=private -v /sys/fs/cgroup:/sys/fs/cgroup:ro"
		return c
	}
	var limits []string
	if quota := groups.Quota(); quota > 0 {
		limits = append(limits, "a CPU quota of "+quantity.AboutCores(quota)+" cores")
	}
	if limit, left := groups.MemoryLimit(); limit > 0 {
		limits = append(limits, fmt.Sprintf("%s of memory, %s are left", quantity.AboutBytes(limit),
			quantity.AboutBytes(left)))
	}
	if rate := groups.DiskLimit(); rate > 0 {
		limits = append(limits, quantity.AboutRate(rate)+" from disks")
	}
	c.Seen, c.Text = true, cmp.Or(strings.Join(limits, ", "), "no limit on cores, memory or disks")
	if _, counted := groups.Throttled(); groups.Quota() > 0 && !counted {
		c.Seen, c.Text = false, c.Text+", and how often the quota holds the job back is not counted (cpu.stat)"
	}
	return c
}

func (p Place) checkPressure() Check {
	c := Check{What: "pressure (PSI)", Seen: true, Text: "of cores, storage and memory"}
	if text, err := p.read("proc/pressure/memory"); err != nil || !strings.HasPrefix(text, "some ") {
		c.Seen, c.Text, c.Help =
			false, "the kernel does not measure it: memory-pressure is not seen", "psi=1 on the kernel's command "+
				"line (4.20 and later, CONFIG_PSI)"
	}
	return c
}

// tally counts samples.
type tally map[string]bool

// Sample takes note of a subject.
func (t tally) AddSample(_ recording.Signal, subject string, _, _ float64) { t[subject] = true }

func (t tally) names() string {
	var names []string
	for subject := range t {
		_, name, _ := strings.Cut(subject, "/")
		names = append(names, name)
	}
	return joinNames(names)
}

func (p Place) checkDisks() Check {
	c, seen := Check{What: "disks", Needed: true}, tally{}
	probe, err := disk.Open(p.Root)
	if err == nil {
		err = probe.Second(0, seen)
	}
	switch {
	case err != nil:
		c.Text, c.Help = err.Error()+
			": device-saturated and small-files are not seen", "in a container, not under a sandbox that hides "+
			"/proc/diskstats"
	case len(seen) == 0:
		c.Text = "no disk was ever read from here: device-saturated and small-files are not seen"
	default:
		c.Seen, c.Text = true, seen.names()
	}
	return c
}

func (p Place) checkNetworks() Check {
	c, seen := Check{What: "network interfaces"}, tally{}
	net.Second(p.Root, os.Getpid(), 0, seen)
	if len(seen) == 0 {
		c.Text = "none with traffic: what comes over a network shows in the threads' state alone"
		return c
	}
	c.Seen, c.Text = true, seen.names()
	return c
}

// littleShm is what Docker gives a container. [J] A worker's batch of images takes a good
// part of it.
const littleShm = 64 << 20

func (p Place) checkShm() Check {
	c := Check{
		What: "shared memory", Needed: true,
		Help: "docker run --shm-size=8g (or --ipc=host), or mount -o remount,size=8g /dev/shm",
	}
	var s unix.Statfs_t
	if err := unix.Statfs(p.Root+"/dev/shm", &s); err != nil {
		c.Text = "/dev/shm: " + err.Error() + ": DataLoader workers cannot hand batches over"
		return c
	}
	size, left := float64(s.Blocks)*float64(s.Bsize), float64(s.Bavail)*float64(s.Bsize)
	c.Text = fmt.Sprintf("/dev/shm has %s, %s are left", quantity.AboutBytes(size), quantity.AboutBytes(left))
	if c.Seen = size > littleShm; c.Seen {
		c.Help = ""
	} else {
		c.Text += ": batches of DataLoader workers lie there, and a worker that finds it full dies of a bus error"
	}
	return c
}

// littleLocked is what most distributions allow a user.
const littleLocked = 64 << 20

func (p Place) checkLockedMemory() Check {
	c := Check{What: "locked memory", Seen: true, Text: "unlimited"}
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &r); err != nil {
		c.Seen, c.Text = false, err.Error()
	} else if r.Cur < math.MaxInt64 {
		c.Text = quantity.AboutBytes(float64(r.Cur))
		if c.Seen = r.Cur > littleLocked; !c.Seen {
			c.Text += ": stoker's own loader may lock no more (pin_memory goes through the driver and is not bound by it)"
			c.Help = "ulimit -l unlimited, or docker run --ulimit memlock=-1"
		}
	}
	return c
}

// checkTracing checks whether the memory of other programs may be read, for Python's stacks.
func (p Place) checkTracing() Check {
	c := Check{What: "other programs' stacks", Seen: true, Text: "of the same user"}
	scope, err := p.read("proc/sys/kernel/yama/ptrace_scope")
	switch {
	case err != nil || scope == "0" || os.Geteuid() == 0 && scope != "3":
	case scope == "1":
		c.Text = "of what stoker observe starts, not of a job that it is attached to with --pid " +
			"(kernel.yama.ptrace_scope=1)"
		c.Help = "sysctl -w kernel.yama.ptrace_scope=0"
	default:
		c.Seen, c.Text = false, "kernel.yama.ptrace_scope="+scope+": Python's stacks are known from the hook alone"
		c.Help = "sysctl -w kernel.yama.ptrace_scope=1"
	}
	if paranoid, err := p.read("proc/sys/kernel/perf_event_paranoid"); err == nil {
		c.Text += ", kernel.perf_event_paranoid=" + paranoid + ", which nothing of stoker's needs lower"
	}
	return c
}

func (p Place) checkPrivateFolder() Check {
	c := Check{What: "private folder", Needed: true}
	err := private.Try(func(place string) error { c.Seen, c.Text = true, place; return nil })
	if err != nil {
		c.Text = err.Error() + ": no hook, no steps"
		c.Help = "export XDG_CACHE_HOME=DIR, below folders that only root and you can write to"
	}
	return c
}

// probeText is a start-up file that tells that it ran.
const probeText = "import sys\nprint('stoker', *sys.version_info[:2])\n"

// pythonPatience is how long an interpreter may take to start.
const pythonPatience = 20 * time.Second

// starts starts Python with a start-up file from Stoker, and returns its output.
func (p Place) starts(place string) (said string, err error) {
	folder, err := os.MkdirTemp(place, "doctor-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := os.WriteFile(filepath.Join(folder, "sitecustomize.py"), []byte(probeText), 0o600); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), pythonPatience)
	defer cancel()
	python := exec.CommandContext(ctx, p.Python, "-B", "-c", "")
	python.Env, _ = commandEnvironment(os.Environ(), folder, "", "")
	python.WaitDelay = time.Second
	text, err := python.Output()
	return string(text), err
}

// checkHook checks whether a start-up file from Stoker would run in Python.
func (p Place) checkHook() Check {
	c, place := Check{What: "start-up hook", Needed: true}, ""
	if err := private.Try(func(at string) error { place = at; return nil }); err != nil {
		c.Text = "it needs the private folder"
		return c
	}
	said, err := p.starts(place)
	var major, minor int
	ran, _ := fmt.Sscanf(said, "stoker %d %d", &major, &minor)
	switch {
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		c.Text, c.Help = p.Python+
			" is not found: which Python the job uses is not known here", "stoker doctor --python PATH"
	case err != nil:
		c.Text = fmt.Sprintf("%s does not start: %v", p.Python, err)
	case ran < 2:
		c.Text = p.Python + " ignores PYTHONPATH or imports no sitecustomize: no steps, no times of a fetch"
		c.Help = "python without -I, -E and -S, and unset PYTHONSAFEPATH PYTHONNOUSERSITE"
	case major < 3 || major == 3 && minor < 8:
		c.Text, c.Help = fmt.Sprintf("%s is Python %d.%d: the hook runs in 3.8 and later", p.Python, major,
			minor), "stoker doctor --python PATH"
	default:
		c.Seen, c.Text = true, fmt.Sprintf("runs in %s (Python %d.%d)", p.Python, major, minor)
	}
	return c
}

// checkRoom checks whether there is enough of all to observe.
func (p Place) checkRoom() Check {
	c := Check{What: "room to observe", Needed: true, Seen: true, Text: "files, threads and address space"}
	if why := Cramped(); why != "" {
		c.Seen, c.Text = false, why
	}
	return c
}

// joinNames joins names in order, at most eight of them.
func joinNames(names []string) string {
	slices.Sort(names)
	if len(names) > 8 {
		return strings.Join(names[:8], ", ") + ", and " + strconv.Itoa(len(names)-8) + " more"
	}
	return strings.Join(names, ", ")
}
