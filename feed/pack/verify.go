package pack

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/stoker-dev/stoker/feed/pack/shards"
)

// Verify reads every shard of a pack back. If from is nil, it compares the content with the
// digests in the lists. Otherwise it also reads the originals again and compares the results
// of them.
func Verify(ctx context.Context, from Source, folder string, o Options) (*shards.Index, error) {
	index, err := verify(ctx, from, folder, o)
	if err != nil {
		return nil, fmt.Errorf("verify %s: %w", folder, err)
	}
	return index, nil
}

func verify(ctx context.Context, from Source, folder string, o Options) (*shards.Index, error) {
	index := &shards.Index{}
	if err := shards.ReadFile(folder, shards.IndexName, index); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = errors.New("it has no index: it is not a pack, or it is incomplete")
		}
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var originals <-chan chan packed
	if from != nil {
		p := newPacker(from, folder, o)
		if p.index.Plan != index.Plan {
			return nil, errChanged
		}
		originals = p.makeAhead(ctx, 0)
	}
	done := 0
	for k := range index.Shards {
		list, err := readList(folder, k)
		if errors.Is(err, os.ErrNotExist) || err == nil && list.Plan != index.Plan {
			err = fmt.Errorf("%s is missing, incomplete, or does not match the index", shards.TarName(k))
		}
		if err != nil {
			return nil, err
		}
		if err := readBack(ctx, folder, k, list, func() { done++; o.Progress(done, index.Samples) }); err != nil {
			return nil, fmt.Errorf("%s: %w", shards.TarName(k), err)
		}
		if err := compareOriginals(list, originals); err != nil {
			return nil, fmt.Errorf("%s: %w", shards.TarName(k), err)
		}
	}
	if done != index.Samples {
		return nil, fmt.Errorf("its shards hold %d samples, its index names %d", done, index.Samples)
	}
	return index, ctx.Err()
}

// readBack reads a whole shard and compares it with its list.
func readBack(ctx context.Context, folder string, k int, list *shards.Shard, each func()) error {
	file, err := os.Open(filepath.Join(folder, shards.TarName(k)))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	r := tar.NewReader(bufio.NewReaderSize(file, 1<<20))
	for _, s := range list.Samples {
		if err := ctx.Err(); err != nil {
			return err
		}
		digest := sha256.New()
		var label [24]byte
		if err := readMember(r, s.Key+"."+s.Field, digest); err != nil {
			return err
		}
		if hex.EncodeToString(digest.Sum(nil)) != s.SHA256 {
			return fmt.Errorf("%s differs from what was packed", s.Key)
		}
		n, err := nextMember(r, s.Key+".cls", label[:])
		if err != nil {
			return err
		}
		if string(label[:n]) != strconv.Itoa(s.Label) {
			return fmt.Errorf("%s has label %q, %d was packed", s.Key, label[:n], s.Label)
		}
		if err := readMember(r, s.Key+".json", io.Discard); err != nil {
			return err
		}
		each()
	}
	header, err := r.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("it has %s, which is not in its list", header.Name)
}

// readMember reads the next member, which must have the given name.
func readMember(r *tar.Reader, name string, into io.Writer) error {
	if _, err := nextMember(r, name, nil); err != nil {
		return err
	}
	_, err := io.Copy(into, r)
	return err
}

// nextMember goes to the next member, which must have the given name, and reads its beginning.
func nextMember(r *tar.Reader, name string, into []byte) (int, error) {
	header, err := r.Next()
	if err != nil {
		return 0, fmt.Errorf("expected %s: %w", name, err)
	}
	if header.Name != name {
		return 0, fmt.Errorf("expected %s, found %s", name, header.Name)
	}
	n, err := io.ReadFull(r, into)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}

// compareOriginals compares a shard's list with the originals, which are made again.
func compareOriginals(list *shards.Shard, originals <-chan chan packed) error {
	if originals == nil {
		return nil
	}
	bad := map[shards.FilePath]bool{}
	for _, b := range list.Bad {
		bad[b.Path] = true
	}
	samples := list.Samples
	for range list.EndOffset() - list.First {
		made, more := <-originals
		if !more {
			return errors.New("the data set has fewer samples than the pack")
		}
		now := <-made
		if bad[now.Path] {
			continue
		}
		if now.err != nil {
			return now.err
		}
		if len(samples) == 0 || samples[0].Key != now.Key || samples[0].Label != now.Label ||
			samples[0].SHA256 != now.SHA256 {
			return fmt.Errorf("%s is not what was packed: the file has changed, or the shard", now.Path)
		}
		samples = samples[1:]
	}
	return nil
}
