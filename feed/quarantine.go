package feed

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

// quarantine is the file that names the bad samples, one JSON object a line: what
// is wrong with which file, and by its digest whether it is still that file.
type quarantine struct {
	path string
	mu   sync.Mutex
	file *os.File
	err  error // of the first line that could not be written
}

// openQuarantine opens the file for appending: lines of several daemons that
// share it do not mix, because each is one write. The file is the user's alone:
// paths can say more than others should know.
func openQuarantine(path string) (*quarantine, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open quarantine file: %w", err)
	}
	return &quarantine{path: path, file: file}, nil
}

// append writes a line. That it cannot is no reason to stop the training: close
// says so.
func (q *quarantine) append(sample int, t *trouble) {
	if q == nil {
		return
	}
	text, err := json.Marshal(struct {
		ID     int    `json:"id"`
		Path   string `json:"path"`
		Reason string `json:"reason"`
		Kind   string `json:"kind"`
		Digest string `json:"digest,omitempty"` // SHA-256 of the file
	}{sample, t.path, t.reason, string(t.kind), t.digest})
	q.mu.Lock()
	defer q.mu.Unlock()
	if err == nil {
		_, err = q.file.Write(append(text, '\n'))
	}
	if err != nil && q.err == nil {
		q.err = fmt.Errorf("write quarantine file: %w", err)
	}
}

func (q *quarantine) hint() string {
	if q == nil {
		return ""
	}
	return "; " + q.path + " names them all"
}

func (q *quarantine) close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.file.Close(); q.err == nil {
		q.err = err
	}
	return q.err
}
