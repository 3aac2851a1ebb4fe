// Package text prints a verdict, a plan, a prediction, a trace or an outcome as text for a
// terminal.
//
// newPage makes all text from outside safe for a terminal at the beginning of a page, so that
// later code need not.
package text
