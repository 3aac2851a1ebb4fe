package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// Start values of growth. [J] Caches fill and stop; what goes on for a minute in each
// third of the window by about as much does not.
const (
	growthSpan  = 60.0
	growthLeast = 256e6 // bytes
	growthLasts = 24 * 3600.0
)

// memoryGrowth tells of memory that grows all the time, and when it will be used up.
func (l live) memoryGrowth() (Finding, bool) {
	rate := grows(l.run.Find(recording.TreeMemory, "tree").Between(l.From, l.To))
	left := l.run.Find(recording.MachineMemory, "machine").Between(l.From, l.To)
	if !(rate > 0) || len(left.V) == 0 {
		return Finding{}, false
	}
	lasts := left.Last() / rate
	if lasts > growthLasts {
		return Finding{}, false
	}
	who := "the launching process, mostly"
	if trainer := grows(l.run.Find(recording.ProcessMemory, fmt.Sprintf("process/%d", l.Costs.Window.PID)).Between(l.From, l.To)); !(trainer >= rate/2) {
		who = "the worker processes, mostly: Python objects in a data set (lists, dictionaries) are copied when they are read; NumPy arrays and Arrow tables are not"
	}
	f := said("memory-growth", fmt.Sprintf("the job's memory keeps growing, by %s an hour (%s): at this rate the %s that are left are used up in %s",
		stoker.AboutBytes(rate*3600), who, stoker.AboutBytes(left.Last()), stoker.AboutSeconds(lasts)))
	f.From, f.To = l.From, l.To
	return f, true
}

// grows is the rate of a gauge that grows in each third of its span by about as much;
// NaN for all else.
func grows(s recording.Series) float64 {
	n := len(s.V)
	if n < 12 || s.T[n-1]-s.T[0] < growthSpan || s.V[n-1]-s.V[0] < growthLeast {
		return math.NaN()
	}
	var rates []float64
	for i := range 3 {
		from, to := i*(n-1)/3, (i+1)*(n-1)/3
		rates = append(rates, (s.V[to]-s.V[from])/(s.T[to]-s.T[from]))
	}
	if least := slices.Min(rates); least < 0.5*stat.Mean(rates) {
		return math.NaN()
	}
	return rates[2] // the present
}

// shortMemory tells of tasks that wait for memory where loading mostly waits for something
// else, so that it is not the class.
func (l live) shortMemory() (Finding, bool) {
	if l.Pressed.Score < 0.5 || l.Storage.Score >= 0.5 || len(l.Pressed.Seen) == 0 {
		return Finding{}, false
	}
	var why []string
	for _, e := range l.Pressed.Seen {
		why = append(why, e.Text)
	}
	return said("memory-pressure", strings.Join(why, "; ")+". Where the job's control group has no measure of its own this is of the machine"), true
}
