package decode

import (
	"errors"
	"image"
	"strings"
	"testing"
)

// TestPixmaps reads files written by stoker pack. A false header must not cause allocation or
// reading beyond the file.
func TestPixmaps(t *testing.T) {
	for header, kind := range map[string]Kind{
		"P6\n2 1\n255\n":                             "",
		"P6\n2 2\n255\n":                             Truncated,
		"P6\n0 1\n255\n":                             Unsupported,
		"P6\n-2 -1\n255\n":                           Unsupported,
		"P6\n4294967296 4294967296\n255\n":           Unsupported,
		"P6\n9223372036854775807 2\n255\n":           Unsupported,
		"P6\n16777216 16777216\n255\n":               TooLarge,
		"P6\n2 1\n65535\n":                           Unsupported,
		"P6\n2 1 3\n255\n":                           Unsupported,
		"P6\n2\n1\n255\n":                            Unsupported,
		"P6\n" + strings.Repeat("1", 80) + "\n255\n": Unsupported,
	} {
		d := New(Limits{})
		info, err := d.ReadHeader([]byte(header + "rgbRGB"))
		if err == nil {
			_, err = d.Decode(image.Rect(0, 0, info.Width, info.Height))
		}
		var bad *SampleError
		switch {
		case kind == "" && err == nil && info.Width == 2 && info.Height == 1:
		case errors.As(err, &bad) && bad.Kind == kind:
		default:
			t.Errorf("%q: %v, %+v; want %q", header, err, info, kind)
		}
	}
}
