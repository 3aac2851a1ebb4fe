package recording

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/stoker-dev/stoker/internal/readable"
	"github.com/stoker-dev/stoker/quantity"
)

// Limits that are checked before parsing. A recording may come from a stranger.
const (
	maxLine  = 4 << 20 // bytes of one line; facts of a large job are some 100 KB
	maxRatio = 400     // decompressed over compressed bytes of a member; real ones reach 60, zeros 1,029
	minRatio = 1 << 20 // a member may always decompress to this many bytes

	maxDamaged = 1000 // number of damaged parts after which reading ends, as each costs a search
)

// limits are what a reader keeps, and how far it reads.
type limits struct {
	lines  int64 // bytes of lines, after which reading ends
	kept   int64 // bytes that samples and steps may take in memory; beyond that they are thinned
	events int64 // bytes of lines of a Timeline, which cannot be shortened
	// bytes of a member that are decompressed before its first line is parsed; a Writer's
	// members are smaller
	member int
}

// usual are the limits of Open and Read. A Writer keeps half as much, so that a reader can
// judge everything it wrote; the process takes two to three times as much. A job with 8 loader
// workers writes 23 KB of lines a second, one with 32 workers 61 KB, and after some hours it is
// thinned: no recording of Stoker's reaches the limit of lines.
var usual = limits{lines: 64 << 30, kept: 24 << 20, events: 4 << 30, member: 8 << 20}

// Open reads the recording in a file. If the file is still being written, or was torn by a
// kill, it returns all complete seconds.
func Open(path string) (*Run, error) {
	file, err := readable.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	if info.IsDir() {
		return nil, fmt.Errorf("read recording %s: it is a folder: name the .jsonl.gz file in it", path)
	}
	run, err := Read(file)
	if err != nil {
		return nil, fmt.Errorf("read recording %s: %w", path, err)
	}
	return run, nil
}

// Read reads a recording: JSON Lines, in gzip members or plain. It holds one second of the file
// at a time, and no more of the run than the limits allow. If that is not all, it keeps the
// newest part, which a verdict is about, and Run.Warnings says so.
func Read(in io.Reader) (*Run, error) { return readLimited(in, usual) }

func readLimited(in io.Reader, most limits) (*Run, error) { return newReader(in, most).readRun() }

func newReader(in io.Reader, most limits) *reader {
	r := &reader{in: &input{from: in}, limits: most, build: newBuilder()}
	r.full = func() { r.build.fitInto(most.kept) }
	return r
}

// readRun reads the available data, and returns all that was read so far.
func (r *reader) readRun() (*Run, error) {
	if err := r.readFile(); err != nil {
		return nil, err
	}
	r.build.run.Timeline.relink()
	run := r.build.finish()
	if r.torn {
		run.Cut = fmt.Sprintf("the recording is cut at byte %d, %s after it began, within a second that is left out: what "+
			"came later is not in the file", r.tornAt, quantity.AboutSeconds(run.End()))
	}
	run.Warnings = append(run.Warnings, r.warnings(run)...)
	return run, nil
}

// readFile reads the whole file.
func (r *reader) readFile() error {
	magic, err := r.in.peek(len(gzipMagic))
	if len(magic) == 0 && errors.Is(err, io.EOF) && !r.build.header {
		return fmt.Errorf("the file is empty: %w of it was ever written", ErrNoSecond)
	}
	if r.packed = r.packed || bytes.HasPrefix(magic, gzipMagic[:2]); r.packed {
		err = r.readMembers()
	} else {
		err = r.readPlain()
	}
	if err = cmp.Or(r.in.readError(), err); err != nil {
		return err
	}
	if !r.build.header && r.torn {
		return fmt.Errorf("the file ends within its first second: %w in it is complete", ErrNoSecond)
	}
	if !r.build.header {
		return ErrNotRecording
	}
	return nil
}

