package recording

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoker-dev/stoker/internal/stat"
)

// What a Writer keeps in memory and writes, regardless of the rate of steps and the number of
// workers.
const (
	// maxWaiting limits the compressed data that wait for a disk that accepts nothing: half an
	// hour of a busy run. Beyond it the oldest data are kept and new data dropped, which Close
	// reports.
	maxWaiting = 4 << 20
	maxMember  = 1 << 20 // most bytes of lines that are compressed together

	// liveMemory is what RunSoFar may take: a quarter of an hour of 30 steps and 500 values a
	// second. A reader keeps twice as much.
	liveMemory = 12 << 20

	// Lines that may be written in a minute: about half a megabyte of each, compressed.
	stepsAMinute  = 10_000
	valuesAMinute = 80_000
	countOver     = 3 // seconds over which lines are counted, unless soonOver steps come before
	soonOver      = stepsAMinute / 4
)

// Writer records a live run. It is not safe for concurrent use. Errors of the disk never affect
// RunSoFar; Flush returns them.
type Writer struct {
	file    output
	path    string
	size    int64        // of the complete members in the file
	pending bytes.Buffer // lines
	waiting bytes.Buffer // members
	zip     *gzip.Writer // reused: a new one is most of the cost of a second
	scratch []byte
	lost    bool
	live    *builder
	forgot  float64 // time of the last look for data to drop, seconds
	trim    trimming

	recoveries int // files begun because the previous one was removed or replaced

	steps, values int     // written since counted
	counted       float64 // seconds
}

// output is the part of *os.File that a Writer needs; tests replace it.
type output interface {
	io.Writer
	Truncate(int64) error
	Seek(int64, int) (int64, error)
	Close() error
}

// Create begins a recording in a new file with mode 0600. A missing folder is created with mode
// 0700 and a .gitignore, which keeps recordings out of the user's repository. The header is on
// disk when Create returns. If the disk accepts nothing, the header stays queued, and Flush returns
// the error.
func Create(path string, facts Facts) (*Writer, error) {
	dir := filepath.Dir(path)
	if err := makeFolder(dir); err != nil {
		return nil, fmt.Errorf("create recording %s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create recording: %w", err)
	}
	w := newWriter(file, path, facts)
	_ = w.Flush() // the disk may have room later
	// A power cut must not lose the header, without which nothing can be read. In a goroutine,
	// as the disk may be slow.
	go file.Sync() //nolint:errcheck // best effort
	return w, nil
}

// Nowhere begins a recording that is kept only in memory, for RunSoFar.
func Nowhere(facts Facts) *Writer { return newWriter(discarding{}, "", facts) }

type discarding struct{}

func (discarding) Write(p []byte) (int, error)    { return len(p), nil }
func (discarding) Truncate(int64) error           { return nil }
func (discarding) Seek(int64, int) (int64, error) { return 0, nil }
func (discarding) Close() error                   { return nil }

