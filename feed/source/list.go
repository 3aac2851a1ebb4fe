package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/stoker-dev/stoker/internal/readable"
)

// Options say what to list.
type Options struct {
	Extensions []string // of images, lower case; nil: Images
	AllowEmpty bool     // classes without an image are allowed
	MaxFile    int64    // bytes of a file, default 256 MB; a larger one cannot be read
	// Progress is called from time to time with the number of files found so far. Any thread may
	// call it, but only one at a time.
	Progress func(files int)
}

const (
	// defaultMaxFile: the largest photographs have some 100 MB. A larger file is not an image,
	// and a buffer per thread needs a bound.
	defaultMaxFile = 256e6
	// readers is how many threads list folders. There are more than cores because they wait on
	// network storage and cold disks, where more than 16 in flight are not faster.
	readers = 16
	// entries is how many entries of a folder are read at a time.
	entries = 4096
)

// List lists the images below root as torchvision's ImageFolder does. Classes are the
// subfolders in sorted order. The folders below a class are walked, symbolic links too, and
// come in the order of their paths, files in the order of their names. A link to a folder above
// it is an error: ImageFolder would list its images forty times.
func List(ctx context.Context, root string, o Options) (*Folder, error) {
	if o.Extensions == nil {
		o.Extensions = images
	}
	if InBucket(root) {
		f, err := listBucket(ctx, root, o)
		if err != nil {
			return nil, fmt.Errorf("list data set: %w", err)
		}
		return f, nil
	}
	f, err := openRoot(root, o)
	if err != nil {
		return nil, fmt.Errorf("list data set: %w", err)
	}
	packed, err := isPack(root)
	switch {
	case packed:
		err = f.listPack(ctx, o)
	case err == nil:
		err = f.listFolders(ctx, o)
	}
	if err != nil {
		_ = f.Close() // only read
		return nil, fmt.Errorf("list data set: %w", err)
	}
	return f, nil
}

// openRoot opens the root of a data set, without listing samples.
func openRoot(root string, o Options) (*Folder, error) {
	if info, err := os.Stat(root); err == nil && !info.IsDir() { // opening a pipe would block
		return nil, fmt.Errorf("%s is not a folder: a data set is a folder with one subfolder per class", root)
	}
	ctx, stop := context.WithCancel(context.Background())
	open, err := openWaiting(ctx, root)
	if err != nil {
		stop()
		return nil, err
	}
	reserve.fillReserve()
	f := &Folder{root: root, open: open, maxFile: cmp.Or(o.MaxFile, defaultMaxFile), ctx: ctx, stop: stop}
	if f.conn, err = open.SyscallConn(); err != nil {
		_ = f.Close() // only read
		return nil, err
	}
	return f, nil
}

func (f *Folder) listFolders(ctx context.Context, o Options) error {
	found, err := f.open.ReadDir(-1)
	if err != nil {
		return err
	}
	for _, entry := range found {
		folder, err := isFolder(f.root, entry)
		if err != nil {
			return err
		}
		if folder {
			f.classes = append(f.classes, entry.Name())
		}
	}
	if len(f.classes) == 0 {
		return fmt.Errorf("no class folder in %s: a data set has one subfolder per class, with its images in it",
			f.root)
	}
	sortNames(f.classes)
	w := newWalk(ctx, f.root, o)
	if err := w.walkClasses(f.classes); err != nil {
		return err
	}
	f.notes = w.notes
	slices.Sort(f.notes)
	return f.gather(w.folders, o)
}

// gather adds the listed folders to f in ImageFolder's order, and checks for empty classes.
func (f *Folder) gather(folders []folder, o Options) error {
	slices.SortFunc(folders, func(a, b folder) int {
		if a.class != b.class {
			return a.class - b.class
		}
		// Compare without the final slash: os.walk's paths have none, and "-" sorts before "/".
		return compareNames(a.path[:len(a.path)-1], b.path[:len(b.path)-1])
	})
	full := make([]bool, len(f.classes))
	text, files := 0, 0
	for _, in := range folders {
		text, files = text+len(in.names), files+len(in.ends)
	}
	f.names, f.ends = make([]byte, 0, text), make([]uint32, 0, files)
	for _, in := range folders {
		full[in.class] = true
		f.runs = append(f.runs, nameRun{path: in.path, label: in.class, first: f.Len()})
		if err := f.addFolder(in.names, in.ends); err != nil {
			return err
		}
	}
	var empty []string
	for i, class := range f.classes {
		if !full[i] {
			empty = append(empty, class)
		}
	}
	if len(empty) > 0 && !o.AllowEmpty {
		// This is torchvision's sentence, which people search for.
		err := fmt.Errorf("found no valid file for the classes %s. Supported extensions are: %s", someOf(empty),
			strings.Join(o.Extensions, ", "))
		if len(f.notes) > 0 {
			err = fmt.Errorf("%w: %s", err, f.notes[0])
		}
		return err
	}
	return nil
}

// someOf returns the first names of a list as text.
func someOf(names []string) string {
	const named = 20
	if len(names) <= named {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:named], ", "), len(names)-named)
}

// treeWalk is a listing in progress: a stack of folders from which every reader takes and to
// which it adds, so that a class with many folders is shared too.
type treeWalk struct {
	ctx  context.Context
	root string
	Options

	mu      sync.Mutex
	more    sync.Cond // a folder was added, or nothing more will be
	todo    []place
	busy    int
	err     error
	files   int
	folders []folder
	notes   []string
}

// folder is a listed folder of a class.
type folder struct {
	path  string // below the root, with a slash at its end
	class int
	names []byte // all names, one after the other
	ends  []int  // where each name ends in names
}

