//go:build turbo && cgo

package decode

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"image"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoker-dev/stoker/feed/decode/oracle"
	"github.com/stoker-dev/stoker/feed/decode/planes"
)

var (
	deep = flag.Int("deep", 5_000, "differential executions that are accepted and decode at least 100 entropy-coded blocks")
	seed = flag.Uint64("seed", 1, "first seed of the differential executions")
	most = flag.Duration("most", time.Hour, "end the differential executions after this time, however many they are")
)

func init() {
	withOracle = func(d *Decoder, file []byte, r *rand.Rand) error {
		_, err := compare(d, file, r)
		return err
	}
}

// variants of a generated JPEG are decoded: as it is, and with damages.
const variants = 4

// TestDifferential compares generated JPEGs, whole and damaged, with libjpeg-turbo:
// both accept or both refuse, and where both accept every sample is the same.
//
//	go test -tags turbo -run Differential ./feed/decode -deep 1000000 -timeout 1h
func TestDifferential(t *testing.T) {
	var done, harmed atomic.Int64
	var outcomes [5]atomic.Int64
	var next atomic.Uint64
	next.Store(*seed)
	start := time.Now()
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			d := New(Limits{})
			var input [24]byte
			for done.Load() < int64(*deep) && time.Since(start) < *most && !t.Failed() {
				s := next.Add(1)
				r := rand.New(rand.NewPCG(s, 0))
				for i := range 3 {
					binary.LittleEndian.PutUint64(input[8*i:], r.Uint64())
				}
				g := generate(input[:])
				for variant := range variants {
					file := g.file
					if variant > 0 {
						file = damaged(file, r)
					}
					outcome, err := compare(d, file, r)
					if err != nil {
						t.Errorf("seed %d, variant %d: %v", s, variant, err)
						keep(t, s, file)
						return
					}
					outcomes[outcome].Add(1)
					if g.blocks >= 100 && outcome == outcomeEqual {
						done.Add(1)
					}
					if variant > 0 && outcome == outcomeEqual {
						harmed.Add(1)
					}
				}
			}
		})
	}
	workers.Wait()
	count := func(o outcome) int64 { return outcomes[o].Load() }
	t.Logf("%d executions accepted by both, of at least 100 entropy-coded blocks, in %.0f s; equal %d, of them damaged %d; refused by both %d; of a kind not read here %d; inexact and flagged %d; cut behind the last MCU %d",
		done.Load(), time.Since(start).Seconds(), count(outcomeEqual), harmed.Load(), count(outcomeRefused),
		count(outcomeUnread), count(outcomeInexact), count(outcomeCut))
}

// keep saves a failing file where -deep runs can find it again.
func keep(t *testing.T, seed uint64, file []byte) {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("differential-%d.jpg", seed))
	if os.WriteFile(path, file, 0o644) == nil {
		t.Log("kept as", path)
	}
}

type outcome int

const (
	outcomeEqual outcome = iota
	outcomeRefused
	outcomeUnread // a kind that is not read here, or that Pillow does not take for a JPEG
	outcomeInexact
	outcomeCut // see compare
)

// compare decodes a file with both, whole and in a random part.
func compare(d *Decoder, file []byte, r *rand.Rand) (outcome, error) {
	want, _, refusal := oracle.Planes(file)
	info, err := d.ReadHeader(file)
	var whole *planes.Picture
	if err == nil {
		whole, err = d.Decode(image.Rect(0, 0, info.Width, info.Height))
	}
	var bad *SampleError
	errors.As(err, &bad)
	switch {
	case errors.Is(refusal, oracle.ErrLarge):
		return outcomeUnread, nil
	case err != nil && refusal != nil:
		return outcomeRefused, nil
	case bad != nil && (bad.Kind == Unsupported || bad.Kind == TooLarge || bad.Kind == WrongType):
		return outcomeUnread, nil
	case bad != nil && !d.jpeg.begun && isPillowsRefusal(bad.Text):
		return outcomeUnread, nil
	case bad != nil && strings.Contains(bad.Text, "second frame header"):
		return outcomeRefused, nil // libjpeg-turbo 3 refuses all of them, 2.1 not those that are cut off
	case bad != nil && bad.Kind == Truncated:
		// Of files that end right behind their last MCU, without the EOI, libjpeg
		// accepts some: it depends on how many bits its buffer happened to hold. All
		// of them are truncated here.
		if _, _, err := oracle.Planes(append(file[:len(file):len(file)], 0xff, mEOI)); err == nil {
			return outcomeCut, nil
		}
		return 0, fmt.Errorf("refused here (%v), accepted by libjpeg", err)
	case err != nil:
		return 0, fmt.Errorf("refused here (%v), accepted by libjpeg", err)
	case refusal != nil:
		return 0, fmt.Errorf("accepted here, refused by libjpeg (%v)", refusal)
	}
	if d.info.Inexact != "" {
		return outcomeInexact, nil
	}
	if len(want) == 4 {
		return outcomeUnread, nil // inks become RGB here: TestPillow compares them
	}
	if err := comparePlanes(whole, want, whole.Bounds); err != nil {
		return 0, fmt.Errorf("whole image of %v: %w", whole.Size, err)
	}
	x, y := r.IntN(info.Width), r.IntN(info.Height)
	need := image.Rect(x, y, x+1+r.IntN(info.Width-x), y+1+r.IntN(info.Height-y))
	part, err := d.Decode(need)
	if err != nil {
		return 0, fmt.Errorf("part %v of %v: %v", need, whole.Size, err)
	}
	// Fancy upsampling needs the chroma of neighbouring pixels.
	beside := image.Pt(min(part.SubX-1, 1), min(part.SubY-1, 1))
	around := image.Rectangle{Min: need.Min.Sub(beside), Max: need.Max.Add(beside)}.
		Intersect(image.Rectangle{Max: part.Size})
	if !need.In(part.Bounds) || part.Bounds.Min.X%part.SubX != 0 || part.Bounds.Min.Y%part.SubY != 0 {
		return 0, fmt.Errorf("part %v of %v: planes hold %v, subsampling %d, %d", need, whole.Size, part.Bounds, part.SubX, part.SubY)
	}
	if err := comparePlanes(part, want, around); err != nil {
		return 0, fmt.Errorf("part %v of %v: %w", need, whole.Size, err)
	}
	return outcomeEqual, nil
}

// isPillowsRefusal knows what Pillow's own reading of the header refuses before libjpeg sees the file.
func isPillowsRefusal(text string) bool {
	for _, part := range []string{"marker ff01", "ends within what it names", "without its number of parts"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// comparePlanes compares the samples that belong to some pixels of a picture.
func comparePlanes(p *planes.Picture, want []oracle.Plane, pixels image.Rectangle) error {
	for i := range want {
		subX, subY := p.SubX, p.SubY
		if i == 0 {
			subX, subY = 1, 1
		}
		for y := pixels.Min.Y / subY; y < min(ceilDiv(pixels.Max.Y, subY), want[i].Height); y++ {
			for x := pixels.Min.X / subX; x < min(ceilDiv(pixels.Max.X, subX), want[i].Width); x++ {
				got := p.Planes[i][(y-p.Bounds.Min.Y/subY)*p.Stride[i]+x-p.Bounds.Min.X/subX]
				if w := want[i].Pix[y*want[i].Stride+x]; got != w {
					return fmt.Errorf("plane %d (%d x %d) at %d, %d: %d, libjpeg has %d", i, want[i].Width, want[i].Height, x, y, got, w)
				}
			}
		}
	}
	return nil
}
