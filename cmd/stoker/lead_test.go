package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
	"github.com/stoker-dev/stoker/recording"
)

// mostPrinted is the largest number of lines of a page without --all.
const mostPrinted = 40

// lead matches the beginning of every page about a verdict.
var lead = regexp.MustCompile(`^  verdict  \S[^\n]*\n(?:           [^\n]+\n)*  why      \S[^\n]*\n(?:           [^\n]+\n)*  next     \S`)

// notPlain matches what no page may contain: a semicolon in prose, or a clause that begins with "where".
var notPlain = regexp.MustCompile(`;(?:\s|$)|(?i)\b(?:where|of which)\b`)

// python matches code on a page, in which a semicolon is allowed.
var python = regexp.MustCompile(`\);\s+[\w.]+\(`)

// pages returns the commands whose pages are checked: diagnose or trace of every case, and verify
// of pairs of cases.
func pages(t *testing.T) (all [][]string) {
	t.Helper()
	live, traces := clitest.CaseFiles(t, "run.jsonl*"), clitest.CaseFiles(t, "trace.json*")
	for i, file := range live {
		all = append(all, []string{"diagnose", file}, []string{"verify", live[max(0, i-1)], file})
	}
	traces = append(traces, "../../testdata/cases/trace-two-ranks")
	for i, file := range traces {
		all = append(all, []string{"trace", file})
		if i > 0 && filepath.Base(file) != "trace-two-ranks" {
			all = append(all, []string{"verify", traces[i-1], file})
		}
	}
	return all
}

// Every page begins with verdict, why and next, has at most 40 lines and is in plain words. The
// command in its last line prints the rest.
func TestPagesBeginWithTheVerdict(t *testing.T) {
	t.Setenv("COLUMNS", "100")
	for _, args := range pages(t) {
		name := strings.Join(args, " ")
		code, out, errs := call(t, args...)
		if code == cli.ExitUsage && args[0] == "verify" { // a pair of different kinds
			continue
		}
		if code != cli.ExitFine && code != cli.ExitError || !lead.MatchString(out) {
			t.Errorf("%s ends with %d and prints\n%s%s", name, code, out, errs)
			continue
		}
		lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
		if len(lines) > mostPrinted {
			t.Errorf("%s prints %d lines:\n%s", name, len(lines), out)
		}
		speaksPlainly(t, name, out, args[1:])
		command, more := strings.CutPrefix(lines[len(lines)-1], "more: stoker ")
		if !more || args[0] == "verify" {
			continue
		}
		_, all, _ := call(t, strings.Fields(command)...)
		if n := strings.Count(all, "\n"); n < len(lines) || !lead.MatchString(all) || strings.Contains(all, "\nmore: ") {
			t.Errorf("%s prints %d lines, %s %d", name, len(lines), command, n)
		}
		speaksPlainly(t, command, all, args[1:])
	}
}

// speaksPlainly reports text of a page that is not plain. It skips sentences from the recording,
// which another version may have written.
func speaksPlainly(t *testing.T, name, text string, files []string) {
	t.Helper()
	text = strings.Join(strings.Fields(text), " ")
	for _, file := range files {
		run, err := recording.Open(file)
		if err != nil {
			continue // a trace
		}
		for _, absent := range run.Facts.Absent {
			text = strings.ReplaceAll(text, strings.Join(strings.Fields(absent.Why), " "), "")
		}
		for _, s := range run.Steps {
			text = strings.ReplaceAll(text, s.NoClock, "")
		}
	}
	text = python.ReplaceAllString(text, ") $1")
	if at := notPlain.FindStringIndex(text); at != nil {
		t.Errorf("%s says %q: %.100q", name, text[at[0]:at[1]], text[max(0, at[0]-60):])
	}
}
