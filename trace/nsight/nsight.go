package nsight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace/steps"
)

// Options say how a file is read. The zero value is what one wants.
type Options struct {
	// Most is how many events are kept, 0: mostEvents. Of a file with more, those
	// around the middle of the device's work are read, and a warning says so.
	Most int

	// Progress, where it is not nil, is told now and then which share of the file,
	// from 0 to 1, was read.
	Progress func(share float64)
}

// mostEvents bounds memory: an event takes 33 bytes on the host and 61 on the
// device, and the half again while it is sorted and judged.
const mostEvents = 1_200_000

// Trace is what one file holds. Times of the Timeline are nanoseconds since the
// first event that was kept.
type Trace struct {
	Timeline *recording.Timeline
	Facts    recording.Facts
	Steps    []recording.Step
	Series   []recording.Series // GPU metrics that were sampled
	Warnings []string           // sentences

	Zero   int64 // t = 0 on the file's own clock, ns; Unix time where Facts.Started is not 0
	Events int64 // rows of the tables of events
}

// ForeignError says that the file is a database that Nsight Systems did not write,
// or an export without what is needed.
type ForeignError struct {
	Format string // what it seems to be, "an SQLite database without …"
	Hint   string // what to do
}

func (e *ForeignError) Error() string { return "it is " + e.Format }

// DamagedError says that the file cannot be read at all.
type DamagedError struct {
	Problem string
	Hint    string // what to do
}

func (e *DamagedError) Error() string { return e.Problem }

const exportAgain = "export it again: nsys export --type sqlite --output FILE.sqlite FILE.nsys-rep"

// readDatabase reads all that is wanted.
func readDatabase(ctx context.Context, db *database, o Options) (*Trace, error) {
	r := &reader{ctx: ctx, db: db, out: &Trace{Timeline: &recording.Timeline{}}, most: o.Most, dropped: map[string]int{}, progress: o.Progress}
	if r.most <= 0 {
		r.most = mostEvents
	}
	r.check()
	if err := r.foreign(); err != nil {
		return nil, err
	}
	if err := r.openStrings(); err != nil {
		return nil, err
	}
	defer r.strings.close()
	for _, part := range []func() error{r.census, r.enums, r.works, r.calls} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	if r.out.Events == 0 {
		return nil, &DamagedError{"no event was found in the Nsight Systems export", "record it again: nsys profile --trace=cuda,nvtx,osrt COMMAND"}
	}
	r.outside()
	return r.out, r.finish()
}

// tell reports progress: done is what was read of a table's rows.
func (r *reader) tell(done float64) {
	if r.progress != nil {
		r.progress(min(1, (r.done+done)/float64(max(1, r.out.Events))))
	}
}

// finish puts everything in order once all rows are read.
func (r *reader) finish() error {
	r.sortCalls()
	r.sortWorks()
	r.link()
	r.zero()
	if err := r.facts(); err != nil {
		return err
	}
	if err := r.metrics(); err != nil {
		return err
	}
	r.out.Facts.Processes = r.processes()
	found := steps.Find(r.out.Timeline, r.out.Facts.Processes, "ProfilerStep marks", noMarks)
	r.out.Steps, r.out.Facts.StepsFrom = found.Steps, found.Rule
	r.out.Warnings = append(r.out.Warnings, found.Said...)
	r.doubts()
	if len(r.dropped) > 0 {
		r.out.Timeline.Dropped = r.dropped
	}
	return nil
}

const noMarks = `The file has no NVTX range that marks a step (torch.cuda.nvtx.range("step 1"), or emit_nvtx with prof.step())`

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

	names   names
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

func (r *reader) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); len(r.out.Warnings) < 40 && !slices.Contains(r.out.Warnings, text) {
		r.out.Warnings = append(r.out.Warnings, text)
	}
}

// check warns of a cut file.
func (r *reader) check() {
	if r.db.cut > 0 {
		r.warn("The file ends at byte %d, its header promises %d: it was cut, and what is left was read (%s).", r.db.size, r.db.cut, exportAgain)
	}
}

// foreign refuses databases of others.
func (r *reader) foreign() error {
	for _, t := range eventTables {
		if r.db.tables[t] != nil {
			return nil
		}
	}
	if r.db.tables["META_DATA_EXPORT"] != nil || r.db.tables["StringIds"] != nil {
		return &ForeignError{"an Nsight Systems export without any table of CUDA, NVTX or OS events", "record with nsys profile --trace=cuda,nvtx,osrt COMMAND"}
	}
	return &ForeignError{"an SQLite database that Nsight Systems did not write (" + tableNames(r.db) + ")", "give what nsys export --type sqlite wrote"}
}

func tableNames(db *database) string {
	if len(db.tables) == 0 {
		return "it has no table"
	}
	var names []string
	for name := range db.tables {
		names = append(names, clean([]byte(name), 40))
	}
	slices.Sort(names)
	more := ""
	if len(names) > 5 {
		names, more = names[:5], ", …"
	}
	return "its tables: " + strings.Join(names, ", ") + more
}

// scan reads columns of a table: first those that it must have, then those that it
// may have. A missing table is silent; a missing column leaves the table out and
// is said. In row the columns have their places in that order. Of tables of events,
// and of others whose first column is a time, SQLite picks the rows in the window.
func (r *reader) scan(table string, must, may []string, each func(*row) error) error {
	t := r.db.tables[table]
	if t == nil {
		return nil
	}
	var s selection
	for i, name := range append(slices.Clone(must), may...) {
		c := t.column(name)
		if c == "" && i < len(must) {
			r.warn("The table %s has no column %s: it was left out. Its schema is newer or older than those that are known (3.16 to 3.25).", table, name)
			return nil
		}
		s.columns = append(s.columns, c)
	}
	events := slices.Contains(eventTables, table)
	if r.narrow && (events || must[0] == "timestamp") {
		s.time, s.from, s.to = s.columns[0], r.from, r.to
	}
	places, err := r.db.scan(r.ctx, t, s, func(row *row) error {
		if events {
			r.seen++
		}
		return each(row)
	}, func(share float64) {
		if events && r.rows[table] > 0 {
			r.tell(float64(r.rows[table]) * share)
		}
	})
	r.done += float64(r.rows[table])
	if places > 0 {
		where := "at one place"
		if places > 1 {
			where = fmt.Sprintf("at %d places", places)
		}
		r.warn("The table %s is damaged or cut: %s rows of it were left out.", table, where)
	}
	if t.problem != "" {
		r.warn("The table %s %s: it was left out.", table, t.problem)
	}
	return err
}

// longestEvent and longestRun bound times. A profiling session of a month is
// damage.
const (
	longestRun = 30 * 86400e9
	latest     = 4e18 // year 2096, where times were normalised to the Unix epoch
)

// span reads start and end from the first two columns; false where they are out of
// the window or impossible.
func (r *reader) span(row *row) (start, end int64, ok bool) {
	start, ok1 := row.Int(0)
	if !ok1 || start < r.from || start >= r.to {
		return 0, 0, false
	}
	end, ok2 := row.Int(1)
	if !ok2 || end < start || end-start > longestRun {
		r.dropped["with an impossible time"]++
		return 0, 0, false
	}
	return start, end, true
}
