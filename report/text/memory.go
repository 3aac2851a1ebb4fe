package text

import (
	"fmt"

	"github.com/stoker-dev/stoker/report"
)

// writeMemory says what lay in the judged device's memory, and how that went over the window.
func (p *page) writeMemory(r report.TraceReport) {
	u, known := report.FindMemory(r)
	if !known {
		return
	}
	s := report.ListMemory(r)
	p.listed(s)
	curve := ""
	for _, bytes := range u.Curve {
		curve += drawLevel(float64(bytes) / float64(max(1, u.Peak)))
	}
	fmt.Fprintf(&p.b, "  over the window  %s\n", curve)
	for _, line := range s.Lines {
		p.wrapped("  ", "  ", line)
	}
	p.b.WriteString("\n")
}

// drawLevel draws a share of a row's height; a dot where nothing is known.
func drawLevel(share float64) string {
	if share < 0 {
		return "·"
	}
	levels := []rune("▁▂▃▄▅▆▇█")
	return string(levels[max(0, min(len(levels)-1, int(share*float64(len(levels)))))])
}
