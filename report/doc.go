// Package report holds what the faces of Stoker share: the nouns that they show
// (Prediction, TraceReport, Runs), tables as rows of words (Sheet), and the words for
// a figure. The faces stand beside each other and know these nouns alone:
//
//	text/   pages of a terminal
//	wire/   JSON and CSV, for programs; docs/schema describes every object
//	page/   one HTML file that needs nothing else
//	ci/     Markdown, SARIF and annotations, for a code review
//	plot/   pictures as SVG
//	strip/  a run cut into columns of time, for the page and the live screen
//
// Nothing is computed here: a figure that is not in the noun it is given is not
// printed. Unknown is printed as unknown, never as 0.
package report
