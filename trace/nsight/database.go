package nsight

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/stoker-dev/stoker/trace/columns"
)

// database is an export that SQLite has open. It is opened so that SQLite writes nothing,
// takes no lock and trusts nothing: of a stranger's file only the rows of real
// tables are read, its views, triggers and computed columns are never asked for (allow).
type database struct {
	file   string
	size   int64 // bytes there are
	cut    int64 // bytes that the header promises, if they are more; else 0
	db     *sql.DB
	conn   *sql.Conn
	tables map[string]*table // real tables by name
	listed bool              // tables has all of them
	broken error             // set once the library panicked: it is not called again
}

// table is one real table.
type table struct {
	name    string
	columns []string

	measured bool
	from, to int64 // the numbers of its first and last row; from > to if it is empty
	problem  string
}

// mostRows is more rows than a table of the file can have. Pages that belong to several
// places of a table make as many as somebody likes out of a few.
func (d *database) mostRows() int64 { return d.size / leastRow }

const (
	leastRow = 4 // bytes
	tooMany  = "has more rows than fit into the file"
)

// columnName is the table's own spelling of a column's name; "" without.
func (t *table) columnName(name string) string {
	for _, c := range t.columns {
		if strings.EqualFold(c, name) {
			return c
		}
	}
	return ""
}

const (
	magic      = "SQLite format 3\x00" // how every SQLite 3 file begins
	headerSize = 100
)

// header checks the length of a file before SQLite opens it: SQLite would call
// files that are cut malformed, and not say where they end.
// Source of the places: https://www.sqlite.org/fileformat2.html, 1.3.
func (d *database) header(f *os.File) error {
	var h [headerSize]byte
	if d.size < headerSize {
		return damaged(fmt.Sprintf("it ends at byte %d, within the header of %d bytes", d.size, headerSize))
	}
	if _, err := f.ReadAt(h[:], 0); err != nil {
		return err
	}
	page := int64(binary.BigEndian.Uint16(h[16:]))
	if page == 1 {
		page = 65536
	}
	if d.size < page {
		return damaged(fmt.Sprintf("it ends at byte %d, within its first page of %d bytes", d.size, page))
	}
	// The number of pages counts only where the writer kept it up to date.
	told := int64(binary.BigEndian.Uint32(h[28:])) * page
	if told > d.size && string(h[24:28]) == string(h[92:96]) {
		d.cut = told
	}
	return nil
}

func damaged(problem string) error {
	return &DamagedError{"it looks like an SQLite database, but " + problem, exportAgain}
}

// openDatabase opens a file and reads its list of tables.
func openDatabase(ctx context.Context, f *os.File) (*database, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	d := &database{file: f.Name(), size: info.Size(), tables: map[string]*table{}}
	if err := d.header(f); err != nil {
		return nil, err
	}
	address, err := address(d.file)
	if err != nil {
		return nil, err
	}
	if d.db, err = sql.Open("sqlite", address); err != nil {
		return nil, err
	}
	err = d.recoverPanics(func() error { d.conn, err = d.db.Conn(ctx); return err })
	if err == nil {
		err = d.recoverPanics(func() error { return d.conn.Raw(d.ask) })
	}
	if err == nil {
		err = d.recoverPanics(func() error { return d.restrict(ctx) })
	}
	if err == nil {
		err = d.schema(ctx)
	}
	if err != nil {
		d.close()
		return nil, d.explain(ctx, err, "")
	}
	return d, nil
}

// address is the file's URI. immutable: SQLite takes no lock and expects no
// journal next to it; quiet has checked that before.
func address(file string) (string, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	if path = filepath.ToSlash(path); !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	path = strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path) // https://www.sqlite.org/uri.html
	return "file://" + path + "?mode=ro&immutable=1", nil
}

