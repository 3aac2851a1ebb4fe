//go:build unix

package report

import (
	"context"
	"errors"
	"html"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
	"github.com/stoker-dev/stoker/internal/leash"
)

// odd are unusual names of files.
var odd = []string{
	"a?b.jsonl.gz", "a#b.jsonl.gz", "a%2eb.jsonl.gz", "a%b.jsonl", "a\x1b[31mb.jsonl.gz", "a\u202eb.jsonl.gz", "a\nb.jsonl.gz", "a\xffb.jsonl.gz",
	"a b+c.jsonl.gz", "a&b;c.jsonl.gz", `a"b'c<d>.jsonl.gz`, `a\b.jsonl.gz`, "..jsonl.gz", ":a.jsonl.gz", "é🙂.jsonl.gz", "tune-2026/0.jsonl.gz",
}

// Each request shows the present state of the folder, until the command ends.
func TestReportServesAFolder(t *testing.T) {
	clitest.HideOwnRows(t)
	dir := t.TempDir()
	put := func(name string) {
		data, err := os.ReadFile("../../../testdata/cases/labelled-too-few-workers/run.jsonl.gz")
		if err == nil {
			_ = os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700)
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put("2026-a.jsonl.gz")
	if err := os.WriteFile(filepath.Join(dir, "2026-bad.jsonl.gz"), []byte("no recording"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var out, errs clitest.Buffer
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, []string{"report", "--serve", dir}, strings.NewReader(""), &out, &errs) }()
	t.Cleanup(cancel)
	leash.Wait(t, "an address", func() bool { return strings.HasSuffix(out.String(), "\n") })
	address := strings.TrimSpace(out.String())
	get := func(url string) string {
		answer, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		text, _ := io.ReadAll(answer.Body)
		return string(text)
	}
	if text := get(address); !strings.Contains(text, "too-few-workers") || !strings.Contains(text, "cannot be read") {
		t.Errorf("the list: %s", text)
	}
	put("2026-b.jsonl.gz")
	for _, name := range odd {
		put(name)
	}
	if err := errors.Join(unix.Mkfifo(filepath.Join(dir, "2026-pipe.jsonl.gz"), 0o600), os.Symlink("circle.jsonl", filepath.Join(dir, "circle.jsonl"))); err != nil {
		t.Fatal(err)
	}
	if text := get(address); !strings.Contains(text, "2026-b.jsonl.gz") {
		t.Error("a new recording is not listed")
	}
	list := get(address)
	for _, name := range []string{"2026-pipe.jsonl.gz", "circle.jsonl"} {
		if !regexp.MustCompile(`no file.*<th scope="row">` + name).MatchString(list) {
			t.Errorf("the list says nothing of %s, or leads to it: %s", name, list)
		}
	}
	links := regexp.MustCompile(`href="(run/[^"]*)"`).FindAllStringSubmatch(list, -1)
	if len(links) != 3+len(odd) {
		t.Errorf("%d links for %d files", len(links), 3+len(odd))
	}
	for _, link := range links {
		if text := get(address + html.UnescapeString(link[1])); !strings.Contains(text, "</html>") && !strings.Contains(link[1], "2026-bad") {
			t.Errorf("%s leads to %.100q", link[1], text)
		}
	}
	if text := get(address + "run/2026-b.jsonl.gz"); !strings.Contains(text, "</html>") {
		t.Error("its page is not whole")
	}
	for _, name := range []string{"..%2Fgo.mod", "%2Fetc%2Fpasswd", "absent.jsonl.gz"} {
		if text := get(address + "run/" + name); !strings.Contains(text, "404") {
			t.Errorf("%s: %q", name, text)
		}
	}
	cancel()
	if code := leash.Receive(t, "the end", ended); code != cli.ExitFine {
		t.Errorf("code %d, %s", code, errs.String())
	}
}
