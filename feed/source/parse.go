package source

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Parse opens a data set that the client has listed: any files, in any order, even repeatedly,
// each with any label. Paths are relative to root, or absolute. The list holds, in
// little-endian order:
//
//	count    uint64
//	labels   int64[count]
//	paths    count texts, each with a zero byte behind it
func Parse(root string, list []byte, o Options) (*Folder, error) {
	f, err := openRoot(root, o)
	if err != nil {
		return nil, fmt.Errorf("open data set: %w", err)
	}
	f.given = true
	if err := f.parseList(list); err != nil {
		_ = f.Close() // only read
		return nil, fmt.Errorf("read the list of samples: %w", err)
	}
	if err := f.parsePack(o); err != nil {
		_ = f.Close() // only read
		return nil, fmt.Errorf("open data set: %w", err)
	}
	return f, nil
}

// parsePack finds the samples of a list in a pack, if the root is one.
func (f *Folder) parsePack(o Options) error {
	packed, err := isPack(f.root)
	if !packed || err != nil {
		return err
	}
	found, err := f.readPack(f.ctx, o)
	if err != nil {
		return err
	}
	f.classes = nil // the client has its own
	return f.placeSamples(found)
}

func (f *Folder) parseList(list []byte) error {
	const word = 8
	if len(list) < word {
		return fmt.Errorf("it has %d bytes: expected the number of samples in the first %d", len(list), word)
	}
	count, labels := binary.LittleEndian.Uint64(list), list[word:]
	if count > uint64(len(labels))/word { // before the product can overflow
		return fmt.Errorf("it has %d bytes: not enough for the labels of %d samples", len(list), count)
	}
	paths := labels[count*word:]
	f.ends = make([]uint32, 0, count)
	folders := map[string]string{} // a shuffled list has a run per sample, and few folders
	for i := range int(count) {
		path, rest, found := bytes.Cut(paths, []byte{0})
		if !found {
			return fmt.Errorf("it ends after the paths of %d samples of %d", i, count)
		}
		if err := f.append(folders, path, int64(binary.LittleEndian.Uint64(labels[i*word:]))); err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
		paths = rest
	}
	if len(paths) > 0 {
		return fmt.Errorf("%d bytes follow the paths of its %d samples", len(paths), count)
	}
	return nil
}

// append adds a sample.
func (f *Folder) append(folders map[string]string, path []byte, label int64) error {
	cut := bytes.LastIndexByte(path, '/') + 1
	folder, name := path[:cut], path[cut:]
	if len(name) == 0 {
		return fmt.Errorf("%q is not the path of a file", path)
	}
	if int64(int(label)) != label { // if int has 32 bits
		return fmt.Errorf("label %d is too large for this machine", label)
	}
	if n := len(f.runs); n == 0 || f.runs[n-1].label != int(label) || f.runs[n-1].path != string(folder) {
		known, ok := folders[string(folder)]
		if !ok {
			known = string(folder)
			folders[known] = known
		}
		f.runs = append(f.runs, nameRun{path: known, label: int(label), first: f.Len()})
	}
	return f.addFolder(name, []int{len(name)})
}
