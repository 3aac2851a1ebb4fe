package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Magic is how every SQLite 3 file begins.
const Magic = "SQLite format 3\x00"

// File is an open database. Its methods must not be called at the same time, two
// Files on one ReaderAt may; a row of a Scan may Lookup another.
type File struct {
	Tables map[string]*Table // real tables by name; views, indices and virtual tables are not among them

	// Promised is the length that the header tells, bytes; where it is more than
	// Size, the file is cut. 0 where the header does not tell.
	Promised, Size int64

	// WAL says that the newest changes may lie in a second file, FILE-wal.
	WAL bool

	r      io.ReaderAt
	page   int // bytes of a page
	usable int // of them, bytes that SQLite uses
	pages  uint32
	window window // of a scan
	single window // of a lookup within a scan
}

// FormatError says why a file is no database that can be read.
type FormatError struct{ Problem string }

func (e *FormatError) Error() string { return e.Problem }

const headerSize = 100

// Open reads the header and the list of tables of a file of size bytes.
func Open(r io.ReaderAt, size int64) (*File, error) {
	var h [headerSize]byte
	if _, err := r.ReadAt(h[:], 0); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, &FormatError{fmt.Sprintf("it ends at byte %d, within the header of %d bytes", size, headerSize)}
		}
		return nil, err
	}
	f := &File{r: r, Size: size, WAL: h[19] == 2}
	if err := f.header(h[:]); err != nil {
		return nil, err
	}
	f.window = window{f: f, buf: make([]byte, max(ahead, f.page))}
	f.single = window{f: f, buf: make([]byte, f.page)}
	if err := f.schema(); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *File) header(h []byte) error {
	if string(h[:len(Magic)]) != Magic {
		return &FormatError{"it does not begin as an SQLite 3 file does"}
	}
	f.page = int(binary.BigEndian.Uint16(h[16:]))
	if f.page == 1 {
		f.page = 65536
	}
	f.usable = f.page - int(h[20])
	switch {
	case f.page < 512 || f.page&(f.page-1) != 0:
		return &FormatError{fmt.Sprintf("its header gives pages of %d bytes, expected a power of two from 512 to 65536", f.page)}
	case f.usable < 480:
		return &FormatError{fmt.Sprintf("its header leaves %d bytes of each page to use, expected at least 480", f.usable)}
	case h[19] > 2:
		return &FormatError{fmt.Sprintf("its format is of version %d, which is newer than is known", h[19])}
	}
	if encoding := binary.BigEndian.Uint32(h[56:]); encoding > 1 {
		return &FormatError{"its text is in UTF-16, expected UTF-8 as Nsight writes it"}
	}
	// The number of pages counts only where the writer kept it up to date.
	if told := binary.BigEndian.Uint32(h[28:]); told > 0 && string(h[24:28]) == string(h[92:96]) {
		f.Promised = int64(told) * int64(f.page)
	}
	f.pages = uint32(min(f.Size/int64(f.page), 1<<32-2))
	if f.pages == 0 {
		return &FormatError{fmt.Sprintf("it ends at byte %d, within its first page of %d bytes", f.Size, f.page)}
	}
	return nil
}

var errPage = errors.New("a page that cannot be right")

// window is the part of the file that is in memory. A table's pages mostly follow
// each other, so that once two did, the next ones are fetched with them.
type window struct {
	f     *File
	buf   []byte
	first uint32 // page at buf[0]
	held  uint32 // pages in buf
	next  uint32 // page behind the last one asked for
}

const ahead = 128 << 10 // bytes that are fetched together

// read returns page n, counted from 1. It is valid until the next read.
func (w *window) read(n uint32) ([]byte, error) {
	if n == 0 || n > w.f.pages {
		return nil, errPage
	}
	size := uint32(w.f.page)
	if n < w.first || n >= w.first+w.held || w.held == 0 {
		want := uint32(1)
		if n == w.next {
			want = min(uint32(len(w.buf))/size, w.f.pages-n+1)
		}
		w.held = 0
		if _, err := w.f.r.ReadAt(w.buf[:want*size], int64(n-1)*int64(size)); err != nil {
			return nil, fmt.Errorf("read page %d: %w", n, err)
		}
		w.first, w.held = n, want
	}
	w.next = n + 1
	at := (n - w.first) * size
	return w.buf[at : at+size : at+size], nil
}
