package xplane

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// Limits on what one message may hold. A stat of an event name can carry a whole
// compiled module; nothing that is kept comes near.
const (
	longestMessage = 8 << 20 // bytes of an event, a name or a stat; longer ones are left out
	windowSize     = 64 << 10
)

// errCut says that the data end within a message.
var errCut = errors.New("the file ends within a message")

// wireError says that bytes are not what protobuf allows.
type wireError struct {
	at      int64
	problem string
}

func (e *wireError) Error() string { return fmt.Sprintf("byte %d: %s", e.at, e.problem) }

// protoReader reads protobuf from front to back and knows its position.
type protoReader struct {
	r    *bufio.Reader
	at   int64
	long []byte // a message that is longer than the reader's window
	src  error  // a fault of the source other than its end
}

func newStream(r io.Reader) *protoReader { return &protoReader{r: bufio.NewReaderSize(r, windowSize)} }

// forever is the end of what has none.
const forever = int64(1<<63 - 1)

// field is one field of a message: a number, or the length of what follows.
type field struct {
	number protowire.Number
	kind   protowire.Type
	value  uint64 // of varint and fixed kinds
	length int64  // of bytes: how many follow
	start  int64  // where the field begins
}

// nextField reads the next field's tag, and its value if that has a fixed place. It
// returns io.EOF at end. A nested message must end within its parent.
func (s *protoReader) nextField(end int64) (field, error) {
	f := field{start: s.at}
	if s.at >= end {
		return f, io.EOF
	}
	tag, err := s.readVarint()
	if err != nil {
		if errors.Is(err, errCut) && s.at == f.start && end == forever && s.src == nil {
			return f, io.EOF
		}
		return f, err
	}
	number := tag >> 3
	f.kind = protowire.Type(tag & 7)
	if number == 0 || number > uint64(protowire.MaxValidNumber) {
		return f, &wireError{f.start, fmt.Sprintf("found a field with the impossible number %d", number)}
	}
	f.number = protowire.Number(number)
	switch f.kind {
	case protowire.VarintType:
		f.value, err = s.readVarint()
	case protowire.Fixed32Type:
		f.value, err = s.readFixed(4)
	case protowire.Fixed64Type:
		f.value, err = s.readFixed(8)
	case protowire.BytesType:
		var n uint64
		if n, err = s.readVarint(); err == nil && n > uint64(end-s.at) {
			err = &wireError{f.start, fmt.Sprintf("found a message of %d bytes, and at most %d are left", n, end-s.at)}
		}
		f.length = int64(n)
	case protowire.StartGroupType, protowire.EndGroupType:
		err = &wireError{f.start, "found a group, which this format does not use"}
	default:
		err = &wireError{f.start, fmt.Sprintf("found a field of the unknown kind %d", f.kind)}
	}
	if err == nil && s.at > end {
		err = &wireError{f.start, "a field is longer than the message that it lies in"}
	}
	return f, err
}

func (s *protoReader) readVarint() (uint64, error) {
	b, err := s.r.Peek(10)
	v, n := protowire.ConsumeVarint(b)
	if n > 0 {
		return v, s.advance(n)
	}
	if len(b) < 10 {
		return 0, s.endError(err)
	}
	return 0, &wireError{s.at, "found a number of more than 64 bits"}
}

func (s *protoReader) readFixed(n int) (uint64, error) {
	b, err := s.r.Peek(n)
	if len(b) < n {
		return 0, s.endError(err)
	}
	v := uint64(0)
	for i := n - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v, s.advance(n)
}

func (s *protoReader) advance(n int) error {
	k, err := s.r.Discard(n)
	s.at += int64(k)
	if err != nil {
		return s.endError(err)
	}
	return nil
}

// endError keeps apart the end of the file and a fault of the disk or the packing.
func (s *protoReader) endError(err error) error {
	if err != nil && !errors.Is(err, io.EOF) {
		s.src = err
	}
	return errCut
}

// skipBytes passes over n bytes.
func (s *protoReader) skipBytes(n int64) error {
	for n > 0 {
		k := int(min(n, 1<<30))
		if err := s.advance(k); err != nil {
			return err
		}
		n -= int64(k)
	}
	return nil
}

// readMessage reads n bytes, which hold until the next call; nil if they are more
// than any that is kept.
func (s *protoReader) readMessage(n int64) ([]byte, error) {
	switch {
	case n > longestMessage:
		return nil, s.skipBytes(n)
	case n <= windowSize:
		b, err := s.r.Peek(int(n))
		if int64(len(b)) < n {
			return nil, s.endError(err)
		}
		return b, s.advance(int(n)) // Discard leaves the window's bytes if they are
	}
	if int64(cap(s.long)) < n {
		s.long = make([]byte, n)
	}
	k, err := io.ReadFull(s.r, s.long[:n])
	s.at += int64(k)
	if err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.EOF
		}
		return nil, s.endError(err)
	}
	return s.long[:n], nil
}

// eachField calls found for every field of a message in memory, as far as it is whole,
// and reports whether all of it was.
func eachField(b []byte, found func(number protowire.Number, value uint64, bytes []byte)) bool {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return false
		}
		b = b[n:]
		var value uint64
		var bytes []byte
		switch kind {
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			value, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			bytes, n = protowire.ConsumeBytes(b)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(b)
			value = uint64(v)
		case protowire.StartGroupType, protowire.EndGroupType:
			return false
		default:
			return false
		}
		if n < 0 {
			return false
		}
		found(number, value, bytes)
		b = b[n:]
	}
	return true
}
