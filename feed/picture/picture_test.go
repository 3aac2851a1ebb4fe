package picture

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stoker-dev/stoker/feed/decode"
	"github.com/stoker-dev/stoker/feed/wheel"
)

// fixedChain is one of testdata/chains.json, which chains.py has written with Pillow, or of
// chains-arm64.json, which it has written with Pillow's wheel for arm64.
type fixedChain struct {
	Program json.RawMessage
	Seed    uint32
	Smooth  bool
	SHA256  string // "": Pillow raises
}

func fixedChains(t testing.TB) (chains []fixedChain) {
	t.Helper()
	path := "testdata/chains.json"
	if wheel.Fuses {
		path = "testdata/chains-arm64.json"
	}
	return chainsOf(t, path, 50)
}

func chainsOf(t testing.TB, path string, least int) (chains []fixedChain) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &chains); err != nil {
		t.Fatal(err)
	}
	if len(chains) < least {
		t.Fatalf("%s has %d chains: too few", path, len(chains))
	}
	return chains
}

// TestNumbersSideBySide gives bands side by side what a table has for them, in pictures of more and fewer pixels than are
// taken at once. Bands whose tables differ are refused.
func TestNumbersSideBySide(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	for _, c := range []struct {
		mode          string
		width, height int
	}{{"RGB", 61, 47}, {"RGB", 3, 2}, {"L", 40, 30}} {
		n := bands[c.mode]
		var bits []byte
		for range 256 {
			bits = binary.LittleEndian.AppendUint32(bits, math.Float32bits(rng.Float32()))
		}
		tables := slices.Repeat(bits, n)
		pixels := noise(rng, n*c.width*c.height)
		text := fmt.Appendf(nil, `{"mode": %q, "size": [%d, %d], "ops": [["transpose", 0], ["tobytes"]]}`, c.mode, c.width, c.height)
		become := func(tables []byte) (*Program, error) {
			p, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			table, err := NewTable("float32", tables)
			if err != nil {
				t.Fatal(err)
			}
			return p, p.Become(table)
		}
		p, err := become(tables)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]byte, p.Output.Bytes())
		if err := NewWorker(decode.Limits{}).Run(p, Source{Pixels: pixels}, out); err != nil {
			t.Fatal(err)
		}
		for i := range pixels {
			x, y, band := i/n%c.width, i/n/c.width, i%n
			v := pixels[(y*c.width+c.width-1-x)*n+band]
			if !bytes.Equal(out[4*i:4*i+4], bits[4*int(v):4*int(v)+4]) {
				t.Fatalf("%s of %d x %d: number %d is %x, and its value %d has %x", c.mode, c.width, c.height, i, out[4*i:4*i+4], v, bits[4*int(v):][:4])
			}
		}
		tables[len(tables)-1] ^= 1
		if _, err := become(tables); n > 1 && err == nil {
			t.Errorf("%s: bands side by side take tables of their own", c.mode)
		}
	}
}

func TestChainsMatchPillow(t *testing.T) { makeChains(t, fixedChains(t), 50) }

// TestChainsMatchTorch is about tensors of bytes, as torch makes them on AVX2.
func TestChainsMatchTorch(t *testing.T) {
	if wheel.Fuses {
		t.Skip("the chains were made on x86-64")
	}
	makeChains(t, chainsOf(t, "testdata/chains-torch.json", 100), 70)
}

func makeChains(t *testing.T, chains []fixedChain, least int) {
	w, made := NewWorker(decode.Limits{}), 0
	for i, c := range chains {
		p, err := Parse(c.Program)
		if err != nil {
			if !errors.As(err, new(*RefusalError)) && c.SHA256 != "" {
				t.Errorf("chain %d: %v\n%s", i, err, c.Program)
			}
			continue
		}
		got := make([]byte, p.Output.Bytes())
		switch err := w.Run(p, Source{Pixels: drawnPixels(p, c.Seed, c.Smooth)}, got); {
		case errors.As(err, new(*RefusalError)):
		case err != nil:
			t.Errorf("chain %d: %v\n%s", i, err, c.Program)
		default:
			made++
			if sum := sha256.Sum256(got); hex.EncodeToString(sum[:]) != c.SHA256 {
				t.Errorf("chain %d: other bytes:\n%s", i, c.Program)
			}
		}
	}
	if made < least {
		t.Errorf("%d chains were made: too few", made)
	}
}

// TestProgramsAreShared runs programs in several threads at once: a Program keeps
// nothing of a run.
func TestProgramsAreShared(t *testing.T) {
	type shared struct {
		program *Program
		pixels  []byte
		want    []byte
	}
	var all []shared
	w := NewWorker(decode.Limits{})
	for _, c := range fixedChains(t) {
		p, err := Parse(c.Program)
		if err != nil {
			continue
		}
		s := shared{p, drawnPixels(p, c.Seed, c.Smooth), make([]byte, p.Output.Bytes())}
		if w.Run(p, Source{Pixels: s.pixels}, s.want) == nil {
			all = append(all, s)
		}
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			w := NewWorker(decode.Limits{})
			for i, s := range all {
				got := make([]byte, len(s.want))
				if err := w.Run(s.program, Source{Pixels: s.pixels}, got); err != nil || !bytes.Equal(got, s.want) {
					t.Errorf("chain %d: other bytes than alone (%v)", i, err)
				}
			}
		})
	}
	group.Wait()
}

