package decode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/feed/decode/planes"
)

// jpeg is what the markers of a file have said so far. Tables are kept as they are in the file
// and built when a scan needs them, as in libjpeg: a bad table that no scan uses is no fault.
type jpeg struct {
	data []byte

	width, height int
	precision     int
	sof           byte // low nibble of the SOF marker: 0 baseline, 1 extended, 2 progressive; others are refused
	comps         [maxComponents]component
	ncomp         int
	hmax, vmax    int // the largest sampling factors
	mcusX, mcusY  int // of an interleaved scan

	quant      [4]*[64]uint16 // in natural order; nil: not defined
	quantStore [4][64]uint16
	huffman    [2][4][]byte // DC and AC tables as in DHT: 16 counts, then the symbols; nil: not defined
	restart    int          // MCUs between restart markers, 0: none

	profile     []byte // the part of an ICC profile whose bytes sort first
	profiled    bool
	jfif, adobe bool
	transform   byte // of the Adobe marker: 0 RGB or CMYK, 1 YCbCr, 2 YCCK
	begun       bool // the header was read up to the first scan
}

// maxComponents is libjpeg-turbo's MAX_COMPS_IN_SCAN. No supported colour model has more.
const maxComponents = 4

// component is one colour channel of a frame.
type component struct {
	id   byte
	h, v int  // sampling factors, 1 to 4
	tq   byte // quantisation table

	blocksX, blocksY int // blocks that hold samples; an interleaved scan pads them to whole MCUs
}

// scan is one SOS: which components follow, and where their data begin.
type scan struct {
	comps          [maxComponents]int // indices into jpeg.comps
	dc, ac         [maxComponents]byte
	n              int
	ss, se, ah, al int
	start          int // first byte of entropy-coded data
}

// Markers.
const (
	mSOF0 = 0xc0
	mDHT  = 0xc4
	mJPG  = 0xc8
	mDAC  = 0xcc
	mSOF  = 0xcf // the last SOF
	mRST0 = 0xd0
	mRST7 = 0xd7
	mSOI  = 0xd8
	mEOI  = 0xd9
	mSOS  = 0xda
	mDQT  = 0xdb
	mDNL  = 0xdc
	mDRI  = 0xdd
	mAPP0 = 0xe0
	mAPPE = 0xee
	mAPPF = 0xef
	mCOM  = 0xfe
	mTEM  = 0x01
)

// readHeader reads a file up to its first scan. As in libjpeg, data that end without an image
// may be tables for an image that follows immediately.
func (j *jpeg) readHeader(data []byte) (scan, error) {
	*j = jpeg{data: data}
	for pos := 2; ; {
		s, end, err := j.nextScan(pos)
		switch {
		case err != nil:
			return s, err
		case !end:
			j.begun = true
			return s, nil
		case j.ncomp > 0 || !bytes.HasPrefix(data[s.start:], []byte{0xff, mSOI}):
			return s, j.newDamaged(s.start-2, "the end marker (EOI), where image data (SOS) are expected")
		}
		j.restart, j.jfif, j.adobe, j.transform = 0, false, false, 0
		pos = s.start + 2
	}
}

// nextScan reads markers from byte pos up to the end of the next SOS. end reports that it found
// an EOI instead; s.start is then the byte after it. After a scan, pos is where its data ended.
func (j *jpeg) nextScan(pos int) (s scan, end bool, err error) {
	for {
		marker, at, err := j.marker(pos)
		if err != nil {
			return s, false, err
		}
		switch {
		case marker == mEOI:
			s.start = at
			return s, true, nil
		// Pillow's own reading of the header does not know TEM.
		case marker >= mRST0 && marker <= mRST7 || marker == mTEM && j.begun:
			pos = at // no parameters
			continue
		}
		if err := j.checkMarker(marker, at); err != nil {
			return s, false, err
		}
		body, after, err := j.segmentAt(at)
		if err != nil {
			return s, false, err
		}
		switch {
		case after == at+2 && j.data[at+1] < 2 && (marker == mDHT || marker == mDQT || marker == mDAC):
			err = j.newDamaged(at, "a table segment of length %d: the length counts itself", j.data[at+1])
		case marker == mSOS:
			s, err = j.scanHeader(body, at)
			s.start = after
			return s, false, err
		case marker == mDHT:
			err = j.huffmanTables(body, at)
		case marker == mDQT:
			err = j.quantTables(body, at)
		case marker == mDRI:
			err = j.restartInterval(body, at)
		case !j.begun && marker >= mAPP0 && marker <= mAPPF && !j.isReadable(marker, body):
			err = j.newDamaged(at, "a segment ff%02x that ends within what it names", marker)
		case marker == mAPP0:
			j.jfif = j.jfif || len(body) >= 14 && string(body[:5]) == "JFIF\x00"
		case marker == mAPPE:
			j.adobeMarker(body)
		case marker == mDAC:
			err = j.arithmeticConditioning(body, at)
		case marker >= mSOF0 && marker <= mSOF:
			err = j.frameHeader(marker, body, at)
		}
		if err != nil {
			return s, false, err
		}
		pos = after
	}
}

