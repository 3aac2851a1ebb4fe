package nsight

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"

	lib "modernc.org/sqlite/lib"
)

// row is one row of a scan: the values of the columns that were asked for, in that
// order.
type row struct {
	id     int64 // its number
	values []any
	into   []any // pointers to id and values
}

func newRow(columns int) *row {
	r := &row{values: make([]any, columns)}
	r.into = append(r.into, &r.id)
	for i := range r.values {
		r.into = append(r.into, &r.values[i])
	}
	return r
}

// intAt is a whole number; false if the column is NULL, absent or something else.
func (r *row) intAt(i int) (int64, bool) {
	switch v := r.values[i].(type) {
	case int64:
		return v, true
	case float64:
		if n := int64(v); float64(n) == v && v < 1<<62 && v > -1<<62 {
			return n, true
		}
	}
	return 0, false
}

// floatAt is a number; NaN if the column is NULL, absent or something else.
func (r *row) floatAt(i int) float64 {
	switch v := r.values[i].(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}

// textAt is the bytes of a text; nil if the column is NULL, absent or something
// else. They may be no valid UTF-8.
func (r *row) textAt(i int) []byte {
	if v, ok := r.values[i].(string); ok {
		return []byte(v)
	}
	return nil
}

// selection is the part of a table to read: columns, "" for one that it lacks, which
// reads as NULL, and only rows whose column time is in [from, to), where time is
// not "".
type selection struct {
	columns  []string
	time     string
	from, to int64
}

// selectRows is the selection of rows with numbers from ?1 to ?2. Indices are left
// alone: the rows are wanted in file order, and an index may be damaged on its own.
func (s selection) selectRows(t *table) string {
	var q strings.Builder
	q.WriteString("SELECT _rowid_")
	for _, c := range s.columns {
		q.WriteString(", ")
		if c == "" {
			q.WriteString("NULL")
		} else {
			q.WriteString(quoteName(c))
		}
	}
	q.WriteString(" FROM main." + quoteName(t.name) + " NOT INDEXED WHERE _rowid_ BETWEEN ?1 AND ?2")
	if s.time != "" {
		fmt.Fprintf(&q, " AND %s >= %d AND %[1]s < %[3]d", quoteName(s.time), s.from, s.to)
	}
	return q.String()
}

func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// A table is read in parts of partRows rows: between them the user is heard and
// told of the progress, and damage in one is not the end of the others. Where rows
// have numbers far apart the parts are larger, so that there are at most mostParts.
const (
	partRows  = 1 << 12
	mostParts = 1 << 10
)

// heedRows is after how many rows the user is heard within a part: the longest may take
// some milliseconds each.
const heedRows = 64

// mostDamage is how many damaged places of a table are stepped over.
const mostDamage = 100

// scanTable calls each for every row of the selection, and after for every part with the
// share of the table that was read. It returns the number of damaged places, and
// stops at the first error of each, of ctx or of the disk.
func (d *database) scanTable(ctx context.Context, t *table, s selection, each func(*row) error,
	after func(share float64),
) (places int, err error) {
	if err := d.measure(ctx, t); err != nil || t.problem != "" || t.from > t.to {
		return 0, err
	}
	var statement *sql.Stmt
	err = d.recoverPanics(func() error { statement, err = d.conn.PrepareContext(ctx, s.selectRows(t)); return err })
	if err != nil {
		if spoilt(err) {
			return 1, nil
		}
		return 0, d.explain(ctx, err, ", table "+t.name)
	}
	defer func() { _ = d.recoverPanics(statement.Close) }()
	span := uint64(t.to) - uint64(t.from) // of rows, less one
	step := max(partRows, span/mostParts+1)
	r := newRow(len(s.columns))
	rows := int64(0)
	count := func(r *row) error {
		if rows++; rows > d.mostRows() {
			return errTooMany
		}
		return each(r)
	}
	skip := uint64(1)
	for at := uint64(0); at <= span; {
		last := at + min(step-1, span-at)
		seen, err := d.scanPart(ctx, statement, r, t.from+int64(at), t.from+int64(last), count)
		switch {
		case errors.Is(err, errTooMany):
			t.problem = tooMany
			return places, nil
		case err == nil:
			skip = 1
			at = last + 1
		case !spoilt(err):
			return places, d.explain(ctx, err, ", table "+t.name)
		default: // behind the damage, which may be a row or half of the table
			if seen {
				at, skip = uint64(r.id)-uint64(t.from), 1
			}
			if skip == 1 {
				places++
			}
			if places >= mostDamage {
				return places, nil
			}
			at += skip
			skip *= 2
		}
		if at == 0 { // all 2^64 numbers
			break
		}
		if after != nil {
			after(float64(min(at, span)) / float64(max(span, 1)))
		}
	}
	return places, nil
}

// errTooMany ends the scan of a table that returns more rows than its file can hold.
var errTooMany = errors.New(tooMany)

// scanPart reads the rows with numbers from first to last. seen: r holds the last one
// that could be read.
func (d *database) scanPart(ctx context.Context, statement *sql.Stmt, r *row, first, last int64,
	each func(*row) error,
) (seen bool, err error) {
	// The context is asked between rows and not given along, for then database/sql would
	// close the rows in another goroutine, which has no guard.
	var rows *sql.Rows
	err = d.recoverPanics(func() error {
		rows, err = statement.QueryContext(context.WithoutCancel(ctx), first, last)
		return err
	})
	if err != nil {
		return false, err
	}
	defer func() { _ = d.recoverPanics(rows.Close) }()
	more := false
	next := func() error {
		if more = rows.Next(); more {
			return rows.Scan(r.into...)
		}
		return rows.Err()
	}
	for n := 0; ; n++ {
		if n%heedRows == 0 && ctx.Err() != nil {
			return seen, ctx.Err()
		}
		if err := d.recoverPanics(next); err != nil || !more {
			return seen, err
		}
		seen = true
		if err := each(r); err != nil {
			return seen, err
		}
	}
}

// measure finds the numbers of a table's first and last row. Where the last one
// cannot be reached, since the file was cut before it, as many are tried as could fit
// into the file.
func (d *database) measure(ctx context.Context, t *table) error {
	if t.measured {
		return nil
	}
	t.measured = true
	if t.columnName("_rowid_") != "" {
		t.problem = "has a column _rowid_, which hides the numbers of rows"
		return nil
	}
	first, err := d.rowBound(ctx, t, "min")
	if sqliteCode(err) == lib.SQLITE_ERROR {
		t.problem = "has no numbers of rows"
		return nil
	}
	if err != nil && !spoilt(err) {
		return d.explain(ctx, err, ", table "+t.name)
	}
	last, err2 := d.rowBound(ctx, t, "max")
	if err2 != nil && !spoilt(err2) {
		return d.explain(ctx, err2, ", table "+t.name)
	}
	t.from, t.to = first.Int64, last.Int64
	switch {
	case err2 != nil:
		t.to = t.from + d.mostRows()
	case !last.Valid:
		t.from, t.to = 1, 0
	}
	return nil
}

func (d *database) rowBound(ctx context.Context, t *table, which string) (n sql.NullInt64, err error) {
	err = d.recoverPanics(func() error {
		return d.conn.QueryRowContext(ctx,
			"SELECT "+which+"(_rowid_) FROM main."+quoteName(t.name)+" NOT INDEXED").Scan(&n)
	})
	return n, err
}

// countRows is how many rows a table has; of a damaged one, how many can be read, and 0
// of one that is left out.
func (d *database) countRows(ctx context.Context, t *table) (n int64, err error) {
	err = d.recoverPanics(func() error {
		return d.conn.QueryRowContext(ctx,
			"SELECT count(*) FROM (SELECT 1 FROM main."+quoteName(t.name)+" NOT INDEXED LIMIT ?)", d.mostRows()+1).Scan(&n)
	})
	if n > d.mostRows() {
		t.problem = tooMany
		return 0, nil
	}
	if err == nil || !spoilt(err) {
		return n, d.explain(ctx, err, ", table "+t.name)
	}
	n = 0
	_, err = d.scanTable(ctx, t, selection{}, func(*row) error { n++; return nil }, nil)
	return n, err
}

// sampleRows calls each with the values of a column in most rows that are spread evenly
// over the table.
func (d *database) sampleRows(ctx context.Context, t *table, column string, most int, each func(*row)) error {
	if err := d.measure(ctx, t); err != nil || t.problem != "" || t.from > t.to {
		return err
	}
	l, err := d.prepare(ctx, t, column, "_rowid_ >= ? ORDER BY _rowid_ LIMIT 1")
	if err != nil || l == nil {
		return err
	}
	defer l.close()
	step := (uint64(t.to)-uint64(t.from))/uint64(most) + 1
	for i := range uint64(most) {
		if i*step > uint64(t.to)-uint64(t.from) {
			break
		}
		found, err := l.readRow(ctx, t.from+int64(i*step))
		switch {
		case err != nil && !spoilt(err):
			return d.explain(ctx, err, ", table "+t.name)
		case found:
			each(l.row)
		}
	}
	return nil
}

// lookup finds single rows of a table; a nil one finds none.
type lookup struct {
	d         *database
	statement *sql.Stmt
	row       *row
}

// prepareLookup prepares the look-up of a column by the number of the row.
func (d *database) prepareLookup(ctx context.Context, t *table, column string) (*lookup, error) {
	return d.prepare(ctx, t, column, "_rowid_ = ?")
}

// prepare is nil if the table cannot be asked so.
func (d *database) prepare(ctx context.Context, t *table, column, where string) (*lookup, error) {
	l := &lookup{d: d, row: newRow(1)}
	err := d.recoverPanics(func() (err error) {
		l.statement, err = d.conn.PrepareContext(ctx,
			"SELECT _rowid_, "+quoteName(column)+" FROM main."+quoteName(t.name)+" NOT INDEXED WHERE "+where)
		return err
	})
	if spoilt(err) {
		return nil, nil
	}
	if err != nil {
		return nil, d.explain(ctx, err, ", table "+t.name)
	}
	return l, nil
}

// readRow reads the first row that there is; short, so that it is not interrupted.
func (l *lookup) readRow(ctx context.Context, arg int64) (found bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	ctx = context.WithoutCancel(ctx)
	err = l.d.recoverPanics(func() error {
		rows, err := l.statement.QueryContext(ctx, arg)
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // what was read is read
		if found = rows.Next(); found {
			return rows.Scan(l.row.into...)
		}
		return rows.Err()
	})
	return found && err == nil, err
}

// textOf is the text in a row, nil without. A fault of the disk shows up in the next
// scan.
func (l *lookup) textOf(ctx context.Context, id int64) []byte {
	if found, _ := l.readRow(ctx, id); !found {
		return nil
	}
	return l.row.textAt(0)
}

func (l *lookup) close() {
	if l != nil {
		_ = l.d.recoverPanics(l.statement.Close)
	}
}
