package wire

import (
	"io"

	"github.com/stoker-dev/stoker/report"
)

// WriteKernelsCSV writes the kernels and collectives of the judged window in base units.
func WriteKernelsCSV(w io.Writer, r report.TraceReport) error {
	if r.Within.Grouped() {
		return groupsCSV(w, r)
	}
	rows := [][]any{{"kind", "name", "calls", "seconds", "bytes", "exposed_seconds"}}
	if d := r.JudgedDevice(); d != nil {
		for _, t := range report.ListComputing(r.Gaps.SumKernels(d)) {
			rows = append(rows, []any{t.Family, r.Name(t.Name), t.Count, asSeconds(t.Time), "", ""})
		}
		for _, c := range r.Gaps.SumExchanges(d).Kinds {
			rows = append(rows, []any{
				"collective", r.Name(c.Name), c.Count, asSeconds(c.Time), c.Bytes, asSeconds(c.Exposed),
			})
		}
	}
	return WriteCSV(w, rows)
}

func groupsCSV(w io.Writer, r report.TraceReport) error {
	rows := [][]any{{string(r.Within), "kernel", "calls", "seconds"}}
	for _, g := range report.GroupKernels(r) {
		for _, k := range g.Kernels {
			rows = append(rows, []any{g.Name, r.Name(k.Name), k.Count, asSeconds(k.Time)})
		}
	}
	return WriteCSV(w, rows)
}
