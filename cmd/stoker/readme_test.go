package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The transcripts of README.md are what the commands in them print; "..." stands for
// lines that are left out.
func TestReadme(t *testing.T) {
	t.Chdir("../..")
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	commands, lines := 0, 0
	for _, block := range regexp.MustCompile("(?s)\n```\n(\\$ stoker .*?)```\n").FindAllStringSubmatch(string(text), -1) {
		lines += strings.Count(block[1], "\n")
		for _, part := range strings.Split("\n"+block[1], "\n$ stoker ")[1:] {
			command, want, _ := strings.Cut(part, "\n")
			_, out, errs := call(t, strings.Fields(command)...)
			if !shows(out, want) {
				t.Errorf("stoker %s prints otherwise:\n%s%s", command, out, errs)
			}
			commands++
		}
	}
	if commands < 2 || lines > 20 {
		t.Errorf("README.md shows %d commands in %d lines, expected some in 20 at most", commands, lines)
	}
}

// shows reports whether a text is as wanted.
func shows(out, want string) bool {
	parts := strings.Split("\n"+strings.TrimRight(want, "\n")+"\n", "\n...\n")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(strings.Trim(part, "\n"))
	}
	return regexp.MustCompile("(?s)^" + strings.Join(parts, ".*") + "\n*$").MatchString(out)
}

// The pictures of README.md are there and small.
func TestReadmePictures(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`!\[[^]]+\]\(([^)]+)\)`).FindAllStringSubmatch(string(text), -1)
	if len(found) < 2 {
		t.Errorf("%d pictures", len(found))
	}
	for _, picture := range found {
		if info, err := os.Stat("../../" + picture[1]); err != nil || info.Size() > 150_000 {
			t.Errorf("%s: %v, expected at most 150 kB", picture[1], err)
		}
	}
}
