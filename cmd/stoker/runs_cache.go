package main

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

	"github.com/stoker-dev/stoker/internal/owned"
)

// cacheName is the file of a folder in which runs keeps what it concluded of recordings:
// a header, and a line each. What it cannot be read of, is of other sizes or times, or of another
// stoker, is concluded anew.
const cacheName = ".stoker-runs.jsonl"

const (
	mostCache     = 256 << 20 // bytes that are read of it
	mostCacheLine = 1 << 20
)

// summary is what is concluded of a recording; nil is unknown. It does not hold what a
// user's prices change.
type summary struct {
	Name     string      `json:"name"`
	Size     int64       `json:"size"`
	Modified int64       `json:"modified_ns"`
	Why      string      `json:"why,omitempty"` // it cannot be read
	Started  float64     `json:"started"`
	Seconds  float64     `json:"seconds"`
	Command  string      `json:"command"`
	Job      string      `json:"job"`
	Host     string      `json:"host"`
	Ranks    []int       `json:"ranks"`
	World    int         `json:"world"`
	Devices  int         `json:"devices"`
	Class    string      `json:"class"`
	Stall    *float64    `json:"stall"`
	Share    *float64    `json:"idle_share"`
	Rate     *float64    `json:"samples_per_s"`
	Watts    [3]*float64 `json:"idle_watts"`
	Prices   [4]*float64 `json:"list_prices"` // per GPU hour, kWh, of the grid, PUE
	Fix      string      `json:"fix"`
	Speedup  *float64    `json:"speedup"`
	AtMost   *float64    `json:"speedup_at_most"`
	Emulated bool        `json:"emulated"`
	Ended    string      `json:"ended,omitempty"`

	known bool // from the cache
}

// cacheHeader is the first line: by which stoker.
type cacheHeader struct {
	Stoker  string `json:"stoker"`
	Program string `json:"program"`
}

// cache is a folder's.
type cache struct {
	folder    string
	header    cacheHeader
	summaries map[string]*summary
}

// openCache reads what is kept of a folder; nothing is no fault.
func openCache(folder string) *cache {
	c := &cache{folder: folder, header: cacheHeader{version, buildIdentity()}, summaries: map[string]*summary{}}
	path := filepath.Join(folder, cacheName)
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
		s := &summary{known: true}
		if json.Unmarshal(lines.Bytes(), s) == nil {
			c.summaries[s.Name] = s
		}
	}
	return c
}

// keepSummary puts what is concluded of a recording that was just made into what is kept of
// its folder, so that runs need not read it: in stoker's own folder, and where runs was asked
// already. What another stoker keeps there stays.
func keepSummary(j judgedRecording) error {
	c := &cache{folder: filepath.Dir(j.path), header: cacheHeader{version, buildIdentity()}}
	s := c.keptSummary(filepath.Base(j.path))
	if s == nil || s.known {
		return nil
	}
	s.takeFrom(j)
	if s.Class == "" { // a fault of ours, which was told
		return nil
	}
	first, err1 := json.Marshal(c.header)
	line, err2 := json.Marshal(s)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	first, line = append(first, '\n'), append(line, '\n')
	path := filepath.Join(c.folder, cacheName)
	info, err := os.Lstat(path)
	if made := os.IsNotExist(err) && filepath.Base(c.folder) == runsFolder; !made &&
		(err != nil || !info.Mode().IsRegular()) {
		return nil
	}
	file, err := owned.Append(path, toUser)
	if err != nil {
		return nil // a folder that takes no file is read anew each time
	}
	defer func() { _ = file.Close() }()
	begins := make([]byte, len(first))
	if n, _ := file.ReadAt(begins, 0); n == 0 {
		line = append(first, line...) // it is new
	} else if !bytes.Equal(begins, first) {
		return nil
	}
	_, err = file.Write(line) // at once: others may append as well
	return err
}

// buildIdentity tells builds of one version from each other.
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

// keptSummary is what is kept of a file as it is now, else an empty one; nil where it has gone.
func (c *cache) keptSummary(name string) *summary {
	info, err := os.Stat(filepath.Join(c.folder, name))
	if err != nil {
		return nil
	}
	s := &summary{Name: name}
	s.Size, s.Modified = info.Size(), info.ModTime().UnixNano()
	if kept := c.summaries[s.Name]; kept != nil && kept.Size == s.Size && kept.Modified == s.Modified {
		return kept
	}
	return s
}

// save writes all that was concluded, in the place of what was kept. A folder that takes no
// file is read anew each time.
func (c *cache) save(ctx context.Context, files []*summary) {
	_ = writeFiles(ctx, output{filepath.Join(c.folder, cacheName), toUser, func(w io.Writer) error {
		lines := json.NewEncoder(w)
		err := lines.Encode(c.header)
		for _, s := range files {
			if s.Class != "" { // one that cannot be read may be readable later, without another size or time
				err = errors.Join(err, lines.Encode(s))
			}
		}
		return err
	}})
}
