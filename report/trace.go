package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/lanes"
	"github.com/stoker-dev/stoker/diagnose/operators"
	"github.com/stoker-dev/stoker/diagnose/ranks"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// RooflineCeilings returns the lines of the trace's roofline; nil if it has none.
func (r TraceReport) RooflineCeilings() *operators.Ceilings {
	d := r.JudgedDevice()
	if d == nil || r.Roofline == nil {
		return nil
	}
	return r.Roofline.FindCeilings(r.Gaps, d, r.Verdict.Stall)
}

// TraceReport is everything that is displayed about a run that was read from a profiler's
// files.
type TraceReport struct {
	Run       *recording.Run
	Verdict   diagnose.Verdict
	Plan      advise.Plan
	Gaps      *idle.Analysis
	Operators *operators.Table
	Roofline  *operators.Roofline
	Ranks     *ranks.Table // nil for one rank
	Source    TraceSource
	Top       int                // kernels to show; 0 for all
	Within    operators.Grouping // how kernels are grouped
	All       bool               // also show findings of less than a hundredth of the window
}

// TraceSource says what was read.
type TraceSource struct {
	Files   []string
	Bytes   int64   // size of the files on disk
	Events  int     // kept and skipped
	Seconds float64 // time for reading and judging; 0 is not shown
}

// JudgedDevice returns the judged device; nil if no device worked.
func (r TraceReport) JudgedDevice() *idle.Device {
	var best *idle.Device
	for i := range r.Gaps.Devices {
		d := &r.Gaps.Devices[i]
		same := math.Abs(d.Share(d.Idle)-r.Verdict.Shares.Idle) < 1e-9 &&
			math.Abs(d.Share(d.Kernel)-r.Verdict.Shares.Kernel) < 1e-9
		if best == nil || same {
			best = d
		}
		if same {
			break
		}
	}
	return best
}

// WordFor returns the word for an activity of the judged device: what are no kernels may be copies or fills.
func (r TraceReport) WordFor(on lanes.Activity) string {
	if d := r.JudgedDevice(); on == lanes.Copy && d != nil && d.Fills {
		return "fill alone"
	}
	return DeviceLetters[on].Word
}

// Name returns a name of the trace by its index.
func (r TraceReport) Name(index int32) string { return r.Run.Timeline.Names[index] }

// FormatLength prints how long the profiler recorded.
func (r TraceReport) FormatLength() string {
	return FormatSpan(r.Run.Timeline.End - r.Run.Timeline.Start)
}

// DescribeFiles says how much was read, and how fast.
func DescribeFiles(s TraceSource) string {
	text := quantity.Many(s.Events, "event")
	if len(s.Files) == 1 {
		text = ShortenPlace(s.Files[0], 60) + ", " + text
	} else {
		text = fmt.Sprintf("%d files, %s", len(s.Files), text)
	}
	text += ", " + quantity.AboutBytes(float64(s.Bytes))
	if s.Seconds > 0 {
		text += fmt.Sprintf(", read and judged in %s", quantity.AboutSeconds(s.Seconds))
	}
	return text
}

// FormatSpan prints nanoseconds as a time.
func FormatSpan(ns int64) string { return quantity.AboutSeconds(float64(ns) / 1e9) }

// OrUnknown returns a text, or "unknown" for an empty one.
func OrUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// DeviceLetters holds letters and colours for the activity of a device. The letters differ, so
// that colours are not needed.
var DeviceLetters = [...]struct{ Letter, Colour, Word string }{
	lanes.Idle:          {"·", "2", "idle"},
	lanes.Kernel:        {"█", "32", "kernel"},
	lanes.Copy:          {"▒", "33", "copy alone"},
	lanes.Communication: {"▓", "35", "communication alone"},
}

// DescribePlace describes the place of a finding: times in the trace, the source line, the
// thread, the kernel.
func DescribePlace(f diagnose.Finding) string {
	var parts []string
	if f.To > f.From {
		parts = append(parts, fmt.Sprintf("%.3f to %.3f ms", 1e3*f.From, 1e3*f.To))
	}
	if f.Source != "" {
		parts = append(parts, ShortenPlace(f.Source, 120))
	}
	if f.Thread != "" {
		parts = append(parts, "thread "+Shorten(strings.TrimPrefix(strings.TrimPrefix(f.Thread, "thread "), "Thread "), 60))
	}
	if f.Kernel != "" {
		parts = append(parts, Shorten(f.Kernel, 100))
	}
	return strings.Join(parts, ", ")
}
