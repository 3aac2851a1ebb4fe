// Package wire writes the values of package report as one JSON object, or as rows of CSV, for
// programs.
//
// docs/schema describes the objects; it is generated from the types here. WriteObject and
// WriteCSV make text from outside safe for a terminal, so that other code need not.
package wire
