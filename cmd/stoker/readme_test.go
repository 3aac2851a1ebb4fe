package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// manual returns the paths of README.md and the pages of docs.
func manual(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("docs/*.md")
	if err != nil || len(names) < 8 {
		t.Fatalf("%d pages in docs: %v", len(names), err)
	}
	pages := map[string]string{}
	for _, name := range append(names, "README.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = string(text)
	}
	return pages
}

// The transcripts of the manual have the output of the commands in them. "..." means omitted lines.
func TestTranscripts(t *testing.T) {
	t.Chdir("../..")
	commands := map[string]int{}
	for name, text := range manual(t) {
		lines := 0
		for _, block := range regexp.MustCompile("(?s)\n```\n(\\$ stoker .*?)```\n").FindAllStringSubmatch(text, -1) {
			lines += strings.Count(block[1], "\n")
			for _, part := range strings.Split("\n"+block[1], "\n$ stoker ")[1:] {
				command, want, _ := strings.Cut(part, "\n")
				if !strings.Contains(command, "testdata/cases/") {
					t.Errorf("%s: no test can run stoker %s: show it without the $", name, command)
					continue
				}
				_, out, errs := call(t, strings.Fields(command)...)
				if !shows(out, want) {
					t.Errorf("%s: stoker %s prints otherwise:\n%s%s", name, command, out, errs)
				}
				commands[name]++
			}
		}
		if lines > 20 {
			t.Errorf("%s shows %d lines of transcripts, expected 20 at most", name, lines)
		}
	}
	if commands["README.md"] < 2 || len(commands) < 4 {
		t.Errorf("transcripts: %v", commands)
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

// The pictures of the manual exist and are small, and a page shows each of them.
func TestPictures(t *testing.T) {
	t.Chdir("../..")
	made, err := filepath.Glob("docs/pictures/*.*")
	if err != nil || len(made) < 2 {
		t.Fatalf("pictures: %v, %v", made, err)
	}
	shown := map[string]bool{}
	for name, text := range manual(t) {
		for _, picture := range regexp.MustCompile(`!\[[^]]+\]\(([^)]+)\)`).FindAllStringSubmatch(text, -1) {
			path := filepath.Join(filepath.Dir(name), picture[1])
			if info, err := os.Stat(path); err != nil || info.Size() > 150_000 {
				t.Errorf("%s: %v, expected at most 150 kB", path, err)
			}
			shown[path] = true
		}
	}
	for _, path := range made {
		if !shown[filepath.FromSlash(path)] {
			t.Errorf("%s stands in no page", path)
		}
	}
}
