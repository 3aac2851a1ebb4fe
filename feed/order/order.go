// Package order says which sample comes when, and what chance gives it: pure
// functions of (seed, epoch, sample). Nothing here has state.
package order
