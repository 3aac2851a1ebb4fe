//go:build !linux

package feed

// lowerPriority needs Linux.
func lowerPriority(nice int) {}

// stepBack needs Linux.
func stepBack(nice int) {}

// freeMemory is known on Linux alone.
func freeMemory() (bytes int64, who string) { return 0, "nothing is known of the free memory" }
