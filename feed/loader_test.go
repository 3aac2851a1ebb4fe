package feed

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-dev/stoker/feed/decode"
	"github.com/stoker-dev/stoker/feed/transform"
)

// TestPixels: each image of an epoch is the one that decoder and transforms give
// for its file and its draws, and Get gives the same.
func TestPixels(t *testing.T) {
	root := gallery(t, 24)
	spec := trainSpec(root)
	l := open(t, newTestPool(t, 3), spec, Options{})
	if l.Samples() != 24 || !slices.Equal(l.Classes(), []string{"cats", "dogs"}) {
		t.Fatalf("%d samples of the classes %v", l.Samples(), l.Classes())
	}
	const epoch = 2
	pass, err := l.BeginPass(epoch, 0, 0, 0)
	must(t, err)
	seen := make([]bool, l.Samples())
	for step := range pass.Steps() {
		memory, done := make([]byte, l.SlotLayout().SlotBytes), make(chan Filled, 1)
		_, err := pass.Fill(step, memory, time.Now(), func(f Filled) { done <- f })
		must(t, err)
		f := await(t, done)
		must(t, f.Err)
		if f.Stages.Read <= 0 || f.Stages.Decode <= 0 || f.Stages.Transform <= 0 {
			t.Errorf("step %d took %+v", step, f.Stages)
		}
		for k := range f.Count {
			sample := int(memory[l.SlotLayout().Indices+int64(8*k)])
			seen[sample] = true
			got := l.SlotLayout().imageOf(memory, k)
			if want := byHand(t, l, spec, epoch, sample); !bytes.Equal(got, want) {
				t.Errorf("step %d, sample %d (%s): the image differs from decoder and transforms by hand", step, sample, l.pathOf(sample))
			}
			one, err := l.get(epoch, sample)
			must(t, err)
			if !bytes.Equal(one.Image, got) || one.Label != int(memory[l.SlotLayout().Labels+int64(8*k)]) || one.Path != l.pathOf(sample) {
				t.Errorf("sample %d: Get gives another image, label or path", sample)
			}
		}
	}
	if slices.Contains(seen, false) {
		t.Errorf("samples are missing: %v", seen)
	}
	if c := l.CurrentCounters(); c.Samples != 24 || c.Batches != 4 || c.Bad != 0 || c.Decode <= 0 {
		t.Errorf("the counters are %+v", c)
	}
}

// TestInexact: an image whose pixels may differ from Pillow's is named, also where
// that shows only when its data are read, as with scans that are missing.
func TestInexact(t *testing.T) {
	root := t.TempDir()
	must(t, os.Mkdir(filepath.Join(root, "one"), 0o755))
	for _, name := range []string{"baseline.jpg", "progressive-without-last-scan.jpg"} {
		data, err := os.ReadFile(filepath.Join("decode/testdata/bad", name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(root, "one", name), data, 0o644))
	}
	spec := trainSpec(root)
	spec.Shuffle = false
	l := open(t, newTestPool(t, 1), spec, Options{})
	pass, err := l.BeginPass(0, 0, 0, 0)
	must(t, err)
	done := make(chan Filled, 1)
	_, err = pass.Fill(0, make([]byte, l.SlotLayout().SlotBytes), time.Now(), func(f Filled) { done <- f })
	must(t, err)
	f := await(t, done)
	must(t, f.Err)
	if len(f.Inexact) != 1 || f.Inexact[0].Index != 1 || f.Inexact[0].Path != l.pathOf(1) || f.Inexact[0].Reason == "" {
		t.Errorf("named are %+v; expected sample 1 alone", f.Inexact)
	}
}

// TestUnread: under no policy is a picture that Pillow may read a bad sample, unless it is asked for.
func TestUnread(t *testing.T) {
	root := t.TempDir()
	must(t, os.Mkdir(filepath.Join(root, "one"), 0o755))
	for name, file := range map[string]string{"good.jpg": "good/411-45x9-restart-1.jpg", "tiff.jpg": "other/tiff.tiff"} {
		data, err := os.ReadFile(filepath.Join("decode/testdata", file))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(root, "one", name), data, 0o644))
	}
	for _, policy := range []string{Fail, substitute, Mask} {
		for _, listed := range []bool{false, true} {
			spec := trainSpec(root)
			spec.OnError, spec.MaxBad = policy, 1
			pass, err := open(t, newTestPool(t, 1), spec, Options{ListsUnread: listed}).BeginPass(0, 0, 0, 0)
			must(t, err)
			done := make(chan Filled, 1)
			_, err = pass.Fill(0, make([]byte, pass.loader.SlotLayout().SlotBytes), time.Now(), func(f Filled) { done <- f })
			must(t, err)
			f := await(t, done)
			unmade, bad := KindOf(f.Err) == decode.Unsupported, len(f.Bad) == 1 && f.Bad[0].Kind == string(decode.Unsupported)
			if unmade == listed || bad != (listed && policy != Fail) {
				t.Errorf("%s, listed %t: %v, bad are %+v", policy, listed, f.Err, f.Bad)
			}
		}
	}
}

