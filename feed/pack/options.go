package pack

import (
	"crypto/sha256"
	"errors"
	"fmt"
)

// Source is a listed data set: a folder or an archive of feed/source.
type Source interface {
	Len() int
	Classes() []string
	Label(i int) int
	Below(i int) string // the path of sample i below the data set
	Path(i int) string
	Size(i int) (int64, error) // of its file
	Read(i int, buffer []byte) ([]byte, error)
	Digest() [sha256.Size]byte
}

// Form is the packed form of an image. The zero value packs its file unchanged.
type Form struct {
	Resize  int  // longest allowed shorter side; larger pictures are resized to it
	Decoded bool // pixels as of Pillow's convert("RGB"), in PPM files
}

// String describes what a training gets.
func (f Form) String() string {
	text := "original files"
	if f.Decoded {
		text = "pixels, equal to those of the originals"
	}
	if f.Resize > 0 {
		text = fmt.Sprintf("resized to %d on the shorter side: other pixels than the originals'", f.Resize)
		if !f.Decoded {
			text += fmt.Sprintf(", packed again as JPEGs of quality %d", quality)
		}
	}
	return text
}

// Options say how a data set is packed.
type Options struct {
	Form
	Shuffle  *uint64 // seed of the order; nil: in listed order
	Bytes    int64   // of a shard at most, unless its only sample has more
	Samples  int     // of a shard at most; 0: any number
	SkipBad  bool    // skip files that cannot be packed; otherwise they are an error
	Progress func(done, total int)
}

// ErrOther is wrapped in the error for a folder that holds something else.
var ErrOther = errors.New("holds something else")

// ErrBad is wrapped in the error for a file that cannot be packed.
var ErrBad = errors.New("a file cannot be packed")

// ErrOutage is wrapped in the error for a file that may be sound, but that the machine or its
// storage could not provide.
var ErrOutage = errors.New("a file could not be read for lack of something, so that it is not known to be bad")

// ErrFault is wrapped in the error for a file at which one of Stoker's decoders panicked.
var ErrFault = errors.New("a fault in stoker's decoder")

// quality of JPEGs that Go's encoder writes for resized images, with 4:2:0 subsampling.
const quality = 95
