package main

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
)

// output is a file to write and what writes it. A recording is its user's alone;
// what is to be shown to others has the mode that the user's umask leaves.
type output struct {
	name    string
	mode    os.FileMode
	produce func(io.Writer) error
}

const (
	toUser   os.FileMode = 0o600
	toOthers os.FileMode = 0o666
)

// writeFiles writes all of the files or none: each under a temporary name beside
// its own, and when all are whole they are moved into their places. Where
// something fails, or ctx ends, nothing is left.
func writeFiles(ctx context.Context, files ...output) error {
	temporary := make([]string, 0, len(files))
	defer func() {
		for _, name := range temporary {
			_ = os.Remove(name) // what was moved is not there any more
		}
	}()
	for _, f := range files {
		whole, err := writeBeside(ctx, f)
		if err != nil {
			return err
		}
		temporary = append(temporary, whole)
	}
	for i, f := range files {
		if err := os.Rename(temporary[i], f.name); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	return nil
}

// writeBeside writes a file while it is produced, packed where its name ends in
// .gz, under a temporary name beside its own, which it returns. Where something
// fails, or ctx ends, nothing is left.
func writeBeside(ctx context.Context, f output) (string, error) {
	beside := filepath.Join(filepath.Dir(f.name), "."+filepath.Base(f.name)+"."+rand.Text())
	temporary, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.mode)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", f.name, err)
	}
	buffered := bufio.NewWriterSize(contextWriter{ctx, temporary}, 1<<18)
	var w io.Writer = buffered
	var zip *gzip.Writer
	if strings.HasSuffix(f.name, ".gz") {
		zip, _ = gzip.NewWriterLevel(buffered, gzip.BestSpeed)
		w = zip
	}
	err = f.produce(w)
	if zip != nil {
		err = errors.Join(err, zip.Close())
	}
	err = errors.Join(err, buffered.Flush(), temporary.Close())
	if err != nil {
		return "", fmt.Errorf("write %s: %w", f.name, errors.Join(err, os.Remove(beside)))
	}
	return beside, nil
}

// contextWriter is a writer that ends with its context.
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

// keepText writes a text to a file that is its user's alone, or says why it cannot.
func (a *app) keepText(name string, produce func() ([]byte, error)) {
	text, err := produce()
	if err == nil {
		err = writeFiles(context.Background(),
			output{name, toUser, func(w io.Writer) error { _, err := w.Write(text); return err }})
	}
	if err != nil {
		a.error(err)
	}
}
