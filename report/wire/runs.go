package wire

import (
	"io"
	"strings"
	"time"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/report"
)

// jsonJob is a job as JSON.
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
	AtMost   *float64 `json:"speedup_at_most"`
	Emulated bool     `json:"emulated"`
	Ended    *string  `json:"ended"` // how it failed; null if it did not, as far as was observed
}

type jsonMonth struct {
	Month    string   `json:"month"`
	Jobs     int      `json:"jobs"`
	GPUHours *float64 `json:"gpu_hours"`
	Idle     *float64 `json:"idle_gpu_hours"`
	Lost     *float64 `json:"lost_usd"` // of jobs with a known price
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

// WriteRuns writes all jobs as one object.
func WriteRuns(w io.Writer, r report.Runs) error {
	jobs, months := []jsonJob{}, []jsonMonth{}
	for _, j := range r.Jobs {
		row := jsonJob{
			append([]string{}, j.Files...), nil, j.Command, append([]string{}, j.Hosts...), j.Ranks,
			stat.Known(j.Seconds), j.Class, stat.Known(j.Stall),
			stat.Known(j.Rate), stat.Known(j.GPUHours), stat.Known(j.Idle), stat.Known(j.Lost), textOrNull(j.Fix),
			stat.Known(j.Speedup), stat.Known(j.AtMost), j.Emulated, textOrNull(j.Ended),
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
	return WriteObject(w, runsObject{schema, r.Folder, r.Recordings, jobs, months, append([]string{}, r.Notes...)})
}

// jobColumns lists the columns of a table of jobs, in base units.
var jobColumns = []struct {
	name  string
	value func(report.Job) any
}{
	{"started", func(j report.Job) any { return j.Started }},
	{"hosts", func(j report.Job) any { return strings.Join(j.Hosts, " ") }},
	{"command", func(j report.Job) any { return j.Command }},
	{"ranks", func(j report.Job) any { return j.Ranks }},
	{"class", func(j report.Job) any { return j.Class }},
	{"stall", func(j report.Job) any { return j.Stall }},
	{"samples_per_s", func(j report.Job) any { return j.Rate }},
	{"seconds", func(j report.Job) any { return j.Seconds }},
	{"gpu_hours", func(j report.Job) any { return j.GPUHours }},
	{"idle_gpu_hours", func(j report.Job) any { return j.Idle }},
	{"lost_usd", func(j report.Job) any { return j.Lost }},
	{"fix", func(j report.Job) any { return j.Fix }},
	{"speedup", func(j report.Job) any { return j.Speedup }},
	{"speedup_at_most", func(j report.Job) any { return j.AtMost }},
	{"emulated", func(j report.Job) any { return j.Emulated }},
	{"ended", func(j report.Job) any { return j.Ended }},
	{"files", func(j report.Job) any { return strings.Join(j.Files, " ") }},
}

// WriteRunsCSV writes a row per job.
func WriteRunsCSV(w io.Writer, r report.Runs) error {
	rows := make([][]any, 1+len(r.Jobs))
	for _, c := range jobColumns {
		rows[0] = append(rows[0], c.name)
		for i, j := range r.Jobs {
			rows[1+i] = append(rows[1+i], c.value(j))
		}
	}
	return WriteCSV(w, rows)
}
