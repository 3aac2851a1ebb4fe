//go:build unix

package watch

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// terminal is what a screen is drawn on, and the signals that it and the shell send: a
// new size, stop, go on. It belongs to the screen's loop.
//
// Go cannot give SIGTSTP its default back once it was asked for. So we leave the screen
// and stop with SIGSTOP, which needs no default.
type terminal struct {
	o       Options
	file    *os.File // nil where the screen is drawn on something else
	resumed int      // times that we stopped and went on of which the signal is still to come
}

func newTerminal(o Options) *terminal {
	file, _ := o.Out.(*os.File)
	return &terminal{o: o, file: file}
}

// programOptions keep the library from the terminal's size, which it would make room for: it
// sees only a writer, and is told that it is a terminal.
func (t *terminal) programOptions() []tea.ProgramOption {
	options := []tea.ProgramOption{
		tea.WithOutput(struct{ io.Writer }{t.o.Out}),
		tea.WithEnvironment(append(t.o.Env, "TTY_FORCE=1")),
	}
	if size, known := t.size(); known {
		size, _ = boundSize(nil, size).(tea.WindowSizeMsg)
		options = append(options, tea.WithWindowSize(size.Width, size.Height))
	}
	return options
}

func (t *terminal) size() (size tea.WindowSizeMsg, known bool) {
	if t.file == nil {
		return size, false
	}
	width, height, err := term.GetSize(int(t.file.Fd()))
	return tea.WindowSizeMsg{Width: width, Height: height}, err == nil
}

// Messages of the terminal's signals.
type (
	stopMsg     struct{}
	continueMsg struct{}
)

// relaySignals sends what the terminal and the shell signal, until ctx ends.
func (t *terminal) relaySignals(ctx context.Context, send func(tea.Msg)) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT)
	defer signal.Stop(signals)
	for {
		select {
		case s := <-signals:
			switch s {
			case syscall.SIGTSTP:
				send(stopMsg{})
			case syscall.SIGCONT:
				send(continueMsg{})
			}
			if size, known := t.size(); known {
				send(size)
			}
		case <-ctx.Done():
			return
		}
	}
}

// handleMessage stops, or draws all anew where others may have drawn meanwhile.
func (t *terminal) handleMessage(msg tea.Msg) tea.Cmd {
	switch msg.(type) {
	case stopMsg:
		if t.o.Stops { // else nobody could let us go on, and the kernel would not stop us either
			return tea.Exec(absence{t}, nil) // the library leaves the screen as for a command
		}
	case continueMsg:
		if t.resumed > 0 { // it is drawn anew by who stopped us
			t.resumed--
			break
		}
		t.awaitForeground() // from SIGSTOP, which nobody sees come
		return t.redraw()
	}
	return nil
}

// awaitForeground stops us while another has the terminal: what we drew would spoil its.
func (t *terminal) awaitForeground() {
	for t.inBackground() {
		t.stopUntilContinued()
	}
}

func (t *terminal) stopUntilContinued() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if syscall.Kill(syscall.Getpid(), syscall.SIGSTOP) == nil {
		<-continued
		t.resumed++
	}
}

const enterScreen = "\x1b[?1049h\x1b[?25l"

// redraw takes the terminal back from a shell that took it.
func (t *terminal) redraw() tea.Cmd {
	if in, is := t.o.In.(*os.File); is {
		_, _ = term.MakeRaw(int(in.Fd())) // the modes before us are known from when we began
	}
	// At once: what the library keeps to write may come after it has left the screen.
	_, _ = io.WriteString(t.o.Out, enterScreen)
	return tea.ClearScreen
}

func (t *terminal) inBackground() bool {
	if t.file == nil {
		return false
	}
	group, err := unix.IoctlGetInt(int(t.file.Fd()), unix.TIOCGPGRP)
	return err == nil && group != unix.Getpgrp()
}

// stopGroup stops us and who runs with us, as Ctrl-Z does where a terminal reads it.
func (t *terminal) stopGroup() {
	if t.o.Stops {
		_ = syscall.Kill(0, syscall.SIGTSTP)
	}
}

// absence is a while in which the terminal is as it was before us.
type absence struct{ *terminal }

// Run stops us until we are let go on in the foreground.
func (a absence) Run() error {
	a.stopUntilContinued()
	a.awaitForeground()
	return nil
}

// SetStdin is for commands.
func (absence) SetStdin(io.Reader) {}

// SetStdout is for commands.
func (absence) SetStdout(io.Writer) {}

// SetStderr is for commands.
func (absence) SetStderr(io.Writer) {}
