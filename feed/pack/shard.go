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

const suffix = ".partial" // of what is not whole

// ours are the names in a folder with a pack.
var ours = regexp.MustCompile(`^(shard-\d{6,}\.(tar|json)|index\.json|\..*\.partial)$`)

// writer writes one shard, under a name that says that it is not whole.
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
	if err := nameFile(w.file, filepath.Join(w.folder, shards.TarName(k)), err); err != nil {
		return err
	}
	return writeJSON(w.folder, shards.ListName(k), w.list)
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
