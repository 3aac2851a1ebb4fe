package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/stoker-dev/stoker/feed/pack/shards"
)

// pack is a folder that `stoker pack` wrote; feed/pack describes its files. Samples have the
// order and the labels of the original folder, for any order in the shards. So training
// on the pack gives the same batches as training on the folder.
type pack struct {
	shards []packShard
	places []packPlace // by sample
	other  string      // the plan of a pack whose pixels differ from the originals
}

type packShard struct {
	name  string
	bytes int64
}

type packPlace struct {
	shard    int
	at, size int64
	sum      [sha256.Size]byte
}

// isPack reports whether a folder is a pack. An incomplete pack is an error.
func isPack(root string) (bool, error) {
	_, shard := os.Stat(filepath.Join(root, shards.TarName(0)))
	_, index := os.Stat(filepath.Join(root, shards.IndexName))
	if shard == nil && errors.Is(index, fs.ErrNotExist) {
		return false, fmt.Errorf("%s is an incomplete pack: run stoker pack again to complete it", root)
	}
	return shard == nil && index == nil, nil
}

// listPack lists the samples of a pack in the order of the original folder.
func (f *Folder) listPack(ctx context.Context, o Options) error {
	found, err := f.readPack(ctx, o)
	if err != nil {
		return err
	}
	names := map[string][]string{}
	for name := range found {
		if folder, base := path.Split(name); hasExtension(base, o.Extensions) {
			names[folder] = append(names[folder], base)
		}
	}
	if err := f.gatherBelow(names, o); err != nil {
		return err
	}
	return f.placeSamples(found)
}

// placeSamples records where each sample is in the shards.
func (f *Folder) placeSamples(found map[string]packPlace) error {
	f.pack.places = make([]packPlace, f.Len())
	for i := range f.pack.places {
		place, known := found[f.Below(i)]
		if !known {
			return fmt.Errorf("the pack has no %s", f.Below(i))
		}
		f.pack.places[i] = place
	}
	return nil
}

// readPack reads the index and the lists of a pack, and returns where each file is, by its
// path.
func (f *Folder) readPack(ctx context.Context, o Options) (map[string]packPlace, error) {
	var index shards.Index
	if err := f.readPackFile(shards.IndexName, &index); err != nil {
		return nil, err
	}
	if index.Format != shards.Format {
		return nil, fmt.Errorf("the pack has format %d, this program reads %d", index.Format, shards.Format)
	}
	f.pack = &pack{}
	if strings.HasPrefix(index.Images, "resized") {
		f.pack.other = index.Plan
		f.notes = append(f.notes, fmt.Sprintf("the pictures of %s are %s", f.root, index.Images))
	}
	if len(index.Bad) > 0 {
		f.notes = append(f.notes, fmt.Sprintf("%d files were left out when it was packed", len(index.Bad)))
	}
	for _, class := range index.Classes {
		f.classes = append(f.classes, string(class))
	}
	found := map[string]packPlace{} // not allocated by the number in the index, which may be wrong
	for k, shard := range index.Shards {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f.pack.shards = append(f.pack.shards, packShard{shard.File, shard.Bytes})
		if err := f.readPackList(k, index.Plan, found); err != nil {
			return nil, err
		}
		if o.Progress != nil {
			o.Progress(len(found))
		}
	}
	if len(found) != index.Samples {
		return nil, fmt.Errorf("the lists of the pack have %d samples, its index has %d", len(found), index.Samples)
	}
	return found, nil
}

// readPackList reads the list of shard k and adds its samples to found.
func (f *Folder) readPackList(k int, plan string, found map[string]packPlace) error {
	var list shards.Shard
	shard := f.pack.shards[k]
	if path.Base(shard.name) != shard.name || path.Ext(shard.name) != ".tar" {
		return fmt.Errorf("the index of the pack names %q, which is not a shard", shard.name)
	}
	if err := f.readPackFile(strings.TrimSuffix(shard.name, ".tar")+".json", &list); err != nil {
		return err
	}
	if list.Plan != plan || list.Bytes != shard.bytes {
		return fmt.Errorf("the list of %s does not match the index of the pack", shard.name)
	}
	for _, sample := range list.Samples {
		name := string(sample.Path)
		class, _, _ := strings.Cut(name, "/")
		if sample.Label < 0 || sample.Label >= len(f.classes) || f.classes[sample.Label] != class {
			return fmt.Errorf("the list of %s has label %d for %s, which is not the label of that class", shard.name,
				sample.Label, name)
		}
		place := packPlace{shard: k, at: sample.At, size: sample.Bytes}
		sum, err := hex.DecodeString(sample.SHA256)
		if copy(place.sum[:], sum); err != nil || len(sum) != len(place.sum) ||
			place.at < 0 || place.size < 0 || place.at > shard.bytes-place.size {
			return fmt.Errorf("the list of %s is damaged at %s", shard.name, name)
		}
		if _, twice := found[name]; twice {
			return fmt.Errorf("the pack has %s twice", name)
		}
		found[name] = place
	}
	return nil
}

func (f *Folder) readPackFile(name string, into any) error {
	err := shards.ReadFile(f.root, name, into)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s of the pack cannot be read: %w: run stoker pack again to rewrite it", name, err)
	}
	return err
}

// openPacked opens the shard of sample i. The file that it returns reads only that sample.
func (f *Folder) openPacked(i int, urgent bool) (File, error) {
	place := &f.pack.places[i]
	shard := f.pack.shards[place.shard]
	if place.size > f.maxFile {
		return File{}, f.tooLarge(place.size)
	}
	file, err := f.openBelow(shard.name, urgent)
	if err != nil {
		return File{}, err
	}
	if file.Size != shard.bytes {
		file.Close()
		return File{}, fmt.Errorf("its shard is damaged: it has %d bytes, %d were packed", file.Size, shard.bytes)
	}
	file.Size, file.shardPart = place.size, shardPart{place.at, &place.sum}
	return file, nil
}

// shardPart is the part of a shard that holds a sample.
type shardPart struct {
	at  int64
	sum *[sha256.Size]byte // of its bytes; nil if unknown
}

// check compares the bytes of a sample with their digest in the pack.
func (p shardPart) check(data []byte) error {
	if p.sum != nil && sha256.Sum256(data) != *p.sum {
		return errors.New("its bytes are not those that were packed: the shard is damaged")
	}
	return nil
}