// Limits of a stranger's file; SQLite's own are meant for trusted ones
// (https://www.sqlite.org/security.html).
const (
	longestRow    = 4 << 20
	longestSchema = 1 << 20 // bytes of one CREATE TABLE
	mostColumns   = 2000
	mostTables    = 10_000 // Nsight writes fewer than 200
)

// restrict sets limits before the first statement reads the file.
func (d *database) restrict(ctx context.Context) error {
	for limit, most := range map[int]int{
		lib.SQLITE_LIMIT_LENGTH: longestRow, lib.SQLITE_LIMIT_SQL_LENGTH: longestSchema,
		lib.SQLITE_LIMIT_COLUMN:     mostColumns,
		lib.SQLITE_LIMIT_EXPR_DEPTH: 100, lib.SQLITE_LIMIT_ATTACHED: 0, lib.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
		lib.SQLITE_LIMIT_WORKER_THREADS: 0,
	} {
		if _, err := sqlite.Limit(d.conn, limit, most); err != nil {
			return err
		}
	}
	settings := []string{
		"query_only = 1", "trusted_schema = 0", "cell_size_check = 1", "mmap_size = 0",
		"cache_size = -8000", "temp_store = 2",
	}
	if d.cut > 0 {
		// SQLite refuses a file that is shorter than its header tells, except with
		// this setting, which is there to rescue such files. Nothing can be written
		// by it: the file is open for reading only.
		settings = append([]string{"writable_schema = 1"}, settings...)
	}
	// As one text: cache_size reads the file's list of tables, and only a statement behind
	// another one ends with the context. A list may have no end, too.
	_, err := d.conn.ExecContext(ctx, "PRAGMA "+strings.Join(settings, ";\nPRAGMA "))
	return err
}

// schema lists the real tables and their columns, as SQLite itself understands them. Views
// run the file's own queries, virtual tables code of their module, and computed columns
// the file's own expressions: table_list tells the first two apart, and table_info leaves
// the last out. Until all are listed allow refuses every SELECT, so that none is run.
func (d *database) schema(ctx context.Context) error {
	var names []string
	listed := 0
	err := d.eachRow(ctx, "PRAGMA main.table_list", func(values []any) error {
		name, _ := values[1].(string)
		if values[2] == "table" && !strings.HasPrefix(name, "sqlite_") {
			names = append(names, name)
		}
		if listed++; listed > mostTables {
			return damaged(fmt.Sprintf("it lists more than %d tables", mostTables))
		}
		return nil
	})
	if err != nil && len(names) == 0 {
		return err
	}
	for _, name := range names {
		t := &table{name: name}
		err := d.eachRow(ctx, "PRAGMA main.table_info("+quoteName(name)+")", func(values []any) error {
			column, _ := values[1].(string)
			t.columns = append(t.columns, column)
			return nil
		})
		if ctx.Err() != nil || d.broken != nil {
			return err
		}
		if err == nil && len(t.columns) > 0 {
			d.tables[name] = t
		}
	}
	switch {
	case len(d.tables) > 0:
	case d.cut > 0:
		return d.endsInList()
	case len(names) > 0:
		return damaged("its list of tables is damaged or encrypted")
	}
	d.nameNewer()
	d.listed = true
	return nil
}

// newerTable is the name of a table whose schema got a number: NVTX_EVENTS_V2.
var newerTable = regexp.MustCompile(`^([A-Z][A-Z0-9_]*)_V([0-9]{1,3})$`)

// nameNewer gives tables with a numbered schema their name without it as well, unless the file
// has a table of that name. The newest one gets it.
func (d *database) nameNewer() {
	newest := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(d.tables)) {
		found := newerTable.FindStringSubmatch(name)
		if found == nil {
			continue
		}
		base := found[1]
		n, _ := strconv.Atoi(found[2])
		if t := d.tables[base]; (t == nil || t.name != base) && n > newest[base] {
			d.tables[base], newest[base] = d.tables[name], n
		}
	}
}

