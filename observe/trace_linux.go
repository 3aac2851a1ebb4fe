package observe

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"

	"github.com/stoker-dev/stoker/internal/private"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/observe/capture"
	"github.com/stoker-dev/stoker/observe/cpu"
	"github.com/stoker-dev/stoker/observe/step"
	"github.com/stoker-dev/stoker/recording"
)

// Variables that libkineto reads in the processes of a job.
const (
	useDaemon = "KINETO_USE_DAEMON"         // any value arms it
	traceDir  = "KINETO_ONDEMAND_TRACE_DIR" // PyTorch 2.15 writes nowhere else
	logLevel  = "KINETO_LOG_LEVEL"          // 6 is above all: nothing of it on the command's stderr
	socketDir = "KINETO_IPC_SOCKET_DIR"     // sockets in a folder instead of the abstract namespace
	asksBy    = 60.0                        // seconds after PyTorch is known to run by which it asks at the latest
	warmTime  = 20.0                        // seconds after which steps that are not steady are traced all the same
	stepless  = 90.0                        // the same where the hook has seen no step that trains: a loop that it does not know
	attached  = 3.0                         // the same for a process that ran before us
)

// tracing is the part of a recorder that has PyTorch's own profiler write a
// trace.
type tracing struct {
	daemon  *capture.Daemon
	folder  string  // where the job writes
	sockets string  // where it looks for us, "" is the abstract namespace
	heard   float64 // when PyTorch was first known to run in the job, NaN before
	told    int     // traces that were reported
	asked   bool    // it was said that a trace was asked for
	again   int     // files without a step that were reported
}

// trace prepares to capture. Without it the observation goes on.
func (r *recorder) trace() {
	if r.o.Trace == nil {
		return
	}
	t, err := r.openTrace()
	if err == nil {
		r.tracing = t
		return
	}
	r.absent("trace", err.Error())
	r.warn("no trace will be taken: " + err.Error())
}

func (r *recorder) openTrace() (*tracing, error) {
	if r.out.Path() == "" {
		return nil, errors.New("nothing is recorded, and a trace lies beside the recording")
	}
	sockets, err := os.Getenv(socketDir), error(nil)
	if r.o.PID > 0 {
		sockets, err = r.settleWhereAllowed()
	} else if r.private == nil { // the hook is off
		err = private.Try(func(place string) (err error) { r.private, err = makeFolder(place); return err })
	}
	if err == nil && r.o.PID == 0 && sockets == "" {
		sockets, err = r.private.short()
	}
	if err != nil {
		return nil, fmt.Errorf("make a folder for the trace: %w", err)
	}
	d, err := capture.Listen(capture.Options{
		Request: *r.o.Trace, Folder: r.private.path, SocketDir: sockets, Keep: strings.TrimSuffix(r.out.Path(), ".jsonl.gz"),
	})
	if err != nil {
		return nil, err
	}
	return &tracing{daemon: d, folder: r.private.path, sockets: sockets, heard: math.NaN()}, nil
}

// settleWhereAllowed makes the folder that a running process is to write to, in the
// one that it was started with where that is the user's own, and says where the
// process has its sockets. PyTorch 2.15 writes below that folder only; where it may
// not write to ours it takes a name in /tmp (capture).
func (r *recorder) settleWhereAllowed() (sockets string, err error) {
	values, err := cpu.Environment("/proc", r.o.PID)
	if err != nil {
		return "", fmt.Errorf("read the environment of process %d: %w", r.o.PID, err)
	}
	if _, armed := values[useDaemon]; !armed {
		r.warn(fmt.Sprintf("process %d was started without %s=1: it will not ask for a trace. Start it with that variable, or under stoker observe --trace", r.o.PID, useDaemon))
	}
	make := func(place string) (err error) { r.private, err = makeFolder(place); return err }
	if base, err := private.Check(values[traceDir]); err == nil && base == values[traceDir] && make(base) == nil {
		return values[socketDir], nil
	}
	return values[socketDir], private.Try(make)
}

// armed is the environment with which libkineto asks us for a trace.
func (t *tracing) armed(env []string) []string {
	if t == nil {
		return env
	}
	env = slices.DeleteFunc(env, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == useDaemon || name == traceDir || name == socketDir
	})
	return append(env, useDaemon+"=1", traceDir+"="+t.folder, socketDir+"="+t.sockets)
}

// quieted keeps libkineto from printing into the command's stderr where it may come to
// be used.
func (r *recorder) quieted(env []string) []string {
	set := slices.ContainsFunc(env, func(entry string) bool { return strings.HasPrefix(entry, logLevel+"=") })
	if set || r.tracing == nil && (r.o.Inside == nil || !r.hooked) {
		return env
	}
	return append(env, logLevel+"=6")
}

