// Package safe makes text from outside safe for a terminal, a file or a page: names of
// processes and kernels, command lines, messages of the observed program. It does not depend on
// where the text goes.
package safe

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text makes all characters visible that could move a cursor, change a colour or reorder text:
// control characters (C0, C1), bidirectional overrides and invalid UTF-8 become \x1b, \u202e,
// \xff. It cuts text to limit characters and appends an ellipsis; a limit of 0 keeps all.
func Text(s string, limit int) string {
	if plain(s) && (limit == 0 || len(s) <= limit) {
		return s
	}
	var b strings.Builder
	n := 0
	for i := 0; i < len(s); n++ {
		if limit > 0 && n >= limit {
			b.WriteString("…")
			break
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		case odd(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// JSON escapes in a JSON text all characters that Text would replace: U+009B becomes \u009b.
// The values stay the same. The text must come from encoding/json, which writes line breaks
// only between values and odd characters only in strings.
func JSON(text []byte) []byte {
	var out []byte
	from := 0
	for i := 0; i < len(text); {
		if text[i] < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if odd(r) {
			out = append(out, text[from:i]...)
			for _, unit := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
			from = i + size
		}
		i += size
	}
	if from == 0 {
		return text
	}
	return append(out, text[from:]...)
}

// odd reports whether a character moves a cursor, changes a colour, ends a line, reverses text
// or is invisible: controls (C0, C1), format characters (including bidirectional overrides) and
// line separators.
func odd(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

// plain reports whether s is printable ASCII, as nearly all text is.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}
