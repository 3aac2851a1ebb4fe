package rules

import (
	"github.com/stoker-dev/stoker/diagnose"
)

var cpuBound = Rule{
	Class: diagnose.CPUBound,
	Title: "The program's own work on the host is the limit",
	Text: "In long stretches the thread that launches, or one that it waits for, does something else: " +
		"preprocessing outside a loader, a simulator, logging, evaluation on the host. The device waits meanwhile.",
	Limits: "Loading that no loader's span marks looks the same, and a stack names the line.",
	check: func(c *inquiry) float64 {
		if c.SamplerDraws.CanBeAsked() {
			draws := c.yes(c.SamplerDraws)
			starved := c.yes(c.InputShort)
			c.because(c.SamplerDraws.Evidence, c.InputShort.Evidence)
			return draws * starved * c.inputLeads()
		}
		if c.OwnCodeDelaysDevice.CanBeAsked() {
			starved := c.InputShort
			if !c.HasSteps {
				starved = starved.AskedAs("Is the device idle (by "+c.NameMeter()+")?", "")
			}
			idle := c.yes(starved)
			disk := c.yes(c.LoadingWaitsForStorage)
			own := c.yes(c.OwnCodeDelaysDevice)
			c.because(c.OwnCodeDelaysDevice.Evidence)
			return 0.9 * idle * (1 - disk) * own * c.scoreUse()
		}
		much := c.yes(c.DeviceWaitsInLongGaps)
		c.because(c.DeviceWaitsInLongGaps.Evidence)
		if 2*c.Parts.Once > c.Parts.Long {
			c.yes(diagnose.AskFact("Is that work of the program's own?", false,
				"contexts, modules and first calls take most of it, which happens once"))
			return 0
		}
		return much * c.weighLead(c.Parts.Long) * c.besideInput(c.Parts.Long)
	},
}

// heldTitle and heldText are said of steps that wait for the device, where nothing else is the limit.
const (
	heldTitle = "Each step waits for the device, which then idles"
	heldText  = "The thread that launches waits until the device has done all that it was given. Nothing is queued then, and " +
		"whatever the host does next, as taking the next batch over, keeps the device waiting."
	ranksTitle = "Ranks wait for each other in a call of the program's own"
	ranksText  = "A rank that exchanges a value waits there until all others have come to the same call. The device of each " +
		"has nothing to do meanwhile."
	restartsTitle = "Processes start again and again"
	restartsText  = "Each of them imports PyTorch and loads the model before it computes anything. The device, and whoever asks, " +
		"wait for that."
	drawsTitle = "The sampler draws indices in the launching thread"
	drawsText  = "A DataLoader asks its sampler for the indices of the next batch in the thread that trains. While it draws " +
		"them, workers and device wait."
	lockedTitle = "Other threads of the trainer hold Python's interpreter lock"
	lockedText  = "One thread of a process at a time runs Python. While another one does, the thread that launches waits for the " +
		"lock, and the device for that thread."
)

// Words of a profiler's file, which shows what the host does in its gaps, or that nothing of it was recorded.
const (
	stretchesText = "In long stretches the thread that launches, or one that it waits for, does something else, and the " +
		"device waits meanwhile."
	onceStretchText = "In one long stretch the thread that launches, or one that it waits for, does something else, and " +
		"the device waits meanwhile."
	silentTitle = "The device waits for the host, and the file does not tell what the host does"
	silentText  = "In long stretches the thread that launches makes no call that was recorded: it may compute, wait or " +
		"sleep."
	waitsTitle = "The host waits inside calls, and the device idles"
	waitsText  = "In long stretches the thread that launches is inside calls that wait for something else than this " +
		"device."
	keepTitle = "Memory of the device is allocated and freed, and the device waits"
	keepText  = "The thread that launches allocates or frees memory of the device, which waits meanwhile."
)

// stretchText is the text of a verdict from a profiler's file.
func stretchText(w diagnose.HostWork) string {
	switch {
	case w.Keeps:
		return keepText
	case w.Waits:
		return waitsText
	case w.Silent:
		return silentText
	case w.Once:
		return onceStretchText
	}
	return stretchesText
}