// TestMaxPixels: the spec decides which pictures are too large, the same on every machine. If
// the memory is insufficient for them, the start fails.
func TestMaxPixels(t *testing.T) {
	root := t.TempDir()
	must(t, os.Mkdir(filepath.Join(root, "one"), 0o755))
	for _, side := range []int{50, 60, 61} {
		var file bytes.Buffer
		must(t, png.Encode(&file, image.NewGray(image.Rect(0, 0, side, 60))))
		must(t, os.WriteFile(filepath.Join(root, "one", fmt.Sprintf("%d.png", side)), file.Bytes(), 0o644))
	}
	spec := trainSpec(root)
	spec.Shuffle, spec.MaxPixels, spec.OnError, spec.MaxBad = false, 3600, Mask, 1
	pool := newTestPool(t, 1)
	l := open(t, pool, spec, Options{})
	pass, err := l.BeginPass(0, 0, 0, 0)
	must(t, err)
	done := make(chan Filled, 1)
	_, err = pass.Fill(0, make([]byte, l.SlotLayout().SlotBytes), time.Now(), func(f Filled) { done <- f })
	must(t, err)
	f := await(t, done)
	must(t, f.Err)
	if len(f.Bad) != 1 || f.Bad[0].Index != 2 || f.Bad[0].Reason != "too large: an image of 61 x 60 pixels: at most 3600 are decoded" {
		t.Errorf("bad are %+v; expected sample 2 alone", f.Bad)
	}
	for pixels, want := range map[int]string{-1: "max_pixels is -1", maxPixels + 1: "Pillow takes for a bomb", 2000: "of the memory of 700.0 MiB images have"} {
		pool.budget.pixels, pool.budget.total = 1999, 700<<20
		spec.MaxPixels = pixels
		if _, err := Open(t.Context(), spec, Options{Pool: pool}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("max_pixels %d: %v", pixels, err)
		}
	}
}

func trainSpec(root string) Spec {
	return Spec{
		Name: "train", Root: root, Batch: 7, World: 1, Shuffle: true, Seed: 3,
		Ops:    []transform.Op{{Name: "random_resized_crop", Size: []int{32, 40}}, {Name: "random_horizontal_flip"}, {Name: "pil_to_tensor"}},
		Output: transform.Output{DType: "uint8", Layout: "nchw"},
	}
}

func open(t *testing.T, pool *Pool, spec Spec, o Options) *Loader {
	t.Helper()
	o.Pool = pool
	l, err := Open(t.Context(), spec, o)
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	return l
}

// byHand makes a sample without the loader.
func byHand(t *testing.T, l *Loader, spec Spec, epoch, sample int) []byte {
	t.Helper()
	data, err := os.ReadFile(l.pathOf(sample))
	must(t, err)
	program, err := transform.Compile(spec.Ops, spec.Output)
	must(t, err)
	d := decode.New(decode.Limits{})
	info, err := d.ReadHeader(data)
	must(t, err)
	choice, err := program.Choose(info.Width, info.Height, spec.Seed, uint64(epoch), uint64(sample))
	must(t, err)
	picture, err := d.Decode(program.SourceArea(choice))
	must(t, err)
	tensor := make([]byte, program.Bytes())
	must(t, transform.NewWorker().Apply(program, choice, picture, tensor))
	return tensor
}

// gallery is a folder of small JPEGs and PNGs of all sizes.
func gallery(t *testing.T, count int) string {
	t.Helper()
	root := t.TempDir()
	chance := rand.New(rand.NewPCG(1, 2))
	for i := range count {
		folder := filepath.Join(root, []string{"cats", "dogs"}[i*2/count])
		must(t, os.MkdirAll(folder, 0o700))
		picture := image.NewRGBA(image.Rect(0, 0, 20+chance.IntN(200), 20+chance.IntN(200)))
		for y := range picture.Rect.Max.Y {
			for x := range picture.Rect.Max.X {
				picture.SetRGBA(x, y, color.RGBA{byte(x * (i + 3)), byte(y * 5), byte(x + y + i*20), 255})
			}
		}
		var text bytes.Buffer
		name := fmt.Sprintf("%03d.jpg", i)
		if i%3 == 2 {
			name = fmt.Sprintf("%03d.png", i)
			must(t, png.Encode(&text, picture))
		} else {
			must(t, jpeg.Encode(&text, picture, nil))
		}
		must(t, os.WriteFile(filepath.Join(folder, name), text.Bytes(), 0o600))
	}
	return root
}

