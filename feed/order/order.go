// Package order says which sample comes when, and what chance gives it. It is all
// arithmetic: nothing here reads a clock, a file or a source of randomness, so a
// training can be stopped anywhere and go on elsewhere, on other ranks or with
// another batch, and every sample still comes exactly once.
//
// The life of a sample's index, in the words that the functions use:
//
//	position     0..Samples-1 of an epoch; Plan says which rank takes which positions at which step
//	sample       the index in the manifest; Permutation leads from position to sample, anew in each epoch
//	draw         a random number of (seed, epoch, sample, operation); Draws
//	consumed     positions [0, consumed) are done on all ranks: what a client's state remembers of an epoch
//	Digest       of the samples that were really released: shows whether each came exactly once
//
// It does not decode, send or wait; transform draws from it, serve walks its plans.
// python/stoker/loader/order.py holds the same functions a second time, for comparison.
package order
