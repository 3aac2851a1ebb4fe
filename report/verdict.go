package report

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// MarkEmulated returns a mark that no real device was measured.
func MarkEmulated(is bool) string {
	if is {
		return " [emulated device]"
	}
	return ""
}

// Shorten shortens text to a number of characters.
func Shorten(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}

// AverageGPU returns the means of memory and power over the judged window, or over the whole
// recording without one.
func AverageGPU(run *recording.Run, g recording.GPU, w recording.Window) (memory, power float64) {
	if !(w.End > w.Start) {
		w.End = math.Inf(1)
	}
	mean := func(signal recording.Signal) float64 {
		if series := run.Find(signal, fmt.Sprintf("gpu/%d", g.Index)); series != nil {
			return w.Mean(series)
		}
		return math.NaN()
	}
	return mean(recording.GPUMemory), mean(recording.GPUPower)
}

// LeastIdle is the idle share from which its cost gets a line.
const LeastIdle = 0.005

// DescribeSource says how the stall was measured.
func DescribeSource(s diagnose.Source) string {
	switch s {
	case diagnose.DeviceEvents:
		return " (by the device's own clock)"
	case diagnose.FromTrace:
		return " (from the trace)"
	case diagnose.HostWait:
		return " at most (by the CPU side's wait)"
	case diagnose.Utilisation:
		return " at most (by GPU-Util)"
	case diagnose.KernelCounter:
		return " at most (by the device's counter of kernels)"
	case diagnose.NoSource:
	}
	return ""
}

// FindMedianStep returns the median step time in seconds.
func FindMedianStep(v diagnose.Verdict) float64 { return stat.Median(v.Costs.Window.StepTimes()) }

// ListEvidence returns the lines of evidence of a verdict.
func ListEvidence(v diagnose.Verdict) []string {
	var lines []string
	for _, e := range v.Evidence {
		lines = append(lines, e.Text)
	}
	return lines
}

// ListFindings returns the findings of a verdict as lines.
func ListFindings(v diagnose.Verdict) []string {
	var lines []string
	for _, f := range v.Findings {
		lines = append(lines, f.Name+": "+f.Text)
	}
	return lines
}

// muchIdle is the share of the window in gaps from which what they are worth is said of a device that is the
// limit. [J]
const muchIdle = 0.05

// SayWhatElse says what to do if no fix is proposed.
func SayWhatElse(v diagnose.Verdict) string {
	if v.Class.Is(diagnose.GPUBound) {
		if v.Paced {
			fewer := "fewer launches"
			if v.Grounds.Made.Graphs {
				fewer = "less work of the host before each graph"
			}
			return fmt.Sprintf("%s, and then less work for the device: a faster device alone gains nothing in the "+
				"replay. Without its gaps the same work is done %s as fast at most.", fewer,
				quantity.AboutRatio(1/(1-v.Idle)))
		}
		if gaps := gapsOf(v); gaps >= muchIdle {
			return fmt.Sprintf("less work for the device, or a faster one: it is the limit. Without its gaps the same work is "+
				"done %s as fast at most.", quantity.AboutRatio(1/(1-gaps)))
		}
		return "nothing on the host's side: the device is the limit."
	}
	switch do := v.Do(); {
	case do == "":
	case v.Class == diagnose.StartUp || v.Class == diagnose.Unknown: // recording again alone gains nothing
		return do + "."
	default:
		return do + " (how much that gains is unknown here)."
	}
	return "no change here has a measurable gain."
}

// gapsOf returns the share of the time in which a device has work and does none; NaN if unknown. A server's has none
// without requests.
func gapsOf(v diagnose.Verdict) float64 {
	switch asked := 1 - v.Measured.Parts.Unasked; {
	case v.Device >= 0:
		return v.Idle
	case v.Measured.Requests.Known() && asked > 0:
		return max(0, v.Idle-v.Measured.Parts.Unasked) / asked
	}
	return math.NaN()
}

// DescribeGain describes the gain of a fix.
func DescribeGain(f advise.Fix) string {
	gain := f.Worth()
	if !f.Forecast.Speedup.Known() {
		return gain
	}
	if f.Forecast.Step.Known() {
		gain += fmt.Sprintf(", step %s", quantity.AboutSeconds(f.Forecast.Step.Point))
	}
	if f.Forecast.Throughput.Known() {
		gain += ", " + quantity.AboutSamples(f.Forecast.Throughput.Point)
	}
	if r := f.Run; r.Point > 0 {
		gain += fmt.Sprintf(", the run %s", quantity.AboutRatio(r.Point))
	} else if r.High > 0 {
		gain += fmt.Sprintf(", the run at most %s", quantity.AboutRatio(r.High))
	}
	if f.Forecast.Bound != "" {
		gain += ", then " + DescribeLimit(f.Forecast.Bound)
	}
	return gain
}

// DescribeLimit names a resource as the limit in a sentence.
func DescribeLimit(r stoker.Resource) string {
	switch r {
	case stoker.CPU:
		return "the CPU cores are the limit"
	case stoker.Worker:
		return "the workers are the limit"
	case stoker.GPU:
		return "the device is the limit"
	case stoker.Loop:
		return "the program's loop is the limit"
	case stoker.Waiting:
		return "what loading waits for (a timer, a lock, an answer) is the limit"
	case stoker.MainThread:
		return "the launching thread is the limit"
	case stoker.Storage:
		return "storage is the limit"
	case stoker.Link:
		return "the host link is the limit"
	case stoker.Network:
		return "the exchange between ranks is the limit"
	}
	return string(r) + " is the limit"
}
