package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/stoker-dev/stoker/feed"
)

// specOf reads the spec of an open, from the packet or from the file that came with
// it, and checks what the daemon itself relies on; the rest is feed's to check.
func specOf(r *request) (feed.Spec, error) {
	spec := r.Spec
	if spec == nil {
		text, err := readFile(r.file, 0, r.SpecBytes)
		if err != nil {
			return feed.Spec{}, fmt.Errorf("a spec of %d bytes that cannot be read: %w", r.SpecBytes, err)
		}
		spec = new(feed.Spec)
		if err := decodeStrictly(text, spec); err != nil {
			return feed.Spec{}, fmt.Errorf("a spec that is none: %w", err)
		}
	}
	switch {
	case strings.TrimSpace(spec.Name) == "":
		return *spec, errors.New("a spec without a name")
	case spec.Batch > maxBatch:
		return *spec, fmt.Errorf("batch is %d: at most %d samples are handed over at a time", spec.Batch, maxBatch)
	case r.Rank < 0 || r.Rank >= spec.World:
		return *spec, fmt.Errorf("rank %d of a world of %d", r.Rank, spec.World)
	}
	return *spec, nil
}

// readList reads the list of samples that came with an open.
func (r *request) readList() ([]byte, error) {
	if r.ListBytes == 0 {
		return nil, nil
	}
	list, err := readFile(r.file, r.SpecBytes, r.ListBytes)
	if err != nil {
		return nil, fmt.Errorf("a list of samples of %d bytes that cannot be read: %w", r.ListBytes, err)
	}
	return list, nil
}

// readFile reads a part of a file. It believes nothing: what is no plain file (a
// pipe, a device) could make the reader wait for ever.
func readFile(file *os.File, from, size int) ([]byte, error) {
	if file == nil {
		return nil, errors.New("no descriptor came along")
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() < int64(from)+int64(size) {
		return nil,
			fmt.Errorf("the descriptor is of a file with mode %v and %d bytes: expected a memfd with at least %d",
				info.Mode(), info.Size(), int64(from)+int64(size))
	}
	content := make([]byte, size)
	if _, err := file.ReadAt(content, int64(from)); err != nil {
		return nil, err
	}
	return content, nil
}

// maxBatch keeps a mask of all of a batch's places within a packet.
const maxBatch = 8192

// sameSpec says in which field the spec of another rank differs.
func sameSpec(first, other feed.Spec) error {
	a, b := reflect.ValueOf(first), reflect.ValueOf(other)
	for i := range a.NumField() {
		one, two := a.Field(i).Interface(), b.Field(i).Interface()
		if reflect.DeepEqual(one, two) {
			continue
		}
		was, _ := json.Marshal(one) // plain data cannot fail
		is, _ := json.Marshal(two)
		if bytes.Equal(was, is) {
			continue
		}
		name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
		return fmt.Errorf(
			"loader %q has %s %s here, another rank opened it with %s: all ranks must give the same, and each loader "+
				"of a job a name of its own",
			first.Name, name, shorten(is, quoted), shorten(was, quoted))
	}
	return nil
}

// quoted is how much of a field is quoted.
const quoted = 80

// shorten keeps a sentence a sentence where it quotes a list of a million numbers.
func shorten(text []byte, limit int) string {
	if len(text) <= limit {
		return string(text)
	}
	return string(text[:limit]) + "…"
}
