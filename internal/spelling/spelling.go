// Package spelling finds names that people spell in different ways.
package spelling

import (
	"math"
	"sort"
	"strings"
)

// Plain is a name without what people spell differently.
func Plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(name))
}

// Nearest returns up to three keys whose spellings differ least from name.
func Nearest(name string, keys []string, spellings [][]string) []string {
	type match struct {
		key  string
		away float64
	}
	matches := make([]match, len(keys))
	for i, key := range keys {
		matches[i] = match{key, math.Inf(1)}
		for _, spelling := range spellings[i] {
			matches[i].away = min(matches[i].away, away(Plain(name), Plain(spelling)))
		}
	}
	sort.SliceStable(matches, func(i, j int) bool { return matches[i].away < matches[j].away })
	names := make([]string, 0, 3)
	for _, m := range matches[:min(3, len(matches))] {
		names = append(names, m.key)
	}
	return names
}

// away is the edit distance of two words as a share of the longer one.
func away(a, b string) float64 {
	a = a[:min(len(a), 64)] // a name longer than that is no name
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := corner
			if a[i] != b[j] {
				cost = 1 + min(corner, row[j], row[j+1])
			}
			corner, row[j+1] = row[j+1], cost
		}
	}
	return float64(row[len(b)]) / float64(max(len(a), len(b), 1))
}
