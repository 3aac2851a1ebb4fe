package export

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/stoker-dev/stoker/internal/table"
)

type numbered struct{ n int }

// kinds has a column of each kind, each with values that are not known.
var kinds = []table.Column[numbered]{
	{Name: "number", Kind: table.Number, Value: func(r numbered) any { return [...]float64{0.5, math.NaN(), -1e300, math.Inf(1)}[r.n%4] }},
	{Name: "moment", Kind: table.Moment, Value: func(r numbered) any { return [...]float64{1763800000.25, 0, 1e300, -1.5}[r.n%4] }},
	{Name: "count", Kind: table.Count, Value: func(r numbered) any {
		if r.n%5 == 4 {
			return nil
		}
		return r.n - 1000
	}},
	{Name: "flag", Kind: table.Flag, Value: func(r numbered) any { return r.n%3 == 0 }},
	{Name: "text", Kind: table.Text, Value: func(r numbered) any { return [...]string{"a", "", "gräß\x00\"", "\xff"}[r.n%4] }},
	{Name: "a_unknown", Kind: table.Text, Value: func(numbered) any { return nil }},
}

// What is in the file is what was written, column by column in their order, in as many
// groups as there have to be. bench/bulk/readback.py has DuckDB and Arrow read such files.
func TestTableIsReadBack(t *testing.T) {
	const rows = rowsOfGroup + 7
	var file bytes.Buffer
	all := make([]numbered, rows)
	for n := range all {
		all[n].n = n
	}
	if err := Table(&file, kinds, Each(all)); err != nil {
		t.Fatal(err)
	}
	in, err := parquet.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if in.NumRows() != rows || len(in.RowGroups()) != 2 {
		t.Errorf("%d rows in %d groups", in.NumRows(), len(in.RowGroups()))
	}
	for i, c := range kinds {
		if got := in.Schema().Fields()[i].Name(); got != c.Name {
			t.Errorf("column %d is %s, not %s", i, got, c.Name)
		}
	}
	if got := in.Schema().Fields()[1].Type().String(); got != "TIMESTAMP(isAdjustedToUTC=true,unit=MICROS)" {
		t.Error(got)
	}
	n := 0
	for _, group := range in.RowGroups() {
		reader := group.Rows()
		defer func() { _ = reader.Close() }() // only read
		for row := make([]parquet.Row, 1); ; n++ {
			if got, _ := reader.ReadRows(row); got == 0 {
				break
			}
			for i, c := range kinds {
				if want := stored(c.Kind, c.Value(numbered{n})); fmt.Sprint(row[0][i]) != want {
					t.Fatalf("%s of row %d is %v, want %s", c.Name, n, row[0][i], want)
				}
			}
		}
	}
	if n != rows {
		t.Errorf("%d rows were read", n)
	}
}

// stored is a value as it is to be found in the file.
func stored(kind table.Kind, v any) string {
	switch {
	case v == nil, v == "", fmt.Sprint(v) == "NaN", kind == table.Moment && v == 1e300:
		return "<null>"
	case v == "\xff":
		return "\ufffd"
	case kind == table.Moment:
		return fmt.Sprint(int(math.Round(1e6 * v.(float64))))
	}
	return fmt.Sprint(v)
}

// A disk that is full is told.
func TestTableFails(t *testing.T) {
	full := errors.New("disk is full")
	if err := Table(failing{full}, kinds, Each(make([]numbered, 9))); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
