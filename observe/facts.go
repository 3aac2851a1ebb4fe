//go:build linux

package observe

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/coretime"
	"github.com/stoker-dev/stoker/observe/cpu"
	"github.com/stoker-dev/stoker/recording"
)

// hookPatience is how long PyTorch may be loaded without a word from the hook,
// seconds: imports of large programs go on for a while after it.
const hookPatience = 20

// maxAbsent bounds the list of missing things.
const maxAbsent = 64

// assemble puts the facts together from all that know some.
func (r *recorder) assemble() recording.Facts {
	f := r.facts
	r.intake.Facts(&f)
	f.Absent = slices.Concat(r.facts.Absent, r.lacking)
	f.Notes = append(slices.Clone(r.facts.Notes), r.intake.Notes()...)
	if r.job != nil {
		f.Processes = r.job.Processes()
		f.Absent = append(f.Absent, r.job.Absent()...)
	}
	f.Exit = r.exit
	worksUnseen(&f)
	return f
}

// worksUnseen corrects the note on a GPU whose driver shows nothing (AMD's, one
// whose library is not in the container) while the program is seen to work on it.
func worksUnseen(f *recording.Facts) {
	if f.Model == nil || f.Model.Device == "" || strings.HasPrefix(f.Model.Device, "cpu") || f.Model.Device == "meta" {
		return
	}
	for i := range f.Absent {
		if a := &f.Absent[i]; a.What == "gpu" {
			a.Why = fmt.Sprintf("the program computes on %s, but what that does cannot be read here: %s",
				f.Model.Device, a.Why)
		}
	}
}

// tellJob passes on what the hook said about processes.
func (r *recorder) tellJob() {
	if r.job == nil {
		return
	}
	for _, p := range r.intake.Processes() {
		told := cpu.Told{
			PID: p.PID, Parent: p.Parent, Role: recording.RoleTrainer, Rank: p.Rank, World: p.World, Device: -1,
			LaunchThread: p.LaunchThread, LauncherSeen: p.Launches, Hooked: true, Loads: p.Loads, Imports: p.Imports,
			Blocking: p.Blocking,
		}
		switch {
		case p.Worker:
			told.Role, told.LaunchThread = recording.RoleWorker, 0
		case (p.Serves || p.Engine) && !p.Passes:
			told.Role = recording.RoleServer
		}
		if p.CUDA >= 0 {
			told.Device = p.CUDA
			if !p.Emulated {
				told.Device = r.gpuIndex(p.PID, p.CUDA)
			}
		}
		r.job.Tell(told)
	}
}

// silentHook updates the note on the hook. It removes the note if any process has answered: a
// launcher's flags may differ from those of its children. A process that ended without an answer
// stays in the note.
func (r *recorder) silentHook(now float64) {
	if !r.hooked {
		return
	}
	if r.intake.Heard() {
		r.noteAbsence("hook", "")
		r.noteAbsence("steps", "")
		return
	}
	pid, flag := 0, shutOut(r.o.Command)
	if flag == "" && r.job != nil {
		if pid = r.job.Loaded(now, hookPatience); pid > 0 {
			flag = shutOut(attachedCommand(pid))
		}
	}
	switch {
	case flag != "":
		r.noteAbsence("hook",
			fmt.Sprintf("python %s shuts it out: PYTHONPATH or site is ignored: leave %s away to have steps",
				flag, flag))
	case pid > 0:
		r.noteAbsence("steps", fmt.Sprintf(
			"process %d has loaded PyTorch, and its hook has said nothing so far: no DataLoader was iterated and "+
				"no optimizer "+
				"stepped in it, or the hook does not run there (PYTHONPATH does not reach it, or its Python is "+
				"older than 3.8)", pid))
	}
}

// noteAbsence records why something cannot be seen, instead of an earlier reason; ""
// withdraws it.
func (r *recorder) noteAbsence(what, why string) {
	at := slices.IndexFunc(r.facts.Absent, func(a recording.Absence) bool { return a.What == what })
	switch {
	case why == "" && at >= 0:
		r.facts.Absent = slices.Delete(r.facts.Absent, at, at+1)
	case why != "" && at >= 0:
		r.facts.Absent[at].Why = why
	case why != "" && len(r.facts.Absent) < maxAbsent:
		r.facts.Absent = append(r.facts.Absent, recording.Absence{What: what, Why: why})
	}
}

