// Package report shows a verdict, a plan or an outcome: as text for a terminal
// and as JSON.
//
// It computes nothing: a figure that is not in the noun it is given is not
// printed. Text that came from outside passes internal/safe. Unknown is printed
// as unknown, never as 0.
package report
