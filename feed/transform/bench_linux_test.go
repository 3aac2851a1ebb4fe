package transform

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The reference sample: RandomResizedCrop(224) + flip + normalise of a 500 x 375
// picture in 4:2:0, a mean over 64 crops. cpu-us/op is the thread's own time, which
// a busy machine disturbs less than the wall's.
func BenchmarkSample(b *testing.B) {
	for _, c := range []struct {
		name string
		out  Output
	}{
		{"float32-nchw", Output{DType: "float32", Layout: "nchw"}},
		{"uint8-nchw", Output{DType: "uint8", Layout: "nchw"}},
		{"uint8-channels_last", Output{DType: "uint8", Layout: "channels_last"}},
		{"float16-channels_last", Output{DType: "float16", Layout: "channels_last"}},
		{"bfloat16-nchw", Output{DType: "bfloat16", Layout: "nchw"}},
	} {
		b.Run(c.name+"/simd", func(b *testing.B) { benchmarkSample(b, NewWorker(), c.out) })
		b.Run(c.name+"/plain", func(b *testing.B) { benchmarkSample(b, &Worker{}, c.out) })
	}
}

func benchmarkSample(b *testing.B, w *Worker, out Output) {
	p, err := Compile(imageNet(out), out)
	if err != nil {
		b.Fatal(err)
	}
	picture := subsampled(500, 375, 2, 2, 1)
	ring := make([]byte, 200*p.Bytes()) // as in use: no sample finds its place in a cache
	for i := range ring {
		ring[i] = 1
	}
	sample := uint64(0)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := threadTime()
	for b.Loop() {
		choice, err := p.Choose(500, 375, 1, 2, sample%64)
		if err != nil {
			b.Fatal(err)
		}
		at := int(sample%200) * p.Bytes()
		dst := ring[at : at+p.Bytes()]
		if err := w.Apply(p, choice, picture, dst); err != nil {
			b.Fatal(err)
		}
		sample++
	}
	b.ReportMetric(float64((threadTime()-start).Microseconds())/float64(sample), "cpu-us/op")
}

func threadTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
