package watch

import (
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/strip"
)

// kindColours holds the colours of rows.
var kindColours = map[strip.Kind]string{
	strip.Waiting: red, strip.Throughput: green, strip.Busy: green, strip.Memory: "36", strip.Power: "36",
	strip.JobCores: "34", strip.Others: "35", strip.Disk: orange, strip.Network: orange,
}

// view is the part of a run that is displayed over time.
type view struct {
	tracks   []strip.Track
	folded   []strip.Track // rows left out
	ranks    []int         // rank of each track: lower ranks are kept longer if space is short
	from, to float64
	at       int // the cursor's column
}

// essentialRank is the last rank of rows that must be displayed, threadRank the first rank of
// threads.
const (
	essentialRank = 4
	threadRank    = 9
)

// view cuts a run into rows and ranks them.
func (d *drawing) view(s State, from, to float64) *view {
	v := &view{from: from, to: to, at: d.columns() - 1 - min(d.columns()-1, max(0, d.Back))}
	tracks := strip.Cut(s.Run, from, to, d.columns())
	waits := 0
	for _, t := range tracks {
		if t.Kind == strip.Waiting {
			waits++
		}
	}
	if waits > 1 {
		v.addTrack(worst(tracks), 0)
	}
	for _, t := range tracks {
		rank := map[strip.Kind]int{
			strip.Waiting: 0, strip.Throughput: 1, strip.Busy: 2, strip.JobCores: 3,
			strip.Others: 4, strip.Disk: 5, strip.Network: 5, strip.Memory: 6, strip.Power: 7,
			strip.Thread: threadRank + 1,
		}[t.Kind]
		switch {
		case t.Kind == strip.Waiting && waits > 1:
			rank = 8
		case t.Kind == strip.Others && t.Subject != "":
			rank = 6
		case t.Kind == strip.Thread && t.Subject == recording.RoleTrainer:
			rank = threadRank
		}
		v.addTrack(t, rank)
	}
	return v
}

// addTrack adds a row.
func (v *view) addTrack(t strip.Track, rank int) {
	v.tracks, v.ranks = append(v.tracks, t), append(v.ranks, rank)
}

// worst returns a row with the greatest wait of all ranks.
func worst(tracks []strip.Track) strip.Track {
	most := strip.Track{Name: "worst rank waits", Unit: "share", Kind: strip.Waiting, Most: 1, Limited: true}
	for _, t := range tracks {
		if t.Kind != strip.Waiting {
			continue
		}
		if most.Values == nil {
			most.Values = slices.Clone(t.Values)
		}
		for i, value := range t.Values {
			if !(most.Values[i] >= value) && !math.IsNaN(value) {
				most.Values[i] = value
			}
		}
	}
	return most
}

// essential returns the number of rows that must be displayed.
func (v *view) essential() int {
	n := 0
	for _, rank := range v.ranks {
		if rank <= essentialRank {
			n++
		}
	}
	return n
}

// keep keeps the most important rows. Rows of all GPUs or ranks are kept or dropped together.
func (v *view) keep(most int) {
	for len(v.tracks) > most {
		last := slices.Max(v.ranks)
		together := last > essentialRank+1 && last < threadRank
		for i := len(v.tracks) - 1; i >= 0; i-- {
			if v.ranks[i] != last {
				continue
			}
			v.folded = append(v.folded, v.tracks[i])
			v.tracks, v.ranks = slices.Delete(v.tracks, i, i+1), slices.Delete(v.ranks, i, i+1)
			if !together {
				break
			}
		}
	}
}

// tallest is the greatest height of a row, in lines.
const tallest = 4

// lines returns the height of each row of values.
func (v *view) lines(room int) int {
	values := 0
	for _, t := range v.tracks {
		if t.States == nil {
			values++
		}
	}
	if values == 0 {
		return 1
	}
	return min(tallest, max(1, 1+(room-len(v.tracks))/values))
}

