package trace

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/stoker-dev/stoker/trace/kineto"
)

// archive is a file that holds others: a tar, packed or not, or a zip. It is read like a folder.
type archive struct {
	file string
	f    *os.File
	size int64
	zip  bool
}

// mostMembers bounds the files of an archive. [J] A run of ten thousand ranks has as many traces.
const mostMembers = 100_000

// openArchive opens a file as an archive; it returns nil if the file is not an archive, or comes through a
// pipe, which cannot be read twice.
func openArchive(file string) *archive {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return nil // who reads the file tells
	}
	f, err := os.Open(file) //nolint:gosec // the user names it
	if err != nil {
		return nil
	}
	a := &archive{file: file, f: f, size: info.Size()}
	if !a.recognise() {
		a.close()
		return nil
	}
	return a
}

func (a *archive) close() { a.f.Close() } //nolint:errcheck,gosec // nothing was written

// recognise reports whether the content is that of an archive.
func (a *archive) recognise() bool {
	start := make([]byte, sniffed)
	n, _ := a.f.ReadAt(start, 0)
	if a.zip = bytes.HasPrefix(start[:n], []byte("PK\x03\x04")); a.zip {
		return true
	}
	src, err := openPacked(a.file, &countingReader{Reader: io.NewSectionReader(a.f, 0, a.size), m: &meter{}})
	if err != nil {
		return false
	}
	defer src.close()
	n, _ = io.ReadFull(src, start)
	return isTar(start[:n])
}

// eachMember hands on the files of an archive in its order.
func (a *archive) eachMember(m *meter, do func(name string, r io.Reader) error) error {
	if a.zip {
		return a.eachOfZip(m, do)
	}
	return a.eachOfTar(m, do)
}

func (a *archive) eachOfTar(m *meter, do func(name string, r io.Reader) error) error {
	src, err := openPacked(a.file, &countingReader{Reader: io.NewSectionReader(a.f, 0, a.size), m: m})
	if err != nil {
		return err
	}
	defer src.close()
	t := tar.NewReader(src)
	for {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case src.bombError() != nil:
			return src.bombError()
		case err != nil:
			return cutError{a.damaged("tar", err)}
		case h.Typeflag != tar.TypeReg:
			continue
		}
		if err := do(h.Name, t); err != nil {
			return err
		}
	}
}

func (a *archive) eachOfZip(m *meter, do func(name string, r io.Reader) error) error {
	z, err := zip.NewReader(a.f, a.size)
	if err != nil {
		return a.damaged("zip", err)
	}
	for _, f := range z.File {
		if !f.Mode().IsRegular() {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return a.damaged("zip", err)
		}
		packed := int64(min(f.CompressedSize64, uint64(a.size)))
		err = do(f.Name, &limited{Reader: r, m: &meter{done: packed}})
		r.Close() //nolint:errcheck,gosec // nothing was written
		if err != nil {
			return err
		}
		m.advance(packed)
	}
	return nil
}

func (a *archive) damaged(kind string, err error) *malformedError {
	return &malformedError{
		a.file, -1, fmt.Sprintf("the %s archive is damaged or cut: %v", kind, err),
		"copy it again, or unpack what can be had of it and give the folder",
	}
}

// cutError says that an archive ends early: the files before its end are whole.
type cutError struct{ *malformedError }

func isCut(err error) bool {
	_, cut := err.(cutError) //nolint:errorlint // nothing wraps it
	return cut
}

// listTraces lists the traces of an archive as listFolder does those of a folder.
func (a *archive) listTraces() (found []string, others int, err error) {
	var names []string
	err = a.eachMember(&meter{}, func(name string, _ io.Reader) error {
		if names = append(names, name); len(names) > mostMembers {
			return &malformedError{
				a.file, -1, fmt.Sprintf("it holds more than %d files", mostMembers),
				"give the traces alone, as a folder",
			}
		}
		return nil
	})
	if err != nil && (len(names) == 0 || !isCut(err)) {
		return nil, 0, explainArchive(a.file, err)
	}
	found, others = chooseTraces(names)
	if len(found) == 0 {
		return nil, 0, &malformedError{
			a.file, -1, fmt.Sprintf("the archive holds no trace (%s), expected *.json, *.json.gz, *.json.zst, "+
				"*.xplane.pb or *.sqlite", otherFiles(others, "", "")),
			"give one with the files that torch.profiler, jax.profiler or nsys export wrote",
		}
	}
	return found, others, nil
}

// readTraces reads the traces of an archive.
func (a *archive) readTraces(ctx context.Context, m *meter, o Options) (parts []part, notes []string, err error) {
	found, others, err := a.listTraces()
	if err != nil {
		return nil, nil, err
	}
	if others > 0 {
		notes = append(notes, fmt.Sprintf("%s left alone in %s.", otherFiles(others, " was", " were"), a.file))
	}
	var foreign *unsupportedError
	err = a.eachMember(m, func(name string, r io.Reader) error {
		if !slices.Contains(found, name) {
			return nil
		}
		label := filepath.Join(a.file, filepath.Clean("/"+name))
		t, err := readMember(ctx, label, r, o)
		if errors.As(err, &foreign) {
			notes = append(notes, fmt.Sprintf("%s was left alone: it is %s.", label, foreign.Format))
			return nil
		}
		if err == nil {
			parts = append(parts, part{file: label, Trace: t})
		}
		return err
	})
	switch {
	case isCut(err) && len(parts) > 0:
		notes = append(notes, fmt.Sprintf("%s ends early, as an unfinished download does: what lies before its end was read.",
			a.file))
		err = nil
	case err == nil && len(parts) == 0:
		err = foreign
	}
	if err != nil {
		return nil, nil, explainArchive(a.file, err)
	}
	return parts, notes, nil
}

// explainArchive gives an archive that is cut, or unpacks without an end, the sentence of such files.
func explainArchive(file string, err error) error {
	if cut, is := err.(cutError); is { //nolint:errorlint // nothing wraps it
		return cut.malformedError
	}
	if errors.Is(err, errBomb) {
		return explain(context.Background(), file, err)
	}
	return err
}

// readMember reads a trace of an archive. JSON is read as a stream. A file that is read at several places
// is written to a temporary file first.
func readMember(ctx context.Context, label string, r io.Reader, o Options) (*kineto.Trace, error) {
	in := bufio.NewReaderSize(r, sniffed)
	start, err := in.Peek(sniffed)
	if errors.Is(err, errBomb) {
		return nil, err
	}
	if isJSON(start) || !hasEnding(label, xplanes) && !hasEnding(label, databases) {
		return readStream(ctx, label, &countingReader{Reader: in, m: &meter{}}, o)
	}
	f, err := os.CreateTemp("", "stoker-trace-*")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", label, err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it is in the temporary folder
	defer f.Close()           //nolint:errcheck // as above
	if _, err := io.Copy(f, in); err != nil {
		return nil, fmt.Errorf("read %s: %w", label, err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read %s: %w", label, err)
	}
	return readOpened(ctx, label, f, &meter{}, o)
}
