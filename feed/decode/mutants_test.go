package decode

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
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/stoker-dev/stoker/internal/leash"
)

var (
	mutants     = flag.Int("mutants", 2000, "files with a small damage that Pillow and this package both read")
	mutantSeed  = flag.Int("mutantseed", 1, "of what is damaged")
	mutantNames = flag.String("mutantnames", "", "damage files whose name holds this")
	mutantsKept = flag.String("mutantskept", "", "folder for those that are not as they should be")
)

// TestMutantsMatchPillow has testdata/mutants.py damage files of every format slightly. Files
// that Pillow refuses must be refused, and files that both read must have the same pixels or a
// flag. Files refused only here are counted by reason. 100,000 take five minutes:
//
// //	go test -run TestMutantsMatchPillow -mutants 100000 -mutantseed 7 -v ./feed/decode
func TestMutantsMatchPillow(t *testing.T) {
	leash.Hold(t)
	machine, err := exec.Command(pillow(t), "-c", "import platform; print(platform.machine(), end='')").Output()
	if err != nil {
		t.Fatal(err)
	}
	if of := map[string]string{"x86_64": "amd64", "aarch64": "arm64"}[string(machine)]; of != runtime.GOARCH {
		t.Skipf("Pillow is that of %s: other machines have other pixels where a damaged JPEG overflows", machine)
	}
	cmd := exec.Command(pillow(t), "testdata/mutants.py", "--count", strconv.Itoa(*mutants), "--seed", strconv.Itoa(*mutantSeed), "--only", *mutantNames)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	in, d := bufio.NewReaderSize(pipe, 1<<20), New(Limits{})
	outcomes, alone := map[string]int{}, map[string]int{}
	for {
		m, err := readMutant(in)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		outcome, why := m.compare(d)
		outcomes[outcome]++
		switch outcome {
		case readHere, otherPixels:
			t.Errorf("%s: %s (%s)", outcome, m.name, why)
			if *mutantsKept != "" {
				_ = os.WriteFile(filepath.Join(*mutantsKept, regexp.MustCompile(`[^\w.-]+`).ReplaceAllString(m.name, "_")), m.file, 0o600)
			}
		case refusedHere:
			alone[regexp.MustCompile(`\d+|0x\w+`).ReplaceAllString(why, "N")]++
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%v", outcomes)
	for _, why := range slices.SortedFunc(maps.Keys(alone), func(a, b string) int { return alone[b] - alone[a] }) {
		t.Logf("%d refused here alone: %s", alone[why], why)
	}
	if outcomes[equalPixels] < *mutants/10 || outcomes[refusedBoth] < *mutants/10 {
		t.Errorf("of %d mutants %d are read and %d refused: the comparison says little", *mutants, outcomes[equalPixels], outcomes[refusedBoth])
	}
}

// What may come of a file.
const (
	equalPixels = "the same pixels"
	flagged     = "other pixels, which is said"
	otherPixels = "other pixels, and nothing is said"
	refusedBoth = "refused by both"
	refusedHere = "refused here alone"
	readHere    = "read here, refused by Pillow"
)

type mutant struct {
	name         string
	file, pillow []byte // Pillow's result, empty if it raises
}

func readMutant(in io.Reader) (m mutant, err error) {
	var pieces [3][]byte
	for i := range pieces {
		var n [4]byte
		if _, err := io.ReadFull(in, n[:]); err != nil {
			return m, err
		}
		pieces[i] = make([]byte, binary.LittleEndian.Uint32(n[:]))
		if _, err := io.ReadFull(in, pieces[i]); err != nil {
			return m, err
		}
	}
	return mutant{string(pieces[0]), pieces[1], pieces[2]}, nil
}

// compare returns the outcome for a file and, if it is refused, the reason.
func (m mutant) compare(d *Decoder) (outcome, why string) {
	pixels, info, err := decodeRGB(d, m.file)
	switch {
	case err != nil && len(m.pillow) == 0:
		return refusedBoth, err.Error()
	case err != nil:
		return refusedHere, info.Format + ": " + err.Error()
	case len(m.pillow) == 0:
		return readHere, info.Format
	}
	size := binary.LittleEndian.AppendUint32(nil, uint32(info.Width))
	size = binary.LittleEndian.AppendUint32(size, uint32(info.Height))
	if bytes.Equal(append(size, pixels...), m.pillow) {
		return equalPixels, ""
	}
	if info.Inexact != "" {
		return flagged, info.Inexact
	}
	return otherPixels, fmt.Sprintf("%s of %d x %d, Pillow %d x %d", info.Format, info.Width, info.Height,
		binary.LittleEndian.Uint32(m.pillow), binary.LittleEndian.Uint32(m.pillow[4:]))
}

// pillow is a Python that has Pillow.
func pillow(t *testing.T) string {
	for _, python := range []string{os.Getenv("STOKER_PYTHON"), "../../python/.venv/bin/python", "python3"} {
		if python == "" {
			continue
		}
		if path, err := filepath.Abs(python); err == nil && filepath.Base(python) != python {
			python = path
		}
		if exec.Command(python, "-c", "import numpy, sys, PIL.Image as PIL; sys.exit(int(PIL.__version__.split('.')[0]) < 13)").Run() == nil {
			return python
		}
	}
	t.Skip("no Python with Pillow 13 or newer and NumPy: python/install-torch brings one")
	return ""
}

// TestMain has what tests start end with them.
func TestMain(m *testing.M) { os.Exit(leash.Main(m)) }
