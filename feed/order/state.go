package order

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
)

// StateFormat is the version of State and of everything that its numbers mean:
// Draws, Permutation, Plan and Digest.
const StateFormat = 1

// State is all that is needed to go on with a training's data at another place: with
// the same samples and the same pipeline, the rest follows from it. It is the same on
// all ranks; World, Batch, threads and hosts are not in it, because they may change.
type State struct {
	Manifest string // digest of the list of samples, 32 hexadecimal digits
	Pipeline string // digest of what makes a sample's tensor and its place (ops, output, fast, shuffle), 32 hexadecimal digits
	Seed     uint64
	Epoch    uint64 // below 2^32
	Consumed int    // samples of this epoch consumed by all ranks together, 0..MaxSamples; a step boundary as the trainer sees it
}

// digestDigits is the length of Manifest and Pipeline.
const digestDigits = 32

// String returns the state as JSON text of at most 200 bytes; ParseState reads it.
func (s State) String() string {
	return fmt.Sprintf(`{"format":%d,"manifest":%q,"pipeline":%q,"seed":%d,"epoch":%d,"consumed":%d}`,
		StateFormat, s.Manifest, s.Pipeline, s.Seed, s.Epoch, s.Consumed)
}

// ParseState reads the JSON text of a state: an object with exactly the fields that
// String writes, in any order.
func ParseState(text []byte) (State, error) {
	r, err := openState(text)
	if err != nil {
		return State{}, fmt.Errorf("read state: %w", err)
	}
	if format := r.number("format", 1<<63-1); r.err == nil && format != StateFormat {
		r.err = fmt.Errorf("it has format %d, this stoker reads format %d: continue with the version that wrote it", format, StateFormat)
	}
	s := State{
		Manifest: r.digest("manifest"),
		Pipeline: r.digest("pipeline"),
		Seed:     r.number("seed", 1<<64-1),
		Epoch:    r.number("epoch", 1<<32-1),
		Consumed: int(r.number("consumed", MaxSamples)),
	}
	if r.close(); r.err != nil {
		return State{}, fmt.Errorf("read state: %w", r.err)
	}
	return s, nil
}

// Continues says why a training with this state cannot go on with the loader of the
// given manifest, pipeline and number of samples; nil: it can. The seed needs no
// comparison: it comes with the state.
func (s State) Continues(manifest, pipeline string, samples int) error {
	switch {
	case s.Manifest != manifest:
		return fmt.Errorf("the state is of other samples (manifest %s, here %s): files were added, removed or renamed since; "+
			"restore them, or begin without the state", s.Manifest, manifest)
	case s.Pipeline != pipeline:
		return fmt.Errorf("the state is of another pipeline (%s, here %s): transforms, output, fast or shuffle differ; "+
			"give the loader those of the run that wrote it", s.Pipeline, pipeline)
	case s.Consumed > samples:
		return fmt.Errorf("the state says that %d samples were consumed, but an epoch has %d: it is damaged", s.Consumed, samples)
	}
	return nil
}

// stateReader takes the members of a JSON object one by one; after the first error
// it gives zeros.
type stateReader struct {
	fields map[string]any // not taken yet
	err    error
}

// maxStateText leaves room for white space, and keeps the errors short that quote
// the text.
const maxStateText = 1024

// openState reads one flat JSON object; unlike encoding/json it refuses names that
// come twice or differ in case.
func openState(text []byte) (*stateReader, error) {
	if len(text) > maxStateText {
		return nil, fmt.Errorf("it has %d bytes: a state has 200 at most", len(text))
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil, errors.New("it is not a JSON object")
	}
	r := &stateReader{fields: map[string]any{}}
	for d.More() {
		key, err := d.Token()
		name, isName := key.(string)
		if err != nil || !isName {
			return nil, fmt.Errorf("it is damaged at byte %d", d.InputOffset())
		}
		value, err := d.Token()
		if _, nested := value.(json.Delim); err != nil || nested {
			return nil, fmt.Errorf("it is damaged at byte %d, in field %q", d.InputOffset(), name)
		}
		if _, twice := r.fields[name]; twice {
			return nil, fmt.Errorf("field %q comes twice", name)
		}
		r.fields[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, errors.New("it ends too early")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows its object")
	}
	return r, nil
}

// take returns a field's value once.
func (r *stateReader) take(name string) any {
	value, there := r.fields[name]
	if !there && r.err == nil {
		r.err = fmt.Errorf("field %q is missing", name)
	}
	delete(r.fields, name)
	return value
}

// number takes a whole number from 0 to limit.
func (r *stateReader) number(name string, limit uint64) uint64 {
	value := r.take(name)
	text, _ := value.(json.Number)
	n, err := strconv.ParseUint(text.String(), 10, 64)
	if r.err == nil && (err != nil || n > limit) {
		r.err = fmt.Errorf("field %q is %s: a whole number from 0 to %d is expected", name, quoted(value), limit)
	}
	if r.err != nil {
		return 0
	}
	return n
}

// digest takes a string of hexadecimal digits.
func (r *stateReader) digest(name string) string {
	value := r.take(name)
	text, _ := value.(string)
	if r.err == nil && !isDigest(text) {
		r.err = fmt.Errorf("field %q is %s: %d hexadecimal digits in lower case are expected", name, quoted(value), digestDigits)
	}
	return text
}

// quoted is a value as it stands in the JSON text.
func quoted(value any) string {
	text, _ := json.Marshal(value) // came from JSON, so it goes back
	return string(text)
}

// close refuses what was not taken.
func (r *stateReader) close() {
	if r.err == nil && len(r.fields) > 0 {
		r.err = fmt.Errorf("field %q is unknown", slices.Min(slices.Collect(maps.Keys(r.fields))))
	}
}

func isDigest(text string) bool {
	for _, c := range []byte(text) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(text) == digestDigits
}
