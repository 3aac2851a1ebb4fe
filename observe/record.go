//go:build linux

package observe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/launch"
	"github.com/stoker-dev/stoker/internal/private"
	"github.com/stoker-dev/stoker/internal/redact"
	"github.com/stoker-dev/stoker/observe/cpu"
	"github.com/stoker-dev/stoker/observe/gpu"
	"github.com/stoker-dev/stoker/observe/metrics"
	"github.com/stoker-dev/stoker/observe/stack"
	"github.com/stoker-dev/stoker/observe/step"
	"github.com/stoker-dev/stoker/recording"
)

// Beats of the recorder. A beat that comes late is dropped, not caught up with.
const (
	tick   = 100 * time.Millisecond
	second = 1.0 // seconds of the recording
)

// Record observes a command from its start to its end, or a running process
// until it ends, and returns the run. While it does, the caller must leave the
// signals alone: they are the command's (when attached they are the caller's).
//
// Cancelling the context ends the observation, never the command. An error
// without a run means that the command did not begin; see launch.CommandError. An error
// with a run is trouble with the recording's file.
//
// The command starts even if observing fails, and its exit is that of the run:
// a part that fails is left out and reported once. If not even a process can be
// started, the command takes our place, and Record does not return.
func Record(ctx context.Context, o Options) (*recording.Run, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.PID == 0 && !o.Apart { // else the signals are the caller's
		launch.Ignore()
	}
	outlive()
	if o.Apart {
		runtime.LockOSThread() // the command ends with this thread
		defer runtime.UnlockOSThread()
	}
	path := ""
	if o.PID == 0 {
		var err error
		if path, err = launch.Find(o.Command[0]); err != nil {
			return nil, err
		}
		if why := Cramped(); why != "" {
			o.warn(unseen + why)
			return nil, inPlace(o, path)
		}
	}
	r := newRecorder(o)
	root, err := r.start(path)
	if err != nil {
		return nil, err
	}
	r.watchGPUs()
	r.survive("watch processes", func() {
		if err := r.watch(root); err != nil {
			r.noteAbsence("processes", err.Error())
		}
	})
	r.run(ctx)
	return r.finish()
}

// unseen begins the sentence on why a command is run without us.
const unseen = "nothing is observed, the command runs as without stoker: "

