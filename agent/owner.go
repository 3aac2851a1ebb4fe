//go:build linux

package agent

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"

	"github.com/stoker-dev/stoker/observe"
	"github.com/stoker-dev/stoker/observe/cpu"
	"github.com/stoker-dev/stoker/recording"
)

// owner is a process on a GPU and the names of its job. A text that cannot be read is "".
type owner struct {
	began     uint64 // start time: identifies the process together with its number
	uid       uint32
	hpcJob    string // the scheduler's or launcher's name of the job
	pod       string // Kubernetes UID of the pod
	container string // the first twelve digits of its id
	rank      string
	does      string // what its main thread does now
}

// HostProc returns the folder of all processes of the node, by the numbers that the driver
// uses; "" if that is impossible. In another PID namespace the same number is another process. If
// the processes of other users are hidden (hidepid), the owner of a GPU could not be found.
func HostProc() string {
	const ofTheHost = "pid:[4026531836]" // PROC_PID_INIT_INO of linux/proc_ns.h
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil || namespace != ofTheHost {
		return ""
	}
	if _, err := os.ReadFile("/proc/1/stat"); err != nil {
		return ""
	}
	return "/proc"
}

// doing names the states of a main thread. Every kind of sleep except waiting for storage or
// the network counts as one: for processes of other users the kernel says no more.
var doing = map[recording.State]string{
	recording.Running: "running", recording.OnDisk: "disk",
	recording.Remote: "network",
}

// owning identifies a process. It keeps what was known before if it is still the same process.
func owning(proc string, pid uint32, before owner) (o owner, alive bool) {
	state, began, alive := cpu.Glance(proc, int(pid))
	if !alive {
		return owner{}, false
	}
	if o = before; o.began != began {
		o = identify(proc, pid)
		o.began = began
	}
	if o.does = doing[state]; o.does == "" {
		o.does = "sleeping"
	}
	return o, true
}

// identify returns the owner of a process. The control group comes from the kernel and can be
// read for every user's processes; the environment only for those of our own user.
func identify(proc string, pid uint32) (o owner) {
	folder := fmt.Sprintf("%s/%d", proc, pid)
	if info, err := os.Stat(folder); err == nil {
		o.uid = info.Sys().(*syscall.Stat_t).Uid //nolint:forcetypeassert // always this type on Linux
	}
	groups, _ := os.ReadFile(folder + "/cgroup") // if it cannot be read, no names are found
	o.hpcJob, o.pod, o.container = namesIn(string(groups))
	values, err := cpu.Environment(proc, int(pid))
	if err != nil {
		return o
	}
	_, launched, _ := strings.Cut(observe.JobName(func(name string) string { return values[name] }), "=")
	if o.hpcJob == "" {
		o.hpcJob = launched
	}
	if number.MatchString(values["RANK"]) {
		o.rank = values["RANK"]
	}
	return o
}

// Names of control groups. Slurm: /slurm/uid_1000/job_7/step_0 (version 1),
// /system.slice/slurmstepd.scope/job_7/step_0 (version 2), with the node's name if a host runs
// several nodes. Kubernetes: /kubepods/burstable/podUID/ID and
// /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podU_I_D.slice/cri-containerd-ID.scope.
// In a container the path begins with /.. for each level up.
var (
	slurmJob = regexp.MustCompile(
		`^(?:/\.\.)*/(?:system\.slice/)?[^/]*slurm[^/]*/(?:uid_[0-9]+/)?job_([0-9]{1,20})(?:/|$)`)
	podUID    = regexp.MustCompile(`[/-]pod([0-9a-f]{8}(?:[-_]?[0-9a-f]{4}){3}[-_]?[0-9a-f]{12})(?:\.slice)?/`)
	container = regexp.MustCompile(`[/-]([0-9a-f]{12})[0-9a-f]{52}(?:\.scope)?(?:/|$)`)
	number    = regexp.MustCompile(`^[0-9]{1,7}$`)
)

// namesIn finds names in the text of a process's cgroup file. It ignores groups below
// user.slice, to which users can give any name.
func namesIn(groups string) (job, pod, in string) {
	for line := range strings.Lines(groups) { // hierarchy:controllers:path
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 || strings.Contains(parts[2], "/user.slice/") {
			continue
		}
		for _, name := range []struct {
			to   *string
			form *regexp.Regexp
		}{{&job, slurmJob}, {&pod, podUID}, {&in, container}} {
			if found := name.form.FindStringSubmatch(parts[2]); found != nil && *name.to == "" {
				*name.to = strings.ReplaceAll(found[1], "_", "-")
			}
		}
	}
	return job, pod, in
}

// sharedOwner returns the names that all processes of a GPU have in common, and the number of
// jobs they belong to. A GPU used by several jobs belongs to none.
func sharedOwner(owners []owner) (common owner, jobs int) {
	seen := map[owner]bool{}
	for i, o := range owners {
		seen[o.job()] = true
		if i == 0 {
			common = o
		}
		for _, name := range []struct{ to, of *string }{
			{&common.hpcJob, &o.hpcJob},
			{&common.pod, &o.pod},
			{&common.container, &o.container},
			{&common.rank, &o.rank},
		} {
			if *name.to != *name.of {
				*name.to = ""
			}
		}
	}
	return common, len(seen)
}

// holder is a job and the device memory that its processes hold.
type holder struct {
	job   owner
	bytes float64 // 0 without a job whose processes are known
}

// job returns what the processes of one job have in common.
func (o owner) job() owner { return owner{uid: o.uid, hpcJob: o.hpcJob, pod: o.pod} }

// findLargest returns the job that holds most of a device's memory, by the bytes of its processes.
func findLargest(held map[uint32]float64, owners map[uint32]owner) (largest holder) {
	sums := map[owner]float64{}
	for pid, bytes := range held {
		if o, known := owners[pid]; known {
			sums[o.job()] += bytes
		}
	}
	for job, bytes := range sums {
		if bytes > largest.bytes {
			largest = holder{job, bytes}
		}
	}
	return largest
}
