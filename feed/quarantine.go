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

// quarantine is the file that names the bad samples, one JSON object a line: what
// is wrong with which file, and by its digest whether it is still that file.
type quarantine struct {
	path  string
	mu    sync.Mutex
	file  *os.File
	named map[[2]string]bool // path and digest of what is in the file
	err   error              // of the first line that could not be written
}

// quarantined is a line.
type quarantined struct {
	ID     int    `json:"id"`
	Path   string `json:"path"`
	Reason string `json:"reason"`
	Kind   string `json:"kind"`
	Digest string `json:"digest,omitempty"` // SHA-256 of the file
}

// openQuarantine opens the file for appending: lines of several daemons that
// share it do not mix, because each is one write. What an earlier run wrote is not
// written again. The file is the user's alone: paths can say more than others
// should know.
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

// readSeen notes the lines that are there; others than ours are the user's.
func (q *quarantine) readSeen() error {
	info, err := q.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // a pipe could be waited at for ever
		return errors.New("it is no plain file: give the name of one, or of none yet")
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

// append writes a line. That it cannot is no reason to stop the training: close
// says so.
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

func (q *quarantine) hint() string {
	if q == nil {
		return ""
	}
	return ", " + q.path + " names them all"
}

func (q *quarantine) closeFile() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.file.Close(); q.err == nil {
		q.err = err
	}
	return q.err
}
