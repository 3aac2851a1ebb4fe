package trace

import (
	"errors"
	"io"
)

// meter counts what was read of all files.
type meter struct {
	done, total int64
	report      func(done, total int64)
}

// countingReader counts the bytes that are read through it.
type countingReader struct {
	io.Reader
	m   *meter
	err error // a fault of the disk, not of the file
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.m.done += int64(n)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) { // of an archive that is cut
		c.err = err
	}
	c.m.tell(n > 0)
	return n, err
}

// advance counts bytes that were read otherwise.
func (m *meter) advance(n int64) {
	m.done += n
	m.tell(n > 0)
}

func (m *meter) tell(more bool) {
	if m.report != nil && more {
		m.report(m.done, max(m.total, m.done))
	}
}