// marker finds the next marker from pos on. at is the byte after it.
func (j *jpeg) marker(pos int) (marker byte, at int, err error) {
	for pos < len(j.data) {
		if j.data[pos] != 0xff {
			pos++ // not part of a marker: libjpeg only warns
			continue
		}
		for pos < len(j.data) && j.data[pos] == 0xff { // fill bytes are legal
			pos++
		}
		if pos < len(j.data) && j.data[pos] != 0 {
			return j.data[pos], pos + 1, nil
		}
		pos++ // ff00 is entropy-coded data, which does not belong here
	}
	return 0, 0, j.newTruncated()
}

// checkMarker refuses what libjpeg refuses before it reads a segment. These errors take
// precedence over a segment that is cut off.
func (j *jpeg) checkMarker(marker byte, at int) error {
	switch {
	case marker == mDHT || marker == mDQT || marker == mDRI || marker == mDAC || marker == mSOS:
		if marker == mSOS && j.ncomp == 0 {
			return j.newDamaged(at, "image data before the frame header")
		}
		if at+2 > len(j.data) {
			return nil
		}
		if length := int(j.data[at])<<8 | int(j.data[at+1]); at+length > len(j.data) {
			return j.checkCut(marker, at, length)
		}
	case marker >= mSOF0 && marker <= mSOF && marker != mJPG:
		if j.ncomp > 0 {
			return j.newDamaged(at, "a second frame header: an image has one")
		}
	case marker == mDNL, marker == mCOM, marker >= mAPP0 && marker <= mAPPF:
	default:
		return j.newDamaged(at, "marker ff%02x: a table, a comment, a scan or the end (EOI) may stand here", marker)
	}
	return nil
}

// checkCut checks a segment of length bytes that is cut off by the end of the file.
func (j *jpeg) checkCut(marker byte, at, length int) error {
	b, left := j.data[at+2:], length-2
	bad := false
	switch marker {
	case mDHT:
		for left > 16 && len(b) >= 17 && !bad {
			n := 0
			for _, count := range b[1:17] {
				n += int(count)
			}
			bad = n > 256 || n > left-17 || len(b) >= 17+n && (b[0]>>4 > 1 || b[0]&15 > 3)
			left -= 17 + n
			b = b[min(17+n, len(b)):]
		}
	case mDQT:
		for left > 0 && len(b) > 0 && !bad {
			size := 65
			if b[0]>>4 != 0 {
				size = 129
			}
			bad = b[0]&15 > 3
			left -= size
			b = b[min(size, len(b)):]
		}
	case mDAC:
		for ; len(b) > 1 && !bad; b = b[2:] {
			bad = badConditioning(b[0], b[1])
		}
	case mDRI:
		bad = length != 4
	case mSOS:
		bad = len(b) > 0 && (b[0] < 1 || b[0] > maxComponents || left != 4+2*int(b[0]))
	}
	if bad {
		return j.newDamaged(at, "a segment ff%02x that contradicts the standard and ends behind the file", marker)
	}
	return nil
}

// segmentAt returns the content of a segment with a length, and where it ends.
func (j *jpeg) segmentAt(at int) (body []byte, after int, err error) {
	if at+2 > len(j.data) {
		return nil, 0, j.newTruncated()
	}
	n := max(int(j.data[at])<<8|int(j.data[at+1]), 2)
	if at+n > len(j.data) {
		return nil, 0, j.newTruncated()
	}
	return j.data[at+2 : at+n], at + n, nil
}

