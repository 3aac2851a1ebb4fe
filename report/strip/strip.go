// Package strip cuts a run into columns of time, with one row for each quantity that a screen
// or a page shows over time. It computes means and shares, and draws nothing.
package strip

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Track is one row: a value for each column, NaN if unknown.
type Track struct {
	Name    string
	Unit    string // "share", "samples/s", "B", "B/s", "W", "cores"
	Kind    Kind
	Subject string  // of the series: "gpu/0", "worker 4711"; "" for the whole job
	Most    float64 // the value of a full row
	Limited bool    // Most is a limit, not the largest value
	Values  []float64
	States  []string // for a thread: its main state in each column, "" if unknown; nil for other rows
}

// Kind says what a row shows, for its colour and position.
type Kind string

// The kinds of rows.
const (
	Waiting    Kind = "input" // the device, or the loop, is short of input
	Throughput Kind = "kernel"
	Busy       Kind = "busy"
	Memory     Kind = "memory"
	Power      Kind = "power"
	JobCores   Kind = "cpu"
	Others     Kind = "others"
	Disk       Kind = "copy"
	Network    Kind = "exchange"
	Thread     Kind = "states"
)

// rows is the greatest number of ranks, devices, and threads with separate rows.
const rows = 16

// Cut divides the interval [from, to] of a run into columns.
func Cut(run *recording.Run, from, to float64, columns int) []Track {
	if !(to > from) || columns < 1 {
		return nil
	}
	c := &cutter{run: run, from: from, to: to, columns: columns}
	c.steps()
	c.devices()
	c.cores()
	c.threads()
	return c.tracks
}

// cutter cuts one run.
type cutter struct {
	run      *recording.Run
	from, to float64
	columns  int
	tracks   []Track
}

// at returns the start of a column.
func (c *cutter) at(i int) float64 { return c.from + (c.to-c.from)*float64(i)/float64(c.columns) }

// columnAt returns the column of a time.
func (c *cutter) columnAt(t float64) int {
	return min(c.columns-1, max(0, int(float64(c.columns)*(t-c.from)/(c.to-c.from))))
}

// each computes a value for each column.
func (c *cutter) each(of func(from, to float64) float64) []float64 {
	values := make([]float64, c.columns)
	for i := range values {
		values[i] = of(c.at(i), c.at(i+1))
	}
	return values
}

// addTrack adds a row; Most defaults to the largest value. It drops a row without known values.
// It also drops memory and power that are always 0, as for an emulated device, and the use of a
// device by others if they do not use it.
func (c *cutter) addTrack(t Track) {
	largest := -1.0
	for _, v := range t.Values {
		largest = max(largest, stat.Or(v, -1))
	}
	if largest < 0 || largest == 0 && (t.Kind == Memory || t.Kind == Power || t.Kind == Others && t.Subject != "") {
		return
	}
	if t.Limited = t.Most > 0; !t.Limited {
		t.Most = largest
	}
	c.tracks = append(c.tracks, t)
}

// sums holds the sums over the steps in each column.
type sums struct{ wait, time, samples []float64 }

// sumsOf distributes steps over the columns that they cover.
func (c *cutter) sumsOf(steps []recording.Step) sums {
	s := sums{make([]float64, c.columns), make([]float64, c.columns), make([]float64, c.columns)}
	width := (c.to - c.from) / float64(c.columns)
	for _, step := range steps {
		wait, long := stat.Or(step.Idle, step.Wait), step.Period
		if !(long > 0) || math.IsNaN(wait) || step.Start >= c.to || step.Start+long <= c.from {
			continue
		}
		for i := c.columnAt(step.Start); i <= c.columnAt(step.Start+long); i++ {
			part := (min(step.Start+long, c.at(i+1)) - max(step.Start, c.at(i))) / long
			if part <= 0 {
				continue
			}
			s.wait[i] += part * min(wait, long)
			s.time[i] += part * long
			s.samples[i] += part * step.Samples / width
		}
	}
	return s
}

