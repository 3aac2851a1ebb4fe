// Package source lists a data set and reads the bytes of its samples. It does not decode, and
// knows only the data set's own order. Package feed passes the bytes to feed/decode.
//
// A data set is one of these: a folder with one subfolder per class, listed exactly as
// torchvision's ImageFolder lists it (List); a tar file of such a folder (ListTar); a folder of
// shards that stoker pack made from one; paths and labels from a client (Parse); or objects of
// an S3-compatible store below s3://BUCKET/PREFIX, with the layout of such a folder.
package source

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
)

// images are the extensions that torchvision's ImageFolder takes for images.
var images = []string{".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"}

// Folder is a listed data set. It is safe for concurrent use.
//
// All names are one text, without a string per sample: 1.3 million samples in 1,000 folders
// take some 26 MB.
type Folder struct {
	root    string
	open    *os.File // the root, kept open: samples are opened relative to it
	conn    syscall.RawConn
	classes []string // of a listed folder; a client has its own
	given   bool     // by a client: the labels do not follow from the folders' names
	runs    []nameRun
	names   []byte   // all names, one after the other
	ends    []uint32 // where each name ends in names
	maxFile int64
	notes   []string
	ctx     context.Context // ends with Close, and with it the wait for an outage
	stop    context.CancelFunc
	bucket  *bucket // if the samples are in a store; open is then the cache's folder
	pack    *pack   // if the samples are in the shards of a pack
}

// nameRun is consecutive samples in one folder with one label.
type nameRun struct {
	path  string // from the root, or from "/", with a slash at its end; "" is the root itself
	label int
	first int // the index of its first sample
}

// Len returns the number of samples.
func (f *Folder) Len() int { return len(f.ends) }

// Classes returns the names of the classes of a listed folder. A label is a position in this
// list.
func (f *Folder) Classes() []string { return f.classes }

// Notes returns sentences about what was left out, as ImageFolder leaves it out.
func (f *Folder) Notes() []string { return f.notes }

// Label returns the class of sample i.
func (f *Folder) Label(i int) int { return f.runOf(i).label }

// Path returns the path of sample i's file, as in ImageFolder.samples. In a pack, it is the
// shard's path and the path inside.
func (f *Folder) Path(i int) string {
	if f.pack != nil {
		return joinPath(f.root, joinPath(f.pack.shards[f.pack.places[i].shard].name, f.Below(i)))
	}
	return joinPath(f.root, f.Below(i))
}

// Close closes the root. Reads after it fail.
func (f *Folder) Close() error {
	f.stop()
	return f.open.Close()
}

// Below returns the path of sample i relative to the root, or from "/".
func (f *Folder) Below(i int) string {
	return f.runOf(i).path + string(f.names[f.nameBegin(i):f.ends[i]])
}

// runOf finds the run of sample i.
func (f *Folder) runOf(i int) *nameRun {
	k, found := slices.BinarySearchFunc(f.runs, i, func(r nameRun, i int) int { return cmp.Compare(r.first, i) })
	if !found {
		k--
	}
	return &f.runs[k]
}

// nameBegin returns where the name of sample i begins in names. i may be one past the last.
func (f *Folder) nameBegin(i int) uint32 {
	if i == 0 {
		return 0
	}
	return f.ends[i-1]
}

// addFolder appends the names of a folder; ends are the offsets in names at which each ends.
func (f *Folder) addFolder(names []byte, ends []int) error {
	base := len(f.names)
	if base+len(names) > math.MaxUint32 {
		return errors.New("the names of its files are more than 4 GiB")
	}
	f.names = append(f.names, names...)
	for _, end := range ends {
		f.ends = append(f.ends, uint32(base+end))
	}
	return nil
}

// Digest returns a digest of the listing: names in their order, and classes or labels. The same
// folder has the same digest on every machine, for any path of its root. Sizes are left
// out, because they would need a stat per file.
func (f *Folder) Digest() [sha256.Size]byte {
	hash := sha256.New()
	count := func(n int) { hash.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) }
	text := func(s string) { count(len(s)); hash.Write([]byte(s)) }
	if f.given {
		hash.Write([]byte("stoker list 1\n"))
	} else {
		hash.Write([]byte("stoker manifest 1\n"))
		count(len(f.classes))
	}
	for _, class := range f.classes {
		text(class)
	}
	for i, r := range f.runs {
		end := f.Len()
		if i+1 < len(f.runs) {
			end = f.runs[i+1].first
		}
		text(r.path)
		if f.given {
			count(r.label)
		}
		count(end - r.first)
		base := f.nameBegin(r.first)
		for _, e := range f.ends[r.first:end] {
			hash.Write(binary.LittleEndian.AppendUint32(nil, e-base))
		}
		hash.Write(f.names[base:f.nameBegin(end)])
	}
	if f.pack != nil && f.pack.other != "" {
		text(f.pack.other)
	}
	return [sha256.Size]byte(hash.Sum(nil))
}

// joinPath is Python's os.path.join.
func joinPath(folder, below string) string {
	switch {
	case strings.HasPrefix(below, "/"):
		return below
	case strings.HasSuffix(folder, "/"):
		return folder + below
	}
	return folder + "/" + below
}
