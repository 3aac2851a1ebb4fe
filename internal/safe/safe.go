// Package safe makes text from outside fit for a terminal, a file or a page:
// process names, kernel names, command lines, messages of the watched program.
// It knows nothing of where the text goes.
package safe

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
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
		case odd(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// JSON returns a JSON text that stands for the same values and in which no character
// stands raw that Text would replace: \u009b in the place of U+009B. It takes what
// encoding/json wrote, which has line breaks between values and odd characters only
// inside of strings.
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

// odd reports whether a character moves a cursor, changes a colour, ends a line,
// turns text around or is not seen at all: controls (C0, C1), formats (among them
// bidirectional overrides) and separators of lines.
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
