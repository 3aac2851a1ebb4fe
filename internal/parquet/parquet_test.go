package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"testing"

	"github.com/klauspost/compress/gzip"
)

type row struct {
	n int
}

// table has a column of each kind, each with values that are not known.
var table = []Column[row]{
	{"number", Number, func(r row) any { return [...]float64{0.5, math.NaN(), -1e300, math.Inf(1)}[r.n%4] }},
	{"moment", Moment, func(r row) any { return [...]float64{1763800000.25, 0, 1e300, -1.5}[r.n%4] }},
	{"count", Count, func(r row) any {
		if r.n%5 == 4 {
			return nil
		}
		return r.n - 1000
	}},
	{"flag", Flag, func(r row) any { return r.n%3 == 0 }},
	{"text", Text, func(r row) any { return [...]string{"a", "", "gräß\x00\"", "\xff"}[r.n%4] }},
	{"unknown", Text, func(row) any { return nil }},
	{"many", Text, func(r row) any { return fmt.Sprint("word ", r.n%300) }},
}

func written(t *testing.T, rows, most int) []byte {
	t.Helper()
	var file bytes.Buffer
	w := New(&file, table)
	w.most = most
	for n := range rows {
		_ = w.Write(row{n})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// The file that DuckDB and Arrow were seen to read (bench/bulk/readback.py) is what is
// written today, to the byte.
func TestBytes(t *testing.T) {
	const file = "testdata/table.parquet"
	got := written(t, 1000, 400)
	if os.Getenv("STOKER_WRITE_PARQUET") != "" { // and then bench/bulk/readback.py
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v, %d bytes and not the %d of %s: STOKER_WRITE_PARQUET=1 writes it anew; then bench/bulk/readback.py has DuckDB and Arrow read it", err, len(got), len(want), file)
	}
}

// What is in the file is what was written, in as many groups as there have to be.
func TestReadBack(t *testing.T) {
	for _, rows := range []int{0, 1, 399, 400, 401, 1200} {
		got := readBack(t, written(t, rows, 400))
		for i, c := range table {
			if len(got[i]) != rows {
				t.Fatalf("%d rows: column %s has %d", rows, c.Name, len(got[i]))
			}
			for n, v := range got[i] {
				if want := fmt.Sprint(stored(c.Kind, c.Value(row{n}))); fmt.Sprint(v) != want {
					t.Fatalf("%d rows: %s of row %d is %v, want %s", rows, c.Name, n, v, want)
				}
			}
		}
	}
}

// stored is a value as it is to be found in the file.
func stored(kind Kind, v any) any {
	switch {
	case v == nil, v == "", fmt.Sprint(v) == "NaN", kind == Moment && v == 1e300:
		return nil
	case v == "\xff":
		return "\ufffd"
	case kind == Moment:
		return int(math.Round(1e6 * v.(float64)))
	}
	return v
}

// A writer that takes no more is told at the end, at the latest.
func TestWriterFails(t *testing.T) {
	full := errors.New("disk is full")
	w := New(failing{full}, table)
	_ = w.Write(row{})
	if err := w.Close(); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// reader reads Thrift's compact protocol into maps of fields by their number, by the
// specification and not by the writer.
type reader struct{ *bytes.Reader }

func (r reader) varint() int64 { v, _ := binary.ReadVarint(r); return v }
func (r reader) count() int    { v, _ := binary.ReadUvarint(r); return int(v) }
func (r reader) text(n int) string {
	b := make([]byte, n)
	_, _ = io.ReadFull(r, b)
	return string(b)
}

func (r reader) value(kind byte) any {
	switch kind {
	case 1, 2:
		return kind == 1
	case 5, 6:
		return int(r.varint())
	case 8:
		return r.text(r.count())
	case 9:
		head, _ := r.ReadByte()
		n := int(head >> 4)
		if n == 15 {
			n = r.count()
		}
		items := []any{}
		for range n {
			items = append(items, r.value(head&15))
		}
		return items
	case 12:
		fields := map[int]any{}
		for id := 0; ; {
			head, err := r.ReadByte()
			if head == 0 || err != nil {
				return fields
			}
			if id += int(head >> 4); head>>4 == 0 {
				id = int(r.varint())
			}
			fields[id] = r.value(head & 15)
		}
	}
	panic(fmt.Sprint("type ", kind))
}

type fields = map[int]any

// readBack are the columns of a file.
func readBack(t *testing.T, file []byte) [][]any {
	t.Helper()
	end := len(file) - 8
	length := int(binary.LittleEndian.Uint32(file[end:]))
	if string(file[:4])+string(file[end+4:]) != "PAR1PAR1" {
		t.Fatal("no magic at the ends")
	}
	footer := reader{bytes.NewReader(file[end-length : end])}.value(12).(fields)
	columns := make([][]any, len(table))
	rows := 0
	for _, group := range footer[4].([]any) {
		rows += group.(fields)[3].(int)
		for i, chunk := range group.(fields)[1].([]any) {
			meta := chunk.(fields)[3].(fields)
			words := []string{}
			if at, found := meta[11]; found {
				_, page := readPage(t, file[at.(int):])
				for page.Len() > 0 {
					var n uint32
					_ = binary.Read(page, binary.LittleEndian, &n)
					words = append(words, page.text(int(n)))
				}
			}
			header, page := readPage(t, file[meta[9].(int):])
			columns[i] = append(columns[i], page.column(table[i].Kind, header[5].(fields)[1].(int), words)...)
		}
	}
	if rows != footer[3].(int) {
		t.Errorf("%d rows in groups, %d in the footer", rows, footer[3])
	}
	return columns
}

func readPage(t *testing.T, file []byte) (header fields, page reader) {
	t.Helper()
	r := reader{bytes.NewReader(file)}
	header = r.value(12).(fields)
	zip, err := gzip.NewReader(io.LimitReader(r, int64(header[3].(int))))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(zip)
	if err != nil || len(body) != header[2].(int) {
		t.Fatalf("%v, a page of %d bytes, not %d", err, len(body), header[2])
	}
	return header, reader{bytes.NewReader(body)}
}

// column are the values of a page.
func (r reader) column(kind Kind, rows int, words []string) (all []any) {
	var length uint32
	_ = binary.Read(r, binary.LittleEndian, &length)
	known := reader{bytes.NewReader([]byte(r.text(int(length))))}.hybrid(1, rows)
	var places []int
	if kind == Text {
		width, _ := r.ReadByte()
		places = r.hybrid(int(width), rows)
	}
	bits := byte(0)
	for n, seen := 0, 0; n < rows; n++ {
		if known[n] == 0 {
			all = append(all, nil)
			continue
		}
		var number uint64
		switch kind {
		case Text:
			all = append(all, words[places[seen]])
		case Flag:
			if seen%8 == 0 {
				bits, _ = r.ReadByte()
			}
			all = append(all, bits>>(seen%8)&1 == 1)
		case Number:
			_ = binary.Read(r, binary.LittleEndian, &number)
			all = append(all, math.Float64frombits(number))
		default:
			_ = binary.Read(r, binary.LittleEndian, &number)
			all = append(all, int(number))
		}
		seen++
	}
	return all
}

// hybrid are numbers in runs.
func (r reader) hybrid(width, most int) (all []int) {
	for len(all) < most && r.Len() > 0 {
		head, v := r.count(), 0
		for shift := 0; shift < width; shift += 8 {
			b, _ := r.ReadByte()
			v |= int(b) << shift
		}
		for range head >> 1 {
			all = append(all, v)
		}
	}
	return all
}
