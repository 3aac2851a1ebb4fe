package pack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/stoker-dev/stoker/feed/order"
	"github.com/stoker-dev/stoker/feed/pack/shards"
	"github.com/stoker-dev/stoker/feed/source"
)

var errChanged = fmt.Errorf("the folder %w: a pack of another data set, of one that has changed, or with other options",
	ErrOther)

// WriteShards packs a data set into a folder, or completes an interrupted pack in it.
func WriteShards(ctx context.Context, from Source, folder string, o Options) (*shards.Index, error) {
	p := newPacker(from, folder, o)
	if err := p.prepare(); err != nil {
		return nil, fmt.Errorf("pack into %s: %w", folder, err)
	}
	at, err := p.resume()
	if err == nil {
		err = p.writeSample(ctx, at)
	}
	if err == nil && p.index.Samples == 0 {
		err = errors.New("none of the files could be packed")
	}
	if err != nil {
		return nil, fmt.Errorf("pack into %s: %w", folder, err)
	}
	p.removeUnfinished()
	if err := writeJSON(folder, shards.IndexName, p.index); err != nil {
		return nil, err
	}
	return &p.index, nil
}

// packer is a pack in progress.
type packer struct {
	Options
	from   Source
	folder string
	order  *order.Permutation
	keys   keys
	index  shards.Index
}

func newPacker(from Source, folder string, o Options) *packer {
	p := &packer{Options: o, from: from, folder: folder, order: order.InOrder(from.Len()), keys: newKeys(from)}
	if o.Shuffle != nil {
		p.order = order.NewPermutation(*o.Shuffle, 0, from.Len())
	}
	p.index = shards.Index{
		Format: shards.Format, Plan: p.planDigest(), Images: o.String(), Shuffle: o.Shuffle,
		Shards: []shards.IndexShard{}, Bad: []shards.Bad{},
	}
	for _, class := range from.Classes() {
		p.index.Classes = append(p.index.Classes, shards.FilePath(class))
	}
	return p
}

// planDigest returns a digest of all that decides the bytes of the shards, except the content
// of the files.
func (p *packer) planDigest() string {
	digest := p.from.Digest()
	// numbers and texts
	text, _ := json.Marshal([]any{shards.Format, hex.EncodeToString(digest[:]), p.Form, p.Shuffle, p.Bytes, p.Samples})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// prepare creates the folder, and refuses one that holds other files.
func (p *packer) prepare() error {
	if err := os.MkdirAll(p.folder, 0o777); err != nil {
		return err
	}
	entries, err := os.ReadDir(p.folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !ours.MatchString(entry.Name()) {
			return fmt.Errorf("the folder %w: %s is not a file of a pack", ErrOther, entry.Name())
		}
	}
	p.removeUnfinished()
	return nil
}

// removeUnfinished deletes the temporary files of an interrupted run.
func (p *packer) removeUnfinished() {
	left, _ := filepath.Glob(filepath.Join(p.folder, ".*"+suffix))
	for _, name := range left {
		_ = os.Remove(name) // a file that remains does no harm
	}
}

// resume counts the complete shards, and returns the position of the first sample to write.
func (p *packer) resume() (int, error) {
	at := 0
	for {
		list, err := readList(p.folder, len(p.index.Shards))
		switch {
		case errors.Is(err, os.ErrNotExist):
			return at, nil
		case err != nil:
			return 0, err
		case list.Plan != p.index.Plan || list.First != at || list.EndOffset() > p.from.Len():
			return 0, errChanged
		}
		p.countFile(list)
		at = list.EndOffset()
	}
}

// countFile adds a shard to the index.
func (p *packer) countFile(list *shards.Shard) {
	name := shards.TarName(len(p.index.Shards))
	shard := shards.IndexShard{File: name, Samples: len(list.Samples), Bytes: list.Bytes}
	p.index.Shards = append(p.index.Shards, shard)
	p.index.Samples += len(list.Samples)
	p.index.Bytes += list.Bytes
	p.index.Bad = append(p.index.Bad, list.Bad...)
}

// writeSample writes shards with all samples from position at on.
func (p *packer) writeSample(ctx context.Context, at int) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var w *writer
	defer func() {
		if w != nil {
			w.dropShard()
		}
	}()
	for made := range p.makeAhead(ctx, at) {
		one := <-made
		if err := p.refuse(one.err); err != nil {
			return err
		}
		if w != nil && p.isFull(w, len(one.image)) {
			if err := p.closeShard(w); err != nil {
				return err
			}
			w = nil
		}
		var err error
		if w == nil {
			if w, err = newWriter(p.folder, p.index.Plan, at); err != nil {
				return err
			}
		}
		if one.err != nil {
			w.list.Bad = append(w.list.Bad, badOf(one.Path, one.err))
		} else if err := w.addFile(one.Sample, one.image, p.from.Classes()[one.Label]); err != nil {
			return err
		}
		at++
		p.Progress(at, p.from.Len())
	}
	if ctx.Err() != nil || w == nil {
		return ctx.Err()
	}
	err := p.closeShard(w)
	w = nil
	return err
}

