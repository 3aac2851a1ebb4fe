// Package watch is the verb of the live screen.
package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/internal/coretime"
	"github.com/stoker-dev/stoker/observe"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/watch"
)

// Command makes the command stoker watch.
func Command(a *cli.App) *cobra.Command {
	var once bool
	cmd := &cobra.Command{
		Use:   "watch [RUN...|PID]",
		Short: "Show a run on one live screen: GPUs, workers, disks, verdict",
		Long: `Show what a run does now and did in its last minutes: GPUs, cores, workers, disks, the part that
binds, and the verdict so far. Without RUN it shows the recordings that are being written here, and
this machine until one begins. Press ? for what each row means.`,
		Example: `  stoker watch                                     beside stoker observe, in another terminal
  stoker watch /shared/stoker-runs                 all nodes of a job (Tab shows the next one)
  stoker watch --once                              one screen, for scripts`,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.Began = true
			return runWatch(cmd.Context(), a, args, once)
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "print one screen and end")
	return cmd
}

// source is a run to watch. It sends the run so far, again and again, until ctx ends.
type source struct {
	name     string // unique among the sources
	attached bool   // the process was running before it was observed
	machine  bool   // the whole machine, until a recording begins here
	alone    bool   // the only source
	runs     func(ctx context.Context, to chan<- *recording.Run) error
}

// screenMemory is how much memory Go may use before it collects garbage more often. The longest
// run that a Writer keeps takes 30 MB, with its verdict.
const screenMemory = 64 << 20

func runWatch(ctx context.Context, a *cli.App, args []string, once bool) error {
	runtime.GOMAXPROCS(1)
	sources, err := toWatch(args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	states := make(chan watch.State)
	var all sync.WaitGroup
	begin := func(sources []source) {
		debug.SetMemoryLimit(int64(len(sources)) * screenMemory)
		for _, s := range sources {
			s.alone = len(sources) == 1
			all.Go(func() { s.sendStates(ctx, states, cancel) })
		}
	}
	if sources[0].machine && !once {
		all.Go(func() {
			if files := sources[0].untilRecorded(ctx, states, cancel); len(files) > 0 {
				begin(followRecordings(files))
			}
		})
	} else {
		begin(sources)
	}
	style := a.TextStyle(a.Stdout)
	ascii := !strings.Contains(strings.ToUpper(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"),
		os.Getenv("LANG"))), "UTF")
	if once {
		return watchOnce(ctx, a, states, len(sources), watch.Viewport{
			Width: style.Width, Colour: style.Colour,
			ASCII: ascii,
		})
	}
	if out, is := a.Stdout.(*os.File); !is || !term.IsTerminal(int(out.Fd())) || !term.IsTerminal(int(os.Stdin.Fd())) {
		return cli.AsUsage(errors.New("watch needs a terminal, --once prints one screen to anything"))
	}
	shown := endOnSignal(cancel)
	err = watch.Show(ctx, watch.Options{
		In: os.Stdin, Out: os.Stdout, Env: os.Environ(), Colour: style.Colour,
		ASCII: ascii, Stops: shellBehind(),
	}, states)
	shown()
	why := context.Cause(ctx)
	cancel(nil)
	all.Wait()
	if why != nil {
		return ignoreEnd(why)
	}
	return err
}

// endSoon is how long leaving the alternate screen may take.
const endSoon = 5 * time.Second

