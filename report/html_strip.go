package report

import (
	"fmt"
	"math"
	"sort"

	"stoker"
	"stoker/diagnose"
	"stoker/internal/stat"
	"stoker/recording"
)

// strip is a whole run as rows over one axis of time.
type strip struct {
	Name     string
	From, To float64 // seconds
	Shade    [2]string
	Ticks    []figure // Value: seconds; Note: x as a percentage
	Tracks   []track
	Table    [][]string // the same in words: name, least, mean, most
}

// track is one row of it.
type track struct {
	Name, Unit string
	Most       string // what the row's top stands for
	Line, Area string // paths
	Bands      []band // of states, instead of a path
	Class      string // how it is coloured
	values     []float64
}

// band is a stretch of one state.
type band struct{ X, Width, State string }

// columns is how many stretches a run is cut into. The page of a run of days is no
// larger than that of a minute's.
const columns = 400

// rows is how many workers and ranks are drawn one by one.
const rows = 16

// stripData is what the script needs of a strip.
type stripData struct {
	From   float64     `json:"from"`
	To     float64     `json:"to"`
	Tracks []trackData `json:"tracks"`
}

type trackData struct {
	Name   string     `json:"name"`
	Unit   string     `json:"unit"`
	Values []*float64 `json:"values"`
}

func (s strip) data() stripData {
	d := stripData{From: s.From, To: s.To, Tracks: []trackData{}}
	for _, t := range s.Tracks {
		row := trackData{Name: t.Name, Unit: t.Unit}
		for _, v := range t.values {
			row.Values = append(row.Values, number(stoker.Digits(v, 4)))
		}
		d.Tracks = append(d.Tracks, row)
	}
	return d
}

// cutter cuts a run into columns.
type cutter struct {
	run      *recording.Run
	from, to float64
}

// at is where a column begins.
func (c cutter) at(i int) float64 { return c.from + (c.to-c.from)*float64(i)/columns }

// column is where a time lies.
func (c cutter) column(t float64) int {
	return min(columns-1, max(0, int(columns*(t-c.from)/(c.to-c.from))))
}

// each asks for a value of each column.
func (c cutter) each(of func(from, to float64) float64) []float64 {
	values := make([]float64, columns)
	for i := range values {
		values[i] = of(c.at(i), c.at(i+1))
	}
	return values
}

func stripOf(name string, run *recording.Run, v diagnose.Verdict) strip {
	c := cutter{run: run, to: run.End()}
	s := strip{Name: name, To: c.to}
	if !(c.to > 0) {
		return s
	}
	w := v.Costs.Window
	place := func(t float64) float64 { return across * min(1, max(0, (t-c.from)/(c.to-c.from))) }
	if v.HasSteps {
		s.Shade = [2]string{px(place(w.Start)), px(max(1, place(w.End)-place(w.Start)))}
	}
	for i := range 5 {
		t := c.to * float64(i) / 4
		s.Ticks = append(s.Ticks, figure{Value: stoker.AboutSeconds(t), Note: fmt.Sprint(25 * i)})
	}
	s.steps(c)
	s.devices(c)
	s.cores(c)
	s.states(c)
	for _, t := range s.Tracks {
		s.Table = append(s.Table, inWords(t))
	}
	return s
}

// inWords is a row for who cannot see the picture.
func inWords(t track) []string {
	least, most, sum, n := math.Inf(1), math.Inf(-1), 0.0, 0.0
	for _, v := range t.values {
		if !math.IsNaN(v) {
			least, most, sum, n = min(least, v), max(most, v), sum+v, n+1
		}
	}
	if n == 0 {
		return []string{t.Name, "unknown", "unknown", "unknown"}
	}
	text := func(v float64) string { return unitText(v, t.Unit) }
	return []string{t.Name, text(least), text(sum / n), text(most)}
}

// unitText is a value with its unit.
func unitText(v float64, unit string) string {
	switch unit {
	case "share":
		return stoker.Percent(v)
	case "B":
		return stoker.AboutBytes(v)
	case "B/s":
		return stoker.AboutRate(v)
	}
	return stoker.About(v) + " " + unit
}

// add draws a row of values up to a scale; 0 takes the largest.
func (s *strip) add(name, unit, class string, most float64, values []float64) {
	largest := -1.0
	for _, v := range values {
		largest = max(largest, stat.Or(v, -1))
	}
	if largest < 0 || largest == 0 && class == "quiet" { // an emulated device has no memory
		return
	}
	if most == 0 {
		most = largest
	}
	s.Tracks = append(s.Tracks, track{
		Name: name, Unit: unit, Most: unitText(most, unit), Class: class, values: values,
		Line: curve(values, most, trackHeight, false), Area: curve(values, most, trackHeight, true),
	})
}

// trackHeight is that of a row's picture.
const trackHeight = 40

// sums are those of steps, spread over the columns that each step covers.
type sums struct{ wait, time, samples []float64 }

