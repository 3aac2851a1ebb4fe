// Package watch is the live screen: what a run does now, over its last minutes, on
// one page of a terminal.
//
// Screen draws a State as lines of text and knows nothing of a terminal; Show keeps
// a terminal up to date with it.
package watch

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/report/strip"
)

// State is what is known of a run at some moment.
type State struct {
	Name    string // of the recording or process
	Run     *recording.Run
	Verdict diagnose.Verdict
	Plan    advise.Plan
	// Attached says that the process was there before it was looked at.
	Attached bool
	Note     string // where it comes from, or what is wrong with it
}

// Look is how a State is looked at.
type Look struct {
	Width, Height int // cells and lines; a height of 0 is as many as there are, without the keys
	Colour        bool
	ASCII         bool    // no block characters
	Span          float64 // seconds that are shown; 0: all
	Back          int     // columns that the cursor stands behind the newest; 0 is now
	Help          bool
	Paused        bool
}

// The smallest screen that is drawn on; a smaller one is told so.
const (
	leastWidth  = 60
	leastHeight = 16
)

// Screen draws a state in at most Look.Height lines of at most Look.Width cells.
func Screen(s State, look Look) []string {
	safe.Values(&s.Name, &s.Note, &s.Run, &s.Verdict, &s.Plan)
	d := &drawing{Look: look}
	d.ended = s.Run != nil && s.Run.Facts.Exit != nil
	switch {
	case look.Width < leastWidth || look.Height > 0 && look.Height < leastHeight:
		d.line(fmt.Sprintf("needs %d x %d cells", leastWidth, leastHeight))
	case look.Help:
		d.help()
	case s.Run == nil:
		d.line(d.bold("stoker watch") + "  " + s.Name)
		d.line("")
		d.line(s.Note)
	default:
		d.state(s)
	}
	if look.Height > 0 && len(d.lines) > look.Height {
		d.lines = d.lines[:look.Height]
	}
	for i, line := range d.lines {
		if look.ASCII {
			line = inASCII(line)
		}
		d.lines[i] = clip(line, look.Width)
	}
	return d.lines
}

// inASCII is a line for a terminal that knows no other characters.
func inASCII(line string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < utf8.RuneSelf:
			return r
		case r == '…' || r == '·':
			return '.'
		}
		return '?'
	}, line)
}

// drawing collects lines.
type drawing struct {
	Look
	ended bool // nothing comes any more
	lines []string
}

func (d *drawing) line(text string) { d.lines = append(d.lines, text) }