// frameHeader reads an SOF segment.
func (j *jpeg) frameHeader(marker byte, b []byte, at int) error {
	if j.profiled && len(j.profile) < 14 {
		return j.newDamaged(at, "a colour profile without its number of parts")
	}
	if len(b) < 6 {
		return j.newDamaged(at, "a frame header of %d bytes: it has at least 11", len(b)+2)
	}
	j.sof = marker - mSOF0
	j.precision = int(b[0])
	j.height, j.width = int(b[1])<<8|int(b[2]), int(b[3])<<8|int(b[4])
	j.ncomp = int(b[5])
	switch {
	case j.width == 0 || j.height == 0 || j.ncomp == 0:
		return j.newDamaged(at, "a frame header of %dx%d pixels and %d components: none of them may be 0", j.width,
			j.height, j.ncomp)
	case len(b) != 6+3*j.ncomp:
		return j.newDamaged(at, "a frame header of %d bytes: for %d components it has %d", len(b)+2, j.ncomp, 8+3*j.ncomp)
	case j.ncomp > maxComponents || j.ncomp == 2:
		return &SampleError{Unsupported, int64(at), fmt.Sprintf("a JPEG of %d components: 1, 3 and 4 are read",
			j.ncomp)}
	case j.width > 65500 || j.height > 65500:
		return &SampleError{
			TooLarge, int64(at),
			fmt.Sprintf("%dx%d pixels: libjpeg, and so Pillow, reads up to 65500x65500", j.width, j.height),
		}
	}
	for i := range j.ncomp {
		c := &j.comps[i]
		b := b[6+3*i:]
		c.id, c.h, c.v, c.tq = b[0], int(b[1]>>4), int(b[1]&15), b[2]
		if c.h < 1 || c.h > 4 || c.v < 1 || c.v > 4 {
			return j.newDamaged(at, "sampling factors %dx%d: they lie between 1 and 4", c.h, c.v)
		}
		if j.ncomp == 1 {
			c.h, c.v = 1, 1 // a single component has MCUs of one block, for any factors
		}
		j.hmax, j.vmax = max(j.hmax, c.h), max(j.vmax, c.v)
	}
	j.mcusX, j.mcusY = ceilDiv(j.width, 8*j.hmax), ceilDiv(j.height, 8*j.vmax)
	for i := range j.ncomp {
		c := &j.comps[i]
		c.blocksX, c.blocksY = ceilDiv(j.width*c.h, 8*j.hmax), ceilDiv(j.height*c.v, 8*j.vmax)
	}
	return nil
}

// scanHeader reads the header in an SOS segment.
func (j *jpeg) scanHeader(b []byte, at int) (scan, error) {
	var s scan
	if len(b) < 1 || b[0] < 1 || b[0] > maxComponents || len(b) != 4+2*int(b[0]) {
		return s,
			j.newDamaged(at, "a scan header of %d bytes: it has 6, and 2 for each of its 1 to 4 components", len(b)+2)
	}
	s.n = int(b[0])
	seen := [maxComponents]bool{}
	for i := range s.n {
		id, tables := b[1+2*i], b[2+2*i]
		c := 0
		for c < j.ncomp && (j.comps[c].id != id || c < i) { // libjpeg does not find components that are out of order
			c++
		}
		if c == j.ncomp || seen[c] {
			return s,
				j.newDamaged(at, "a scan of component %d, which the frame header does not name, or not in this order", id)
		}
		seen[c] = true
		s.comps[i], s.dc[i], s.ac[i] = c, tables>>4, tables&15
	}
	p := b[1+2*s.n:]
	s.ss, s.se, s.ah, s.al = int(p[0]), int(p[1]), int(p[2]>>4), int(p[2]&15)
	return s, nil
}

// mcu returns the number of blocks in one MCU of a scan, and the number of MCUs in each
// direction. In a scan of one component an MCU is one block, for any sampling.
func (j *jpeg) mcu(s *scan) (blocks, across, down int) {
	if s.n == 1 {
		c := &j.comps[s.comps[0]]
		return 1, c.blocksX, c.blocksY
	}
	for i := range s.n {
		c := &j.comps[s.comps[i]]
		blocks += c.h * c.v
	}
	return blocks, j.mcusX, j.mcusY
}

func (j *jpeg) huffmanTables(b []byte, at int) error {
	for len(b) > 16 {
		n := 0
		for _, count := range b[1:17] {
			n += int(count)
		}
		class, slot := b[0]>>4, b[0]&15
		switch {
		case n > 256 || 17+n > len(b):
			return j.newDamaged(at, "a Huffman table of %d symbols, for which the segment has %d bytes left", n, len(b)-17)
		case class > 1 || slot > 3:
			return j.newDamaged(at, "Huffman table number 0x%02x: 0 to 3 and 0x10 to 0x13 exist", b[0])
		}
		j.huffman[class][slot] = b[1 : 17+n]
		b = b[17+n:]
	}
	if len(b) != 0 {
		return j.newDamaged(at, "%d bytes behind the last Huffman table of a segment: there may be none", len(b))
	}
	return nil
}

func (j *jpeg) quantTables(b []byte, at int) error {
	for len(b) > 0 {
		wide, slot, size := b[0]>>4 != 0, b[0]&15, 65
		if wide {
			size = 129
		}
		switch {
		case slot > 3:
			return j.newDamaged(at, "quantisation table number %d: 0 to 3 exist", slot)
		case len(b) < size:
			return j.newDamaged(at, "a quantisation table cut to %d bytes: it has %d", len(b), size)
		}
		t := &j.quantStore[slot]
		for k := range 64 {
			if wide {
				t[natural[k]] = uint16(b[1+2*k])<<8 | uint16(b[2+2*k])
			} else {
				t[natural[k]] = uint16(b[1+k])
			}
		}
		j.quant[slot] = t
		b = b[size:]
	}
	return nil
}

