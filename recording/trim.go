package recording

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"sort"
	"sync/atomic"
	"time"
)

// A recording is one file however long the run is. Each time it has grown by segment, the part
// that is not judged any more is thinned: the file is rewritten under another name, which is
// renamed once it is complete on disk. So the file of a run of weeks has at most the judged
// part, a segment and mostOld.
const (
	segment = 32 << 20 // bytes
	mostOld = 32 << 20 // bytes of the part that is not judged any more; beyond it that part is thinned further
	beside  = ".trim"  // suffix of the name under which the file is rewritten
	late    = 300.     // seconds by which a line may be later than its subject
	held    = 2 << 20  // about how many bytes are held at a time
)

// trimming is the state of a Writer's file.
type trimming struct {
	segment int64
	size    int64   // of the file at the last rewrite
	every   float64 // interval of thinning at that time, seconds
	done    chan error
	stop    atomic.Bool
	upTo    int64 // bytes of the file that are being rewritten
	old     int64 // bytes of the part that is not judged any more
	into    *os.File
}

// startTrim starts to rewrite the file in the background if it has grown enough.
func (t *trimming) startTrim(w *Writer) {
	if t.done != nil || w.size < t.size+t.segment || !w.inPlace() {
		return
	}
	t.size = w.size // if this fails, the next attempt is after the next segment
	from, err := os.Open(w.path)
	if err != nil {
		return
	}
	_ = os.Remove(w.path + beside) // left by a Writer that was killed
	t.into, err = os.OpenFile(w.path+beside, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		_ = from.Close()
		return
	}
	t.every, t.upTo, t.done = max(oldEvery, t.every), w.size, make(chan error, 1)
	if t.old > mostOld {
		t.every *= 2
	}
	parts := w.live.run.notJudged()
	go func() {
		var err error
		t.old, err = trimTo(t.into, stoppable{io.LimitReader(from, t.upTo), &t.stop}, parts, t.every)
		t.done <- errors.Join(err, from.Close())
	}()
}

// swapFiles replaces the old file by the rewritten one, if that is complete.
func (t *trimming) swapFiles(w *Writer) {
	select {
	case err := <-t.done: // a nil channel blocks
		t.keepOrRemove(w, err)
	default:
	}
}

// stopTrim aborts a rewrite, and starts no further ones.
func (t *trimming) stopTrim(w *Writer) {
	t.giveUp(w)
	t.segment = math.MaxInt64 - t.size
}

func (t *trimming) giveUp(w *Writer) {
	if t.done != nil {
		t.stop.Store(true)
		t.keepOrRemove(w, <-t.done)
	}
}

// keepOrRemove uses the new file, or removes it on error.
func (t *trimming) keepOrRemove(w *Writer, err error) {
	t.done = nil
	if err == nil {
		err = t.replace(w)
	}
	if err != nil {
		_ = t.into.Close()
		_ = os.Remove(w.path + beside)
	}
}

// replace appends what was written meanwhile to the new file, and renames it.
func (t *trimming) replace(w *Writer) error {
	if !w.inPlace() {
		return errors.New("the file was moved")
	}
	from, err := os.Open(w.path)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	if _, err := io.Copy(t.into, io.NewSectionReader(from, t.upTo, w.size-t.upTo)); err != nil {
		return err
	}
	size, err := t.into.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	if err := cmp.Or(t.into.Sync(), os.Rename(w.path+beside, w.path)); err != nil {
		return err
	}
	_ = w.file.Close()
	w.file, w.size, t.size = t.into, size, size
	return nil
}

// inPlace reports whether the file being written still has its name.
func (w *Writer) inPlace() bool {
	file, ok := w.file.(*os.File)
	if !ok {
		return false
	}
	own, err := file.Stat()
	there, err2 := os.Stat(w.path)
	return err == nil && err2 == nil && os.SameFile(own, there)
}

// stoppable is a reader that can be stopped.
type stoppable struct {
	from io.Reader
	stop *atomic.Bool
}

func (s stoppable) Read(p []byte) (int, error) {
	if s.stop.Load() {
		return 0, errors.New("stopped")
	}
	return s.from.Read(p)
}

// trimTo copies a recording and thins parts of it to a value in every every seconds, holding
// some minutes of it at a time. It returns how many bytes of the output belong to those parts.
func trimTo(out io.Writer, in io.Reader, parts []thinned, every float64) (old int64, err error) {
	t := &trimmer{out: &countingWriter{to: out}, parts: parts, every: every, from: math.Inf(-1)}
	t.reader = &reader{in: &input{from: in}, limits: usual, build: newBuilder(), full: t.writePart}
	t.reader.limits.kept = held
	if err := t.reader.readFile(); err != nil {
		return 0, err
	}
	if t.reader.build.run.Timeline != nil {
		return 0, errors.New("it holds a profiler's events, which are all needed")
	}
	t.writeUpTo(math.Inf(1))
	return t.old, t.err
}