func (r *recorder) note(text string) {
	if !slices.Contains(r.facts.Notes, text) {
		r.facts.Notes = append(r.facts.Notes, text)
	}
}

func (r *recorder) warn(text string) {
	if r.warned[text] {
		return
	}
	r.warned[text] = true
	r.o.warn(text)
}

func (o Options) warn(text string) {
	if o.Warn != nil {
		o.Warn(text)
	}
}

// survive does a part of the work. It reports a panic there, so that the command keeps
// its exit code and its signals.
func (r *recorder) survive(what string, work func()) (fine bool) {
	defer func() {
		if fault := recover(); fault != nil {
			r.note(fmt.Sprintf("%s: a fault of stoker's own: %v", what, fault))
			r.warn(fmt.Sprintf("%s: a fault of stoker's own, please report it: %v. The command is not touched by it",
				what, fault))
		}
	}()
	work()
	return true
}

// running reports whether a process is there and has not ended.
func running(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return alive(pid) && !os.IsNotExist(err)
	}
	_, rest, _ := strings.Cut(string(raw[max(0, strings.LastIndexByte(string(raw), ')')):]), " ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// finish writes what came last and closes everything that run used.
func (r *recorder) finish() (run *recording.Run, err error) {
	r.survive("hear the last", func() {
		r.drain()
		r.gpus.Close()
		for len(r.gpus.News) > 0 {
			r.hearGPU(<-r.gpus.News)
		}
		r.second()
	})
	r.survive("end the trace", r.lastTraces)
	r.survive("end looking at lines", r.endLines)
	r.endMetrics()
	if r.command != nil {
		r.command.stop()
		r.survive("look what is left", r.noteSurvivors)
		r.survive("look what ended the command", func() {
			if text := describeKill(r.exit, r.memory); text != "" {
				r.note(text)
			}
		})
		if r.exit != nil && r.exit.Code != 0 {
			r.exit.Raised = r.intake.FindCause(r.command.process.Pid)
		}
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	}
	r.survive("end the recording", func() {
		r.facts.Overhead = r.measureOverhead()
		r.writeFacts()
		r.recover()
	})
	if r.job != nil {
		r.job.Close()
	}
	if r.private != nil && r.mayRemoveFolder() {
		r.private.remove()
	}
	path := r.out.Path()
	if err = r.out.Close(); path != r.out.Path() {
		r.tellPath("")
	}
	if !r.survive("put the run together", func() { run = r.out.RunSoFar() }) {
		run = &recording.Run{}
	}
	run.Facts.Exit = r.exit // in any case
	return run, err
}

// drainTime is how long to wait for packets that are still on their way when the command has
// ended. Those of processes that ended have arrived already.
const drainTime = 30 * time.Millisecond

// drain takes the hook's last packets.
func (r *recorder) drain() {
	if r.hears == nil {
		return
	}
	r.hear()
	time.Sleep(drainTime)
	r.hear()
	if n := r.hears.Refused(); n > 0 {
		r.note(fmt.Sprintf(
			"%d connection(s) to the hook's socket were refused: of another user, or too many at a time", n))
	}
	_ = r.hears.Close()
}

// noteSurvivors notes descendants that the command left behind.
func (r *recorder) noteSurvivors() {
	if r.job == nil {
		return
	}
	alive := r.job.Alive()
	if len(alive) == 0 || r.exit == nil {
		return
	}
	words := make([]string, 0, 8)
	for _, pid := range alive[:min(8, len(alive))] {
		words = append(words, fmt.Sprint(pid))
	}
	r.note(fmt.Sprintf("the command ended but %d process(es) that it started go on (%s): observe them with stoker "+
		"observe --pid %d", len(alive), strings.Join(words, ", "), alive[0]))
}

// measureOverhead returns what observing cost, by the kernel's account of our own process.
func (r *recorder) measureOverhead() *recording.Overhead {
	cpu := coretime.Used().Seconds()
	return &recording.Overhead{CPU: math.Round(cpu*1e6) / 1e6, Wall: r.clock.now(), Dropped: r.intake.Dropped()}
}
