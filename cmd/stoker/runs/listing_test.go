//go:build unix

package runs

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
)

// oddFolder makes a folder with one recording, one by tune, and other things that are named like
// recordings.
func oddFolder(t *testing.T) string {
	t.Helper()
	dir := clitest.MakeFolder(t, map[string]string{"a.jsonl.gz": clitest.StarvedRun})
	text, err := os.ReadFile(filepath.Join(dir, "a.jsonl.gz"))
	in := func(name string) string { return filepath.Join(dir, name) }
	if err = errors.Join(err, os.Mkdir(in("tune-x"), 0o700), os.WriteFile(in("tune-x/0.jsonl.gz"), text, 0o600)); err == nil {
		err = errors.Join(
			unix.Mkfifo(in("pipe.jsonl.gz"), 0o600), os.Symlink("pipe.jsonl.gz", in("linked.jsonl.gz")), os.Mkdir(in("folder.jsonl.gz"), 0o700),
			os.Symlink("circle.jsonl", in("circle.jsonl")), os.Symlink("absent", in("dangling.jsonl.gz")), os.Symlink("/dev/zero", in("zero.jsonl")),
			os.Symlink(".", in("tune-circle")), unix.Mkfifo(in("tune-x/1.jsonl.gz"), 0o600),
		)
	}
	if err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", in("s.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	return dir
}

// Entries of a folder that are not files are skipped with a line, and never block a command.
func TestFolderWithMoreThanFiles(t *testing.T) {
	dir := oddFolder(t)
	no := []string{"circle.jsonl", "folder.jsonl.gz", "linked.jsonl.gz", "pipe.jsonl.gz", "s.jsonl", "zero.jsonl"}
	list := listOf(t, dir)
	if len(list.Jobs) != 2 || list.Jobs[0].Files[0] != "a.jsonl.gz" || list.Jobs[1].Files[0] != "tune-x/0.jsonl.gz" {
		t.Errorf("%+v", list.Jobs)
	}
	said := strings.Join(list.Warnings, "\n")
	for _, name := range append(no, "tune-x/1.jsonl.gz") {
		if !strings.Contains(said, name) {
			t.Errorf("runs has no word about %s:\n%s", name, said)
		}
	}
	if again := listOf(t, dir); len(again.Jobs) != 2 || len(again.Warnings) != len(list.Warnings) {
		t.Errorf("a second look: %+v", again)
	}
	code, out, errs := call(t, "diagnose", "--all", dir)
	for _, name := range no {
		if code != cli.ExitFine || !strings.Contains(out, name) {
			t.Errorf("diagnose: code %d, no word about %s\n%s%s", code, name, out, errs)
		}
	}
	table := filepath.Join(t.TempDir(), "steps.csv")
	code, out, errs = call(t, "export", "-o", table, dir)
	for _, name := range no {
		if code != cli.ExitFine || !strings.Contains(errs, "left out: ") || !strings.Contains(errs, name) {
			t.Errorf("export: code %d, no word about %s\n%s%s", code, name, out, errs)
		}
	}
}

// The newest recording of stoker-runs may be one by tune.
func TestNewestIsAFile(t *testing.T) {
	dir := oddFolder(t)
	t.Chdir(t.TempDir())
	if err := os.Rename(dir, judged.Folder); err != nil {
		t.Fatal(err)
	}
	if file, err := judged.FindNewest(); err != nil || file != filepath.Join(judged.Folder, "tune-x/0.jsonl.gz") && file != filepath.Join(judged.Folder, "a.jsonl.gz") {
		t.Errorf("%q, %v", file, err)
	}
	_ = os.Remove(filepath.Join(judged.Folder, "a.jsonl.gz"))
	if code, out, errs := call(t, "diagnose"); code != cli.ExitFine || !strings.Contains(out, "main-thread-loader") {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
}

// Every verb reads a named pipe, such as the shell's <(zcat FILE), and does not block on a pipe
// without a writer.
func TestNamedPipes(t *testing.T) {
	one, err1 := filepath.Abs(clitest.CaseFile(clitest.StarvedRun))
	other, err2 := filepath.Abs(clitest.CaseFile(clitest.FedRun))
	text, err := os.ReadFile(one)
	if err := errors.Join(err1, err2, err); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, verb := range [][]string{
		{"diagnose", "PIPE"},
		{"advise", "PIPE"},
		{"report", "-o", "page.html", "PIPE"},
		{"export", "-o", "run.prom", "PIPE"},
		{"export", "-o", "steps.csv", "PIPE"},
		{"verify", "PIPE", other},
		{"runs", "check", "PIPE"},
		{"runs", "merge", "-o", "merged.jsonl.gz", "PIPE", one},
	} {
		args := func(file string) []string {
			words := append([]string{}, verb...)
			for i, word := range words {
				if word == "PIPE" {
					words[i] = file
				}
			}
			return words
		}
		pipe := filepath.Join(t.TempDir(), "pipe")
		if err := unix.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		if verb[0] == "report" || verb[0] == "verify" { // each of these takes two seconds
			pipe = filepath.Join(t.TempDir(), "absent")
		}
		if code, out, errs := call(t, args(pipe)...); code != cli.ExitError || !strings.Contains(errs, pipe) {
			t.Errorf("%q, to which nobody writes: code %d\n%s%s", verb, code, out, errs)
		}
		ours, theirs, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = theirs.Write(text)
			_ = theirs.Close()
		}()
		code, got, errs := call(t, args("/dev/fd/"+strconv.Itoa(int(ours.Fd())))...)
		_ = ours.Close()
		_ = os.Remove("merged.jsonl.gz")
		wantCode, want, _ := call(t, args(one)...)
		_ = os.Remove("merged.jsonl.gz")
		if code != wantCode || len(bytes.Fields([]byte(got))) != len(bytes.Fields([]byte(want))) {
			t.Errorf("%q of a pipe: code %d, of the file %d\n%s\n%s%s", verb, code, wantCode, want, got, errs)
		}
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"tune", "--plan", pipe, "--", "true"}, {"predict", "--hardware", pipe}, {"feed", "--check", pipe}} {
		if code, _, errs := call(t, args...); code == cli.ExitFine || errs == "" {
			t.Errorf("%q: code %d", args, code)
		}
	}
	if code, _, errs := call(t, "runs", "trim", pipe); code != cli.ExitError || !strings.Contains(errs, "it is not a regular file") {
		t.Errorf("trim: code %d, %s", code, errs)
	}
}
