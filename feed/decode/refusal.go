package decode

import (
	"cmp"
	"errors"
	"fmt"
)

// Kind classifies the fault of a sample.
//
// A sample is bad if Pillow refuses it. A JPEG for which libjpeg only warns, such as one with
// wrong restart markers or with too little data before its EOI, is decoded to the same pixels.
// One that ends without an EOI is truncated. Errors between the image data and the EOI count.
// testdata/pillow.json holds Pillow's verdict on about 200 files, which TestPillow compares;
// TestMutantsMatchPillow asks an installed Pillow about damaged files. Known differences:
//
//   - Pillow decodes a part only as part of the whole. Here, data after a part are not
//     read. Errors in those are no errors in Pillow either, except for DC values of more
//     than 32 bits.
//   - Of JPEGs of one scan that end right after their last MCU, without the EOI, Pillow
//     accepts about one in 25, depending on how many bits libjpeg's buffer happens to hold.
//     Here all of them are truncated.
//   - Unsupported, but accepted by Pillow: arithmetic coding, subsampled RGB or CMYK, luma
//     with fewer samples than chroma, other formats (WebP, GIF, BMP, TIFF, portable maps).
//     Pillow makes these for the loader: decoders in Go would cost more than its own.
//   - The checksum after a PNG's last row must be right, and its first frame as large as
//     its picture.
//   - The limits on scans and memory do not exist in Pillow.
type Kind string

// The kinds of bad samples.
const (
	Empty       Kind = "empty"       // 0 bytes
	WrongType   Kind = "wrong type"  // not a supported image format
	Truncated   Kind = "truncated"   // the file ends before the image does
	Damaged     Kind = "damaged"     // the bytes contradict the format
	TooLarge    Kind = "too large"   // a limit was hit: pixels, memory, scans
	Unsupported Kind = "unsupported" // a valid image of a kind that is not read: 12-bit, arithmetic
)

// remedies say what to do about a sample of each kind.
var remedies = map[Kind]string{
	Empty:       "fetch it again",
	WrongType:   "move it out of the folder, or convert it",
	Truncated:   "fetch it again, it is not whole",
	Damaged:     "fetch it again, or save it anew with a program that still reads it",
	TooLarge:    "save it anew, smaller or as baseline JPEG",
	Unsupported: "save it anew as baseline JPEG or PNG",
}

// SampleError is why a sample is bad. The caller, who knows the file's name, adds it in front.
type SampleError struct {
	Kind   Kind
	Offset int64  // byte in the file, -1 if it has no meaning
	Text   string // what was found, what was expected and what to do
}

func (e *SampleError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("%s: %s", e.Kind, e.Text)
	}
	return fmt.Sprintf("%s at byte %d: %s", e.Kind, e.Offset, e.Text)
}

// withRemedy appends the remedy to an error that leaves the package.
func withRemedy(err error) error {
	var bad *SampleError
	if !errors.As(err, &bad) {
		return err
	}
	return &SampleError{bad.Kind, bad.Offset, bad.Text + ", " + remedies[bad.Kind]}
}

func newUnsupported(format string, args ...any) *SampleError {
	return &SampleError{Unsupported, -1, fmt.Sprintf(format, args...)}
}

// Limits are checked before every parser. A zero field means the default. They limit work, not
// time, so that every machine refuses the same files: the work of decoding is bounded by the
// bytes of the file and its pixels, each once per scan.
type Limits struct {
	Pixels int // width x height, default 178,956,970: beyond it Pillow raises DecompressionBombError
	Scans  int // of a progressive JPEG, default 100
	Memory int // bytes for one image, or for the requested part of a baseline JPEG; default 240 MiB
}

// The defaults of Limits.
const (
	defaultPixels = 178_956_970
	defaultScans  = 100
	defaultMemory = 240 << 20
)

func (l Limits) maxPixels() int { return cmp.Or(l.Pixels, defaultPixels) }
func (l Limits) maxMemory() int { return cmp.Or(l.Memory, defaultMemory) }
func (l Limits) mostScans() int { return cmp.Or(l.Scans, defaultScans) }

// CheckPixels refuses an image that is too large, before anything is allocated.
func (l Limits) CheckPixels(width, height int) error {
	if width*height <= l.maxPixels() {
		return nil
	}
	return &SampleError{
		TooLarge, -1,
		fmt.Sprintf("an image of %d x %d pixels: at most %d are decoded", width, height, l.maxPixels()),
	}
}

// checkMemory refuses an image that would need too many bytes while it is decoded.
func (l Limits) checkMemory(bytes int) error {
	if bytes <= l.maxMemory() {
		return nil
	}
	return &SampleError{
		TooLarge, -1,
		fmt.Sprintf("decoding it would take %d MiB of memory: one image may take %d MiB", bytes>>20, l.maxMemory()>>20),
	}
}
