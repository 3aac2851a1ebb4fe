package source

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stoker-dev/stoker/quantity"
)

const (
	// cacheBudget is what objects may take on this machine's disk, unless STOKER_CACHE is set.
	cacheBudget = 20e9
	// mostAhead is what objects that will be read soon may take beyond the budget.
	mostAhead = 256e6
)

// cache keeps objects as files. What this process has asked for stays while it runs: every
// epoch reads each sample once, so dropping the oldest would drop each one just before it is
// needed again. Files of earlier processes are dropped if room is needed, the oldest first. All
// loaders of a process share the cache.
type cache struct {
	folder string
	budget int64

	mu      sync.Mutex
	arrived sync.Cond // an object is there, or fetching it failed
	entries map[string]*cacheEntry
	kept    int64     // bytes within the budget
	passing int64     // bytes beyond the budget, until they are read
	spoilt  time.Time // until then nothing is written: the disk has just refused a write
	left    []string  // files of earlier processes, the oldest first
}

// cacheEntry is an object in the cache.
type cacheEntry struct {
	size    int64
	sum     uint32 // checksum of its bytes
	coming  bool   // it is being fetched
	passing bool   // it is deleted once it has been opened
	left    bool   // from an earlier process, and not asked for since
}

// fileName returns the name of an object's file. It contains the checksum: files are not
// synced, and after a power cut one may have its size but not its bytes.
func (e *cacheEntry) fileName(name string) string { return fmt.Sprintf("%s-%08x", name, e.sum) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var shared struct {
	sync.Mutex

	cache *cache
}

// theCache returns the cache of this process, in $STOKER_CACHE_DIR or else in the user's cache
// folder.
func theCache() (*cache, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.cache != nil {
		return shared.cache, nil
	}
	folder := os.Getenv("STOKER_CACHE_DIR")
	if folder == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("find a cache for objects: %w: set STOKER_CACHE_DIR", err)
		}
		folder = filepath.Join(base, "stoker")
	}
	folder = filepath.Join(folder, "objects") // a separate folder, as files in it are deleted
	budget := int64(cacheBudget)
	if text := os.Getenv("STOKER_CACHE"); text != "" {
		size, err := quantity.ParseBytes(text)
		if err != nil {
			return nil, fmt.Errorf("STOKER_CACHE: %w", err)
		}
		budget = int64(size)
	}
	c, err := openCache(folder, budget, time.Now())
	if err == nil {
		shared.cache = c
	}
	return c, err
}

// coming begins the name of an object that is being fetched. If such a file was not written to
// for the time abandoned, its process was killed.
const (
	coming    = "coming-"
	abandoned = time.Hour
)

// openCache takes over the files of earlier processes, as far as the budget allows.
func openCache(folder string, budget int64, now time.Time) (*cache, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make a cache for objects: %w", err)
	}
	if err := isOurs(folder); err != nil {
		return nil, fmt.Errorf("cache objects: %w", err)
	}
	c := &cache{folder: folder, budget: budget, entries: map[string]*cacheEntry{}}
	c.arrived.L = &c.mu
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("open the cache of objects: %w", err)
	}
	ages := map[string]time.Time{}
	for _, file := range files {
		name := file.Name()
		info, err := file.Info()
		if err != nil {
			continue // deleted meanwhile
		}
		object, sum, _ := strings.Cut(name, "-")
		if sum, err := strconv.ParseUint(sum, 16, 32); err == nil && len(object) == nameLength {
			c.entries[object] = &cacheEntry{size: info.Size(), sum: uint32(sum), left: true}
			c.kept, ages[object], c.left = c.kept+info.Size(), info.ModTime(), append(c.left, object)
		} else if strings.HasPrefix(name, coming) && now.Sub(info.ModTime()) > abandoned {
			_ = os.Remove(filepath.Join(folder, name))
		}
	}
	slices.SortFunc(c.left, func(a, b string) int { return ages[a].Compare(ages[b]) })
	c.makeRoom(0)
	return c, nil
}

// makeRoom deletes files of earlier processes until there is room or none are left. The caller
// holds mu.
func (c *cache) makeRoom(size int64) {
	for ; c.kept+size > c.budget && len(c.left) > 0; c.left = c.left[1:] {
		if e := c.entries[c.left[0]]; e != nil && e.left {
			c.dropEntry(c.left[0], e)
		}
	}
}

// nameLength is the length of a complete object's name without its checksum.
const nameLength = 2 * sha256.Size

// nameOf returns the name of an object's file. Objects of different content have different
// names.
func (b *bucket) nameOf(below string, o object) string {
	hash := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s%s\n%s\n%d", b.client.endpoint.Host, b.name, b.prefix, below,
		o.etag, o.size))
	return hex.EncodeToString(hash[:])
}

// openCached fetches an object into the cache and opens it. If the cache has no room for it,
// its file is deleted while it is open.
func (f *Folder) openCached(i int) (File, error) {
	b, c := f.bucket, f.bucket.cache
	want, below := b.objects[i], f.Below(i)
	name := b.nameOf(below, want)
	for range 2 {
		if err := c.haveObject(b, name, below, want); ofDisk(err) {
			return b.direct(below, want, err)
		} else if err != nil {
			return File{}, err
		}
		file, err := f.openEntry(name, want)
		if err == nil || IsOutage(err) {
			return file, err
		}
	}
	err := fmt.Errorf("read the cache %s: somebody removes or changes what is in it", c.folder)
	return File{}, &Outage{Err: err, Lasts: true}
}

