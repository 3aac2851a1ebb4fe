// Package leash ends the processes that a test starts no later than the test, and lets a test
// wait for events without a time limit for each.
//
// Main gives the tests of a package separate folders for temporary files. Hold ends all
// processes that a test started, even those that changed their session, parent or user: it
// recognises them by an environment variable. A guard process in a separate session does the
// same, and removes the folders, if the tests are killed. Wait and Receive wait for an event;
// the only limit is the time that `go test` allows.
//
// The package runs no program of the tests itself. Only tests import it. On systems other than
// Linux it does not end processes.
package leash

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// marker is the environment variable that identifies processes of a test. Programs under test
// do not remove it.
const marker = "TEST_LEASH"

// run identifies the processes of this test binary; "" before Main. count is the number of
// calls of Hold. The guard notices by pipe that this process has ended.
var (
	run   string
	count atomic.Int64
	pipe  *os.File
)

// Main runs the tests of a package, for its TestMain: os.Exit(leash.Main(m)). Temporary files,
// run-time sockets and caches go to separate folders. Programs that tests start handle signals
// as after a login, even if the tests were started with nohup or in the background.
func Main(m *testing.M) (code int) {
	folder, err := os.MkdirTemp("", "st-")
	if err != nil {
		panic(err)
	}
	private := privateFolder(folder)
	for name, path := range map[string]string{
		"TMPDIR": folder, "XDG_RUNTIME_DIR": private + "/run",
		"XDG_CACHE_HOME": private + "/cache",
	} {
		_ = os.MkdirAll(path, 0o700)
		_ = os.Setenv(name, path)
	}
	_ = os.Chmod(folder, 0o711) // some tests switch to another user
	unignore()
	run = rand.Text()
	_ = os.Setenv(marker, run+"/0")
	if pipe, err = guard(folder, private); err != nil {
		panic(err)
	}
	defer func() {
		end(run + "/")
		clear(folder)
		clear(private)
		_ = pipe.Close()
	}()
	return m.Run()
}

// Remove registers an empty folder elsewhere (a control group), which the guard removes if the
// test does not get to it.
func Remove(path string) { _, _ = fmt.Fprintln(pipe, path) }

// unignore makes child processes handle signals that were ignored when the tests were started:
// a child inherits ignored signals, but not handlers.
func unignore() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s) // the channel is never read
		}
	}
}

// Hold ends, together with the test, all processes that the test starts after this call. The
// test must not be parallel.
func Hold(t testing.TB) {
	t.Helper()
	if run == "" {
		t.Fatal("leash: TestMain does not call leash.Main")
	}
	mine := run + "/" + strconv.FormatInt(count.Add(1), 10) + "/"
	t.Setenv(marker, mine)
	t.Cleanup(func() { end(mine) })
}

// Wait waits until a condition holds.
func Wait(t testing.TB, what string, holds func() bool) {
	t.Helper()
	if !Happens(t, holds) {
		t.Fatalf("waited in vain for %s", what)
	}
}

// Happens is Wait for goroutines other than that of the test: it reports whether the condition
// held in time.
func Happens(t testing.TB, holds func() bool) bool {
	limit := limitReached(t)
	for pause := time.Millisecond; !holds(); pause = min(2*pause, 50*time.Millisecond) {
		select {
		case <-limit:
			return false
		case <-time.After(pause):
		}
	}
	return true
}

// Receive waits for a value, or for the channel to be closed.
func Receive[T any](t testing.TB, what string, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-limitReached(t):
		t.Fatalf("waited in vain for %s", what)
	}
	return v
}

// Deadline returns when to give up a read that select cannot wait for; the zero time if there
// is no limit.
func Deadline(t testing.TB) (at time.Time) {
	if left := timeLeft(t); left > 0 {
		at = time.Now().Add(left)
	}
	return at
}

// limitReached returns a channel that receives a value when timeLeft is over; nil if
// there is no limit.
func limitReached(t testing.TB) <-chan time.Time {
	if left := timeLeft(t); left > 0 {
		return time.After(left)
	}
	return nil
}

// timeLeft returns half of the remaining time of the tests, so that a test waiting in vain can
// report it and leaves time for others; 0 if there is no limit.
func timeLeft(t testing.TB) time.Duration {
	if limited, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if deadline, ok := limited.Deadline(); ok {
			return max(time.Until(deadline)/2, 1)
		}
	}
	return 0
}

// clear removes a folder with its content, after unmounting everything below it.
func clear(folder string) {
	unmount(folder)
	_ = filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) // a test may have removed the permission
		}
		return nil
	})
	_ = os.RemoveAll(folder)
}
