// Package parquet writes tables as Apache Parquet files: flat columns, any of which may be
// null, in groups of rows, with one page for each column of a group. bench/bulk/readback.py has DuckDB
// and Arrow read what this one writes. It is our own as parquet-go 0.32.0 reads random
// numbers as it is loaded: Go then needs descriptors, and where few are left the program
// ends before main, and observe's CMD with it.
//
// The format is that of apache/parquet-format: data pages of version 1, numbers PLAIN, text
// with a dictionary, levels and places in the dictionary as runs (RLE), pages packed with gzip.
package parquet

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"math/bits"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// Kind is what a column holds.
type Kind int

// The kinds of columns, and the Go type of their values.
const (
	Number Kind = iota // float64
	Moment             // float64, Unix seconds; in the file a timestamp of UTC in microseconds
	Count              // int
	Flag               // bool
	Text               // string
)

// Column is a column of a table with rows of type R. What is not known (nil, NaN, "") is null.
type Column[R any] struct {
	Name  string
	Kind  Kind
	Value func(R) any
}

// rowsOfGroup are the rows of a group: what a Writer holds, and a reader's thread reads at once.
const rowsOfGroup = 1 << 17

// Writer writes a table row by row.
type Writer[R any] struct {
	w       io.Writer
	columns []Column[R]
	chunks  []chunk // of the group that is being filled
	rows    int     // in it
	most    int     // rows of a group
	at      int64   // bytes that were written
	total   int64   // rows of all groups
	groups  [][]byte
	err     error
}

// magic stands at both ends of a file.
const magic = "PAR1"

// New begins a table.
func New[R any](w io.Writer, columns []Column[R]) *Writer[R] {
	t := &Writer[R]{w: w, columns: columns, chunks: make([]chunk, len(columns)), most: rowsOfGroup}
	t.write([]byte(magic))
	return t
}

// Write adds a row. After an error, which is the writer's, all further ones have it.
func (t *Writer[R]) Write(row R) error {
	for i, c := range t.columns {
		t.chunks[i].add(c.Kind, c.Value(row))
	}
	if t.rows++; t.rows == t.most {
		t.group()
	}
	return t.err
}

// Close ends the table.
func (t *Writer[R]) Close() error {
	if t.rows > 0 {
		t.group()
	}
	schema := [][]byte{encode(text(4, "table"), short(5, len(t.columns)))}
	for _, c := range t.columns {
		schema = append(schema, c.element())
	}
	footer := encode(short(1, 1), list(2, structs, schema), long(3, t.total), list(4, structs, t.groups), text(6, "stoker"))
	t.write(footer)
	t.write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(footer))), magic...))
	return t.err
}

// Write writes a table that is at hand.
func Write[R any](w io.Writer, columns []Column[R], rows []R) error {
	t := New(w, columns)
	for _, row := range rows {
		_ = t.Write(row) // Close has the error
	}
	return t.Close()
}

func (t *Writer[R]) write(b []byte) {
	if t.err == nil {
		var n int
		n, t.err = t.w.Write(b)
		t.at += int64(n)
	}
}

// group writes the rows that are held.
func (t *Writer[R]) group() {
	var chunks [][]byte
	size := int64(0)
	for i, c := range t.columns {
		meta, bytes := t.chunk(c, &t.chunks[i])
		chunks, size = append(chunks, meta), size+bytes
		t.chunks[i] = chunk{}
	}
	t.groups = append(t.groups, encode(list(1, structs, chunks), long(2, size), long(3, int64(t.rows))))
	t.total, t.rows = t.total+int64(t.rows), 0
}

// chunk writes the pages of a column and returns its metadata, with its bytes before packing.
func (t *Writer[R]) chunk(c Column[R], held *chunk) (meta []byte, size int64) {
	begin := t.at
	var dictionary []field
	encoding := plain
	if c.Kind == Text {
		encoding = rleDictionary
		dictionary = []field{long(11, t.at)}
		size += t.page(held.words, short(1, 2), object(7, short(1, len(held.places)), short(2, plain)))
	}
	pages := t.at
	levels := held.known.encode(1)
	body := append(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))), levels...)
	size += t.page(append(body, held.data(c.Kind)...), short(1, 0), object(5, short(1, t.rows), short(2, encoding), short(3, rle), short(4, rle)))
	const gzipped = 2
	fields := []field{
		short(1, c.physical()), list(2, numbers, [][]byte{zigzag(int64(encoding)), zigzag(rle)}), list(3, texts, [][]byte{sized(c.Name)}),
		short(4, gzipped), long(5, int64(t.rows)), long(6, size), long(7, t.at-begin), long(9, pages),
	}
	return encode(long(2, begin), object(3, append(fields, dictionary...)...)), size
}

