package safe

import "testing"

func TestText(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"train.py", 0, "train.py"},
		{"größer 日本", 0, "größer 日本"},
		{"\x1b[2Jgone", 0, `\x1b[2Jgone`},
		{"a\nb\tc\x7f", 0, `a\x0ab\x09c\x7f`},
		{"\u009b31m", 0, `\u009b31m`},
		{"abc\u202etxt.exe", 0, `abc\u202etxt.exe`},
		{"bad\xff\xfe", 0, `bad\xff\xfe`},
		{"abcdef", 3, "abc…"},
	} {
		if got := Text(c.in, c.limit); got != c.want {
			t.Errorf("Text(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}
