package decode

import (
	"image"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The benchmarks decode the JPEGs under the folder that STOKER_BENCH_IMAGES
// names (bench/loader/make_reference.py makes the reference set) and report the
// mean of the images' medians and minima of CPU time over five passes.

type benchImage struct {
	data []byte
	info Info
	crop image.Rectangle
}

func benchImages(b *testing.B) []benchImage {
	root := os.Getenv("STOKER_BENCH_IMAGES")
	if root == "" {
		b.Skip("STOKER_BENCH_IMAGES names no folder of JPEGs")
	}
	var images []benchImage
	draws := rand.New(rand.NewPCG(7, 7))
	d := New(Limits{})
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".jpg") || len(images) == 400 {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.ReadHeader(data)
		if err != nil {
			return err
		}
		images = append(images, benchImage{data, info, randomResizedCrop(draws, info.Width, info.Height)})
		return nil
	})
	if err != nil || len(images) == 0 {
		b.Fatalf("%s: %d JPEGs, %v", root, len(images), err)
	}
	return images
}

// randomResizedCrop draws a box as torchvision's RandomResizedCrop does.
func randomResizedCrop(r *rand.Rand, width, height int) image.Rectangle {
	for range 10 {
		area := float64(width*height) * (0.08 + 0.92*r.Float64())
		ratio := math.Exp(math.Log(0.75) + r.Float64()*(math.Log(4./3)-math.Log(0.75)))
		w, h := int(math.Round(math.Sqrt(area*ratio))), int(math.Round(math.Sqrt(area/ratio)))
		if 0 < w && w <= width && 0 < h && h <= height {
			x, y := r.IntN(width-w+1), r.IntN(height-h+1)
			return image.Rect(x, y, x+w, y+h)
		}
	}
	return image.Rect(0, 0, width, height)
}

func (d *Decoder) decodeAll(b *testing.B, im *benchImage, need image.Rectangle) {
	if _, err := d.ReadHeader(im.data); err != nil {
		b.Fatal(err)
	}
	if _, err := d.Decode(need); err != nil {
		b.Fatal(err)
	}
}

// huffmanOnly decodes the bits of a whole image for nothing.
func (d *Decoder) huffmanOnly(b *testing.B, im *benchImage) {
	if _, err := d.ReadHeader(im.data); err != nil {
		b.Fatal(err)
	}
	if err := d.planScan(&d.first); err != nil {
		b.Fatal(err)
	}
	d.reader.bits, _ = unstuff(d.plain, im.data, d.first.start)
	d.plain = d.reader.data
	d.reader.dry = false
	d.reader.skip(d.jpeg.mcusX * d.jpeg.mcusY)
}

// BenchmarkParts runs the parts in turn, image by image, with and without the
// kernels in assembly.
func BenchmarkParts(b *testing.B) {
	images := benchImages(b)
	fast, slow, marks := New(Limits{}), New(Limits{}), NewMarks(1<<30)
	parts := []struct {
		name string
		do   func(*Decoder, *benchImage)
	}{
		{"unstuff", func(d *Decoder, im *benchImage) {
			d.ReadHeader(im.data)
			r, _ := unstuff(d.plain, im.data, d.first.start)
			d.plain = r.data
		}},
		{"huffman", func(d *Decoder, im *benchImage) { d.huffmanOnly(b, im) }},
		{"full", func(d *Decoder, im *benchImage) {
			d.decodeAll(b, im, image.Rect(0, 0, im.info.Width, im.info.Height))
		}},
		{"crop", func(d *Decoder, im *benchImage) { d.decodeAll(b, im, im.crop) }},
		{"marked-crop", func(d *Decoder, im *benchImage) {
			d.UseMarks(marks)
			d.decodeAll(b, im, im.crop)
			d.UseMarks(nil)
		}},
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const passes = 5
	times := make([][2][][]time.Duration, len(parts))
	for p := range parts {
		for k := range 2 {
			times[p][k] = make([][]time.Duration, len(images))
		}
	}
	for pass := range passes + 1 {
		for i := range images {
			for p, part := range parts {
				for k, d := range []*Decoder{fast, slow} {
					usePlain(k == 1)
					begin := threadTime()
					part.do(d, &images[i])
					took := threadTime() - begin
					if pass > 0 {
						times[p][k][i] = append(times[p][k][i], took)
					}
				}
			}
		}
	}
	usePlain(false)
	for p, part := range parts {
		for k, way := range []string{"", "-plain"} {
			var median, least float64
			for _, t := range times[p][k] {
				slices.Sort(t)
				median += t[len(t)/2].Seconds() * 1e3
				least += t[0].Seconds() * 1e3
			}
			n := float64(len(images))
			b.ReportMetric(median/n, part.name+way+"-ms")
			b.ReportMetric(least/n, part.name+way+"-min-ms")
		}
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkPNG decodes the PNGs of the folder that STOKER_BENCH_PNGS names, kind-number.png (bench/loader/png.py draws
// them and calls this), and reports the least mean time of twelve passes, with and without the kernels.
func BenchmarkPNG(b *testing.B) {
	kinds := map[string][][]byte{}
	paths, _ := filepath.Glob(filepath.Join(os.Getenv("STOKER_BENCH_PNGS"), "*-*.png"))
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		kind, _, _ := strings.Cut(filepath.Base(path), "-")
		kinds[kind] = append(kinds[kind], data)
	}
	if len(kinds) == 0 {
		b.Skip("STOKER_BENCH_PNGS names no folder of PNGs")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer usePlain(false)
	d := New(Limits{})
	for kind, files := range kinds {
		for k, way := range []string{"", "-plain"} {
			usePlain(k == 1)
			least := time.Hour
			for range 12 {
				begin := threadTime()
				for _, data := range files {
					if err := decodeWhole(d, data); err != nil {
						b.Fatal(err)
					}
				}
				least = min(least, threadTime()-begin)
			}
			b.ReportMetric(least.Seconds()*1e3/float64(len(files)), kind+way+"-ms")
		}
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkHostile is how long hostile files keep a core.
func BenchmarkHostile(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	files := hostile(b)
	slowest := time.Duration(0)
	for b.Loop() {
		for name, h := range files {
			start := threadTime()
			err := decodeWhole(New(Limits{}), h.data)
			took := threadTime() - start
			slowest = max(slowest, took)
			if took > 200*time.Millisecond {
				b.Logf("%-36s %8d bytes %6.0f ms: %v", name, len(h.data), took.Seconds()*1000, err)
			}
		}
	}
	b.ReportMetric(slowest.Seconds()*1000, "slowest-cpu-ms")
}

// threadTime is the CPU time of this thread.
func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano())
}
