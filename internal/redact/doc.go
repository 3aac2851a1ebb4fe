// Package redact removes secrets from text that Stoker stores or shows.
//
// CommandLine uses a list of allowed words: it keeps a part of a command line only if that is
// known to be harmless (a word used in training, a small number, an ordinary path) and replaces
// everything else with [redacted]. Text is for sentences, for which no such list is possible:
// it removes what has the name of a secret or resembles one.
//
// The package does not read the environment, and does not judge names of functions, classes and
// files that the hook reports. docs/trust.md lists the places in which text is stored.
package redact
