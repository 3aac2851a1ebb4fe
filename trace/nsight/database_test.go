package nsight

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// opened is a database of a test; close it before the file changes.
func opened(t *testing.T, file string) *database {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := openDatabase(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.close)
	return d
}

func numbers(t *testing.T, d *database, table, column string) (out []int64, places int) {
	t.Helper()
	places, err := d.scanTable(context.Background(), d.tables[table], selection{columns: []string{column}}, func(r *row) error {
		n, _ := r.intAt(0)
		out = append(out, n)
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out, places
}

// TestOnlyRealTables: views, triggers, virtual tables and computed columns of a
// stranger's file are never asked for, and odd names are only names.
func TestOnlyRealTables(t *testing.T) {
	d := opened(t, variant(t,
		`CREATE TABLE "odd ""name" ("a ""b" INTEGER, c INTEGER AS ("a ""b" + 1))`, `INSERT INTO "odd ""name" VALUES (7)`,
		"CREATE VIEW OVERHEAD AS SELECT * FROM NVTX_EVENTS", "CREATE TRIGGER g AFTER INSERT ON OSRT_API BEGIN DELETE FROM StringIds; END",
		"CREATE VIRTUAL TABLE CUPTI_ACTIVITY_KIND_MEMSET USING fts5(start, end)",
		"CREATE TABLE w (n INTEGER PRIMARY KEY, m) WITHOUT ROWID", "INSERT INTO w VALUES (1, 2)", "CREATE TABLE h (_rowid_ INTEGER)",
	))
	for _, absent := range []string{"OVERHEAD", "g", "CUPTI_ACTIVITY_KIND_MEMSET"} {
		if d.tables[absent] != nil {
			t.Errorf("%s is among the tables", absent)
		}
	}
	odd := d.tables[`odd "name`]
	if odd == nil || !slices.Equal(odd.columns, []string{`a "b`}) {
		t.Fatalf("%+v", odd)
	}
	if got, places := numbers(t, d, odd.name, `a "b`); !slices.Equal(got, []int64{7}) || places != 0 {
		t.Errorf("%v, %d damaged places", got, places)
	}
	for table, problem := range map[string]string{"w": "no numbers of rows", "h": "hides the numbers"} {
		if got, _ := numbers(t, d, table, ""); len(got) != 0 || !strings.Contains(d.tables[table].problem, problem) {
			t.Errorf("%s: %v, %q", table, got, d.tables[table].problem)
		}
	}
	if _, err := d.conn.ExecContext(context.Background(), "CREATE TABLE x (n)"); err == nil {
		t.Error("the file can be written")
	}
}

// TestFarApart: rows with numbers far apart are found, all of them, soon.
func TestFarApart(t *testing.T) {
	d := opened(t, variant(t, "CREATE TABLE far (n INTEGER PRIMARY KEY)", "INSERT INTO far VALUES (-9223372036854775808), (-5), (0), (40000), (1099511627776), (9223372036854775807)"))
	got, places := numbers(t, d, "far", "n")
	if !slices.Equal(got, []int64{-1 << 63, -5, 0, 40000, 1 << 40, 1<<63 - 1}) || places != 0 {
		t.Errorf("%v, %d damaged places", got, places)
	}
}

// TestHole: behind damaged pages the reading goes on.
func TestHole(t *testing.T) {
	file := variant(t, "CREATE TABLE many (n INTEGER, text TEXT)",
		"INSERT INTO many SELECT n, 'row ' || n FROM (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 30000) SELECT n FROM c)")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	middle := len(data) / 2 / 512 * 512
	for i := range 3 * 512 {
		data[middle+i] = 0xaa
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	got, places := numbers(t, opened(t, file), "many", "n")
	if places == 0 || len(got) < 25000 || len(got) >= 30000 || got[len(got)-1] != 30000 || !slices.IsSorted(got) {
		t.Errorf("%d rows, %d damaged places", len(got), places)
	}
}

// TestNoLoops: pages that refer to each other in a circle end.
func TestNoLoops(t *testing.T) {
	file := variant(t, "CREATE TABLE many (n INTEGER, text TEXT)",
		"INSERT INTO many SELECT n, 'row ' || n FROM (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 30000) SELECT n FROM c)")
	root := rootOf(t, file, "many")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := data[(root-1)*512 : root*512]
	if page[0] != 5 {
		t.Fatal("the root is no inner page")
	}
	copy(page[8:], []byte{0, 0, byte(root >> 8), byte(root)}) // its last child is itself
	for i := range int(page[3])<<8 | int(page[4]) {
		at := int(page[12+2*i])<<8 | int(page[13+2*i])
		copy(page[at:], []byte{0, 0, byte(root >> 8), byte(root)})
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, places := numbers(t, opened(t, file), "many", "n"); places == 0 {
		t.Errorf("%d rows, no damage", len(got))
	}
}

// TestOddPaths: characters that mean something in a URI are part of a name.
func TestOddPaths(t *testing.T) {
	data, err := os.ReadFile("testdata/made.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a b.sqlite", "100%41.sqlite", "x?mode=rwc&immutable=0.sqlite", "y#z.sqlite", "file:q", "é;PRAGMA.sqlite"} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, data, 0o400); err != nil {
			t.Fatal(err)
		}
		read(t, file)
		if entries, _ := os.ReadDir(filepath.Dir(file)); len(entries) != 1 {
			t.Errorf("beside %q lie %v", name, entries)
		}
	}
}

// TestLogged: an export that was left in the mode of the write-ahead log, with
// nothing in it, is read, and no log is made for it.
func TestLogged(t *testing.T) {
	data, err := os.ReadFile("testdata/made.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	data[18], data[19] = 2, 2
	file := filepath.Join(t.TempDir(), "wal.sqlite")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if tr := read(t, file); len(tr.Timeline.Device.Start) != 18 {
		t.Errorf("%d pieces of work", len(tr.Timeline.Device.Start))
	}
	if entries, _ := os.ReadDir(filepath.Dir(file)); len(entries) != 1 {
		t.Errorf("beside the file lie %v", entries)
	}
}

// TestStops: an error of the caller and the end of the context end a scan, the
// latter also within one long query.
func TestStops(t *testing.T) {
	d := opened(t, variant(t, "CREATE TABLE many (n INTEGER)",
		"INSERT INTO many SELECT n FROM (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100000) SELECT n FROM c)"))
	n := 0
	_, err := d.scanTable(context.Background(), d.tables["many"], selection{}, func(*row) error { n++; return os.ErrClosed }, nil)
	if !errors.Is(err, os.ErrClosed) || n != 1 {
		t.Errorf("%d rows, %v", n, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n = 0
	_, err = d.scanTable(ctx, d.tables["many"], selection{}, func(*row) error { n++; cancel(); return nil }, nil)
	if !errors.Is(err, context.Canceled) || n > heedRows {
		t.Errorf("%d rows, %v", n, err)
	}
	if _, err := d.countRows(ctx, d.tables["many"]); !errors.Is(err, context.Canceled) {
		t.Errorf("a count that nobody waits for: %v", err)
	}
}

// TestPanic: a panic in the library is an error, and the library is left alone
// after it.
func TestPanic(t *testing.T) {
	d := opened(t, "testdata/made.sqlite")
	var none *DamagedError
	if err := d.recoverPanics(func() error { panic("fault") }); !errors.As(err, &none) || !strings.Contains(none.Problem, "SQLite stopped") {
		t.Errorf("%v", err)
	}
	if _, err := d.countRows(context.Background(), d.tables["OSRT_API"]); !errors.As(err, &none) {
		t.Errorf("after a panic: %v", err)
	}
}

// TestSampled: where a table is too long to be looked at row by row, the window is
// found from samples, and holds what it would else.
func TestSampled(t *testing.T) {
	file := variant(t, "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT start + 100000 * n, start + 100000 * n + 50000, deviceId, streamId, correlationId + 100 * n, globalPid, demangledName, shortName, 1, 1, 1, 1, 1, 1, NULL "+
		"FROM CUPTI_ACTIVITY_KIND_KERNEL, (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5000) SELECT n FROM c)")
	tr, err := open(t, file, Options{Most: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	sound(t, tr)
	n := len(tr.Timeline.Device.Start) + len(tr.Timeline.Host.Start)
	if n < 15_000 || n > 21_000 || n+tr.Timeline.Dropped["outside of the part that was read"] != int(tr.Events) {
		t.Errorf("%d kept of %d, dropped %v", n, tr.Events, tr.Timeline.Dropped)
	}
	for _, kind := range tr.Timeline.Device.Kind {
		if kind == recording.Copy {
			t.Error("a copy of the first 40 ms is in the middle")
		}
	}
}