// TestResizesOfOlderPillows holds a resize against one per direction: Pillow 13 may begin with the
// columns, those before it always begin with the rows.
func TestResizesOfOlderPillows(t *testing.T) {
	run := func(text string) []byte {
		p, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, p.Output.Bytes())
		if err := NewWorker(decode.Limits{}).Run(p, Source{Pixels: drawnPixels(p, 3, false)}, got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	const source = `{"mode":"RGB","size":[60,200],"ops":[`
	one, rows, columns := `["resize",20,10,2,null]]`, `["resize",20,200,2,null],["resize",20,10,2,null]]}`,
		`["resize",60,10,2,null],["resize",20,10,2,null]]}`
	first, second := run(source+rows), run(source+columns)
	if bytes.Equal(first, second) {
		t.Fatal("the order of directions makes no difference here")
	}
	for pillow, want := range map[string][]byte{`}`: second, `,"pillow":13}`: second, `,"pillow":12}`: first, `,"pillow":10}`: first} {
		if !bytes.Equal(run(source+one+pillow), want) {
			t.Errorf("other bytes with %q", pillow)
		}
	}
}

// drawnPixels are those that drawn in chains.py draws.
func drawnPixels(p *Program, seed uint32, smooth bool) []byte {
	out := make([]byte, p.size.X*p.size.Y*bands[p.mode])
	for i := range out {
		x := uint32(i+1)*2654435761 + seed*40503
		x ^= x >> 15
		x *= 2246822519
		x ^= x >> 13
		if smooth {
			x = (uint32(i)*3 + x&7 + seed) / 2
		}
		out[i] = byte(x)
	}
	return out
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                                      "read program: unexpected end of JSON input",
		`[]`:                                    "read program: json: cannot unmarshal array",
		`{"mode":"RGB","size":[4]}`:             "size [4]: a width and a height from 1 to",
		`{"mode":"RGB","size":[1000000000,1]}`:  "size [1000000000 1]: a width",
		`{"mode":"RGB","size":[4,4,4]}`:         "size [4 4 4]: a width",
		`{"mode":"CMYK","size":[4,4]}`:          `source: pictures of mode "CMYK" that are not converted to RGB first`,
		`{"mode":"L","size":[4,4],"ops":[[]]}`:  "op 0 has no name",
		`{"mode":"L","size":[4,4],"ops":[[1]]}`: "op 0 begins with 1: its name is expected",
		`{"mode":"L","size":[4,4],"ops":[["quantize",8]]}`:                                 `op 0: "quantize"`,
		`{"mode":"L","size":[4,4],"ops":[["crop",0,0,2]]}`:                                 "op 0, crop: 3 arguments, 4 to 4 are expected",
		`{"mode":"L","size":[4,4],"ops":[["invert"],["crop",0,0,2,"a"]]}`:                  "op 1, crop: argument 4 is a: a number is expected",
		`{"mode":"L","size":[4,4],"ops":[["crop",0,0,2,1.5]]}`:                             "argument 4 is 1.5: a whole number from",
		`{"mode":"L","size":[4,4],"ops":[["crop",2,0,2,2]]}`:                               "op 0: crop: a picture of 0 x 2 pixels",
		`{"mode":"L","size":[4,4],"ops":[["resize",900000,900000,2]]}`:                     "op 0: resize: a picture of 900000 x 900000 pixels",
		`{"mode":"L","size":[4,4],"ops":[["resize",2,2,2,[0,0,9,9]]]}`:                     "op 0: resize: box [0 0 9 9] of a picture of (4,4)",
		`{"mode":"L","size":[4,4],"ops":[["pil_to_tensor"],["invert"]]}`:                   "op 1: invert: it comes behind the end",
		`{"mode":"L","size":[4,4],"ops":[["affine",4,4,[1,2],0,null]]}`:                    "argument 3 is [1 2]: a list of 6 numbers is expected",
		`{"mode":"L","size":[4,4],"ops":[["point",[` + strings.Repeat("1,", 999) + `1]]]}`: "op 0, point: argument 1 is [1 1 1 1 1",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 250 {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestOutputIsDescribed(t *testing.T) {
	for text, want := range map[string]Output{
		`{"mode":"RGB","size":[4,3]}`:                                           {"uint8", []int{3, 4, 3}, "RGB"},
		`{"mode":"RGB","size":[4,3],"ops":[["convert","L"]]}`:                   {"uint8", []int{3, 4}, "L"},
		`{"mode":"RGB","size":[4,3],"ops":[["transpose",2],["pil_to_tensor"]]}`: {"uint8", []int{3, 4, 3}, "RGB"},
	} {
		p, err := Parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, _ := json.Marshal(p.Output)
		if wanted, _ := json.Marshal(want); !bytes.Equal(got, wanted) {
			t.Errorf("%s: %s, want %s", text, got, wanted)
		}
	}
}

// TestSourceIsChecked gives sources that are not what the program is for.
func TestSourceIsChecked(t *testing.T) {
	p, err := Parse([]byte(`{"mode":"RGB","size":[4,3],"ops":[["pil_to_tensor"]]}`))
	if err != nil {
		t.Fatal(err)
	}
	w := NewWorker(decode.Limits{})
	dst := make([]byte, p.Output.Bytes())
	for _, s := range []Source{{}, {Pixels: make([]byte, 35)}, {File: []byte("text")}, {Pixels: make([]byte, 36), File: []byte{}}} {
		if err := w.Run(p, s, dst); err == nil {
			t.Errorf("%v was taken", s)
		}
	}
	if err := w.Run(p, Source{Pixels: make([]byte, 36)}, dst[1:]); err == nil {
		t.Error("too short a place was taken")
	}
	if err := w.Run(p, Source{Pixels: make([]byte, 36)}, dst); err != nil {
		t.Error(err)
	}
	p, err = Parse([]byte(`{"mode":"CMYK","size":[4,3],"ops":[["convert","RGB"]]}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(p, Source{Pixels: make([]byte, 48)}, make([]byte, p.Output.Bytes())); !errors.As(err, new(*RefusalError)) {
		t.Errorf("pixels of a mode of files alone: %v, a refusal is expected", err)
	}
}

// FuzzParse reads and runs programs on small pictures: nothing may panic, and what
// is said of the output holds.
func FuzzParse(f *testing.F) {
	for _, c := range fixedChains(f) {
		f.Add([]byte(c.Program))
	}
	w := NewWorker(decode.Limits{})
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse(text)
		if err != nil || p.NeededMemory() > 1<<20 {
			return
		}
		dst := make([]byte, p.Output.Bytes())
		if err := w.Run(p, Source{Pixels: drawnPixels(p, 1, false)}, dst); err != nil && !errors.As(err, new(*RefusalError)) {
			t.Errorf("%v: %s", err, text)
		}
	})
}

// TestColoursAreMixed compares a mix of two planes with the mix of each pair of bytes.
func TestColoursAreMixed(t *testing.T) {
	plane, other := make([]byte, 1<<16), make([]byte, 1<<16)
	for _, factor := range []float32{0, 0.1, 0.7, 1, 1.3, -0.4, 1.0 / 3, 3e-7, 1e-20, 300, -9e5} {
		for i := range plane {
			plane[i], other[i] = byte(i), byte(i>>8)
		}
		mix(plane, other, factor)
		for i, got := range plane {
			if want := blend(byte(i>>8), byte(i), factor); got != want {
				t.Fatalf("%d and %d by %v are %d, expected %d", i>>8, i&255, factor, got, want)
			}
		}
	}
}

// TestHSVNeedsNoFractions makes every colour as Pillow does, in single and double
// precision.
func TestHSVNeedsNoFractions(t *testing.T) {
	table, wrong := hsvTables(), 0
	rounded := func(v float64) uint8 { return uint8(math.Round(v)) }
	for i := range 1 << 24 {
		h, s, v := uint8(i), uint8(i>>8), uint8(i>>16)
		sector := math.Floor(float64(h) * 6 / 255)
		f, share := float32(float64(h)*6/255-sector), float32(float64(s)/255)
		low := rounded(float64(v) * (1 - float64(share)))
		falling := rounded(float64(v) * (1 - float64(float32(share*f))))
		rising := rounded(float64(v) * (1 - float64(float64(share)*(1-float64(f)))))
		want := [6][3]uint8{{v, rising, low}, {falling, v, low}, {low, v, rising}, {low, falling, v}, {rising, low, v}, {v, low, falling}}[int(sector)%6]
		if s == 0 {
			want = [3]uint8{v, v, v}
		}
		if r, g, b := table.rgbOf(h, s, v); want != [3]uint8{r, g, b} {
			wrong++
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d colours are wrong", wrong, 1<<24)
	}
}

// TestContrastRoundedTwice: torch rounds the sum of most pixels once and that of some of the
// last ones twice. The picture matches torch's even if this is visible.
func TestContrastRoundedTwice(t *testing.T) {
	refused := func(shade byte, factor float64) bool {
		p, err := Parse(fmt.Appendf(nil, `{"mode":"L","size":[19,5],"ops":[["torch_contrast",%v]]}`, factor))
		if err != nil {
			t.Fatal(err)
		}
		pixels := bytes.Repeat([]byte{shade}, 19*5)
		err = NewWorker(decode.Limits{}).Run(p, Source{Pixels: pixels}, make([]byte, len(pixels)))
		var refusal *RefusalError
		if err != nil && !errors.As(err, &refusal) {
			t.Fatal(err)
		}
		return err != nil
	}
	count := 0
	for shade := range 256 {
		if refused(byte(shade), 1e-7) {
			count++
		}
		for _, factor := range []float64{0, 0.5, 1, 2} {
			if refused(byte(shade), factor) {
				t.Errorf("contrast of %d by %v is refused", shade, factor)
			}
		}
	}
	if count == 0 {
		t.Error("no contrast by 1e-7 is refused, though it is rounded in two ways")
	}
}
