package feed

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkCold fills an epoch of 1,024 samples from files that are not in the page
// cache, with and without announcing them; an operation is an epoch.
func BenchmarkCold(b *testing.B) {
	root := photographs(b, 1024)
	for name, announced := range map[string]bool{"announced": true, "not announced": false} {
		b.Run(name, func(b *testing.B) {
			pool, err := NewPool(PoolOptions{Threads: 2})
			if err != nil {
				b.Fatal(err)
			}
			defer pool.Close()
			if !announced {
				pool.ahead = nil // takes nothing
			}
			l, err := Open(b.Context(), imagenetSpec(root), Options{Pool: pool})
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			for b.Loop() {
				b.StopTimer()
				evict(b, root)
				b.StartTimer()
				epoch(b, l)
			}
			read := l.CurrentCounters().Read
			b.ReportMetric(float64(read.Microseconds())/float64(b.N*1024), "read-us/sample")
		})
	}
}

// epoch fills an epoch, four slots at a time.
func epoch(b *testing.B, l *Loader) {
	pass, err := l.BeginPass(0, 0, 0, 0)
	if err != nil {
		b.Fatal(err)
	}
	slots := make(chan []byte, 4)
	for range cap(slots) {
		slots <- make([]byte, l.layout.SlotBytes)
	}
	for step := range pass.Steps() {
		slot := <-slots
		if _, err := pass.Fill(step, slot, time.Now(), func(Filled) { slots <- slot }); err != nil {
			b.Fatal(err)
		}
	}
	for range cap(slots) {
		<-slots
	}
}

// evict takes the files out of the page cache.
func evict(b *testing.B, root string) {
	unix.Sync()
	files, err := filepath.Glob(filepath.Join(root, "*", "*"))
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED)
		file.Close()
	}
}