// steps adds the waiting time of each rank, and the throughput of all ranks.
func (c *cutter) steps() {
	ranks := map[int][]recording.Step{}
	for _, step := range c.run.Steps {
		if step.Start < c.to && !(step.Start+step.Period <= c.from) {
			ranks[step.Rank] = append(ranks[step.Rank], step)
		} else if _, seen := ranks[step.Rank]; !seen {
			ranks[step.Rank] = nil
		}
	}
	var order []int
	for rank := range ranks {
		order = append(order, rank)
	}
	sort.Ints(order)
	all := make([]float64, c.columns)
	for i, rank := range order {
		sum := c.sumsOf(ranks[rank])
		waits := make([]float64, c.columns)
		for k := range waits {
			waits[k] = math.NaN()
			if sum.time[k] > 0 {
				waits[k] = min(1, sum.wait[k]/sum.time[k])
			}
			all[k] += sum.samples[k]
		}
		name := "waiting for input"
		if len(order) > 1 {
			name = fmt.Sprintf("rank %d waits", rank)
		}
		if i < rows {
			c.addTrack(Track{Name: name, Unit: "share", Kind: Waiting, Most: 1, Values: waits})
		}
	}
	if len(order) > 0 {
		c.addTrack(Track{Name: "throughput", Unit: "samples/s", Kind: Throughput, Values: all})
	}
}

// devices adds rows for each GPU.
func (c *cutter) devices() {
	for i, g := range c.run.Facts.GPUs {
		if i == rows {
			break
		}
		subject := fmt.Sprintf("gpu/%d", g.Index)
		add := func(what, unit string, kind Kind, series *recording.Series, most float64) {
			c.addTrack(Track{
				Name: fmt.Sprintf("GPU %d %s", g.Index, what), Unit: unit, Kind: kind, Subject: subject, Most: most,
				Values: c.each(func(from, to float64) float64 { return held(series, from, to) }),
			})
		}
		add("busy", "share", Busy, c.run.KernelSeries(subject), 1)
		add("others", "share", Others, c.run.Find(recording.GPUOthers, subject), 1)
		add("memory", "B", Memory, c.run.Find(recording.GPUMemory, subject), knownNumber(g.MemoryBytes))
		add("power", "W", Power, c.run.Find(recording.GPUPower, subject), knownNumber(g.PowerLimit))
	}
}

// knownNumber returns a fact, or 0 if it is unknown.
func knownNumber(fact *float64) float64 {
	if fact == nil {
		return 0
	}
	return *fact
}

// held returns the mean in an interval or, without a sample in it, the sample before.
func held(series *recording.Series, from, to float64) float64 {
	if v := series.Mean(from, to); !math.IsNaN(v) {
		return v
	}
	if series == nil {
		return math.NaN()
	}
	i := sort.SearchFloat64s(series.T, from)
	if i == 0 || i == len(series.T) {
		return math.NaN() // before the first or after the last
	}
	return series.V[i-1]
}

// growth returns the growth of a counter per second in an interval, from the samples around it.
func growth(series *recording.Series, from, to float64) float64 {
	if series == nil {
		return math.NaN()
	}
	i, k := sort.SearchFloat64s(series.T, from), sort.SearchFloat64s(series.T, to)
	i = max(0, i-1)
	if k >= len(series.T) || k <= i || !(series.T[k] > series.T[i]) {
		return math.NaN()
	}
	return max(0, (series.V[k]-series.V[i])/(series.T[k]-series.T[i]))
}

