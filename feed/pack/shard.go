package pack

import (
	"archive/tar"
	"bufio"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/stoker-dev/stoker/feed/pack/shards"
)

const suffix = ".partial" // of temporary files

// ours matches the names of files in a pack's folder.
var ours = regexp.MustCompile(`^(shard-\d{6,}\.(tar|json)|index\.json|\..*\.partial)$`)

// writer writes one shard under a temporary name.
type writer struct {
	list   shards.Shard
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
		list: shards.Shard{
			Format: shards.Format, Plan: plan, First: first, Samples: []shards.Sample{}, Bad: []shards.Bad{},
		},
		folder: folder, file: file,
	}
	w.buffer = bufio.NewWriterSize(file, 1<<20)
	w.tar = tar.NewWriter(w)
	return w, nil
}

// create creates a temporary file.
func create(folder string) (*os.File, error) {
	return os.OpenFile(filepath.Join(folder, "."+rand.Text()+suffix), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// Write counts the bytes that the tar writer writes.
func (w *writer) Write(p []byte) (int, error) {
	n, err := w.buffer.Write(p)
	w.at += int64(n)
	return n, err
}

// addFile appends a sample.
func (w *writer) addFile(s shards.Sample, image []byte, class string) error {
	about, err := json.Marshal(struct {
		Path  shards.FilePath `json:"path"`
		Class shards.FilePath `json:"class"`
		Label int             `json:"label"`
	}{s.Path, shards.FilePath(class), s.Label})
	if err != nil {
		return err
	}
	if s.At, err = w.writeMember(s.Key+"."+s.Field, image); err != nil {
		return err
	}
	s.Bytes = int64(len(image))
	w.list.Samples = append(w.list.Samples, s)
	if _, err := w.writeMember(s.Key+".cls", strconv.AppendInt(nil, int64(s.Label), 10)); err != nil {
		return err
	}
	_, err = w.writeMember(s.Key+".json", about)
	return err
}

// writeMember appends a file to the archive and returns the offset of its content.
func (w *writer) writeMember(name string, content []byte) (int64, error) {
	if err := w.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
		return 0, err
	}
	at := w.at
	_, err := w.tar.Write(content)
	return at, err
}

// publishShard completes the shard: it syncs the data, renames the shard, and writes its list.
func (w *writer) publishShard(k int) error {
	err := errors.Join(w.tar.Close(), w.buffer.Flush())
	w.list.Bytes = w.at
	if err := nameFile(w.file, filepath.Join(w.folder, shards.TarName(k)), err); err != nil {
		return err
	}
	return writeJSON(w.folder, shards.ListName(k), w.list)
}

// dropShard deletes an unfinished shard. If that fails, the next run deletes it.
func (w *writer) dropShard() { _ = errors.Join(w.file.Close(), os.Remove(w.file.Name())) }

// nameFile syncs and renames a written file. If anything failed, it deletes the file.
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

// readList reads the list of shard k. The error is os.ErrNotExist if there is no complete
// shard.
func readList(folder string, k int) (*shards.Shard, error) {
	s := &shards.Shard{}
	if err := shards.ReadFile(folder, shards.ListName(k), s); err != nil {
		return nil, err
	}
	info, err := os.Stat(filepath.Join(folder, shards.TarName(k)))
	if errors.Is(err, os.ErrNotExist) || err == nil && info.Size() != s.Bytes {
		return nil, os.ErrNotExist
	}
	return s, err
}
