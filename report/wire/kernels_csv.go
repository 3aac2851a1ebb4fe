package wire

import (
	"fmt"
	"io"
	"strconv"

	"github.com/stoker-dev/stoker/report"
)

// WriteKernelsCSV writes the kernels and collectives of the judged window in base units.
func WriteKernelsCSV(w io.Writer, r report.TraceReport) error {
	if r.Within.Grouped() {
		return groupsCSV(w, r)
	}
	rows := [][]string{{"kind", "name", "calls", "seconds", "bytes", "exposed_seconds"}}
	plain := func(ns int64) string { return strconv.FormatFloat(float64(ns)/1e9, 'g', -1, 64) }
	if d := r.JudgedDevice(); d != nil {
		for _, t := range report.ListComputing(r.Gaps.SumKernels(d)) {
			rows = append(rows, []string{t.Family.String(), r.Name(t.Name), fmt.Sprint(t.Count), plain(t.Time), "", ""})
		}
		for _, c := range r.Gaps.SumExchanges(d).Kinds {
			rows = append(rows, []string{
				"collective", r.Name(c.Name), fmt.Sprint(c.Count), plain(c.Time),
				fmt.Sprint(c.Bytes), plain(c.Exposed),
			})
		}
	}
	return WriteCSV(w, rows)
}

func groupsCSV(w io.Writer, r report.TraceReport) error {
	rows := [][]string{{string(r.Within), "kernel", "calls", "seconds"}}
	for _, g := range report.GroupKernels(r) {
		for _, k := range g.Kernels {
			rows = append(rows, []string{
				g.Name, r.Name(k.Name), fmt.Sprint(k.Count),
				strconv.FormatFloat(asSeconds(k.Time), 'g', -1, 64),
			})
		}
	}
	return WriteCSV(w, rows)
}
