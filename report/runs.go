package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/parquet"
	"github.com/stoker-dev/stoker/internal/stat"
)

// Runs are the jobs of a folder of recordings, with what they lost.
type Runs struct {
	Folder     string
	Recordings int // that could be read
	Jobs       []Job
	Months     []Month // oldest first
	Notes      []string
}

// Job is what one or several recordings tell of a job. NaN is unknown.
type Job struct {
	Files    []string
	Started  float64 // Unix time
	Command  string
	Hosts    []string
	Ranks    int     // that were recorded
	Seconds  float64 // from the first start to the last end
	Class    string  // of the recording that lost most
	Stall    float64
	Rate     float64 // samples per second of all ranks
	GPUHours float64
	Idle     float64 // of these
	Lost     float64 // dollars that idling cost
	Fix      string  // what would help most; "" where nothing is advised
	Speedup  float64 // of that fix
	Emulated bool    // lost is what a real device would have
}

// Month is the sum over the jobs that started in a month.
type Month struct {
	Name           string // "2026-11", "unknown"
	Jobs           int
	GPUHours, Idle float64
	Lost           float64 // of jobs whose price is known
	Priced         int     // how many those are
}

func (j Job) when() string {
	if !(j.Started > 0) {
		return "unknown"
	}
	return time.Unix(int64(j.Started), 0).UTC().Format("2006-01-02 15:04")
}

// Month is when it started, "2026-11".
func (j Job) Month() string {
	if !(j.Started > 0) {
		return "unknown"
	}
	return j.when()[:len("2006-01")]
}

// Add counts a job.
func (m *Month) Add(j Job) {
	m.Jobs, m.GPUHours, m.Idle = m.Jobs+1, m.GPUHours+j.GPUHours, m.Idle+j.Idle
	if !math.IsNaN(j.Lost) {
		m.Lost, m.Priced = m.Lost+j.Lost, m.Priced+1
	}
}

func (j Job) best() string {
	if j.Fix == "" {
		return ""
	}
	return j.Fix + ": " + bestGain(j.Speedup)
}

func bestGain(speedup float64) string {
	if math.IsNaN(speedup) {
		return "worth unknown"
	}
	return stoker.Times(speedup)
}

// RunsText writes the jobs for people, at most so many; 0: all.
func RunsText(w io.Writer, r Runs, top int, style Style) error {
	p := newPage(style, &r)
	total := Month{}
	for _, m := range r.Months {
		total.GPUHours, total.Idle, total.Lost, total.Priced = total.GPUHours+m.GPUHours, total.Idle+m.Idle, total.Lost+m.Lost, total.Priced+m.Priced
	}
	fmt.Fprintf(&p.b, "%s\n\n", p.bold(fmt.Sprintf("%s in %s of %s: %s GPU hours, %s of them idle%s", stoker.Many(len(r.Jobs), "job"), stoker.Many(r.Recordings, "recording"), r.Folder,
		stoker.About(total.GPUHours), stoker.About(total.Idle), total.lost(", %s lost"))))
	rows := [][]string{{"when (UTC)", "host", "class", "stall", "samples/s", "lost", "best fix"}}
	shown := r.Jobs
	if top > 0 && len(shown) > top {
		shown = shown[:top]
	}
	for _, j := range shown {
		rows = append(rows, []string{j.when(), cut(j.host(), 24), j.Class, stoker.Percent(j.Stall), stoker.About(j.Rate), stoker.AboutDollars(j.Lost), j.best()})
	}
	if len(r.Jobs) > 0 {
		p.table(rows, "lllrrrl")
	}
	if left := len(r.Jobs) - len(shown); left > 0 {
		fmt.Fprintf(&p.b, "  and %d more: --top 0 shows all\n", left)
	}
	p.b.WriteString("\n")
	p.months(r.Months)
	p.list("note", r.Notes)
	return p.to(w)
}

func (p *page) months(all []Month) {
	if len(all) == 0 {
		return
	}
	rows := [][]string{{"month", "jobs", "GPU hours", "idle", "lost"}}
	for _, m := range all {
		rows = append(rows, []string{m.Name, strconv.Itoa(m.Jobs), stoker.About(m.GPUHours), stoker.About(m.Idle), m.lost("%s")})
	}
	p.table(rows, "lrrrr")
	p.b.WriteString("\n")
}

func (m Month) lost(format string) string {
	if m.Priced == 0 {
		return fmt.Sprintf(format, "unknown")
	}
	return fmt.Sprintf(format, stoker.AboutDollars(m.Lost))
}

func (j Job) host() string {
	switch len(j.Hosts) {
	case 0:
		return "unknown"
	case 1:
		return j.Hosts[0]
	}
	return fmt.Sprintf("%s and %d more", j.Hosts[0], len(j.Hosts)-1)
}

