package decode

// scanReader decodes the blocks of one scan of a file with several scans.
type scanReader struct {
	bits
	starved bool // the data ended: blocks up to the next restart marker stay unchanged

	ss, se int
	al     uint
	eobRun int // number of blocks whose band is known to be zero from here
	pred   [maxComponents]int
	dc, ac [maxComponents]*table
}

// readScan decodes a scan into the coefficients and returns where the next marker is.
func (d *Decoder) readScan(s *scan) (end int, err error) {
	j, c := &d.jpeg, &d.coefficients
	perMCU, across, down := j.mcu(s)
	if perMCU > maxBlocks {
		return 0, j.newDamaged(s.start, "an MCU of %d blocks: it has at most %d", perMCU, maxBlocks)
	}
	if err := c.latchTables(j, s); err != nil {
		return 0, err
	}
	r := &c.reader
	*r = scanReader{ss: s.ss, se: s.se, al: uint(s.al)}
	decode, err := d.prepare(r, s)
	if err != nil {
		return 0, err
	}
	r.bits, end = unstuff(d.plain, j.data, s.start)
	d.plain = r.data
	if r.filled && j.sof != 2 {
		d.info.Inexact = inexactFill
	}
	restart, toGo := 0, j.restart
	for y := range down {
		for x := range across {
			if end == len(j.data) {
				return 0, j.newTruncated() // libjpeg would wait for more data
			}
			if j.restart > 0 && toGo == 0 {
				if end, err = d.resume(r, end, restart); err != nil {
					return 0, err
				}
				restart, toGo = (restart+1)&7, j.restart
			}
			toGo--
			if r.starved {
				continue
			}
			d.readMCU(r, s, x, y, decode)
			if overflows(r.pred[0]) || overflows(r.pred[1]) || overflows(r.pred[2]) || overflows(r.pred[3]) {
				return 0, j.overflow(s)
			}
			r.starved = r.ranOut()
		}
	}
	return end, nil
}

// tableOf returns a table of a scan, without its fast tables.
func (d *Decoder) tableOf(s *scan, slot byte, dc bool) (*table, error) {
	class, name := 1, "AC"
	if dc {
		class, name = 0, "DC"
	}
	if slot > 3 || d.jpeg.huffman[class][slot] == nil {
		return nil, d.jpeg.newDamaged(s.start,
			"a scan needs %s Huffman table %d, which no DHT segment before it defines", name, slot)
	}
	t := d.tables.findTable(d.jpeg.huffman[class][slot], dc)
	if t == nil {
		return nil, d.jpeg.newDamaged(s.start,
			"a scan needs %s Huffman table %d, which is no prefix code, or of DC values beyond 15 bits", name, slot)
	}
	return t, nil
}

// inexactFill is why one MCU may look different. libjpeg-turbo's fast routine takes a fill byte
// for a marker, and keeps what it has read as zero bits in addition to what its slow routine
// then reads.
const inexactFill = "a JPEG with fill bytes among its data, of which libjpeg-turbo decodes one MCU wrongly"

// blockDecoder decodes the next block of a scan's component i.
type blockDecoder func(r *scanReader, i int, block *[64]int16)

// readMCU decodes one MCU: one block if the scan has one component, else all blocks given by
// the sampling factors.
func (d *Decoder) readMCU(r *scanReader, s *scan, x, y int, decode blockDecoder) {
	if s.n == 1 {
		decode(r, 0, d.coefficients.comps[s.comps[0]].block(x, y))
		return
	}
	for i := range s.n {
		h, v := d.jpeg.comps[s.comps[i]].h, d.jpeg.comps[s.comps[i]].v
		plane := &d.coefficients.comps[s.comps[i]]
		for by := range v {
			for bx := range h {
				decode(r, i, plane.block(x*h+bx, y*v+by))
			}
		}
	}
}

