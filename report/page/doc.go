// Package page writes one HTML file about a run, a prediction or a tuning.
//
// The file needs no network and no other file. Its template, style and script are in html/; its
// Content-Security-Policy allows only these.
package page