func (d *drawing) colour(code, text string) string {
	if !d.Colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (d *drawing) bold(text string) string  { return d.colour("1", text) }
func (d *drawing) quiet(text string) string { return d.colour("2", text) }

// clip cuts a line that is too wide. Colours take no cells.
func clip(line string, width int) string {
	cells := 0
	for i := 0; i < len(line); {
		if line[i] == 0x1b {
			end := strings.IndexByte(line[i:], 'm')
			if end < 0 {
				return line[:i]
			}
			i += end + 1
			continue
		}
		_, size := utf8.DecodeRuneInString(line[i:])
		if cells == width {
			cut := line[:i]
			if strings.Contains(cut, "\x1b") {
				cut += "\x1b[0m"
			}
			return cut
		}
		cells++
		i += size
	}
	return line
}

// nameWidth is that of the left column, valueWidth that of the right one.
const (
	nameWidth  = 19
	valueWidth = 16
)

// state draws the whole screen: what must be there first, then rows over time as far
// as there is room.
func (d *drawing) state(s State) {
	d.headline(s)
	foot := d.foot(s)
	from, to := d.span(s.Run)
	tracks := strip.Cut(s.Run, from, to, d.columns())
	below := d.below(s)
	if d.Height > 0 {
		tracks = fitting(tracks, d.Height-len(d.lines)-len(below)-len(foot)-1)
	}
	rows := append(d.rows(tracks), d.axis(from, to))
	if d.Height == 0 {
		d.lines = append(append(d.lines, rows...), below...)
		return
	}
	d.lines = append(d.lines, rows...)
	if room := d.Height - len(d.lines) - len(foot); room < len(below) {
		below = below[:max(0, room)]
	}
	d.lines = append(d.lines, below...)
	for len(d.lines) < d.Height-len(foot) {
		d.line("")
	}
	d.lines = append(d.lines, foot...)
}

func (d *drawing) headline(s State) {
	code := "1;33"
	switch {
	case s.Verdict.Class.Is(diagnose.GPUBound):
		code = "1;32"
	case s.Verdict.Class.Starves():
		code = "1;31"
	}
	left := d.bold("stoker watch") + "  " + s.Name + d.quiet("  "+stoker.AboutSeconds(s.Run.End()))
	if exit := s.Run.Facts.Exit; exit != nil {
		left += d.quiet(fmt.Sprintf("  ended with %d", exit.Code))
	}
	if s.Run.Emulated() {
		left += "  [emulated device]"
	}
	d.line(left)
	text := "the evidence does not decide"
	if rule, ok := diagnose.RuleOf(s.Verdict.Class); ok {
		text = rule.Title
	}
	d.line(d.colour(code, string(s.Verdict.Class)) + "  " + text)
	v := s.Verdict
	if v.HasSteps {
		d.line(fmt.Sprintf("waiting for input %s, idle %s, step %s%s", stoker.Percent(v.Stall), stoker.Percent(v.Idle), stoker.AboutSeconds(v.Costs.Step), d.cost(v)))
	}
	if s.Note != "" {
		d.line(d.colour("33", s.Note))
	}
	d.line("")
}

// cost is what idling costs in an hour.
func (d *drawing) cost(v diagnose.Verdict) string {
	if h := v.Cost.Hour.Dollars; h.Known() && h.Point > 0 {
		return fmt.Sprintf(", idle costs %s an hour per GPU", stoker.AboutDollars(h.Point))
	}
	return ""
}

// span is what is shown of a run.
func (l Look) span(run *recording.Run) (from, to float64) {
	to = run.End()
	if l.Span > 0 && l.Span < to {
		from = to - l.Span
	}
	return from, to
}

// columns are the cells of a row over time.
func (l Look) columns() int { return max(8, l.Width-nameWidth-valueWidth-2) }

// expendable are kinds of rows in the order in which they go where there is no room.
var expendable = []strip.Kind{strip.Memory, strip.Power, strip.Disk, strip.Thread}

// fitting leaves out rows until there is room for the others.
func fitting(tracks []strip.Track, room int) []strip.Track {
	for _, kind := range expendable {
		for i := len(tracks) - 1; i >= 0 && len(tracks) > max(0, room); i-- {
			if tracks[i].Kind == kind {
				tracks = slices.Delete(tracks, i, i+1)
			}
		}
	}
	return tracks[:min(len(tracks), max(0, room))]
}

// rows draws everything over time.
func (d *drawing) rows(tracks []strip.Track) []string {
	at := d.columns() - 1 - min(d.columns()-1, max(0, d.Back))
	var all []string
	for _, t := range tracks {
		value := t.Values[at]
		if d.Back == 0 {
			value = newest(t.Values)
		}
		text := strip.Text(value, t.Unit)
		if t.Unit == "B" || t.Unit == "W" || t.Unit == "cores" {
			text = strip.Text(value, t.Unit) + d.quiet(" of "+strings.TrimSuffix(strip.Text(t.Most, t.Unit), " "+t.Unit))
		}
		row := d.spark(t, at)
		if t.States != nil {
			row, text = d.states(t.States, at), t.States[at]
			if d.Back == 0 {
				text = lastState(t.States)
			}
		}
		all = append(all, pad(t.Name, nameWidth)+" "+row+" "+text)
	}
	return all
}

// newest is the last value that is known.
func newest(values []float64) float64 {
	for i := len(values) - 1; i >= 0; i-- {
		if !math.IsNaN(values[i]) {
			return values[i]
		}
	}
	return math.NaN()
}

func lastState(states []string) string {
	for i := len(states) - 1; i >= 0; i-- {
		if states[i] != "" {
			return states[i]
		}
	}
	return ""
}

// pad fills text up with spaces, or cuts it.
func pad(text string, width int) string {
	n := utf8.RuneCountInString(text)
	if n > width {
		return string([]rune(text)[:width-1]) + "…"
	}
	return text + strings.Repeat(" ", width-n)
}

// Steps of a row's height.
var (
	blocks = []rune(" ▁▂▃▄▅▆▇█")
	plain  = []rune(" .:-=+*#@")
)

// kindColours are those of rows.
var kindColours = map[strip.Kind]string{
	strip.Waiting: "31", strip.Throughput: "32", strip.Busy: "32", strip.Memory: "36", strip.Power: "36", strip.JobCores: "34", strip.Others: "35", strip.Disk: "33",
}

// spark draws values as heights, with the cursor's column turned around.
func (d *drawing) spark(t strip.Track, at int) string {
	levels := blocks
	if d.ASCII {
		levels = plain
	}
	cells := make([]string, len(t.Values))
	for i, v := range t.Values {
		level := 0
		if t.Most > 0 && v > 0 {
			level = min(len(levels)-1, max(1, int(math.Round(v/t.Most*float64(len(levels)-1)))))
		}
		cells[i] = string(levels[level])
		if math.IsNaN(v) {
			cells[i] = " "
		}
	}
	return d.cursor(cells, at, func(int) string { return kindColours[t.Kind] })
}

// stateMarks are letters and colours of what a thread does: they differ without
// colours.
var stateMarks = map[string]struct{ letter, colour string }{
	"parked": {"·", "2"}, "running": {"R", "32"}, "storage": {"D", "33"}, "network": {"N", "35"}, "asleep": {"s", "34"}, "": {" ", ""},
}

func (d *drawing) states(states []string, at int) string {
	cells := make([]string, len(states))
	for i, state := range states {
		cells[i] = stateMarks[state].letter
	}
	return d.cursor(cells, at, func(i int) string { return stateMarks[states[i]].colour })
}

// cursor joins cells, neighbours of one colour in one, and marks the cursor's.
func (d *drawing) cursor(cells []string, at int, colour func(i int) string) string {
	var b strings.Builder
	for i := 0; i < len(cells); {
		if d.Back > 0 && i == at {
			b.WriteString(d.colour("7", cells[i]))
			i++
			continue
		}
		from, code := i, colour(i)
		for i < len(cells) && colour(i) == code && (d.Back == 0 || i != at) {
			i++
		}
		b.WriteString(d.colour(code, strings.Join(cells[from:i], "")))
	}
	return b.String()
}

// axis says which time the columns are.
func (d *drawing) axis(from, to float64) string {
	columns := d.columns()
	left, right := "", "now"
	if d.ended {
		right = "the end"
	}
	if from > 0 {
		left = "-" + stoker.AboutSeconds(to-from)
	}
	if d.Back > 0 {
		back := float64(min(columns-1, d.Back)) * (to - from) / float64(columns)
		right = fmt.Sprintf("the mark is %s before %s", stoker.AboutSeconds(back), right)
	}
	gap := max(1, columns-utf8.RuneCountInString(left)-utf8.RuneCountInString(right))
	return d.quiet(strings.Repeat(" ", nameWidth+1) + left + strings.Repeat(" ", gap) + right)
}

// below is what stands under the rows: the pipeline, who takes cores, the best fix.
func (d *drawing) below(s State) []string {
	var all []string
	add := func(name, text string) {
		if text != "" {
			all = append(all, pad(name, nameWidth)+" "+text)
		}
	}
	for i, text := range d.pipeline(s) {
		add([]string{"pipeline", ""}[min(i, 1)], text)
	}
	add("workers", workers(s))
	for i, f := range s.Plan.Fixes {
		if i == 2 {
			break
		}
		title := f.Title
		if len(f.Changes) > 0 {
			title = f.Changes[0].String()
		}
		add([]string{"best fix", "next"}[i], d.bold(title)+"  "+f.Worth())
	}
	if len(s.Plan.Fixes) == 0 && len(s.Verdict.Evidence) > 0 {
		add("why", s.Verdict.Evidence[0].Text)
	}
	return all
}

// pipeline is what each part of a step could do alone, the one that binds marked, in
// two lines: the parts, and bars as wide as they are slow.
func (d *drawing) pipeline(s State) []string {
	if !s.Verdict.HasSteps {
		return nil
	}
	setup := predict.From(s.Run).Setup
	answer, err := setup.Solve()
	if err != nil {
		return nil
	}
	longest := 0.0
	for _, part := range answer.Stages {
		if part.Time.Known() {
			longest = max(longest, part.Time.Point)
		}
	}
	var names, bars []string
	for _, part := range answer.Stages {
		if !part.Time.Known() || part.Time.Point < longest/1000 {
			continue
		}
		text := partNames[part.Resource] + " " + stoker.AboutSeconds(part.Time.Point)
		if setup.Batch > 0 {
			text = partNames[part.Resource] + " " + stoker.About(setup.Batch/part.Time.Point) + "/s"
		}
		width := utf8.RuneCountInString(text)
		full := int(math.Round(float64(width) * part.Time.Point / longest))
		mark, code := "▬", "32"
		if d.ASCII {
			mark = "="
		}
		if part.Time.Point == longest {
			code = "31"
		}
		names = append(names, d.colour(map[bool]string{true: "1", false: ""}[part.Time.Point == longest], text))
		bars = append(bars, d.colour(code, strings.Repeat(mark, max(1, full)))+strings.Repeat(" ", width-max(1, full)))
	}
	if len(names) == 0 {
		return nil
	}
	arrow := " → "
	if d.ASCII {
		arrow = " > "
	}
	return []string{strings.Join(names, arrow), strings.Join(bars, "   ")}
}

// partNames are short names of what a part of a step is done by.
var partNames = map[stoker.Resource]string{
	stoker.Storage: "storage", stoker.CPU: "cores", stoker.Worker: "workers", stoker.MainThread: "main thread", stoker.Link: "link", stoker.GPU: "GPU", stoker.Network: "exchange",
}

// workers counts what the worker processes do now.
func workers(s State) string {
	count := map[string]int{}
	n := 0
	_, to := Look{}.span(s.Run)
	for _, p := range s.Run.Facts.Processes {
		series := s.Run.Find(recording.ThreadState, fmt.Sprintf("thread/%d", p.PID))
		if p.Role != recording.RoleWorker || series == nil || len(series.T) == 0 || series.T[len(series.T)-1] < to-lately {
			continue
		}
		n++
		switch recording.State(series.Last()) {
		case recording.Parked:
			count["parked"]++
		case recording.Running:
			count["running"]++
		case recording.OnDisk:
			count["on storage"]++
		case recording.Remote:
			count["on the network"]++
		case recording.Asleep:
			count["asleep"]++
		}
	}
	if n == 0 {
		return ""
	}
	var parts []string
	for _, what := range []string{"running", "on storage", "on the network", "asleep", "parked"} {
		if count[what] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[what], what))
		}
	}
	return fmt.Sprintf("%d: %s", n, strings.Join(parts, ", "))
}

