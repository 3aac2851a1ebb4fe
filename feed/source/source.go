// Package source lists a data set and reads its samples' bytes. It decodes
// nothing and knows no order but the data set's own; feed puts it in front of
// feed/decode.
//
// A data set is a folder with one subfolder per class, as torchvision's
// ImageFolder reads it: the list here equals ImageFolder.samples, name by name.
package source

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"os"
	"slices"
	"strings"
	"syscall"
)

// Images are the extensions that torchvision's ImageFolder takes for images.
var Images = []string{".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"}

// Folder is a listed data set. It is safe for use by several threads.
//
// 1.3 million samples are some 26 MB: per folder one text of all names, no
// string per sample.
type Folder struct {
	root    string
	open    *os.File // the root, kept open: samples are opened relative to it
	conn    syscall.RawConn
	classes []string
	folders []folder // in ImageFolder's order, those with files only
	samples int
	maxFile int64
	notes   []string
}

// folder holds the files of one folder of a class.
type folder struct {
	path  string // below the root, with a slash at its end
	class int
	first int      // the index of its first sample
	names []byte   // all names, one after the other
	ends  []uint32 // where each name ends in names
}

// Len is the number of samples.
func (f *Folder) Len() int { return f.samples }

// Classes are the names of the classes; a label is a position in it.
func (f *Folder) Classes() []string { return f.classes }

// Notes are sentences about what was left out, as ImageFolder leaves it out.
func (f *Folder) Notes() []string { return f.notes }

// Label is the class of sample i.
func (f *Folder) Label(i int) int { return f.of(i).class }

// Path is the file of sample i, as ImageFolder.samples has it.
func (f *Folder) Path(i int) string { return join(f.root, f.below(i)) }

// Close gives the root back. Reads after it fail.
func (f *Folder) Close() error { return f.open.Close() }

// below is the path of sample i from the root.
func (f *Folder) below(i int) string {
	in := f.of(i)
	return in.path + in.name(i-in.first)
}

// of finds the folder of sample i.
func (f *Folder) of(i int) *folder {
	k, found := slices.BinarySearchFunc(f.folders, i, func(in folder, i int) int { return cmp.Compare(in.first, i) })
	if !found {
		k--
	}
	return &f.folders[k]
}

func (in *folder) name(k int) string {
	from := uint32(0)
	if k > 0 {
		from = in.ends[k-1]
	}
	return string(in.names[from:in.ends[k]])
}

// Digest stands for what is listed: classes, and the names in their order. The
// same folder has the same digest on every machine, whatever its root's path.
// Sizes are not in it: they would cost a stat per file.
func (f *Folder) Digest() [sha256.Size]byte {
	hash := sha256.New()
	hash.Write([]byte("stoker manifest 1\n"))
	count := func(n int) { hash.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) }
	text := func(s string) { count(len(s)); hash.Write([]byte(s)) }
	count(len(f.classes))
	for _, class := range f.classes {
		text(class)
	}
	for i := range f.folders {
		in := &f.folders[i]
		text(in.path)
		count(len(in.ends))
		for _, end := range in.ends {
			hash.Write(binary.LittleEndian.AppendUint32(nil, end))
		}
		hash.Write(in.names)
	}
	return [sha256.Size]byte(hash.Sum(nil))
}

// join is Python's os.path.join of a folder and a relative path.
func join(folder, below string) string {
	if strings.HasSuffix(folder, "/") {
		return folder + below
	}
	return folder + "/" + below
}
