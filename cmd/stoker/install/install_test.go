package install

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
)

func TestInstall(t *testing.T) {
	folder := t.TempDir()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"install", folder}, nil, &stdout, &stderr); code != cli.ExitFine {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	own, _ := os.Executable()
	target := filepath.Join(folder, filepath.Base(own))
	if stdout.String() != target+"\n" {
		t.Errorf("it says %q", &stdout)
	}
	was, err := os.Stat(own)
	if err != nil {
		t.Fatal(err)
	}
	if is, err := os.Stat(target); err != nil || is.Size() != was.Size() || is.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", is, err)
	}
	deep := filepath.Join(folder, "not", "there")
	if code := run(t.Context(), []string{"install", deep}, nil, &stdout, &stderr); code != cli.ExitFine {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	if _, err := os.Stat(filepath.Join(deep, filepath.Base(own))); err != nil {
		t.Error(err)
	}
	stderr.Reset()
	if code := run(t.Context(), []string{"install", filepath.Join(target, "x")}, nil, &stdout, &stderr); code != cli.ExitError || !strings.Contains(stderr.String(), "stoker: hint:") {
		t.Errorf("below a file: exit code %d: %s", code, &stderr)
	}
	for _, args := range [][]string{{"install"}, {"install", folder, folder}} {
		if code := run(t.Context(), args, nil, &stdout, &stderr); code != cli.ExitUsage {
			t.Errorf("%q ends with %d", args, code)
		}
	}
}
