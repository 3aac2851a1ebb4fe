package picture

// spot is the place in the picture from which a pixel of a row comes. left and top are the
// pixel before it, dx and dy its distance from the middle of that pixel.
type spot struct {
	column    int // of the result
	where     uint8
	left, top int32
	dx, dy    float64
}

// The kinds of spots: in the picture, beyond it, or NaN after 0 divided by 0, which counts as
// within the picture and is black.
const (
	within = iota
	beyond
	nowhere
)

// span is the columns [first, end) of a row.
type span struct{ first, end int }

// lanes are the spots of a row from its first pixel on, in the layout of the kernels: the first
// of the taps by taps pixels, and the distance of the place from it. rest has a byte for every
// four spots. A low bit marks a spot that is not for the kernel, although it writes something
// there; the bit four higher marks one that is beyond the picture.
type lanes struct {
	at         []int32
	dx, dy     []float64
	rest       []uint8
	taps       int
	first, end int    // outside of these the kernel has nothing to do
	beyond     []span // lanes beyond the picture
}
