package picture

import (
	"image"

	"github.com/stoker-dev/stoker/feed/transform"
)

// Grey of 16 bits: mode "I;16" is that of files, and "I" what Image.convert makes of it,
// whose whole numbers of 32 bits need no more than 16 here. Planes are the lower and the
// higher bytes of shades.
const (
	deep  = "I;16"
	whole = "I"
)

// ofShades are the ops that are known of them.
var ofShades = map[string]bool{"convert": true, "crop": true, "transpose": true, "deep_resize": true, "tobytes": true}

// compileDeepResize is for the filters that give no shade beyond those that they are given.
func compileDeepResize(c *compiler, a *arguments) {
	size := image.Point{a.readWholeNumber(0, 1, longestSide), a.readWholeNumber(1, 1, longestSide)}
	filter := a.readWholeNumber(2, nearest, 7)
	switch {
	case c.mode != whole:
		a.refuse("mode %q", c.mode)
	case !transform.Narrow(filter):
		a.refuse("filter %d", filter)
	case size.X*size.Y > mostPixels || size.X*c.size.Y > mostPixels || c.size.X*size.Y > mostPixels:
		a.refuse("a picture of %d x %d pixels", size.X, size.Y)
	case a.err == nil && size != c.size:
		pillow := c.pillow
		c.addStep(func(w *Worker) error {
			w.resizeShades(size, filter, pillow)
			return nil
		})
		c.size = size
	}
}

func (w *Worker) resizeShades(size image.Point, filter, pillow int) {
	if w.shades == nil {
		w.shades = transform.NewShadeResizer()
	}
	in, out := w.picture, w.newRaster(size, 2)
	w.shades.Resize(transform.Shades(out.planes[:2]), transform.Shades(in.planes[:2]), in.size, size, filter, pillow)
	w.replace(out)
}
