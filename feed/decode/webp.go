package decode

import (
	"errors"
	"image"

	"github.com/stoker-dev/stoker/feed/decode/webp"
)

// webpError turns an error of package webp into a SampleError.
func webpError(err error) error {
	var damage *webp.Damage
	switch {
	case errors.As(err, &damage):
		return &SampleError{Damaged, int64(damage.At), damage.Text}
	case errors.Is(err, webp.ErrAnimated):
		return newUnsupported("%v", err)
	}
	return &SampleError{Truncated, -1, err.Error()}
}

// inexactWebP is why the pixels of a lossy WebP may differ from Pillow's.
const inexactWebP = "a lossy WebP with coefficients that no encoder writes: libwebp's vectors overflow"

// webpRow converts a row of a lossy WebP as libwebp does: it interpolates chroma with weights
// 9, 3, 3, 1, then applies fixed-point BT.601 with 14 bits.
func webpRow(m *image.YCbCr, x, y int, row [3][]byte) {
	height := (m.Rect.Dy() + 1) / 2
	near := y / 2
	far := near - 1 + y%2*2
	if far < 0 || far >= height {
		far = near
	}
	width := (m.Rect.Dx() + 1) / 2
	luma := m.Y[y*m.YStride:]
	cb0, cb1 := m.Cb[near*m.CStride:][:width], m.Cb[far*m.CStride:][:width]
	cr0, cr1 := m.Cr[near*m.CStride:][:width], m.Cr[far*m.CStride:][:width]
	for i := range row[0] {
		column := x + i
		side := column/2 - 1 + column%2*2
		if side < 0 || side >= width {
			side = column / 2
		}
		u := mixChroma(cb0[column/2], cb0[side], cb1[column/2], cb1[side])
		v := mixChroma(cr0[column/2], cr0[side], cr1[column/2], cr1[side])
		row[0][i], row[1][i], row[2][i] = webpRGB(luma[column], u, v)
	}
}

// mixChroma is libwebp's fancy upsampling of one sample, with its rounding: it averages the
// diagonals first.
func mixChroma(near, side, far, corner uint8) int {
	a, b, c, d := int(near), int(side), int(far), int(corner)
	diagonal := (a + b + c + d + 8 + 2*(b+c)) >> 3
	return (diagonal + a) >> 1
}

func webpRGB(luma uint8, u, v int) (r, g, b uint8) {
	y := int(luma) * 19077 >> 8
	return webpClip(y + v*26149>>8 - 14234),
		webpClip(y - u*6419>>8 - v*13320>>8 + 8708),
		webpClip(y + u*33050>>8 - 17685)
}

func webpClip(v int) uint8 { return uint8(max(0, min(v>>6, 255))) }
