package transform

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/feed/decode/planes"
)

// Output describes a sample's tensor.
type Output struct {
	DType  string `json:"dtype"`  // "uint8", "float16", "bfloat16", "float32"
	Layout string `json:"layout"` // "nchw", "channels_last"
	// Pillow is the major version of Pillow whose bytes are wanted, by default 13. Before 13
	// some resizes differ in single bits, see verticalFirst.
	Pillow int `json:"pillow,omitempty"`
}

// form describes a tensor in memory.
type form struct {
	height, width int
	dtype         string
	bytes         int // per number
	channelsLast  bool
	numbers       [3][256]uint32 // by pixel value, as bits
	halves        [3][256]uint16 // the same for numbers of two bytes
	affine        scaleShift
	fused         bool // affine gives exactly the same numbers
}

func newForm(out Output, v numberMeaning, size fixedSize) (form, error) {
	f := form{height: size.height, width: size.width, dtype: out.DType}
	switch out.Layout {
	case "nchw":
	case "channels_last":
		f.channelsLast = true
	default:
		return f, fmt.Errorf("layout %q: \"nchw\" or \"channels_last\" is expected", out.Layout)
	}
	switch out.DType {
	case "uint8":
		f.bytes = 1
	case "float16", "bfloat16":
		f.bytes = 2
	case "float32":
		f.bytes = 4
	default:
		return f, fmt.Errorf("dtype %q: \"uint8\", \"float16\", \"bfloat16\" or \"float32\" is expected", out.DType)
	}
	if v.unit && f.bytes == 1 {
		return f, fmt.Errorf("to_tensor gives numbers 0..1, which uint8 cannot hold: ask for a floating-point dtype, " +
			"or leave to_tensor and normalize out and do them on the device")
	}
	if !v.unit && f.bytes > 1 {
		return f, fmt.Errorf("%s needs numbers 0..1: put to_tensor among the transforms, or ask for uint8", out.DType)
	}
	f.fillValues(v)
	return f, nil
}

// fillValues computes the number for each of the 256 values, with the operations of ToTensor
// and Normalize in torch's precision. Numbers of two bytes are then rounded to the nearest,
// ties to even.
func (f *form) fillValues(v numberMeaning) {
	for c := range 3 {
		mean, std := numberOf(v.mean, c, 0), numberOf(v.std, c, 1)
		for i := range 256 {
			x := (float32(i)/255 - mean) / std
			f.numbers[c][i] = math.Float32bits(x)
			switch f.dtype {
			case "float16":
				f.halves[c][i] = float16(x)
			case "bfloat16":
				f.halves[c][i] = bfloat16(x)
			}
		}
		f.affine.setNumbers(c, mean, std, false)
	}
	f.fused = canNormalize(f.dtype)
	for c := range f.numbers {
		f.fused = f.fused && f.affine.givesNumbers(c, &f.numbers[c])
	}
}

func numberOf(list []float64, c int, otherwise float32) float32 {
	if len(list) == 0 {
		return otherwise
	}
	return float32(list[c%len(list)])
}

func bfloat16(x float32) uint16 {
	bits := math.Float32bits(x)
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

// float16 rounds to IEEE half precision.
func float16(x float32) uint16 {
	bits := math.Float32bits(x)
	sign := uint16(bits >> 16 & 0x8000)
	bits &= 0x7fffffff
	switch {
	case bits >= 0x47800000: // 65536 and above: infinity
		return sign | 0x7c00
	case bits < 0x38800000: // below 2^-14: subnormal, in steps of 2^-24
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(bits))*(1<<24)))
	}
	bits += 0xfff + bits>>13&1
	return sign | uint16((bits-0x38000000)>>13)
}

// tensor writes rows to a sample's place in memory.
type tensor struct {
	form  *form
	dst   []byte
	simd  bool
	mixed []byte // a row with red, green and blue interleaved
}

