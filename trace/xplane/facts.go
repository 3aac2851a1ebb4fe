package xplane

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace/columns"
)

// placeInTime moves the columns to t = 0, dates that, and returns its place on the
// file's clock.
func (b *builder) placeInTime(v *collect) int64 {
	base := columns.MoveToZero(v.t)
	b.out.Zero = base
	if start := b.started(); start > 0 && base < longestEvent { // rows count from the profile's start
		b.out.Zero += start
	}
	if b.out.Zero > 1e18 { // after 2001
		b.out.Facts.Started = float64(b.out.Zero) / 1e9
	}
	return base
}

// started is when the profile began, Unix time in ns; 0 if it is not told.
func (b *builder) started() int64 {
	for i := range b.survey.planes {
		p := &b.survey.planes[i]
		for _, s := range p.stats {
			if p.keys[s.name] == profileStart && s.value > 1e18 && s.value < uint64(latest) {
				return int64(s.value)
			}
		}
	}
	return 0
}

// readFacts are what the planes of devices and the names of events tell.
func (b *builder) readFacts(v *collect) {
	f := &b.out.Facts
	place := map[int]int{} // plane: its GPU
	for i := range b.survey.planes {
		p := &b.survey.planes[i]
		if (p.part == gpuRows || p.part == tpuRows) && len(f.GPUs) < 4096 {
			place[i] = len(f.GPUs)
			f.GPUs = append(f.GPUs, p.readGPU())
		}
	}
	t := v.t
	for d, plane := range v.devPlanes {
		if at, found := place[plane]; found {
			t.Devices[d].GPU = at
		}
	}
	columns.ComputePerSM(t, f.GPUs)
	for _, host := range b.survey.hosts {
		f.Notes = append(f.Notes, "The profile was taken on "+host+".")
	}
	f.Software.Framework = framework(v)
	f.Processes = trainer(t)
}

// readGPU reads a device's plane.
func (p *plane) readGPU() recording.GPU {
	g := recording.GPU{Index: deviceNumber(p.name)}
	major, minor, maker := uint64(0), uint64(0), ""
	for _, s := range p.stats {
		switch p.keys[s.name] {
		case deviceType:
			g.Name = columns.CleanText(p.statText(s), 80)
		case vendor:
			maker = columns.CleanText(p.statText(s), 40)
		case cores:
			g.SMs = int(min(s.value, 1<<16))
		case memory:
			g.MemoryBytes = new(float64(min(s.value, 1<<60)))
		case capMajor:
			major = s.value
		case capMinor:
			minor = s.value
		case noKey, correlation, kernelDetails, copyDetails, setDetails, stepNumber, profileStart:
		}
	}
	if g.Name == "" && maker != "" {
		g.Name = maker + " GPU, model not recorded"
	}
	if maker != "AMD" && major > 0 && major < 1000 && minor < 1000 {
		g.Capability = strconv.FormatUint(major, 10) + "." + strconv.FormatUint(minor, 10)
	}
	return g
}

// framework is who ran the job, as the names of its events tell.
func framework(v *collect) string {
	found := ""
	for _, name := range v.names.list {
		switch {
		case strings.HasPrefix(name, "PjitFunction("), strings.HasPrefix(name, "PjRtStreamExecutor"),
			strings.HasPrefix(name, "PJRT_"):
			return "JAX"
		case strings.HasPrefix(name, "ExecutorState::Process"), strings.HasPrefix(name, "FunctionRun"),
			strings.HasPrefix(name, "EagerExecute"):
			found = "TensorFlow"
		}
	}
	if found == "" {
		return "XLA"
	}
	return found
}

// trainer is the one process of a file.
func trainer(t *recording.Timeline) []recording.Process {
	if len(t.Host.Start)+len(t.Device.Start)+len(t.Frames.Start) == 0 {
		return nil
	}
	p := recording.Process{PID: process, Role: recording.RoleTrainer, Device: -1, End: float64(t.End) / 1e9}
	busy, launches := columns.Tally{}, columns.Tally{}
	for i, d := range t.Device.Device {
		busy[int(d)]++
		if call := t.Device.Call[i]; call >= 0 {
			launches[int(t.Host.Thread[call])]++
		}
	}
	if at := busy.FindMost(-1); at >= 0 {
		p.Device = t.Devices[at].Index
	}
	if at := launches.FindMost(-1); at >= 0 {
		p.LaunchThread, p.LauncherSeen = int(t.Threads[at].ID), true
	}
	return []recording.Process{p}
}

// doubts warns of what the file does not tell.
func (b *builder) doubts(v *collect) {
	t := v.t
	tpu := slices.ContainsFunc(v.survey.lines, func(l line) bool { return l.part == tpuRows })
	linked := slices.ContainsFunc(t.Device.Call, func(call int32) bool { return call >= 0 })
	switch {
	case len(t.Device.Start) == 0:
		b.addWarning("The profile holds no work of a device: on a GPU CUPTI or rocprofiler may have been missing. The " +
			"host's side was read.")
	case len(t.Host.Start) == 0:
		b.addWarning("The profile holds device work and no host event: no gap can be charged to a cause.")
	case tpu && !linked:
		b.addWarning("A TPU's work is not linked to the calls that launched it: idle time is measured, and not charged " +
			"to what the host did.")
	}
	if n := v.dropped[badTime] + v.dropped[broken]; n > 0 {
		b.addDamage("Events that are damaged or have an impossible time and were left out: %d.", n)
	}
	if n := v.dropped[nameless]; n > 0 {
		b.addDamage("Events without a name (of planes that end before their names, or with an unknown number) that were "+
			"left out: %d.", n)
	}
	if n := v.dropped[waitsInput]; n > 0 {
		b.addWarning("%d times a TPU core waited for input within an infeed: that time counts as idle.", n)
	}
}
