//go:build !linux

package feed

// lowerPriority needs Linux.
func lowerPriority(nice int) {}

// stepBack needs Linux.
func stepBack(nice int) {}