func (t *tensor) beginTensor(f *form, dst []byte, simd bool) {
	t.form, t.dst, t.simd = f, dst, simd
	t.mixed = planes.MakeRoom(t.mixed, 3*padRow(f.width))
}

// putRow writes row y.
func (t *tensor) putRow(y int, row []byte, stride int) {
	f := t.form
	if f.channelsLast {
		t.putLast(t.dst[y*f.width*3*f.bytes:], row, stride)
		return
	}
	for c := range 3 {
		t.putPlane(t.dst[(c*f.height+y)*f.width*f.bytes:], row[c*stride:][:f.width], c)
	}
}

func (t *tensor) putPlane(dst, pixels []byte, c int) {
	f := t.form
	if f.bytes == 1 {
		t.copyRow(dst, pixels)
		return
	}
	done := 0
	if t.simd && f.fused {
		done = f.affine.convertPixels(dst, pixels, c, f.dtype)
	}
	f.convert(dst[done*f.bytes:], pixels[done:], c, 1)
}

// Interleave interleaves the bytes of three planes, and returns how many pixels it has done:
// none without a kernel.
func Interleave(dst, red, green, blue []byte) int {
	if !hasSIMD {
		return 0
	}
	return interleaveSIMD(dst, red, green, blue)
}

func (t *tensor) putLast(dst, row []byte, stride int) {
	f := t.form
	if !t.simd || f.bytes > 1 && !f.fused {
		for c := range 3 {
			f.convert(dst[c*f.bytes:], row[c*stride:][:f.width], c, 3)
		}
		return
	}
	room := (f.width + 15) &^ 15 // a row and mixed have so much room
	interleaveSIMD(t.mixed, row[:room], row[stride:][:room], row[2*stride:][:room])
	mixed := t.mixed[:3*f.width]
	if f.bytes == 1 {
		t.copyRow(dst, mixed)
		return
	}
	for i := f.affine.convertPixels(dst, mixed, interleaved, f.dtype); i < len(mixed); i++ {
		f.convert(dst[i*f.bytes:], mixed[i:i+1], i%3, 1)
	}
}

func (t *tensor) copyRow(dst, pixels []byte) {
	if t.simd {
		streamSIMD(dst, pixels)
		return
	}
	copy(dst, pixels)
}

// endTensor makes the tensor visible to other readers, because the kernels bypass the caches.
func (t *tensor) endTensor() {
	if t.simd {
		fence()
	}
}

// convert writes pixels of channel c, with step numbers from one to the next.
func (f *form) convert(dst, pixels []byte, c, step int) {
	switch {
	case f.bytes == 1:
		for i, v := range pixels {
			dst[i*step] = v
		}
	case f.bytes == 2:
		table := &f.halves[c]
		for i, v := range pixels {
			binary.LittleEndian.PutUint16(dst[i*step*2:], table[v])
		}
	case step == 1:
		convertPlane(dst, pixels, &f.numbers[c])
	default:
		table := &f.numbers[c]
		for i, v := range pixels {
			binary.LittleEndian.PutUint32(dst[i*step*4:], table[v])
		}
	}
}

// convertPlane writes four numbers at a time, which takes half of the time.
func convertPlane(dst, pixels []byte, table *[256]uint32) {
	for len(pixels) >= 4 && len(dst) >= 16 {
		a, b := uint64(table[pixels[0]]), uint64(table[pixels[1]])
		c, d := uint64(table[pixels[2]]), uint64(table[pixels[3]])
		binary.LittleEndian.PutUint64(dst, a|b<<32)
		binary.LittleEndian.PutUint64(dst[8:], c|d<<32)
		pixels, dst = pixels[4:], dst[16:]
	}
	for i, v := range pixels {
		binary.LittleEndian.PutUint32(dst[4*i:], table[v])
	}
}

// padRow rounds the width of a row up to whole vectors.
func padRow(n int) int { return (n + planes.Vector - 1) &^ (planes.Vector - 1) }
