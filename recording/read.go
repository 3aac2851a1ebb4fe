package recording

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
)

// Caps in front of the parser. A recording may come from a stranger.
const (
	maxLine  = 4 << 20 // bytes of one line; facts of a large job are some 100 KB
	maxTotal = 4 << 30 // bytes of all lines: about two weeks of a busy run
	maxRatio = 400     // decompressed over compressed bytes of one member; real ones reach 60, zeros 1,029
	minRatio = 1 << 20 // a member may always unpack to this many bytes

	maxMember  = 64 << 20 // bytes of one member unpacked; a Writer holds back 16 MiB and one line at most
	maxDamaged = 1000     // damaged parts after which reading ends: each costs a search
)

var errNotRecording = errors.New(`expected a recording of Stoker, whose first line is {"kind":"header","format":…}`)

// NewerFormatError says that a recording was written by a newer Stoker.
type NewerFormatError struct {
	Format  int
	Version string
}

// Error says what to do about it.
func (e *NewerFormatError) Error() string {
	return fmt.Sprintf("its format is %d (written by stoker %s), this stoker reads up to %d: use stoker %s or newer",
		e.Format, e.Version, Format, e.Version)
}

// Open reads the recording in a file. A file that is still being written, or
// was torn by a kill, gives all that is complete.
func Open(path string) (*Run, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	if info.IsDir() {
		return nil, fmt.Errorf("read recording %s: it is a folder; name the .jsonl.gz file in it", path)
	}
	run, err := Read(file)
	if err != nil {
		return nil, fmt.Errorf("read recording %s: %w", path, err)
	}
	return run, nil
}

// Read reads a recording: JSON Lines, in gzip members or plain.
func Read(in io.Reader) (*Run, error) {
	buffered := bufio.NewReaderSize(in, 1<<16)
	magic, err := buffered.Peek(2)
	if err != nil && len(magic) == 0 {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the file is empty: no second of it was ever written")
		}
		return nil, err
	}
	r := &reader{build: newBuilder()}
	if bytes.Equal(magic, gzipMagic[:2]) {
		err = r.members(buffered)
	} else {
		err = r.plain(buffered)
	}
	if err != nil {
		return nil, err
	}
	if !r.build.header {
		if r.torn {
			return nil, errors.New("the file ends within its first second: nothing in it is complete")
		}
		return nil, errNotRecording
	}
	if r.damaged > 0 {
		r.build.run.Warnings = append(r.build.run.Warnings,
			fmt.Sprintf("%d damaged part(s) of the recording were left out, the first at byte %d", r.damaged, r.damagedAt))
	}
	if r.torn {
		r.build.run.Warnings = append(r.build.run.Warnings,
			"the recording ends in the middle of a second: that second is left out")
	}
	r.build.run.Timeline.relink()
	return r.build.finish(), nil
}

// reader holds what reading has met so far.
type reader struct {
	build     *builder
	lines     int
	total     int64
	torn      bool // the last member or line is incomplete
	damaged   int  // members or lines that could not be read
	damagedAt int64
}

// gzipMagic begins a member as package compress/gzip writes it: ID1, ID2,
// deflate (RFC 1952, 2.3.1).
var gzipMagic = []byte{0x1f, 0x8b, 0x08}

// members reads gzip members one by one. The whole file is held: a recording
// grows by about 100 KB per minute, and only so can reading go on behind a
// damaged member.
func (r *reader) members(in io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(in, maxTotal))
	if err != nil {
		return err
	}
	for at := 0; at < len(data); {
		text, used, err := r.member(data[at:])
		if err == nil {
			if err := r.text(text, int64(at)); err != nil {
				return err
			}
			at += used
			continue
		}
		if errors.Is(err, errBomb) {
			return fmt.Errorf("byte %d: %w", at, err)
		}
		next := bytes.Index(data[at+1:], gzipMagic)
		if next < 0 && errors.Is(err, io.ErrUnexpectedEOF) {
			r.torn = true
			return nil
		}
		r.damage(int64(at))
		if next < 0 || r.damaged >= maxDamaged {
			return nil
		}
		at += 1 + next
	}
	return nil
}

var errBomb = errors.New("a part of the file unpacks to far more than any recording does; it is not read")

// member unpacks the member at the start of data and tells how long it is.
func (r *reader) member(data []byte) (text []byte, used int, err error) {
	source := bytes.NewReader(data)
	zip, err := gzip.NewReader(source)
	if err != nil {
		return nil, 0, err
	}
	zip.Multistream(false)
	var unpacked bytes.Buffer
	for err == nil { // by parts, so that a bomb is noticed long before it has gone off
		_, err = io.CopyN(&unpacked, zip, minRatio/4)
		used = len(data) - source.Len()
		if unpacked.Len() > min(maxMember, max(minRatio, maxRatio*used)) {
			return nil, 0, errBomb
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	text = unpacked.Bytes()
	if r.total += int64(len(text)); r.total > maxTotal {
		return nil, 0, errBomb
	}
	return text, used, nil
}

// text parses the lines of one member.
func (r *reader) text(text []byte, at int64) error {
	for len(text) > 0 {
		row, rest, complete := bytes.Cut(text, []byte{'\n'})
		text = rest
		if err := r.line(row, at, complete); err != nil {
			return err
		}
	}
	return nil
}

// plain reads JSON Lines that are not compressed.
func (r *reader) plain(in *bufio.Reader) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 0, 1<<16), maxLine)
	complete := true // the line ends in a line break; one that does not was torn
	scanner.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		n, token, err := bufio.ScanLines(data, atEOF)
		complete = !atEOF || n < len(data) || bytes.HasSuffix(data, []byte{'\n'})
		return n, token, err
	})
	at := int64(0)
	for scanner.Scan() {
		if err := r.line(scanner.Bytes(), at, complete); err != nil {
			return err
		}
		at += int64(len(scanner.Bytes())) + 1
		if at > maxTotal {
			return errBomb
		}
	}
	if errors.Is(scanner.Err(), bufio.ErrTooLong) && r.lines == 0 {
		return errNotRecording
	}
	if scanner.Err() != nil {
		return fmt.Errorf("line %d: %w", r.lines+1, scanner.Err())
	}
	return nil
}

// line adds one line. The first must be a header; a later one that is no JSON is
// counted as damage and left out.
func (r *reader) line(row []byte, at int64, complete bool) error {
	if len(bytes.TrimSpace(row)) == 0 {
		return nil
	}
	r.lines++
	err := r.build.parse(row)
	var newer *NewerFormatError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &newer):
		return err
	case !r.build.header:
		if r.damaged > 0 { // the damage took the header: what follows has no clock base
			return errors.New("its first part, with the clock base, is damaged: nothing behind it can be placed in time")
		}
		return errNotRecording
	case !complete:
		r.torn = true
	default:
		r.damage(at)
	}
	return nil
}

func (r *reader) damage(at int64) {
	if r.damaged == 0 {
		r.damagedAt = at
	}
	r.damaged++
}
