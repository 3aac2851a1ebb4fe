// Package safe makes text from outside fit for a terminal, a file or a page:
// process names, kernel names, command lines, messages of the watched program.
// It knows nothing of where the text goes.
package safe

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s with everything visible that could move a cursor, change a
// colour or reorder what is read: control characters (C0, C1), bidirectional
// overrides and invalid UTF-8 become \x1b, \u202e, \xff. Longer text is cut to
// limit characters with an ellipsis; a limit of 0 keeps all.
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
		case unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// plain reports whether s is printable ASCII, as nearly all text is.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}