// lately is how long ago a worker was seen that is still there, seconds.
const lately = 3

func (d *drawing) foot(State) []string {
	text := "q quit   ? what is what   ←→ time   +- span   space hold"
	if d.ASCII {
		text = "q quit   ? what is what   arrows time   +- span   space hold"
	}
	if d.Paused {
		text = "held: space goes on   " + text
	}
	return []string{d.quiet(text)}
}

// help explains each row and where it comes from.
func (d *drawing) help() {
	d.line(d.bold("what is what") + "   any key goes back")
	d.line("")
	for _, row := range [][2]string{
		{"waiting for input", "share of the time in which the device waited for a batch, by the device's own clock; where that is unknown, in which the loop waited"},
		{"throughput", "samples that the steps took, all ranks together (start-up hook)"},
		{"GPU busy", "share of the time in which some kernel ran (NVML utilisation); a busy GPU may still be slow"},
		{"memory, power", "of the device, beside what it has (NVML); much memory in use is not much work"},
		{"cores of the job", "core time of its processes (/proc), beside the cores that it may use; of others: what everybody else takes of them"},
		{"launches, worker", "what the thread did most: R running, D storage, N network, s asleep, · parked (/proc/PID/task, 10 times a second)"},
		{"pipeline", "samples/s that each part could do alone, by the run's own costs; the slowest is marked, and the bars are as long as the parts take"},
		{"best fix", "what advise ranks first, with its interval (stoker advise has all of them, and the lines to paste)"},
	} {
		for i, text := range report.Broken(row[1], d.Width-nameWidth-1) {
			name := row[0]
			if i > 0 {
				name = ""
			}
			d.line(pad(name, nameWidth) + " " + text)
		}
	}
}
