//go:build linux

package agent

import (
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/stoker-dev/stoker/export"
	"github.com/stoker-dev/stoker/internal/coretime"
	"github.com/stoker-dev/stoker/recording"
)

const (
	ofGPU   = 22 // greatest number of series per GPU
	ofAgent = 7  // number of series for the node
)

// fittingGPUs returns how many GPUs fit into a scrape.
func (a *Agent) fittingGPUs() int { return min(len(a.devices), max(0, a.o.Most-ofAgent)/ofGPU) }

// silence is the age of the last reading from which the driver counts as hanging and values as
// unknown.
const silence = 10 * time.Second

// collectMetrics returns all metrics at a time.
func (a *Agent) collectMetrics(now time.Time) *export.Metrics {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	m, answers := &export.Metrics{}, 1.0
	if a.failing || now.Sub(a.looked) > silence {
		answers = 0
	}
	m.Set("stoker_build_info", "The Stoker that tells this, with the value 1.", 1, "version", a.o.Version)
	m.Set("stoker_agent_driver_up", "1 if the GPUs' driver answered in the last 10 s, else 0.", answers)
	if !a.looked.IsZero() {
		m.Set("stoker_agent_last_look_timestamp_seconds", "Unix time of the driver's last answer.", unixTime(a.looked))
	}
	m.Set("stoker_agent_gpus", "GPUs of the node.", float64(len(a.devices)))
	m.Set("stoker_agent_gpus_left_out", "GPUs that this page has no room for (--most-series).",
		float64(len(a.devices)-a.fittingGPUs()))
	m.Set("process_cpu_seconds_total", "Core time of the agent.", coretime.Used().Seconds())
	m.Set("process_resident_memory_bytes", "Memory of the agent.", ownMemory())
	for _, d := range a.devices[:a.fittingGPUs()] {
		a.tell(m, d, now, answers == 1)
	}
	return m
}

// tell adds the metrics of one GPU.
func (a *Agent) tell(m *export.Metrics, d *device, now time.Time, answers bool) {
	set := func(name, help string, value float64, labels ...string) {
		m.Set("stoker_gpu_"+name, help, value,
			append([]string{"gpu", strconv.Itoa(d.facts.Index), "UUID", d.facts.UUID}, labels...)...)
	}
	who, jobs := sharedOwner(d.owners)
	set("info", "A GPU, and the job that all of its processes belong to, with the value 1.", 1,
		"modelName", d.facts.Name, "hpc_job", who.hpcJob, "pod_uid", who.pod, "container", who.container, "rank",
		who.rank,
		"emulated", trueOrEmpty(d.facts.Emulated), "mig", trueOrEmpty(d.facts.MIG))
	state, since, does := d.state, d.since, ""
	if !answers {
		state, since = unknown, a.looked
	}
	if state == lowUse {
		does = d.mainActivity()
	}
	f, judged := a.jobVerdict(d, now)
	if !answers {
		f, judged = figure{}, false
	}
	set("state_info", "What the GPU does, with the value 1: starved, fed (its job's verdict), low-use, in-use, "+
		"unallocated, unknown.", 1,
		"state", state, "class", f.class, "main_thread", does)
	set("state_since_timestamp_seconds", "Unix time from which on that is so.", unixTime(since))
	set("observed_seconds_total", "Time for which the driver told what the GPU does.", d.observed)
	set("idle_seconds_total",
		"Of that, time in which no kernel ran, by the device's counter of kernels. Without one it is time in which nor "+
			"data were copied. What runs may fill a part of the GPU alone: idle at least.", d.idle)
	set("idle_cost_usd_total", "What that time cost, by --price or a list price.", d.idle*d.price/3600)
	if !answers {
		return
	}
	set("utilization_ratio", "Share of the last minute in which some kernel ran or data were copied.", d.busy())
	set("kernels_ratio", "Share of the last minute in which some kernel ran, by the device's counter of kernels.",
		d.countedShare())
	set("memory_used_bytes", "Device memory in use by all programs, as of the driver's last answer.", d.memory)
	set("memory_bytes", "Memory of the device.", d.facts.MemoryBytes)
	if job := d.fills.job; d.fills.bytes > 0 {
		set("job_memory_bytes", "Device memory that the processes of one job hold: the job that holds most.",
			d.fills.bytes, "hpc_job", job.hpcJob, "pod_uid", job.pod, "uid", strconv.Itoa(int(job.uid)))
	}
	set("sm_active_ratio", "Share of multiprocessors with work in the last minute.",
		d.mean(func(m moment) float64 { return m.active }))
	for by, reason := range []string{"power", "heat", "hardware"} {
		set("slowed_ratio", "Share of the last minute in which the clock was kept down, by reason.",
			d.slowedShare(recording.ByPower<<by), "reason", reason)
	}
	if a.o.Proc != "" && d.processes != nil {
		set("jobs", "Jobs that have processes on the GPU.", float64(jobs))
	}
	if judged {
		set("stall_ratio", "Share of its job's steps in which the GPU waited for input, by `stoker observe`.", f.stall)
		set("step_seconds", "Mean step of its job, by `stoker observe`.", f.step)
		set("samples_per_second", "Samples per second of its rank, by `stoker observe`.", f.rate)
		set("requests_per_second", "Requests a second to its server, by `stoker observe`.", f.requests)
		set("request_p99_seconds", "Time within which 99 % of them are answered, by `stoker observe`.", f.p99)
		set("no_requests_ratio", "Share of the time without a request, by `stoker observe`.", f.none)
	}
}

// trueOrEmpty returns "true" or "".
func trueOrEmpty(v bool) string {
	if v {
		return "true"
	}
	return ""
}

// unixTime returns seconds since 1970; NaN for the zero time.
func unixTime(t time.Time) float64 {
	if t.IsZero() {
		return math.NaN()
	}
	return float64(t.UnixMilli()) / 1000
}

// ownMemory returns the agent's resident memory in bytes; NaN if unknown.
func ownMemory() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if words := strings.Fields(string(text)); err == nil && len(words) > 1 {
		if pages, err := strconv.Atoi(words[1]); err == nil {
			return float64(pages * os.Getpagesize())
		}
	}
	return math.NaN()
}
