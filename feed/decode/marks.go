package decode

import (
	"hash/maphash"
	"image"
	"math"
	"sync"
)

// Marks say where the rows of MCUs begin in files that were decoded before, so that
// what stands above a crop and beside it is not decoded once more for what comes
// behind. A file is known by a digest of all its bytes. Several threads may use them.
type Marks struct {
	seed  maphash.Seed
	mu    sync.Mutex
	rows  map[markedFile][]mark
	bytes int64 // that are left
}

// NewMarks returns Marks that take at most so many bytes; then no more files are added.
func NewMarks(bytes int64) *Marks {
	return &Marks{seed: maphash.MakeSeed(), rows: map[markedFile][]mark{}, bytes: bytes}
}

type markedFile struct {
	digest uint64
	size   int
}

// mark is the state of a reader in front of a row.
type mark struct {
	bits uint32 // consumed, of the data without stuffing
	pred [3]int16
}

const (
	markBytes   = 12
	markedBytes = 96 // of a file beside its marks: key, slice and the map's own
	// leastPassed: an image of which less than such a part is passed over is decoded
	// without, as the digest takes as long as passing over a twentieth.
	leastPassed = 8
)

func (m *Marks) find(f markedFile) []mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rows[f]
}

// keep keeps the marks of a file, which has more of them than before.
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

// UseMarks has the decoder use marks, which other decoders may use as well.
func (d *Decoder) UseMarks(m *Marks) { d.marks = m }

// marking is what a decoder knows of the rows of the scan in hand.
type marking struct {
	file     markedFile
	rows     []mark // of row 0 and those behind it
	known    int    // rows that were known before
	learning bool   // the next row's mark comes behind them
}

// openMarks finds the marks of the opened file, where enough of it is passed over.
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

// closeMarks keeps what was learnt.
func (d *Decoder) closeMarks() {
	if m := &d.marking; m.learning && len(m.rows) > m.known {
		d.marks.keep(m.file, m.rows)
	}
}

// enterRow brings the reader, which is skip MCUs behind, in front of row y.
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

// learnRow notes where row y begins, which the reader stands in front of.
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
