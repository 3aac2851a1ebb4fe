package report

import (
	"fmt"
	"math"
	"path"
	"strings"
	"time"

	"github.com/stoker-dev/stoker/quantity"
)

// Runs lists the jobs of a folder of recordings, with their losses.
type Runs struct {
	Folder     string
	Recordings int // number of readable ones
	Jobs       []Job
	Months     []Month // oldest first
	Notes      []string
}

// Job is a job as described by one or several recordings. NaN means unknown.
type Job struct {
	Files    []string
	Started  float64 // Unix time
	Command  string
	Hosts    []string
	Ranks    int     // number of recorded ranks
	Seconds  float64 // from the first start to the last end
	Class    string  // of the recording with the greatest loss
	Stall    float64
	Rate     float64 // samples per second of all ranks
	GPUHours float64
	Idle     float64 // idle GPU hours
	Lost     float64 // cost of idle time in dollars
	Fix      string  // the best fix; "" if nothing is advised
	Speedup  float64 // by that fix
	AtMost   float64 // its upper bound
	Ended    string  // how it failed, "exit code 1 after 2.6 s: KeyError at train.py:4"; else ""
	Emulated bool    // Lost is that of a real device
}

// Month is the sum over the jobs that started in a month.
type Month struct {
	Name           string // "2026-11", "unknown"
	Jobs           int
	GPUHours, Idle float64
	Lost           float64 // of jobs with a known price
	Priced         int     // number of jobs with a known price
}

// Date returns when the job started; "unknown" if unknown.
func (j Job) Date() string {
	if !(j.Started > 0) {
		return "unknown"
	}
	return time.Unix(int64(j.Started), 0).UTC().Format("2006-01-02 15:04")
}

// StartMonth returns the month in which the job started, "2026-11".
func (j Job) StartMonth() string {
	if !(j.Started > 0) {
		return "unknown"
	}
	return j.Date()[:len("2006-01")]
}

// Add adds a job.
func (m *Month) Add(j Job) {
	m.Jobs, m.GPUHours, m.Idle = m.Jobs+1, m.GPUHours+j.GPUHours, m.Idle+j.Idle
	if !math.IsNaN(j.Lost) {
		m.Lost, m.Priced = m.Lost+j.Lost, m.Priced+1
	}
}

// Outlook returns the best fix, and how the job ended if it failed.
func (j Job) Outlook() string {
	if j.Ended == "" {
		return j.BestFix()
	}
	return strings.TrimPrefix(j.BestFix()+", ended with "+j.Ended, ", ")
}

// BestFix returns the best fix with its gain.
func (j Job) BestFix() string {
	if j.Fix == "" {
		return ""
	}
	return j.Fix + ": " + j.bestGain()
}

func (j Job) bestGain() string {
	switch {
	case math.IsNaN(j.AtMost):
		return "worth unknown"
	case math.IsNaN(j.Speedup):
		return "at most " + quantity.AboutRatio(j.AtMost)
	}
	return quantity.AboutRatio(j.Speedup)
}

// FormatLost inserts the loss of a month into a format.
func (m Month) FormatLost(format string) string {
	if m.Priced == 0 {
		return fmt.Sprintf(format, "unknown")
	}
	return fmt.Sprintf(format, quantity.AboutDollars(m.Lost))
}

// Host returns the machine of the job, or the first of several.
func (j Job) Host() string {
	switch len(j.Hosts) {
	case 0:
		return "unknown"
	case 1:
		return j.Hosts[0]
	}
	return fmt.Sprintf("%s and %d more", j.Hosts[0], len(j.Hosts)-1)
}

// Name identifies a job: its command without the interpreter and without folders of files, or
// else its first recording.
func (j Job) Name() string {
	words := strings.Fields(j.Command)
	if len(words) > 1 && strings.HasPrefix(path.Base(words[0]), "python") {
		words = words[1:]
	}
	for i, word := range words {
		if strings.HasPrefix(word, "/") {
			words[i] = path.Base(word)
		}
	}
	if len(words) == 0 && len(j.Files) > 0 {
		words = []string{path.Base(j.Files[0])}
	}
	return strings.Join(words, " ")
}
