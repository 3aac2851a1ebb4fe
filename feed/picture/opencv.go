package picture

import (
	"encoding/base64"
	"image"
)

// OpenCV's operations on bytes, in its own arithmetic. A picture of three bands has mode
// "RGB" here, whatever they mean: OpenCV's arrays do not tell.

// compileSwap turns the order of the bands around: RGB and BGR.
func compileSwap(c *compiler, a *arguments) {
	if !colourPicture(c, a) {
		return
	}
	c.addStep(func(w *Worker) error {
		p := w.picture.planes
		w.picture.planes = [][]byte{p[2], p[1], p[0]}
		return nil
	})
}

// colourPicture refuses all modes but RGB.
func colourPicture(c *compiler, a *arguments) bool {
	if c.mode != "RGB" {
		a.refuse("mode %q", c.mode)
	}
	return a.err == nil
}

// compileLUT is point, with 256 bytes for each band in base64.
func compileLUT(c *compiler, a *arguments) {
	text, ok := a.list[0].(string)
	values, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(values) != 256*bands[c.mode] {
		a.refuseArgument(0, "base64 of 256 bytes for each band")
	}
	if !greyOrColour(c, a) {
		return
	}
	tables := make([]lookUp, bands[c.mode])
	for i := range tables {
		tables[i] = lookUp(values[256*i:])
	}
	c.addLookUp(tables)
}

// compileBand keeps one of the bands.
func compileBand(c *compiler, a *arguments) {
	band := a.readWholeNumber(0, 0, 2)
	if !colourPicture(c, a) {
		return
	}
	c.mode = "L"
	c.addStep(func(w *Worker) error {
		w.replace(raster{w.picture.size, w.picture.planes[band : band+1]})
		return nil
	})
}

// compileOpenCVGray is cvtColor to grey, with weights of 15 bits.
func compileOpenCVGray(c *compiler, a *arguments) {
	if !colourPicture(c, a) {
		return
	}
	c.mode = "L"
	c.addStep(func(w *Worker) error {
		p := w.picture.planes
		out := w.newRaster(w.picture.size, 1)
		grey := out.planes[0]
		red, green, blue := p[0][:len(grey)], p[1][:len(grey)], p[2][:len(grey)]
		done := 0
		if canInterpolate {
			done = weighGreySIMD(grey, red, green, blue, false)
		}
		for i := done; i < len(grey); i++ {
			grey[i] = uint8((uint32(red[i])*9798 + uint32(green[i])*19235 + uint32(blue[i])*3735 + 1<<14) >> 15)
		}
		w.replace(out)
		return nil
	})
}

// The interpolations that are done here, by OpenCV's numbers.
const (
	cvNearest = 0
	cvLinear  = 1
	cvCubic   = 2
	cvArea    = 3
)

// compileOpenCVResize is cv2.resize to a width and a height.
func compileOpenCVResize(c *compiler, a *arguments) {
	to := image.Point{a.readWholeNumber(0, 1, longestSide), a.readWholeNumber(1, 1, longestSide)}
	kind := a.readWholeNumber(2, cvNearest, cvArea)
	switch from := c.size; {
	case !greyOrColour(c, a):
	case to.X*to.Y > mostPixels:
		a.refuse("a picture of %d x %d pixels", to.X, to.Y)
	case to == from:
	case kind == cvLinear && !halves(from, to):
		c.addPartial(newLinearResize(from, to, c.open))
	case kind == cvCubic && min(from.X, from.Y) >= leastCubic:
		c.addPartial(newCubicResize(from, to, c.mode == "RGB", c.open))
	default:
		resize := newResize(from, to, kind)
		if resize == nil {
			a.refuse("interpolation %d from %v to %v", kind, from, to)
			return
		}
		c.size = to
		c.addStep(func(w *Worker) error { return w.resizePlanes(to, resize) })
	}
}

// partialResize is one of which a crop behind it keeps a part.
type partialResize interface {
	size() image.Point
	draw(w *Worker, out, in []byte)
	keepPart(part image.Rectangle)
}

func (c *compiler) addPartial(r partialResize) {
	c.size = r.size()
	c.addStep(func(w *Worker) error { return w.resizePlanes(r.size(), r.draw) })
	c.partial = r
}

func (w *Worker) resizePlanes(to image.Point, resize planeResize) error {
	out := w.newRaster(to, len(w.picture.planes))
	for i, plane := range w.picture.planes {
		resize(w, out.planes[i], plane)
	}
	w.replace(out)
	return nil
}
