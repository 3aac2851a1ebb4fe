package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/internal/spare/sparetest"
)

// TestWhoseFault goes through all error numbers of Linux: each is an outage, or the file's own.
func TestWhoseFault(t *testing.T) {
	ofTheMachine := strings.Fields(`EMFILE ENFILE ENOMEM ENOBUFS EAGAIN EINTR EBUSY ENOLCK ENOSPC EDQUOT EFBIG EROFS ESTALE ETIMEDOUT ENOTCONN
		ECONNABORTED ECONNREFUSED ECONNRESET EPIPE ESHUTDOWN EHOSTDOWN EHOSTUNREACH ENETDOWN ENETUNREACH ENETRESET EADDRNOTAVAIL`)
	seen := 0
	for number := syscall.Errno(1); number < 134; number++ {
		name := unix.ErrnoName(number)
		want := slices.Contains(ofTheMachine, name)
		if want {
			seen++
		}
		if got := IsOutage(&fs.PathError{Op: "open", Path: "x.jpg", Err: fmt.Errorf("once more: %w", number)}); got != want {
			t.Errorf("%s (%v): an outage: %v, expected %v", name, number, got, want)
		}
	}
	if seen != len(ofTheMachine) {
		t.Errorf("%d of %d names are error numbers", seen, len(ofTheMachine))
	}
	for _, number := range []syscall.Errno{syscall.EIO, syscall.EACCES, syscall.ENOENT, syscall.EISDIR, syscall.ELOOP, syscall.ENAMETOOLONG} {
		if IsOutage(number) {
			t.Errorf("%v is told as the machine's", number)
		}
	}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errNoFile, false},
		{ErrTooLarge, false},
		{errChanged, false},
		{io.ErrUnexpectedEOF, false},
		{context.DeadlineExceeded, true},
		{os.ErrDeadlineExceeded, true},
		{&net.DNSError{Err: "no such host", IsNotFound: true}, true},
		{&net.OpError{Op: "dial", Err: errors.New("proxy")}, true},
		{fmt.Errorf("get it: %w", &Outage{Err: errors.New("503")}), true},
	} {
		if got := IsOutage(c.err); got != c.want {
			t.Errorf("%v: an outage: %v, expected %v", c.err, got, c.want)
		}
	}
}

// TestNetworkStorage: the meaning of EIO depends on the file system of the file.
func TestNetworkStorage(t *testing.T) {
	root := t.TempDir()
	plant(t, "file", filepath.Join(root, "a/1.jpg"), "")
	folder := list(t, root, Options{})
	kinds := networks
	defer func() { networks = kinds }()
	for _, far := range []bool{false, true} {
		if networks = nil; far {
			var stat unix.Statfs_t
			if err := unix.Statfs(root, &stat); err != nil {
				t.Fatal(err)
			}
			networks = []int64{int64(stat.Type) & 0xffffffff}
		}
		if got := IsOutage(folder.judgeError(0, syscall.EIO)); got != far {
			t.Errorf("network storage %v: EIO is an outage: %v", far, got)
		}
		if IsOutage(folder.judgeError(0, syscall.EACCES)) {
			t.Error("EACCES is an outage")
		}
	}
}

// numbered makes a folder of files with different content.
func numbered(t *testing.T, count int) (*Folder, [][]byte) {
	t.Helper()
	root := t.TempDir()
	want := make([][]byte, count)
	for i := range count {
		want[i] = bytes.Repeat([]byte{byte(i)}, 1000+i)
		path := filepath.Join(root, "a", fmt.Sprintf("%03d.jpg", i))
		plant(t, "file", path, "")
		if err := os.WriteFile(path, want[i], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return list(t, root, Options{}), want
}

// TestLastDescriptor: with no descriptor left, threads read their files in turn.
func TestLastDescriptor(t *testing.T) {
	folder, want := numbered(t, 40)
	sparetest.UseUp(t)
	var readers sync.WaitGroup
	for first := range 4 {
		readers.Go(func() {
			for i := first; i < len(want); i += 4 {
				if got, err := folder.Read(i, nil); err != nil || !bytes.Equal(got, want[i]) {
					t.Errorf("sample %d: %d bytes, %v", i, len(got), err)
				}
				folder.Announce(i)
			}
		})
	}
	readers.Wait()
}

// TestOutageEnds: a reader that cannot even use the reserve continues when descriptors are
// available again.
func TestOutageEnds(t *testing.T) {
	folder, want := numbered(t, 1)
	giveBack := sparetest.Forbid(t)
	if _, err := folder.OpenFile(0); !errors.Is(err, unix.EMFILE) {
		t.Fatalf("a file was opened: %v", err)
	}
	read := make(chan []byte, 1)
	tried := make(chan struct{}, 1)
	go func() {
		_ = folder.retrying(0, func() error {
			got, err := folder.OpenFile(0)
			if err != nil {
				select {
				case tried <- struct{}{}:
				default:
				}
				return err
			}
			defer got.Close()
			data, err := got.Read(nil)
			read <- data
			return err
		})
	}()
	leash.Receive(t, "a try that fails", tried)
	giveBack()
	if got := leash.Receive(t, "the file", read); !bytes.Equal(got, want[0]) {
		t.Errorf("%d bytes, expected %d", len(got), len(want[0]))
	}
}

// TestOutageLasts: an outage that does not end is reported as such, after Close at once.
func TestOutageLasts(t *testing.T) {
	folder, _ := numbered(t, 1)
	was := Patience
	defer func() { Patience = was }()
	for _, closed := range []bool{false, true} {
		if Patience = 20 * time.Millisecond; closed {
			Patience = time.Hour
			if err := folder.Close(); err != nil {
				t.Fatal(err)
			}
		}
		tries := 0
		err := folder.retrying(0, func() error { tries++; return unix.ENFILE })
		if !errors.As(err, new(*Outage)) || tries == 1 && !closed {
			t.Errorf("closed %v: %v after %d tries, expected an outage", closed, err, tries)
		}
		tries = 0
		if err := folder.retrying(0, func() error { tries++; return unix.EACCES }); tries != 1 || IsOutage(err) {
			t.Errorf("%v after %d tries: a file that is forbidden is tried once", err, tries)
		}
	}
}

// TestFullCache: where the cache's disk is full, objects go past it, and no epoch is poorer by one.
func TestFullCache(t *testing.T) {
	_, folder := aStore(t, "1GB")
	small := t.TempDir()
	if err := unix.Mount("none", small, "tmpfs", 0, "size=24k,mode=700"); err != nil {
		t.Skipf("only root can mount a small disk: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(small, unix.MNT_DETACH) })
	t.Setenv("STOKER_CACHE_DIR", small)
	want, _ := readAll(listed(t, folder))
	far := listed(t, "s3://pictures/train")
	for epoch := range 2 {
		got, err := readAll(far)
		if err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("epoch %d: other bytes, or %v", epoch, err)
		}
	}
	files, _ := os.ReadDir(filepath.Join(small, "objects"))
	if len(files) == 0 || len(files) >= len(want) {
		t.Errorf("%d of %d objects lie in the cache: its disk was not full", len(files), len(want))
	}
}

// TestKeysOutage: a lack of descriptors while reading the keys is an error, not an absence of keys.
func TestKeysOutage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte("[default]\naws_access_key_id=A\naws_secret_access_key=B\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	giveBack := sparetest.Forbid(t)
	got, err := findKeys()
	giveBack()
	if err == nil || got != (keys{}) {
		t.Errorf("%v, %v: expected an error", got, err)
	}
}
