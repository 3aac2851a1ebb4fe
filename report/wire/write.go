package wire

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/stoker-dev/stoker/internal/safe"
)

// schema is the version of the JSON: it is increased when a field changes its meaning.
const schema = 1

// WriteObject writes a value as JSON that is safe to print on a terminal: characters that move
// a cursor or reverse text are escaped; arrows and comparisons stay readable.
func WriteObject(w io.Writer, o any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(o); err != nil {
		return err
	}
	_, err := w.Write(safe.JSON(b.Bytes()))
	return err
}

// countOrNull returns a pointer to a count, or nil if it is 0.
func countOrNull(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func asSeconds(ns int64) float64 { return float64(ns) / 1e9 }
