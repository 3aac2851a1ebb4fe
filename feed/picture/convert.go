package picture

import "image"

func compileConvert(c *compiler, a *arguments) {
	mode, ok := a.list[0].(string)
	if !ok {
		a.refuseArgument(0, "a mode")
		return
	}
	if mode == c.mode {
		return
	}
	convert := conversions[[2]string{c.mode, mode}]
	if convert == nil {
		a.refuse("from %q to %.20q", c.mode, mode)
		return
	}
	c.program.veils = c.program.veils || alpha(mode) && !alpha(c.mode)
	c.mode = mode
	c.addStep(convert)
}

// conversions are those of Image.convert, by the two modes. Conversions to "1" dither.
var conversions = map[[2]string]step{
	{"1", "L"}:      func(*Worker) error { return nil },
	{"1", "LA"}:     opaque,
	{"1", "RGB"}:    triple,
	{"1", "RGBA"}:   inTurn(triple, opaque),
	{"P", "RGB"}:    fromPalette,
	{"P", "L"}:      inTurn(fromPalette, keepLuma),
	{"L", "1"}:      dither,
	{"L", "LA"}:     opaque,
	{"L", "RGB"}:    triple,
	{"L", "RGBA"}:   inTurn(triple, opaque),
	{"LA", "L"}:     firstBands(1),
	{"LA", "1"}:     inTurn(firstBands(1), dither),
	{"LA", "RGB"}:   inTurn(firstBands(1), triple),
	{"LA", "RGBA"}:  tripleWithAlpha,
	{"RGB", "L"}:    keepLuma,
	{"RGB", "LA"}:   inTurn(keepLuma, opaque),
	{"RGB", "RGBA"}: opaque,
	{"RGB", "1"}:    ditherColour,
	{"RGB", "HSV"}:  convertToHSV,
	{"HSV", "RGB"}:  fromHSV,
	{"RGBA", "L"}:   keepLuma,
	{"RGBA", "LA"}:  lumaWithAlpha,
	{"RGBA", "RGB"}: firstBands(3),
	{"RGBA", "1"}:   inTurn(firstBands(3), ditherColour),
	{"RGBA", "HSV"}: inTurn(firstBands(3), convertToHSV),
	{"HSV", "RGBA"}: inTurn(fromHSV, opaque),
	{"HSV", "L"}:    inTurn(fromHSV, keepLuma),
	{"1", "HSV"}:    inTurn(triple, convertToHSV),
	{"L", "HSV"}:    inTurn(triple, convertToHSV),
	{"LA", "HSV"}:   inTurn(firstBands(1), triple, convertToHSV),
	{"HSV", "LA"}:   inTurn(fromHSV, keepLuma, opaque),
}

func inTurn(steps ...step) step {
	return func(w *Worker) error {
		for _, s := range steps {
			if err := s(w); err != nil {
				return err
			}
		}
		return nil
	}
}

// firstBands drops all bands after the first n.
func firstBands(n int) step {
	return func(w *Worker) error {
		w.replace(raster{w.picture.size, w.picture.planes[:n]})
		return nil
	}
}

// opaque adds a band of full opacity.
func opaque(w *Worker) error {
	p := w.picture
	full := w.takePlane(p.size.X * p.size.Y)
	for i := range full {
		full[i] = 255
	}
	w.picture.planes = append(p.planes[:len(p.planes):len(p.planes)], full)
	return nil
}

// fromPalette replaces palette indices by colours. It refuses pixels that came without a
// palette.
func fromPalette(w *Worker) error {
	if w.palette == nil {
		return &RefusalError{-1, "pixels of mode \"P\" have no palette here"}
	}
	in := w.picture.planes[0]
	out := w.newRaster(w.picture.size, 3)
	for c, plane := range out.planes {
		for i, v := range in {
			plane[i] = w.palette[v][c]
		}
	}
	w.replace(out)
	return nil
}

