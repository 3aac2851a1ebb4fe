package safe_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/internal/poison"
	"github.com/stoker-dev/stoker/internal/safe"
)

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
		if got := safe.Text(c.in, c.limit); got != c.want {
			t.Errorf("Text(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}

// What a spreadsheet would compute begins with a quote; numbers stay numbers, and a text has an end.
func TestCell(t *testing.T) {
	for in, want := range map[string]string{
		"node-3": "node-3", "": "", "-1": "-1", "-0.25": "-0.25", "1e-09": "1e-09", "-2.5e+10": "-2.5e+10", ".5": ".5", "+1": "'+1",
		"=cmd|' /C calc'!A1": "'=cmd|' /C calc'!A1", "@SUM(1)": "'@SUM(1)", "-1+cmd": "'-1+cmd", "+A1": "'+A1", "-": "'-", "-e": "'-e", "1e": "1e",
		"\t=1": `\x09=1`, "\r=1": `\x0d=1`, "＝1": "'＝1", "a=1": "a=1", "a;=1;b;-2": "a;'=1;b;'-2", "-Inf": "'-Inf", "--5": "'--5", "-1-1": "'-1-1",
		strings.Repeat("x", 300): strings.Repeat("x", 255) + "…",
	} {
		if got := safe.Cell(in, 255); got != want {
			t.Errorf("Cell(%q) = %q, want %q", in, got, want)
		}
	}
}

// A JSON text is safe for a terminal and has the same values as before.
func TestJSON(t *testing.T) {
	want := map[string]any{"größer 日本 😀": poison.Text, "b\u009b\U000e0001": []any{"\u202e", 1.5, nil, "plain", "\ufeff"}}
	text, err := json.MarshalIndent(want, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	printed := string(safe.JSON(text))
	if leak := poison.Leak(printed); leak != "" {
		t.Errorf("stands raw: %s", leak)
	}
	if !strings.Contains(printed, "größer 日本 😀") {
		t.Errorf("text that may stay is gone: %s", printed)
	}
	var was, is any
	if err := errors.Join(json.Unmarshal(text, &was), json.Unmarshal([]byte(printed), &is)); err != nil || !reflect.DeepEqual(was, is) {
		t.Errorf("%v: %q became %q", err, was, is)
	}
}

type node struct {
	Text  string
	Any   any
	List  []string
	Array [2]string
	Map   map[string]any
	Next  *node
	V     []float64
	own   string
}

// Every text is reached, shared copies do not change, and safe values stay the same.
func TestValues(t *testing.T) {
	tree := func(text string) *node {
		n := &node{Text: text, Any: text, List: []string{"a", text}, Array: [2]string{text}, Map: map[string]any{text: text}, V: []float64{1}, own: "own"}
		n.Next = &node{Text: "inner" + text, Next: &node{Any: []any{text, 7}}}
		return n
	}
	bad := tree("\x1b[2J")
	shown, number := bad, 7
	safe.Values(&shown, &number)
	if want := tree(`\x1b[2J`); !reflect.DeepEqual(shown, want) {
		t.Errorf("%+v, want %+v", shown, want)
	}
	if !reflect.DeepEqual(bad, tree("\x1b[2J")) {
		t.Errorf("the value of another was changed: %+v", bad)
	}
	good := tree("good")
	shown = good
	if safe.Values(&shown); shown != good {
		t.Error("a value without odd texts was copied")
	}
	good.Next.Next.Next = good // a circle
	good.Next.Next.Text = "\x1b"
	shown = good
	if safe.Values(&shown); shown.Next.Next.Text != `\x1b` {
		t.Errorf("%q", shown.Next.Next.Text)
	}
}
