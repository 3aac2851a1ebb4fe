package decode

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// drawnPNG is a PNG whose rows have filters by chance, in so many IDAT chunks; the pixels are what comes out.
func drawnPNG(r *rand.Rand, width, height int, depth, kind byte, level, chunks int) []byte {
	row := (width*map[byte]int{0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[kind]*int(depth) + 7) / 8
	rows := make([]byte, height*(1+row))
	values := 2 + r.IntN(254)
	for i := range rows {
		if rows[i] = byte(r.IntN(values)); i%(1+row) == 0 {
			rows[i] = byte(r.IntN(5))
		}
	}
	var packed bytes.Buffer
	z, _ := zlib.NewWriterLevel(&packed, level)
	z.Write(rows)
	z.Close()
	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(width)), uint32(height))
	out := appendChunk([]byte("\x89PNG\r\n\x1a\n"), "IHDR", append(header, depth, kind, 0, 0, 0))
	if kind == 3 {
		out = appendChunk(out, "PLTE", make([]byte, 3*256))
	}
	for left := packed.Bytes(); chunks > 0; chunks-- {
		n := len(left)
		if chunks > 1 {
			n = r.IntN(n + 1) // also nothing
		}
		out, left = appendChunk(out, "IDAT", left[:n]), left[n:]
	}
	return append(out, endOfPNG...)
}

func appendChunk(out []byte, name string, body []byte) []byte {
	out = binary.BigEndian.AppendUint32(out, uint32(len(body)))
	named := append([]byte(name), body...)
	return binary.BigEndian.AppendUint32(append(out, named...), crc32.ChecksumIEEE(named))
}

func samePixels(a, b image.Image) bool {
	if a.Bounds() != b.Bounds() {
		return false
	}
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() {
			if a.At(x, y) != b.At(x, y) {
				return false
			}
		}
	}
	return true
}

// TestPlainPNG: plain PNGs have the pixels that image/png gives, for any kind, filters, packing
// and number of chunks. Others are left to image/png.
func TestPlainPNG(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	p := new(plainPNG)
	for _, c := range []struct {
		depth, kind byte
		plain       bool
	}{
		{8, 0, true},
		{16, 0, true},
		{8, 2, true},
		{8, 6, true},
		{1, 0, false},
		{4, 0, false},
		{16, 2, false},
		{16, 6, false},
		{8, 4, false},
		{8, 3, false},
	} {
		for i := range 300 {
			data := drawnPNG(r, 1+i%60, 1+r.IntN(12), c.depth, c.kind, r.IntN(12)-2, 1+r.IntN(4))
			want, err := png.Decode(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			got := p.read(data)
			if got != nil != c.plain || c.plain && !samePixels(got, want) {
				t.Fatalf("%d bits, kind %d, %v: plain %t, other pixels", c.depth, c.kind, want.Bounds(), got != nil)
			}
		}
	}
}

func TestPlainPNGOfTheSuite(t *testing.T) {
	root, _ := exec.Command("go", "env", "GOROOT").Output() // nothing where there is no Go
	paths, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src/image/png/testdata/pngsuite/*.png"))
	more, _ := filepath.Glob("testdata/*/*.png")
	p, plain := new(plainPNG), 0
	for _, path := range append(paths, more...) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.read(data); got != nil {
			plain++
			if want, err := png.Decode(bytes.NewReader(data)); err != nil || !samePixels(got, want) {
				t.Errorf("%s: other pixels, or image/png says %v", path, err)
			}
		}
	}
	t.Logf("%d of %d files were plain", plain, len(paths)+len(more))
	if plain == 0 {
		t.Error("no file was plain")
	}
}

// TestPlainPNGDamaged: cut anywhere, or with any one bit of the packed pixels changed in a chunk whose checksum is right,
// a file has image/png's pixels or is left to it.
func TestPlainPNGDamaged(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 11))
	p := new(plainPNG)
	compare := func(data []byte) {
		if got := p.read(data); got != nil {
			if want, err := png.Decode(bytes.NewReader(data)); err != nil || !samePixels(got, want) {
				t.Errorf("%x: other pixels, or image/png says %v", data, err)
			}
		}
	}
	for _, kind := range []byte{0, 2, 6} {
		data := drawnPNG(r, 7, 5, 8, kind, 6, 1)
		for n := range data {
			compare(data[:n])
		}
		begin, size := 33, int(binary.BigEndian.Uint32(data[33:]))
		for bit := range 8 * size {
			body := bytes.Clone(data[begin+8 : begin+8+size])
			body[bit/8] ^= 1 << (bit % 8)
			compare(append(appendChunk(bytes.Clone(data[:begin]), "IDAT", body), endOfPNG...))
		}
	}
}
