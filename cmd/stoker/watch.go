package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/observe"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/watch"
)

func (a *app) watch() *cobra.Command {
	var once bool
	cmd := &cobra.Command{
		Use:   "watch [RUN|PID]",
		Short: "Live screen: GPUs, workers, disks, the pipeline, the verdict so far",
		Long: `Show on one screen what a run does now and did over its last minutes: how long the device waits for input,
each GPU, the cores of the job and of others, what each worker does, the pipeline with the part that binds, the
verdict so far and the best fix. RUN is a recording, also one that observe is writing; PID is a running process;
without either it is the newest recording here if that is being written, else this machine. ? explains each row.`,
		Example: `  stoker watch                                   beside stoker observe in another terminal
  stoker watch stoker-runs/2026-11-21T101500-train.jsonl.gz
  stoker watch 4711                              a process that is already going
  stoker watch --once | head -20                 one screen, for scripts`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.began = true
			return a.runWatch(cmd.Context(), args, once)
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "print one screen and end")
	return cmd
}

// source hands on states until ctx ends.
type source func(ctx context.Context, to chan<- watch.State) error

func (a *app) runWatch(ctx context.Context, args []string, once bool) error {
	frugal()
	from, err := toWatch(args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	states := make(chan watch.State)
	ended := make(chan error, 1)
	go func() { ended <- from(ctx, states) }()
	style := a.style(a.stdout)
	ascii := !strings.Contains(strings.ToUpper(os.Getenv("LC_ALL")+os.Getenv("LC_CTYPE")+os.Getenv("LANG")), "UTF")
	if once {
		return a.watchOnce(states, ended, watch.Look{Width: style.Width, Colour: style.Colour, ASCII: ascii})
	}
	if out, is := a.stdout.(*os.File); !is || !term.IsTerminal(int(out.Fd())) || !term.IsTerminal(int(os.Stdin.Fd())) {
		return usageError{errors.New("watch needs a terminal; --once prints one screen to anything")}
	}
	err = watch.Show(ctx, watch.Options{In: os.Stdin, Out: os.Stdout, Env: os.Environ(), Colour: style.Colour, ASCII: ascii}, states)
	cancel()
	return errors.Join(err, ignoreEnd(<-ended))
}

// firstScreen is how long a process is looked at for the one screen of --once, seconds.
const firstScreen = 3

func (a *app) watchOnce(states <-chan watch.State, ended <-chan error, look watch.Look) error {
	for {
		select {
		case s := <-states:
			if s.Attached && s.Run.End() < firstScreen {
				continue
			}
			_, err := fmt.Fprintln(a.stdout, strings.Join(watch.Screen(s, look), "\n"))
			return err
		case err := <-ended:
			return err
		}
	}
}

func ignoreEnd(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// toWatch finds out what is to be watched.
func toWatch(args []string) (source, error) {
	if len(args) == 0 {
		if file, err := newest(); err == nil && beingWritten(file) {
			return followed(file), nil
		}
		return attached(os.Getpid(), "this machine"), nil
	}
	if _, err := os.Stat(args[0]); err == nil {
		return followed(args[0]), nil
	}
	if pid, err := strconv.Atoi(args[0]); err == nil && pid > 0 {
		return attached(pid, fmt.Sprintf("process %d", pid)), nil
	}
	return nil, fmt.Errorf("watch %s: neither a recording nor a process: name a file, a PID, or nothing for the newest recording here", args[0])
}

// beingWritten reports whether a recording grew in the last seconds.
func beingWritten(file string) bool {
	info, err := os.Stat(file)
	return err == nil && time.Since(info.ModTime()) < 5*time.Second
}

// followed reads a recording again as it grows, and takes no more than a fiftieth of
// a core for it.
func followed(file string) source {
	return func(ctx context.Context, to chan<- watch.State) error {
		var size int64 = -1
		for {
			info, err := os.Stat(file)
			if err != nil {
				return fmt.Errorf("watch: %w", err)
			}
			began := time.Now()
			if info.Size() != size {
				run, err := recording.Open(file)
				if err != nil && size < 0 {
					return err
				}
				if err == nil {
					size = info.Size()
					if !handOn(ctx, to, stateOf(filepath.Base(file), run)) {
						return ctx.Err()
					}
				}
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(max(time.Second, watchCost*time.Since(began))):
			}
		}
	}
}

// watchCost is how many times as long as a look takes passes until the next.
const watchCost = 50

// attached observes a process that is already going, and writes nothing.
func attached(pid int, name string) source {
	return func(ctx context.Context, to chan<- watch.State) error {
		var next float64
		_, err := observe.Record(ctx, observe.Options{
			PID: pid, Version: version, Emulate: os.Getenv("STOKER_EMULATE") == "1", Warn: func(string) {},
			OnTick: func(sofar func() *recording.Run, now float64) {
				if now < next {
					return
				}
				began := time.Now()
				s := stateOf(name, sofar())
				s.Attached = true
				handOn(ctx, to, s)
				next = now + watchCost*time.Since(began).Seconds()
			},
		})
		return err
	}
}

func stateOf(name string, run *recording.Run) watch.State {
	v := diagnose.Judge(run)
	s := watch.State{Name: name, Run: run, Verdict: v, Plan: advise.Rank(run, v)}
	if len(run.Warnings) > 0 {
		s.Note = run.Warnings[0]
	}
	return s
}

// handOn reports whether somebody took it.
func handOn(ctx context.Context, to chan<- watch.State, s watch.State) bool {
	select {
	case to <- s:
		return true
	case <-ctx.Done():
		return false
	}
}
