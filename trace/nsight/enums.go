package nsight

import (
	"strings"

	"github.com/stoker-dev/stoker/trace/columns"
)

func (r *reader) readEnums() error {
	l := &r.labels
	l.copies = map[int64]string{
		1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA",
		8: "DtoD", 9: "HtoH", 10: "PtoP", 11: "HtoD", 12: "DtoH", 13: "DtoD",
	}
	l.migrations = map[int64]bool{11: true, 12: true, 13: true}
	l.memory = map[int64]string{
		0: "Pageable", 1: "Pinned", 2: "Device", 3: "Array", 4: "Managed",
		5: "Device Static", 6: "Managed Static", 7: "Unknown",
	}
	l.ranges = map[int64]bool{59: true, 60: true, 70: true, 71: true}
	l.severity = map[int64]string{1: "Info", 2: "Warning", 3: "Error"}
	read := []struct {
		table string
		clear func()
		entry func(id int64, name, label string)
	}{
		{
			"ENUM_CUDA_MEMCPY_OPER", func() { clear(l.copies); clear(l.migrations) },
			func(id int64, name, _ string) {
				l.copies[id], l.migrations[id] = directionName(name), strings.Contains(name, "_KIND_UVM_")
			},
		},
		{"ENUM_CUDA_MEM_KIND", func() { clear(l.memory) }, func(id int64, _, label string) { l.memory[id] = label }},
		{
			"ENUM_NSYS_EVENT_TYPE", func() { clear(l.ranges) },
			func(id int64, name, _ string) { l.ranges[id] = nvtxRange(name) },
		},
		{
			"ENUM_DIAGNOSTIC_SEVERITY_LEVEL", func() { clear(l.severity) },
			func(id int64, name, _ string) { l.severity[id] = name },
		},
	}
	for _, e := range read {
		first := true
		err := r.scanColumns(e.table, []string{"id", "name"}, []string{"label"}, func(row *row) error {
			id, ok := row.intAt(0)
			if !ok {
				return nil
			}
			if first {
				e.clear()
				first = false
			}
			if len(l.copies)+len(l.memory)+len(l.ranges)+len(l.severity) < 10_000 {
				e.entry(id, columns.CleanText(row.textAt(1), 80), columns.CleanText(row.textAt(2), 40))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// directionName is "HtoD" for CUDA_MEMCPY_KIND_HTOD and CUDA_MEMCPY_KIND_UVM_HTOD; ""
// for a name of another form.
func directionName(name string) string {
	_, kind, _ := strings.Cut(name, "_KIND_")
	kind = strings.TrimPrefix(kind, "UVM_")
	from, to, found := strings.Cut(kind, "TO")
	if !found || len(from) != 1 || len(to) != 1 {
		return ""
	}
	return from + "to" + to
}

// nvtxRange reports whether an event type is a range with an end: NvtxPushPopRange
// and NvtxStartEndRange, not their four halves.
func nvtxRange(name string) bool {
	return strings.HasSuffix(name, "PushPopRange") || strings.HasSuffix(name, "StartEndRange")
}

// sides are what the letters of a copy's direction stand for where the kinds of
// memory are not told.
var sides = map[byte]string{'H': "Host", 'D': "Device", 'A': "Array", 'P': "Device"}

// copyName is a copy in the words of PyTorch's profiler: "Memcpy HtoD (Pageable ->
// Device)". A page of managed memory that moves because somebody touched it is one to or from Managed.
func (l *enums) copyName(kind, from, to int64) string {
	way := l.copies[kind]
	if way == "" {
		return "Memcpy"
	}
	side := func(memory int64, letter byte) string {
		if l.migrations[kind] && letter == 'H' {
			return "Managed"
		}
		if name := l.memory[memory]; name != "" && name != "Unknown" {
			return name
		}
		return sides[letter]
	}
	return "Memcpy " + way + " (" + side(from, way[0]) + " -> " + side(to, way[len(way)-1]) + ")"
}
