//go:build !linux

package feed

import "time"

// threadTime needs Linux.
func threadTime() time.Duration { return 0 }

// lowerPriority needs Linux.
func lowerPriority(nice int) {}

// stepBack needs Linux.
func stepBack(nice int) {}
