//go:build linux

package observe

import (
	"os"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/python/hook"
)

// An observer that has computed for half of what it may (ulimit -t) stops looking. The
// command's end, and its code, are seen all the same.
func TestObserverStopsBeforeItsTimeIsUsedUp(t *testing.T) {
	leash.Hold(t)
	stdin, open := gate(t)
	var said []string
	r := newRecorder(Options{
		Command: []string{"sh", "-c", "read x; exit 7"}, Stdin: stdin, Stdout: os.Stderr, Stderr: os.Stderr,
		Hook: hook.Files, OpenGPU: blind,
		Warn: func(text string) {
			said = append(said, text)
			open()
		},
	})
	r.mostCPU = usedCPU()
	if _, err := r.start("/bin/sh"); err != nil {
		t.Fatal(err)
	}
	r.watchGPUs()
	r.run(t.Context())
	if run, _ := r.finish(); run.Facts.Exit == nil || run.Facts.Exit.Code != 7 {
		t.Errorf("the command's end is %v", run.Facts.Exit)
	}
	if len(said) != 1 || !strings.Contains(said[0], "ulimit -t") {
		t.Errorf("said %q", said)
	}
}