// rows draws all rows; rows of values are high lines tall.
func (d *drawing) rows(v *view, high int) []string {
	var all []string
	for _, t := range v.tracks {
		if t.States != nil {
			all = append(all, pad(t.Name, nameWidth)+" "+d.states(t.States, v.at)+" "+d.activityOf(t, v.at))
			continue
		}
		for i, row := range d.drawBars(t, v.at, high) {
			name, text := "", ""
			switch i {
			case 0:
				name, text = t.Name, d.value(v, t)
			case 1:
				text = d.makeFaint("most " + d.formatShort(largest(t.Values), t.Unit))
			}
			all = append(all, pad(name, nameWidth)+" "+row+" "+text)
		}
	}
	return all
}

// value returns the text to the right of a row: the value at the cursor, or else the newest, or
// the mean of a run that has ended.
func (d *drawing) value(v *view, t strip.Track) (text string) {
	text = d.formatShort(d.pick(t.Values, v.at), t.Unit)
	if t.Limited && t.Unit != "share" {
		text = d.showOfMost(text, d.formatShort(t.Most, t.Unit), d.formatShort(d.pick(t.Values, v.at)/t.Most, "share"))
	}
	if t.Kind != strip.Busy {
		return text
	}
	defer func() {
		goal := d.makeFaint(" goal " + d.formatShort(diagnose.DeviceBusy.Yes, t.Unit))
		if cellsOf(text+goal) <= d.valueWidth() {
			text += goal
		}
	}()
	for _, kind := range []strip.Kind{strip.Memory, strip.Power} {
		for _, o := range v.folded { // it has no row
			if more := " " + d.formatShort(d.pick(o.Values, v.at), o.Unit); o.Kind == kind && o.Subject == t.Subject &&
				cellsOf(text+more) <= d.valueWidth() {
				text += more
			}
		}
	}
	return text
}

// showOfMost returns a value with its maximum, "0.8 of 2.0 cores", or its share of the maximum if
// space is short.
func (d *drawing) showOfMost(text, most, share string) string {
	alone := text
	if number, unit, _ := strings.Cut(text, " "); strings.HasSuffix(most, " "+unit) {
		text = number
	}
	if text += d.makeFaint(" of " + most); cellsOf(text) > d.valueWidth() {
		return alone + d.makeFaint(" ("+share+")")
	}
	return text
}

