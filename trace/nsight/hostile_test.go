package nsight

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"modernc.org/sqlite"
)

const (
	memset = "CUPTI_ACTIVITY_KIND_MEMSET"
	// numbersOf is a query of the file that would give five rows of memset.
	numbersOf = "WITH RECURSIVE r(start) AS (SELECT 20000000 UNION ALL SELECT start + 1000 FROM r LIMIT 5) SELECT start, start + 500 AS end, 0 AS deviceId, 7 AS streamId FROM r"
)

// rewritten changes what a schema says of an object, as SQLite itself would not.
func rewritten(name, to string) []string {
	return []string{
		"PRAGMA writable_schema = ON",
		fmt.Sprintf("UPDATE sqlite_schema SET sql = '%s' WHERE name = '%s'", strings.ReplaceAll(to, "'", "''"), name),
	}
}

// A stranger's views and modules are never asked for, however their schema is written: one
// of them may have no end.
func TestNothingOfTheFileRuns(t *testing.T) {
	view := "CREATE VIEW v AS " + numbersOf
	module := " TABLE " + memset + " USING fts5(start, end, deviceId, streamId, content='v', content_rowid='start')"
	table := "CREATE TABLE " + memset + " (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER)"
	virtual := []string{view, "CREATE VIRTUAL" + module}
	bloom := []string{"CREATE VIEW v0 AS SELECT * FROM OSRT_API"}
	for n := range 40 {
		bloom = append(bloom, fmt.Sprintf("CREATE VIEW v%d AS SELECT * FROM v%d UNION ALL SELECT * FROM v%[2]d", n+1, n))
	}
	for name, changes := range map[string][]string{
		"a module":                      virtual,
		"two blanks":                    append(virtual, rewritten(memset, "CREATE  VIRTUAL"+module)...),
		"a tab":                         append(virtual, rewritten(memset, "CREATE\tVIRTUAL"+module)...),
		"a comment":                     append(virtual, rewritten(memset, "CREATE/* TABLE */VIRTUAL"+module)...),
		"another":                       append(virtual, rewritten(memset, "CREATE -- TABLE\nVIRTUAL"+module)...),
		"small letters":                 append(virtual, rewritten(memset, "create virtual"+module)...),
		"a view":                        {"CREATE VIEW " + memset + " AS " + numbersOf},
		"a view that is called a table": append([]string{table}, rewritten(memset, "CREATE VIEW "+memset+" AS "+numbersOf)...),
		"another's name": append(append([]string{table, "CREATE VIEW v AS " + numbersOf},
			rewritten(memset, "CREATE TABLE w (start INTEGER)")...), rewritten("v", "CREATE VIEW "+memset+" AS "+numbersOf)...),
		"a module with a root page": append(append([]string{}, virtual...), "PRAGMA writable_schema = ON",
			"UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'OSRT_API') WHERE name = '"+memset+"'"),
		"views of views of views": bloom,
	} {
		for _, cut := range []bool{false, true} { // of a cut file SQLite believes more
			t.Run(fmt.Sprintf("%s, cut %v", name, cut), func(t *testing.T) {
				file := variant(t, changes...)
				if cut {
					promiseMore(t, file)
				}
				tr, err := open(t, file, Options{})
				var refused *DamagedError
				if err != nil && !errors.As(err, &refused) {
					t.Fatal(err)
				}
				if err == nil && len(tr.Timeline.Device.Start) != 18 {
					t.Errorf("%d pieces of work, 18 are in tables", len(tr.Timeline.Device.Start))
				}
			})
		}
	}
}

// promiseMore lets a file's header tell of more pages than there are.
func promiseMore(t *testing.T, file string) {
	t.Helper()
	changeFile(t, file, func(data []byte) []byte {
		binary.BigEndian.PutUint32(data[28:], uint32(len(data)/512+9))
		copy(data[92:96], data[24:28])
		return data
	})
}

