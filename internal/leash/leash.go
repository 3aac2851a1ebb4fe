// Package leash keeps what a test starts from outliving it, and its waits from
// hanging on a clock.
//
// Main gives the tests of a package folders of their own for whatever is temporary,
// and Hold ends with a test all processes that it started, however far they went:
// into sessions of their own, to other parents, to other users. It knows them by a
// variable of their environment. A guard, in a session of its own, does the same
// and removes the folders when the tests are killed. Wait and Receive wait for an
// event; the time that `go test` gives is the only limit, and no measure.
//
// It runs no program itself and knows nothing of the tests. It is imported by tests
// only; elsewhere than on Linux processes are left alone.
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

// marker is the variable by which processes of a test are known. Its name is none
// that programs under test take away.
const marker = "TEST_LEASH"

// run names the processes of this test binary; "" before Main. count is how many
// tests held theirs. pipe is how the guard notices that we have ended.
var (
	run   string
	count atomic.Int64
	pipe  *os.File
)

// Main runs the tests of a package, for its TestMain: os.Exit(leash.Main(m)). Their
// temporary files, run-time sockets and caches lie in folders of their own, and
// programs that they start handle signals as after a login, also where the tests
// were started with nohup or in the background.
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
	_ = os.Chmod(folder, 0o711) // some tests become another user
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

// Remove removes an empty folder that lies elsewhere (a control group) with the
// tests, where the test itself does not come to it.
func Remove(path string) { _, _ = fmt.Fprintln(pipe, path) }

// unignore has what is started handle signals that whoever started the tests
// ignores: a program inherits what is ignored, not what is handled.
func unignore() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s) // and dropped here
		}
	}
}

// Hold ends with the test all processes that it starts from here on. The test must
// not be parallel.
func Hold(t testing.TB) {
	t.Helper()
	if run == "" {
		t.Fatal("leash: TestMain does not call leash.Main")
	}
	mine := run + "/" + strconv.FormatInt(count.Add(1), 10) + "/"
	t.Setenv(marker, mine)
	t.Cleanup(func() { end(mine) })
}

// Wait waits until something holds.
func Wait(t testing.TB, what string, holds func() bool) {
	t.Helper()
	if !Happens(t, holds) {
		t.Fatalf("waited in vain for %s", what)
	}
}

// Happens is Wait for other goroutines than the test's: it reports whether it holds.
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

// Deadline is when to give up a read that cannot be selected; never, without a limit.
func Deadline(t testing.TB) (at time.Time) {
	if left := left(t); left > 0 {
		at = time.Now().Add(left)
	}
	return at
}

// limitReached is over when left is.
func limitReached(t testing.TB) <-chan time.Time {
	if left := left(t); left > 0 {
		return time.After(left)
	}
	return nil
}

// left is half of the time that the tests have, so that whoever waits in vain says
// so and leaves some to the others; 0 without a limit.
func left(t testing.TB) time.Duration {
	if limited, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if deadline, ok := limited.Deadline(); ok {
			return max(time.Until(deadline)/2, 1)
		}
	}
	return 0
}

// clear removes a folder of ours with all that is in it, and takes out what was
// mounted there.
func clear(folder string) {
	unmount(folder)
	_ = filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) // a test took the right to change it
		}
		return nil
	})
	_ = os.RemoveAll(folder)
}
