package summary

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/internal/owned"
)

const (
	mostCache     = 256 << 20 // bytes of a cache that are read
	mostCacheLine = 1 << 20
)

// cacheHeader is the first line: the stoker that wrote the cache.
type cacheHeader struct {
	Stoker  string `json:"stoker"`
	Program string `json:"program"`
}

// Cache is the cache of a folder.
type Cache struct {
	folder    string
	header    cacheHeader
	Summaries map[string]*Summary
}

// OpenCache reads a folder's cache. A cache that is missing or unreadable is empty.
func OpenCache(folder string) *Cache {
	c := &Cache{folder: folder, header: cacheHeader{cli.Version, buildIdentity()}, Summaries: map[string]*Summary{}}
	path := filepath.Join(folder, judged.CacheName)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() > mostCache {
		return c
	}
	file, err := os.Open(path)
	if err != nil {
		return c
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, mostCacheLine)
	var header cacheHeader
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &header) != nil || header != c.header {
		return c
	}
	for lines.Scan() {
		s := &Summary{Known: true}
		if json.Unmarshal(lines.Bytes(), s) == nil {
			c.Summaries[s.Name] = s
		}
	}
	return c
}

// Keep adds the verdict on a new recording to its folder's cache, so that runs need not read the
// recording. It does so in stoker's own folder, and in folders that have a cache. A cache of another
// version stays as it is.
func Keep(j judged.Recording) error {
	c := &Cache{folder: filepath.Dir(j.Path), header: cacheHeader{cli.Version, buildIdentity()}}
	s := c.FindSummary(filepath.Base(j.Path))
	if s == nil || s.Known {
		return nil
	}
	s.takeFrom(j)
	if s.Class == "" { // judging failed, and the error was printed
		return nil
	}
	first, err1 := json.Marshal(c.header)
	line, err2 := json.Marshal(s)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	first, line = append(first, '\n'), append(line, '\n')
	path := filepath.Join(c.folder, judged.CacheName)
	info, err := os.Lstat(path)
	if made := os.IsNotExist(err) && filepath.Base(c.folder) == judged.Folder; !made &&
		(err != nil || !info.Mode().IsRegular()) {
		return nil
	}
	file, err := owned.Append(path, cli.ToUser)
	if err != nil {
		return nil // without a writable folder recordings are read again each time
	}
	defer func() { _ = file.Close() }()
	begins := make([]byte, len(first))
	if n, _ := file.ReadAt(begins, 0); n == 0 {
		line = append(first, line...) // the file is new
	} else if !bytes.Equal(begins, first) {
		return nil
	}
	_, err = file.Write(line) // in one call, because other processes may append, too
	return err
}

// buildIdentity returns a text that differs between builds of one version.
func buildIdentity() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}

// FindSummary returns the summary of a file if it has not changed since, else an empty one; nil without the file.
func (c *Cache) FindSummary(name string) *Summary {
	info, err := os.Stat(filepath.Join(c.folder, name))
	if err != nil {
		return nil
	}
	s := &Summary{Name: name}
	s.Size, s.Modified = info.Size(), info.ModTime().UnixNano()
	if kept := c.Summaries[s.Name]; kept != nil && kept.Size == s.Size && kept.Modified == s.Modified {
		return kept
	}
	return s
}

// Save replaces the cache by the summaries of these files. If the folder is not writable, recordings are
// read again each time.
func (c *Cache) Save(ctx context.Context, files []*Summary) {
	_ = cli.WriteFiles(ctx, cli.Output{
		Name: filepath.Join(c.folder, judged.CacheName),
		Mode: cli.ToUser, Produce: func(w io.Writer) error {
			lines := json.NewEncoder(w)
			err := lines.Encode(c.header)
			for _, s := range files {
				if s.Class != "" { // one that cannot be read may be readable later, without another size or time
					err = errors.Join(err, lines.Encode(s))
				}
			}
			return err
		},
	})
}
