package observe

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoker-dev/stoker/observe/capture"
	"github.com/stoker-dev/stoker/recording"
)

// inside is a trace that the hook has PyTorch's profiler write from within a process
// that runs (observe/hook/trace.py): nothing has to be prepared for it when the
// program starts. One is asked for in a run.
type inside struct {
	pid, rank, steps int
	over             bool
}

// lastWord is what the hook says of it at its end.
type lastWord struct {
	From  int64   `json:"from"` // CLOCK_MONOTONIC, ns
	To    int64   `json:"to"`
	Steps int     `json:"steps"`
	Why   *string `json:"why"` // there is none
}

// mostTold bounds the hook's last word.
const mostTold = 4096 // bytes

// insideSecond asks where the caller wants a trace, and keeps what came.
func (r *recorder) insideSecond() {
	switch {
	case r.o.Inside == nil || !r.hooked:
	case r.inside != nil:
		r.hearInside()
	default:
		if pid, steps := r.o.Inside(); pid > 0 {
			r.askInside(pid, steps)
		}
	}
}

// name is a file of the trace's in the run's folder, as the hook names them.
func (t *inside) name(folder *folder, ending string) string {
	return filepath.Join(folder.path, fmt.Sprintf("trace-%d.%s", t.pid, ending))
}

func (r *recorder) askInside(pid, steps int) {
	r.inside = &inside{pid: pid, steps: steps}
	for _, p := range r.job.Processes() {
		if p.PID == pid {
			r.inside.rank = p.Rank
		}
	}
	const why = "the run ended before a trace that was asked for was written"
	if err := writeWhole(r.inside.name(r.private, "ask"), fmt.Appendf(nil, `{"steps":%d}`, steps)); err != nil {
		r.endInside(fmt.Sprintf("ask for a trace: %v", err))
		return
	}
	r.absent("trace", why) // until it came
}

// hearInside looks for the hook's last word.
func (r *recorder) hearInside() {
	t := r.inside
	if t == nil || t.over {
		return
	}
	file, err := os.Open(t.name(r.private, "told"))
	if err != nil {
		return // not yet
	}
	defer func() { _ = file.Close() }()
	text := make([]byte, mostTold)
	n, _ := file.Read(text)
	var word lastWord
	if err := json.Unmarshal(text[:n], &word); err != nil {
		r.endInside(fmt.Sprintf("read what the hook says of its trace: %v", err))
		return
	}
	if word.Why != nil {
		r.endInside(*word.Why)
		return
	}
	r.keepInside(word)
}

func (r *recorder) keepInside(word lastWord) {
	t, path := r.inside, r.inside.name(r.private, "json")
	keep := strings.TrimSuffix(r.out.Path(), ".jsonl.gz")
	name, bytes, err := capture.Keep(path, fmt.Sprintf("%s.rank%d.trace.json", keep, t.rank), fmt.Sprintf("%s.rank%d.%d.trace.json", keep, t.rank, t.pid))
	if err != nil {
		r.endInside(err.Error())
		return
	}
	at := func(ns int64) float64 { return float64(ns-r.clock.mono) / 1e9 }
	r.facts.Captures = append(r.facts.Captures, recording.Capture{
		PID: t.pid, Rank: t.rank, Steps: word.Steps, File: filepath.Base(name), Bytes: float64(bytes), From: at(word.From), To: at(word.To), Inside: true,
	})
	r.absent("trace", "")
	t.over = true
	r.say(fmt.Sprintf("%.0f s: the trace of process %d is kept: %s", r.clock.now(), t.pid, name))
}

// endInside says why there is no trace.
func (r *recorder) endInside(why string) {
	r.inside.over = true
	r.absent("trace", why)
	r.say(fmt.Sprintf("%.0f s: no trace was taken: %s", r.clock.now(), why))
}
