// Package page writes one HTML file about a run, a prediction or a tuning.
//
// The file needs no network and no other file. Its template, style and script lie in
// html/, and its Content-Security-Policy allows these alone.
package page
