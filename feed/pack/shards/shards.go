// Package shards describes the JSON files of a pack: its index, and the list of each shard.
// Package feed/pack writes them, feed/source finds samples by them. It knows neither what is
// packed nor how samples are read.
package shards

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/stoker-dev/stoker/internal/readable"
)

// Format is the version of these files.
const Format = 1

// IndexName is the name of a pack's index. It exists once the pack is complete.
const IndexName = "index.json"

// TarName returns the file name of shard k.
func TarName(k int) string { return fmt.Sprintf("shard-%06d.tar", k) }

// ListName returns the file name of shard k's list.
func ListName(k int) string { return fmt.Sprintf("shard-%06d.json", k) }

// Index describes a complete pack.
type Index struct {
	Format  int          `json:"format"`
	Plan    string       `json:"plan"`
	Images  string       `json:"images"`  // what they are, in words
	Shuffle *uint64      `json:"shuffle"` // the seed; null: in the order of ImageFolder
	Samples int          `json:"samples"`
	Bytes   int64        `json:"bytes"`
	Classes []FilePath   `json:"classes"` // a label is a position in it
	Shards  []IndexShard `json:"shards"`
	Bad     []Bad        `json:"bad"` // files that were skipped
}

// IndexShard describes a shard in the index.
type IndexShard struct {
	File    string `json:"file"`
	Samples int    `json:"samples"`
	Bytes   int64  `json:"bytes"`
}

// Shard is the list of a shard's samples.
type Shard struct {
	Format  int      `json:"format"`
	Plan    string   `json:"plan"`  // digest of data set and options
	First   int      `json:"first"` // number of samples in the shards before it, bad ones included
	Bytes   int64    `json:"bytes"` // of the tar file
	Samples []Sample `json:"samples"`
	Bad     []Bad    `json:"bad"`
}

// Sample describes an image in a shard.
type Sample struct {
	Key    string   `json:"key"`
	Field  string   `json:"field"` // the image's extension
	Path   FilePath `json:"path"`  // of the original, relative to the data set
	Label  int      `json:"label"`
	At     int64    `json:"at"` // offset of the image's bytes
	Bytes  int64    `json:"bytes"`
	SHA256 string   `json:"sha256"` // of those bytes
}

// Bad is a file that was skipped.
type Bad struct {
	Path   FilePath `json:"path"`
	Reason string   `json:"reason"`
}

// EndOffset returns the number of samples in this shard and those before it, bad ones included.
func (s *Shard) EndOffset() int { return s.First + len(s.Samples) + len(s.Bad) }

// ReadFile reads one of a pack's JSON files.
func ReadFile(folder, name string, into any) error {
	const most = 4 << 30
	file, err := readable.Open(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	if err := json.NewDecoder(io.LimitReader(file, most)).Decode(into); err != nil {
		return fmt.Errorf("read %s: %w", file.Name(), err)
	}
	return nil
}
