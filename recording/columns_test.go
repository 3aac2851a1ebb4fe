package recording

import (
	"reflect"
	"testing"
)

// A row that is added comes back, and each column of a table follows it into another
// order: none was forgotten.
func TestRows(t *testing.T) {
	t.Run("Calls", func(t *testing.T) { checkRows[Calls, CallRow](t, (*Calls).Append, (*Calls).RowAt, (*Calls).Reorder) })
	t.Run("Work", func(t *testing.T) { checkRows[Work, WorkRow](t, (*Work).Append, (*Work).RowAt, (*Work).Reorder) })
	t.Run("Frames", func(t *testing.T) {
		checkRows[Frames, FrameRow](t, (*Frames).Append, (*Frames).RowAt, (*Frames).Reorder)
	})
	t.Run("Memory", func(t *testing.T) {
		checkRows[Memory, MemoryRow](t, (*Memory).Append, (*Memory).RowAt, (*Memory).Reorder)
	})
}

func checkRows[Table, Row any](t *testing.T, add func(*Table, Row), at func(*Table, int) Row, reorder func(*Table, []int32)) {
	var table Table
	rows := []Row{distinct[Row](1), distinct[Row](50), distinct[Row](100)}
	for _, r := range rows {
		add(&table, r)
	}
	reorder(&table, nil)
	for i, r := range rows {
		if got := at(&table, i); !reflect.DeepEqual(got, r) {
			t.Errorf("row %d: %+v, added %+v", i, got, r)
		}
	}
	order := []int32{2, 0, 1}
	reorder(&table, order)
	columns := reflect.ValueOf(table)
	for i, from := range order {
		if got := at(&table, i); !reflect.DeepEqual(got, rows[from]) {
			t.Errorf("row %d in its order: %+v, want %+v", i, got, rows[from])
		}
	}
	if columns.NumField() != reflect.TypeFor[Row]().NumField() {
		t.Error("a table has as many columns as its row has fields")
	}
	for i := range columns.NumField() {
		if n := columns.Field(i).Len(); n != len(rows) {
			t.Errorf("column %s: %d rows, want %d", columns.Type().Field(i).Name, n, len(rows))
		}
	}
}

// distinct returns a row in which each field has a different value.
func distinct[Row any](from int) (r Row) {
	v := reflect.ValueOf(&r).Elem()
	for i := range v.NumField() {
		v.Field(i).Set(reflect.ValueOf(from + i).Convert(v.Field(i).Type()))
	}
	return r
}
