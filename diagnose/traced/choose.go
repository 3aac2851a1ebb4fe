package traced

import (
	"math"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/ranks"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/recording"
)

// leastWork is the part of the busiest device's time below which a device is not
// judged: it only helps. [J]
const leastWork = 0.1

// chooseDevice finds the device to judge; nil if the recording holds no work of one.
func chooseDevice(run *recording.Run, gaps *idle.Analysis) *filler {
	if gaps == nil {
		gaps = idle.Analyse(run)
	}
	t := &filler{
		t: run.Timeline, all: gaps, major: math.NaN(), world: 1, lost: run.Facts.WorkLost,
		unmarked: !run.Facts.MarksSteps(), oneRun: run.Facts.StepsFrom == recording.OneRun,
	}
	most, computes := int64(0), false
	for i := range t.all.Devices {
		most, computes = max(most, t.all.Devices[i].Busy()), computes || t.all.Devices[i].Kernel > 0
	}
	for i := range t.all.Devices {
		d := &t.all.Devices[i]
		onlyCopies := computes && d.Kernel == 0
		if float64(d.Busy()) >= leastWork*float64(most) && d.WindowLength() > 0 && !onlyCopies &&
			(t.d == nil || isMoreStarved(d, t.d)) {
			t.d = d
		}
	}
	if t.d == nil {
		return nil
	}
	for _, p := range run.Facts.Processes {
		t.world = max(t.world, p.World)
	}
	t.ranks = ranks.Compare(run, t.all)
	if s, found := t.findStraggler(); found && t.measureLate() > diagnose.LateWarning {
		t.d = &t.all.Devices[s.Device] // why it is late is what all of them wait for
	}
	t.kernels, t.copies, t.waits = t.all.SumKernels(t.d), t.all.SumCopies(t.d), t.all.Waits(t.d)
	t.readHardware(run)
	t.fillShares(run)
	t.grounds = t.groundsOf(run)
	return t
}

// longKernels is the share of the window in kernels from which, if they outlast a launch, the time in which memory is
// allocated is apart from the host's other time. [J]
const longKernels = 0.5

func isMoreStarved(a, b *idle.Device) bool {
	x, y := a.Share(a.Causes[idle.DataLoader]), b.Share(b.Causes[idle.DataLoader])
	if math.Abs(x-y) > diagnose.StallsDiffer {
		return x > y
	}
	return a.Share(a.Idle) > b.Share(b.Idle)
}

func (t *filler) readHardware(run *recording.Run) {
	t.hip = run.Facts.Software.ROCm != "" || run.Facts.Software.Framework == diagnose.FrameworkHIP
	for _, name := range t.t.Names {
		t.hip = t.hip || strings.HasPrefix(name, "hipLaunch") || strings.HasPrefix(name, "hipMemcpy")
	}
	at := t.t.Devices[t.d.Index].GPU
	if at < 0 || at >= len(run.Facts.GPUs) {
		return
	}
	t.gpu = run.Facts.GPUs[at]
	t.hip = t.hip || strings.HasPrefix(t.gpu.Name, "AMD Instinct")
	if t.hip || strings.Contains(t.gpu.Name, "AMD") {
		return
	}
	if t.chip = chipOf(t.gpu); t.chip.IsKnown() {
		t.major = float64(t.chip.Major)
	}
}

// chipOf is what an NVIDIA device can do: as recorded, else as the table tells.
func chipOf(gpu recording.GPU) (c diagnose.Chip) {
	major, minor, _ := strings.Cut(gpu.Capability, ".")
	var err error
	if c.Major, err = strconv.Atoi(major); err == nil {
		c.Minor, _ = strconv.Atoi(minor) // "8" is 8.0
		return c
	}
	row := measure.MachineOf(&recording.Run{Facts: recording.Facts{GPUs: []recording.GPU{gpu}}}).GPU
	return diagnose.Chip{Major: row.ComputeMajor, Minor: row.ComputeMinor}
}

func (t *filler) fillShares(run *recording.Run) {
	d := t.d
	share := func(causes ...idle.Cause) float64 {
		sum := int64(0)
		for _, c := range causes {
			sum += d.Causes[c]
		}
		return d.Share(sum)
	}
	t.parts = diagnose.Parts{
		Input: share(idle.DataLoader), Long: d.Share(d.Long), Once: d.Share(d.LongOnce),
		Copies:   d.Share(d.Crossing) + share(idle.CopyIssue),
		Exchange: max(0, d.Share(d.Communication-d.Opening)+share(idle.Communication)),
		Unlinked: share(idle.Unlinked),
	}
	if len(run.Facts.Processes) == 1 {
		t.parts.Opening = d.Share(d.Opening)
	}
	host := 0.0
	for c := range idle.Causes {
		if idle.Cause(c).Host() {
			host += share(idle.Cause(c))
		}
	}
	if !d.StartUp { // what happens once is no base of what happens for each launch
		host -= d.Share(d.Causes[idle.WarmUp] - d.LongOnce)
	}
	t.kernel = d.Share(d.Kernel)
	if t.kernel >= longKernels && toSeconds(t.kernels.Median) >= shortKernel { // no launch is what they wait for
		host -= share(idle.Allocator)
		t.parts.Long -= d.Share(d.LongAllocator)
	}
	t.parts.Host = max(0, host-t.parts.Long)
	t.measureRecorder()
}
