// Package stoker is the vocabulary: the words that every other package of this
// module speaks, and nothing else.
//
// A training step passes through five stages (Stage), each bound by some
// resource (Resource). What a person can set is a Setting; advice is a list of
// Changes to Settings. An Interval is an estimate with its doubt.
//
// It deliberately measures nothing, predicts nothing and prints no reports:
// package quantity reads and prints numbers with units, recording holds what was
// measured, predict knows the law, report shows results. It imports nothing of ours.
package stoker
