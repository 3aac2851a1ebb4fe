//go:build unix

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
)

// No output is written through a link that another user has made: the command fails, or it
// replaces the link.
func TestNoOutputThroughLinks(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to make another user's link")
	}
	run := filepath.Join(clitest.MakeFolder(t, map[string]string{"run.jsonl.gz": clitest.StarvedRun}), "run.jsonl.gz")
	for _, args := range [][]string{
		{"diagnose", "--markdown", "LINK", run},
		{"diagnose", "--sarif", "LINK", run},
		{"diagnose", "--gitlab", "LINK", run},
		{"diagnose", "--pprof", "LINK", run},
		{"verify", "--markdown", "LINK", run, run},
		{"report", "-o", "LINK", run},
		{"export", "-o", "LINK.prom", run},
		{"advise", "-o", "LINK", run},
		{"runs", "merge", "-o", "LINK", run, run},
		{"feed", "--check", "--quarantine", "LINK", "."},
	} {
		t.Chdir(t.TempDir())
		if err := os.WriteFile("victim", []byte("whole\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, word := range args {
			if strings.HasPrefix(word, "LINK") {
				if err := errors.Join(os.Symlink("victim", word), os.Lchown(word, 65534, 65534)); err != nil {
					t.Fatal(err)
				}
			}
		}
		code, _, errs := call(t, args...)
		if text, _ := os.ReadFile("victim"); string(text) != "whole\n" {
			t.Errorf("%q: code %d, the victim's file is %q\n%s", args, code, text, errs)
		}
		if args[1] == "--markdown" && (code != cli.ExitError || !strings.Contains(errs, "user 65534 made")) {
			t.Errorf("%q: code %d\n%s", args, code, errs)
		}
	}
}