func changeFile(t *testing.T, file string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, change(data), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Pages that are children of several others make rows without end out of a small file. The
// table is left out, and the rest is read.
func TestRowsThatDoNotFit(t *testing.T) {
	file := variant(t, "CREATE TABLE "+memset+" (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER)",
		"INSERT INTO "+memset+" SELECT n, n + 1, 0, 7 FROM (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3000) SELECT n FROM c)")
	root := rootOf(t, file, memset)
	changeFile(t, file, func(data []byte) []byte {
		old := data[(root-1)*512 : root*512]
		if old[0] != 5 {
			t.Fatal("the root is no inner page")
		}
		child := binary.BigEndian.Uint32(old[8:]) // a leaf
		for range 17 {
			data = append(data, innerPage(child, 0)...)
			child = uint32(len(data) / 512)
		}
		copy(data[(root-1)*512:], innerPage(child, 0))
		binary.BigEndian.PutUint32(data[28:], uint32(len(data)/512))
		return data
	})
	tr := read(t, file)
	if len(tr.Timeline.Device.Start) != 18 {
		t.Errorf("%d pieces of work", len(tr.Timeline.Device.Start))
	}
	says(t, tr, "The table "+memset+" has more rows than fit into the file: it was left out.")
}

// innerPage is a page of a table whose children are all the same page. The first page has
// a header before it.
func innerPage(child uint32, header int) []byte {
	const cells = 50
	page := make([]byte, 512)
	at := page[header:]
	at[0] = 5
	binary.BigEndian.PutUint16(at[3:], cells)
	binary.BigEndian.PutUint16(at[5:], 512-5*cells)
	binary.BigEndian.PutUint32(at[8:], child)
	for i := range cells {
		cell := 512 - 5*(i+1)
		binary.BigEndian.PutUint16(at[12+2*i:], uint16(cell))
		binary.BigEndian.PutUint32(page[cell:], child)
		page[cell+4] = byte(i + 1) // the row's number
	}
	return page[header:]
}

// rootOf is the page at which a table begins.
func rootOf(t *testing.T, file, table string) (root int) {
	t.Helper()
	d := opened(t, file)
	defer d.close()
	if err := d.conn.Raw(func(c any) error { return c.(sqlite.AuthorizerRegisterer).RegisterAuthorizer(nil) }); err != nil {
		t.Fatal(err)
	}
	if err := d.conn.QueryRowContext(context.Background(), "SELECT rootpage FROM sqlite_schema WHERE name = ?", table).Scan(&root); err != nil {
		t.Fatal(err)
	}
	return root
}

// A file that takes longer than any of its size is given up, by the beats of a clock.
func TestReadingHasAnEnd(t *testing.T) {
	f, err := os.Open("testdata/made.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := limitSeconds(t.Context(), f)
		defer stop()
		time.Sleep((leastSeconds - 1) * time.Second)
		synctest.Wait()
		if ctx.Err() != nil {
			t.Errorf("given up early: %v", context.Cause(ctx))
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		d := &database{}
		var damage *DamagedError
		if err := d.explain(ctx, ctx.Err(), ""); !errors.As(err, &damage) || !strings.Contains(damage.Problem, "takes longer to read") {
			t.Errorf("%v", err)
		}
	})
}

// A list of tables without end is left when the user says so.
func TestListOfTablesWithoutEnd(t *testing.T) {
	file := variant(t, "CREATE TABLE more (n INTEGER)")
	changeFile(t, file, func(data []byte) []byte {
		if data[100] != 5 {
			t.Fatal("the first page is no inner page")
		}
		child := binary.BigEndian.Uint32(data[108:])
		for range 17 {
			data = append(data, innerPage(child, 0)...)
			child = uint32(len(data) / 512)
		}
		copy(data[100:], innerPage(child, 100))
		binary.BigEndian.PutUint32(data[28:], uint32(len(data)/512))
		return data
	})
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := ReadFile(ctx, f, Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}
