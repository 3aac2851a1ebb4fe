package source

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// sortNames sorts file names as Python does, by code point. For UTF-8 that is the order of the
// bytes. Python reads a byte that is not UTF-8 as a code point from U+DC80 on.
func sortNames(names []string) {
	for _, name := range names {
		if !utf8.ValidString(name) {
			slices.SortFunc(names, compareNames)
			return
		}
	}
	slices.Sort(names)
}

// compareNames compares two names as Python does.
func compareNames(a, b string) int {
	if utf8.ValidString(a) && utf8.ValidString(b) {
		return cmp.Compare(a, b)
	}
	for a != "" && b != "" {
		x, n := codePoint(a)
		y, m := codePoint(b)
		if x != y {
			return cmp.Compare(x, y)
		}
		a, b = a[n:], b[m:]
	}
	return cmp.Compare(len(a), len(b))
}

// codePoint returns the first code point of s as Python's surrogateescape reads it.
func codePoint(s string) (r rune, size int) {
	r, size = utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 {
		return 0xdc00 + rune(s[0]), 1
	}
	return r, size
}

// hasExtension is Python's name.lower().endswith(extensions).
func hasExtension(name string, extensions []string) bool {
	for _, extension := range extensions {
		if endsWith(name, extension) {
			return true
		}
	}
	return false
}

func endsWith(name, extension string) bool {
	if !ascii(name) {
		return strings.HasSuffix(lowerAsPython(name), extension)
	}
	from := len(name) - len(extension)
	if from < 0 {
		return false
	}
	for i := range len(extension) {
		c := name[from+i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != extension[i] {
			return false
		}
	}
	return true
}

// lowerAsPython is Python's str.lower, which turns the letter İ into two code points.
func lowerAsPython(name string) string {
	return strings.ToLower(strings.ReplaceAll(name, "İ", "i̇"))
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
