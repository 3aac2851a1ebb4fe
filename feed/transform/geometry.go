package transform

import (
	"fmt"
	"image"
)

// Choice is the result of the random choices for one sample: crop boxes and flips.
type Choice struct {
	stages []stage
}

// stage is what happens between two images in memory: a part of the first is resized, and a
// part of the result is kept, mirrored and put on a canvas. Most programs are one stage. A
// second one is needed after an op that cannot be combined with the next, as between two
// resizes, since Pillow rounds to 8 bits in between.
type stage struct {
	x, y   axis
	filter *filter // nil: not resized
	fill   [3]uint8
}

// axis is what a stage does along one direction:
//
//	image    [......................]   in
//	crop          [.........]           from, length; reversed if mirrored
//	box            [......]             of the reversed crop
//	resized    [..............]         size
//	kept          [.......]             first, kept; reversed if flipped
//	canvas    [   [.......]     ]       at, canvas
type axis struct {
	in           int
	from, length int
	mirrored     bool
	box          [2]float32
	size         int
	first, kept  int
	flipped      bool
	at, canvas   int
}

func newStage(width, height int) stage {
	return stage{x: newAxis(width), y: newAxis(height)}
}

func newAxis(n int) axis {
	return axis{in: n, length: n, box: [2]float32{0, float32(n)}, size: n, kept: n, canvas: n}
}

// isPadded reports whether the image leaves part of the canvas free.
func (a *axis) isPadded() bool { return a.kept != a.canvas }

// isResized reports whether a pass over the pixels is needed.
func (a *axis) isResized() bool {
	return a.size != a.length || a.box != [2]float32{0, float32(a.size)}
}

// isTurned reports whether the image comes out mirrored.
func (a *axis) isTurned() bool { return a.mirrored != a.flipped }

// cropAxis crops to [from, from+length) of the canvas, which may reach beyond it.
func (a *axis) cropAxis(from, length int) {
	low, high := max(a.at, from), min(a.at+a.kept, from+length)
	if high <= low {
		a.kept, a.at, a.canvas = 0, 0, length
		return
	}
	if a.flipped {
		a.first += a.at + a.kept - high
	} else {
		a.first += low - a.at
	}
	a.kept, a.at, a.canvas = high-low, low-from, length
}

func (a *axis) flipAxis() {
	a.flipped = !a.flipped
	a.at = a.canvas - a.at - a.kept
}

// resize requires an axis that was only cropped and flipped before.
func (a *axis) resize(size int, box [2]float32) {
	*a = axis{
		in: a.in, from: a.from + a.first, length: a.kept, mirrored: a.flipped,
		box: box, size: size, kept: size, canvas: size,
	}
}

// keptSource returns the part of the image that ends up on the canvas, if nothing is resized.
func (a *axis) keptSource() (low, high int) {
	low = a.from + a.first
	if a.mirrored {
		low = a.from + a.length - a.first - a.kept
	}
	return low, low + a.kept
}

// setWeights sets w to the weights of the kept outputs, in the order of the canvas. Inputs are
// counted from the image's first pixel.
func (a *axis) setWeights(w *weights, cache *weightCache, f *filter) {
	cache.compute(w, weightKey{f, a.length, a.box, a.size, a.first, a.first + a.kept})
	if a.mirrored {
		w.mirror(a.length)
	}
	if a.flipped {
		w.reverse()
	}
	w.moveOrigin(a.from)
}

// readSpan returns the part of the image that the axis reads. It is at least one pixel, even if
// the result is only fill, because an empty part cannot be decoded.
func (a *axis) readSpan(f *filter) (low, high int) {
	if a.kept == 0 {
		return 0, 1
	}
	if !a.isResized() {
		return a.keptSource()
	}
	var w weights
	long := filter{support: f.support, at: f.at} // reads the same inputs; the weights themselves are not needed
	low, high = a.length, 0
	for _, i := range []int{a.first, a.first + a.kept - 1} {
		w.compute(&long, a.length, a.box, a.size, i, i+1)
		if a.mirrored {
			w.mirror(a.length)
		}
		l, h := w.inputSpan()
		low, high = min(low, l), max(high, h)
	}
	return a.from + low, a.from + high
}

