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

// What a Writer keeps in memory and writes, at any rate of steps and number of workers.
const (
	// maxWaiting bounds what waits for a disk that takes nothing, packed: half an hour of
	// a busy run. Beyond it the oldest is kept and the newest is dropped, said once.
	maxWaiting = 4 << 20
	maxMember  = 1 << 20 // bytes of lines that are packed together at most

	// liveMemory is what Snapshot may weigh: a quarter of an hour of 30 steps and 500
	// values a second. A reader keeps twice as much.
	liveMemory = 12 << 20

	// Lines that may be written in a minute: about half a megabyte, packed, of each.
	stepsAMinute  = 10_000
	valuesAMinute = 80_000
	countOver     = 3 // seconds over which lines are counted, but where soonOver steps came
	soonOver      = stepsAMinute / 4
)

// Writer records a live run. Calls are not safe for concurrent use. Errors of
// the disk never lose what Snapshot shows; Flush returns them.
type Writer struct {
	file    output
	path    string
	size    int64        // of the complete members in the file
	pending bytes.Buffer // lines
	waiting bytes.Buffer // members
	zip     *gzip.Writer // kept: a new one is most of what a second would cost
	scratch []byte
	lost    bool
	live    *builder
	forgot  float64 // when it looked last, seconds
	trim    trimming

	recoveries int // files that were begun in place of one that others took

	steps, values int     // that were written
	counted       float64 // since then, seconds
}

// output is the part of *os.File that a Writer needs; tests give one that fails.
type output interface {
	io.Writer
	Truncate(int64) error
	Seek(int64, int) (int64, error)
	Close() error
}

// Create begins a recording in a new file with mode 0600. The folder is made
// when missing, with mode 0700 and a .gitignore that keeps recordings out of
// the user's repository. The header is on disk when Create returns, unless the disk
// takes nothing: then it waits, and Flush says so.
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
	// A power cut leaves the header, without which nothing is read; nobody waits for a slow disk.
	go file.Sync() //nolint:errcheck // as far as it goes
	return w, nil
}

// Nowhere begins a recording that is kept in memory only, as far as Snapshot goes.
func Nowhere(facts Facts) *Writer { return newWriter(discarding{}, "", facts) }

type discarding struct{}

func (discarding) Write(p []byte) (int, error)    { return len(p), nil }
func (discarding) Truncate(int64) error           { return nil }
func (discarding) Seek(int64, int) (int64, error) { return 0, nil }
func (discarding) Close() error                   { return nil }

// makeFolder makes a folder for recordings; one that exists is left as it is.
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
	// A convenience; where others can write, a link of theirs may have its name by now.
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

// Path is where the recording lies, "" where that is nowhere.
func (w *Writer) Path() string { return w.path }

// SetFacts replaces the facts.
func (w *Writer) SetFacts(f Facts) { w.addLine(factsLine(f)) }

// AddSample adds one value of a signal; an unknown value (NaN) is left out.
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

// AddStep adds a step. Of very many not all are kept.
func (w *Writer) AddStep(s Step) {
	if !keepsStep(w.live.density().OneIn, s.N) {
		return
	}
	w.steps++
	w.addLine(stepLine(s))
	if w.steps == soonOver { // before the second ends: the first one has no rate yet
		w.keepFewer(w.live.run.End())
	}
}

// AddClock adds what the device's clock said of a step that was added before.
func (w *Writer) AddClock(c DeviceClock) {
	if keepsStep(w.live.density().OneIn, c.N) {
		w.addLine(clockLine(c))
	}
}

// AddInside adds what was inside of a step that was added before.
func (w *Writer) AddInside(pid, loader, n int, i Inside) { w.addLine(insideLine(pid, loader, n, i)) }

func (w *Writer) addLine(l line) {
	_ = w.live.addLine(l) // our own lines are well-formed
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

// hasRoom reports whether more may wait for the disk, and notes where it may not.
func (w *Writer) hasRoom() bool {
	if w.pending.Len() > maxMember {
		w.packPending()
	}
	if w.waiting.Len() > maxWaiting {
		w.lost = true
	}
	return w.waiting.Len() <= maxWaiting
}

// Pack is a Flush that leaves the disk alone: what is held is kept small, and waits as
// small as it can. Once a second one of the two is to be called.
func (w *Writer) Pack() {
	w.keepUp()
	w.packPending()
}

// packPending makes a member of the pending lines.
func (w *Writer) packPending() {
	if w.pending.Len() == 0 {
		return
	}
	w.zip.Reset(&w.waiting)
	_, _ = w.zip.Write(w.pending.Bytes()) // memory takes all
	_ = w.zip.Close()
	w.pending.Reset()
}

// Flush writes what was added since the last call as one gzip member with one
// write. Where the disk takes less, the torn part is cut off again and the
// members wait for the next call.
func (w *Writer) Flush() error {
	w.Pack()
	w.trim.swapFiles(w)
	if w.waiting.Len() == 0 {
		return nil
	}
	if _, err := w.file.Write(w.waiting.Bytes()); err != nil {
		_ = w.file.Truncate(w.size) // a tail that stays is dropped on reading
		_, _ = w.file.Seek(w.size, io.SeekStart)
		return fmt.Errorf("write recording %s: %w", w.path, err)
	}
	w.size += int64(w.waiting.Len())
	w.waiting.Reset()
	w.trim.startTrim(w)
	return nil
}

// RunSoFar is the run so far, or of a longer one at least what is judged of it
// (Run.Newest) and the last fifteen minutes.
func (w *Writer) RunSoFar() *Run { return w.live.finish() }

// keepUp keeps what is held and what is written small, however fast the run makes more.
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

// forget keeps a long run small in memory, whether anyone takes snapshots or not.
func (w *Writer) forget() {
	for _, part := range w.live.run.notJudged() {
		w.live.dropSpan(part.From, part.To)
	}
}

// keepFewer keeps fewer of what comes faster than may be written.
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

// keepMore keeps more again where less comes.
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

// Close writes what is left and closes the file. One that never held anything is
// removed.
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

// Write writes a whole run as plain JSON Lines, the form in which tests keep
// Runs and in which two Runs are compared.
func Write(out io.Writer, run *Run) error { return writeLines(json.NewEncoder(out), run) }

func writeLines(encoder *json.Encoder, run *Run) error {
	facts := run.Facts
	lines := []line{headerLine(facts), factsLine(facts)}
	for _, t := range run.thinned {
		t.To = min(t.To, run.End()+1) // what goes on would be of what follows
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

// suffix ends the names of recordings.
const suffix = ".jsonl.gz"

// Name proposes a file name for a recording: date, time, the program's name, and
// what tells it from others of the same second (host, rank, process), with nothing
// in it that a shell or a terminal would mind. Marks may be empty.
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

// Beside is the n-th name for a recording whose own is taken: run-2.jsonl.gz stands
// for run.jsonl.gz.
func Beside(path string, n int) string {
	end := suffix
	if !strings.HasSuffix(path, end) {
		end = filepath.Ext(path)
	}
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, end), n, end)
}
