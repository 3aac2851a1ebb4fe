package picture

import (
	"fmt"

	"github.com/stoker-dev/stoker/feed/wheel"
)

// heaviest is a bound of weights, so that sums stay whole numbers of 32 bits.
const heaviest = 1 << 20

// compileOpenCVWeigh is cv2.addWeighted of two pictures that come of the one in hand, each by operations of its own.
func compileOpenCVWeigh(c *compiler, a *arguments) {
	numbers := [3]float32{float32(a.readNumber(0)), float32(a.readNumber(1)), float32(a.readNumber(2))}
	if max(numbers[0], -numbers[0], numbers[1], -numbers[1], numbers[2], -numbers[2]) > heaviest {
		a.refuse("weights %v", numbers)
	}
	first, second := c.compileBranch(a, 3), c.compileBranch(a, 4)
	if a.err != nil {
		return
	}
	if first.mode != second.mode || first.size != second.size || bands[first.mode]%2 == 0 {
		a.refuse("pictures of %v in mode %q and %v in mode %q", first.size, first.mode, second.size, second.mode)
		return
	}
	// Both are in memory at once, beside the one that they come of.
	c.program.largest = max(c.program.largest, first.program.largest+second.program.largest+c.size.X*c.size.Y)
	c.addStep(func(w *Worker) error { return w.weigh(first.program.steps, second.program.steps, &numbers) })
	c.mode, c.size = first.mode, first.size
}

// compileBranch follows the picture in hand through the ops of an argument.
func (c *compiler) compileBranch(a *arguments, i int) *compiler {
	branch := &compiler{program: Program{mode: c.mode, size: c.size}, mode: c.mode, size: c.size, pillow: c.pillow}
	list, ok := a.list[i].([]any)
	if !ok || len(list) > mostOps {
		a.refuseArgument(i, fmt.Sprintf("a list of at most %d ops", mostOps))
		return branch
	}
	for _, each := range list {
		op, ok := each.([]any)
		if !ok || len(op) > 0 && op[0] == "cv_weigh" {
			a.refuse("an op %.60s within it", fmt.Sprint(each))
			return branch
		}
		if err := branch.compileOp(a.op, op); err != nil {
			a.err = err
			return branch
		}
	}
	if branch.program.end != nil {
		a.refuse("a tensor within it")
	}
	return branch
}

// weigh leaves the weighted sum of what two lists of steps make of the picture in hand.
func (w *Worker) weigh(first, second []step, numbers *[3]float32) error {
	whole := w.picture
	w.picture = w.copyRaster(&whole)
	if err := w.runSteps(first); err != nil {
		return err
	}
	one := w.picture
	w.picture = whole
	if err := w.runSteps(second); err != nil {
		return err
	}
	for i, plane := range w.picture.planes {
		addWeighted(plane, one.planes[i], numbers)
		w.givePlane(one.planes[i])
	}
	return nil
}

func (w *Worker) copyRaster(r *raster) raster {
	out := w.newRaster(r.size, len(r.planes))
	for i, plane := range r.planes {
		copy(out.planes[i], plane)
	}
	return out
}

// addWeighted puts the sum in place of the second picture. Each product is added before it is rounded.
func addWeighted(second, first []byte, numbers *[3]float32) {
	done := 0
	if canFilter {
		done = addWeightedSIMD(second, first, numbers)
	}
	for i := done; i < len(second); i++ {
		sum := wheel.RoundOnce(float32(second[i]), numbers[1], numbers[2])
		second[i] = roundToByte(wheel.RoundOnce(float32(first[i]), numbers[0], sum))
	}
}