// openEntry opens an object that is in the cache.
func (f *Folder) openEntry(name string, want object) (file File, err error) {
	c := f.bucket.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[name]
	if e == nil || e.coming {
		return File{}, errNoFile // its file was changed or removed
	}
	if file, err = f.openBelow(e.fileName(name), true); err == nil && file.Size != want.size {
		file.Close()
		err = errNoFile
	}
	if e.passing && err == nil || err != nil && !IsOutage(err) {
		c.dropEntry(name, e)
	}
	return file, err
}

// mostDirect is the largest object that is read into memory without the cache.
const mostDirect = 64 << 20

// direct fetches an object into memory, because the cache's disk is full or read-only. why is
// the error of the disk.
func (b *bucket) direct(below string, want object, why error) (File, error) {
	if want.size > mostDirect {
		return File{}, &Outage{Err: why, Lasts: true}
	}
	memory, file, err := inMemory(want.size)
	if err != nil {
		return File{}, &Outage{Err: errors.Join(why, err)}
	}
	_, err = b.fetchObject(below, want, memory)
	_ = memory.Close() // only a copy: what was written is in file
	if err != nil {
		file.Close()
		return File{}, asOutage(err)
	}
	return file, nil
}

// asOutage marks an error of the cache or of memory as an outage, since the object may be
// sound.
func asOutage(err error) error {
	if ofDisk(err) {
		return &Outage{Err: err}
	}
	return err
}

// ofDisk reports whether an error comes from a local file and not from the store.
func ofDisk(err error) bool {
	return errors.As(err, new(*fs.PathError)) || errors.As(err, new(*os.LinkError))
}

// dropEntry deletes an object's file. The caller holds mu.
func (c *cache) dropEntry(name string, e *cacheEntry) {
	_ = os.Remove(filepath.Join(c.folder, e.fileName(name)))
	delete(c.entries, name)
	if e.passing {
		c.passing -= e.size
	} else {
		c.kept -= e.size
	}
}

// haveObject fetches an object unless the cache has it. If it is being fetched, haveObject
// waits.
func (c *cache) haveObject(b *bucket, name, below string, want object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.entries[name]; e != nil; e = c.entries[name] {
		switch {
		case e.coming:
			c.arrived.Wait()
		case !e.left:
			return nil
		default:
			e.left = false
			_ = c.withEntry(name, e, func() error { return c.checkLeft(name, e) }) // a damaged file is fetched again
		}
	}
	if time.Now().Before(c.spoilt) {
		return errSpoilt
	}
	c.makeRoom(want.size)
	e := &cacheEntry{size: want.size, passing: c.kept+want.size > c.budget}
	if c.entries[name] = e; e.passing {
		c.passing += e.size
	} else {
		c.kept += e.size
	}
	err := c.withEntry(name, e, func() error { return c.writeEntry(b, name, below, want, e) })
	if ofDisk(err) {
		c.spoilt = time.Now().Add(spoils)
	}
	return err
}

// withEntry calls do for an entry while others wait for it, and drops the entry if do fails.
// The caller holds mu, which is released during do.
func (c *cache) withEntry(name string, e *cacheEntry, do func() error) error {
	e.coming = true
	c.mu.Unlock()
	err := do()
	c.mu.Lock()
	if e.coming = false; err != nil {
		c.dropEntry(name, e)
	}
	c.arrived.Broadcast()
	return err
}

// spoils is how long nothing is written to a disk that has refused a write. Meanwhile objects
// are read into memory.
const spoils = 10 * time.Second

var errSpoilt = &fs.PathError{
	Op: "write to", Path: "the cache of objects",
	Err: errors.New("its disk has just refused a write"),
}

// checkLeft checks that a file of an earlier process has the checksum in its name.
func (c *cache) checkLeft(name string, e *cacheEntry) error {
	file, err := os.Open(filepath.Join(c.folder, e.fileName(name)))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	sum := crc32.New(castagnoli)
	if _, err := io.Copy(sum, file); err != nil {
		return err
	}
	if sum.Sum32() != e.sum {
		return errNoFile
	}
	return nil
}

// writeEntry fetches an object into a temporary file, and renames it when it is complete.
func (c *cache) writeEntry(b *bucket, name, below string, want object, e *cacheEntry) error {
	file, err := os.CreateTemp(c.folder, coming+"*")
	if err != nil {
		return fmt.Errorf("cache an object: %w", err)
	}
	e.sum, err = b.fetchObject(below, want, file)
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(c.folder, e.fileName(name)))
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}

// fetchAhead fetches an object that will be read soon, if there is room for it.
func (f *Folder) fetchAhead(i int) {
	c, want := f.bucket.cache, f.bucket.objects[i]
	c.mu.Lock()
	c.makeRoom(want.size)
	room := c.kept+want.size <= c.budget || c.passing+want.size <= mostAhead
	c.mu.Unlock()
	if room && want.size <= f.maxFile {
		// an error is left to the reader to find
		_ = c.haveObject(f.bucket, f.bucket.nameOf(f.Below(i), want), f.Below(i), want)
	}
}
