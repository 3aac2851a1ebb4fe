package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"stoker/feed"
)

// maxSpec bounds a spec that comes in a file: a subset of 30 million samples.
const maxSpec = 256 << 20

// specOf reads the spec of an open, from the packet or from the file that came with
// it, and checks what the daemon itself relies on; the rest is feed's to check.
func specOf(r *request) (feed.Spec, error) {
	spec := r.Spec
	if spec == nil {
		text, err := readFile(r.descriptor, r.SpecBytes)
		if err != nil {
			return feed.Spec{}, fmt.Errorf("a spec of %d bytes that cannot be read: %w", r.SpecBytes, err)
		}
		spec = new(feed.Spec)
		if err := decode(text, spec); err != nil {
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

// maxBatch keeps a mask of all of a batch's places within a packet.
const maxBatch = 8192

// decode reads one JSON value strictly: a field that nobody knows is a client of
// another version or a typing error, and either is better told than ignored.
func decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

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
		return fmt.Errorf("loader %q has %s %s here, another rank opened it with %s: all ranks must give the same, and each loader of a job a name of its own",
			first.Name, name, brief(is, quoted), brief(was, quoted))
	}
	return nil
}

// quoted is how much of a field is quoted.
const quoted = 80

// brief keeps a sentence a sentence where it quotes a list of a million numbers.
func brief(text []byte, limit int) string {
	if len(text) <= limit {
		return string(text)
	}
	return string(text[:limit]) + "…"
}