// ask lets a connection ask allow before it prepares a statement.
func (d *database) ask(connection any) error {
	c, ok := connection.(sqlite.AuthorizerRegisterer)
	if !ok {
		return errors.New("this SQLite asks nobody before it runs what a file says")
	}
	return c.RegisterAuthorizer(d.allow)
}

// allow says to SQLite what a statement may do: read columns of real tables, count their
// rows and find the first and last. Nothing else is ever prepared, by us or by the file.
func (d *database) allow(
	action sqlite.AuthorizerActionCode, table, function, _, view string,
) sqlite.AuthorizerReturnCode {
	fine := false
	switch action {
	default:
	case sqlite.AuthPragma:
		fine = true // ours: a schema holds none
	case sqlite.AuthSelect:
		fine = d.listed
	case sqlite.AuthRead:
		t := d.tables[table]
		fine = t != nil && t.name == table && view == ""
	case sqlite.AuthFunction:
		fine = slices.Contains([]string{"count", "min", "max"}, function)
	}
	if fine {
		return sqlite.AuthorizerOK
	}
	return sqlite.AuthorizerDeny
}

// eachRow calls each with the values of every row of a query, until it errs.
func (d *database) eachRow(ctx context.Context, query string, each func([]any) error) error {
	return d.recoverPanics(func() error {
		rows, err := d.conn.QueryContext(ctx, query)
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // what was read is read
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		r := newRow(len(columns))
		for rows.Next() {
			if err := rows.Scan(r.into[1:]...); err != nil {
				return err
			}
			if err := each(r.values); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// recoverPanics calls the library. Its code was translated from C and reads memory by
// address, so that a file that was made to break SQLite may end in a panic there,
// which must not end the program. The connection is in an unknown state then: it
// is neither used again nor closed, since the panic may have left it locked.
// Faults of memory are panics only while SetPanicOnFault holds: see ReadFile.
func (d *database) recoverPanics(call func() error) (err error) {
	if d.broken != nil {
		return d.broken
	}
	defer func() {
		if p := recover(); p != nil {
			d.broken = damaged(fmt.Sprintf("SQLite stopped while reading it (%.200v)", p))
			err = d.broken
		}
	}()
	return call()
}

// close gives the file back. What fails in it no longer matters.
func (d *database) close() {
	_ = d.recoverPanics(func() error {
		if d.conn != nil {
			_ = d.conn.Close()
		}
		return d.db.Close()
	})
}

// panicOnFault makes faults of memory in this goroutine panics that guard sees;
// the function that it returns ends that.
func panicOnFault() func() {
	before := debug.SetPanicOnFault(true)
	return func() { debug.SetPanicOnFault(before) }
}

// sqliteCode is SQLite's number of an error without its details; 0 for errors of others.
func sqliteCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// spoilt reports whether an error comes from the file's content: other parts of
// it may still be read. SQLITE_ERROR is one of them: our own SQL is always the
// same, but the page that it refers to is not.
func spoilt(err error) bool {
	switch sqliteCode(err) {
	case lib.SQLITE_ERROR, lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_TOOBIG, lib.SQLITE_FORMAT:
		return true
	}
	return false
}

func (d *database) endsInList() error {
	return damaged(fmt.Sprintf("it ends at byte %d of %d, within its list of tables", d.size, d.cut))
}

// explain says in a sentence what SQLite says in a word; at is ", table X", or ""
// while the list of tables is read.
func (d *database) explain(ctx context.Context, err error, at string) error {
	var own *DamagedError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &own):
		return err
	case err == nil:
		return nil
	case at == "" && spoilt(err) && d.cut > 0:
		return d.endsInList()
	case at == "" && spoilt(err):
		return damaged(fmt.Sprintf("its list of tables is damaged or encrypted (SQLite: %s)",
			columns.CleanText([]byte(err.Error()), 120)))
	case sqliteCode(err) != 0:
		return fmt.Errorf("read %s%s: SQLite: %w", d.file, at, err)
	}
	return err
}
