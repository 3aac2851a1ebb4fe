package safe

import (
	"strings"
)

// Cell returns a value of a table (CSV) that a spreadsheet shows and does not compute: before what
// begins like a formula stands a quote, as OWASP advises (CSV Injection). Numbers stay as they are,
// negative ones too. The same holds behind a semicolon, at which spreadsheets of some languages end
// a cell. Longer text is cut as by Text.
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

// formula reports whether a spreadsheet takes a text for a formula. Tabs and line ends, which it passes over, are gone.
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
