package tune

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stoker-dev/stoker/internal/redact"
	"github.com/stoker-dev/stoker/observe"
	"github.com/stoker-dev/stoker/recording"
)

// Command is a command that tune starts repeatedly.
type Command struct {
	Words   []string
	Env     []string // more variables of its environment; {scratch} is replaced by a new folder at each start
	Args    []string // arguments appended to Words; {scratch} is replaced likewise
	Folder  string   // folder for recordings, logs and scratch folders
	Allow   []string // for the hook
	Feed    []string // words placed before Words: stoker feed --
	Longest time.Duration
	Hook    fs.FS
	Emulate bool
	Version string
	Warn    func(text string)

	starts int
}

const (
	scratch = "{scratch}"

	// losses is the suffix of the file in which the hook writes the losses of a start.
	losses = ".losses"

	// patience is how long the command has to exit after SIGINT, and again after SIGTERM.
	patience = 10 * time.Second
)

// errFailed says that the command failed before tune asked it to end.
var errFailed = errors.New("CMD failed")

// Start runs the command once, ends it when its mean step is known precisely enough, and
// returns the recording. The command has no terminal and no input; its output goes to a log
// file.
func (c *Command) Start(ctx context.Context, _ string, plan *Plan) (Attempt, error) {
	stem := filepath.Join(c.Folder, fmt.Sprintf("%d", c.starts))
	c.starts++
	restore, words, err := c.prepare(stem, plan)
	defer restore()
	if err != nil {
		return Attempt{}, err
	}
	log, err := os.OpenFile(stem+".log", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return Attempt{}, err
	}
	defer func() { _ = log.Close() }()
	var ends commandEnd
	var watch StopRule
	began := time.Now()
	options := observe.Options{
		Command: words, Stdout: log, Stderr: log, Apart: true, Started: ends.noteStart, Output: stem + ".jsonl.gz",
		Hook: c.Hook, Emulate: c.Emulate, Version: c.Version, Warn: c.Warn, NoLines: true,
		OnTick: func(sofar func() *recording.Run, _ float64) {
			if !ends.told.Load() && (time.Since(began) >= c.Longest || watch.isEnough(stepTimes(sofar()))) {
				ends.begin()
			}
		},
	}
	longest := time.AfterFunc(c.Longest, ends.begin) // OnTick may come late
	defer longest.Stop()
	defer context.AfterFunc(ctx, ends.begin)()
	run, err := observe.Record(context.WithoutCancel(ctx), options)
	ends.over()
	if run == nil {
		return Attempt{}, err
	}
	if exit := run.Facts.Exit; exit != nil && exit.Code != 0 && !ends.told.Load() {
		return Attempt{}, fmt.Errorf("%w with code %d: %s (%s.log has the rest)", errFailed, exit.Code,
			redact.Text(lastLine(stem+".log")), stem)
	}
	return Attempt{run, options.Output, readLosses(stem + losses)}, nil
}

// prepare sets environment variables for the command and returns its words; restore resets the
// variables.
func (c *Command) prepare(stem string, plan *Plan) (restore func(), words []string, err error) {
	set := map[string]string{"WANDB_MODE": "offline", "STOKER_PLAN_ALLOW": strings.Join(c.Allow, ",")}
	var had []string
	restore = func() {
		for name := range set {
			_ = os.Unsetenv(name)
		}
		for _, entry := range had {
			name, value, _ := strings.Cut(entry, "=")
			_ = os.Setenv(name, value)
		}
	}
	whole, err := filepath.Abs(stem)
	if err == nil && plan != nil {
		set["STOKER_PLAN"] = whole + ".plan.json"
		err = writePlan(set["STOKER_PLAN"], *plan)
	}
	if err != nil {
		return restore, nil, err
	}
	if slices.Contains(c.Allow, Precision) {
		set["STOKER_LOSSES"] = whole + losses
	}
	fill := func(text string) string { return text }
	if strings.Contains(strings.Join(append(append([]string{}, c.Env...), c.Args...), " "), scratch) {
		folder := whole + ".scratch"
		if err := os.Mkdir(folder, 0o700); err != nil {
			return restore, nil, err
		}
		fill = func(text string) string { return strings.ReplaceAll(text, scratch, folder) }
	}
	for _, entry := range c.Env {
		name, value, _ := strings.Cut(entry, "=")
		set[name] = fill(value)
	}
	for name, value := range set {
		if old, found := os.LookupEnv(name); found {
			had = append(had, name+"="+old)
		}
		_ = os.Setenv(name, value)
	}
	if plan != nil && plan.Feeds() {
		words = append(words, c.Feed...)
	}
	words = append(words, c.Words...)
	for _, word := range c.Args {
		words = append(words, fill(word))
	}
	return restore, words, nil
}

func writePlan(path string, plan Plan) error {
	text, err := plan.JSON()
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// commandEnd ends a command with SIGINT, as a user would, then SIGTERM, then SIGKILL. Signals
// go to its process group; the command runs in a separate session.
type commandEnd struct {
	group atomic.Int64
	told  atomic.Bool
	ended atomic.Bool
}

// noteStart stores the process group of the command.
func (e *commandEnd) noteStart(group int) { e.group.Store(int64(group)) }

// begin sends SIGINT, and stronger signals later if the group still exists. Further calls do
// nothing.
func (e *commandEnd) begin() {
	if e.told.Swap(true) {
		return
	}
	e.send(syscall.SIGINT)
	time.AfterFunc(patience, func() { e.send(syscall.SIGTERM) })
	time.AfterFunc(2*patience, func() { e.send(syscall.SIGKILL) })
}

// over kills the processes that are left in the command's group.
func (e *commandEnd) over() {
	e.send(syscall.SIGKILL)
	e.ended.Store(true)
}

func (e *commandEnd) send(s syscall.Signal) {
	if group := e.group.Load(); group > 1 && !e.ended.Load() {
		_ = syscall.Kill(-int(group), s) // the process may have exited
	}
}

// lastLine returns the last line of a log, which in a Python traceback is the error.
func lastLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}