// refuse returns the error that ends the pack, or nil if the file is skipped. A file that the
// machine could not provide, or at which a decoder panicked, is never skipped.
func (o Options) refuse(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrFault):
		return err
	case source.IsOutage(err):
		return fmt.Errorf("%w: %w", ErrOutage, err)
	case !o.SkipBad:
		return fmt.Errorf("%w: %w", ErrBad, err)
	}
	return nil
}

// isFull reports whether a shard has no room for another sample of more bytes.
func (p *packer) isFull(w *writer, more int) bool {
	n := len(w.list.Samples)
	return n > 0 && (w.at+int64(more) > p.Bytes || n == p.Samples)
}

func (p *packer) closeShard(w *writer) error {
	if err := w.publishShard(len(p.index.Shards)); err != nil {
		return err
	}
	p.countFile(&w.list)
	return nil
}

// packed is a sample that was read and made, or the error.
type packed struct {
	shards.Sample
	image []byte
	err   error
}

// makeAhead makes the samples from position at on, on all cores and ahead of the consumer. It
// ends when ctx does.
func (p *packer) makeAhead(ctx context.Context, at int) <-chan chan packed {
	threads := runtime.GOMAXPROCS(0)
	type job struct {
		position int
		made     chan packed
	}
	jobs, inOrder := make(chan job), make(chan chan packed, threads)
	for range threads {
		go func() {
			m := newMaker(p.Form)
			for j := range jobs {
				j.made <- p.makeSample(m, p.order.At(j.position))
			}
		}()
	}
	go func() {
		defer close(inOrder)
		defer close(jobs)
		for ; at < p.from.Len() && ctx.Err() == nil; at++ {
			made := make(chan packed, 1)
			select {
			case inOrder <- made:
				jobs <- job{at, made}
			case <-ctx.Done():
			}
		}
	}()
	return inOrder
}

// badOf describes a skipped file. Its reason is valid UTF-8, so that it survives JSON even if a
// file name in it is not.
func badOf(file shards.FilePath, err error) shards.Bad {
	return shards.Bad{Path: file, Reason: strings.ToValidUTF8(err.Error(), "\ufffd")}
}

// makeSample reads a sample and makes its packed form.
func (p *packer) makeSample(m *maker, i int) packed {
	file := p.from.Below(i)
	made := packed{Sample: shards.Sample{Key: p.keys.keyOf(file), Path: shards.FilePath(file), Label: p.from.Label(i)}}
	bytes, err := p.from.Read(i, nil)
	if err == nil {
		made.image, made.Field, err = m.makeImage(bytes, fieldOf(file))
	}
	if err != nil {
		made.err = fmt.Errorf("%s: %w", p.from.Path(i), err)
		return made
	}
	sum := sha256.Sum256(made.image)
	made.SHA256, made.Bytes = hex.EncodeToString(sum[:]), int64(len(made.image))
	return made
}

// Within reports whether a folder, which need not exist, is the other one or inside of it.
func Within(folder, in string) bool {
	real := func(name string) string {
		name, _ = filepath.Abs(name)
		rest := ""
		for {
			if found, err := filepath.EvalSymlinks(name); err == nil {
				return filepath.Join(found, rest)
			}
			name, rest = filepath.Dir(name), filepath.Join(filepath.Base(name), rest)
			if name == filepath.Dir(name) {
				return filepath.Join(name, rest)
			}
		}
	}
	below, err := filepath.Rel(real(in), real(folder))
	return err == nil && below != ".." && !strings.HasPrefix(below, ".."+string(filepath.Separator))
}
