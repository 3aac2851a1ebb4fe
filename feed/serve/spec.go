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

// specOf reads the spec of an open, from the packet or from its descriptor. It checks what the
// daemon itself relies on; feed checks the rest.
func specOf(r *request) (feed.Spec, error) {
	spec := r.Spec
	if spec == nil {
		text, err := readFile(r.file, 0, r.SpecBytes)
		if err != nil {
			return feed.Spec{}, fmt.Errorf("cannot read a spec of %d bytes: %w", r.SpecBytes, err)
		}
		spec = new(feed.Spec)
		if err := decodeStrictly(text, spec); err != nil {
			return feed.Spec{}, fmt.Errorf("a spec that cannot be decoded: %w", err)
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

// readList reads the list of samples from an open's descriptor.
func (r *request) readList() ([]byte, error) {
	if r.ListBytes == 0 {
		return nil, nil
	}
	list, err := readFile(r.file, r.SpecBytes, r.ListBytes)
	if err != nil {
		return nil, fmt.Errorf("cannot read a list of samples of %d bytes: %w", r.ListBytes, err)
	}
	return list, nil
}

// readFile reads a part of a file. It accepts only regular files: a pipe or a device could
// block it for ever.
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

// maxBatch makes sure that a mask of a whole batch fits into a packet.
const maxBatch = 8192

// sameSpec returns an error that names the first field in which another rank's spec differs.
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

// quoted is how many characters of a field are quoted.
const quoted = 80

// shorten cuts text that is too long for a sentence, such as a list of a million numbers.
func shorten(text []byte, limit int) string {
	if len(text) <= limit {
		return string(text)
	}
	return string(text[:limit]) + "…"
}
