package picture

// toHSV and fromHSV are Pillow's, after Python's colorsys, in its mixture of single and
// double precision.
func toHSV(w *Worker) error {
	eachPixel(w, hsv)
	return nil
}

func fromHSV(w *Worker) error {
	eachPixel(w, rgb)
	return nil
}

func eachPixel(w *Worker, do func(a, b, c uint8) (uint8, uint8, uint8)) {
	p := w.picture.planes
	a, b, c := p[0], p[1][:len(p[0])], p[2][:len(p[0])]
	for i := range a {
		a[i], b[i], c[i] = do(a[i], b[i], c[i])
	}
}

func hsv(r, g, b uint8) (h, s, v uint8) {
	most, least := max(r, g, b), min(r, g, b)
	if most == least {
		return 0, 0, most
	}
	span := float32(most - least)
	saturation := span / float32(most)
	rc, gc, bc := float32(most-r)/span, float32(most-g)/span, float32(most-b)/span
	var hue float32
	switch most {
	case r:
		hue = bc - gc
	case g:
		hue = float32(2 + float64(rc) - float64(bc))
	default:
		hue = float32(4 + float64(gc) - float64(rc))
	}
	turn := float64(hue)/6 + 1 // 5/6 to 11/6, of which the whole part is dropped
	if turn >= 1 {
		turn--
	}
	return uint8(float64(float32(turn)) * 255), uint8(float64(saturation) * 255), most
}

func rgb(h, s, v uint8) (r, g, b uint8) {
	if s == 0 {
		return v, v, v
	}
	turn := float64(h) * 6 / 255
	sector := int(turn)
	f := float32(turn - float64(sector))
	fs := float32(float64(s) / 255)
	p := rounded(float64(v) * (1 - float64(fs)))
	q := rounded(float64(v) * (1 - float64(float32(fs*f))))
	t := rounded(float64(v) * (1 - float64(float64(fs)*(1-float64(f)))))
	switch sector {
	case 1:
		return q, v, p
	case 2:
		return p, v, t
	case 3:
		return p, q, v
	case 4:
		return t, p, v
	case 5:
		return v, p, q
	}
	return v, t, p // also of sector 6, which is sector 0 again
}

// rounded is v, which is from 0 to 255, with halves rounded up.
func rounded(v float64) uint8 {
	whole := uint8(v)
	if v-float64(whole) >= 0.5 {
		whole++
	}
	return whole
}

// compileHue is torchvision's adjust_hue, of which NumPy has made a byte that is added.
func compileHue(c *compiler, a *arguments) {
	by := uint8(a.whole(0, 0, 255))
	switch {
	case c.mode == "L" || c.mode == "1":
		return
	case c.mode != "RGB" && c.mode != "RGBA" && c.mode != "LA":
		a.refuse("mode %q", c.mode)
		return
	}
	there, back := conversions[[2]string{c.mode, "HSV"}], conversions[[2]string{"HSV", c.mode}]
	c.add(inTurn(there, func(w *Worker) error {
		hues := w.picture.planes[0]
		for i := range hues {
			hues[i] += by
		}
		return nil
	}, back))
}
