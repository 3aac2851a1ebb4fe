package page

import (
	"math"
	"slices"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/report/strip"
)

// htmlStrip is a whole run as rows over one time axis.
type htmlStrip struct {
	Name   string
	To     float64 // seconds
	Shade  [2]string
	Ticks  []string
	Tracks []htmlTrack
	Table  [][]string // the same as text: name, least, mean, most
}

// htmlTrack is a row of a strip.
type htmlTrack struct {
	strip.Track
	Top        string // value at the top of the row
	Line, Area string // paths
	Bands      []band // for states, instead of a path
	Goal       string // height of the line above which a device is at work nearly all the time; "" of other rows
}

// band is an interval of one colour.
type band struct{ X, Width, State string }

// columns is the number of intervals into which a run is divided. So the page of a run of days
// is as small as that of a run of minutes.
const columns = 400

// stripData is the part of a strip that the script uses.
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

func (s htmlStrip) data() stripData {
	d := stripData{To: s.To, Tracks: []trackData{}}
	for _, t := range s.Tracks {
		row := trackData{Name: t.Name, Unit: t.Unit}
		for _, v := range t.Values {
			row.Values = append(row.Values, stat.Known(quantity.Digits(v, 4)))
		}
		d.Tracks = append(d.Tracks, row)
	}
	return d
}

// stripOf returns the strip of a run.
func stripOf(name string, run *recording.Run, v diagnose.Verdict) htmlStrip {
	s := htmlStrip{Name: name, To: run.End()}
	if !(s.To > 0) {
		return s
	}
	if w := v.Costs.Window; v.HasSteps {
		place := func(t float64) float64 { return across * min(1, max(0, t/s.To)) }
		s.Shade = [2]string{px(place(w.Start)), px(max(1, place(w.End)-place(w.Start)))}
	}
	for i := range 5 {
		s.Ticks = append(s.Ticks, quantity.AboutSeconds(s.To*float64(i)/4))
	}
	for _, t := range strip.Cut(run, 0, s.To, columns) {
		t.Name = report.Shorten(t.Name, 80)
		row := htmlTrack{Track: t}
		row.draw()
		s.Tracks = append(s.Tracks, row)
		s.Table = append(s.Table, inWords(t))
	}
	return s
}

// HasGoal reports whether a row of the strip has the line of a device at work.
func (s htmlStrip) HasGoal() bool {
	return slices.ContainsFunc(s.Tracks, func(t htmlTrack) bool { return t.Goal != "" })
}

// draw fills in the paths or bands of a row.
func (t *htmlTrack) draw() {
	if t.States != nil {
		t.Top, t.Bands = "busy", bandsOf(len(t.States), func(i int) string { return t.States[i] })
		return
	}
	t.Top, t.Line, t.Area = strip.FormatValue(t.Most, t.Unit), curvePath(t.Values, t.Most, trackHeight,
		false), curvePath(t.Values, t.Most, trackHeight, true)
	if t.Kind == strip.Busy && t.Most > 0 {
		t.Goal = px(max(0, trackHeight*(1-diagnose.DeviceBusy.Yes/t.Most)))
	}
}

// sameScale gives rows of the same name the same scale, so that runs can be compared.
func sameScale(runs []htmlStrip) {
	most := map[string]float64{}
	for _, s := range runs {
		for _, t := range s.Tracks {
			most[t.Name] = max(most[t.Name], t.Most)
		}
	}
	for _, s := range runs {
		for i := range s.Tracks {
			s.Tracks[i].Most = most[s.Tracks[i].Name]
			s.Tracks[i].draw()
		}
	}
}

// trackHeight is the height of a row's picture.
const trackHeight = 40

// inWords returns a row as text, for readers who cannot see the picture.
func inWords(t strip.Track) []string {
	least, most, sum, n := math.Inf(1), math.Inf(-1), 0.0, 0.0
	for _, v := range t.Values {
		if !math.IsNaN(v) {
			least, most, sum, n = min(least, v), max(most, v), sum+v, n+1
		}
	}
	if n == 0 {
		return []string{t.Name, "unknown", "unknown", "unknown"}
	}
	return []string{
		t.Name, strip.FormatValue(least, t.Unit), strip.FormatValue(sum/n, t.Unit),
		strip.FormatValue(most, t.Unit),
	}
}

// bandsOf joins neighbours of the same colour and leaves out "".
func bandsOf(n int, colour func(i int) string) []band {
	var all []band
	width := float64(across) / float64(n)
	for i := 0; i < n; {
		from, c := i, colour(i)
		for i < n && colour(i) == c {
			i++
		}
		if c != "" {
			all = append(all, band{px(float64(from) * width), px(float64(i-from) * width), c})
		}
	}
	return all
}
