package feed

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stoker-dev/stoker/feed/transform"
)

// BenchmarkBatches fills batches of 64 from 500 x 375 JPEGs with two batches in the queue; an
// operation is a sample. The overhead of a batch is the difference to the seconds of the
// stages, which are reported, too.
func BenchmarkBatches(b *testing.B) {
	root := photographs(b, 512)
	pool, err := NewPool(PoolOptions{Threads: 2})
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	l, err := Open(b.Context(), imagenetSpec(root), Options{Pool: pool})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	memory := [2][]byte{make([]byte, l.layout.SlotBytes), make([]byte, l.layout.SlotBytes)}
	pass, _ := l.BeginPass(0, 0, 0, 0)
	done := make(chan Filled, 2)
	fill := func(i int) {
		if _, err := pass.Fill(i%pass.Steps(), memory[i%2], time.Now(), func(f Filled) { done <- f }); err != nil {
			b.Fatal(err)
		}
	}
	var stages Stages
	b.ReportAllocs()
	b.ResetTimer()
	batches := (b.N + 63) / 64
	fill(0)
	for i := range batches {
		if i+1 < batches {
			fill(i + 1)
		}
		f := <-done
		if f.Err != nil {
			b.Fatal(f.Err)
		}
		stages.Read += f.Stages.Read
		stages.Decode += f.Stages.Decode
		stages.Transform += f.Stages.Transform
	}
	for name, seconds := range map[string]float64{"read": stages.Read, "decode": stages.Decode, "transform": stages.Transform} {
		b.ReportMetric(seconds/float64(batches*64)*1e6, name+"-us/op")
	}
}

func imagenetSpec(root string) Spec {
	return Spec{
		Name: "train", Root: root, Batch: 64, World: 1, Shuffle: true,
		Ops: []transform.Op{
			{Name: "random_resized_crop", Size: []int{224, 224}},
			{Name: "random_horizontal_flip"},
			{Name: "to_tensor"},
			{Name: "normalize", Mean: []float64{0.485, 0.456, 0.406}, Std: []float64{0.229, 0.224, 0.225}},
		},
		Output: transform.Output{DType: "float32", Layout: "nchw"},
	}
}

// photographs is a folder of JPEGs of about 110 KB: noise on gradients.
func photographs(b *testing.B, count int) string {
	b.Helper()
	root := b.TempDir()
	folder := filepath.Join(root, "n01440764")
	if err := os.Mkdir(folder, 0o700); err != nil {
		b.Fatal(err)
	}
	chance := rand.New(rand.NewPCG(1, 2))
	picture := image.NewYCbCr(image.Rect(0, 0, 500, 375), image.YCbCrSubsampleRatio420)
	for i := range picture.Y {
		picture.Y[i] = byte(i%500/3+i/5000) + byte(chance.IntN(60))
	}
	for i := range picture.Cb {
		picture.Cb[i], picture.Cr[i] = byte(100+i%50), byte(130+i/2000)
	}
	var text bytes.Buffer
	if err := jpeg.Encode(&text, picture, &jpeg.Options{Quality: 90}); err != nil {
		b.Fatal(err)
	}
	for i := range count {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%06d.jpg", i)), text.Bytes(), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("%d bytes each", text.Len())
	return root
}
