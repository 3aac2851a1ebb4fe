// Package report shows a verdict, a plan or an outcome: as text for a terminal
// and as JSON.
//
// It computes nothing: a figure that is not in the noun it is given is not
// printed. Unknown is printed as unknown, never as 0. What came from outside is
// made fit for a terminal where a page begins (newPage) and where JSON is written
// (Object): behind these doors no field has to be remembered.
package report