// outlive keeps the kernel from ending us for a write of our own: to a pipe that
// has no reader, to a file that may not be larger. A signal that is caught, other
// than one that is ignored, is as it was in the command.
func outlive() {
	for _, s := range []os.Signal{unix.SIGPIPE, unix.SIGXFSZ, unix.SIGXCPU} {
		if !signal.Ignored(s) { // which the command is to ignore as well
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// start prepares and starts the command. Where that fails for want of something it
// is tried without us.
func (r *recorder) start(path string) (root int, err error) {
	begun := r.survive("prepare to observe", func() { root, err = r.begin(path) })
	if begun && err == nil {
		return root, nil
	}
	r.undo()
	switch {
	case r.o.PID > 0 && !begun:
		return 0, errors.New("a fault of stoker's own")
	case r.o.PID > 0:
		return 0, err
	case !begun:
		err = errors.New("a fault of stoker's own")
	case slices.ContainsFunc(theirs, func(their error) bool { return errors.Is(err, their) }):
		return 0, err
	}
	r.o.warn(unseen + err.Error())
	return 0, inPlace(r.o, path)
}

func (o Options) validate() error {
	switch {
	case o.PID < 0 || o.PID == 0 && len(o.Command) == 0:
		return errors.New("observe: there is neither a command nor a process to observe")
	case o.PID != 0 && len(o.Command) > 0:
		return errors.New("observe: either a command or a process can be observed, not both")
	case o.PID != 0 && !alive(o.PID):
		return fmt.Errorf("observe process %d: there is no such process", o.PID)
	}
	return nil
}

// clock is the recording's: seconds since its start.
type clock struct {
	wall time.Time // of t = 0, without Go's monotonic reading
	mono int64     // CLOCK_MONOTONIC of t = 0, ns
}

func startClock() clock { return clock{wall: time.Now().Round(0), mono: monotonic()} }

func (c clock) now() float64 { return float64(monotonic()-c.mono) / 1e9 }

// at converts a time of time.Now. It uses the monotonic reading, because somebody may set the
// wall clock meanwhile.
func (c clock) at(t time.Time) float64 { return c.now() - time.Since(t).Seconds() }

func monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail with this clock
	return t.Nano()
}

// recorder is one observation. It runs in one goroutine. Watching the GPUs and waiting for the
// command have their own goroutines, which talk to it over channels.
type recorder struct {
	o       Options
	clock   clock
	out     *recording.Writer
	facts   recording.Facts
	written []byte // the facts as they stand in the file
	warned  map[string]bool
	private *folder
	page    string // of emulated GPUs, "" without any
	adopts  bool   // orphans of the command come to us
	command *command
	job     *cpu.Job
	around  surroundings
	gpus    *GPUWatch
	hears   *step.Listener
	intake  *step.Intake
	paces   map[int]*pace    // of processes that step
	visible map[int][]string // CUDA_VISIBLE_DEVICES of processes
	hungUp  []int            // processes whose hook speaks no more
	hooked  bool             // the command was started with the hook
	traces  []*processTrace  // that the hook was asked for
	stacks  *stack.Sampler   // nil until somebody loads
	metrics *metrics.Watch   // nil where the hook counts requests
	busy    busyThreads      // of servers
	exit    *recording.ExitStatus
	memory  memoryGroup         // of the command
	lacking []recording.Absence // what the driver's last answer lacked
	gone    bool                // the attached process ended
	mostCPU float64             // seconds that we may compute

	awaited     map[string]float64 // what was written last of where coroutines wait
	wroteAwaits float64            // when that was

	nextSecond, nextShow, nextFlush, nextLines float64
	retry                                      float64 // seconds until a full disk is tried again
}

// newRecorder opens the recording.
func newRecorder(o Options) *recorder {
	r := &recorder{
		o: o, clock: startClock(), warned: map[string]bool{}, visible: map[int][]string{},
		paces: map[int]*pace{}, mostCPU: mostCPU(),
	}
	r.facts = recording.Facts{
		Version: o.Version, Command: redact.CommandLine(o.Command),
		Started: float64(r.clock.wall.UnixNano()) / 1e9, Monotonic: r.clock.mono,
	}
	if r.facts.Host, _ = os.Hostname(); o.PID > 0 {
		r.facts.Command = redact.CommandLine(attachedCommand(o.PID))
	} else {
		r.facts.Job = launcherJob()
	}
	r.memory = findMemoryGroup()
	r.open()
	r.intake = step.NewIntake(r.clock.mono, pacedWriter{r.out, r.paces}, r.gpuIndex)
	return r
}

// mostNames bounds how many names are tried.
const mostNames = 1000

// open begins the recording under its name, or under one next to it. Without it the
// observation continues.
func (r *recorder) open() {
	path := r.o.Output
	if path == "" {
		r.out = recording.Nowhere(r.facts)
		return
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	} else {
		r.out, err = recording.Create(path, r.facts)
	}
	for n := 2; n <= mostNames && errors.Is(err, fs.ErrExist); n++ {
		path = recording.Beside(r.o.Output, n)
		r.out, err = recording.Create(path, r.facts)
	}
	switch {
	case err != nil:
		r.out, path = recording.Nowhere(r.facts), ""
		r.warn(fmt.Sprintf(
			"nothing is recorded: %v. The run is judged all the same, and -o FILE records it elsewhere", err))
	case path != r.o.Output:
		r.warn(fmt.Sprintf("%s is there already and stays as it is: this run is recorded in %s", r.o.Output, path))
	}
	r.tellPath(path)
}

func (r *recorder) tellPath(path string) {
	if r.o.Recording != nil {
		r.o.Recording(path)
	}
}

// attachedCommand returns a process's command line with all its secrets: it is judged, and
// recorded only through redact.CommandLine.
func attachedCommand(pid int) []string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(raw) == 0 {
		return nil
	}
	var command []string
	for word := range bytes.SplitSeq(bytes.TrimRight(raw, "\x00"), []byte{0}) {
		command = append(command, string(word))
	}
	return command
}

// begin starts the command with its environment and returns the root of
// the tree to watch.
func (r *recorder) begin(path string) (root int, err error) {
	if r.o.PID > 0 {
		r.page = os.Getenv(emulatedPage)
		r.noteAbsence("hook",
			"the process was running already: steps are known of one that is started with stoker observe -- CMD")
		return r.o.PID, nil
	}
	if r.hook(); r.o.Emulate {
		if r.page = os.Getenv(emulatedPage); r.page == "" && r.private != nil {
			r.page = r.private.pageFile()
		}
	}
	hook, socket := "", ""
	if r.hooked {
		hook, socket = r.private.hook, r.private.socket()
	}
	env, nested := commandEnvironment(os.Environ(), hook, socket, r.page)
	env = r.quietLibkineto(env)
	if nested {
		r.note("started within another stoker observe: the steps of this command are in this recording only")
	}
	// Orphans of the command come to us, not to init: so no descendant is lost.
	r.adopts = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil
	r.command, err = start(r.o, path, env)
	if errors.Is(err, unix.E2BIG) { // with what we add it is too long
		r.turnHookOff()
		env, _ = commandEnvironment(os.Environ(), "", "", "")
		r.command, err = start(r.o, path, env)
	}
	if err != nil {
		return 0, err
	}
	return r.command.process.Pid, nil
}

// turnHookOff starts the command without the hook, because its environment cannot be longer.
func (r *recorder) turnHookOff() {
	const why = "the environment is as long as the kernel allows, so that nothing can be added to it"
	if r.hooked {
		r.noteAbsence("hook", why)
		r.warn("the hook is off: " + why)
	}
	r.hooked = false
}

// hook prepares the hook. Without it the observation continues.
func (r *recorder) hook() {
	if r.o.Hook == nil {
		r.noteAbsence("hook",
			"it was switched off (--no-hook): the inside of the program is not seen, steps and what they cost among it")
	}
	if r.o.Hook == nil && !r.o.Emulate {
		return
	}
	if err := private.Try(r.makeFolder); err != nil {
		r.noteAbsence("hook", err.Error())
		r.warn("the hook is off: " + err.Error())
		return
	}
	r.hooked = r.o.Hook != nil
}

// makeFolder makes the run's folder in a place, with the hook and its socket where they
// are wanted.
func (r *recorder) makeFolder(place string) error {
	f, err := makeFolder(place)
	if err == nil && r.o.Hook != nil {
		if err = f.writeHook(r.o.Hook); err == nil {
			r.hears, err = step.Listen(f.socket())
		}
		if err != nil {
			f.remove()
		}
	}
	if err == nil {
		r.private = f
	}
	return err
}

// mayRemoveFolder reports whether no process can use the run's folder any more.
func (r *recorder) mayRemoveFolder() bool {
	return r.command == nil || r.exit != nil && r.adopts && childless()
}

func (r *recorder) watchGPUs() {
	open, page := r.o.OpenGPU, r.page
	if open == nil {
		emulate := r.o.Emulate
		open = func(page string) (GPU, error) { return OpenGPUs(gpu.Options{Emulate: emulate, Page: page}) }
	}
	r.noteAbsence("gpu", "the driver has not answered so far")
	r.gpus = WatchGPUs(func() (GPU, error) { return open(page) })
}

func (r *recorder) watch(root int) error {
	adopter := 0
	if r.command != nil {
		adopter = os.Getpid()
	}
	var err error
	r.openAround()
	r.job, err = cpu.Watch(cpu.Options{Root: root, Adopter: adopter})
	return err
}

// undo takes back what began before a command that could not be started.
func (r *recorder) undo() {
	if r.hears != nil {
		_ = r.hears.Close()
	}
	if r.private != nil {
		r.private.remove()
	}
	_ = r.out.Close()
	if path := r.out.Path(); path != "" {
		_ = os.Remove(path) // nothing is in it
	}
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
}

// run records until the command has ended.
func (r *recorder) run(ctx context.Context) {
	beat := time.NewTimer(nextTick())
	defer beat.Stop()
	var ended chan exitState
	var signals chan os.Signal
	if r.command != nil {
		ended, signals = r.command.ended, r.command.signals
	}
	r.survive("observe", r.second)
	for !r.gone {
		select {
		case <-ctx.Done():
			return
		case e := <-ended:
			r.exit = &recording.ExitStatus{At: r.clock.now(), Code: e.code, Signal: e.signal}
			if r.job != nil {
				r.job.Ended(e.cpu)
			}
			if r.o.Ended != nil {
				r.survive("say that it ended", r.o.Ended)
			}
			return
		case s := <-signals:
			r.command.relay(s)
		case news := <-r.gpus.News:
			r.survive("note what the GPUs do", func() { r.hearGPU(news) })
		case <-beat.C:
			beat.Reset(nextTick())
			if r.survive("observe", r.tick) && !r.isCPUSpent() {
				continue
			}
			if r.command == nil {
				return
			}
			beat.Stop() // the command's end is all that is waited for
		}
	}
}

// isCPUSpent reports whether we have computed for half the time that we may: the kernel would
// end us, and the command's exit code would be lost.
func (r *recorder) isCPUSpent() bool {
	if usedCPU() < r.mostCPU/2 {
		return false
	}
	r.warn(fmt.Sprintf("the observation ends here, the run goes on: this process may compute for %.0f s: raise ulimit -t",
		r.mostCPU))
	return true
}

// nextTick returns the time until the next look. It is random: threads that act in step with a
// clock, such as readers of a disk that a control group slows down, would always be seen in the
// same state by regular samples.
func nextTick() time.Duration { return tick/2 + rand.N(tick) }

func (r *recorder) tick() {
	r.hear()
	now := r.clock.now()
	if r.job != nil {
		r.job.Tick(now, r.out)
	}
	if r.command == nil && !running(r.o.PID) {
		r.gone = true
	}
	if now >= r.nextSecond {
		r.second()
	}
}

// hear takes the packets that the hooks have sent.
func (r *recorder) hear() (packets int) {
	if r.hears == nil {
		return 0
	}
	now := r.clock.now()
	return r.hears.Poll(func(p step.Packet) { r.intake.Take(p, now) })
}

// second is the slow beat: the tree, the machine, the facts, the file.
func (r *recorder) second() {
	now := r.clock.now()
	r.nextSecond = float64(int(now)) + second
	r.intake.Flush(now)
	r.tellJob()
	r.forget()
	if r.job != nil {
		r.job.Second(now, r.out)
		r.facts.Machine = r.job.HostMachine()
		r.lines(now)
	}
	r.serverMetrics()
	r.silentHook(now)
	r.traceSecond(now)
	r.logSecond()
	r.lookAround(now)
	r.writeFacts()
	r.flush(now)
	r.show(now)
}

// forget drops the state of processes that have ended. Those that hung up and
// go on are kept.
func (r *recorder) forget() {
	if r.hears == nil {
		return
	}
	r.hungUp = append(r.hungUp, r.hears.Gone()...)
	r.hungUp = slices.DeleteFunc(r.hungUp, func(pid int) bool {
		if alive(pid) {
			return false
		}
		r.intake.Forget(pid)
		delete(r.paces, pid)
		delete(r.visible, pid)
		return true
	})
}

// flush writes the second. If the disk accepts nothing, it tries again less and less often as
// the queue grows.
func (r *recorder) flush(now float64) {
	if now < r.nextFlush && r.exit == nil {
		r.out.Pack()
		return
	}
	r.recover()
	r.retry = min(60, 2*max(second, r.retry))
	if err := r.out.Flush(); err != nil {
		r.nextFlush = now + r.retry
		r.warn(fmt.Sprintf("%v: the run goes on and what was seen is kept in memory, %s", err, remedy(err)))
		return
	}
	r.retry = 0
}

// recover continues in another file if the recording was removed.
func (r *recorder) recover() {
	was := r.out.Path()
	switch what, err := r.out.Recover(); {
	case err != nil:
		r.warn(fmt.Sprintf("%s %s by others: %v. The run goes on and what was seen is kept in memory", was, what, err))
	case what != "":
		r.warn(fmt.Sprintf("%s %s by others: the run is recorded in %s, from its beginning", was, what, r.out.Path()))
		r.tellPath(r.out.Path())
	}
}

func remedy(err error) string {
	if errors.Is(err, unix.EFBIG) {
		return "no file may be larger here: raise ulimit -f"
	}
	return "free some space and it is written then"
}

// show passes the run to the caller. It leaves at least 99.7 % of the time to the job, however
// long the caller takes.
func (r *recorder) show(now float64) {
	if r.o.OnTick == nil || now < r.nextShow {
		return
	}
	if !r.survive("judge the run so far", func() { r.o.OnTick(r.out.RunSoFar, now) }) {
		r.o.OnTick = nil
		return
	}
	took := r.clock.now() - now
	r.nextShow = now + min(60, max(second/2, 300*took))
}

// writeFacts writes the facts if they have changed. The count of optimizer steps alone does not
// count as a change: the last one is written at the end.
func (r *recorder) writeFacts() {
	f := r.assemble()
	if f.Model != nil && f.Exit == nil {
		model := *f.Model
		model.Steps = 0
		f.Model = &model
	}
	text, err := json.Marshal(f)
	if err != nil {
		r.warn("write facts: " + err.Error())
		return
	}
	if string(text) == string(r.written) {
		return
	}
	r.written = text
	r.out.SetFacts(r.assemble())
}
