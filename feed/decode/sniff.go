package decode

import (
	"bytes"
	"fmt"
)

// sniffFormat returns the format by content, as Pillow does: a PNG named .JPEG is a PNG. ""
// means that the format is not supported.
func sniffFormat(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "jpeg"
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "png"
	case bytes.HasPrefix(data, []byte("P6\n")):
		return "ppm"
	}
	return ""
}

// known lists formats that Pillow reads and Stoker does not. Naming them says more than "wrong
// type".
var known = []struct {
	name, prefix string
	at           int
}{
	{"WebP", "WEBP", 8},
	{"GIF", "GIF8", 0},
	{"BMP", "BM", 0},
	{"TIFF", "II*\x00", 0},
	{"TIFF", "MM\x00*", 0},
	{"AVIF or HEIF", "ftyp", 4},
	{"JPEG 2000", "\x00\x00\x00\x0cjP  ", 0},
	{"JPEG 2000", "\xff\x4f\xff\x51", 0},
	{"portable pixmap (with comments or in one line)", "P6", 0},
	{"portable greymap", "P5", 0},
	{"Windows icon", "\x00\x00\x01\x00", 0},
}

// unread returns the error for data that sniffFormat does not recognise.
func unread(data []byte) *SampleError {
	const reads = "JPEG and PNG are read"
	if len(data) == 0 {
		return &SampleError{Empty, -1, "the file has 0 bytes"}
	}
	for _, k := range known {
		if len(data) >= k.at && bytes.HasPrefix(data[k.at:], []byte(k.prefix)) {
			return &SampleError{Unsupported, 0, "an image of type " + k.name + ", " + reads}
		}
	}
	return &SampleError{
		WrongType, 0,
		fmt.Sprintf("the file begins with % x, which is no image: %s", data[:min(len(data), 8)], reads),
	}
}
