package diagnose

import (
	"fmt"

	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/quantity"
)

// Staging says what becomes of pageable memory on its way to the device. The words given are for
// a device behind PCIe.
func (g Grounds) Staging(words string) string {
	switch g.Reach {
	case hardware.Coherent:
		return "the device reads it over NVLink-C2C by itself, nearly as fast as page-locked memory"
	case hardware.OneMemory:
		return "it crosses no link, as host and device have one memory, but the driver stages it in there, and the " +
			"launching thread waits"
	case hardware.Staged:
	}
	return words
}

// PinAdvice is what to do about copies from pageable memory.
func (g Grounds) PinAdvice() string {
	if !g.hasLoader() {
		return "tensor.pin_memory(), once for a buffer that is used again, and .to(device, non_blocking=True). " +
			"DataLoader(..., pin_memory=True) does it for batches" + g.pinGain()
	}
	return pinAdvice + g.pinGain()
}

// hasLoader reports whether a data loader is known.
func (g Grounds) hasLoader() bool { return g.Loads || g.Loader != nil }

// pinGain is what page-locked memory brings where the device does not lie behind PCIe.
func (g Grounds) pinGain() string {
	switch g.Reach {
	case hardware.Coherent:
		return ". Over NVLink-C2C the copy itself gains a few per cent. What is won is that the launching thread need " +
			"not wait"
	case hardware.OneMemory:
		return ". Host and device have one memory, so page-locked batches take of the device's as well"
	case hardware.Staged:
	}
	return ""
}

// fewerBytes is what to do about copies on a machine where pinning is not the first thing.
func (g Grounds) fewerBytes() string {
	switch g.Reach {
	case hardware.Coherent:
		return "fewer bytes (uint8, and normalising on the device), copied with .to(device, non_blocking=True) on a " +
			"stream of their own. pin_memory=True gains little in the copy: the device reads pageable memory over " +
			"NVLink-C2C nearly as fast"
	case hardware.OneMemory:
		return "fewer bytes (uint8, and normalising on the device): host and device have one memory, and a copy " +
			"reads and writes it. From pageable memory the driver stages it there as well, which " +
			"pin_memory=True with .to(device, non_blocking=True) avoids"
	case hardware.Staged:
	}
	return ""
}

// Traffic is what a trace shows of the copies between host and device.
type Traffic struct {
	Back   bool // most of the time goes to the host
	Pinned bool // those to the device come from page-locked memory already
	Full   bool // they take what the link can do
	Few    int  // how many there are in all, if they are so few that none follows another; else 0
	Alone  bool // they take nearly all of the time: next to nothing could run beside them
	Read   bool // the host reads results behind its waits: from shared memory, or a copy to the host for each wait
}

// adviseOnTraffic is what to do about copies that a trace shows; "" if pinning comes first.
func (g Grounds) adviseOnTraffic() string {
	if g.Framework == FrameworkHIP {
		return hipWords.Replace(g.adviseOnCopies())
	}
	return g.adviseOnCopies()
}

func (g Grounds) adviseOnCopies() string {
	cuda := IsBare(g.Framework)
	switch t := g.Traffic; {
	case t.Back && cuda:
		return "copy less back to the host: keep results on the device, and copy what the host needs by cudaMemcpyAsync " +
			"into page-locked memory while the next kernel runs"
	case t.Back && g.Framework == "":
		return `copy less back to the host: keep results on the device, and fetch them every so many steps, by ` +
			`.to("cpu", non_blocking=True)`
	case t.Back:
		return "copy less back to the host: keep results on the device, and fetch them every so many steps"
	case t.Full && cuda:
		return "send fewer bytes: narrower types, or compressed data that a kernel unpacks. The copies take all that the " +
			"link can do"
	case t.Alone && cuda:
		return "leave the data on the device between kernels, and copy from page-locked memory (cudaMallocHost): copies " +
			"take nearly all of the time, and next to nothing could run beside them"
	case t.Few > 0 && cuda:
		return fmt.Sprintf("copy from page-locked memory (cudaMallocHost, or cudaHostRegister for a buffer that is there), "+
			"and send fewer bytes. The file holds %d cop%s in all: there is no next one to copy meanwhile", t.Few,
			quantity.Ending(t.Few, "y", "ies"))
	case t.Full && !g.hasLoader():
		return "send fewer bytes: narrower types, or the data kept on the device. The copies take all that the link can do"
	case t.Full:
		return "send fewer bytes: images as uint8 that the device normalises, or the data kept on the device. The copies " +
			"take all that the link can do"
	case t.Pinned && g.Framework == "" && !g.hasLoader():
		return "copy the next data on a stream of their own while these are computed, and send fewer bytes: the copies " +
			"come from page-locked memory already"
	case t.Pinned && g.Framework == "":
		return "copy the next batch on a stream of its own while this one is computed, and send fewer bytes: the copies " +
			"come from page-locked memory already"
	}
	return ""
}
