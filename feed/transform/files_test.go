package transform

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-dev/stoker/feed/decode"
)

// TestPixelsFromFiles compares everything from the file to the tensor with what
// bench/loader/pixels.py has had Pillow and torchvision do. That script starts it.
func TestPixelsFromFiles(t *testing.T) {
	folder := os.Getenv("STOKER_PIXELS")
	if folder == "" {
		t.Skip("bench/loader/pixels.py makes the files and runs this")
	}
	var cases []fileCase
	data, err := os.ReadFile(filepath.Join(folder, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	bothWays(t, func(t *testing.T, w *Worker) {
		total, bytes, bad := 0, 0, 0
		d := decode.New(decode.Limits{})
		for _, c := range cases {
			got := c.pixels(t, w, d, folder)
			total++
			bytes += len(got)
			if sum := sha256.Sum256(got); hex.EncodeToString(sum[:]) != c.SHA256 {
				if bad++; bad < 20 {
					t.Errorf("%s, %v: pixels differ", c.File, c.Steps)
				}
			}
		}
		t.Logf("%d pairs, %d bytes: %d pairs differ", total, bytes, bad)
	})
}

type fileCase struct {
	File   string
	Steps  [][]any
	Size   [2]int
	SHA256 string
}

func (c *fileCase) pixels(t *testing.T, w *Worker, d *decode.Decoder, folder string) []byte {
	data, err := os.ReadFile(filepath.Join(folder, c.File))
	if err != nil {
		t.Fatal(err)
	}
	info, err := d.ReadHeader(data)
	if err != nil {
		t.Errorf("%s: %v", c.File, err)
		return nil
	}
	choice := chosen(t, c.Steps, info.Width, info.Height)
	p := &Program{form: form{width: c.Size[0], height: c.Size[1], bytes: 1}}
	picture, err := d.Decode(p.SourceArea(choice))
	if err != nil {
		t.Errorf("%s: %v", c.File, err)
		return nil
	}
	dst := make([]byte, p.Bytes())
	if err := w.Apply(p, choice, picture, dst); err != nil {
		t.Errorf("%s, %v: %v", c.File, c.Steps, err)
	}
	return dst
}
