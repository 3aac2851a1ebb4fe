package recording

import (
	"bytes"
	"io"
)

// input is a file that is read forwards, once, and of which the bytes since a mark
// are held, so that reading can go on right behind a place that turned out to be
// damaged. A pipe will do.
type input struct {
	from io.Reader
	held []byte // since the mark
	next int    // index into held
	base int64  // where held begins in the file
	free bool   // nobody will go back to the mark: what was read is let go
	err  error  // of from, once held is used up
}

// chunk is how much is asked of a file at a time.
const chunk = 1 << 16

// offset is where the next byte lies in the file.
func (in *input) offset() int64 { return in.base + int64(in.next) }

// mark says that nothing before the next byte is needed again.
func (in *input) mark() {
	in.base += int64(in.next)
	in.held, in.next, in.free = in.held[in.next:], 0, false
}

// release gives up going back to the mark.
func (in *input) release() { in.free = true }

// goBack goes to the mark, unless that was given up or some bytes stand behind it.
func (in *input) goBack(unless []byte) bool {
	if in.free || bytes.Contains(in.held[min(1, len(in.held)):], unless) {
		return false
	}
	in.next = 0
	return true
}

// fillBuffer reads on; false at the end.
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

// failed is the error with which reading ended; nil where that was the file's end.
func (in *input) failed() error {
	if in.err == io.EOF { //nolint:errorlint // the reader's own word, nothing wrapped
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

// ReadByte is what package flate asks for, so that it takes no byte too many.
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

// seekBytes goes to the first place behind the mark at which some bytes stand; false
// where there is none.
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