// trimmer is the state of copying a recording from one file to another.
type trimmer struct {
	reader *reader
	out    *countingWriter
	parts  []thinned
	every  float64
	from   float64 // what came before is written
	begun  bool
	old    int64
	err    error
}

// writePart writes the complete part of the data held.
func (t *trimmer) writePart() {
	b, more := t.reader.build, int64(held/4)
	if end := b.run.End(); end-max(0, t.from) > 2*late {
		t.writeUpTo(end - late)
		more = held
	}
	t.reader.limits.kept = b.weight() + more
}

// writeUpTo writes the data held up to a time, as one member.
func (t *trimmer) writeUpTo(to float64) {
	b := t.reader.build
	isOld := false
	for _, p := range t.parts {
		p.From, p.To = max(p.From, t.from), min(p.To, to, b.run.End()+1)
		if p.From < p.To {
			b.thinPart(b.thinnedAsOld(p.From, p.To, t.every))
			isOld = isOld || p.To >= to
		}
	}
	zip, _ := gzip.NewWriterLevel(t.out, gzip.DefaultCompression)
	encoder := json.NewEncoder(zip)
	put := func(l line) {
		if t.err == nil {
			t.err = encoder.Encode(l)
		}
	}
	facts := b.run.Facts
	if !t.begun {
		put(headerLine(facts))
	}
	if !t.begun || math.IsInf(to, 1) {
		put(factsLine(facts))
	}
	t.begun = true
	before := t.out.n
	for _, p := range b.run.thinned {
		if p.To = min(p.To, to); p.From < p.To && !math.IsInf(p.To, 1) {
			put(thinnedLine(p))
		}
	}
	b.linesUpTo(to, put)
	if now := b.density(); math.IsInf(to, 1) && (now.Every > 0 || now.OneIn > 1) {
		put(thinnedLine(now))
	}
	t.err = cmp.Or(t.err, zip.Close())
	if isOld {
		t.old += t.out.n - before
	}
	b.dropSpan(math.Inf(-1), to)
	t.from = to
}

// linesUpTo calls put for all values and steps up to a time.
func (b *builder) linesUpTo(to float64, put func(line)) {
	for _, s := range b.run.Series {
		for i := range s.T[:sort.SearchFloat64s(s.T, to)] {
			put(sampleLine(s.Signal, s.Subject, s.T[i], &s.V[i]))
		}
	}
	for _, s := range b.run.Steps {
		if s.Start < to {
			put(stepLine(s))
		}
	}
}

// countingWriter counts the bytes written.
type countingWriter struct {
	to io.Writer
	n  int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}

// Trim rewrites a recording so that it has at most most bytes: what no verdict is about is
// thinned until it fits. now is the current time. It returns the sizes before and after.
func Trim(path string, most int64, now time.Time) (before, after int64, err error) {
	run, err := Open(path)
	if err != nil {
		return 0, 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, 0, fmt.Errorf("trim recording: %w", err)
	}
	before, after = info.Size(), info.Size()
	for every := oldEvery; after > most && every < sparsest; every *= 2 {
		if after, err = rewrite(path, run.notJudged(), every, now); err != nil {
			return before, before, fmt.Errorf("trim recording %s: %w", path, err)
		}
	}
	return before, after, nil
}

// rewrite rewrites a file and renames the result.
func rewrite(path string, parts []thinned, every float64, now time.Time) (size int64, err error) {
	from, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = from.Close() }()
	into, err := besideIt(path, now)
	if err != nil {
		return 0, err
	}
	_, err = trimTo(into, from, slices.Clone(parts), every)
	info, statErr := into.Stat()
	if err = cmp.Or(err, statErr, into.Sync(), into.Close()); err == nil {
		err = os.Rename(path+beside, path)
	}
	if err != nil {
		_ = os.Remove(path + beside)
		return 0, err
	}
	return info.Size(), nil
}

// abandoned is how long a temporary file must be unchanged to count as left by a killed stoker.
const abandoned = 5 * time.Minute

// besideIt creates the temporary file for rewriting a recording. Only one stoker at a time can
// have it.
func besideIt(path string, now time.Time) (*os.File, error) {
	name := path + beside
	if info, err := os.Lstat(name); err == nil && now.Sub(info.ModTime()) > abandoned {
		_ = os.Remove(name)
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("another stoker is rewriting it in %s: wait until it has ended (what a killed one "+
			"left is removed after %.0f minutes)", name, abandoned.Minutes())
	}
	return file, err
}
