package redact

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var mayBeHidden = regexp.MustCompile(`«[^»]*»`)

// splitLine splits at spaces, except between bars.
func splitLine(line string) (command []string) {
	for i, part := range strings.Split(line, "|") {
		if i%2 == 1 {
			command = append(command, part)
		} else {
			command = append(command, strings.Fields(part)...)
		}
	}
	return command
}

// TestTrainingStaysReadable is what keeps Command from hiding everything: a user must know
// his job again.
func TestTrainingStaysReadable(t *testing.T) {
	text, err := os.ReadFile("testdata/readable.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		n++
		want := strings.Join(splitLine(strings.ReplaceAll(mayBeHidden.ReplaceAllString(line, Hidden), "|", "")), " ")
		command := splitLine(strings.NewReplacer("«", "", "»", "").Replace(line))
		if got := strings.Join(CommandLine(command), " "); got != want {
			t.Errorf("reads\n%s\nwant\n%s", got, want)
		}
	}
	if n < 80 {
		t.Fatalf("%d command lines", n)
	}
}

// TestCommandTwice: what was recorded stays as it is, and no argument is lost.
func TestCommandTwice(t *testing.T) {
	for _, line := range []string{"python t.py --api-key x --lr 0.1", "sh -c |python t.py --password x|", "python t.py https://a:b@c/d -pX"} {
		once := CommandLine(splitLine(line))
		if twice := CommandLine(once); len(once) != len(splitLine(line)) || strings.Join(once, " ") != strings.Join(twice, " ") {
			t.Errorf("%q then %q", once, twice)
		}
	}
}
