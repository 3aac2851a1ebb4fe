// Package stoker defines the vocabulary that every other package of this module uses, and
// nothing else.
//
// A training step passes through five stages (Stage), each limited by some resource (Resource).
// What a user can set is a Setting; advice is a list of Changes to Settings. An Interval is an
// estimate with its uncertainty.
//
// It measures nothing, predicts nothing and prints no reports: package quantity parses and
// prints numbers with units, recording holds measurements, predict has the model, report
// displays results. It imports no other package of this module.
package stoker
