package redact

import (
	"slices"
	"strings"
	"unicode"
)

// trustLevel is how much of a value may be kept, by the name before it.
type trustLevel int

const (
	secret  trustLevel = iota // nothing
	unknown                   // small numbers, which no secret can be, and names of files
	place                     // no name stands before it: known words and ordinary paths too
	number                    // the name is of a quantity or a switch: numbers of any size too
	text                      // the name is of what has a name or a place: ordinary words too
)

// trustOf judges the name of a flag, a variable, a field or an override.
func trustOf(name string) trustLevel {
	words := wordsOf(name)
	joined := strings.Join(words, "_")
	switch {
	case harmlessTexts()[joined]:
		return text
	case harmlessNumbers()[joined], countsTokens(words):
		return number
	}
	if known := trustOfWords(words); known != unknown {
		return known
	}
	if namesSecret(words) {
		return secret
	}
	return unknown
}

// trustOfWords is unknown where one of the words is on no list.
func trustOfWords(words []string) trustLevel {
	found, long, counted := number, false, false
	for _, w := range words {
		switch {
		case len(w) == 1: // top_k, but a name of one letter says nothing
		case w == "tokens": // they are counted, unless they alone are meant
			counted = true
		case textWords()[w]:
			found, long = text, true
		case numberWords()[w] || valueWords()[w] && !ambiguous()[w]:
			long = true
		default:
			return unknown
		}
	}
	switch {
	case !long:
		return unknown
	case counted:
		return number
	}
	return found
}

// countsTokens tells max_new_tokens and tokens_per_step from names of secrets.
func countsTokens(words []string) bool {
	plural := false
	for _, w := range words {
		plural = plural || w == "tokens"
		if w != "tokens" && !countsOf()[w] && w != "per" {
			return false
		}
	}
	return plural && len(words) > 1
}

func namesSecret(words []string) bool {
	if len(words) == 0 {
		return false
	}
	joined, last := strings.Join(words, ""), words[len(words)-1]
	return slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(joined, w) }) ||
		slices.ContainsFunc(words, func(w string) bool { return secretParts()[w] }) || secretEnds()[last] ||
		strings.HasSuffix(last, "key") || strings.HasSuffix(last, "pass")
}

// leadsToSecret reports whether a part of a value names a secret and another part stands behind it: webhook,749370, a path
// api_key/749370. Of a file in such a folder only the name is told, and tokens are what language models read.
func leadsToSecret(value string) bool {
	if extensions()[extension(value)] {
		return false
	}
	parts := strings.FieldsFunc(value, func(r rune) bool { return isBetween(r) && !strings.ContainsRune("-_.", r) })
	for i := range len(parts) - 1 {
		if words := wordsOf(parts[i]); trustOf(parts[i]) == secret && words[len(words)-1] != "tokens" {
			return true
		}
	}
	return false
}

// wordsOf splits a name at dashes, dots, underscores, digits and humps, into lower case.
func wordsOf(name string) []string {
	var b strings.Builder
	var before rune
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			b.WriteByte(' ')
		}
		before = r
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) })
}
