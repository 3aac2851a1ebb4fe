// Package text shows a verdict, a plan, a prediction, a trace or an outcome as text for
// a terminal.
//
// What came from outside is made fit for a terminal where a page begins (newPage):
// behind this door no field has to be remembered.
package text
