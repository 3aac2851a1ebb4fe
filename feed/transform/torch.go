package transform

// The filters of torch's resize of bytes, by numbers that Pillow does not have.
const (
	TorchBilinear = 8 + iota
	TorchBicubic
)

// mostShort is where torch stops: weights have to fit into 16 bits.
const mostShort = 1 << 15

// computeShort is compute as torch has it for bytes (UpSampleKernel.cpp): Pillow's weights,
// rounded to as many bits as leave the largest one of the direction within 16, whatever part of
// the outputs is asked for. They are kept as weights of 22 bits: what is added to round, and the
// shift, grow alike, so that the sums give the same bytes.
func (w *weights) computeShort(f *filter, length, size, from, to int) {
	scale := float64(length) / float64(size)
	stretch := max(scale, 1)
	support, most := float64(f.support*stretch), w.size
	all, largest := make([]float64, 0, (to-from)*most), 0.0
	for i := range size {
		center := float64(scale * (float64(i) + 0.5))
		low := max(0, int(center-support+0.5))
		high := min(length, int(center+support+0.5), low+most)
		w.exact = w.exact[:most]
		w.normalise(f, low, max(low, high), center, 1/stretch)
		for _, v := range w.exact {
			largest = max(largest, v)
		}
		if from <= i && i < to {
			w.first[i-from], w.count[i-from] = int32(low), int32(len(w.exact))
			all = append(all, w.exact...)
		}
	}
	w.roundShort(all, largest)
	w.trimColumns()
}

// roundShort rounds exact weights, one output's after the other's, to those of the outputs.
func (w *weights) roundShort(exact []float64, largest float64) {
	bits := 0
	for bits < weightBits && int(0.5+float64(largest*float64(int(2)<<bits))) < mostShort {
		bits++
	}
	for i, n := range w.count {
		values := w.values[i*w.size:][:w.size]
		clear(values)
		for j, v := range exact[:n] {
			half := 0.5
			if v < 0 {
				half = -0.5
			}
			values[j] = int32(half+float64(v*float64(int(1)<<bits))) << (weightBits - bits)
		}
		exact = exact[n:]
	}
}
