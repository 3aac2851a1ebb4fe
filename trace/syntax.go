package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/stoker-dev/stoker/trace/kineto"
)

// protonStart is how Proton, Triton's profiler, begins its tree of totals (Hatchet's JSON).
var protonStart = regexp.MustCompile(`^\[\s*\{\s*"children"\s*:`)

// protonTree and protonHint say what such a tree is, and what has times.
const (
	protonTree = "a tree of totals of Triton's Proton (Hatchet), without times"
	protonHint = `proton.start(NAME, data="trace") records times for Perfetto, and torch.profiler what is read here`
)

// refuseProton refuses a tree of Proton's. A fault of its JSON is named as well: people edit such files.
func refuseProton(file string, rest io.Reader) error {
	return &unsupportedError{file, protonTree + describeFault(rest), protonHint}
}

// nameFault adds to the error of a file that no known program wrote the line at which it stops to be JSON.
func nameFault(file string, f *os.File, err error) error {
	var unknown *unsupportedError
	if !errors.As(err, &unknown) || !strings.HasPrefix(unknown.Format, kineto.OtherTrace) {
		return err
	}
	if _, failed := f.Seek(0, io.SeekStart); failed != nil {
		return err // a pipe
	}
	src, failed := openPacked(file, &countingReader{Reader: f, m: &meter{}})
	if failed != nil {
		return err
	}
	defer src.close()
	return &unsupportedError{file, unknown.Format + describeFault(src), unknown.Hint}
}

// mostChecked bounds how much of a file is looked through for a fault of its JSON.
const mostChecked = 64 << 20

// describeFault says at which line a file stops to be JSON, and why; "" if it is JSON, or too long to look through.
func describeFault(r io.Reader) string {
	data, err := io.ReadAll(io.LimitReader(r, mostChecked+1))
	if err != nil || len(data) > mostChecked {
		return ""
	}
	var all json.RawMessage
	var syntax *json.SyntaxError
	if err := json.Unmarshal(data, &all); !errors.As(err, &syntax) || !strings.HasPrefix(err.Error(), "invalid") {
		return ""
	}
	line := 1 + bytes.Count(data[:max(0, syntax.Offset-1)], []byte("\n"))
	return fmt.Sprintf(", broken at line %d (%v)", line, syntax)
}
