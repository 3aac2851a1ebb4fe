// Package order says which sample comes when, and which random numbers it gets. It is
// arithmetic only: nothing here reads a clock, a file or a source of randomness. So a training
// can be stopped anywhere and resumed elsewhere, on other ranks or with another batch, and
// every sample still comes exactly once.
//
// The life of a sample's index, in the words that the functions use:
//
//	position     0..Samples-1 of an epoch; Plan says which rank takes which positions at which step
//	sample       the index in the manifest; Permutation maps positions to samples, differently in each epoch
//	draw         a random number of (seed, epoch, sample, operation); Draws
//	consumed     positions [0, consumed) are done on all ranks: what a client's state records of an epoch
//	Digest       of the samples that were released: shows whether each came exactly once
//
// It does not decode, send or wait. Package transform draws from it, package serve follows its
// plans. python/stoker/loader/order.py implements the same functions, for comparison.
package order
