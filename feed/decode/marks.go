package decode

import (
	"hash/maphash"
	"image"
	"math"
	"sync"
)

// Marks record where the rows of MCUs begin in files that were decoded before. So the rows above
// and next to a crop need not be decoded again only to find the crop. A digest of all its bytes
// identifies a file. Marks are safe for concurrent use.
type Marks struct {
	seed  maphash.Seed
	mu    sync.Mutex
	rows  map[markedFile][]mark
	bytes int64 // still free
}

// NewMarks returns Marks of at most bytes bytes. When they are full, no files are added.
func NewMarks(bytes int64) *Marks {
	return &Marks{seed: maphash.MakeSeed(), rows: map[markedFile][]mark{}, bytes: bytes}
}

type markedFile struct {
	digest uint64
	size   int
}

// mark is the state of a reader before a row.
type mark struct {
	bits uint32 // consumed, of the data without stuffing
	pred [3]int16
}

const (
	markBytes   = 12
	markedBytes = 96 // of a file besides its marks: key, slice and the map itself
	// leastPassed: marks are used if at least this fraction of an image is skipped. The digest
	// takes as long as skipping a twentieth.
	leastPassed = 8
)

func (m *Marks) find(f markedFile) []mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rows[f]
}

// keep stores the marks of a file if there are more than before and room is left.
func (m *Marks) keep(f markedFile, rows []mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, known := m.rows[f]
	more := int64(len(rows)-len(before)) * markBytes
	if !known {
		more += markedBytes
	}
	if more <= 0 || more > m.bytes {
		return
	}
	m.bytes -= more
	m.rows[f] = append([]mark(nil), rows...)
}

// UseMarks makes the decoder use marks, which other decoders may share.
func (d *Decoder) UseMarks(m *Marks) { d.marks = m }

// marking is the use of marks for the current scan.
type marking struct {
	file     markedFile
	rows     []mark // of row 0 and the following rows
	known    int    // number of rows known before
	learning bool   // the mark of the next row is to be added
}

// openMarks finds the marks of the opened file, if enough of it will be skipped.
func (d *Decoder) openMarks(region image.Rectangle) {
	m, j := &d.marking, &d.jpeg
	m.rows, m.known, m.learning = m.rows[:0], 0, false
	passed := region.Min.Y*j.mcusX + region.Dy()*(j.mcusX-region.Max.X)
	if d.marks == nil || j.restart > 0 || passed < j.mcusX*j.mcusY/leastPassed || len(j.data) > math.MaxUint32/8 {
		return
	}
	m.file = markedFile{maphash.Bytes(d.marks.seed, j.data), len(j.data)}
	m.rows = append(m.rows, d.marks.find(m.file)...)
	m.known, m.learning = len(m.rows), true
}

// closeMarks stores what was learnt.
func (d *Decoder) closeMarks() {
	if m := &d.marking; m.learning && len(m.rows) > m.known {
		d.marks.keep(m.file, m.rows)
	}
}

// enterRow moves the reader to row y, which is skip MCUs ahead of it.
func (d *Decoder) enterRow(y, skip int) {
	r, m := &d.reader, &d.marking
	if y >= len(m.rows) {
		r.skip(skip)
		d.learnRow(y)
		return
	}
	if skip == 0 {
		return
	}
	at := m.rows[y]
	r.pos, r.buf, r.n = int(at.bits>>3), 0, 0
	r.refill()
	r.dropBits(uint(at.bits & 7))
	for i, v := range at.pred {
		r.pred[i] = int(v)
	}
}

// learnRow records the position of the reader as the beginning of row y.
func (d *Decoder) learnRow(y int) {
	m, r := &d.marking, &d.reader
	if !m.learning || y != len(m.rows) {
		return
	}
	at := mark{bits: uint32(r.pos*8 - int(r.n))}
	for i := range at.pred {
		at.pred[i] = int16(r.pred[i])
		if int(at.pred[i]) != r.pred[i] {
			m.learning = false
		}
	}
	if r.dry || r.ranOut() {
		m.learning = false
	}
	if m.learning {
		m.rows = append(m.rows, at)
	}
}