func (j *jpeg) restartInterval(b []byte, at int) error {
	if len(b) != 2 {
		return j.newDamaged(at, "a restart interval of %d bytes: it has 2", len(b))
	}
	j.restart = int(b[0])<<8 | int(b[1])
	return nil
}

// arithmeticConditioning checks a DAC segment as libjpeg does, although no supported file uses
// it.
func (j *jpeg) arithmeticConditioning(b []byte, at int) error {
	for ; len(b) > 1; b = b[2:] {
		if badConditioning(b[0], b[1]) {
			return j.newDamaged(at,
				"arithmetic conditioning of table %d with value 0x%02x, which the standard rules out", b[0], b[1])
		}
	}
	if len(b) > 0 {
		return j.newDamaged(at, "arithmetic conditioning of an odd number of bytes: it comes in pairs")
	}
	return nil
}

func badConditioning(table, value byte) bool {
	return table > 31 || table < 16 && value&15 > value>>4
}

func (j *jpeg) adobeMarker(b []byte) {
	if len(b) >= 12 && string(b[:5]) == "Adobe" {
		j.adobe, j.transform = true, b[11]
	}
}

// isReadable reports whether Pillow's own reading of the header accepts an application segment.
// For some names it expects values after them.
func (j *jpeg) isReadable(marker byte, body []byte) bool {
	switch {
	case marker == mAPP0 && bytes.HasPrefix(body, []byte("JFIF")), marker == mAPPE && bytes.HasPrefix(body, []byte("Adobe")):
		return len(body) >= 7
	case marker == mAPP0+2 && bytes.HasPrefix(body, []byte("ICC_PROFILE\x00")):
		if !j.profiled || bytes.Compare(body, j.profile) < 0 {
			j.profiled, j.profile = true, body
		}
	case marker == mAPP0+13 && bytes.HasPrefix(body, []byte("Photoshop 3.0\x00")):
		return isPhotoshop(body[14:])
	}
	return true
}

// isPhotoshop walks through the resources as Pillow does. It fails only if the length of a name
// is missing; elsewhere, the end of the data is accepted.
func isPhotoshop(body []byte) bool {
	for at := 0; at+4 <= len(body) && string(body[at:at+4]) == "8BIM"; {
		if at += 6; at > len(body) {
			return true
		}
		if at == len(body) {
			return false
		}
		at += 1 + int(body[at])
		at += at & 1
		if at+4 > len(body) {
			return true
		}
		at += 4 + int(binary.BigEndian.Uint32(body[at:]))
		at += at & 1
	}
	return true
}

// guessModel is libjpeg's guess at the meaning of the components (default_decompress_parms).
// For four components it describes the first three: inks are RGB, those of YCCK are YCbCr.
func (j *jpeg) guessModel() planes.Model {
	ids := [3]byte{j.comps[0].id, j.comps[1].id, j.comps[2].id}
	switch {
	case j.ncomp == 1:
		return planes.Grey
	case j.ncomp == 4 && (!j.adobe || j.transform == 0):
		return planes.RGB
	case j.ncomp == 4 || j.jfif:
		return planes.YCbCr
	case j.adobe && j.transform == 0:
		return planes.RGB
	case !j.adobe && ids == [3]byte{'R', 'G', 'B'}:
		return planes.RGB
	}
	return planes.YCbCr
}

func (j *jpeg) newDamaged(at int, format string, args ...any) error {
	return &SampleError{Damaged, int64(at), fmt.Sprintf(format, args...)}
}

func (j *jpeg) newTruncated() error {
	return &SampleError{Truncated, int64(len(j.data)), "the file ends before the image does"}
}

// overflows reports whether libjpeg refuses a DC value.
func overflows(v int) bool { return v > math.MaxInt32 || v < math.MinInt32 }

func (j *jpeg) overflow(s *scan) error {
	return j.newDamaged(s.start,
		"the brightness (DC) of a block leaves 32 bits in the scan that begins here: samples have 8")
}

func (j *jpeg) noQuantTable(s *scan, slot byte) error {
	return j.newDamaged(s.start, "a scan needs quantisation table %d, which no DQT segment before it defines", slot)
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// natural maps zigzag order, as in the file, to rows of 8. As in libjpeg, a run that goes past
// the end of the block ends at its last coefficient.
var natural = [64 + 16]uint8{
	0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
	63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,
}
