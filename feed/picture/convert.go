package picture

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
	c.mode = mode
	c.addStep(convert)
}

// conversions are those of Image.convert, by the two modes.
var conversions = map[[2]string]step{
	{"L", "RGB"}: triple,
	{"RGB", "L"}: keepLuma,
}

func triple(w *Worker) error {
	p := w.picture
	planes := [][]byte{p.planes[0], w.takePlane(len(p.planes[0])), w.takePlane(len(p.planes[0]))}
	copy(planes[1], planes[0])
	copy(planes[2], planes[0])
	w.picture.planes = planes
	return nil
}

// keepLuma replaces the colours by their ITU-R 601-2 luma.
func keepLuma(w *Worker) error {
	out := w.newRaster(w.picture.size, 1)
	lumaOf(out.planes[0], w.picture.planes)
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
