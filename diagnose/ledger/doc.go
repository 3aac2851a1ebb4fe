// Package ledger fills a diagnose.Ledger: where the time of a run went.
//
// The steps of the judged trainer and their phases paint the time from the program's start to
// its end (paint.go). The device's meter says for how much of each row kernels ran, the figures
// of the judged window why an idle device waited (fill.go), and samples of the launching
// thread on which line the program was meanwhile (lines.go).
package ledger