// makeFolder creates a folder for recordings. An existing one is not changed.
func makeFolder(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// A convenience. O_EXCL, as others may be able to write here and could have placed a link.
	file, err := os.OpenFile(filepath.Join(dir, ".gitignore"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, _ = file.WriteString("*\n")
		_ = file.Close()
	}
	return nil
}

func newWriter(file output, path string, facts Facts) *Writer {
	w := &Writer{file: file, path: path, live: newBuilder(), trim: trimming{segment: segment}}
	w.zip, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is a valid one
	w.addLine(headerLine(facts))
	w.SetFacts(facts)
	return w
}

// Path returns the file of the recording, "" if there is none.
func (w *Writer) Path() string { return w.path }

// SetFacts replaces the facts.
func (w *Writer) SetFacts(f Facts) { w.addLine(factsLine(f)) }

// AddSample adds one value of a signal. An unknown value (NaN) is ignored.
func (w *Writer) AddSample(signal Signal, subject string, t, v float64) {
	value := stat.Known(v)
	if value == nil {
		return
	}
	l := sampleLine(signal, subject, roundMicros(t), value)
	if !isPlain(subject) || !isPlain(string(signal)) {
		w.addLine(l)
		return
	}
	if !w.live.addSample(signal, subject, l.T, *value) {
		return
	}
	w.values++
	if w.hasRoom() {
		w.scratch = appendSample(w.scratch[:0], l)
		w.pending.Write(w.scratch)
	}
}

// AddStep adds a step. If there are very many, only some are kept.
func (w *Writer) AddStep(s Step) {
	if !keepsStep(w.live.density().OneIn, s.N) {
		return
	}
	w.steps++
	w.addLine(stepLine(s))
	if w.steps == soonOver { // before the second ends: the first second has no rate yet
		w.keepFewer(w.live.run.End())
	}
}

// AddClock adds the device's times of a step that was added before.
func (w *Writer) AddClock(c DeviceClock) {
	if keepsStep(w.live.density().OneIn, c.N) {
		w.addLine(clockLine(c))
	}
}

// AddInside adds the Inside of a step that was added before.
func (w *Writer) AddInside(pid, loader, n int, i Inside) { w.addLine(insideLine(pid, loader, n, i)) }

func (w *Writer) addLine(l line) {
	_ = w.live.addLine(l) // the Writer's own lines are well-formed
	if !w.hasRoom() {
		return
	}
	text, err := json.Marshal(l)
	if err != nil {
		panic(fmt.Sprintf("recording: a line of kind %q cannot be written: %v", l.Kind, err))
	}
	w.pending.Write(text)
	w.pending.WriteByte('\n')
}

// hasRoom reports whether more data may wait for the disk, and remembers if not.
func (w *Writer) hasRoom() bool {
	if w.pending.Len() > maxMember {
		w.packPending()
	}
	if w.waiting.Len() > maxWaiting {
		w.lost = true
	}
	return w.waiting.Len() <= maxWaiting
}

// Pack limits and compresses the data held, without writing to the disk. Call Pack or Flush once
// a second.
func (w *Writer) Pack() {
	w.keepUp()
	w.packPending()
}

// packPending compresses the pending lines into a member.
func (w *Writer) packPending() {
	if w.pending.Len() == 0 {
		return
	}
	w.zip.Reset(&w.waiting)
	_, _ = w.zip.Write(w.pending.Bytes()) // writing to memory cannot fail
	_ = w.zip.Close()
	w.pending.Reset()
}

// Flush writes what was added since the last call as one gzip member, with one write. If the
// disk accepts only part of it, that part is truncated again, and the members wait for the next
// call.
func (w *Writer) Flush() error {
	w.Pack()
	w.trim.swapFiles(w)
	if w.waiting.Len() == 0 {
		return nil
	}
	if _, err := w.file.Write(w.waiting.Bytes()); err != nil {
		_ = w.file.Truncate(w.size) // a tail that remains is dropped on reading
		_, _ = w.file.Seek(w.size, io.SeekStart)
		return fmt.Errorf("write recording %s: %w", w.path, err)
	}
	w.size += int64(w.waiting.Len())
	w.waiting.Reset()
	w.trim.startTrim(w)
	return nil
}

// RunSoFar returns the run so far. Of a longer run it has at least the judged part (Run.Newest)
// and the last fifteen minutes.
func (w *Writer) RunSoFar() *Run { return w.live.finish() }

// keepUp limits the data in memory and in the file, however fast the run produces more.
func (w *Writer) keepUp() {
	end := w.live.run.End()
	if end-w.forgot >= lookOver {
		w.forgot = end
		w.forget()
		w.keepMore(end)
	}
	w.keepFewer(end)
	if w.live.weight() > liveMemory {
		w.forget()
	}
	for tries := 0; w.live.weight() > liveMemory && tries < 64; tries++ {
		w.addLine(thinnedLine(w.live.sparser(end)))
	}
}

// forget drops data that are not judged from memory, whether or not anyone calls RunSoFar.
func (w *Writer) forget() {
	for _, part := range w.live.run.notJudged() {
		w.live.dropSpan(part.From, part.To)
	}
}

// keepFewer reduces the density if data come faster than may be written.
func (w *Writer) keepFewer(end float64) {
	seconds := max(1, end-w.counted)
	if seconds < countOver && w.steps < soonOver && w.values < valuesAMinute/4 {
		return
	}
	next := w.live.density()
	was := next
	for n := float64(w.steps) * 60 / seconds; n > stepsAMinute; n /= 2 {
		next.OneIn *= 2
	}
	for n := float64(w.values) * 60 / seconds; n > valuesAMinute; n /= 2 {
		next.Every = max(finest, 2*next.Every)
	}
	if next != was {
		next.From = end
		w.addLine(thinnedLine(next))
	}
	if next != was || seconds > 60 {
		w.counted, w.steps, w.values = end, 0, 0
	}
}

// keepMore raises the density again when less comes.
func (w *Writer) keepMore(end float64) {
	next := w.live.density()
	was, minute := next, max(1, end-w.counted)/60
	steps := int64(len(w.live.run.Steps)) * stepWeight
	if next.OneIn > 1 && float64(w.steps) < stepsAMinute/4*minute && steps < liveMemory/8 {
		next.OneIn /= 2
	}
	if next.Every > 0 && float64(w.values) < valuesAMinute/4*minute && w.live.weight()-steps < liveMemory/4 {
		if next.Every /= 2; next.Every < finest {
			next.Every = 0
		}
	}
	if next != was {
		next.From = end
		w.addLine(thinnedLine(next))
	}
}

// Close writes the rest and closes the file. A file that never held anything is removed.
func (w *Writer) Close() error {
	w.trim.stopTrim(w)
	err := w.Flush()
	if err != nil && w.size == 0 {
		_ = os.Remove(w.path)
		w.path = ""
	}
	if closing := w.file.Close(); err == nil && closing != nil {
		err = fmt.Errorf("close recording %s: %w", w.path, closing)
	}
	if err == nil && w.lost {
		err = fmt.Errorf("write recording %s: the disk took nothing for too long, the newest part is missing", w.path)
	}
	return err
}

// Write writes a whole run as plain JSON Lines, the form in which tests keep and compare Runs.
func Write(out io.Writer, run *Run) error { return writeLines(json.NewEncoder(out), run) }

func writeLines(encoder *json.Encoder, run *Run) error {
	facts := run.Facts
	lines := []line{headerLine(facts), factsLine(facts)}
	for _, t := range run.thinned {
		t.To = min(t.To, run.End()+1) // an open part would otherwise apply to later lines
		lines = append(lines, thinnedLine(t))
	}
	for _, s := range run.Series {
		for i := range s.T {
			lines = append(lines, sampleLine(s.Signal, s.Subject, s.T[i], &s.V[i]))
		}
	}
	for _, s := range run.Steps {
		lines = append(lines, stepLine(s))
	}
	lines = append(lines, timelineLines(run.Timeline)...)
	for _, l := range lines {
		if err := encoder.Encode(l); err != nil {
			return fmt.Errorf("write run: %w", err)
		}
	}
	return nil
}

// suffix is the ending of recordings' names.
const suffix = ".jsonl.gz"

// Name proposes a file name for a recording: date, time, the program's name, and marks that
// distinguish it from others of the same second (host, rank, process). It contains no
// characters that are special to a shell or a terminal. Marks may be empty.
func Name(stamp, program string, marks ...string) string {
	name := plainWord(strings.TrimSuffix(filepath.Base(program), filepath.Ext(program)))
	if name == "" {
		name = "run"
	}
	for _, mark := range marks {
		if mark = plainWord(mark); mark != "" {
			name += "-" + mark
		}
	}
	return stamp + "-" + name + suffix
}

func plainWord(text string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, text)
	clean = strings.Trim(clean, "-")
	return clean[:min(40, len(clean))]
}

// Beside returns the n-th name for a recording whose own name is taken: run-2.jsonl.gz for
// run.jsonl.gz.
func Beside(path string, n int) string {
	end := suffix
	if !strings.HasSuffix(path, end) {
		end = filepath.Ext(path)
	}
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, end), n, end)
}
