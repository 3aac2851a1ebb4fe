package decode

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/feed/decode/planes"
)

// pillowSaid is testdata/pillow.json: see testdata/make.py.
type pillowSaid struct {
	Cases map[string]*pillowCase
	Cuts  map[string]map[string]bool // file → length that it is cut to → accepted
}

type pillowCase struct {
	Size  [2]int
	RGB   string
	Error string
}

// readPillow returns what Pillow said on this architecture.
func readPillow(t testing.TB) (said pillowSaid) {
	readJSON(t, "testdata/pillow.json", &said)
	if runtime.GOARCH == "arm64" {
		var differing map[string]string
		readJSON(t, "testdata/pillow-arm64.json", &differing)
		for name, rgb := range differing {
			said.Cases[name].RGB = rgb
		}
	}
	return said
}

func readJSON(t testing.TB, path string, into any) {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// decodeRGB decodes a whole image to the bytes of Pillow's convert("RGB").
func decodeRGB(d *Decoder, data []byte) ([]byte, Info, error) {
	info, err := d.ReadHeader(data)
	if err != nil {
		return nil, info, err
	}
	all := image.Rect(0, 0, info.Width, info.Height)
	p, err := d.Decode(all)
	if err != nil {
		return nil, info, err
	}
	var rows planes.RowReader
	_, width, err := rows.Begin(p, all)
	if err != nil {
		return nil, info, err
	}
	channels := rows.Channels()
	out := make([]byte, 0, 3*info.Width*info.Height)
	line := make([]byte, channels*(width+64))
	for y := range info.Height {
		rows.Read(y, line, width+64)
		for x := range info.Width {
			for c := range 3 {
				out = append(out, line[min(c, channels-1)*(width+64)+x])
			}
		}
	}
	return out, d.info, nil
}

// digest is the beginning of the SHA-256.
func digest(pixels []byte) string {
	sum := sha256.Sum256(pixels)
	return hex.EncodeToString(sum[:8])
}

// TestPillow compares with Pillow: both must accept or both refuse every file in testdata,
// except for the differences listed with reasons. If nothing is flagged the pixels must be the
// same bytes, with and without assembly.
func TestPillow(t *testing.T) {
	defer usePlain(false)
	for _, plain := range []bool{false, true} {
		usePlain(plain)
		d := New(Limits{})
		good, inexact := 0, 0
		for name, pillow := range readPillow(t).Cases {
			data, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			pixels, info, err := decodeRGB(d, data)
			if reason := stricter[name]; reason != "" {
				if err == nil || pillow.Error != "" {
					t.Errorf("%s is listed as refused here and accepted by Pillow (%s), but: here %v, Pillow %q", name, reason, err, pillow.Error)
				}
				continue
			}
			if strings.HasPrefix(name, "good/") {
				if good++; err != nil || info.Inexact != "" {
					t.Errorf("%s is a usual image, but: %v, %q", name, err, info.Inexact)
				}
			}
			switch {
			case err == nil && pillow.Error != "":
				t.Errorf("%s is accepted; Pillow says %s", name, pillow.Error)
			case err != nil && pillow.Error == "":
				t.Errorf("%s is refused (%v); Pillow accepts it", name, err)
			case err != nil:
				var bad *SampleError
				if !errors.As(err, &bad) || remedies[bad.Kind] == "" || !strings.HasSuffix(bad.Text, remedies[bad.Kind]) {
					t.Errorf("%s: %v has no kind, or does not say what to do", name, err)
				}
			case [2]int{info.Width, info.Height} != pillow.Size:
				t.Errorf("%s is %d x %d; Pillow says %v", name, info.Width, info.Height, pillow.Size)
			case info.Inexact != "":
				inexact++
				t.Logf("%s: %s; same bytes: %t", name, info.Inexact, digest(pixels) == pillow.RGB)
			case digest(pixels) != pillow.RGB:
				t.Errorf("%s has other pixels than Pillow's, and says nothing (plain Go: %t)", name, plain)
			}
		}
		if t.Logf("%d flagged inexact", inexact); good < 80 {
			t.Errorf("only %d usual images: run testdata/make.py", good)
		}
	}
}

// stricter are the files that Pillow accepts and that are refused here.
var stricter = map[string]string{
	"bad/sof9.jpg":      "arithmetic coding is not read",
	"bad/adobe-rgb.jpg": "RGB with subsampling is not read",
	"bad/ids-rgb.jpg":   "RGB with subsampling is not read",

	"bad/sof-sampling-1x1-2x2.jpg":     "luma with fewer samples than chroma is not read",
	"bad/sof-sampling-2x2-1x1-2x1.jpg": "Cb with other samples than Cr is not read",

	"other/tiff.tiff": "TIFF is not read",
}

// TestPillowCuts cuts files at each 64th of their length and at their last bytes.
func TestPillowCuts(t *testing.T) {
	d := New(Limits{})
	n := 0
	for name, cuts := range readPillow(t).Cuts {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		for length, accepted := range cuts {
			size, _ := strconv.Atoi(length)
			_, _, err := decodeRGB(d, data[:size])
			var bad *SampleError
			errors.As(err, &bad)
			switch {
			case (err == nil) != accepted:
				t.Errorf("%s cut to %d of %d bytes: %v; Pillow accepts: %t", name, size, len(data), err, accepted)
			case size > 2 && bad != nil && bad.Kind != Truncated:
				t.Errorf("%s cut to %d of %d bytes is %q, not truncated", name, size, len(data), bad.Kind)
			}
			n++
		}
	}
	t.Logf("%d cuts", n)
}

// TestKinds checks the kind of error for files of each sort.
func TestKinds(t *testing.T) {
	d := New(Limits{})
	for name, kind := range map[string]Kind{
		"bad/empty.jpg": Empty, "bad/text.jpg": WrongType, "bad/soi-only.jpg": WrongType,
		"bad/no-eoi.jpg": Truncated, "bad/progressive-no-eoi.jpg": Truncated, "bad/exif-longer-than-file.jpg": Truncated,
		"bad/dht-too-many-codes.jpg": Damaged, "bad/dht-all-ones.jpg": Damaged, "bad/progressive-no-dht.jpg": Damaged,
		"bad/no-dqt.jpg": Damaged, "bad/no-sof.jpg": Damaged, "bad/second-scan.jpg": Damaged, "bad/sof-height-0.jpg": Damaged,
		"bad/sof-size-65535.jpg": TooLarge, "bad/sof-12-bit.jpg": Unsupported, "bad/sof9.jpg": Unsupported, "bad/sof3.jpg": Unsupported,
		"bad/sof-2-components.jpg": Damaged, "bad/sof-5-components.jpg": Damaged,
		"bad/sof-sampling-3x1-2x1.jpg": Unsupported, "bad/sof-sampling-1x1-2x2.jpg": Unsupported, "bad/sof-sampling-2x2-1x1-2x1.jpg": Unsupported,
		"other/png-bomb.png":  TooLarge,
		"other/png-13000.png": Truncated, "other/png-cut.png": Truncated,
		"other/png-bad-data.png": Damaged, "other/tiff.tiff": Unsupported,
	} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = decodeRGB(d, data)
		var bad *SampleError
		if !errors.As(err, &bad) || bad.Kind != kind {
			t.Errorf("%s: %v; want %q", name, err, kind)
			continue
		}
		if testing.Verbose() {
			fmt.Printf("%-32s %v\n", name, err)
		}
	}
}
