package text

import (
	"fmt"
	"strings"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/lanes"
	"github.com/stoker-dev/stoker/report"
)

// causeLetters are letters and colours for the activity of a host thread. The letters differ,
// so that colours are not needed.
var causeLetters = [idle.Causes]struct{ letter, colour string }{
	idle.DataLoader:    {"D", "31"},
	idle.Python:        {"P", "33"},
	idle.HostCode:      {"H", "33"},
	idle.CPUOp:         {"o", "36"},
	idle.Launch:        {"l", "32"},
	idle.CopyIssue:     {"c", "34"},
	idle.Sync:          {"S", "35"},
	idle.Allocator:     {"A", "93"},
	idle.GC:            {"G", "91"},
	idle.Communication: {"X", "95"},
	idle.DeviceWait:    {"W", "94"},
	idle.DeviceLatency: {"y", "92"},
	idle.WarmUp:        {"U", "96"},
	idle.Unlinked:      {"?", "2"},
	idle.Unrecorded:    {"·", "2"},
}

// drawLanes draws the worst step: the activity of the device above that of its launching
// thread.
func (p *page) drawLanes(r report.TraceReport) {
	d := r.JudgedDevice()
	if d == nil {
		return
	}
	const indent = 10
	l := lanes.Of(r.Run, r.Gaps, d, max(10, p.width()-indent))
	if l.Device == nil {
		return
	}
	what := "the whole window"
	if l.Step >= 0 {
		what = fmt.Sprintf("the step with most idle time (number %d)", l.Step)
	}
	p.printWrapped("", "  ", fmt.Sprintf("%s, %.3f to %.3f ms, %s a column", p.makeBold(what), float64(l.From)/1e6,
		float64(l.To)/1e6, report.FormatSpan((l.To-l.From)/int64(len(l.Device)))))
	upper := cells(len(l.Device), func(i int) (string, string) {
		return report.DeviceLetters[l.Device[i]].Letter, report.DeviceLetters[l.Device[i]].Colour
	})
	lower := cells(len(l.Host), func(i int) (string, string) {
		return causeLetters[l.Host[i]].letter, causeLetters[l.Host[i]].colour
	})
	fmt.Fprintf(&p.b, "  device  %s\n  host    %s\n", p.colourCells(upper), p.colourCells(lower))
	p.printWrapped("          ", "          ", p.legend(r, l))
	p.b.WriteString("\n")
}

// cell is one column of a lane.
type cell struct{ letter, colour string }

func cells(n int, of func(i int) (letter, colour string)) []cell {
	out := make([]cell, n)
	for i := range out {
		out[i].letter, out[i].colour = of(i)
	}
	return out
}

// colourCells joins cells; neighbours of the same colour share its code.
func (p *page) colourCells(all []cell) string {
	var b strings.Builder
	for i := 0; i < len(all); {
		run, j := "", i
		for ; j < len(all) && all[j].colour == all[i].colour; j++ {
			run += all[j].letter
		}
		b.WriteString(p.paint(all[i].colour, run))
		i = j
	}
	return b.String()
}

// legend explains the letters that occur.
func (p *page) legend(r report.TraceReport, l *lanes.Lanes) string {
	var parts []string
	seen := map[string]bool{}
	add := func(letter, colour, word string) {
		if !seen[word] {
			seen[word] = true
			parts = append(parts, p.paint(colour, letter)+" "+word)
		}
	}
	for _, on := range l.Device {
		add(report.DeviceLetters[on].Letter, report.DeviceLetters[on].Colour, r.WordFor(on))
	}
	device := strings.Join(parts, ", ")
	parts = nil
	for _, cause := range l.Host {
		add(causeLetters[cause].letter, causeLetters[cause].colour, cause.String())
	}
	return device + ", host: " + strings.Join(parts, ", ")
}
