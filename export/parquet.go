package export

import (
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/stoker-dev/stoker/internal/table"
)

// rowsOfGroup are the rows of a group: what is held while it is written, and what a
// reader's thread reads at once.
const rowsOfGroup = 1 << 17

// Table writes the rows that a function gives as a Parquet table.
func Table[R any](w io.Writer, columns []table.Column[R], rows func(add func(R) error) error) error {
	out := parquet.NewWriter(w, schemaOf(columns), parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(rowsOfGroup), parquet.CreatedBy("stoker", "", ""))
	row := make(parquet.Row, len(columns))
	err := rows(func(r R) error {
		for i, c := range columns {
			value, known := valueOf(c.Kind, c.Value(r)), 1
			if value.IsNull() {
				known = 0
			}
			row[i] = value.Level(0, known, i)
		}
		_, err := out.WriteRows([]parquet.Row{row})
		return err
	})
	if err != nil {
		return err
	}
	return out.Close()
}

// Each gives the rows of a slice.
func Each[R any](rows []R) func(add func(R) error) error {
	return func(add func(R) error) error {
		for _, row := range rows {
			if err := add(row); err != nil {
				return err
			}
		}
		return nil
	}
}

// schemaOf has the columns in their order, which the library takes from a Go type alone.
func schemaOf[R any](columns []table.Column[R]) *parquet.Schema {
	types := map[table.Kind]struct {
		is     any
		option string
	}{
		table.Number: {float64(0), ""}, table.Moment: {int64(0), ",timestamp(microsecond)"}, table.Count: {int64(0), ""},
		table.Flag: {false, ""}, table.Text: {"", ",dict"},
	}
	var fields []reflect.StructField
	for i, c := range columns {
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("Column%d", i), Type: reflect.TypeOf(types[c.Kind].is),
			Tag: reflect.StructTag(fmt.Sprintf(`parquet:"%s,optional%s"`, c.Name, types[c.Kind].option)),
		})
	}
	return parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
}

// farAway is the year 9999, in Unix seconds: beyond it readers have no dates.
const farAway = 2.5e11

// valueOf is a value as it lies in the file; null where it is not known.
func valueOf(kind table.Kind, v any) parquet.Value {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || kind == table.Moment && !(math.Abs(v) < farAway) {
			break
		}
		if kind == table.Moment {
			return parquet.Int64Value(int64(math.Round(1e6 * v)))
		}
		return parquet.DoubleValue(v)
	case int:
		return parquet.Int64Value(int64(v))
	case bool:
		return parquet.BooleanValue(v)
	case string:
		if v != "" {
			return parquet.ByteArrayValue([]byte(strings.ToValidUTF8(v, "\ufffd")))
		}
	}
	return parquet.NullValue()
}
