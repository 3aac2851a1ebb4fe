// Package table says what the columns of a table are, whoever writes it.
package table

// Kind is what a column holds.
type Kind int

// The kinds of columns, and the Go type of their values.
const (
	Number Kind = iota // float64
	Moment             // float64, Unix seconds
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
