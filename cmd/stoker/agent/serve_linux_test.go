package agent

import (
	"context"
	"errors"
	"fmt"
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

// The agent listens at the printed address, answers callers of this machine or with the token, and
// stops with the command.
func TestAgentServes(t *testing.T) {
	clitest.HideOwnRows(t)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {"--token-file", token}} {
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(cancel)
		var out, errs clitest.Buffer
		ended := make(chan int, 1)
		go func() {
			ended <- run(ctx, append([]string{"agent", "--listen", "127.0.0.1:0"}, args...), strings.NewReader(""), &out, &errs)
		}()
		serving := regexp.MustCompile(`serving (http://[0-9.:]+/metrics)`)
		leash.Wait(t, "an address", func() bool { return serving.MatchString(errs.String()) })
		for header, want := range map[string]bool{"": args == nil, "Bearer 0123456789abcdef": true} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, serving.FindStringSubmatch(errs.String())[1], nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", header)
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			if got := strings.Contains(string(text), "stoker_agent_gpus "); got != want {
				t.Errorf("%q with %v: %s", header, args, text)
			}
		}
		cancel()
		if code := leash.Receive(t, "the end", ended); code != cli.ExitFine {
			t.Errorf("code %d, %s", code, errs.String())
		}
	}
}

// If the token file becomes unreadable, one line says so, and one line says when it can be read
// again. Callers only learn that they are rejected.
func TestAgentSaysWhyItRejectsCallers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var said []string
	door, err := agentFlags{listen: "127.0.0.1:0", tokenFile: file}.readDoor(func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o600, 0o644, 0o644, 0o600, 0o640, 0o606} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		token, err := door.Token()
		if open := mode&0o027 != 0; (err != nil) != open || (token == "") != open {
			t.Errorf("mode %o: %q, %v", mode, token, err)
		}
	}
	want := []string{"has mode 0644", "can be used again", "has mode 0606"}
	if len(said) != len(want) {
		t.Fatalf("%q", said)
	}
	for i, text := range want {
		if !strings.Contains(said[i], text) {
			t.Errorf("%q, want %q", said[i], text)
		}
	}
}

// Other machines are rejected without a valid token.
func TestAgentNeedsAToken(t *testing.T) {
	clitest.HideOwnRows(t)
	short := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(short, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	secret := func(name string, mode os.FileMode, owner int) string {
		file := filepath.Join(filepath.Dir(short), name)
		if err := errors.Join(os.WriteFile(file, []byte("0123456789abcdef"), mode), os.Chmod(file, mode)); err != nil {
			t.Fatal(err)
		}
		if owner != 0 && os.Getuid() == 0 {
			_ = os.Chown(file, owner, owner)
		}
		return file
	}
	pipe := filepath.Join(filepath.Dir(short), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o644, 0o604, 0o660, 0o602} {
		var errs clitest.Buffer
		file := secret("open", mode, 0)
		if code := run(t.Context(), []string{"agent", "--token-file", file}, strings.NewReader(""), io.Discard, &errs); code != cli.ExitError || !strings.Contains(errs.String(), "chmod 600 "+file) {
			t.Errorf("mode %o: code %d, %s", mode, code, errs.String())
		}
	}
	if theirs := secret("theirs", 0o600, 65534); os.Getuid() == 0 {
		var errs clitest.Buffer
		if code := run(t.Context(), []string{"agent", "--token-file", theirs}, strings.NewReader(""), io.Discard, &errs); code != cli.ExitError || !strings.Contains(errs.String(), "user 65534's") {
			t.Errorf("another user's: code %d, %s", code, errs.String())
		}
	}
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--token-file", pipe}, cli.ExitError, "is not a regular file"},
		{[]string{"--listen", "0.0.0.0:0"}, cli.ExitUsage, "--token-file token"},
		{[]string{"--listen", ":0"}, cli.ExitUsage, "takes a token"},
		{[]string{"--listen", "[::]:0"}, cli.ExitUsage, "takes a token"},
		{[]string{"--listen", "9779"}, cli.ExitUsage, "an address and a port"},
		{[]string{"--token-file", short}, cli.ExitError, "at least 16 characters"},
		{[]string{"--token-file", short + "x"}, cli.ExitError, "no such file"},
		{[]string{"--price", "cheap"}, cli.ExitUsage, "price"},
		{[]string{"--most-series", "-3"}, cli.ExitUsage, "one series at least"},
	} {
		var errs clitest.Buffer
		if code := run(t.Context(), append([]string{"agent"}, test.args...), strings.NewReader(""), io.Discard, &errs); code != test.code || !strings.Contains(errs.String(), test.says) {
			t.Errorf("%v: code %d, %s", test.args, code, errs.String())
		}
	}
}
