// Package report has what the output formats of Stoker share: the values that they display
// (Prediction, TraceReport, Runs), tables as rows of text (Sheet), and the wording of figures.
// The formats are packages that do not depend on each other, except for these values:
//
//	text/   pages of a terminal
//	wire/   JSON and CSV, for programs; docs/schema describes every object
//	page/   one self-contained HTML file
//	ci/     Markdown, SARIF and annotations, for a code review
//	plot/   pictures as SVG
//	strip/  a run cut into columns of time, for the page and the live screen
//
// The package computes no figures: it prints those in the values that it gets. Unknown is
// printed as unknown, never as 0.
package report
