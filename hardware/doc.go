// Package hardware says what machines can do: a row per GPU, host link and
// storage class, every figure with source and date.
//
// It measures nothing and predicts nothing; predict reads rates from it where a
// run did not measure its own.
//
// Bandwidths are bytes per second in one direction, 1 GB = 10^9 bytes. Peaks are
// dense: the doubled "sparse" figures of datasheets are never used.
package hardware