func triple(w *Worker) error {
	p := w.picture
	planes := [][]byte{p.planes[0], w.takePlane(len(p.planes[0])), w.takePlane(len(p.planes[0]))}
	copy(planes[1], planes[0])
	copy(planes[2], planes[0])
	w.picture.planes = planes
	return nil
}

func tripleWithAlpha(w *Worker) error {
	alpha := w.picture.planes[1]
	w.picture.planes = w.picture.planes[:1]
	if err := triple(w); err != nil {
		return err
	}
	w.picture.planes = append(w.picture.planes, alpha)
	return nil
}

// keepLuma replaces the colours by their ITU-R 601-2 luma.
func keepLuma(w *Worker) error {
	out := w.newRaster(w.picture.size, 1)
	lumaOf(out.planes[0], w.picture.planes)
	w.replace(out)
	return nil
}

func lumaWithAlpha(w *Worker) error {
	out := w.newRaster(w.picture.size, 1)
	lumaOf(out.planes[0], w.picture.planes)
	out.planes = append(out.planes, w.picture.planes[3])
	w.replace(out)
	return nil
}

func lumaOf(out []byte, planes [][]byte) {
	r, g, b := planes[0][:len(out)], planes[1][:len(out)], planes[2][:len(out)]
	from := 0
	if canEnhance {
		from = weighGreySIMD(out, r, g, b)
	}
	for i := from; i < len(out); i++ {
		out[i] = uint8((uint32(r[i])*19595 + uint32(g[i])*38470 + uint32(b[i])*7471 + 0x8000) >> 16)
	}
}

// premultiply multiplies colours by their opacity, as Pillow does before it resizes or warps.
func premultiply(w *Worker) error {
	return withAlpha(w, func(v, alpha uint8) uint8 {
		product := uint32(v)*uint32(alpha) + 128
		return uint8((product>>8 + product) >> 8)
	})
}

func unpremultiply(w *Worker) error {
	return withAlpha(w, func(v, alpha uint8) uint8 {
		if alpha == 0 || alpha == 255 {
			return v
		}
		return uint8(min(255*uint32(v)/uint32(alpha), 255))
	})
}

func withAlpha(w *Worker, do func(v, alpha uint8) uint8) error {
	last := len(w.picture.planes) - 1
	alphas := w.picture.planes[last]
	for _, plane := range w.picture.planes[:last] {
		for i, v := range plane {
			plane[i] = do(v, alphas[i])
		}
	}
	return nil
}

// dither makes a grey picture black and white.
func dither(w *Worker) error {
	plane := w.picture.planes[0]
	diffuse(plane, w.picture.size, func(i int) int { return int(plane[i]) })
	return nil
}

// ditherColour makes a colour picture black and white. It rounds luma down, unlike keepLuma.
func ditherColour(w *Worker) error {
	p := w.picture
	r, g, b := p.planes[0], p.planes[1], p.planes[2]
	diffuse(r, p.size, func(i int) int { return (int(r[i])*299 + int(g[i])*587 + int(b[i])*114) / 1000 })
	return firstBands(1)(w)
}

// diffuse dithers by Floyd and Steinberg's method: the error of a pixel is added to the next
// one (7/16) and to those below it (3, 5 and 1 of 16). errors holds those for the row below.
func diffuse(out []byte, size image.Point, grey func(i int) int) {
	errors := make([]int, size.X+1)
	for y := range size.Y {
		v, below, belowNext := 0, 0, 0
		for x := range size.X {
			i := y*size.X + x
			v = min(max(grey(i)+(v+errors[x+1])/16, 0), 255)
			out[i] = 0
			if v > 128 {
				out[i] = 255
			}
			wrong := v - int(out[i])
			errors[x] = 3*wrong + below
			below = 5*wrong + belowNext
			belowNext = wrong
			v = 7 * wrong
		}
		errors[size.X] = below
	}
}
