package recording

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/internal/readable"
)

// mergeMemory is what the parts of a merged recording may take in memory together.
const mergeMemory = 1 << 30

// Merge writes the content of several files of one run: pieces of it, or copies that were
// damaged in different places. Duplicates are written once.
func Merge(out io.Writer, paths ...string) error {
	all := newBuilder()
	for i, path := range paths {
		if err := all.addFile(path, i == 0); err != nil {
			return fmt.Errorf("merge recording %s: %w", path, err)
		}
	}
	all.run.Steps = all.finish().Steps // in order of time
	all.dropTwins()
	if err := all.writeAll(out); err != nil {
		return fmt.Errorf("merge recordings: %w", err)
	}
	return nil
}

// addFile adds a file.
func (b *builder) addFile(path string, first bool) error {
	file, err := readable.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	most := usual
	most.kept = mergeMemory - b.weight()
	run, err := readLimited(file, most)
	switch own := b.run.Facts; {
	case err != nil:
		return err
	case run.Timeline != nil:
		return errors.New("it holds a profiler's events, which stand by themselves")
	case !first && (own.Started != run.Facts.Started || own.Monotonic != run.Facts.Monotonic):
		return errors.New("it is of another run than the first file: its clock began at another moment")
	}
	if first || run.End() >= b.run.End() {
		b.run.Facts = run.Facts
	}
	for _, t := range run.thinned {
		t.To = min(t.To, run.End()+1)
		b.run.thinned = overlayPart(b.run.thinned, t)
	}
	for _, s := range run.Series {
		for i := range s.T {
			b.addSample(s.Signal, s.Subject, s.T[i], s.V[i])
		}
	}
	b.run.Steps = append(b.run.Steps, run.Steps...)
	return nil
}

// dropTwins removes duplicates. Of a duplicated step it keeps the copy with more known values.
func (b *builder) dropTwins() {
	b.samples = 0
	for i := range b.run.Series {
		s := &b.run.Series[i]
		order := make([]int, len(s.T))
		for k := range order {
			order[k] = k
		}
		slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(s.T[x], s.T[y]) })
		order = slices.CompactFunc(order, func(x, y int) bool { return s.T[x] == s.T[y] })
		t, v := make([]float64, len(order)), make([]float64, len(order))
		for k, from := range order {
			t[k], v[k] = s.T[from], s.V[from]
		}
		s.T, s.V = t, v
		b.samples += int64(len(t))
	}
	known := map[stepKey]int{}
	var steps []Step
	for _, s := range b.run.Steps {
		key := stepKey{s.PID, s.Loader, s.N}
		i, twice := known[key]
		if !twice {
			known[key] = len(steps)
			steps = append(steps, s)
		} else if math.IsNaN(steps[i].DevicePeriod) && !math.IsNaN(s.DevicePeriod) {
			steps[i] = s
		}
	}
	b.run.Steps = steps
}

// writeAll writes everything that is held, in order of time.
func (b *builder) writeAll(out io.Writer) (err error) {
	facts, parts := b.run.Facts, slices.Clone(b.run.thinned)
	head := []line{headerLine(facts), factsLine(facts)}
	for _, t := range parts {
		head = append(head, thinnedLine(t))
	}
	const members = 50
	span := max(around, b.run.End()/members)
	for to := span; err == nil && (len(b.run.Series) > 0 || len(b.run.Steps) > 0 || head != nil); to += span {
		zip, _ := gzip.NewWriterLevel(out, gzip.DefaultCompression)
		encoder := json.NewEncoder(zip)
		put := func(l line) { err = cmp.Or(err, encoder.Encode(l)) }
		for _, l := range head {
			put(l)
		}
		b.linesUpTo(to, put)
		err = cmp.Or(err, zip.Close())
		b.dropSpan(math.Inf(-1), to)
		head = nil
	}
	return err
}