// cores adds the use of cores, disks and networks.
func (c *cutter) cores() {
	rates := func(signal recording.Signal, subject string) []float64 {
		series := c.run.Find(signal, subject)
		return c.each(func(from, to float64) float64 { return growth(series, from, to) })
	}
	cores := c.run.Facts.Machine.Cores()
	job, all := rates(recording.TreeCPU, "tree"), rates(recording.MachineCPU, "machine")
	c.addTrack(Track{Name: "cores of the job", Unit: "cores", Kind: JobCores, Most: cores, Values: job})
	for i := range all {
		all[i] = max(0, all[i]-job[i])
	}
	c.addTrack(Track{Name: "cores of others", Unit: "cores", Kind: Others, Most: cores, Values: all})
	c.addCounters(Disk, "read from %s", recording.DiskRead, "B/s",
		func(string) float64 { return c.run.Facts.Machine.DiskLimit })
	c.addCounters(Disk, "%s at work", recording.DiskBusy, "share", func(string) float64 { return 1 })
	speed := func(subject string) float64 { return c.run.Facts.Machine.NetSpeed[subject] }
	c.addCounters(Network, "received by %s", recording.NetReceived, "B/s", speed)
	c.addCounters(Network, "sent by %s", recording.NetSent, "B/s", speed)
}

// addCounters adds the rate of a counter for each subject that changed, together with its
// limit.
func (c *cutter) addCounters(kind Kind, name string, signal recording.Signal, unit string,
	limit func(subject string) float64,
) {
	for _, series := range c.run.All(signal) {
		if part := series.Between(c.from, c.to); len(part.V) == 0 || part.Last() <= part.V[0] {
			continue
		}
		values := c.each(func(from, to float64) float64 { return growth(&series, from, to) })
		_, short, _ := strings.Cut(series.Subject, "/")
		c.addTrack(Track{
			Name: fmt.Sprintf(name, short), Unit: unit, Kind: kind, Subject: series.Subject,
			Most: limit(series.Subject), Values: values,
		})
	}
}

// StateNames holds names of thread states.
var StateNames = map[recording.State]string{
	recording.Parked: "parked", recording.Running: "running", recording.OnDisk: "storage", recording.Remote: "network",
	recording.Asleep: "asleep",
}

// threads adds rows for the launching threads and the workers.
func (c *cutter) threads() {
	drawn := 0
	for _, p := range c.run.Facts.Processes {
		thread, name := p.PID, fmt.Sprintf("worker %d", p.PID)
		switch p.Role {
		case recording.RoleTrainer:
			name = fmt.Sprintf("rank %d launches", p.Rank)
			if p.LaunchThread > 0 {
				thread = p.LaunchThread
			}
		case recording.RoleWorker:
		default:
			continue
		}
		series := c.run.Find(recording.ThreadState, fmt.Sprintf("thread/%d", thread))
		if series == nil || drawn == rows || len(series.Between(c.from, c.to).T) == 0 {
			continue
		}
		drawn++
		t := Track{Name: name, Unit: "share", Kind: Thread, Subject: p.Role, Most: 1, States: make([]string, c.columns)}
		t.Values = c.each(func(from, to float64) float64 { return series.Share(from, to, recording.Running) })
		for i := range t.States {
			t.States[i] = c.mostly(series, i)
		}
		c.tracks = append(c.tracks, t)
	}
}

// mostly returns the most frequent state in a column or, without a sample in it, the state
// before.
func (c *cutter) mostly(series *recording.Series, i int) string {
	most, best := 0.0, ""
	if math.IsNaN(series.Mean(c.at(i), c.at(i+1))) {
		if v := held(series, c.at(i), c.at(i+1)); !math.IsNaN(v) {
			return StateNames[recording.State(v)]
		}
		return ""
	}
	for state := recording.Parked; state <= recording.Asleep; state++ {
		if share := series.Share(c.at(i), c.at(i+1), state); share > most {
			most, best = share, StateNames[state]
		}
	}
	return best
}

// FormatValue prints a value of a row with its unit.
func FormatValue(v float64, unit string) string {
	switch unit {
	case "share":
		return quantity.Percent(v)
	case "B":
		return quantity.AboutBytes(v)
	case "B/s":
		return quantity.AboutRate(v)
	}
	return quantity.About(v) + " " + unit
}
