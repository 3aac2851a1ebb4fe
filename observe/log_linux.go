package observe

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/stoker-dev/stoker/internal/private"
)

// logSecond passes on what the caller wants to log, if anything.
func (r *recorder) logSecond() {
	if r.o.Log == nil || !r.hooked {
		return
	}
	l := r.o.Log()
	if l == nil {
		return
	}
	text, err := json.Marshal(l)
	if err == nil {
		err = private.WriteWhole(filepath.Join(r.private.path, fmt.Sprintf("log-%d.ask", l.PID)), text)
	}
	if err != nil {
		r.warn(fmt.Sprintf("hand figures to the hook: %v", err))
	}
}