// jsonJob is a job as programs read it.
type jsonJob struct {
	Files    []string `json:"files"`
	Started  *string  `json:"started"` // RFC 3339
	Command  string   `json:"command"`
	Hosts    []string `json:"hosts"`
	Ranks    int      `json:"ranks"`
	Seconds  *float64 `json:"seconds"`
	Class    string   `json:"class"`
	Stall    *float64 `json:"stall"`
	Rate     *float64 `json:"samples_per_s"`
	GPUHours *float64 `json:"gpu_hours"`
	Idle     *float64 `json:"idle_gpu_hours"`
	Lost     *float64 `json:"lost_usd"`
	Fix      *string  `json:"fix"`
	Speedup  *float64 `json:"speedup"`
	Emulated bool     `json:"emulated"`
}

type jsonMonth struct {
	Month    string   `json:"month"`
	Jobs     int      `json:"jobs"`
	GPUHours *float64 `json:"gpu_hours"`
	Idle     *float64 `json:"idle_gpu_hours"`
	Lost     *float64 `json:"lost_usd"` // of jobs whose price is known
	Priced   int      `json:"priced_jobs"`
}

type runsObject struct {
	Schema     int         `json:"schema"`
	Folder     string      `json:"folder"`
	Recordings int         `json:"recordings"`
	Jobs       []jsonJob   `json:"jobs"`
	Months     []jsonMonth `json:"months"`
	Warnings   []string    `json:"warnings"`
}

// RunsJSON writes all jobs as one object.
func RunsJSON(w io.Writer, r Runs) error {
	jobs, months := []jsonJob{}, []jsonMonth{}
	for _, j := range r.Jobs {
		row := jsonJob{
			append([]string{}, j.Files...), nil, j.Command, append([]string{}, j.Hosts...), j.Ranks, stat.Known(j.Seconds), j.Class, stat.Known(j.Stall),
			stat.Known(j.Rate), stat.Known(j.GPUHours), stat.Known(j.Idle), stat.Known(j.Lost), text(j.Fix), stat.Known(j.Speedup), j.Emulated,
		}
		if j.Started > 0 {
			started := time.Unix(int64(j.Started), 0).UTC().Format(time.RFC3339)
			row.Started = &started
		}
		jobs = append(jobs, row)
	}
	for _, m := range r.Months {
		row := jsonMonth{m.Name, m.Jobs, stat.Known(m.GPUHours), stat.Known(m.Idle), nil, m.Priced}
		if m.Priced > 0 {
			row.Lost = stat.Known(m.Lost)
		}
		months = append(months, row)
	}
	return Object(w, runsObject{schema, r.Folder, r.Recordings, jobs, months, append([]string{}, r.Notes...)})
}

// JobColumns are what tables tell of a job, in base units.
var JobColumns = []parquet.Column[Job]{
	{Name: "started", Kind: parquet.Moment, Value: func(j Job) any { return j.Started }},
	{Name: "hosts", Kind: parquet.Text, Value: func(j Job) any { return strings.Join(j.Hosts, " ") }},
	{Name: "command", Kind: parquet.Text, Value: func(j Job) any { return j.Command }},
	{Name: "ranks", Kind: parquet.Count, Value: func(j Job) any { return j.Ranks }},
	{Name: "class", Kind: parquet.Text, Value: func(j Job) any { return j.Class }},
	{Name: "stall", Kind: parquet.Number, Value: func(j Job) any { return j.Stall }},
	{Name: "samples_per_s", Kind: parquet.Number, Value: func(j Job) any { return j.Rate }},
	{Name: "seconds", Kind: parquet.Number, Value: func(j Job) any { return j.Seconds }},
	{Name: "gpu_hours", Kind: parquet.Number, Value: func(j Job) any { return j.GPUHours }},
	{Name: "idle_gpu_hours", Kind: parquet.Number, Value: func(j Job) any { return j.Idle }},
	{Name: "lost_usd", Kind: parquet.Number, Value: func(j Job) any { return j.Lost }},
	{Name: "fix", Kind: parquet.Text, Value: func(j Job) any { return j.Fix }},
	{Name: "speedup", Kind: parquet.Number, Value: func(j Job) any { return j.Speedup }},
	{Name: "emulated", Kind: parquet.Flag, Value: func(j Job) any { return j.Emulated }},
	{Name: "files", Kind: parquet.Text, Value: func(j Job) any { return strings.Join(j.Files, " ") }},
}

// RunsCSV writes a row per job.
func RunsCSV(w io.Writer, r Runs) error {
	rows := make([][]string, 1+len(r.Jobs))
	for _, c := range JobColumns {
		rows[0] = append(rows[0], c.Name)
		for i, j := range r.Jobs {
			rows[1+i] = append(rows[1+i], plainValue(c.Value(j)))
		}
	}
	return CSV(w, rows)
}

func plainValue(v any) string {
	if number, isNumber := v.(float64); isNumber {
		return plainNumber(number)
	}
	return fmt.Sprint(v)
}
