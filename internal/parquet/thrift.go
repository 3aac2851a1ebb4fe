package parquet

import "encoding/binary"

// Metadata of Parquet are structures in Thrift's compact protocol: fields with ascending
// numbers, each a byte with the distance to the one before and the type, then the value.

// The types of fields that are used.
const (
	trues    = 1
	numbers  = 5 // of 32 bits
	longs    = 6
	texts    = 8
	lists    = 9
	structs  = 12
	manyFrom = 15 // items of a list, from which their number stands apart
)

type field struct {
	id    int
	kind  byte
	value []byte
}

func short(id, v int) field                { return field{id, numbers, zigzag(int64(v))} }
func long(id int, v int64) field           { return field{id, longs, zigzag(v)} }
func yes(id int) field                     { return field{id, trues, nil} }
func text(id int, s string) field          { return field{id, texts, sized(s)} }
func object(id int, fields ...field) field { return field{id, structs, encode(fields...)} }
func zigzag(v int64) []byte                { return binary.AppendVarint(nil, v) }
func sized(s string) []byte                { return append(binary.AppendUvarint(nil, uint64(len(s))), s...) }

func list(id int, kind byte, items [][]byte) field {
	b := []byte{byte(min(len(items), manyFrom))<<4 | kind}
	if len(items) >= manyFrom {
		b = binary.AppendUvarint(b, uint64(len(items)))
	}
	for _, item := range items {
		b = append(b, item...)
	}
	return field{id, lists, b}
}

// encode is a structure; no field that is used is 15 or more beyond the one before.
func encode(fields ...field) []byte {
	var b []byte
	last := 0
	for _, f := range fields {
		b = append(append(b, byte(f.id-last)<<4|f.kind), f.value...)
		last = f.id
	}
	return append(b, 0)
}
