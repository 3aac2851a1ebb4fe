package text

import (
	"fmt"

	"github.com/stoker-dev/stoker/report"
)

// writeMemory prints the contents of the judged device's memory, and its use over the window.
func (p *page) writeMemory(r report.TraceReport) {
	u, known := report.FindMemory(r)
	if !known {
		return
	}
	s := report.ListMemory(r)
	p.printList(s)
	curve := ""
	for _, bytes := range u.Curve {
		curve += drawLevel(float64(bytes) / float64(max(1, u.Peak)))
	}
	fmt.Fprintf(&p.b, "  over the window  %s\n", curve)
	for _, line := range s.Lines {
		p.printWrapped("  ", "  ", line)
	}
	p.b.WriteString("\n")
}

// drawLevel draws a share as the height of a character; a dot if unknown.
func drawLevel(share float64) string {
	if share < 0 {
		return "·"
	}
	levels := []rune("▁▂▃▄▅▆▇█")
	return string(levels[max(0, min(len(levels)-1, int(share*float64(len(levels)))))])
}