// page writes a page of a type, with the header of that type, and returns its bytes before packing.
func (t *Writer[R]) page(body []byte, kind, about field) int64 {
	var packed bytes.Buffer
	zip, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	_, _ = zip.Write(body) // a bytes.Buffer takes everything
	_ = zip.Close()
	header := encode(kind, short(2, len(body)), short(3, packed.Len()), about)
	t.write(header)
	t.write(packed.Bytes())
	return int64(len(header) + len(body))
}

// The encodings of values.
const (
	plain         = 0
	rle           = 3
	rleDictionary = 8
)

// physical is the format's number of the type in which values lie in the file.
func (c Column[R]) physical() int {
	const boolean, int64s, double, byteArray = 0, 2, 5, 6
	return [...]int{Number: double, Moment: int64s, Count: int64s, Flag: boolean, Text: byteArray}[c.Kind]
}

// element describes the column in the schema, what it means both as old and as new readers
// want it.
func (c Column[R]) element() []byte {
	const optional = 1
	fields := []field{short(1, c.physical()), short(3, optional), text(4, c.Name)}
	switch c.Kind {
	case Text:
		fields = append(fields, short(6, 0), object(10, object(1)))
	case Moment:
		micros := object(2, object(2))
		fields = append(fields, short(6, 10), object(10, object(8, yes(1), micros)))
	case Number, Count, Flag: // what they are physically says enough
	}
	return encode(fields...)
}

// chunk is what is held of a column: which rows have a value, and the values.
type chunk struct {
	known  runs
	values []byte         // of numbers; of flags a byte each
	places map[string]int // of text
	words  []byte         // each with its length, in order of their places
	chosen runs           // places
}

// farAway is the year 9999, in Unix seconds: beyond it readers have no dates.
const farAway = 2.5e11

func (c *chunk) add(kind Kind, v any) {
	number, isNumber := v.(float64)
	if v == nil || v == "" || isNumber && math.IsNaN(number) || kind == Moment && !(math.Abs(number) < farAway) {
		c.known.add(0)
		return
	}
	c.known.add(1)
	switch kind {
	case Number:
		c.values = binary.LittleEndian.AppendUint64(c.values, math.Float64bits(number))
	case Moment:
		c.values = binary.LittleEndian.AppendUint64(c.values, uint64(int64(math.Round(1e6*number))))
	case Count:
		c.values = binary.LittleEndian.AppendUint64(c.values, uint64(v.(int)))
	case Flag:
		bit := byte(0)
		if v.(bool) {
			bit = 1
		}
		c.values = append(c.values, bit)
	case Text:
		c.chosen.add(c.place(strings.ToValidUTF8(v.(string), "\ufffd")))
	}
}

// place is where a word stands in the dictionary.
func (c *chunk) place(word string) int {
	at, found := c.places[word]
	if !found {
		if c.places == nil {
			c.places = map[string]int{}
		}
		at = len(c.places)
		c.places[word] = at
		c.words = append(binary.LittleEndian.AppendUint32(c.words, uint32(len(word))), word...)
	}
	return at
}

// data are the values as they lie in a page.
func (c *chunk) data(kind Kind) []byte {
	switch kind {
	case Text:
		width := max(1, bits.Len(uint(max(1, len(c.places))-1)))
		return append([]byte{byte(width)}, c.chosen.encode(width)...)
	case Flag:
		packed := make([]byte, (len(c.values)+7)/8)
		for i, bit := range c.values {
			packed[i/8] |= bit << (i % 8)
		}
		return packed
	case Number, Moment, Count:
	}
	return c.values
}

// runs are small numbers that mostly repeat the one before.
type runs []run

type run struct{ value, count int }

func (r *runs) add(v int) {
	if n := len(*r); n > 0 && (*r)[n-1].value == v {
		(*r)[n-1].count++
		return
	}
	*r = append(*r, run{v, 1})
}

// encode is the hybrid encoding of the format, of which only the runs are used.
func (r runs) encode(width int) []byte {
	var b []byte
	for _, part := range r {
		b = binary.AppendUvarint(b, uint64(part.count)<<1)
		for shift := 0; shift < width; shift += 8 {
			b = append(b, byte(part.value>>shift))
		}
	}
	return b
}
