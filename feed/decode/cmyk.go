package decode

import (
	"image"

	"github.com/stoker-dev/stoker/feed/decode/planes"
)

// cmyk holds what a JPEG of four components needs beyond the three planes of a Picture.
type cmyk struct {
	line   []byte
	planes [3][]byte
	rows   planes.RowReader
}

// inkToRGB replaces the picture of the first three components by the RGB that Pillow computes
// from all four. Like Pillow it takes the values as inverted, a convention that Adobe began and
// all programs follow. YCCK is first upsampled and converted as YCbCr is, which already gives
// inverted inks.
func (d *Decoder) inkToRGB(need image.Rectangle) (*planes.Picture, error) {
	c, inks := &d.cmyk, d.pic
	left, width, err := c.rows.Begin(&inks, need)
	if err != nil {
		return nil, err
	}
	stride := width + planes.Vector
	c.line = planes.MakeRoom(c.line, 3*stride)
	d.pic = planes.Picture{Size: inks.Size, Bounds: need, Model: planes.RGB, SubX: 1, SubY: 1}
	for i := range c.planes {
		c.planes[i] = planes.MakeRoom(c.planes[i], need.Dx()*need.Dy())
		d.pic.Planes[i], d.pic.Stride[i] = c.planes[i], need.Dx()
	}
	for y := range need.Dy() {
		c.rows.Read(need.Min.Y+y, c.line, stride)
		black := d.planes[3][(need.Min.Y+y-inks.Bounds.Min.Y)*inks.Stride[0]+need.Min.X-inks.Bounds.Min.X:]
		for i := range c.planes {
			out := c.planes[i][y*need.Dx():][:need.Dx()]
			ink := c.line[i*stride+need.Min.X-left:]
			for x := range out {
				v := ink[x]
				if inks.Model == planes.RGB {
					v = 255 - v
				}
				out[x] = black[x] - product(v, black[x])
			}
		}
	}
	return &d.pic, nil
}

// product returns a*b/255, rounded as by Pillow's MULDIV255.
func product(a, b byte) byte {
	v := uint(a)*uint(b) + 128
	return byte((v>>8 + v) >> 8)
}
