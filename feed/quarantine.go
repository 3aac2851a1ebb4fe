package feed

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/stoker-dev/stoker/internal/owned"
)

// quarantine is the file that names the bad samples, one JSON object a line: the file, what is
// wrong with it, and its digest, which tells whether the file has changed since.
type quarantine struct {
	path  string
	mu    sync.Mutex
	file  *os.File
	named map[[2]string]bool // path and digest of each entry in the file
	err   error              // of the first line that could not be written
}

// quarantined is a line of the file.
type quarantined struct {
	ID     int    `json:"id"`
	Path   string `json:"path"`
	Reason string `json:"reason"`
	Kind   string `json:"kind"`
	Digest string `json:"digest,omitempty"` // SHA-256 of the file
}

// openQuarantine opens the file for appending. Lines of several daemons that share it do not
// mix, because each is one write. What an earlier run wrote is not repeated. Only the user may
// read the file, as paths can reveal more than others should know.
func openQuarantine(path string) (*quarantine, error) {
	file, err := owned.Append(path, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open quarantine file: %w", err)
	}
	q := &quarantine{path: path, file: file, named: map[[2]string]bool{}}
	if err := q.readSeen(); err != nil {
		return nil, errors.Join(fmt.Errorf("read quarantine file %s: %w", path, err), file.Close())
	}
	return q, nil
}

// readSeen notes the samples that the file names already, and skips lines in another format.
func (q *quarantine) readSeen() error {
	info, err := q.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // reading a pipe could block for ever
		return errors.New("it is not a regular file: name a regular file, or one that does not exist yet")
	}
	lines := bufio.NewScanner(q.file)
	for lines.Scan() {
		var e quarantined
		if json.Unmarshal(lines.Bytes(), &e) == nil {
			q.named[[2]string{e.Path, e.Digest}] = true
		}
	}
	return lines.Err()
}

// append writes a line. A failure does not stop the training; closeFile reports it.
func (q *quarantine) append(sample int, t *trouble) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.named[[2]string{t.path, t.digest}] {
		return
	}
	q.named[[2]string{t.path, t.digest}] = true
	text, err := json.Marshal(quarantined{sample, t.path, t.reason, string(t.kind), t.digest})
	if err == nil {
		_, err = q.file.Write(append(text, '\n'))
	}
	if err != nil && q.err == nil {
		q.err = fmt.Errorf("write quarantine file: %w", err)
	}
}

// hint returns the end of a sentence that names the quarantine file; "" without one.
func (q *quarantine) hint() string {
	if q == nil {
		return ""
	}
	return ", " + q.path + " names them all"
}

// closeFile closes the file, and returns the first error of writing it.
func (q *quarantine) closeFile() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.file.Close(); q.err == nil {
		q.err = err
	}
	return q.err
}