// pick returns the displayed value of a row.
func (d *drawing) pick(values []float64, at int) float64 {
	if d.Back > 0 {
		return values[at]
	}
	if !d.ended {
		return newest(values)
	}
	sum, n := 0.0, 0.0
	for _, v := range values {
		if !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	return sum / n
}

// formatShort formats a value next to its row: shares in whole per cent.
func (d *drawing) formatShort(v float64, unit string) string {
	switch unit {
	case "share":
		return quantity.Percent(math.Round(100*v) / 100)
	case "cores":
		return quantity.AboutCores(v) + " cores"
	}
	return strip.FormatValue(v, unit)
}

// newest returns the last known value.
func newest(values []float64) float64 {
	for i := len(values) - 1; i >= 0; i-- {
		if !math.IsNaN(values[i]) {
			return values[i]
		}
	}
	return math.NaN()
}

// largest returns the largest known value.
func largest(values []float64) float64 {
	most := math.NaN()
	for _, v := range values {
		if !(most >= v) && !math.IsNaN(v) {
			most = v
		}
	}
	return most
}

// activityOf returns what a thread does or, if the run has ended, the share of time it ran.
func (d *drawing) activityOf(t strip.Track, at int) string {
	switch {
	case d.Back > 0:
		return t.States[at]
	case d.ended:
		return strip.StateNames[recording.Running] + " " + d.formatShort(d.pick(t.Values, at), t.Unit)
	}
	for i := len(t.States) - 1; i >= 0; i-- {
		if t.States[i] != "" {
			return t.States[i]
		}
	}
	return ""
}

// Levels of height of a character.
var (
	blocks = []rune(" ▁▂▃▄▅▆▇█")
	plain  = []rune(" .:-=+*#@")
)

// goalMark draws the goal of a device in the top line of its row, above bars that do not reach it.
const goalMark = "┄"

// drawBars draws values as bars of a height of several lines, top line first. A full bar leaves
// one level free, so that rows stay separate.
func (d *drawing) drawBars(t strip.Track, at, high int) []string {
	levels := blocks
	if d.ASCII {
		levels = plain
	}
	steps := len(levels) - 1
	lines := make([]string, high)
	for n := range lines {
		cells := make([]string, len(t.Values))
		for i, v := range t.Values {
			cells[i] = " "
			if n == 0 && high > 1 && t.Kind == strip.Busy {
				cells[i] = goalMark
			}
			if t.Most > 0 && v > 0 {
				level := min(high*steps-1, max(1, int(math.Round(v/t.Most*float64(high*steps-1)))))
				if left := level - (high-1-n)*steps; left > 0 {
					cells[i] = string(levels[min(steps, left)])
				}
			}
		}
		lines[n] = d.drawCursor(cells, at, func(i int) string {
			if cells[i] == goalMark {
				return "2"
			}
			return kindColours[t.Kind]
		})
	}
	return lines
}

// stateMarks holds the letters and colours of thread states. The letters differ, so that
// colours are not needed.
var stateMarks = map[string]struct{ letter, colour string }{
	strip.StateNames[recording.Parked]:  {"·", "2"},
	strip.StateNames[recording.Running]: {"R", green},
	strip.StateNames[recording.OnDisk]:  {"D", orange},
	strip.StateNames[recording.Remote]:  {"N", "35"},
	strip.StateNames[recording.Asleep]:  {"s", "34"},
	"":                                  {" ", ""},
}

// states draws a row of thread states.
func (d *drawing) states(states []string, at int) string {
	cells := make([]string, len(states))
	for i, state := range states {
		cells[i] = stateMarks[state].letter
	}
	return d.drawCursor(cells, at, func(i int) string { return stateMarks[states[i]].colour })
}

// drawCursor joins cells, combining neighbours of the same colour, and marks the cell of the
// cursor.
func (d *drawing) drawCursor(cells []string, at int, colour func(i int) string) string {
	var b strings.Builder
	for i := 0; i < len(cells); {
		if d.Back > 0 && i == at {
			b.WriteString(d.paint("7", cells[i]))
			i++
			continue
		}
		from, code := i, colour(i)
		for i < len(cells) && colour(i) == code && (d.Back == 0 || i != at) {
			i++
		}
		b.WriteString(d.paint(code, strings.Join(cells[from:i], "")))
	}
	return b.String()
}

// drawHelp explains each row and its source.
func (d *drawing) drawHelp() {
	var letters []string
	for state := recording.Parked; state <= recording.Asleep; state++ {
		name := strip.StateNames[state]
		letters = append(letters, stateMarks[name].letter+" "+name)
	}
	d.addLine(d.makeBold("what is what") + "   any key goes back")
	d.addLine("")
	for _, row := range [][2]string{
		{
			"waiting for input",
			"share of the time in which the device waited for a batch, by its own clock. If that is unknown: in " +
				"which the loop waited",
		},
		{"throughput", "samples that the steps took, all ranks together (start-up hook)"},
		{
			"GPU busy, others",
			"share of the time in which some kernel ran or data were copied, and one of a program outside the job " +
				"(NVML). Dashes are the goal: a flat row that reaches them. A busy GPU may still be slow",
		},
		{"memory, power", "of the device (NVML). Much memory in use is not much work"},
		{"cores", "time that the job's processes and all others take (/proc), of the cores that the job may use"},
		{"read, at work", "what a disk gave, and the share of the time it had something to do (/proc/diskstats)"},
		{"received, sent", "by an interface, of what it can (/proc/net/dev, /sys/class/net)"},
		{"launches, worker", "what the thread did most (/proc): " + strings.Join(letters, ", ")},
		{"pipeline", "what each part could do alone, by the run's own costs (stoker predict): bars are as wide as " +
			"that, the narrowest is the limit"},
		{"best fix", "what advise ranks first, with its interval (stoker advise has all)"},
	} {
		for i, text := range wrapText(row[1], d.Width-nameWidth-1) {
			name := row[0]
			if i > 0 {
				name = ""
			}
			d.addLine(pad(name, nameWidth) + " " + text)
		}
	}
}