// warnings returns sentences about what of the file is not in the run.
func (r *reader) warnings(run *Run) []string {
	var said []string
	if r.damaged > 0 {
		said = append(said,
			fmt.Sprintf("%d damaged part(s) of the recording were left out, the first at byte %d", r.damaged,
				r.damagedAt))
	}
	if run.Cut != "" {
		said = append(said, run.Cut)
	}
	if r.ended {
		said = append(said,
			fmt.Sprintf("the recording is longer than the %s of lines that are read of one: what comes after %s "+
				"was not read", quantity.Bytes(r.limits.lines), longTime(run.End())))
	}
	if b := r.build; b.begins > 0 {
		said = append(said,
			fmt.Sprintf("the recording is too large to be kept whole: of its %s the last %s are read",
				longTime(run.End()), longTime(run.End()-b.begins)))
	} else if b.scarce {
		said = append(said, fmt.Sprintf("the recording is too large to be kept whole: %s", b.density()))
	}
	return said
}

// reader is the state of reading a file.
type reader struct {
	in        *input
	limits    limits
	build     *builder
	full      func() // called when the held part exceeds its limit
	zip       gzip.Reader
	text      []byte // of a member; reused for the next one
	packed    bool   // in gzip members
	follows   bool   // the file may still grow
	lines     int
	total     int64 // bytes of lines
	ended     bool  // the limit of lines was reached
	torn      bool  // the last member or line is incomplete
	tornAt    int64 // where the file ends then
	damaged   int   // members or lines that could not be read
	damagedAt int64
}

// gzipMagic begins a member as package compress/gzip writes it: ID1, ID2,
// deflate (RFC 1952, 2.3.1).
var gzipMagic = []byte{0x1f, 0x8b, 0x08}

// memberBegins begins a Writer's member: no flags and no time. By chance these bytes occur
// practically nowhere else, while the shorter magic does now and then.
var memberBegins = append(slices.Clone(gzipMagic), 0, 0, 0, 0, 0)

// readMembers reads gzip members one by one. After a damaged one it continues with the next.
func (r *reader) readMembers() error {
	for !r.ended {
		if next, _ := r.in.peek(1); len(next) == 0 {
			return nil
		}
		r.in.mark()
		at := r.in.offset()
		err := r.readMember(at)
		if err == nil {
			continue
		}
		if fatal := (*fatalError)(nil); errors.As(err, &fatal) {
			return fatal.error
		}
		if r.waitsForMore(err) {
			return nil
		}
		end := r.in.offset()
		found := r.in.seekBytes(gzipMagic)
		if !found && errors.Is(err, io.ErrUnexpectedEOF) {
			r.torn, r.tornAt = true, end
			return nil
		}
		r.countDamage(at)
		if !found || r.damaged >= maxDamaged {
			return nil
		}
	}
	return nil
}

// fatalError ends reading: the rest is not read, and nothing is returned.
type fatalError struct{ error }

var (
	errBomb   = errors.New("a part of the file unpacks to far more than any recording does: it is not read")
	errPart   = errors.New("a large part of the file is damaged: nothing in it can be relied on")
	errEvents = errors.New("it holds more of a profiler's events than are read of one: stoker trace reads the " +
		"profiler's own file")
)

// readMember decompresses and parses the member at the current position. Its lines are used
// only if its checksum is right. Lines of a large member, as from recompressing a recording,
// are used at once, and a wrong checksum at its end is fatal. Decompression bombs are detected
// early.
func (r *reader) readMember(at int64) error {
	if err := r.zip.Reset(r.in); err != nil {
		return err
	}
	r.zip.Multistream(false)
	refuse := func(why error) error { return &fatalError{fmt.Errorf("byte %d: %w", at, why)} }
	r.text = r.text[:0]
	early, unpacked := false, int64(0)
	for {
		r.text = slices.Grow(r.text, minRatio/4)
		n, err := r.zip.Read(r.text[len(r.text):cap(r.text)])
		r.text = r.text[:len(r.text)+n]
		unpacked += int64(n)
		if unpacked > max(minRatio, maxRatio*(r.in.offset()-at)) {
			return refuse(errBomb)
		}
		switch {
		case errors.Is(err, io.EOF):
			return r.parseLines(r.text, at)
		case err != nil && early && !errors.Is(err, io.ErrUnexpectedEOF):
			return refuse(errPart)
		case err != nil && early: // its end is missing: the lines before are complete
			return cmp.Or(r.parseLines(r.text[:bytes.LastIndexByte(r.text, '\n')+1], at), err)
		case err != nil:
			return err
		case len(r.text) > r.limits.member:
			early = true
			r.in.release()
			whole := bytes.LastIndexByte(r.text, '\n') + 1
			if whole == 0 {
				return refuse(errBomb)
			}
			if err := r.parseLines(r.text[:whole], at); err != nil || r.ended {
				return err
			}
			r.text = append(r.text[:0], r.text[whole:]...)
		}
	}
}

