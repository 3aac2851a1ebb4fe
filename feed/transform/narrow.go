package transform

import "encoding/binary"

// The fast mode's weights have 7 bits, so that a vector instruction multiplies and
// adds 32 pixels, and plain Go four in one multiplication: a sum of pixels with
// weights that add up to 128 fits 16 bits. Weights are rounded such that they do;
// what they are off by weighs differences of neighbours only.

const (
	narrowBits = 7
	narrowOne  = 1 << narrowBits
	mostNarrow = 32 // weights of a sum: of more, each would have too few bits
)

// narrow are weights in 7 bits. No sum has a weight above 127 or fewer than two, as
// the kernels read signed bytes and pairs.
type narrow struct {
	first  []int32
	count  []int32
	size   int // of the longest sum, even; the shorter ones end in zeros
	values []uint8
	low    int // inputs that are read: [low, high)
	high   int
}

// build rounds weights; it says false where they are not for this mode.
func (n *narrow) build(w *weights) bool {
	n.low, n.high = w.span()
	if w.negative || w.size > mostNarrow || n.high-n.low < 2 {
		return false
	}
	n.size = (w.size + 1) &^ 1
	n.first = append(n.first[:0], w.first...)
	n.count = append(n.count[:0], w.count...)
	n.values = grown(n.values, len(w.first)*n.size)
	for i := range n.first {
		n.round(i, w.values[i*w.size:][:w.size])
	}
	return true
}

func (n *narrow) round(i int, exact []int32) {
	values := n.values[i*n.size:][:n.size]
	clear(values)
	var sum, before int32
	for j, v := range exact {
		sum += v
		rounded := (sum + 1<<(weightBits-narrowBits-1)) >> (weightBits - narrowBits)
		values[j] = uint8(rounded - before)
		if values[j] == narrowOne {
			n.lend(i, j, values)
			return
		}
		before = rounded
	}
}

// lend gives a neighbour 1 of the 128 that weight j of output i has alone.
func (n *narrow) lend(i, j int, values []uint8) {
	switch {
	case j+1 < int(n.count[i]):
		values[j], values[j+1] = narrowOne-1, 1
	case j > 0:
		values[j], values[j-1] = narrowOne-1, 1
	case int(n.first[i])+1 < n.high:
		values[0], values[1], n.count[i] = narrowOne-1, 1, 2
	default:
		values[0], values[1], n.count[i] = 1, narrowOne-1, 2
		n.first[i]--
	}
}

// move counts the inputs from the first that is read on.
func (n *narrow) move() {
	for i := range n.first {
		n.first[i] -= int32(n.low)
	}
	n.low, n.high = 0, n.high-n.low
}

// appendQuads are the weights of output i as the vertical kernel wants them: pairs,
// each twice.
func (n *narrow) appendQuads(quads []uint32, i int) []uint32 {
	values := n.values[i*n.size:][:(n.count[i]+1)&^1]
	for j := 0; j+1 < len(values); j += 2 {
		quads = append(quads, (uint32(values[j])|uint32(values[j+1])<<8)*(1<<16|1))
	}
	return quads
}

// The horizontal kernel makes 16 outputs at once, 8 in each half of a register, in
// steps that each add two pixels to some of the 8: those that lie in the 16 pixels
// from the half's origin on.
const (
	narrowGroup = 16
	narrowHalf  = narrowGroup / 2
	stepBytes   = 32 + 32 + 8 // which pixels, their weights, two origins
)

// narrowSteps is a narrow as the horizontal kernel wants it.
type narrowSteps struct {
	groups int
	count  int // of a group
	steps  []byte
	reach  int // bytes of a row that are read
}

func (s *narrowSteps) build(n *narrow) {
	s.groups = (len(n.first) + narrowGroup - 1) / narrowGroup
	pairs, windows := n.size/2, n.windows()
	s.count = pairs * windows
	s.steps = grown(s.steps, s.groups*s.count*stepBytes)
	at, outputs := 0, narrowHalf/windows
	for group := range s.groups {
		for pair := range pairs {
			for window := range windows {
				step := s.steps[at:][:stepBytes]
				for i := range 32 {
					step[i] = 0x80 // no pixel
				}
				for half := range 2 {
					from := group*narrowGroup + half*narrowHalf + window*outputs
					n.setStep(step, half, window*outputs, from, from+outputs, 2*pair)
				}
				at += stepBytes
			}
		}
	}
	s.reach = n.high + n.size + lane
}

// windows is into how many parts 8 outputs are divided so that the pairs of each lie
// within 16 pixels.
func (n *narrow) windows() int {
	for windows := 1; ; windows *= 2 {
		if windows == narrowHalf || n.fits(narrowHalf/windows) {
			return windows
		}
	}
}

func (n *narrow) fits(outputs int) bool {
	for i := 0; i < len(n.first); i += outputs {
		a, b := n.first[i], n.first[min(i+outputs, len(n.first))-1]
		if max(a, b)-min(a, b)+3 > lane { // 2 of the pair, 1 that lend may have moved
			return false
		}
	}
	return true
}

// setStep adds the weights j and j+1 of the outputs [from, to) to a half of a step.
func (n *narrow) setStep(step []byte, half, at, from, to, j int) {
	to = min(to, len(n.first))
	origin := int32(0)
	if from < to {
		origin = n.first[from]
		for _, first := range n.first[from:to] {
			origin = min(origin, first)
		}
	}
	binary.LittleEndian.PutUint32(step[64+4*half:], uint32(origin)+uint32(j))
	for i := from; i < to; i++ {
		cell := half*16 + 2*(at+i-from)
		step[cell], step[cell+1] = byte(n.first[i]-origin), byte(n.first[i]-origin)+1
		step[cell+32], step[cell+33] = n.values[i*n.size+j], n.values[i*n.size+j+1]
	}
}