// traceSecond tells the daemon who may be traced, and the caller what happens.
func (r *recorder) traceSecond(now float64) {
	t := r.tracing
	if t == nil || r.job == nil {
		return
	}
	t.daemon.Targets(r.targets(now))
	if pids := t.daemon.Offered(); len(pids) > 0 && !t.asked {
		t.asked = true
		r.say(fmt.Sprintf("%.0f s: a trace of %d steps is asked for (process %d)", now, r.o.Trace.Steps, pids[0]))
	}
	if n := t.daemon.Stepless(); n > t.again {
		t.again, t.asked = n, false
		r.say(fmt.Sprintf("%.0f s: a trace came in which no step is: another is asked for, three at most", now))
	}
	r.hearTraces()
	if math.IsNaN(t.heard) && r.intake.Heard() {
		t.heard = now
	}
	if now-t.heard > asksBy && !t.daemon.Asked() {
		r.warn(fmt.Sprintf("no trace was asked for within %.0f s of the import of PyTorch: %s", asksBy, t.daemon.Why()))
	}
}

// hearTraces takes over what was kept.
func (r *recorder) hearTraces() {
	t := r.tracing
	all := t.daemon.Traces()
	for _, c := range all[t.told:] {
		steps := r.o.Trace.Steps
		if c.Timed {
			steps = 0
		}
		r.facts.Captures = append(r.facts.Captures, recording.Capture{
			PID: c.PID, Rank: c.Rank, Steps: steps, File: filepath.Base(c.File), Bytes: float64(c.Bytes),
			From: c.Offered.Sub(r.clock.wall).Seconds(), To: c.Ended.Sub(r.clock.wall).Seconds(),
		})
		r.say(fmt.Sprintf("%.0f s: the trace of process %d is kept, %s: %s", r.clock.now(), c.PID, stoker.AboutBytes(float64(c.Bytes)), c.File))
	}
	t.told = len(all)
}

func (r *recorder) say(text string) {
	if r.o.Say != nil {
		r.o.Say(text)
	}
}

// endTrace looks for a file a last time and says why there is none.
func (r *recorder) endTrace() {
	t := r.tracing
	if t == nil {
		return
	}
	if err := t.daemon.Close(); err != nil {
		r.warn("close the socket for libkineto: " + err.Error())
	}
	r.hearTraces()
	r.absent("trace", t.daemon.Why())
}

// undoTrace takes back what openTrace did.
func (t *tracing) undo() {
	if t != nil {
		_ = t.daemon.Close()
	}
}

// targets are the ranks, and which of them are warm.
func (r *recorder) targets(now float64) []capture.Target {
	var all []capture.Target
	for _, p := range r.job.Processes() {
		if p.Role == recording.RoleTrainer && p.End == 0 && (r.paces[p.PID] != nil || !r.launches(p.PID)) {
			all = append(all, r.target(p, now))
		}
	}
	return all
}

// target says whether a process can be traced now. Where the hook runs, its steps are
// waited for: imports and preparations can take minutes.
func (r *recorder) target(p recording.Process, now float64) capture.Target {
	one := r.paces[p.PID]
	counted := r.hooked && shutOut(r.o.Command) == ""
	if one == nil && p.LauncherSeen { // its optimizer steps, over no DataLoader
		one = &pace{first: now}
		r.paces[p.PID] = one
	}
	target := capture.Target{PID: p.PID, Rank: p.Rank, Step: math.NaN(), Stepless: counted && one == nil}
	since, long := p.Start, warmTime
	if one != nil {
		since, target.Step, target.Ready = one.first, one.step(), one.steady()
	}
	switch {
	case one != nil && (one.n > 0 || p.LauncherSeen):
	case counted:
		long = stepless
	case r.o.PID > 0:
		long = attached
	}
	target.Ready = target.Ready || now-since > long
	return target
}

// launches reports whether a process without steps started another that trains:
// then it is the launcher.
func (r *recorder) launches(pid int) bool {
	return slices.ContainsFunc(r.intake.Processes(), func(p step.Process) bool { return !p.Worker && p.Parent == pid })
}

// paced passes steps on and looks at their pace.
type paced struct {
	*recording.Writer
	paces map[int]*pace
}

// Step adds a step.
func (p paced) Step(s recording.Step) {
	p.Writer.Step(s)
	if s.First || !(s.Period > 0) {
		return
	}
	one := p.paces[s.PID]
	if one == nil {
		one = &pace{first: s.Start}
		p.paces[s.PID] = one
	}
	if s.Phase != recording.Train && s.Phase != "" {
		return
	}
	if one.n == 0 {
		one.first = s.Start
	}
	one.periods[one.n%len(one.periods)] = s.Period
	one.n++
}

// pace is how a process steps.
type pace struct {
	periods [10]float64 // of the last steps, seconds, in a ring
	n       int
	first   float64 // when its first step that trains began, until then the first of another kind, seconds of the recording
}

// warmSteps are left out of the judgement of a pace.
const warmSteps = 2

// steady reports whether ten steps after the first two took about the same time:
// the medians of the earlier and of the later five within half of each other.
// Medians, because every few steps one waits for a batch.
func (p *pace) steady() bool {
	if p.n < len(p.periods)+warmSteps {
		return false
	}
	at := p.n % len(p.periods)
	inOrder := append(slices.Clone(p.periods[at:]), p.periods[:at]...)
	half := len(inOrder) / 2
	early, late := stat.Median(inOrder[:half]), stat.Median(inOrder[half:])
	return early < 1.5*late && late < 1.5*early
}

// step is how long a step takes, NaN where that is not known yet.
func (p *pace) step() float64 {
	if p.n < len(p.periods) {
		return math.NaN()
	}
	return stat.Median(p.periods[:])
}
