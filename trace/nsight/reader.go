package nsight

import (
	"context"
	"fmt"
	"slices"
)

// reader reads one file.
type reader struct {
	ctx     context.Context //nolint:containedctx // lives as long as one call of Read
	db      *database
	out     *Trace
	most    int
	dropped map[string]int

	from, to int64            // the window, on the file's clock
	narrow   bool             // not all events are in the window
	counts   map[string]int   // events in the window by table
	rows     map[string]int64 // rows of all tables of events
	seen     int64            // rows of events that SQLite handed out since the census

	progress func(float64)
	done     float64 // rows of tables that were read to their end
	base     int64   // t = 0 on the file's clock

	names   nameTable
	strings *lookup // texts of StringIds
	labels  enums
	threads map[int64]int32 // globalTid: index into Threads
	procs   map[int64]int   // globalPid: a small number
	devices map[deviceKey]int32
	keys    []uint64 // of each piece of work in file order: process and correlation id
	callKey []uint64 // of each call in file order, 0 without
	cuda    map[int32]bool
}

type deviceKey struct{ process, device int64 }

// addDamage records missing or impossible data of the file.
func (r *reader) addDamage(format string, args ...any) {
	text, f := fmt.Sprintf(format, args...), &r.out.Facts
	if len(f.Damage) < mostSentences && !slices.Contains(f.Damage, text) {
		f.Damage = append(f.Damage, text)
	}
	r.addWarning("%s", text)
}

// mostSentences is how many sentences on damage are kept of a file.
const mostSentences = 20

func (r *reader) addWarning(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); len(r.out.Warnings) < 40 && !slices.Contains(r.out.Warnings, text) {
		r.out.Warnings = append(r.out.Warnings, text)
	}
}

// tellProgress reports progress: done is what was read of a table's rows.
func (r *reader) tellProgress(done float64) {
	if r.progress != nil {
		r.progress(min(1, (r.done+done)/float64(max(1, r.out.Events))))
	}
}

// scanColumns reads columns of a table: first those that it must have, then those that it
// may have. A missing table is silent; a missing column leaves the table out and
// is said. In row the columns have their places in that order. Of tables of events,
// and of others whose first column is a time, SQLite picks the rows in the window.
func (r *reader) scanColumns(table string, must, may []string, each func(*row) error) error {
	t := r.db.tables[table]
	if t == nil {
		return nil
	}
	var s selection
	for i, name := range append(slices.Clone(must), may...) {
		c := t.columnName(name)
		if c == "" && i < len(must) {
			tell := r.addDamage
			if table == "TARGET_INFO_GPU" { // which names the device, and no more
				tell = r.addWarning
			}
			tell(
				"The table %s has no column %s: it was left out. Its schema is newer or older than those that "+
					"are known (3.16 to 3.25).", table, name)
			return nil
		}
		s.columns = append(s.columns, c)
	}
	events := slices.Contains(eventTables, table)
	if r.narrow && (events || must[0] == "timestamp") {
		s.time, s.from, s.to = s.columns[0], r.from, r.to
	}
	places, err := r.db.scanTable(r.ctx, t, s, func(row *row) error {
		if events {
			r.seen++
		}
		return each(row)
	}, func(share float64) {
		if events && r.rows[table] > 0 {
			r.tellProgress(float64(r.rows[table]) * share)
		}
	})
	r.done += float64(r.rows[table])
	if places > 0 {
		where := "at one place"
		if places > 1 {
			where = fmt.Sprintf("at %d places", places)
		}
		r.addDamage("The table %s is damaged or cut: %s rows of it were left out.", table, where)
	}
	if t.problem != "" {
		r.addDamage("The table %s %s: it was left out.", table, t.problem)
	}
	return err
}

// longestEvent and longestRun bound times. A profiling session of a month is
// damage.
const (
	longestRun = 30 * 86400e9
	latest     = 4e18 // year 2096, where times were normalised to the Unix epoch
)

// readSpan reads start and end from the first two columns; false if they are out of
// the window or impossible.
func (r *reader) readSpan(row *row) (start, end int64, ok bool) {
	start, ok1 := row.intAt(0)
	if !ok1 || start < r.from || start >= r.to {
		return 0, 0, false
	}
	end, ok2 := row.intAt(1)
	if !ok2 || end < start || end-start > longestRun {
		r.dropped["with an impossible time"]++
		return 0, 0, false
	}
	return start, end, true
}

// stringAt is the place of the text with a number in StringIds, as prepare makes
// it; -1 if the table has no such number. Each number is looked up once: its meaning
// does not depend on the caller, since calls, kernels and marks have
// separate texts.
func (r *reader) stringAt(id int64, prepare func([]byte) []byte) int32 {
	if at, found := r.names.byID[id]; found {
		return at
	}
	at := int32(-1)
	if r.strings != nil {
		if text := r.strings.textOf(r.ctx, id); text != nil {
			at = r.names.intern(prepare(text))
		}
	}
	if r.names.byID == nil {
		r.names.byID = map[int64]int32{}
	}
	r.names.byID[id] = at
	return at
}

// openStrings prepares the look-ups in StringIds, if the file has that table.
func (r *reader) openStrings() (err error) {
	t := r.db.tables["StringIds"]
	if t == nil || t.columnName("value") == "" {
		return nil
	}
	r.strings, err = r.db.prepareLookup(r.ctx, t, t.columnName("value"))
	return err
}

// enums are the meanings of numbers: the file's own, else those of schema 3.25.
type enums struct {
	copies     map[int64]string // direction of a copy, "HtoD"
	migrations map[int64]bool   // kinds of copies without a call: pages of managed memory move
	memory     map[int64]string // kind of memory, "Pinned"
	ranges     map[int64]bool   // NVTX event types that are ranges
	severity   map[int64]string // of a diagnostic
}

// Tables of events: first those of the device, then those of the host.
var (
	workTables = []string{
		"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
		"CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
	}
	callTables = []string{
		"CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER", "NVTX_EVENTS", "OSRT_API",
		"CUPTI_ACTIVITY_KIND_OVERHEAD", "PROFILER_OVERHEAD",
	}
	eventTables = slices.Concat(workTables, callTables)
)
