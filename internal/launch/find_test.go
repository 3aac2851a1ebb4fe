//go:build linux

package launch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// What runs a file is what the kernel reads in it; python/tests/test_launch.py starts them all.
func TestInterpreter(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"#!/bin/sh\n":                  "/bin/sh",
		"#! \t/usr/bin/env\tpython3\n": "/usr/bin/env",
		"#!/bin/sh\r\necho":            "/bin/sh\r",
		"#!/bin/sh":                    "/bin/sh",
		"#!":                           "",
		"#!  \n/bin/sh":                "",
		"echo hi\n":                    "",
		"\x7fELF":                      "",
		"":                             "",
	} {
		if err := os.WriteFile(filepath.Join(dir, "x"), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		if got := (Command{Path: "x", Dir: dir}).interpreter(); got != want {
			t.Errorf("%q is run by %q, want %q", text, got, want)
		}
	}
	if got := (Command{Path: dir}).interpreter(); got != "" {
		t.Errorf("a folder is run by %q", got)
	}
}

// Exec returns with the cause, and with the code of a shell.
func TestExecFailure(t *testing.T) {
	script := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(script, []byte("#!/no/such\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, code := range map[string]int{script: 127, filepath.Dir(script): 126, script + "y": 127} {
		var why *CommandError
		if err := (Command{Path: path, Words: []string{path}}).Exec(); !errors.As(err, &why) || why.ExitCode() != code || (why.Interpreter != "") != (path == script) {
			t.Errorf("%s: %+v", path, err)
		}
	}
	if _, err := Find("no-such-command-anywhere"); err == nil {
		t.Error("it is found")
	}
}
