package picture

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"image"
	"math"

	"github.com/stoker-dev/stoker/feed/transform"
)

func compileEnd(dtype string, planes bool) func(*compiler, *arguments) {
	return func(c *compiler, a *arguments) {
		if c.mode == "1" {
			dtype := dtype
			switch {
			case a.name == "tobytes":
				a.refuse("pixels of one bit")
			case dtype == "uint8":
				dtype = "bool"
			}
			c.finish(dtype, planes)
			return
		}
		c.finish(dtype, planes)
	}
}

func (c *compiler) finish(dtype string, planes bool) {
	n := bands[c.mode]
	e := &outputForm{dtype: dtype, planes: planes, values: make([][256]float32, n)}
	for i := range e.values {
		for v := range 256 {
			e.values[i][v] = float32(v)
		}
	}
	c.program.end, c.open = e, nil
	shape := []int{c.size.Y, c.size.X}
	switch {
	case planes:
		shape = []int{n, c.size.Y, c.size.X}
	case n > 1:
		shape = append(shape, n)
	}
	c.program.Output = Output{Shape: shape, Mode: c.mode}
	e.setType(c, dtype)
	if dtype == "float32" { // F.to_tensor
		e.changeEach(func(_ int, v float32) float32 { return v / 255 })
	}
}

// setType changes the tensor's type to dtype.
func (e *outputForm) setType(c *compiler, dtype string) {
	e.dtype, c.program.Output.DType = dtype, dtype
	e.changeEach(func(_ int, v float32) float32 { return v })
}

// changeEach applies do to all numbers, and rounds the results to the tensor's type.
func (e *outputForm) changeEach(do func(band int, v float32) float32) {
	n := len(e.values)
	for band := range e.values {
		for v, x := range e.values[band] {
			e.values[band][v] = e.roundNumber(do(band, x))
		}
	}
	for _, p := range e.erased {
		for i, v := range p.values {
			p.values[i] = e.roundNumber(do(i*n/len(p.values), v))
		}
	}
}

// makeTables makes the tables of the finished tensor.
func (e *outputForm) makeTables() {
	if sizes[e.dtype] == 1 {
		return
	}
	e.table = make([]*transform.Numbers, len(e.values))
	for band := range e.values {
		e.table[band] = transform.NewNumbers(&e.values[band], e.dtype)
	}
}

func (e *outputForm) roundNumber(v float32) float32 { return round(v, e.dtype) }

// round returns v with the precision of dtype.
func round(v float32, dtype string) float32 {
	switch dtype {
	case "bfloat16":
		return math.Float32frombits(uint32(binary.LittleEndian.Uint16(transform.Append(nil, v, dtype))) << 16)
	case "float16":
		return widenHalf(binary.LittleEndian.Uint16(transform.Append(nil, v, dtype)))
	}
	return v
}

func widenHalf(half uint16) float32 {
	exponent, fraction := int(half>>10&31), float64(half&1023)
	v := math.Ldexp(fraction+1024, exponent-25)
	switch exponent {
	case 0:
		v = math.Ldexp(fraction, -24)
	case 31:
		v = math.Inf(1)
	}
	if half>>15 != 0 {
		v = -v
	}
	return float32(v)
}

func compileTo(c *compiler, a *arguments) {
	dtype := a.oneOfTexts(0, "float32", "float16", "bfloat16")
	e := c.program.end
	if !e.planes || e.dtype == "bool" || sizes[e.dtype] == 2 {
		a.refuse("%s to %s", e.dtype, dtype)
	}
	if a.err == nil {
		e.setType(c, dtype)
	}
}

// operands returns an argument as numbers for the tensor, one per band. A Python number that
// multiplies or divides keeps its precision even if the tensor has less; one that is added is
// rounded (torch 2.15).
func (c *compiler) operands(i int, a *arguments) []float32 {
	e := c.program.end
	if sizes[e.dtype] == 1 || !e.planes {
		a.refuse("numbers of type %s", e.dtype)
	}
	out := make([]float32, len(e.values))
	if v, ok := a.list[i].(float64); ok {
		for band := range out {
			if out[band] = float32(v); a.name == "add" || a.name == "sub" {
				out[band] = e.roundNumber(out[band])
			}
		}
		return out
	}
	list := a.numberList(i, -1)
	if len(list) != 1 && len(list) != len(out) {
		a.refuse("%d numbers for %d bands", len(list), len(out))
		return out
	}
	for band := range out {
		out[band] = e.roundNumber(float32(list[band%len(list)]))
	}
	return out
}

func compileArithmetic(do func(v, by float32) float32) func(*compiler, *arguments) {
	return func(c *compiler, a *arguments) {
		by := c.operands(0, a)
		if a.name == "div" {
			noZero(by, a)
		}
		if a.err == nil {
			c.program.end.changeEach(func(band int, v float32) float32 { return do(v, by[band]) })
		}
	}
}

func noZero(by []float32, a *arguments) {
	for _, v := range by {
		if v == 0 {
			a.refuse("a division by 0")
		}
	}
}

func compileNormalize(c *compiler, a *arguments) {
	mean, std := c.operands(0, a), c.operands(1, a)
	noZero(std, a)
	if a.err == nil {
		c.program.end.changeEach(func(band int, v float32) float32 { return v - mean[band] })
		c.program.end.changeEach(func(band int, v float32) float32 { return v / std[band] })
	}
}

