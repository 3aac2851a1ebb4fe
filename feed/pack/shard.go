package pack

import (
	"archive/tar"
	"bufio"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// Shard is the list beside a shard: what is in it, and where.
type Shard struct {
	Format  int      `json:"format"`
	Plan    string   `json:"plan"`  // of which data set and options it is: a digest
	First   int      `json:"first"` // how many samples the shards before it have, bad ones included
	Bytes   int64    `json:"bytes"` // of the tar file
	Samples []Sample `json:"samples"`
	Bad     []Bad    `json:"bad"`
}

// Sample is an image in a shard.
type Sample struct {
	Key    string   `json:"key"`
	Field  string   `json:"field"` // the image's extension
	Path   FilePath `json:"path"`  // of the original, below the data set
	Label  int      `json:"label"`
	At     int64    `json:"at"` // where the image's bytes begin
	Bytes  int      `json:"bytes"`
	SHA256 string   `json:"sha256"` // of them
}

// Bad is a file that was left out.
type Bad struct {
	Path   FilePath `json:"path"`
	Reason string   `json:"reason"`
}

func (s *Shard) endOffset() int { return s.First + len(s.Samples) + len(s.Bad) }

const (
	indexName = "index.json"
	suffix    = ".partial" // of what is not whole
)

func tarName(k int) string  { return fmt.Sprintf("shard-%06d.tar", k) }
func listName(k int) string { return fmt.Sprintf("shard-%06d.json", k) }

// ours are the names in a folder with a pack.
var ours = regexp.MustCompile(`^(shard-\d{6,}\.(tar|json)|index\.json|\..*\.partial)$`)

// writer writes one shard, under a name that says that it is not whole.
type writer struct {
	list   Shard
	folder string
	file   *os.File
	buffer *bufio.Writer
	tar    *tar.Writer
	at     int64
}

func newWriter(folder, plan string, first int) (*writer, error) {
	file, err := create(folder)
	if err != nil {
		return nil, err
	}
	w := &writer{
		list:   Shard{Format: format, Plan: plan, First: first, Samples: []Sample{}, Bad: []Bad{}},
		folder: folder, file: file,
	}
	w.buffer = bufio.NewWriterSize(file, 1<<20)
	w.tar = tar.NewWriter(w)
	return w, nil
}

// create makes a file that is not whole yet.
func create(folder string) (*os.File, error) {
	return os.OpenFile(filepath.Join(folder, "."+rand.Text()+suffix), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// Write counts what the tar writer writes.
func (w *writer) Write(p []byte) (int, error) {
	n, err := w.buffer.Write(p)
	w.at += int64(n)
	return n, err
}

// addFile writes a sample behind the others.
func (w *writer) addFile(s Sample, image []byte, class string) error {
	about, err := json.Marshal(struct {
		Path  FilePath `json:"path"`
		Class FilePath `json:"class"`
		Label int      `json:"label"`
	}{s.Path, FilePath(class), s.Label})
	if err != nil {
		return err
	}
	if s.At, err = w.writeMember(s.Key+"."+s.Field, image); err != nil {
		return err
	}
	s.Bytes = len(image)
	w.list.Samples = append(w.list.Samples, s)
	if _, err := w.writeMember(s.Key+".cls", strconv.AppendInt(nil, int64(s.Label), 10)); err != nil {
		return err
	}
	_, err = w.writeMember(s.Key+".json", about)
	return err
}

// writeMember writes a file of the archive and says where its bytes begin.
func (w *writer) writeMember(name string, content []byte) (int64, error) {
	if err := w.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
		return 0, err
	}
	at := w.at
	_, err := w.tar.Write(content)
	return at, err
}

// publishShard makes the shard whole: on the disk first, then by its name, then by its list's.
func (w *writer) publishShard(k int) error {
	err := errors.Join(w.tar.Close(), w.buffer.Flush())
	w.list.Bytes = w.at
	if err := nameFile(w.file, filepath.Join(w.folder, tarName(k)), err); err != nil {
		return err
	}
	return writeJSON(w.folder, listName(k), w.list)
}

// dropShard takes an unfinished shard away.
// another run takes it away too
func (w *writer) dropShard() { _ = errors.Join(w.file.Close(), os.Remove(w.file.Name())) }

// nameFile gives a written file its name; where something failed it is taken away.
func nameFile(file *os.File, name string, err error) error {
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func writeJSON(folder, name string, value any) error {
	file, err := create(folder)
	if err != nil {
		return err
	}
	buffer := bufio.NewWriter(file)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	err = errors.Join(encoder.Encode(value), buffer.Flush())
	return nameFile(file, filepath.Join(folder, name), err)
}

// readList reads the list beside shard k; nil: there is no such shard, or none that is whole.
func readList(folder string, k int) (*Shard, error) {
	s := &Shard{}
	if err := readJSON(folder, listName(k), s); err != nil {
		return nil, err
	}
	info, err := os.Stat(filepath.Join(folder, tarName(k)))
	if errors.Is(err, os.ErrNotExist) || err == nil && info.Size() != s.Bytes {
		return nil, os.ErrNotExist
	}
	return s, err
}

func readJSON(folder, name string, value any) error {
	file, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	if err := json.NewDecoder(io.LimitReader(file, 4<<30)).Decode(value); err != nil {
		return fmt.Errorf("read %s: %w", file.Name(), err)
	}
	return nil
}
