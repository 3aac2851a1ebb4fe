// Package shards has what the JSON files of a pack say: its index, and the list beside each shard. feed/pack writes
// them, feed/source reads samples by them. It knows neither what is packed nor how samples are read.
package shards

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/stoker-dev/stoker/internal/readable"
)

// Format is the number of what is written here.
const Format = 1

// IndexName is the file of a pack's index, there once the pack is whole.
const IndexName = "index.json"

// TarName is the file of shard k.
func TarName(k int) string { return fmt.Sprintf("shard-%06d.tar", k) }

// ListName is the file of the list beside it.
func ListName(k int) string { return fmt.Sprintf("shard-%06d.json", k) }

// Index is what a whole pack has.
type Index struct {
	Format  int          `json:"format"`
	Plan    string       `json:"plan"`
	Images  string       `json:"images"`  // what they are
	Shuffle *uint64      `json:"shuffle"` // the seed; null: in the order of ImageFolder
	Samples int          `json:"samples"`
	Bytes   int64        `json:"bytes"`
	Classes []FilePath   `json:"classes"` // a label is a place in it
	Shards  []IndexShard `json:"shards"`
	Bad     []Bad        `json:"bad"` // files that were left out
}

// IndexShard is a shard of an index.
type IndexShard struct {
	File    string `json:"file"`
	Samples int    `json:"samples"`
	Bytes   int64  `json:"bytes"`
}

// Shard is the list beside a shard: what is in it, and where.
type Shard struct {
	Format  int      `json:"format"`
	Plan    string   `json:"plan"`  // of which data set and options it is: a digest
	First   int      `json:"first"` // how many samples the shards before it have, bad ones included
	Bytes   int64    `json:"bytes"` // of the tar file
	Samples []Sample `json:"samples"`
	Bad     []Bad    `json:"bad"`
}

// Sample is an image in a shard.
type Sample struct {
	Key    string   `json:"key"`
	Field  string   `json:"field"` // the image's extension
	Path   FilePath `json:"path"`  // of the original, below the data set
	Label  int      `json:"label"`
	At     int64    `json:"at"` // where the image's bytes begin
	Bytes  int64    `json:"bytes"`
	SHA256 string   `json:"sha256"` // of them
}

// Bad is a file that was left out.
type Bad struct {
	Path   FilePath `json:"path"`
	Reason string   `json:"reason"`
}

// EndOffset is how many samples this shard and those before it have, bad ones included.
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
