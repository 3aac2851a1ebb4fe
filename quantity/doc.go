// Package quantity is the numbers that people write and read: what has a unit (Bytes, Seconds, Rate), how it is parsed
// and printed without loss, and how numbers stand in sentences and tables, so that one quantity reads the same
// everywhere.
//
// It deliberately knows no page and no verb: package report makes sentences and tables of what is printed here. Its
// only neighbour is the root, whose Interval is printed with its ends. The root in turn knows no unit.
package quantity
