//go:build linux && !nonvml

package gpu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stoker-dev/stoker/internal/leash"
)

// The shared page as emulated/nvml.c draws it, written from Go: a third hand
// that must agree with the other two.

const (
	pageBytes   = 4096 + 8*65536*24
	recordsAt   = 1024
	recordBytes = 256
	ringsAt     = 4096
	ringEntries = 65536
	entryBytes  = 24
	kernel      = 1
	copied      = 2
	staged      = 3
)

type testPage struct {
	t       testing.TB
	path    string
	file    *os.File
	written [8]uint64
}

// newPage makes a page without devices.
func newPage(t testing.TB) *testPage {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	if err := file.Truncate(pageBytes); err != nil {
		t.Fatal(err)
	}
	p := &testPage{t: t, path: path, file: file}
	p.put32(8, 1)
	p.put(0, []byte("STKEMUL1"))
	return p
}

func (p *testPage) put(at int64, b []byte) {
	p.t.Helper()
	if _, err := p.file.WriteAt(b, at); err != nil {
		p.t.Fatal(err)
	}
}

func (p *testPage) put32(at int64, v uint32) {
	p.put(at, binary.NativeEndian.AppendUint32(nil, v))
}

func (p *testPage) put64(at int64, v uint64) {
	p.put(at, binary.NativeEndian.AppendUint64(nil, v))
}

// device adds a device of 100 W idle and 500 W limit, made at created.
func (p *testPage) device(index int, created time.Duration) {
	at := int64(recordsAt + recordBytes*index)
	p.put(at, []byte("Test chip\x00"))
	p.put(at+64, fmt.Appendf(nil, "GPU-test-%d\x00", index))
	for i, v := range []uint32{uint32(os.Getpid()), 1200, 100_000, 500_000} {
		p.put32(at+128+4*int64(i), v)
	}
	for i, v := range []uint64{80 << 30, 7 << 30, 0, uint64(created)} {
		p.put64(at+144+8*int64(i), v)
	}
	p.put32(at+176, 1400)
	for i, v := range []uint32{4, 8, 5, 16, 0, 500} { // PCIe as it is, and at most; no reason for a low clock; half of the multiprocessors
		p.put32(at+180+4*int64(i), v)
	}
	p.put32(12, uint32(index+1))
}

// add writes one interval, entry first, counter last.
func (p *testPage) add(index int, start, end time.Duration, kind uint32) {
	at := int64(ringsAt + (index*ringEntries+int(p.written[index]%ringEntries))*entryBytes)
	b := binary.NativeEndian.AppendUint64(nil, uint64(start))
	b = binary.NativeEndian.AppendUint64(b, uint64(end))
	p.put(at, binary.NativeEndian.AppendUint32(b, kind))
	p.written[index]++
	p.put64(int64(recordsAt+recordBytes*index+160), p.written[index])
}

// duty fills [from, to) with kernels of 40 ms every 100 ms.
func (p *testPage) duty(index int, from, to time.Duration) {
	for at := from; at < to; at += 100 * time.Millisecond {
		p.add(index, at, at+40*time.Millisecond, kernel)
	}
}

// monotonic is the clock of the page.
func monotonic(t testing.TB) time.Duration {
	t.Helper()
	var ts syscall.Timespec
	if _, _, e := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&ts)), 0); e != 0 {
		t.Fatal(e)
	}
	return time.Duration(ts.Nano())
}

var built struct {
	once   sync.Once
	folder string
	err    error
}

func TestMain(m *testing.M) {
	os.Exit(leash.Main(m))
}

// standIn returns the path of emulated/nvml.c, built with the line at its top.
func standIn(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		if _, built.err = exec.LookPath("cc"); built.err != nil {
			return
		}
		if built.folder, built.err = os.MkdirTemp("", "stoker-nvml"); built.err != nil {
			return
		}
		out, err := exec.Command("cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread",
			"-o", filepath.Join(built.folder, systemLibrary), "emulated/nvml.c").CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if errors.Is(built.err, exec.ErrNotFound) {
		t.Skip("no cc here: the stand-in for NVML cannot be built")
	}
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.folder, systemLibrary)
}

// openEmulated opens the stand-in on a page; without lists symbols to hide.
func openEmulated(t testing.TB, page string, without ...string) *Probe {
	t.Helper()
	l := loadHooks{library: standIn(t), without: map[string]bool{}}
	for _, name := range without {
		l.without[name] = true
	}
	p, err := open(Options{Emulate: true, Page: page}, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}
