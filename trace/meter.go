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

// countingReader counts what is read through it.
type countingReader struct {
	io.Reader
	m   *meter
	err error // a fault of the disk, not of what is on it
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.m.done += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	if c.m.report != nil && n > 0 {
		c.m.report(c.m.done, max(c.m.total, c.m.done))
	}
	return n, err
}