func sumsOf(c cutter, steps []recording.Step) sums {
	s := sums{make([]float64, columns), make([]float64, columns), make([]float64, columns)}
	width := (c.to - c.from) / columns
	for _, step := range steps {
		wait := step.Idle
		if math.IsNaN(wait) {
			wait = step.Wait
		}
		long := step.Period
		if !(long > 0) || math.IsNaN(wait) {
			continue
		}
		first, last := c.column(step.Start), c.column(step.Start+long)
		for i := first; i <= last; i++ {
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

// steps draws what training got: a row for each rank, or one.
func (s *strip) steps(c cutter) {
	ranks := map[int][]recording.Step{}
	for _, step := range c.run.Steps {
		ranks[step.Rank] = append(ranks[step.Rank], step)
	}
	var order []int
	for rank := range ranks {
		order = append(order, rank)
	}
	sort.Ints(order)
	all := make([]float64, columns)
	for i, rank := range order {
		sum := sumsOf(c, ranks[rank])
		waits := make([]float64, columns)
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
			s.add(name, "share", "input", 1, waits)
		}
	}
	if len(order) > 0 {
		s.add("throughput", "samples/s", "kernel", 0, all)
	}
}

// devices draws what each GPU did.
func (s *strip) devices(c cutter) {
	for i, g := range c.run.Facts.GPUs {
		if i == rows/2 {
			break
		}
		subject := fmt.Sprintf("gpu/%d", g.Index)
		mean := func(signal recording.Signal) []float64 {
			series := c.run.Find(signal, subject)
			return c.each(func(from, to float64) float64 { return held(series, from, to) })
		}
		memory := 0.0
		if g.MemoryBytes != nil {
			memory = *g.MemoryBytes
		}
		s.add(fmt.Sprintf("GPU %d busy", g.Index), "share", "kernel", 1, mean(recording.GPUUtilisation))
		s.add(fmt.Sprintf("GPU %d memory", g.Index), "B", "quiet", memory, mean(recording.GPUMemory))
		s.add(fmt.Sprintf("GPU %d power", g.Index), "W", "quiet", 0, mean(recording.GPUPower))
	}
}

// held is the mean in a stretch, or where no sample falls into it, the one before.
func held(series *recording.Series, from, to float64) float64 {
	if v := series.Mean(from, to); !math.IsNaN(v) {
		return v
	}
	if series == nil {
		return math.NaN()
	}
	i := sort.SearchFloat64s(series.T, from)
	if i == 0 || i == len(series.T) {
		return math.NaN() // before the first or behind the last
	}
	return series.V[i-1]
}

// growth is a counter's growth per second over a stretch, by the samples around it.
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

// cores draws who used the cores, and what was read.
func (s *strip) cores(c cutter) {
	rates := func(signal recording.Signal, subject string) []float64 {
		series := c.run.Find(signal, subject)
		return c.each(func(from, to float64) float64 { return growth(series, from, to) })
	}
	cores := c.run.Facts.Machine.Cores()
	job, all := rates(recording.TreeCPU, "tree"), rates(recording.MachineCPU, "machine")
	s.add("cores of the job", "cores", "cpu", cores, job)
	for i := range all {
		all[i] = max(0, all[i]-job[i])
	}
	s.add("cores of others", "cores", "others", cores, all)
	for _, series := range c.run.All(recording.DiskRead) {
		if series.Last() > series.V[0] {
			s.add("read from "+series.Subject, "B/s", "copy", 0, rates(recording.DiskRead, series.Subject))
		}
	}
}

// stateNames are the classes and words of a thread's states.
var stateNames = map[recording.State]string{
	recording.Parked: "parked", recording.Running: "running", recording.OnDisk: "storage", recording.Remote: "network", recording.Asleep: "asleep",
}

// states draws what the launching thread and the workers did.
func (s *strip) states(c cutter) {
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
		if series == nil || drawn == rows {
			continue
		}
		drawn++
		s.Tracks = append(s.Tracks, stateTrack(c, name, series))
	}
}

// stateTrack is a row in the colour of what a thread did most in each column.
func stateTrack(c cutter, name string, series *recording.Series) track {
	t := track{Name: name, Unit: "share", Class: "states", Most: "busy"}
	t.values = c.each(func(from, to float64) float64 { return series.Share(from, to, recording.Running) })
	width := float64(across) / columns
	for i, at := 0, 0; i <= columns; i++ {
		if i < columns && i > at && mostly(c, series, i) == mostly(c, series, at) {
			continue
		}
		if i > at {
			if state := mostly(c, series, at); state != "" {
				t.Bands = append(t.Bands, band{px(float64(at) * width), px(float64(i-at) * width), state})
			}
			at = i
		}
	}
	return t
}

// mostly is the state that most samples of a column have; where none falls into it,
// that of the sample before.
func mostly(c cutter, series *recording.Series, i int) string {
	most, best := 0.0, ""
	if math.IsNaN(series.Mean(c.at(i), c.at(i+1))) {
		return stateNames[recording.State(held(series, c.at(i), c.at(i+1)))]
	}
	for state := recording.Parked; state <= recording.Asleep; state++ {
		if share := series.Share(c.at(i), c.at(i+1), state); share > most {
			most, best = share, stateNames[state]
		}
	}
	return best
}