// prepare checks a scan's parameters as libjpeg does, builds the tables it needs, and records
// which bits it delivers.
func (d *Decoder) prepare(r *scanReader, s *scan) (blockDecoder, error) {
	j := &d.jpeg
	sequential := j.sof != 2
	if !sequential {
		if s.ss == 0 && s.se != 0 || s.ss > s.se || s.se > 63 || s.ss > 0 && s.n != 1 ||
			s.ah != 0 && s.al != s.ah-1 || s.al > 13 {
			return nil, j.newDamaged(s.start,
				"a scan of coefficients %d to %d, bits %d to %d, which no progressive JPEG has", s.ss, s.se, s.ah, s.al)
		}
		d.noteScan(s)
	}
	for i := range s.n {
		var err error
		if sequential || s.ss == 0 && s.ah == 0 {
			if r.dc[i], err = d.tableOf(s, s.dc[i], true); err != nil {
				return nil, err
			}
		}
		if sequential || s.ss > 0 {
			if r.ac[i], err = d.tableOf(s, s.ac[i], false); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case sequential:
		return (*scanReader).sequential, nil
	case s.ss == 0 && s.ah == 0:
		return (*scanReader).dcFirst, nil
	case s.ss == 0:
		return (*scanReader).dcRefine, nil
	case s.ah == 0:
		return (*scanReader).acFirst, nil
	}
	return (*scanReader).acRefine, nil
}

// noteScan records how many bits of each coefficient are known after the scan.
func (d *Decoder) noteScan(s *scan) {
	for i := range s.n {
		known := &d.coefficients.comps[s.comps[i]].known
		for k := s.ss; k <= s.se; k++ {
			known[k] = int8(s.al)
		}
	}
}

// resume begins the data after the restart marker numbered due.
func (d *Decoder) resume(r *scanReader, pos, due int) (end int, err error) {
	r.pred, r.eobRun = [maxComponents]int{}, 0
	at, found, err := d.jpeg.restartAt(pos, due)
	if err != nil {
		return 0, err
	}
	if !found {
		r.bits = bits{}
		return at, nil
	}
	r.bits, end = unstuff(d.plain, d.jpeg.data, at)
	if r.filled && d.jpeg.sof != 2 {
		d.info.Inexact = inexactFill
	}
	d.plain, r.starved = r.data, false
	return end, nil
}

// symbol decodes one Huffman code. 32 bits are then available without a refill.
func (r *scanReader) symbol(t *table) byte {
	r.refill()
	symbol, length := t.nextSymbol(r.buf)
	r.dropBits(length)
	return symbol
}

// takeBits consumes size bits, size ≤ 15.
func (r *scanReader) takeBits(size uint) int {
	v := int(r.buf >> (64 - size))
	r.dropBits(size)
	return v
}

// takeSigned consumes a takeSigned value of size bits.
func (r *scanReader) takeSigned(size uint) int {
	v := extend(r.buf, size)
	r.dropBits(size)
	return v
}

// sequential decodes all coefficients of a block.
func (r *scanReader) sequential(i int, block *[64]int16) {
	r.pred[i] += r.takeSigned(uint(r.symbol(r.dc[i])))
	block[0] = int16(r.pred[i])
	for k := 1; k < 64; k++ {
		symbol := r.symbol(r.ac[i])
		zeros, size := int(symbol>>4), uint(symbol&15)
		if size == 0 {
			if zeros != 15 {
				return
			}
			k += 15
			continue
		}
		k += zeros
		block[natural[k]] = int16(r.takeSigned(size))
	}
}

func (r *scanReader) dcFirst(i int, block *[64]int16) {
	r.pred[i] += r.takeSigned(uint(r.symbol(r.dc[i])))
	block[0] = int16(r.pred[i] << r.al)
}

func (r *scanReader) dcRefine(_ int, block *[64]int16) {
	r.refill()
	block[0] |= int16(r.takeBits(1) << r.al)
}

func (r *scanReader) acFirst(_ int, block *[64]int16) {
	if r.eobRun > 0 {
		r.eobRun--
		return
	}
	for k := r.ss; k <= r.se; k++ {
		symbol := r.symbol(r.ac[0])
		zeros, size := int(symbol>>4), uint(symbol&15)
		switch {
		case size > 0:
			k += zeros
			block[natural[k]] = int16(r.takeSigned(size) << r.al)
		case zeros == 15:
			k += 15
		default:
			r.eobRun = 1<<zeros + r.takeBits(uint(zeros)) - 1
			return
		}
	}
}

// acRefine adds one bit to each coefficient of a band. Coefficients that are not zero yet get
// theirs while skipping to those that now become nonzero.
func (r *scanReader) acRefine(_ int, block *[64]int16) {
	k := r.ss
	for r.eobRun == 0 && k <= r.se {
		symbol := r.symbol(r.ac[0])
		zeros, fresh := int(symbol>>4), int16(0)
		switch {
		case symbol&15 != 0:
			fresh = int16(2*r.takeBits(1)-1) << r.al
		case zeros != 15:
			r.eobRun = 1<<zeros + r.takeBits(uint(zeros))
			continue
		}
		for {
			if c := &block[natural[k]]; *c != 0 {
				r.correct(c)
			} else if zeros--; zeros < 0 {
				break
			}
			if k++; k > r.se {
				break
			}
		}
		if fresh != 0 {
			block[natural[k]] = fresh
		}
		k++
	}
	if r.eobRun == 0 {
		return
	}
	for ; k <= r.se; k++ {
		if c := &block[natural[k]]; *c != 0 {
			r.correct(c)
		}
	}
	r.eobRun--
}

// correct reads a bit for a nonzero coefficient, and moves it away from zero if the bit is set.
func (r *scanReader) correct(c *int16) {
	if r.n == 0 {
		r.refill()
	}
	bit := int16(1) << r.al
	if r.takeBits(1) == 0 || *c&bit != 0 {
		return
	}
	if *c < 0 {
		bit = -bit
	}
	*c += bit
}
