package decode

import (
	"fmt"
	"image"

	"github.com/stoker-dev/stoker/feed/decode/idct"
	"github.com/stoker-dev/stoker/feed/decode/planes"
)

// Info is what the header of an image says.
type Info struct {
	Width, Height int
	Format        string // "jpeg", "png", "ppm"
	Mode          string // Pillow's name: "RGB", "L", "CMYK"…; "" if not known here
	Progressive   bool
	// Inexact says why the pixels may differ from Pillow's. "" means that they are the same
	// bytes.
	Inexact string
}

// Decoder holds the scratch memory of one thread. It is not safe for concurrent use.
type Decoder struct {
	limits Limits
	info   Info
	way    way

	jpeg   jpeg
	first  scan // of jpeg
	tables tableCache
	reader mcuReader
	plain  []byte // entropy-coded data without stuffing
	blocks blockBuffer

	marks   *Marks // nil: none are used
	marking marking

	// Where the blocks of a chunk are written, in their order: the position in the MCU, the
	// offset from the chunk's position in the plane, and the quantisation of each pair.
	spots   [maxBlocks]image.Point
	offsets [chunk + maxBlocks]int
	quants  [maxComponents][maxComponents]idct.PairQuant
	pairs   [(chunk + maxBlocks) / 2]*idct.PairQuant

	planes [maxComponents][]byte // of the Picture; then black
	pic    planes.Picture

	coefficients coefficients // coefficients.go
	cmyk         cmyk         // cmyk.go
	library      library      // library.go
}

// way is how an opened image is decoded.
type way uint8

const (
	unopened         way = iota
	fromBaseline         // one pass over one scan
	fromCoefficients     // several scans: coefficients of the whole image first
	fromLibrary
)

// New returns a Decoder.
func New(limits Limits) *Decoder { return &Decoder{limits: limits} }

// ReadHeader reads the header of an image file. data must not change until the last Decode. The
// size is then known, so that a crop can be chosen before anything is decoded.
func (d *Decoder) ReadHeader(data []byte) (Info, error) {
	d.way = unopened
	if err := d.openImage(data); err != nil {
		return Info{}, withRemedy(err)
	}
	return d.info, nil
}

func (d *Decoder) openImage(data []byte) error {
	format := sniffFormat(data)
	switch format {
	case "":
		return unread(data)
	case "jpeg":
		return d.openJPEG(data)
	}
	info, err := d.library.openFile(data, format, d.limits)
	if err != nil {
		return err
	}
	d.info, d.way = info, fromLibrary
	return nil
}

var jpegModes = [maxComponents + 1]string{1: "L", 3: "RGB", 4: "CMYK"}

func (d *Decoder) openJPEG(data []byte) error {
	first, err := d.jpeg.readHeader(data)
	if err != nil {
		return err
	}
	j := &d.jpeg
	if err := d.limits.CheckPixels(j.width, j.height); err != nil {
		return err
	}
	switch {
	case j.precision != 8:
		return newUnsupported("a JPEG of %d bits per sample: those of 8 are read", j.precision)
	case j.sof > 2:
		return newUnsupported(
			"a JPEG of coding process SOF%d (lossless, hierarchical or arithmetic): baseline, extended and "+
				"progressive are read", j.sof)
	}
	if err := j.checkSampling(); err != nil {
		return err
	}
	if err := j.checkDensity(); err != nil {
		return err
	}
	d.first, d.coefficients.read = first, false
	j.assumeTables()
	d.info = Info{Width: j.width, Height: j.height, Format: "jpeg", Mode: jpegModes[j.ncomp], Progressive: j.sof == 2}
	d.way = fromBaseline
	if j.sof == 2 || first.n < j.ncomp || j.ncomp == 4 {
		d.way = fromCoefficients
		if err := d.limits.checkMemory(j.neededMemory()); err != nil {
			return err
		}
	}
	return nil
}

// ImageInfo returns the current Info of the opened image. What makes its pixels inexact may
// come after the header, and is then found by Decode.
func (d *Decoder) ImageInfo() Info { return d.info }

// Decode returns the part need of the opened image, with the samples around it that upsampling
// needs. need is in pixels of the image, not empty, and inside it.
func (d *Decoder) Decode(need image.Rectangle) (*planes.Picture, error) {
	whole := image.Rect(0, 0, d.info.Width, d.info.Height)
	if d.way == unopened || need.Empty() || !need.In(whole) {
		return nil, fmt.Errorf("decode: %v was asked for, of an image of %v that is open", need, whole)
	}
	p, err := d.decode(need)
	if err != nil {
		return nil, withRemedy(err)
	}
	return p, nil
}

func (d *Decoder) decode(need image.Rectangle) (*planes.Picture, error) {
	switch d.way {
	case fromCoefficients:
		return d.progressive(need)
	case fromLibrary:
		return d.library.decode(need)
	default:
		return d.decodeBaseline(need)
	}
}

// layOutPlanes allocates planes for the MCUs that cover need and one chroma sample around it,
// and returns those MCUs.
func (d *Decoder) layOutPlanes(need image.Rectangle) image.Rectangle {
	j := &d.jpeg
	mcus, sub := j.mcusAround(need), j.subsampling()
	d.pic = planes.Picture{Size: image.Pt(j.width, j.height), Model: j.guessModel(), SubX: sub.X, SubY: sub.Y}
	width, height := 8*j.hmax, 8*j.vmax
	d.pic.Bounds = image.Rect(mcus.Min.X*width, mcus.Min.Y*height, mcus.Max.X*width, mcus.Max.Y*height).
		Intersect(image.Rectangle{Max: d.pic.Size})
	for i := range j.ncomp {
		stride, rows := mcus.Dx()*8*j.comps[i].h, mcus.Dy()*8*j.comps[i].v
		d.planes[i] = planes.MakeRoom(d.planes[i], stride*rows)
		if i < len(d.pic.Planes) {
			d.pic.Planes[i], d.pic.Stride[i] = d.planes[i], stride
		}
	}
	return mcus
}
