package recording

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxPending bounds what waits for a disk that takes nothing: about two hours of
// a busy run. Beyond it the oldest is kept and the newest is dropped, said once.
const maxPending = 16 << 20

// liveMemory is for how long a Writer keeps what it wrote for Snapshot, seconds:
// a verdict of a running job needs the recent minutes, the file keeps all.
const liveMemory = 900

// Writer records a live run. Calls are not safe for concurrent use. Errors of
// the disk never lose what Snapshot shows; Flush returns them.
type Writer struct {
	file    output
	path    string
	size    int64 // of the complete members in the file
	pending bytes.Buffer
	zip     *gzip.Writer // kept: a new one is most of what a second would cost
	scratch []byte
	lost    bool
	live    *builder
	forgot  float64
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
// the user's repository. The header is on disk when Create returns.
func Create(path string, facts Facts) (*Writer, error) {
	dir := filepath.Dir(path)
	if err := makeFolder(dir); err != nil {
		return nil, fmt.Errorf("create recording %s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create recording: %w", err)
	}
	w, err := newWriter(file, path, facts)
	if err != nil {
		_ = file.Close()
		_ = os.Remove(path)
		return nil, err
	}
	return w, nil
}

// makeFolder makes a folder for recordings; one that exists is left as it is.
func makeFolder(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600)
}

func newWriter(file output, path string, facts Facts) (*Writer, error) {
	w := &Writer{file: file, path: path, live: newBuilder()}
	w.add(line{Kind: "header", Format: Format, Version: facts.Version, Unix: facts.Started, Mono: facts.Monotonic})
	w.Facts(facts)
	if err := w.Flush(); err != nil {
		return nil, err
	}
	return w, nil
}

// Path is where the recording lies.
func (w *Writer) Path() string { return w.path }

// Facts replaces the facts.
func (w *Writer) Facts(f Facts) { w.add(line{Kind: "facts", Facts: &f}) }

// Sample adds one value of a signal; an unknown value (NaN) is left out.
func (w *Writer) Sample(signal Signal, subject string, t, v float64) {
	value := known(v)
	if value == nil {
		return
	}
	l := line{Kind: "sample", T: round(t), Signal: signal, Subject: subject, Value: value}
	if !plain(subject) || !plain(string(signal)) {
		w.add(l)
		return
	}
	_ = w.live.add(l)
	if w.room() {
		w.scratch = appendSample(w.scratch[:0], l)
		w.pending.Write(w.scratch)
	}
}

// appendSample writes a sample as json.Marshal would: samples are nine lines of
// ten, and reflection over the fields of all kinds took a tenth of the core time
// of observing.
func appendSample(b []byte, l line) []byte {
	b = append(b, `{"kind":"sample"`...)
	if l.T != 0 {
		b = appendNumber(append(b, `,"t":`...), l.T)
	}
	b = append(append(append(b, `,"signal":"`...), l.Signal...), '"')
	if l.Subject != "" {
		b = append(append(append(b, `,"subject":"`...), l.Subject...), '"')
	}
	return append(appendNumber(append(b, `,"value":`...), *l.Value), "}\n"...)
}

func appendNumber(b []byte, v float64) []byte {
	format := byte('f')
	if size := math.Abs(v); size != 0 && (size < 1e-6 || size >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(b, v, format, -1, 64)
}

// plain reports whether a text stands in JSON as it is.
func plain[T string | []byte](text T) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Step adds a step.
func (w *Writer) Step(s Step) { w.add(stepLine(s)) }

// Clock adds what the device's clock said of a step that was added before.
func (w *Writer) Clock(c Clock) { w.add(clockLine(c)) }

func (w *Writer) add(l line) {
	_ = w.live.add(l) // our own lines are well-formed
	if !w.room() {
		return
	}
	text, err := json.Marshal(l)
	if err != nil {
		panic(fmt.Sprintf("recording: a line of kind %q cannot be written: %v", l.Kind, err))
	}
	w.pending.Write(text)
	w.pending.WriteByte('\n')
}

// room reports whether more may wait for the disk, and notes where it may not.
func (w *Writer) room() bool {
	if w.pending.Len() > maxPending {
		w.lost = true
	}
	return w.pending.Len() <= maxPending
}

// Flush writes what was added since the last call as one gzip member with one
// write. Where the disk takes less, the torn part is cut off again and the
// lines wait for the next call.
func (w *Writer) Flush() error {
	w.forget()
	if w.pending.Len() == 0 {
		return nil
	}
	var member bytes.Buffer
	zip := w.zip
	if zip == nil {
		zip, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is a valid one
		w.zip = zip
	}
	zip.Reset(&member)
	if _, err := zip.Write(w.pending.Bytes()); err != nil {
		return fmt.Errorf("write recording %s: %w", w.path, err)
	}
	if err := zip.Close(); err != nil {
		return fmt.Errorf("write recording %s: %w", w.path, err)
	}
	if _, err := w.file.Write(member.Bytes()); err != nil {
		_ = w.file.Truncate(w.size) // a tail that stays is dropped on reading
		_, _ = w.file.Seek(w.size, io.SeekStart)
		return fmt.Errorf("write recording %s: %w", w.path, err)
	}
	w.size += int64(member.Len())
	w.pending.Reset()
	return nil
}

// Snapshot is the run so far, or its last fifteen to thirty minutes where it is
// longer.
func (w *Writer) Snapshot() *Run { return w.live.finish() }

// forget keeps a long run small in memory, whether anyone takes snapshots or not.
func (w *Writer) forget() {
	if end := w.live.run.End(); end-w.forgot > 2*liveMemory {
		w.forgot = end - liveMemory
		w.live.forget(w.forgot)
	}
}

// Close writes what is left and closes the file.
func (w *Writer) Close() error {
	err := w.Flush()
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
func Write(out io.Writer, run *Run) error {
	encoder := json.NewEncoder(out)
	facts := run.Facts
	lines := []line{
		{Kind: "header", Format: Format, Version: facts.Version, Unix: facts.Started, Mono: facts.Monotonic},
		{Kind: "facts", Facts: &facts},
	}
	for _, s := range run.Series {
		for i := range s.T {
			lines = append(lines, line{Kind: "sample", T: s.T[i], Signal: s.Signal, Subject: s.Subject, Value: &s.V[i]})
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

// Name proposes a file name for a recording: date, time and the program's name,
// with nothing in it that a shell or a terminal would mind.
func Name(stamp, program string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, strings.TrimSuffix(filepath.Base(program), filepath.Ext(program)))
	if clean = strings.Trim(clean, "-"); clean == "" {
		clean = "run"
	}
	if len(clean) > 40 {
		clean = clean[:40]
	}
	return stamp + "-" + clean + ".jsonl.gz"
}

// round keeps microseconds: finer than any probe, and shorter in the file.
func round(t float64) float64 { return float64(int64(t*1e6+0.5)) / 1e6 }
