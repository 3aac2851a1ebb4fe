// Package quantity has the numbers that people write and read: types with a unit (Bytes,
// Seconds, Rate), how they are parsed and printed without loss, and how numbers are formatted
// in sentences and tables, so that a quantity reads the same everywhere.
//
// It does not depend on pages or commands: package report makes sentences and tables of these
// texts. It imports only the root package, whose Interval it prints. The root package has no
// units.
package quantity
