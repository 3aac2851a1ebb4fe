package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stoker-dev/stoker/internal/leash"
)

// shared is a buffer of two goroutines.
type shared struct {
	mutex sync.Mutex
	b     bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.b.Write(p)
}

func (s *shared) String() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.b.String()
}

// A folder is served as it is at each request, until the command ends.
func TestWebServesAFolder(t *testing.T) {
	alone(t)
	dir := t.TempDir()
	put := func(name string) {
		data, err := os.ReadFile("../../testdata/cases/labelled-too-few-workers/run.jsonl.gz")
		if err == nil {
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
	var out, errs shared
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, []string{"web", dir}, strings.NewReader(""), &out, &errs) }()
	t.Cleanup(cancel)
	leash.Wait(t, "an address", func() bool { return strings.HasSuffix(out.String(), "\n") })
	address := strings.TrimSpace(out.String())
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Jar: jar}
	get := func(url string) string {
		answer, err := client.Get(url)
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
	base, _, _ := strings.Cut(address, "?")
	put("2026-b.jsonl.gz")
	if text := get(base); !strings.Contains(text, "2026-b.jsonl.gz") {
		t.Error("a new recording is not listed")
	}
	if text := get(base + "run/2026-b.jsonl.gz"); !strings.Contains(text, "</html>") {
		t.Error("its page is not whole")
	}
	for _, name := range []string{"..%2Fgo.mod", "%2Fetc%2Fpasswd", "absent.jsonl.gz"} {
		if text := get(base + "run/" + name); !strings.Contains(text, "404") {
			t.Errorf("%s: %q", name, text)
		}
	}
	cancel()
	if code := leash.Receive(t, "the end", ended); code != exitFine {
		t.Errorf("code %d, %s", code, errs.String())
	}
}
