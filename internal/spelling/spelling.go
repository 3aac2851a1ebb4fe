// Package spelling finds names regardless of how they are spelled.
package spelling

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Plain returns a name in lower case, without characters other than letters and digits.
func Plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(name))
}

// Find returns the row with a given name, regardless of spelling.
func Find[T any](name string, table []T, names func(T) []string) (found T, known bool) {
	wanted := Plain(name)
	for _, row := range table {
		for _, one := range names(row) {
			if wanted != "" && Plain(one) == wanted {
				return row, true
			}
		}
	}
	return found, false
}

// Nearest returns the first names of up to three rows that are most similar to a name, the most
// similar first.
func Nearest[T any](name string, table []T, names func(T) []string) []string {
	type match struct {
		key  string
		away float64
	}
	wanted := Plain(name)
	wanted = wanted[:min(len(wanted), 64)] // names longer than that are cut
	matches := make([]match, len(table))
	for i, row := range table {
		matches[i] = match{names(row)[0], math.Inf(1)}
		for _, one := range names(row) {
			other := Plain(one)
			share := float64(Distance(wanted, other)) / float64(max(len(wanted), len(other), 1))
			matches[i].away = min(matches[i].away, share)
		}
	}
	slices.SortStableFunc(matches, func(a, b match) int { return cmp.Compare(a.away, b.away) })
	nearest := make([]string, 0, 3)
	for _, m := range matches[:min(3, len(matches))] {
		nearest = append(nearest, m.key)
	}
	return nearest
}

// Distance returns the number of letters to add, drop or replace to turn one text into the
// other (Levenshtein).
func Distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j := range to {
			cost := diagonal
			if from[i] != to[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}