func compileErase(c *compiler, a *arguments) {
	e := c.program.end
	top, left := a.readWholeNumber(0, 0, c.size.Y), a.readWholeNumber(1, 0, c.size.X)
	bottom, right := top+a.readWholeNumber(2, 0, c.size.Y), left+a.readWholeNumber(3, 0, c.size.X)
	where := image.Rect(left, top, right, bottom)
	if !e.planes || e.dtype == "bool" || !where.In(image.Rectangle{Max: c.size}) {
		a.refuse("%v of a picture of %v", where, c.size)
	}
	values := c.erasedWith(4, where.Dx()*where.Dy(), a)
	if a.err != nil || where.Empty() {
		return
	}
	for i := range values {
		values[i] = e.roundNumber(values[i])
		if v := values[i]; e.dtype == "uint8" && (v < 0 || v > 255 || v != float32(int(v))) {
			a.refuse("%v in a tensor of bytes", v)
		}
	}
	e.erased = append(e.erased, part{where, values})
}

// erasedWith returns a number for each band, or one for each place, given as bits.
func (c *compiler) erasedWith(i, area int, a *arguments) []float32 {
	n := len(c.program.end.values)
	out := make([]float32, n)
	switch v := a.list[i].(type) {
	case float64:
		for band := range out {
			out[band] = float32(a.readNumber(i))
		}
	case []any:
		for band, v := range a.numberList(i, n) {
			out[band] = float32(v)
		}
	case map[string]any:
		text, _ := v["f32"].(string)
		bits, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(bits) != 4*n*area {
			a.refuseArgument(i, "base64 of a number of 32 bits for each place")
			return out
		}
		out = make([]float32, n*area)
		for at := range out {
			out[at] = math.Float32frombits(binary.LittleEndian.Uint32(bits[4*at:]))
		}
	default:
		a.refuseArgument(i, "a number, a list of them, or bits")
	}
	return out
}

// writeTensor writes the picture to dst.
func (e *outputForm) writeTensor(dst []byte, r *raster) {
	switch {
	case !e.planes && e.table != nil:
		e.writeNumbersTogether(dst, r.planes)
		return
	case !e.planes:
		together(dst, r.planes)
		return
	}
	for band, plane := range r.planes {
		bytes := sizes[e.dtype]
		to := dst[band*len(plane)*bytes:][:len(plane)*bytes]
		if bytes == 1 {
			copy(to, plane)
		} else {
			e.table[band].Write(to, plane)
		}
	}
	for _, p := range e.erased {
		e.writePart(dst, r, p)
	}
}

// writeNumbersTogether writes interleaved numbers of bands that share a table.
func (e *outputForm) writeNumbersTogether(dst []byte, planes [][]byte) {
	const atOnce = 1024 // so many pixels fit into the first-level cache
	var pixels [4 * atOnce]byte
	parts, bytes := make([][]byte, len(planes)), sizes[e.dtype]
	for at := 0; at < len(planes[0]); at += atOnce {
		end := min(at+atOnce, len(planes[0]))
		for band, plane := range planes {
			parts[band] = plane[at:end]
		}
		bands := pixels[:(end-at)*len(planes)]
		together(bands, parts)
		e.table[0].Write(dst[at*len(planes)*bytes:], bands)
	}
}

func (e *outputForm) writePart(dst []byte, r *raster, p part) {
	bytes, area := sizes[e.dtype], p.where.Dx()*p.where.Dy()
	each := len(p.values) / len(r.planes) // numbers per band
	for band := range r.planes {
		for i := range area {
			v := p.values[band*each+i%each]
			x, y := p.where.Min.X+i%p.where.Dx(), p.where.Min.Y+i/p.where.Dx()
			at := ((band*r.size.Y+y)*r.size.X + x) * bytes
			if bytes == 1 {
				dst[at] = uint8(v)
				continue
			}
			transform.Append(dst[at:at], v, e.dtype)
		}
	}
}

// Table holds the number that each of the 256 values of each band becomes in a tensor.
type Table struct {
	dtype   string
	numbers []*transform.Numbers
	shared  bool // all bands have the same
}

// NewTable takes numbers of single precision, little-endian, 256 for each band. The tensor
// stores them as "float32", "float16" or "bfloat16".
func NewTable(dtype string, bits []byte) (*Table, error) {
	const band = 4 * 256
	if len(bits) == 0 || len(bits) > 4*band || len(bits)%band != 0 || sizes[dtype] < 2 {
		return nil, fmt.Errorf("a table of %d bytes for type %.20q", len(bits), dtype)
	}
	t := &Table{dtype: dtype, shared: bytes.Equal(bits[band:], bits[:len(bits)-band])}
	for ; len(bits) > 0; bits = bits[band:] {
		var values [256]float32
		for v := range values {
			values[v] = math.Float32frombits(binary.LittleEndian.Uint32(bits[4*v:]))
		}
		t.numbers = append(t.numbers, transform.NewNumbers(&values, dtype))
	}
	return t, nil
}

// Become changes a program that ends in bytes to give the table's numbers instead. If bands are
// interleaved, they must share one table.
func (p *Program) Become(t *Table) error {
	e := p.end
	if !e.planes && !t.shared || e.dtype != "uint8" || len(e.erased) > 0 || len(e.values) != len(t.numbers) {
		return fmt.Errorf("a table for %d bands, for a picture of mode %q that ends as %s", len(t.numbers),
			p.Output.Mode, p.Output.DType)
	}
	e.dtype, e.table, p.Output.DType = t.dtype, t.numbers, t.dtype
	return nil
}
