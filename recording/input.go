package recording

import (
	"bytes"
	"io"
)

// input reads a file forwards, once. It holds the bytes since a mark, so that reading can
// resume after a place that turned out to be damaged. It works with pipes.
type input struct {
	from io.Reader
	held []byte // since the mark
	next int    // index into held
	base int64  // offset of held in the file
	free bool   // the mark is given up: bytes that were read are dropped
	err  error  // error of from, reported once held is used up
}

// chunk is how many bytes are read at a time.
const chunk = 1 << 16

// offset returns the file offset of the next byte.
func (in *input) offset() int64 { return in.base + int64(in.next) }

// mark drops the bytes before the next one.
func (in *input) mark() {
	in.base += int64(in.next)
	in.held, in.next, in.free = in.held[in.next:], 0, false
}

// release gives up the mark.
func (in *input) release() { in.free = true }

// goBack returns to the mark. It returns false if the mark was given up or the held bytes
// contain unless.
func (in *input) goBack(unless []byte) bool {
	if in.free || bytes.Contains(in.held[min(1, len(in.held)):], unless) {
		return false
	}
	in.next = 0
	return true
}

// fillBuffer reads more bytes. It returns false at the end.
func (in *input) fillBuffer() bool {
	if in.err != nil {
		return false
	}
	if in.free {
		in.base += int64(in.next)
		in.held, in.next = in.held[in.next:], 0
	}
	if cap(in.held)-len(in.held) < chunk {
		in.held = append(make([]byte, 0, 2*len(in.held)+2*chunk), in.held...)
	}
	n, err := io.ReadAtLeast(in.from, in.held[len(in.held):len(in.held)+chunk], 1)
	in.held, in.err = in.held[:len(in.held)+n], err
	return n > 0
}

// failed returns the error that ended reading, or nil at the end of the file.
func (in *input) readError() error {
	if in.err == io.EOF { //nolint:errorlint // the reader returns it unwrapped
		return nil
	}
	return in.err
}

// peek returns the next bytes, fewer at the end of the file.
func (in *input) peek(n int) ([]byte, error) {
	for len(in.held)-in.next < n {
		if !in.fillBuffer() {
			return in.held[in.next:], in.err
		}
	}
	return in.held[in.next : in.next+n], nil
}

// ReadByte implements io.ByteReader, so that package flate does not read too far.
func (in *input) ReadByte() (byte, error) {
	if in.next == len(in.held) && !in.fillBuffer() {
		return 0, in.err
	}
	b := in.held[in.next]
	in.next++
	return b, nil
}

// Read implements io.Reader.
func (in *input) Read(p []byte) (int, error) {
	if in.next == len(in.held) && !in.fillBuffer() {
		return 0, in.err
	}
	n := copy(p, in.held[in.next:])
	in.next += n
	return n, nil
}

// seekBytes moves to the first occurrence of what after the mark. It returns false if there is
// none.
func (in *input) seekBytes(what []byte) bool {
	in.next = min(1, len(in.held))
	for {
		if i := bytes.Index(in.held[in.next:], what); i >= 0 {
			in.next += i
			return true
		}
		in.next = max(in.next, len(in.held)-len(what)+1)
		in.mark()
		if !in.fillBuffer() {
			return false
		}
	}
}
