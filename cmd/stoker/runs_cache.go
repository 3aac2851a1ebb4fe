package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
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
	Emulated bool        `json:"emulated"`

	known bool // from the cache
}

// told is nil for what is unknown.
func told(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// cache is a folder's.
type cache struct {
	folder, header string
	summaries      map[string]*summary
}

// openCache reads what is kept of a folder; nothing is no fault.
func openCache(folder string) *cache {
	c := &cache{folder: folder, summaries: map[string]*summary{}}
	header, _ := json.Marshal(map[string]any{"kind": "runs", "stoker": version, "program": program()})
	c.header = string(header)
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
	if !lines.Scan() || lines.Text() != c.header {
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

// program tells builds of one version from each other.
func program() string {
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

// summary is what is kept of a file as it is now, else an empty one; nil where it has gone.
func (c *cache) summary(path string) *summary {
	info, err := os.Stat(path)
	if os.IsNotExist(err) {
		return nil
	}
	s := &summary{Name: filepath.Base(path)}
	if err != nil || !info.Mode().IsRegular() { // reading a pipe would wait for ever
		s.Why, s.known = fmt.Sprintf("read recording %s: it is no file", path), true
		return s
	}
	s.Size, s.Modified = info.Size(), info.ModTime().UnixNano()
	if kept := c.summaries[s.Name]; kept != nil && kept.Size == s.Size && kept.Modified == s.Modified {
		return kept
	}
	return s
}

// save writes all that was concluded under a temporary name, which takes the place of what
// was kept. A folder that takes no file is read anew each time.
func (c *cache) save(files []*summary) {
	file, err := os.CreateTemp(c.folder, cacheName+".*") // 0600
	if err != nil {
		return
	}
	w := bufio.NewWriter(file)
	fmt.Fprintln(w, c.header)
	for _, s := range files {
		if s.Class == "" {
			continue // not concluded, or cannot be read: permissions change without a trace
		}
		if line, err := json.Marshal(s); err == nil {
			_, _ = w.Write(append(line, '\n')) // Flush tells
		}
	}
	err = w.Flush()
	if closed := file.Close(); err == nil && closed == nil {
		err = os.Rename(file.Name(), filepath.Join(c.folder, cacheName))
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
}
