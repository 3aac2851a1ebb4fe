package redact

import (
	"slices"
	"strings"
	"unicode"
)

// trustLevel says how much of a value may be kept, depending on the name before it.
type trustLevel int

const (
	secret  trustLevel = iota // keep nothing
	unknown                   // keep small numbers, which cannot be secrets, and names of files
	place                     // no name precedes the value: keep known words and ordinary paths, too
	number                    // the name is that of a quantity or a switch: keep numbers of any size, too
	text                      // the name is that of something with a name or a path: keep ordinary words, too
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

// trustOfWords judges a name by its words; unknown if one of them is not listed.
func trustOfWords(words []string) trustLevel {
	found, long, counted := number, false, false
	for _, w := range words {
		switch {
		case len(w) == 1: // top_k; a name of one letter says nothing
		case w == "tokens": // a number of tokens, unless it is the only word
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

// countsTokens distinguishes max_new_tokens and tokens_per_step from names of secrets.
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

// namesSecret reports whether the words of a name suggest a secret.
func namesSecret(words []string) bool {
	if len(words) == 0 {
		return false
	}
	joined, last := strings.Join(words, ""), words[len(words)-1]
	return slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(joined, w) }) ||
		slices.ContainsFunc(words, func(w string) bool { return secretParts()[w] }) || secretEnds()[last] ||
		strings.HasSuffix(last, "key") || strings.HasSuffix(last, "pass")
}

// wordsOf splits a name into lower-case words at dashes, dots, underscores, digits and capital
// letters.
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

// isBetween reports whether a character separates words.
func isBetween(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