// TestDamagedFiles: the error for a damaged file has its name and kind.
func TestDamagedFiles(t *testing.T) {
	root := gallery(t, 12)
	l := open(t, newTestPool(t, 2), trainSpec(root), Options{})
	whole, err := os.ReadFile(l.pathOf(0))
	must(t, err)
	for sample, test := range []struct {
		kind decode.Kind
		harm func(path string) error
	}{
		{decode.Truncated, func(path string) error { return os.WriteFile(path, whole[:len(whole)/2], 0o600) }},
		{decode.Empty, func(path string) error { return os.Truncate(path, 0) }},
		{decode.WrongType, func(path string) error { return os.WriteFile(path, []byte("<html>not found</html>"), 0o600) }},
		{unreadable, os.Remove},
	} {
		must(t, test.harm(l.pathOf(sample)))
		_, trouble := newWorker(l.pool).makeSample(l, errand{0, sample}, memory(make([]byte, l.layout.Sample)))
		if trouble == nil {
			t.Errorf("%s: made, expected it to be %s", l.pathOf(sample), test.kind)
		} else if trouble.kind != test.kind || trouble.path != l.pathOf(sample) {
			t.Errorf("%v: kind %q, expected %q", trouble, trouble.kind, test.kind)
		}
	}
}

// TestNoRoom: a sound file that this daemon's memory has no room for is not bad.
func TestNoRoom(t *testing.T) {
	pool := newTestPool(t, 1)
	spec := trainSpec(gallery(t, 12))
	spec.OnError, spec.MaxBad = Mask, 1
	pixels, files := pool.budget.pixels, pool.budget.files
	for _, few := range []struct {
		pixels int
		files  int64
		want   string
	}{
		{100, files, "and this daemon's memory has room for 100, as its share of"},
		{pixels, -keptFile + 10, "and this daemon's memory has room for 10, as its share of"},
	} {
		l := open(t, pool, spec, Options{})
		pool.budget.pixels, pool.budget.files = few.pixels, few.files
		_, trouble := newWorker(pool).makeSample(l, errand{0, 0}, memory(make([]byte, l.layout.Sample)))
		if trouble == nil || trouble.kind != outage || !strings.Contains(trouble.Error(), few.want) {
			t.Errorf("%d pixels, %d bytes: %v", few.pixels, few.files, trouble)
		}
		pool.budget.pixels, pool.budget.files = pixels, files
	}
}

// TestSubset: a Subset's samples are the listed ones, under the numbers 0, 1, …
func TestSubset(t *testing.T) {
	root := gallery(t, 12)
	pool := newTestPool(t, 2)
	all := open(t, pool, trainSpec(root), Options{})
	spec := trainSpec(root)
	spec.Samples = []int{9, 2, 9}
	l := open(t, pool, spec, Options{})
	if l.Samples() != 3 || l.pathOf(0) != all.pathOf(9) || l.pathOf(1) != all.pathOf(2) || l.labelOf(0) != all.labelOf(9) {
		t.Errorf("the subset has %d samples, the first is %s", l.Samples(), l.pathOf(0))
	}
	if l.Manifest() == all.Manifest() || l.Pipeline() != all.Pipeline() {
		t.Error("a subset is other samples through the same pipeline, the digests say otherwise")
	}
	spec.Samples = []int{0, 12}
	if _, err := Open(t.Context(), spec, Options{Pool: pool}); err == nil || !strings.Contains(err.Error(), "samples[1] is 12: "+root+" has the samples 0 to 11") {
		t.Errorf("a subset beyond the samples: %v", err)
	}
}

// TestDigests: the pipeline's digest changes with what changes a tensor or its
// place, and with nothing else.
func TestDigests(t *testing.T) {
	root := gallery(t, 2)
	pool := newTestPool(t, 1)
	base := open(t, pool, trainSpec(root), Options{})
	for name, test := range map[string]struct {
		change func(*Spec)
		same   bool
	}{
		"batch":   {func(s *Spec) { s.Batch = 2 }, true},
		"world":   {func(s *Spec) { s.World = 2 }, true},
		"policy":  {func(s *Spec) { s.OnError = Mask }, true},
		"shuffle": {func(s *Spec) { s.Shuffle = false }, false},
		"dtype":   {func(s *Spec) { s.Output.DType, s.Ops[2].Name = "float32", "to_tensor" }, false},
		"size":    {func(s *Spec) { s.Ops[0].Size = []int{32, 32} }, false},
	} {
		spec := trainSpec(root)
		test.change(&spec)
		l := open(t, pool, spec, Options{})
		if same := l.Pipeline() == base.Pipeline(); same != test.same || l.Manifest() != base.Manifest() || len(l.Pipeline()) != 32 {
			t.Errorf("%s: the pipeline's digest is the same: %v, expected %v", name, same, test.same)
		}
	}
}

// TestRingsOverMemory: a ring that does not fit is a sentence at the start.
func TestRingsOverMemory(t *testing.T) {
	pool, err := NewPool(PoolOptions{Threads: 1, Memory: 512 << 20})
	must(t, err)
	defer pool.Close()
	spec := trainSpec(gallery(t, 2))
	spec.Batch = 1 << 20
	if _, err := Open(t.Context(), spec, Options{Pool: pool}); err == nil || !strings.Contains(err.Error(), "give a smaller depth or batch, or more memory") {
		t.Errorf("a ring beyond the memory: %v", err)
	}
}
