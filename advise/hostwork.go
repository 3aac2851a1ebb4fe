package advise

import (
	"slices"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
)

const (
	// longerThanDevice is how many times as much core time the launching thread takes for a step as the device
	// works for it, from which the device waits for it on a free machine too. [J]
	longerThanDevice = 1.2
	// mostlyLaunches is the share of the launching thread's work that launching is, from which fewer launches
	// help. [J]
	mostlyLaunches = 0.6
)

// Kinds of lines on which the launching thread waits, or does what the loader's settings decide. On all others
// it works.
var ofWaiting = append([]diagnose.Kind{diagnose.Held, diagnose.DeviceWait, diagnose.Compiling}, diagnose.OfLoader...)

// hostWork proposes less work of the launching thread if other programs have the cores, and the device would wait
// for that thread on a free machine too.
func (a adviser) hostWork() (Fix, string) {
	own := stat.Or(a.costs.LoopCPU, a.costs.LaunchCPU)
	busy := (1 - stat.Or(a.verdict.Idle, 0)) * a.base.Took
	lines := a.verdict.Measured.LoopLines
	named, _ := a.removeFindings()
	if named.Name != "" || a.verdict.Lead != nil || a.verdict.Class != diagnose.Neighbour ||
		!(own > longerThanDevice*busy) || lines.Looks < diagnose.FewLooks {
		return Fix{}, ""
	}
	works := 0.0
	for _, line := range lines.Lines {
		if !slices.Contains(ofWaiting, line.Kind) {
			works += line.Seconds
		}
	}
	first, launches := lines.Launches()
	line, seconds := diagnose.BusiestFunction(lines.Lines, func(line diagnose.LoopLine) bool {
		return line.Own.File != "" && line.Kind != diagnose.Launching && !slices.Contains(ofWaiting, line.Kind)
	})
	fix := Fix{Name: diagnose.SlowTransform, Effort: Code, Risk: NoRisk}
	switch {
	case seconds >= diagnose.NamedLine*works:
		fix.Title, fix.Notes = "make this line cheaper: "+line.String(), []string{line.Kind.Advice()}
		fix.Risk = riskOfLine(line.Kind)
	case launches >= mostlyLaunches*works && first.Own.File != "":
		fix.Title = "launch fewer, larger kernels, mostly from " + first.String()
		fix.Notes = []string{a.verdict.Grounds.FewerLaunches()}
		seconds = launches
	default:
		return Fix{}, ""
	}
	fix.Forecast = a.atMost(a.mostWithout(seconds))
	return fix, ""
}
