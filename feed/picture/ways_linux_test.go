package picture

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/feed/decode"
	"github.com/stoker-dev/stoker/feed/transform"
)

// BenchmarkWays makes the same tensor in the two possible ways: by a list of transform.Ops,
// which is compiled for all samples of a data set, and by a Program, which describes one
// picture. The bytes are compared once. A Program costs more, because its text is parsed for
// each picture and its planes are stored in memory before the tensor is written. cpu-us/op is
// the thread's core time.
func BenchmarkWays(b *testing.B) {
	file := photograph(b, 500, 375)
	for _, c := range []struct {
		dtype string
		ops   []transform.Op
		end   string
	}{
		{"uint8", []transform.Op{{Name: "pil_to_tensor"}}, `["pil_to_tensor"]`},
	} {
		ops := append([]transform.Op{{Name: "resize", Size: []int{256}}, {Name: "center_crop", Size: []int{224}}}, c.ops...)
		listed, err := transform.Compile(ops, transform.Output{DType: c.dtype, Layout: "nchw"})
		if err != nil {
			b.Fatal(err)
		}
		told := fmt.Appendf(nil, `{"mode":"RGB","size":[500,375],"ops":[["resize",341,256,2,null],["crop",58,16,282,240],%s]}`, c.end)
		d, w, pictures := decode.New(decode.Limits{}), transform.NewWorker(), NewWorker(decode.Limits{})
		byOps := func(dst []byte) error {
			if _, err := d.ReadHeader(file); err != nil {
				return err
			}
			choice, err := listed.Choose(500, 375, 1, 2, 3)
			if err != nil {
				return err
			}
			picture, err := d.Decode(listed.SourceArea(choice))
			if err != nil {
				return err
			}
			return w.Apply(listed, choice, picture, dst)
		}
		byProgram := func(dst []byte) error {
			p, err := Parse(told)
			if err != nil {
				return err
			}
			return pictures.Run(p, Source{File: file}, dst)
		}
		one, other := make([]byte, listed.Bytes()), make([]byte, listed.Bytes())
		if err := byOps(one); err != nil {
			b.Fatal(err)
		}
		if err := byProgram(other); err != nil {
			b.Fatal(err)
		}
		if !bytes.Equal(one, other) {
			b.Fatalf("%s: the two ways give other bytes", c.dtype)
		}
		b.Run(c.dtype+"/ops", func(b *testing.B) { benchmarkWay(b, listed.Bytes(), byOps) })
		b.Run(c.dtype+"/program", func(b *testing.B) { benchmarkWay(b, listed.Bytes(), byProgram) })
	}
}

func benchmarkWay(b *testing.B, size int, do func(dst []byte) error) {
	ring := bytes.Repeat([]byte{1}, 200*size) // as in use: no sample finds its place in a cache
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start, sample := threadTime(), 0
	for b.Loop() {
		if err := do(ring[sample%200*size:][:size]); err != nil {
			b.Fatal(err)
		}
		sample++
	}
	b.ReportMetric(float64((threadTime()-start).Microseconds())/float64(sample), "cpu-us/op")
}

// photograph is a JPEG of smooth colours with some noise.
func photograph(b *testing.B, width, height int) []byte {
	b.Helper()
	draws := rand.New(rand.NewPCG(1, 2))
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			n := draws.IntN(24)
			m.SetRGBA(x, y, color.RGBA{uint8(x/3 + n), uint8(y/2 + n), uint8((x+y)/5 + n), 255})
		}
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, m, &jpeg.Options{Quality: 90}); err != nil {
		b.Fatal(err)
	}
	return out.Bytes()
}

func threadTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
