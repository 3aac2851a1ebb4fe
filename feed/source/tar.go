package source

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// Archive is a listed data set in a tar file. It is safe for concurrent use.
type Archive struct {
	Folder                     // for the names; it opens no files
	places map[string]byteSpan // of members, by their path
}

// byteSpan is the position of a member's bytes in the file.
type byteSpan struct{ at, size int64 }

// ListTar lists the images in a tar file as List does for the unpacked folder. If all are in
// one folder of the archive, such as "train/", the classes are the folders in that one.
func ListTar(ctx context.Context, file string, o Options) (*Archive, error) {
	if o.Extensions == nil {
		o.Extensions = images
	}
	open, err := openWaiting(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("list data set: %w", err)
	}
	a := &Archive{Folder{root: file, open: open, maxFile: defaultMaxFile}, map[string]byteSpan{}}
	a.ctx, a.stop = context.WithCancel(context.Background())
	if err := a.readMembers(ctx, o); err != nil {
		_ = a.Close() // only read
		return nil, fmt.Errorf("list data set: %s: %w", file, err)
	}
	return a, nil
}

// packed maps the first bytes of compressed files to the tool that decompresses them.
var packed = map[string]string{"\x1f\x8b": "gunzip", "BZh": "bunzip2", "\xfd7zXZ": "unxz", "\x28\xb5\x2f\xfd": "unzstd"}

func (a *Archive) readMembers(ctx context.Context, o Options) error {
	var head [8]byte
	if _, err := a.open.ReadAt(head[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	for magic, tool := range packed {
		if bytes.HasPrefix(head[:], []byte(magic)) {
			return fmt.Errorf("it is packed, so that nothing in it can be found: %s it first", tool)
		}
	}
	others, err := a.members(ctx, o)
	if err != nil {
		return err
	}
	if others > 0 {
		a.notes = append(a.notes, fmt.Sprintf("%d links and special files in %s are left out", others, a.root))
	}
	a.liftFolder()
	return a.arrange(o)
}

// members reads the headers. Of several members with one name the last counts, as when
// unpacking.
func (a *Archive) members(ctx context.Context, o Options) (others int, err error) {
	info, err := a.open.Stat()
	if err != nil {
		return 0, err
	}
	for r := tar.NewReader(a.open); ctx.Err() == nil; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return others, nil
		}
		if err != nil {
			return 0, err
		}
		name := path.Clean(strings.TrimLeft(header.Name, "/"))
		if !hasExtension(name, o.Extensions) || header.Typeflag == tar.TypeDir {
			continue
		}
		sparse := header.Typeflag == tar.TypeGNUSparse || header.PAXRecords["GNU.sparse.major"] != ""
		if sparse || header.Typeflag != tar.TypeReg {
			others++
			continue
		}
		at, err := a.open.Seek(0, io.SeekCurrent)
		if err != nil {
			return 0, err
		}
		if name == ".." || strings.HasPrefix(name, "../") || at+header.Size > info.Size() {
			return 0, fmt.Errorf("%q leads out of the archive, or the archive is cut short in it", header.Name)
		}
		a.places[name] = byteSpan{at, header.Size}
		if o.Progress != nil {
			o.Progress(len(a.places))
		}
	}
	return 0, ctx.Err()
}

// liftFolder removes a top folder that holds all members, as long as classes are below it.
func (a *Archive) liftFolder() {
	for {
		common := ""
		for name := range a.places {
			top, rest, _ := strings.Cut(name, "/")
			if !strings.Contains(rest, "/") || common != "" && top != common {
				return
			}
			common = top
		}
		if common == "" {
			return
		}
		below := make(map[string]byteSpan, len(a.places))
		for name, at := range a.places {
			below[name[len(common)+1:]] = at
		}
		a.places = below
		a.notes = append(a.notes, fmt.Sprintf("all files are in %s/: the folders in it are the classes", common))
	}
}

// arrange adds the members to a in List's order.
func (a *Archive) arrange(o Options) error {
	names := map[string][]string{} // by folder
	for name := range a.places {
		folder, base := path.Split(name)
		if folder == "" {
			continue // not in a class
		}
		class, _, _ := strings.Cut(folder, "/")
		if names[folder] == nil && !slices.Contains(a.classes, class) {
			a.classes = append(a.classes, class)
		}
		names[folder] = append(names[folder], base)
	}
	if len(a.classes) == 0 {
		return errors.New("no image in a folder: a data set has one folder per class, with its images in it")
	}
	return a.gatherBelow(names, o)
}

// Size returns the number of bytes of sample i's image.
func (a *Archive) Size(i int) (int64, error) { return a.places[a.Below(i)].size, nil }

// Read reads the image of sample i into buffer, or into a larger one if buffer is too small.
func (a *Archive) Read(i int, buffer []byte) ([]byte, error) {
	place := a.places[a.Below(i)]
	if place.size > a.maxFile {
		return nil, a.tooLarge(place.size)
	}
	buffer = slices.Grow(buffer[:0], int(place.size))[:place.size]
	err := a.retrying(i, func() error {
		_, err := a.open.ReadAt(buffer, place.at)
		if errors.Is(err, io.EOF) && place.size == 0 {
			err = nil
		}
		return err
	})
	return buffer, err
}
