// Package wire writes every noun as one JSON object, or as rows of CSV, for programs.
//
// docs/schema describes the objects; it is made from the types here. What came from
// outside is made fit for a terminal in WriteObject and WriteCSV: behind these doors no
// field has to be remembered.
package wire
