package picture

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/feed/decode"
	"github.com/stoker-dev/stoker/internal/leash"
)

var (
	chains = flag.Int("chains", 600, "random chains of operations that Pillow and this package both make")
	seed   = flag.String("seed", "1", "of the random chains")
	files  = flag.Float64("files", 0.1, "share of the chains that begin with a file")
	least  = flag.Int("least", 1200, "chains of TestOddFilesMatchPillow that are not refused")
	folder = flag.String("folder", "../decode/testdata", "of the files that TestOddFilesMatchPillow reads")
)

// TestPillowMakesTheSame has testdata/chains.py draw chains of operations and make them
// with Pillow, torchvision and NumPy; what this package makes of them must be the same
// bytes. A million take some ten minutes:
//
//	go test -run TestPillowMakesTheSame -chains 1000000 -seed 7 ./feed/picture
func TestPillowMakesTheSame(t *testing.T) {
	compareWithPillow(t, *chains*8/10, "--stream", "--count", strconv.Itoa(*chains), "--seed", *seed, "--files", fmt.Sprint(*files))
}

// TestTorchMakesTheSame is about torchvision's operations on tensors of bytes alone.
func TestTorchMakesTheSame(t *testing.T) {
	if exec.Command(pillow(t), "-c", "import torch, torchvision").Run() != nil {
		t.Skip("no torchvision: python/install-torch brings one")
	}
	compareWithPillow(t, *chains/2, "--stream", "--torch", "--count", strconv.Itoa(*chains), "--seed", *seed, "--files", "0")
}

// TestOddFilesMatchPillow reads files of all kinds, whole, cut and damaged: each is
// refused or the same, and nothing comes of what Pillow raises for.
func TestOddFilesMatchPillow(t *testing.T) {
	compareWithPillow(t, *least, "--odd", *folder)
}

// TestOddChunksMatchPillow reads PNGs whose chunks are odd, doubled, cut or missing.
func TestOddChunksMatchPillow(t *testing.T) {
	compareWithPillow(t, *chains, "--chunks", strconv.Itoa(4**chains), "--seed", *seed)
}

// TestEachOperationMatchesPillow does each operation alone.
func TestEachOperationMatchesPillow(t *testing.T) {
	compareWithPillow(t, 1000, "--each", "40")
}

// compareWithPillow compares what chains.py writes; at least so many must not be refused.
func compareWithPillow(t *testing.T, least int, arguments ...string) {
	cmd := exec.Command(pillow(t), append([]string{"testdata/chains.py"}, arguments...)...)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	leash.Hold(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if made := compareChains(t, bufio.NewReaderSize(pipe, 1<<20)); made < least {
		t.Errorf("%d chains were made: too few", made)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestMain has what tests start end with them.
func TestMain(m *testing.M) { os.Exit(leash.Main(m)) }

func compareChains(t *testing.T, in io.Reader) (made int) {
	w := NewWorker(decode.Limits{})
	refused, bytesMade, wrong := map[string]int{}, 0, 0
	rows := map[string]*tally{}
	for i := 0; ; i++ {
		c, err := readChain(in)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.make(w)
		row := rows[c.tested]
		if row == nil {
			row = &tally{why: map[string]int{}}
			rows[c.tested] = row
		}
		row.add(got, c.result, err)
		switch {
		case err != nil && len(c.result) > 0:
			refused[err.Error()]++
		case err == nil && !bytes.Equal(got, c.result):
			if wrong++; wrong <= 20 {
				t.Errorf("chain %d: %d bytes, %d are right (0: an exception), first difference at %d:\n%s",
					i, len(got), len(c.result), firstDifference(got, c.result), c.program)
			}
		default:
			made++
			bytesMade += len(got)
		}
	}
	t.Logf("%d chains are the same, %d bytes; %d differ", made, bytesMade, wrong)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		row := rows[name]
		t.Logf("row %q: %d same, %d bytes, %d differ, refused: %v", name, row.same, row.bytes, row.differ, row.why)
	}
	most := 0
	for why, n := range refused {
		if most++; most <= 40 {
			t.Logf("%d refused: %s", n, why)
		}
	}
	return made
}

type drawnChain struct {
	program, source, result []byte
	file                    bool
	tested                  string // the operation, where there is one
}

// tally is what came of an operation: bench/cpus/operations.py makes a table of it.
type tally struct {
	same, bytes, differ int
	why                 map[string]int // it was refused
}

func (y *tally) add(got, want []byte, err error) {
	switch {
	case err != nil && len(want) == 0: // Pillow raises as well
	case err != nil:
		y.why[err.Error()]++
	case bytes.Equal(got, want):
		y.same, y.bytes = y.same+1, y.bytes+len(got)
	default:
		y.differ++
	}
}

func (c *drawnChain) make(w *Worker) ([]byte, error) {
	p, err := Parse(c.program)
	if err != nil {
		return nil, err
	}
	source := Source{Pixels: c.source}
	if c.file {
		source = Source{File: c.source}
	}
	dst := make([]byte, p.Output.Bytes())
	return dst, w.Run(p, source, dst)
}

func readChain(in io.Reader) (c drawnChain, err error) {
	var pieces [4][]byte
	for i := range pieces {
		var n [4]byte
		if _, err := io.ReadFull(in, n[:]); err != nil {
			return c, err
		}
		pieces[i] = make([]byte, binary.LittleEndian.Uint32(n[:]))
		if _, err := io.ReadFull(in, pieces[i]); err != nil {
			return c, err
		}
	}
	kind, tested, _ := strings.Cut(string(pieces[1]), " ")
	return drawnChain{pieces[0], pieces[2], pieces[3], kind == "file", tested}, nil
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// pillow is a Python that has Pillow: the programs say which one's bytes are meant.
func pillow(t *testing.T) string {
	for _, python := range []string{os.Getenv("STOKER_PYTHON"), "../../python/.venv/bin/python", "python3"} {
		if python == "" {
			continue
		}
		if path, err := filepath.Abs(python); err == nil && filepath.Base(python) != python {
			python = path
		}
		cmd := exec.Command(python, "-c", "import numpy, sys, PIL.Image as PIL; sys.exit(int(PIL.__version__.split('.')[0]) < 10)")
		if cmd.Run() == nil {
			return python
		}
	}
	t.Skip("no Python with Pillow 10 or newer and NumPy: python/install-torch brings one")
	return ""
}
