package webp

// The predictors of transparency.
const (
	plain = iota
	across
	down
	gradient
)

// decodeAlpha decodes the transparency of a lossy picture.
func decodeAlpha(data []byte, width, height int) ([]byte, error) {
	if len(data) == 0 {
		return nil, ErrCut
	}
	method, filter, reduced, reserved := data[0]&3, data[0]>>2&3, data[0]>>4&3, data[0]>>6
	if method > 1 || reduced > 1 || reserved > 0 {
		return nil, damageAt(-1, "transparency of a kind %02x that is not known", data[0])
	}
	data = data[1:]
	alpha := make([]byte, width*height)
	if method == 0 {
		if len(data) < len(alpha) {
			return nil, ErrCut
		}
		copy(alpha, data)
	} else {
		pixels, err := decodePixels(&bitReader{data: data}, width, height)
		if err != nil {
			return nil, err
		}
		for i, p := range pixels {
			alpha[i] = byte(p >> 8) // green
		}
	}
	for y := range height {
		row := alpha[y*width:][:width]
		if y == 0 {
			unfilterFirst(row, filter)
		} else {
			unfilterRow(row, alpha[(y-1)*width:][:width], filter)
		}
	}
	return alpha, nil
}

func unfilterFirst(row []byte, filter byte) {
	if filter == plain {
		return
	}
	for x := 1; x < len(row); x++ {
		row[x] += row[x-1]
	}
}

func unfilterRow(row, above []byte, filter byte) {
	switch filter {
	case across:
		row[0] += above[0]
		unfilterFirst(row, filter)
	case down:
		for x := range row {
			row[x] += above[x]
		}
	case gradient:
		row[0] += above[0]
		for x := 1; x < len(row); x++ {
			row[x] += byte(min(max(int(row[x-1])+int(above[x])-int(above[x-1]), 0), 255))
		}
	}
}
