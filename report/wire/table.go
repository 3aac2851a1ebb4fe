package wire

import (
	"io"
	"strings"
)

// WriteTable writes rows as one object with a list of objects, keyed by the heading.
func WriteTable(w io.Writer, name string, rows [][]string) error {
	all := []map[string]string{}
	for _, row := range rows[1:] {
		o := map[string]string{}
		for i, cell := range row {
			o[strings.ReplaceAll(rows[0][i], " ", "_")] = cell
		}
		all = append(all, o)
	}
	fields := map[string]any{"schema": schema, name: all}
	return WriteObject(w, fields)
}
