package observe

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/internal/private"
	"github.com/stoker-dev/stoker/quantity"

	"github.com/stoker-dev/stoker/observe/step"
	"github.com/stoker-dev/stoker/recording"
)

// logLevel is a variable that libkineto reads. 6 is above all: nothing of it on the
// command's stderr.
const logLevel = "KINETO_LOG_LEVEL"

// processTrace is a trace that the hook has PyTorch's profiler write from within a
// process that runs (trace.py). One is asked for in a process.
type processTrace struct {
	pid, rank int
	why       string // the reason for having none; "" once it is kept
	over      bool   // the hook said its last word
}

// lastWord is what the hook says about a trace at its end.
type lastWord struct {
	From  int64   `json:"from"` // CLOCK_MONOTONIC, ns
	To    int64   `json:"to"`
	Steps int     `json:"steps"`
	Why   *string `json:"why"` // the reason for having none
}

// mostTold bounds the hook's last word.
const mostTold = 4096 // bytes

// quietLibkineto keeps libkineto from printing into the command's stderr if a trace may be
// taken.
func (r *recorder) quietLibkineto(env []string) []string {
	set := slices.ContainsFunc(env, func(entry string) bool { return strings.HasPrefix(entry, logLevel+"=") })
	if set || !r.hooked || r.o.Trace == nil && r.o.Inside == nil {
		return env
	}
	return append(env, logLevel+"=6")
}

// traceSecond asks for the traces that are wanted, and keeps those that came.
func (r *recorder) traceSecond(now float64) {
	if !r.hooked || r.job == nil {
		return
	}
	r.keepTraces()
	switch {
	case r.exit != nil:
	case r.o.Trace != nil:
		for _, p := range r.job.Processes() {
			if r.isReadyForTrace(p, now) {
				r.say(fmt.Sprintf("%.0f s: a trace of %d steps is asked for (process %d)", now, r.o.Trace.Steps, p.PID))
				r.askForTrace(p.PID, *r.o.Trace)
			}
		}
	case r.o.Inside != nil && len(r.traces) == 0:
		if pid, steps := r.o.Inside(); pid > 0 {
			r.askForTrace(pid, TraceRequest{Steps: steps})
		}
	}
	if r.o.Trace != nil || len(r.traces) > 0 {
		r.noteAbsence("trace", r.whyNoTrace())
	}
}

// isReadyForTrace reports whether a process is a rank that was not asked so far and
// whose steps are steady.
func (r *recorder) isReadyForTrace(p recording.Process, now float64) bool {
	if p.Role != recording.RoleTrainer || p.End != 0 {
		return false
	}
	if slices.ContainsFunc(r.traces, func(t *processTrace) bool { return t.pid == p.PID }) {
		return false
	}
	one := r.paces[p.PID]
	if one == nil && p.LauncherSeen && !r.launches(p.PID) { // its optimizer steps, over no DataLoader
		one = &pace{first: now}
		r.paces[p.PID] = one
	}
	return one != nil && one.isReady(p.LauncherSeen, now)
}

// launches reports whether a process without steps started another that trains:
// then it is the launcher.
func (r *recorder) launches(pid int) bool {
	return slices.ContainsFunc(r.intake.Processes(), func(p step.Process) bool { return !p.Worker && p.Parent == pid })
}

// fileOf returns a file of the trace's in the run's folder, as the hook names them.
func (t *processTrace) fileOf(folder *folder, ending string) string {
	return filepath.Join(folder.path, fmt.Sprintf("trace-%d.%s", t.pid, ending))
}

func (r *recorder) askForTrace(pid int, request TraceRequest) {
	t := &processTrace{pid: pid, why: "the run ended before a trace that was asked for was written"}
	for _, p := range r.job.Processes() {
		if p.PID == pid {
			t.rank = p.Rank
		}
	}
	r.traces = append(r.traces, t)
	if r.out.Path() == "" {
		r.endTrace(t, "nothing is recorded, and a trace lies beside the recording")
		return
	}
	text, err := json.Marshal(request)
	if err == nil {
		err = private.WriteWhole(t.fileOf(r.private, "ask"), text)
	}
	if err != nil {
		r.endTrace(t, fmt.Sprintf("ask for a trace: %v", err))
	}
}

// keepTraces reads the hook's last words.
func (r *recorder) keepTraces() {
	for _, t := range r.traces {
		if !t.over {
			r.hearTrace(t)
		}
	}
}

func (r *recorder) hearTrace(t *processTrace) {
	file, err := os.Open(t.fileOf(r.private, "told"))
	if err != nil {
		return // not yet
	}
	defer func() { _ = file.Close() }()
	var word lastWord
	if err := json.NewDecoder(io.LimitReader(file, mostTold)).Decode(&word); err != nil {
		r.endTrace(t, fmt.Sprintf("read what the hook says of its trace: %v", err))
		return
	}
	if word.Why != nil {
		r.endTrace(t, *word.Why)
		return
	}
	r.keepTrace(t, word)
}

func (r *recorder) keepTrace(t *processTrace, word lastWord) {
	base := fmt.Sprintf("%s.rank%d", strings.TrimSuffix(r.out.Path(), ".jsonl.gz"), t.rank)
	name, size, err := moveTrace(t.fileOf(r.private, "json"), base+".trace.json", fmt.Sprintf("%s.%d.trace.json", base,
		t.pid))
	if err != nil {
		r.endTrace(t, err.Error())
		return
	}
	at := func(ns int64) float64 { return float64(ns-r.clock.mono) / 1e9 }
	r.facts.Captures = append(r.facts.Captures, recording.Capture{
		PID: t.pid, Rank: t.rank, Steps: word.Steps, File: filepath.Base(name), Bytes: float64(size),
		From: at(word.From), To: at(word.To), Inside: true,
	})
	t.over, t.why = true, ""
	r.say(fmt.Sprintf("%.0f s: the trace of process %d is kept, %s: %s",
		r.clock.now(), t.pid, quantity.AboutBytes(float64(size)), name))
}

// endTrace records why there is no trace of a process.
func (r *recorder) endTrace(t *processTrace, why string) {
	t.over, t.why = true, why
	r.say(fmt.Sprintf("%.0f s: no trace was taken of process %d: %s", r.clock.now(), t.pid, why))
}

// whyNoTrace says why a trace is missing, "" if none is.
func (r *recorder) whyNoTrace() string {
	for _, t := range r.traces {
		if t.why != "" {
			return t.why
		}
	}
	switch {
	case len(r.traces) > 0:
		return ""
	case len(r.paces) > 0:
		return "the run ended before its steps were steady"
	case shutOut(r.o.Command) != "":
		return "the hook is shut out by python " + shutOut(r.o.Command) + ", and it is the hook that takes a trace"
	}
	return "the hook saw no step"
}

// lastTraces reads the hook's last words a last time.
func (r *recorder) lastTraces() {
	switch {
	case r.hooked:
		if r.keepTraces(); r.o.Trace != nil || len(r.traces) > 0 {
			r.noteAbsence("trace", r.whyNoTrace())
		}
	case r.o.Trace != nil:
		r.noteAbsence("trace", "a trace needs the hook, and this run has none")
	}
}

func (r *recorder) say(text string) {
	if r.o.Say != nil {
		r.o.Say(text)
	}
}
