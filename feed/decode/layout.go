package decode

import (
	"fmt"
	"image"

	"github.com/stoker-dev/stoker/feed/decode/planes"
)

// subsampling returns how many pixels a sample of the second and third component covers.
func (j *jpeg) subsampling() image.Point {
	if j.ncomp == 1 {
		return image.Pt(1, 1)
	}
	return image.Pt(j.hmax/j.comps[1].h, j.vmax/j.comps[1].v)
}

// checkSampling refuses what no encoder writes and a Picture cannot hold. The first and the
// fourth component must have all samples. The second and third must have the same number of
// samples, and all of them if they are not chroma.
func (j *jpeg) checkSampling() error {
	for i := range j.ncomp {
		c, chroma := &j.comps[i], i == 1 || i == 2
		switch {
		case !chroma && c.h == j.hmax && c.v == j.vmax:
		case chroma && c.h == j.comps[1].h && c.v == j.comps[1].v && j.hmax%c.h == 0 && j.vmax%c.v == 0 &&
			(j.subsampling() == image.Pt(1, 1) || j.guessModel() == planes.YCbCr):
		default:
			return newUnsupported(
				"a JPEG whose component %d has sampling factors %dx%d of %dx%d: only chroma may have fewer samples, "+
					"Cb as many as Cr",
				i+1, c.h, c.v, j.hmax, j.vmax)
		}
	}
	return nil
}

// neededMemory returns the size of the coefficients and planes of a whole image.
func (j *jpeg) neededMemory() int {
	blocks := 0
	for i := range j.ncomp {
		blocks += j.mcusX * j.comps[i].h * j.mcusY * j.comps[i].v
	}
	return blocks * (2*64 + 64)
}

// planeBytes returns the approximate size of the planes of a part.
func (j *jpeg) planeBytes(need image.Rectangle) int {
	samples := 0
	for i := range j.ncomp {
		samples += j.comps[i].h * j.comps[i].v
	}
	return need.Dx() * need.Dy() * samples / (j.hmax * j.vmax)
}

// checkDensity refuses a large image whose file is too short for one bit a block. Small images are decoded
// as far as possible, as in Pillow.
func (j *jpeg) checkDensity() error {
	if j.width*j.height < 1<<24 || j.mcusX*j.mcusY <= 8*len(j.data) {
		return nil
	}
	return &SampleError{
		Truncated, int64(len(j.data)),
		fmt.Sprintf("the file is too short for the %d x %d pixels that its header says", j.width, j.height),
	}
}

// mcusAround returns the MCUs that cover need and one chroma sample around it. Upsampling
// computes a pixel's chroma from two samples, and the farther one may belong to an adjacent
// pixel. Without subsampling nothing around is needed.
func (j *jpeg) mcusAround(need image.Rectangle) image.Rectangle {
	width, height := 8*j.hmax, 8*j.vmax
	aroundX, aroundY := min(j.hmax-1, 1), min(j.vmax-1, 1)
	return image.Rect(max(need.Min.X-aroundX, 0)/width, max(need.Min.Y-aroundY, 0)/height,
		ceilDiv(min(need.Max.X+aroundX, j.width), width), ceilDiv(min(need.Max.Y+aroundY, j.height), height))
}
