package feed

import (
	"bytes"
	"image"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stoker-dev/stoker/feed/transform"
)

func TestBudget(t *testing.T) {
	for _, test := range []struct {
		name string
		PoolOptions
		want string // in the error; "": none
	}{
		{"default", PoolOptions{Threads: 2}, ""},
		{"all of 512 MiB", PoolOptions{Threads: 2, Memory: 512 << 20}, ""},
		{"too little", PoolOptions{Threads: 2, Memory: 256 << 20}, "are too few for 2 threads, which need 320.0 MiB"},
		{"more threads need more", PoolOptions{Threads: 64, Memory: 512 << 20}, "use fewer threads"},
		{"more than there is", PoolOptions{Threads: 2, Memory: math.MaxInt64}, "is asked for, but"},
	} {
		b, err := newBudget(test.PoolOptions)
		if test.want == "" {
			must(t, err)
			if sum := b.kept + b.scratch + b.files + b.marks + b.free + runtimeBytes; sum > b.total || b.free <= 0 {
				t.Errorf("%s: the parts are %d of %d, %d are left for rings", test.name, sum, b.total, b.free)
			}
			if scratchBytes(b.pixels, 1)-keptScratch > b.scratch || b.pixels > maxPixels {
				t.Errorf("%s: an image of %d pixels passes, its scratch does not fit", test.name, b.pixels)
			}
		} else if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, expected %q", test.name, err, test.want)
		}
	}
}

func TestRingsFit(t *testing.T) {
	b := &budget{total: 1 << 30, free: 1000}
	must(t, b.reserveMemory(600, "the rings"))
	if err := b.reserveMemory(600, "the rings of 8 ranks"); err == nil || !strings.Contains(err.Error(), "the rings of 8 ranks need") {
		t.Errorf("rings beyond the memory: %v", err)
	}
	b.releaseMemory(600)
	must(t, b.reserveMemory(1000, "the rings"))
}

// TestAllowance: never more is out than there is, and a large one gets its turn
// among many small ones.
func TestAllowance(t *testing.T) {
	a := newAllowance(100)
	var out, most int
	var mu sync.Mutex
	count := func(n int64) {
		mu.Lock()
		defer mu.Unlock()
		out += int(n)
		most = max(most, out)
	}
	var all sync.WaitGroup
	for i := range 40 {
		bytes := int64(30)
		if i%10 == 0 {
			bytes = 1000 // all of it
		}
		all.Go(func() {
			for range 20 {
				taken := a.takeBytes(bytes)
				count(taken)
				time.Sleep(10 * time.Microsecond)
				count(-taken)
				a.giveBack(taken)
			}
		})
	}
	done := make(chan bool)
	go func() { all.Wait(); close(done) }()
	await(t, done)
	if most > 100 || a.free != 100 {
		t.Errorf("at most %d of 100 were out, %d are free in the end", most, a.free)
	}
}

// TestScratch: no image takes more memory than the budget counts for it.
func TestScratch(t *testing.T) {
	const side = 1000
	deep := image.NewNRGBA64(image.Rect(0, 0, side, side))
	for i := range deep.Pix {
		deep.Pix[i] = byte(i * 7)
	}
	usual := image.NewYCbCr(deep.Rect, image.YCbCrSubsampleRatio444)
	root := t.TempDir()
	must(t, os.Mkdir(filepath.Join(root, "class"), 0o700))
	var text bytes.Buffer
	must(t, png.Encode(&text, deep))
	must(t, os.WriteFile(filepath.Join(root, "class", "deep.png"), text.Bytes(), 0o600))
	text.Reset()
	must(t, jpeg.Encode(&text, usual, nil))
	must(t, os.WriteFile(filepath.Join(root, "class", "usual.jpg"), text.Bytes(), 0o600))
	spec := trainSpec(root)
	spec.Ops = []transform.Op{{Name: "resize", Size: []int{side - 1, side - 2}}, {Name: "pil_to_tensor"}} // reads every pixel
	l := open(t, newTestPool(t, 1), spec, Options{})
	for sample := range l.Samples() {
		if got := allocated(t, l, sample); got > scratchBytes(side, side) {
			t.Errorf("%s takes %.1f bytes a pixel, counted are %d", l.pathOf(sample), float64(got)/side/side, perPixel)
		}
	}
}

// allocated returns how much a fresh worker allocates for one sample, without the tensor and
// the file.
func allocated(t *testing.T, l *Loader, sample int) int64 {
	t.Helper()
	to := memory(make([]byte, l.layout.Sample))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w := newWorker(l.pool)
	if _, trouble := w.makeSample(l, errand{0, sample}, to); trouble != nil {
		t.Fatal(trouble)
	}
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc-before.TotalAlloc) - int64(cap(w.file))
}