// needRect returns the part of the image that the stage reads.
func (s *stage) needRect() image.Rectangle {
	left, right := s.x.readSpan(s.filter)
	top, bottom := s.y.readSpan(s.filter)
	return image.Rect(left, top, right, bottom)
}

// stages is a list of stages, built from ops with known parameters.
type stages struct {
	list []stage
}

func (s *stages) lastStage() *stage { return &s.list[len(s.list)-1] }

func (s *stages) canvasSize() (width, height int) {
	return s.lastStage().x.canvas, s.lastStage().y.canvas
}

// nextStage begins a stage on the result of the last one.
func (s *stages) nextStage() {
	s.list = append(s.list, newStage(s.canvasSize()))
}

func (s *stages) resize(width, height int, f *filter) {
	w, h := s.canvasSize()
	if w == width && h == height {
		return // torchvision and Pillow return a copy
	}
	s.resizeBox(width, height, f, [2]float32{0, float32(w)}, [2]float32{0, float32(h)})
}

// resizeBox resizes a part of the image. Pixels around that part still count at its edges.
func (s *stages) resizeBox(width, height int, f *filter, x, y [2]float32) {
	if last := s.lastStage(); last.filter != nil || last.x.isPadded() || last.y.isPadded() {
		s.nextStage()
	}
	last := s.lastStage()
	last.filter = f
	last.x.resize(width, x)
	last.y.resize(height, y)
}

func (s *stages) flipX() { s.lastStage().x.flipAxis() }
func (s *stages) flipY() { s.lastStage().y.flipAxis() }

// cropTo crops to r. Pixels beyond the image get the fill.
func (s *stages) cropTo(r image.Rectangle, fill [3]uint8) {
	w, h := s.canvasSize()
	beyond := !r.In(image.Rect(0, 0, w, h))
	if last := s.lastStage(); beyond && fill != last.fill && (last.x.isPadded() || last.y.isPadded()) {
		s.nextStage()
	}
	last := s.lastStage()
	if beyond {
		last.fill = fill
	}
	last.x.cropAxis(r.Min.X, r.Dx())
	last.y.cropAxis(r.Min.Y, r.Dy())
	if last.x.kept == 0 || last.y.kept == 0 {
		last.x.cropAxis(last.x.canvas, last.x.canvas)
		last.y.cropAxis(last.y.canvas, last.y.canvas)
	}
}

// Limits on the use of memory. They are far above any photograph, and keep absurd
// proportions from taking all of the machine's memory.
const (
	longestSide = 1 << 20 // pixels of a side before a resize
	mostPixels  = 1 << 25 // pixels of an image between two stages, or between two passes; 3 bytes each
)

// checkedChoice checks the limits and returns the stages as a Choice.
func (s *stages) checkedChoice() (Choice, error) {
	for i := range s.list {
		if err := s.list[i].checkLimits(); err != nil {
			return Choice{}, err
		}
		x, y := s.list[i].x.canvas, s.list[i].y.canvas
		if i+1 < len(s.list) && x*y > mostPixels {
			return Choice{},
				fmt.Errorf(
					"an image of %d x %d pixels comes out of one transform and goes into the next: more than %d "+
						"pixels: crop it first",
					x, y, mostPixels)
		}
	}
	return Choice{s.list}, nil
}

// checkLimits returns an error that names the limit which a stage exceeds.
func (s *stage) checkLimits() error {
	if s.x.canvas < 1 || s.y.canvas < 1 {
		return fmt.Errorf(
			"an image of %d x %d pixels comes out of the transforms: it needs at least one pixel each way",
			s.x.canvas, s.y.canvas)
	}
	if s.filter == nil {
		return nil
	}
	if s.x.length > longestSide || s.y.length > longestSide {
		return fmt.Errorf("resize of %d x %d pixels: a side has more than %d: crop the image first",
			s.x.length, s.y.length, longestSide)
	}
	rows := int(2*s.filter.support*max(1, float64(s.y.length)/float64(s.y.size))) + 3
	if held := 3 * rows * max(s.x.kept, s.x.length); held > mostPixels { // see window
		return fmt.Errorf(
			"resize of %d x %d pixels to %d x %d: %d pixels of it would be held at once, more than %d: crop the "+
				"image first",
			s.x.length, s.y.length, s.x.size, s.y.size, held, mostPixels)
	}
	return nil
}