// parseLines parses the lines of one member, or of a part of a large one.
func (r *reader) parseLines(text []byte, at int64) error {
	if r.total += int64(len(text)); r.total > r.limits.lines {
		r.ended = true
		return nil
	}
	for len(text) > 0 {
		row, rest, complete := bytes.Cut(text, []byte{'\n'})
		text = rest
		if err := r.addLine(row, at, complete); err != nil {
			return &fatalError{err}
		}
	}
	return nil
}

// readPlain reads uncompressed JSON Lines.
func (r *reader) readPlain() error {
	scanner := bufio.NewScanner(r.in)
	scanner.Buffer(make([]byte, 0, 1<<16), maxLine)
	complete := true // the line ends in a line break; one that does not was torn
	scanner.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		n, token, err := bufio.ScanLines(data, atEOF)
		complete = !atEOF || n < len(data) || bytes.HasSuffix(data, []byte{'\n'})
		return n, token, err
	})
	for scanner.Scan() {
		at := r.total
		if r.total += int64(len(scanner.Bytes())) + 1; r.total > r.limits.lines {
			r.ended = true
			return nil
		}
		if err := r.addLine(scanner.Bytes(), at, complete); err != nil {
			return err
		}
		r.in.mark()
	}
	if errors.Is(scanner.Err(), bufio.ErrTooLong) && r.lines == 0 {
		return ErrNotRecording
	}
	if scanner.Err() != nil {
		return fmt.Errorf("line %d: %w", r.lines+1, scanner.Err())
	}
	return nil
}

// addLine adds one line. The first must be a header. A later one that is not JSON is counted as
// damage and skipped.
func (r *reader) addLine(row []byte, at int64, complete bool) error {
	if len(bytes.TrimSpace(row)) == 0 {
		return nil
	}
	r.lines++
	err := r.build.parseLine(row)
	var newer *newerFormatError
	switch {
	case err == nil && r.build.events > r.limits.events:
		return errEvents
	case err == nil:
		if r.build.weight() > r.limits.kept {
			r.full()
		}
		return nil
	case errors.As(err, &newer):
		return err
	case !r.build.header:
		if r.damaged > 0 { // the damage includes the header, so there is no clock base
			return errors.New("its first part, with the clock base, is damaged: nothing behind it can be placed in " +
				"time")
		}
		return ErrNotRecording
	case !complete:
		r.torn, r.tornAt = true, r.in.offset()
	default:
		r.countDamage(at)
	}
	return nil
}

func (r *reader) countDamage(at int64) {
	if r.damaged == 0 {
		r.damagedAt = at
	}
	r.damaged++
}

// continueReading prepares to read what has been appended.
func (r *reader) continueReading() {
	r.torn = false
	if r.in.readError() == nil {
		r.in.err = nil
	}
}

// waitsForMore reports whether the member that ends too early is still being written. If so,
// reading resumes at its beginning later. If another member follows it, it is damaged.
func (r *reader) waitsForMore(err error) bool {
	r.tornAt = r.in.offset()
	r.torn = r.follows && errors.Is(err, io.ErrUnexpectedEOF) && r.in.goBack(memberBegins)
	return r.torn
}
