package cli

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoker-dev/stoker/internal/readable"
)

// Output is a file to write and the function that writes it. Only its user may read a recording;
// reports for others get the mode that the user's umask allows.
type Output struct {
	Name    string
	Mode    os.FileMode
	Produce func(io.Writer) error
}

const (
	// ToUser is the mode of a file that only its user may read.
	ToUser os.FileMode = 0o600
	// ToOthers is the mode of a file that others may read.
	ToOthers os.FileMode = 0o666
)

// WriteFiles writes all of the files or none: each under a temporary name in the same folder, and
// once all are complete it renames them. If something fails, or ctx ends, no file is left.
func WriteFiles(ctx context.Context, files ...Output) error {
	temporary := make([]string, 0, len(files))
	defer func() {
		for _, name := range temporary {
			_ = os.Remove(name) // renamed files are no longer there
		}
	}()
	for _, f := range files {
		whole, err := WriteBeside(ctx, f)
		if err != nil {
			return err
		}
		temporary = append(temporary, whole)
	}
	for i, f := range files {
		if err := os.Rename(temporary[i], f.Name); err != nil {
			return fmt.Errorf("write %s: %w", f.Name, err)
		}
	}
	return nil
}

// WriteBeside writes a file under a temporary name in the same folder, and returns that name. A
// file whose name ends in .gz is compressed. If something fails, or ctx ends, no file is left.
func WriteBeside(ctx context.Context, f Output) (string, error) {
	beside := filepath.Join(filepath.Dir(f.Name), "."+filepath.Base(f.Name)+"."+rand.Text())
	temporary, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.Mode)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", f.Name, err)
	}
	buffered := bufio.NewWriterSize(contextWriter{ctx, temporary}, 1<<18)
	var w io.Writer = buffered
	var zip *gzip.Writer
	if strings.HasSuffix(f.Name, ".gz") {
		zip, _ = gzip.NewWriterLevel(buffered, gzip.BestSpeed)
		w = zip
	}
	err = f.Produce(w)
	if zip != nil {
		err = errors.Join(err, zip.Close())
	}
	err = errors.Join(err, buffered.Flush(), temporary.Close())
	if err != nil {
		return "", fmt.Errorf("write %s: %w", f.Name, errors.Join(err, os.Remove(beside)))
	}
	return beside, nil
}

// contextWriter is a writer that fails once its context has ended.
type contextWriter struct {
	ctx context.Context
	io.Writer
}

func (w contextWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}

// KeepText writes a text to a file that only the user may read, or prints why it cannot.
func (a *App) KeepText(name string, produce func() ([]byte, error)) {
	text, err := produce()
	if err == nil {
		err = WriteFiles(context.Background(),
			Output{name, ToUser, func(w io.Writer) error { _, err := w.Write(text); return err }})
	}
	if err != nil {
		a.PrintError(err)
	}
}

// WorkingFolder returns the current folder, to which paths of source lines are relative; "" if it was removed.
func WorkingFolder() string {
	folder, _ := os.Getwd()
	return folder
}

// ReadSmall reads a file of at most 2 MiB, so that a wrong name does not fill memory.
func ReadSmall(name string) ([]byte, error) {
	file, err := readable.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, 2<<20))
}
