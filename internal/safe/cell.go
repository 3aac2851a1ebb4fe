package safe

import (
	"strings"
)

// Cell returns a value of a CSV table that a spreadsheet displays and does not evaluate: it
// puts a quote before a text that begins like a formula, as OWASP advises (CSV Injection).
// Numbers are unchanged, including negative ones. It does the same after a semicolon, which
// separates cells in some languages. Longer text is cut as by Text.
func Cell(s string, limit int) string {
	if isNumber(s) {
		return s
	}
	s = Text(s, limit)
	if formula(s) {
		s = "'" + s
	}
	for at := 0; ; {
		next := strings.IndexByte(s[at:], ';')
		if next < 0 {
			return s
		}
		if at += next + 1; formula(s[at:]) {
			s = s[:at] + "'" + s[at:]
		}
	}
}

// formula reports whether a spreadsheet may take a text for a formula. Tabs and line breaks,
// which it would skip, were replaced before.
func formula(s string) bool {
	for _, begin := range []string{"=", "+", "-", "@", "＝", "＋", "－", "＠"} {
		if strings.HasPrefix(s, begin) {
			return true
		}
	}
	return false
}

// isNumber reports whether a text is a decimal number.
func isNumber(s string) bool {
	whole, exponent, found := strings.Cut(s, "e")
	whole = strings.TrimPrefix(whole, "-")
	before, after, _ := strings.Cut(whole, ".")
	return before+after != "" && isDigits(before+after) &&
		(!found || exponent != "" && isDigits(strings.TrimLeft(exponent[:1], "+-")+exponent[1:]))
}

func isDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }
