package decode

import (
	"image"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stoker-dev/stoker/feed/decode/idct"
	"github.com/stoker-dev/stoker/feed/decode/inflate"
	"github.com/stoker-dev/stoker/feed/decode/planes"
	"github.com/stoker-dev/stoker/feed/decode/unfilter"
)

// randomTable is a table that random bits run through: random lengths and symbols.
func randomTable(r *rand.Rand, dc bool) *table {
	for {
		key := make([]byte, 16)
		room, n := 1<<16-1, 0
		for i := range key {
			c := min(r.IntN(8), room>>(15-i), 255-n)
			if dc {
				c = min(c, 16-n)
			}
			key[i] = byte(c)
			room -= c << (15 - i)
			n += c
		}
		for range n {
			symbol := byte(r.Uint32())
			if dc {
				symbol &= 15
			} else if r.IntN(3) > 0 {
				symbol &= 0x33
			}
			key = append(key, symbol)
		}
		t := new(table)
		if t.build(key, dc) {
			t.quicken()
			return t
		}
	}
}

func randomReader(r *rand.Rand, size int) mcuReader {
	m := mcuReader{blocks: 1 + r.IntN(maxBlocks)}
	dc, ac := randomTable(r, true), randomTable(r, false)
	for i := range m.blocks {
		m.plan[i] = blockPlan{dc, ac, r.IntN(maxComponents)}
	}
	m.data = make([]byte, size+padding)
	for i := range size {
		m.data[i] = byte(r.Uint32())
	}
	m.end = size
	return m
}

// usePlain switches the kernels in assembly off, or on where the CPU has them.
func usePlain(plain bool) {
	useHuffman, idct.Assembly = hasHuffman && !plain, hasIDCT && !plain
	inflate.Assembly, unfilter.Assembly = hasInflate && !plain, hasUnfilter && !plain
	planes.HasSIMD = hasColour && !plain
}

var (
	hasHuffman, hasIDCT     = useHuffman, idct.Assembly
	hasInflate, hasUnfilter = inflate.Assembly, unfilter.Assembly
	hasColour               = planes.HasSIMD
)

// TestAssembly runs random bits through random tables, in assembly and in Go.
func TestAssembly(t *testing.T) {
	if !useHuffman {
		t.Skip("this CPU runs no assembly")
	}
	r := rand.New(rand.NewPCG(5, 6))
	var fast, slow blockBuffer
	for range 200 {
		a := randomReader(r, 1+r.IntN(3000))
		b, c := a, a
		for !a.dry {
			n := 1 + r.IntN(chunk/a.blocks)
			fast, slow = blockBuffer{}, blockBuffer{}
			storeFast(&a, &fast, n)
			b.storePlain(&slow, n)
			skipFast(&c, n)
			blocks := n * a.blocks * 64
			if string(bytesOf(fast[:blocks])) != string(bytesOf(slow[:blocks])) {
				t.Fatal("other coefficients")
			}
			if a.pred != b.pred || a.dry != b.dry || a.pos*8-int(a.n) != b.pos*8-int(b.n) {
				t.Fatalf("store: %v %v %d, in Go %v %v %d", a.pred, a.dry, a.pos*8-int(a.n), b.pred, b.dry, b.pos*8-int(b.n))
			}
			if a.pred != c.pred || a.dry != c.dry || a.pos*8-int(a.n) != c.pos*8-int(c.n) {
				t.Fatalf("skip: %v %v %d, store %v %v %d", c.pred, c.dry, c.pos*8-int(c.n), a.pred, a.dry, a.pos*8-int(a.n))
			}
		}
	}
}

func bytesOf(c []int16) []byte {
	b := make([]byte, 0, 2*len(c))
	for _, v := range c {
		b = append(b, byte(v), byte(v>>8))
	}
	return b
}

// TestPadding decodes the longest MCU there is from the last place where one may
// begin: it ends within the padding.
func TestPadding(t *testing.T) {
	one := func(symbol byte, dc bool) *table { // whose only code is 16 zeros
		key := append(make([]byte, 16), symbol)
		key[15] = 1
		var t table
		t.build(key, dc)
		t.quicken()
		return &t
	}
	for _, end := range []int{0, 1, 9} {
		m := mcuReader{blocks: maxBlocks}
		for i := range m.blocks {
			m.plan[i] = blockPlan{one(15, true), one(15, false), 0}
		}
		m.data = make([]byte, end+padding)
		m.end, m.pos = end, end+8
		start := m.pos*8 - int(m.n)
		var out blockBuffer
		m.store(&out, 1)
		if got, want := m.pos*8-int(m.n)-start, maxBlocks*64*31; got != want {
			t.Fatalf("the MCU has %d bits, expected %d", got, want)
		}
		if m.pos+8 > len(m.data) {
			t.Fatalf("the next load ends at %d of %d bytes", m.pos+8, len(m.data))
		}
		if !m.dry {
			t.Fatal("an MCU without data passed for one with data")
		}
	}
}

// TestCrops compares parts of images with the whole, and counts allocations.
func TestCrops(t *testing.T) {
	d := New(Limits{})
	r := rand.New(rand.NewPCG(10, 11))
	for _, name := range []string{
		"bad/baseline", "bad/restarts", "bad/grey", "bad/sof1", "good/444-35x21", "good/422-35x21-restart-2", "good/420-35x21-restart-1",
		"good/440-35x21", "good/411-67x19", "good/420-35x21-progressive-restart-2", "good/411-67x19-progressive", "good/grey-35x21-progressive",
	} {
		data, err := os.ReadFile("testdata/" + name + ".jpg")
		if err != nil {
			t.Fatal(err)
		}
		info, err := d.ReadHeader(data)
		if err != nil {
			t.Fatal(name, err)
		}
		p, err := d.Decode(image.Rect(0, 0, info.Width, info.Height))
		if err != nil {
			t.Fatal(name, err)
		}
		whole := *p
		for i := range whole.Planes {
			whole.Planes[i] = slices.Clone(p.Planes[i])
		}
		for range 100 {
			x, y := r.IntN(info.Width), r.IntN(info.Height)
			need := image.Rect(x, y, x+1+r.IntN(info.Width-x), y+1+r.IntN(info.Height-y))
			got, err := d.Decode(need)
			if err != nil {
				t.Fatal(name, need, err)
			}
			beside := image.Pt(min(got.SubX-1, 1), min(got.SubY-1, 1))
			around := image.Rectangle{Min: need.Min.Sub(beside), Max: need.Max.Add(beside)}.Intersect(image.Rectangle{Max: whole.Size})
			if !around.In(got.Bounds) || got.Bounds.Min.X%got.SubX != 0 || got.Bounds.Min.Y%got.SubY != 0 {
				t.Fatalf("%s: %v was asked for, %v came", name, need, got.Bounds)
			}
			for i := range got.Planes {
				if got.Planes[i] == nil {
					continue
				}
				sub := image.Pt(1, 1)
				if i > 0 {
					sub = image.Pt(got.SubX, got.SubY)
				}
				left, width := got.Bounds.Min.X/sub.X, ceilDiv(got.Bounds.Dx(), sub.X)
				for y := range ceilDiv(got.Bounds.Dy(), sub.Y) {
					want := whole.Planes[i][(got.Bounds.Min.Y/sub.Y+y)*whole.Stride[i]+left:][:width]
					if !slices.Equal(got.Planes[i][y*got.Stride[i]:][:width], want) {
						t.Fatalf("%s, %v: row %d of plane %d differs from the whole image's", name, need, y, i)
					}
				}
			}
		}
		if n := testing.AllocsPerRun(10, func() {
			d.ReadHeader(data)
			d.Decode(image.Rect(1, 1, info.Width/2+1, info.Height/2+1))
		}); n > 0 {
			t.Errorf("%s: %v allocations per image", name, n)
		}
	}
}
