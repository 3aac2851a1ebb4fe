//go:build linux

package observe

import (
	"strconv"
	"strings"
	"time"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/observe/cpu"
	"github.com/stoker-dev/stoker/observe/gpu"
	"github.com/stoker-dev/stoker/recording"
)

// hearGPU records what the probe saw.
func (r *recorder) hearGPU(news GPUNews) {
	if news.Err != nil {
		r.noteAbsence("gpu", news.Err.Error())
		return
	}
	r.noteAbsence("gpu", "")
	r.lacking = nil
	for _, text := range news.Absent {
		what, why, _ := strings.Cut(text, ": ")
		r.lacking = append(r.lacking, recording.Absence{What: "gpu: " + what, Why: why})
	}
	r.gpuFacts(news.Facts)
	now, device := r.clock.at(news.At), map[int][]int{}
	for _, reading := range news.Readings {
		r.sampleGPU(reading, now, news.At)
		for _, pid := range reading.Processes {
			device[int(pid)] = append(device[int(pid)], reading.Index)
		}
	}
	if r.job != nil {
		r.job.Devices(device)
	}
}

// sampleGPU records what was read at a time of the recording, which is at on the wall.
// The wall's clock may jump; a sample's age does not.
func (r *recorder) sampleGPU(reading gpu.Reading, now float64, at time.Time) {
	subject := "gpu/" + strconv.Itoa(reading.Index)
	for _, u := range reading.Utilisation {
		if t := now - at.Round(0).Sub(u.At.Round(0)).Seconds(); t >= 0 && t <= now+1 {
			r.out.AddSample(recording.GPUUtilisation, subject, t, u.Ratio)
		}
	}
	r.out.AddSample(recording.GPUMemory, subject, now, reading.MemoryUsedBytes)
	r.out.AddSample(recording.GPUPower, subject, now, reading.PowerWatts)
	r.out.AddSample(recording.GPUClock, subject, now, reading.SMClockMHz)
	r.out.AddSample(recording.GPULinkGen, subject, now, reading.LinkGeneration)
	r.out.AddSample(recording.GPULinkWidth, subject, now, reading.LinkWidth)
	r.out.AddSample(recording.GPUActive, subject, now, reading.Active)
	r.out.AddSample(recording.GPUKernels, subject, now, reading.Kernels)
	r.out.AddSample(recording.GPULinkIn, subject, now, reading.LinkIn)
	r.out.AddSample(recording.GPULinkOut, subject, now, reading.LinkOut)
	if reading.SlowedKnown {
		r.out.AddSample(recording.GPUSlowed, subject, now, float64(reading.Slowed))
	}
	r.sampleStrangers(reading, subject, now)
}

// sampleStrangers records what processes outside the job do with a device, where its list
// of processes holds one of the job's: in a container it may be of another PID namespace.
func (r *recorder) sampleStrangers(reading gpu.Reading, subject string, now float64) {
	if r.job == nil {
		return
	}
	strangers, share := 0, 0.0
	for _, pid := range reading.Processes {
		if !r.job.Has(int(pid)) {
			strangers++
			share += reading.Shares[pid]
		}
	}
	if strangers == len(reading.Processes) {
		return
	}
	r.out.AddSample(recording.GPUStrangers, subject, now, float64(strangers))
	if reading.Shares != nil {
		r.out.AddSample(recording.GPUOthers, subject, now, min(1, share))
	}
}

func (r *recorder) gpuFacts(f gpu.Facts) {
	r.facts.Software.Driver = f.Driver
	if f.CUDA != "" && r.facts.Software.CUDA == "" {
		r.facts.Software.CUDA = f.CUDA
	}
	gpus := make([]recording.GPU, 0, len(f.Devices))
	for _, d := range f.Devices {
		g := recording.GPU{
			Index: d.Index, Name: d.Name, UUID: d.UUID, Emulated: d.Emulated,
			MemoryBytes: stat.Known(d.MemoryBytes), PowerLimit: stat.Known(d.PowerLimitWatts),
			MaxClock: stat.Known(d.MaxSMClockMHz),
			LinkGen:  d.LinkGeneration, LinkWidth: d.LinkWidth, MIG: d.MIG,
		}
		if d.Node >= 0 {
			g.Node = &d.Node
		}
		gpus = append(gpus, g)
	}
	r.facts.GPUs = gpus
}

// gpuIndex translates CUDA's number of a device in a process into the driver's:
// CUDA counts only those in CUDA_VISIBLE_DEVICES.
func (r *recorder) gpuIndex(pid, cuda int) int {
	visible, known := r.visible[pid]
	if !known {
		values, err := cpu.Environment("/proc", pid)
		if err == nil && values["CUDA_VISIBLE_DEVICES"] != "" {
			visible = strings.Split(values["CUDA_VISIBLE_DEVICES"], ",")
		}
		r.visible[pid] = visible
	}
	if cuda >= len(visible) {
		return cuda
	}
	name := strings.TrimSpace(visible[cuda])
	if index, err := strconv.Atoi(name); err == nil && index >= 0 {
		return index
	}
	for _, g := range r.facts.GPUs {
		if name != "" && strings.HasPrefix(g.UUID, name) {
			return g.Index
		}
	}
	return cuda
}