// gatherBelow is gather for names that are grouped by their folder, as "class/below/".
func (f *Folder) gatherBelow(names map[string][]string, o Options) error {
	sortNames(f.classes)
	var folders []folder
	for path, in := range names {
		class, _, _ := strings.Cut(path, "/")
		folders = append(folders, packNames(place{strings.TrimSuffix(path, "/"), slices.Index(f.classes, class)}, in))
	}
	return f.gather(folders, o)
}

// place is a folder to be listed.
type place struct {
	path  string // below the root, without a slash at its end
	class int
}

func newWalk(ctx context.Context, root string, o Options) *treeWalk {
	w := &treeWalk{ctx: ctx, root: root, Options: o}
	w.more.L = &w.mu
	return w
}

func (w *treeWalk) walkClasses(classes []string) error {
	for i, class := range slices.Backward(classes) {
		w.todo = append(w.todo, place{class, i})
	}
	var all sync.WaitGroup
	for range readers {
		all.Go(w.walkPlaces)
	}
	all.Wait()
	return w.err
}

func (w *treeWalk) walkPlaces() {
	for {
		at, ok := w.takePlace()
		if !ok {
			return
		}
		listed, below, err := w.readFolder(at)
		w.putListed(listed, below, err)
	}
}

func (w *treeWalk) takePlace() (place, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.todo) == 0 && w.busy > 0 && w.err == nil {
		w.more.Wait()
	}
	if len(w.todo) == 0 || w.err != nil {
		w.more.Broadcast()
		return place{}, false
	}
	at := w.todo[len(w.todo)-1]
	w.todo = w.todo[:len(w.todo)-1]
	w.busy++
	return at, true
}

func (w *treeWalk) putListed(listed folder, below []place, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy--
	w.todo = append(w.todo, below...)
	w.more.Broadcast()
	switch {
	case errors.Is(err, fs.ErrPermission): // os.walk skips such a folder silently
		w.notes = append(w.notes, fmt.Sprintf("%v: the images in it are left out, as ImageFolder does", err))
	case err != nil && w.err == nil:
		w.err = err
	case err == nil && len(listed.ends) > 0:
		w.folders = append(w.folders, listed)
		w.files += len(listed.ends)
		if w.Progress != nil {
			w.Progress(w.files)
		}
	}
}

// readFolder lists one folder: its images, and the folders below it.
func (w *treeWalk) readFolder(at place) (folder, []place, error) {
	if err := w.ctx.Err(); err != nil {
		return folder{}, nil, err
	}
	path := joinPath(w.root, at.path)
	open, err := openWaiting(w.ctx, path)
	if err != nil {
		return folder{}, nil, err
	}
	defer func() { _ = open.Close() }() // only read
	var names []string
	var below []place
	for {
		found, err := open.ReadDir(entries)
		images, folders, wrong := w.sortFolders(at, path, found)
		if wrong != nil {
			return folder{}, nil, wrong
		}
		names, below = append(names, images...), append(below, folders...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return folder{}, nil, err
		}
	}
	return packNames(at, names), below, nil
}

// sortFolders separates a folder's entries into images and folders.
func (w *treeWalk) sortFolders(at place, path string, found []fs.DirEntry) (names []string, below []place, err error) {
	for _, entry := range found {
		name := entry.Name()
		folder, err := isFolder(path, entry)
		if err != nil {
			return nil, nil, err
		}
		if !folder {
			if hasExtension(name, w.Extensions) {
				names = append(names, name)
			}
			continue
		}
		if entry.Type()&fs.ModeSymlink != 0 {
			if err := w.refuseLoop(at.path, name); err != nil {
				return nil, nil, err
			}
		}
		below = append(below, place{at.path + "/" + name, at.class})
	}
	return names, below, nil
}

// openWaiting opens a folder or an archive, and retries during an outage. A pipe does not block
// it.
func openWaiting(ctx context.Context, name string) (*os.File, error) {
	var file *os.File
	err := WaitOut(ctx, func() (err error) { file, err = readable.Open(name); return err })
	return file, err
}

// packNames sorts the names and joins them into one text.
func packNames(at place, names []string) folder {
	sortNames(names)
	total := 0
	for _, name := range names {
		total += len(name)
	}
	in := folder{path: at.path + "/", class: at.class, names: make([]byte, 0, total), ends: make([]int, 0, len(names))}
	for _, name := range names {
		in.names = append(in.names, name...)
		in.ends = append(in.ends, len(in.names))
	}
	return in
}

// refuseLoop returns an error if the link called name leads to one of the folders above it.
func (w *treeWalk) refuseLoop(path, name string) error {
	link := joinPath(w.root, path+"/"+name)
	target, err := os.Stat(link)
	if err != nil {
		return nil // removed: listing it will fail
	}
	for at := path; ; {
		above, err := os.Stat(joinPath(w.root, at))
		if err == nil && os.SameFile(above, target) {
			return fmt.Errorf(
				"%s is a link to the folder %s, which it lies in: its images would be listed again and again: remove the link", link, joinPath(w.root, at))
		}
		if at == "" {
			return nil
		}
		at = at[:max(0, strings.LastIndexByte(at, '/'))]
	}
}

// isFolder is os.DirEntry.is_dir of Python: it follows links, and what cannot be examined is
// not a folder. But if only the machine is at fault, it returns an error, because images would
// be missing.
func isFolder(path string, entry fs.DirEntry) (bool, error) {
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.IsDir(), nil
	}
	info, err := os.Stat(joinPath(path, entry.Name()))
	if err != nil && IsOutage(err) {
		return false, err
	}
	return err == nil && info.IsDir(), nil
}
