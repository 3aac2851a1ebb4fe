package pack

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/feed/order"
	"github.com/stoker-dev/stoker/feed/pack/shards"
	"github.com/stoker-dev/stoker/feed/source"
	"github.com/stoker-dev/stoker/internal/coretime"
	"github.com/stoker-dev/stoker/internal/stat"
)

// Estimate is what a pack would cost and save, estimated from a random sample of the files.
type Estimate struct {
	Samples  int          `json:"samples"`
	Measured int          `json:"measured"` // files that were read, without those that cannot be packed
	Bad      []shards.Bad `json:"bad"`      // among them
	Images   string       `json:"images"`   // what would be packed, in words
	// Totals of all samples.
	Bytes int64           `json:"bytes"`      // of the originals
	Pack  stoker.Interval `json:"pack_bytes"` // 95 %
	// Seconds of one core per image, on this machine, with Stoker's reader and decoder.
	Read    float64 `json:"read_s"`   // of an original
	Decode  float64 `json:"decode_s"` // of an original
	Packed  float64 `json:"packed_s"` // decoding the packed image
	Packing float64 `json:"packing_s"`
}

// perSample is what the archive adds to an image: headers, label, origin and padding.
const perSample = 5*512 + 256

// Measure packs at most most files, and discards the result.
func Measure(ctx context.Context, from Source, o Options, most int) (*Estimate, error) {
	e := &Estimate{Samples: from.Len(), Images: o.String(), Bad: []shards.Bad{}}
	chance := order.NewPermutation(1, 0, from.Len())
	m := newMaker(o.Form)
	var originals, packed []float64
	for i := range from.Len() {
		size, err := from.Size(i)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			err = o.refuse(fmt.Errorf("%s: %w", from.Path(i), err))
		}
		if err != nil {
			return nil, err
		}
		e.Bytes += size
	}
	most = min(most, from.Len())
	for k := range most {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		i := chance.At(k)
		file, made, err := e.measureFile(m, from, i)
		if source.IsOutage(err) || errors.Is(err, ErrFault) {
			return nil, o.refuse(fmt.Errorf("%s: %w", from.Path(i), err))
		}
		if err != nil {
			e.Bad = append(e.Bad, badOf(shards.FilePath(from.Below(i)), err))
			continue
		}
		originals, packed = append(originals, float64(file)), append(packed, float64(made))
		o.Progress(k+1, most)
	}
	e.Measured = len(originals)
	if e.Measured == 0 {
		return nil, fmt.Errorf("measure a pack: none of %d files could be packed, the first one: %s: %s", most,
			e.Bad[0].Path, e.Bad[0].Reason)
	}
	for _, sum := range []*float64{&e.Read, &e.Decode, &e.Packed, &e.Packing} {
		*sum /= float64(e.Measured)
	}
	e.Pack = packedBytes(originals, packed, float64(e.Bytes), float64(e.Samples))
	return e, nil
}

// measureFile adds the times for a file to the sums, and returns its size and that of the
// packed image.
func (e *Estimate) measureFile(m *maker, from Source, i int) (was, is int, err error) {
	var file, made []byte
	steps := []struct {
		sum *float64
		do  func() error
	}{
		{&e.Read, func() (err error) { file, err = from.Read(i, nil); return err }},
		{&e.Decode, func() error { return m.decode(file) }},
		{&e.Packing, func() (err error) { made, _, err = m.makeImage(file, ""); return err }},
		{&e.Packed, func() error { return m.decode(made) }},
	}
	var spent [4]float64
	for k, step := range steps {
		begun := coretime.Used()
		if err := step.do(); err != nil {
			return 0, 0, err
		}
		spent[k] = (coretime.Used() - begun).Seconds()
	}
	for k, step := range steps {
		*step.sum += spent[k]
	}
	return len(file), len(made), nil
}

// packedBytes estimates the size of a pack. It fits a line through the original and packed
// sizes of the measured files, and applies it to all files.
func packedBytes(originals, packed []float64, bytes, samples float64) stoker.Interval {
	n, x, y := float64(len(originals)), stat.Mean(originals), stat.Mean(packed)
	xx, xy := 0.0, 0.0
	for i := range originals {
		xx += (originals[i] - x) * (originals[i] - x)
		xy += (originals[i] - x) * (packed[i] - y)
	}
	slope := 0.0
	if xx > 0 {
		slope = xy / xx
	}
	squares := 0.0
	for i := range originals {
		off := packed[i] - y - slope*(originals[i]-x)
		squares += off * off
	}
	half := 1.96 * samples * math.Sqrt((1-n/samples)*squares/max(n-2, 1)/n)
	point := samples*(y+perSample) + slope*(bytes-samples*x)
	return stoker.Interval{Low: max(samples*perSample, point-half), Point: point, High: point + half}
}