// endOnSignal leaves the screen when a signal would end this process and leave the terminal in
// raw mode: on SIGINT as on the key q, on other signals with exit code 128+n. If
// no process reads the terminal, the screen cannot be left. Then, after endSoon or a second signal, the process ends
// after restoring the terminal's modes. Call shown once the screen has been left.
func endOnSignal(end context.CancelCauseFunc) (shown func()) {
	in := int(os.Stdin.Fd())
	modes, _ := term.GetState(in)
	signals, done := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, endings()...)
	go func() {
		var code cli.ExitCode
		select {
		case s := <-signals:
			if number, is := s.(syscall.Signal); is && number != syscall.SIGINT {
				code = cli.ExitCode(cli.ExitSignalBase + int(number))
			}
		case <-done:
			return
		}
		end(code)
		select {
		case <-signals:
		case <-time.After(endSoon):
		case <-done:
			return
		}
		if modes != nil {
			_ = term.Restore(in, modes)
		}
		os.Exit(int(code))
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// firstScreen is how many seconds --once observes a process before it draws its screen.
const firstScreen = 3

// watchOnce prints one screen of each source, as soon as there is something to show.
func watchOnce(ctx context.Context, a *cli.App, states <-chan watch.State, n int, look watch.Viewport) error {
	seen := map[string]bool{}
	for len(seen) < n {
		select {
		case s := <-states:
			if seen[s.Name] || s.Attached && s.Run != nil && s.Run.End() < firstScreen {
				continue
			}
			text := strings.Join(watch.Screen([]watch.State{s}, look), "\n")
			if len(seen) > 0 {
				text = "\n" + text
			}
			seen[s.Name] = true
			if _, err := fmt.Fprintln(a.Stdout, text); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func ignoreEnd(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, cli.ExitCode(cli.ExitFine)) {
		return nil
	}
	return err
}

// toWatch returns the sources that the arguments name.
func toWatch(args []string) ([]source, error) {
	var sources []source
	var files []string
	if len(args) == 0 {
		if files := writtenHere(); len(files) > 0 {
			return followRecordings(files), nil
		}
		machine := attachTo(os.Getpid(), "this machine")
		machine.machine = true
		return []source{machine}, nil
	}
	for _, arg := range args {
		info, err := os.Stat(arg)
		pid, noNumber := strconv.Atoi(arg)
		switch {
		case err == nil && info.IsDir():
			all := judged.ListNewest(arg)
			if len(all) == 0 {
				return nil, fmt.Errorf("watch %s: no recording (*.jsonl.gz) is in that folder", arg)
			}
			if grow := beingWrittenOf(all); len(grow) > 0 {
				files = append(files, grow...)
			} else {
				files = append(files, all[0])
			}
		case err == nil:
			files = append(files, arg)
		case noNumber == nil && pid > 0:
			sources = append(sources, attachTo(pid, fmt.Sprintf("process %d", pid)))
		default:
			return nil, fmt.Errorf(
				"watch %s: neither a recording nor a process: name a file, a PID, or nothing for the newest "+
					"recording here", arg)
		}
	}
	return append(sources, followRecordings(files)...), nil
}

// watchCost limits reading and judging to a fiftieth of a core: after work that took t, the next
// begins no earlier than watchCost times t later.
const watchCost = 50

// mostMissing is how often in a row a recording may be missing or empty before watch gives up:
// if somebody removes a recording, observe writes it again.
const mostMissing = 5

// followRecordings returns a source for each recording, which reads it as it grows.
func followRecordings(files []string) []source {
	var sources []source
	slices.Sort(files)
	for _, file := range slices.Compact(files) {
		name := filepath.Base(file)
		if slices.ContainsFunc(files, func(other string) bool {
			return other != file &&
				filepath.Base(other) == name
		}) {
			name = file
		}
		sources = append(sources, source{name: name, runs: func(ctx context.Context, to chan<- *recording.Run) error {
			in, err := recording.Follow(file)
			if err != nil {
				return err
			}
			defer func() { _ = in.Close() }()
			missing := 0
			for used := coretime.Used(); ; used = coretime.Used() {
				run, err := in.Next()
				if missing++; err == nil {
					missing = 0
				} else if missing > mostMissing ||
					!errors.Is(err, fs.ErrNotExist) && !errors.Is(err, recording.ErrNoSecond) {
					return err
				}
				if run != nil && !handOn(ctx, to, run) {
					return nil
				}
				select {
				case <-ctx.Done():
					return nil
				case <-time.After(max(time.Second, watchCost*(coretime.Used()-used))):
				}
			}
		}})
	}
	return sources
}

// attachTo returns a source that observes a running process and writes no recording.
func attachTo(pid int, name string) source {
	return source{name: name, attached: true, runs: func(ctx context.Context, to chan<- *recording.Run) error {
		var next float64
		_, err := observe.Record(ctx, observe.Options{
			PID: pid, Version: cli.Version, Emulate: os.Getenv("STOKER_EMULATE") == "1", Warn: func(string) {},
			OnTick: func(sofar func() *recording.Run, now float64) {
				if now < next {
					return
				}
				used := coretime.Used()
				select {
				case to <- sofar():
				default: // the run before is still being judged: drop this one, as the sampler must not wait
				}
				next = now + watchCost*(coretime.Used()-used).Seconds()
			},
		})
		return err
	}}
}

// sendStates sends states of a source until ctx ends, and at the end a state that says why it ended.
func (s source) sendStates(ctx context.Context, to chan<- watch.State, fail func(error)) {
	runs, ended := make(chan *recording.Run), make(chan error, 1)
	go func() {
		defer close(runs)
		ended <- s.catchPanic(func() error { return s.runs(ctx, runs) })
	}()
	state := watch.State{Name: s.name, Attached: s.attached, Machine: s.machine}
	err := s.catchPanic(func() error {
		s.states(ctx, &state, runs, to)
		return <-ended
	})
	if err == nil || ctx.Err() != nil {
		return
	}
	if s.alone && state.Run == nil {
		fail(err)
		return
	}
	state.Note = err.Error()
	handOn(ctx, to, state)
}

// untilRecorded watches the whole machine until recordings begin in this folder, and returns their files.
func (s source) untilRecorded(ctx context.Context, to chan<- watch.State, fail func(error)) []string {
	alone, leave := context.WithCancel(ctx)
	defer leave()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.sendStates(alone, to, fail)
	}()
	files := waitForRecordings(ctx)
	leave()
	<-ended // it must have ended before the state Gone is sent
	if len(files) > 0 && handOn(ctx, to, watch.State{Name: s.name, Gone: true}) {
		return files
	}
	return nil
}

// catchPanic turns a panic into an error. Otherwise the process would end and leave the terminal
// in raw mode.
func (s source) catchPanic(do func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("watch %s: a fault of stoker's own: %v", s.name, fault)
		}
	}()
	return do()
}

// states judges runs, but no more often than watchCost allows. Between two verdicts only the
// rows over time are updated.
func (s source) states(ctx context.Context, state *watch.State, runs <-chan *recording.Run, to chan<- watch.State) {
	var due time.Time
	stale := false // the newest run has not been judged
	for open := true; open || stale; {
		run := state.Run
		var again <-chan time.Time
		if stale {
			again = time.After(time.Until(due))
		}
		select {
		case next, more := <-runs:
			if open = more; more {
				run = next
			} else if runs = nil; !stale {
				return
			}
		case <-again:
		case <-ctx.Done():
			return
		}
		if stale = time.Now().Before(due); stale {
			state.Run = run
		} else {
			used := coretime.Used()
			*state = judgeForWatch(*state, run)
			due = time.Now().Add(2 * watchCost * (coretime.Used() - used))
		}
		if !handOn(ctx, to, *state) {
			return
		}
	}
}

// judgeForWatch is a variable so that a test can make it panic.
var judgeForWatch = watch.Judged

// handOn sends a value. It returns false if ctx ended first.
func handOn[T any](ctx context.Context, to chan<- T, what T) bool {
	select {
	case to <- what:
		return true
	case <-ctx.Done():
		return false
	}
}
