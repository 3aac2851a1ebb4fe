// Package redact takes secrets out of text that Stoker keeps or shows.
//
// Command works by a list of what passes: a part of a command line is kept only if it
// is known to be harmless (a word of training, a small number, an ordinary path), and
// everything else becomes [redacted]. Text is for sentences, in which nobody can list
// what passes: there it takes out what is named like a secret or looks like one.
//
// What it does not do: it does not look at the environment, and it does not judge names
// of functions, classes and files that the hook reports. The list of places where
// text is kept is in docs/trust.md.
package redact
