package nsight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"stoker/recording"
	"stoker/trace/nsight/sqlite"
	"stoker/trace/steps"
)

// Options say how a file is read. The zero value is what one wants.
type Options struct {
	// Most is how many events are kept, 0: mostEvents. Of a file with more, those
	// around the middle of the device's work are read, and a warning says so.
	Most int
}

// mostEvents bounds memory: an event takes 33 bytes on the host and 61 on the
// device, and the half again while it is sorted and judged.
const mostEvents = 2_000_000

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

// Read reads a file of size bytes. It stops at ctx and at a fault of the disk;
// damage is left out and said in a warning.
func Read(ctx context.Context, file io.ReaderAt, size int64, o Options) (*Trace, error) {
	db, err := sqlite.Open(file, size)
	if err != nil {
		var format *sqlite.FormatError
		if errors.As(err, &format) {
			return nil, &DamagedError{"it looks like an SQLite database, but " + format.Problem, exportAgain}
		}
		return nil, err
	}
	r := &reader{ctx: ctx, db: db, out: &Trace{Timeline: &recording.Timeline{}}, most: o.Most, dropped: map[string]int{}}
	if r.most <= 0 {
		r.most = mostEvents
	}
	r.check()
	if err := r.foreign(); err != nil {
		return nil, err
	}
	for _, part := range []func() error{r.census, r.enums, r.works, r.calls} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	if r.out.Events == 0 {
		return nil, &DamagedError{"no event was found in the Nsight Systems export", "record it again: nsys profile --trace=cuda,nvtx,osrt COMMAND"}
	}
	return r.out, r.finish()
}

// finish puts everything in order once all rows are read.
func (r *reader) finish() error {
	r.sortCalls()
	r.sortWorks()
	r.link()
	r.markSteps()
	r.zero()
	if err := r.facts(); err != nil {
		return err
	}
	if err := r.metrics(); err != nil {
		return err
	}
	r.out.Facts.Processes = r.processes()
	found, said := steps.Find(r.out.Timeline, r.out.Facts.Processes, noMarks)
	r.out.Steps = found
	r.out.Warnings = append(r.out.Warnings, said...)
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
	db      *sqlite.File
	out     *Trace
	most    int
	dropped map[string]int

	from, to int64          // the window, on the file's clock
	counts   map[string]int // events in the window by table
	base     int64          // t = 0 on the file's clock

	names   names
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
	if r.db.Promised > r.db.Size {
		r.warn("The file ends at byte %d, its header promises %d: it was cut, and what is left was read (%s).", r.db.Size, r.db.Promised, exportAgain)
	}
}

// foreign refuses databases of others.
func (r *reader) foreign() error {
	for _, t := range eventTables {
		if r.db.Tables[t] != nil {
			return nil
		}
	}
	if r.db.Tables["META_DATA_EXPORT"] != nil || r.db.Tables["StringIds"] != nil {
		return &ForeignError{"an Nsight Systems export without any table of CUDA, NVTX or OS events", "record with nsys profile --trace=cuda,nvtx,osrt COMMAND"}
	}
	if len(r.db.Tables) == 0 && r.db.Promised > r.db.Size {
		return &DamagedError{fmt.Sprintf("the database ends at byte %d of %d, before its first table", r.db.Size, r.db.Promised), exportAgain}
	}
	return &ForeignError{"an SQLite database that Nsight Systems did not write (" + tableNames(r.db) + ")", "give what nsys export --type sqlite wrote"}
}

func tableNames(db *sqlite.File) string {
	if len(db.Tables) == 0 {
		return "it has no table"
	}
	var names []string
	for name := range db.Tables {
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
// is said. In row the columns have their places in that order.
func (r *reader) scan(table string, must, may []string, row func(*sqlite.Row) error) error {
	t := r.db.Tables[table]
	if t == nil {
		return nil
	}
	var columns []int
	for i, name := range append(slices.Clone(must), may...) {
		c := t.Column(name)
		if c < 0 && i < len(must) {
			r.warn("The table %s has no column %s: it was left out. Its schema is newer or older than those that are known (3.16 to 3.25).", table, name)
			return nil
		}
		columns = append(columns, c)
	}
	damage, err := r.db.Scan(r.ctx, t, columns, row)
	if damage.Pages+damage.Rows > 0 {
		r.warn("The table %s is damaged or cut: %d pages and %d rows of it were left out.", table, damage.Pages, damage.Rows)
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
func (r *reader) span(row *sqlite.Row) (start, end int64, ok bool) {
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
