package picture

import (
	"image"

	"github.com/stoker-dev/stoker/feed/decode/planes"
)

const (
	mostTaps = 255 // of a blur, across and down
	blurOne  = 1 << 8
	blurBias = 1 << 15 // is taken from lines between the two sums, so that 16 bits with a sign hold them

	blurGroup = 16 // outputs are made at once
)

// cvBlur is cv2.GaussianBlur of bytes: weights of 8 bits whose sum is 1, across to 16 bits, then down.
type cvBlur struct {
	size         image.Point
	across, down []uint16
	border       int
}

// compileOpenCVBlur takes the weights as OpenCV has them, and what they were made of, which tells nothing more.
func compileOpenCVBlur(c *compiler, a *arguments) {
	blur := cvBlur{size: c.size, across: a.readTaps(0), down: a.readTaps(1), border: a.readBorder(2)}
	a.numberList(3, 4)
	if lines := c.size.Y + len(blur.down) - 1; min(c.size.X, c.size.Y) < 2 || c.size.X*lines > mostPixels {
		a.refuse("a picture of %v", c.size)
	}
	if !greyOrColour(c, a) {
		return
	}
	c.addStep(func(w *Worker) error {
		out := w.newRaster(blur.size, len(w.picture.planes))
		for i, plane := range w.picture.planes {
			blur.draw(w, out.planes[i], plane)
		}
		w.replace(out)
		return nil
	})
}

// readTaps are weights that lie around a middle and sum to 1.
func (a *arguments) readTaps(i int) []uint16 {
	list, sum := a.numberList(i, -1), 0
	taps := make([]uint16, len(list))
	for j, v := range list {
		if v != float64(int(v)) || v < 0 || v > blurOne || v != list[len(list)-1-j] {
			a.refuse("weights %v", list)
			return []uint16{blurOne}
		}
		taps[j] = uint16(v)
		sum += int(v)
	}
	if len(taps)%2 == 0 || len(taps) > mostTaps || sum != blurOne {
		a.refuse("%d weights that sum to %d", len(taps), sum)
		return []uint16{blurOne}
	}
	return taps
}

// readBorder is one of OpenCV's borders that is done here.
func (a *arguments) readBorder(i int) int {
	border := a.readWholeNumber(i, cvConstant, cvReflect101)
	if border == 3 {
		a.refuse("border %d", border)
	}
	return border
}

func (b *cvBlur) draw(w *Worker, out, in []byte) {
	width, height := b.size.X, b.size.Y
	beside, above := len(b.across)/2, len(b.down)/2
	lines, line := w.takeBlurLines(width, height+2*above, width+2*beside)
	stride := len(lines) / (height + 2*above)
	for y := range height {
		b.extend(line, in[y*width:][:width], beside)
		blurAcross(lines[(above+y)*stride:][:stride], line, b.across)
	}
	for y := range above {
		for _, row := range [2]int{-1 - y, height + y} {
			to := lines[(above+row)*stride:][:stride]
			if b.border == cvConstant {
				for i := range to {
					to[i] = -blurBias
				}
				continue
			}
			copy(to, lines[(above+foldIndex(b.border, row, height))*stride:][:stride])
		}
	}
	for y := range height {
		blurDown(out[y*width:][:width], lines[y*stride:], stride, b.down)
	}
}

// takeBlurLines are lines between two sums, each with whole groups of the kernel's, and a row with room for what lies
// beyond it.
func (w *Worker) takeBlurLines(width, lines, row int) (between []int16, line []byte) {
	stride := (width + blurGroup - 1) / blurGroup * blurGroup
	w.lines = planes.MakeRoom(w.lines, stride*lines)
	w.beyond = planes.MakeRoom(w.beyond, row+blurGroup)
	return w.lines[:stride*lines], w.beyond[:row+blurGroup]
}

// extend puts a row between what lies beyond its ends.
func (b *cvBlur) extend(line, row []byte, beside int) {
	copy(line[beside:], row)
	for i := range beside {
		left, right := uint8(0), uint8(0)
		if b.border != cvConstant {
			left, right = row[foldIndex(b.border, -1-i, len(row))], row[foldIndex(b.border, len(row)+i, len(row))]
		}
		line[beside-1-i], line[beside+len(row)+i] = left, right
	}
}

// blurAcross takes blurBias from the sums.
func blurAcross(out []int16, line []byte, taps []uint16) {
	done := 0
	if canFilter {
		done = blurAcrossSIMD(out, line, taps)
	}
	for x := done; x < len(out); x++ {
		sum := -blurBias
		for i, tap := range taps {
			sum += int(tap) * int(line[x+i])
		}
		out[x] = int16(sum)
	}
}

// blurDown sums lines that lie a stride apart; what blurAcross took from them is given back.
func blurDown(out []byte, lines []int16, stride int, taps []uint16) {
	done := 0
	if canFilter {
		done = blurDownSIMD(out, lines, stride, taps)
	}
	for x := done; x < len(out); x++ {
		sum := int(blurBias*blurOne + 1<<15)
		for i, tap := range taps {
			sum += int(tap) * int(lines[i*stride+x])
		}
		out[x] = uint8(sum >> 16)
	}
}
