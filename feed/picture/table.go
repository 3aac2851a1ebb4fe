package picture

import "math"

// applyTables applies tables, one per band.
func applyTables(w *Worker, tables []lookUp) {
	for c := range tables {
		t, plane := &tables[c], w.picture.planes[c]
		if canEnhance {
			plane = plane[lookUpSIMD(plane, t):]
		}
		for i, v := range plane {
			plane[i] = t[v]
		}
	}
}

// addLookUp adds a step with tables that do not depend on the picture.
func (c *compiler) addLookUp(tables []lookUp) {
	c.addStep(func(w *Worker) error {
		applyTables(w, tables)
		return nil
	})
}

func compilePoint(c *compiler, a *arguments) {
	tables := make([]lookUp, bands[c.mode])
	for i, v := range a.numberList(0, 256*len(tables)) {
		tables[i/256][i%256] = uint8(min(max(v, 0), 255))
		if v != float64(int(v)) {
			a.refuse("%v in a table", v)
		}
	}
	c.addLookUp(tables)
}

// compileTable makes a compile function for a table that all bands share.
func compileTable(value func(a *arguments) func(v int) int) func(*compiler, *arguments) {
	return func(c *compiler, a *arguments) {
		of := value(a)
		var t lookUp
		for v := range t {
			t[v] = uint8(of(v))
		}
		tables := []lookUp{t, t, t}
		c.addLookUp(tables[:bands[c.mode]])
	}
}

func posterize(a *arguments) func(v int) int {
	mask := -1 << (8 - a.readWholeNumber(0, 1, 8))
	return func(v int) int { return v & mask }
}

func solarize(a *arguments) func(v int) int {
	threshold := a.readNumber(0)
	return func(v int) int {
		if float64(v) < threshold {
			return v
		}
		return 255 - v
	}
}

func invert(*arguments) func(v int) int {
	return func(v int) int { return 255 - v }
}

func compileEqualize(c *compiler, _ *arguments) { c.byHistogram(flatten) }

// compileAutocontrast takes the percentages to cut off below and above.
func compileAutocontrast(c *compiler, a *arguments) {
	var cut [2]float64
	for i := range a.list {
		if cut[i] = a.readNumber(i); cut[i] < 0 || cut[i] > 100 {
			a.refuse("a cutoff of %v", cut[i])
		}
	}
	c.byHistogram(func(h *[256]int) lookUp {
		if cut != [2]float64{} {
			cutOff(h, cut)
		}
		return stretch(h)
	})
}

// byHistogram adds a step with tables that depend on the number of pixels of each value.
func (c *compiler) byHistogram(of func(*[256]int) lookUp) {
	c.addStep(func(w *Worker) error {
		tables := make([]lookUp, len(w.picture.planes))
		for i, plane := range w.picture.planes {
			tables[i] = of(countValues(plane))
		}
		applyTables(w, tables)
		return nil
	})
}

// cutOff removes a share of the pixels from either end.
func cutOff(h *[256]int, percent [2]float64) {
	n := 0
	for _, v := range h {
		n += v
	}
	low, high := hundredth(n, percent[0]), hundredth(n, percent[1])
	for v := 0; v < 256 && low > 0; v++ {
		less := min(low, h[v])
		h[v] -= less
		low -= less
	}
	for v := 255; v >= 0 && high > 0; v-- {
		less := min(high, h[v])
		h[v] -= less
		high -= less
	}
}

// hundredth is Python's n * percent // 100 for floating-point numbers.
func hundredth(n int, percent float64) int {
	product := float64(float64(n) * percent)
	quotient := (product - math.Mod(product, 100)) / 100
	whole := math.Floor(quotient)
	if quotient-whole > 0.5 {
		whole++
	}
	return int(whole)
}

// countValues uses several counters per value, so that it need not wait for the previous write
// of the same counter.
func countValues(plane []byte) *[256]int {
	var some [4][256]uint32
	for ; len(plane) >= len(some); plane = plane[len(some):] {
		some[0][plane[0]]++
		some[1][plane[1]]++
		some[2][plane[2]]++
		some[3][plane[3]]++
	}
	for _, v := range plane {
		some[0][v]++
	}
	var h [256]int
	for v := range h {
		h[v] = int(some[0][v] + some[1][v] + some[2][v] + some[3][v])
	}
	return &h
}

var same = func() (t lookUp) {
	for v := range t {
		t[v] = uint8(v)
	}
	return t
}()

// stretch is the table of ImageOps.autocontrast.
func stretch(h *[256]int) lookUp {
	low, high := 0, 255
	for low < 255 && h[low] == 0 {
		low++
	}
	for high > 0 && h[high] == 0 {
		high--
	}
	if high <= low {
		return same
	}
	var t lookUp
	scale := 255 / float64(high-low)
	offset := float64(float64(-low) * scale)
	for v := range t {
		t[v] = uint8(min(max(int(float64(float64(v)*scale)+offset), 0), 255))
	}
	return t
}

// flatten is the table of ImageOps.equalize.
func flatten(h *[256]int) lookUp {
	sum, last, values := 0, 0, 0
	for _, n := range h {
		if sum += n; n > 0 {
			last, values = n, values+1
		}
	}
	step := (sum - last) / 255
	if values <= 1 || step == 0 {
		return same
	}
	var t lookUp
	n := step / 2
	for v := range t {
		t[v] = uint8(min(n/step, 255))
		n += h[v]
	}
	return t
}
