package decode

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"image"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// hostileMemory is the promise for hostile files.
const hostileMemory = 256 << 20

// TestHostile decodes the stored bad files, and larger ones made here, each with a fresh
// Decoder. Decoding must end, with little memory and the right kind of error, even on a slow
// machine.
func TestHostile(t *testing.T) {
	for name, h := range hostile(t) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := decodeWhole(New(Limits{}), h.data)
		runtime.ReadMemStats(&after)
		var bad *SampleError
		switch {
		case h.kind == "" && err != nil && !errors.As(err, &bad):
			t.Errorf("%s: %v has no kind", name, err)
		case h.kind != "" && (!errors.As(err, &bad) || bad.Kind != h.kind):
			t.Errorf("%s: %v; want %q", name, err, h.kind)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > hostileMemory {
			t.Errorf("%s (%d bytes) took %d MiB", name, len(h.data), used>>20)
		}
	}
}

func decodeWhole(d *Decoder, data []byte) error {
	info, err := d.ReadHeader(data)
	if err == nil {
		_, err = d.Decode(image.Rect(0, 0, info.Width, info.Height))
	}
	return err
}

// hostileFile is a file and the kind of its error; "" allows any.
type hostileFile struct {
	data []byte
	kind Kind
}

func hostile(t testing.TB) map[string]hostileFile {
	files := map[string]hostileFile{}
	paths, err := filepath.Glob("testdata/*/*.*")
	if err != nil || len(paths) == 0 {
		t.Fatal("testdata holds no files", err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = hostileFile{data: data}
	}
	read := func(name string) []byte { return files["testdata/bad/"+name].data }
	behindSOI := func(body []byte) []byte {
		base := read("baseline.jpg")
		return append(append(bytes.Clone(base[:2]), body...), base[2:]...)
	}

	progressive := read("progressive.jpg")
	sos := bytes.Index(progressive, []byte{0xff, mSOS})
	empty := []byte{0xff, mSOS, 0, 8, 1, 1, 0, 0, 0, 1, 0}
	files["40,000 scans"] = hostileFile{append(append(bytes.Clone(progressive[:sos]), bytes.Repeat(empty, 40_000)...), 0xff, mEOI), TooLarge}
	wide := bytes.Clone(progressive[:sos])
	sof := bytes.Index(wide, []byte{0xff, mSOF0 + 2})
	binary.BigEndian.PutUint16(wide[sof+5:], 7000)
	binary.BigEndian.PutUint16(wide[sof+7:], 7000)
	files["99 scans of 49 megapixels"] = hostileFile{data: append(append(append(bytes.Clone(wide), bytes.Repeat(empty, 99)...), make([]byte, 1<<20)...), 0xff, mEOI)}
	binary.BigEndian.PutUint16(wide[sof+5:], 13000)
	binary.BigEndian.PutUint16(wide[sof+7:], 13000)
	files["13,000 x 13,000, progressive"] = hostileFile{append(bytes.Clone(wide), 0xff, mEOI), Damaged}
	files["13,000 x 13,000, progressive, padded"] = hostileFile{append(append(append(bytes.Clone(wide), empty...), make([]byte, 4<<20)...), 0xff, mEOI), TooLarge}
	flat := bytes.Clone(read("baseline.jpg"))
	sof = bytes.Index(flat, []byte{0xff, mSOF0})
	binary.BigEndian.PutUint16(flat[sof+5:], 13000)
	binary.BigEndian.PutUint16(flat[sof+7:], 13000)
	files["13,000 x 13,000, baseline"] = hostileFile{flat, Truncated}
	files["13,000 x 13,000, baseline, padded"] = hostileFile{append(append(bytes.Clone(flat[:len(flat)-2]), make([]byte, 4<<20)...), 0xff, mEOI), TooLarge}
	flat = bytes.Clone(flat)
	binary.BigEndian.PutUint16(flat[sof+5:], 12000)
	files["12,000 x 13,000, baseline, padded"] = hostileFile{data: append(append(bytes.Clone(flat[:len(flat)-2]), make([]byte, 4<<20)...), 0xff, mEOI)}

	base := read("baseline.jpg")
	dht := bytes.Index(base, []byte{0xff, mDHT})
	dqt := bytes.Index(base, []byte{0xff, mDQT})
	files["50,000 DHT"] = hostileFile{data: behindSOI(bytes.Repeat(base[dht:dht+33], 50_000))}
	files["50,000 DQT"] = hostileFile{data: behindSOI(bytes.Repeat(base[dqt:dqt+69], 50_000))}
	files["20 MB of APP1"] = hostileFile{data: behindSOI(bytes.Repeat(append([]byte{0xff, 0xe1, 0xff, 0xff}, make([]byte, 65533)...), 300))}
	files["20 MB of fill bytes"] = hostileFile{data: behindSOI(bytes.Repeat([]byte{0xff}, 20<<20))}
	files["20 MB of stuffed bytes"] = hostileFile{data: behindSOI(bytes.Repeat([]byte{0xff, 0}, 10<<20))}
	files["restart markers only"] = hostileFile{data: behindSOI(bytes.Repeat([]byte{0xff, mRST0}, 5<<20))}

	files["PNG of 169 megapixels"] = hostileFile{blackPNG(13000, 13000, 1, 13000*(13000/8+1)), TooLarge}
	files["PNG of 36 megapixels, cut"] = hostileFile{blackPNG(6000, 6000, 8, 6000*5000), Truncated}
	return files
}

// blackPNG holds the first bytes of the pixels of a black picture.
func blackPNG(width, height uint32, depth byte, pixels int) []byte {
	var idat bytes.Buffer
	z := zlib.NewWriter(&idat)
	z.Write(make([]byte, pixels))
	z.Close()
	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)
	out := appendChunk([]byte("\x89PNG\r\n\x1a\n"), "IHDR", append(header, depth, 0, 0, 0, 0))
	return append(appendChunk(out, "IDAT", idat.Bytes()), endOfPNG...)
}
