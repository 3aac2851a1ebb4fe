//go:build unix

package watch

import (
	"context"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// terminal is the terminal of the screen, and handles the signals that it and the shell send:
// change of size, stop, continue. It is used by the screen's loop.
//
// Go cannot restore the default action of SIGTSTP after signal.Notify. So the process leaves
// the screen and stops with SIGSTOP. The library can leave the screen for a command, too, but
// after a short one it may not draw any more (bubbletea issue 1778).
type terminal struct {
	o       Options
	in, out *os.File    // nil if it is not a file
	before  *term.State // state of in at the start
	resumed int         // number of times the process continued for which the signal has not arrived yet
	screen  sync.Mutex  // held while writing to the screen
}

func newTerminal(o Options) *terminal {
	t := &terminal{o: o}
	t.out, _ = o.Out.(*os.File)
	if t.in, _ = o.In.(*os.File); t.in != nil {
		t.before, _ = term.GetState(int(t.in.Fd()))
	}
	return t
}

// Write writes output of the library.
func (t *terminal) Write(p []byte) (int, error) {
	t.screen.Lock()
	defer t.screen.Unlock()
	return t.o.Out.Write(p)
}

// programOptions hides the terminal's real size from the library, which would allocate memory
// for it: the library gets a plain writer, and the information that it is a terminal.
func (t *terminal) programOptions() []tea.ProgramOption {
	options := []tea.ProgramOption{
		tea.WithOutput(t),
		tea.WithEnvironment(append(t.o.Env, "TTY_FORCE=1")),
	}
	if size, known := t.size(); known {
		size, _ = boundSize(nil, size).(tea.WindowSizeMsg)
		options = append(options, tea.WithWindowSize(size.Width, size.Height))
	}
	return options
}

// size returns the size of the terminal.
func (t *terminal) size() (size tea.WindowSizeMsg, known bool) {
	if t.out == nil {
		return size, false
	}
	width, height, err := term.GetSize(int(t.out.Fd()))
	return tea.WindowSizeMsg{Width: width, Height: height}, err == nil
}

// Messages of the terminal's signals.
type (
	stopMsg     struct{}
	continueMsg struct{}
)

// relaySignals forwards signals of the terminal and the shell until ctx ends.
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

// handleMessage stops the process, or redraws the screen after others may have drawn on it.
func (t *terminal) handleMessage(msg tea.Msg) tea.Cmd {
	switch msg.(type) {
	case stopMsg:
		if t.o.Stops { // otherwise nothing could continue the process, and the kernel would not stop it either
			t.screen.Lock()
			defer t.screen.Unlock()
			t.leaveScreen()
			t.stopUntilContinued()
			t.awaitForeground()
			return t.enterScreen()
		}
	case continueMsg:
		if t.resumed > 0 { // stopMsg has redrawn the screen
			t.resumed--
			break
		}
		t.screen.Lock()
		defer t.screen.Unlock()
		t.awaitForeground() // after SIGSTOP, which cannot be caught
		return t.enterScreen()
	}
	return nil
}

// awaitForeground stops the process while another one owns the terminal, so that drawing does
// not disturb that one.
func (t *terminal) awaitForeground() {
	for t.inBackground() {
		t.stopUntilContinued()
	}
}

// stopUntilContinued stops the process and returns when it was continued.
func (t *terminal) stopUntilContinued() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if syscall.Kill(syscall.Getpid(), syscall.SIGSTOP) == nil {
		<-continued
		t.resumed++
	}
}

// The modes that the library sets on a terminal for its screen, and resets.
var (
	screenModes = ansi.SetModeAltScreenSaveCursor + ansi.ResetModeTextCursorEnable + ansi.SetModeBracketedPaste +
		ansi.SetModifyOtherKeys2 + ansi.PopKittyKeyboard(1) + ansi.PushKittyKeyboard(ansi.KittyDisambiguateEscapeCodes)
	modesBefore = ansi.PopKittyKeyboard(1) + ansi.ResetModifyOtherKeys + ansi.ResetModeBracketedPaste +
		ansi.ResetModeAltScreenSaveCursor + ansi.SetModeTextCursorEnable
)

// leaveScreen restores the terminal.
func (t *terminal) leaveScreen() {
	_, _ = io.WriteString(t.o.Out, modesBefore)
	if t.before != nil {
		_ = term.Restore(int(t.in.Fd()), t.before)
	}
}

// enterScreen sets up the terminal again after a shell used it, and redraws the screen.
func (t *terminal) enterScreen() tea.Cmd {
	if t.before != nil {
		_, _ = term.MakeRaw(int(t.in.Fd()))
	}
	_, _ = io.WriteString(t.o.Out, screenModes)
	return tea.ClearScreen
}

// inBackground reports whether another process group owns the terminal.
func (t *terminal) inBackground() bool {
	if t.out == nil {
		return false
	}
	group, err := unix.IoctlGetInt(int(t.out.Fd()), unix.TIOCGPGRP)
	return err == nil && group != unix.Getpgrp()
}

// stopGroup stops the whole process group, as Ctrl-Z does in a cooked terminal.
func (t *terminal) stopGroup() {
	if t.o.Stops {
		_ = syscall.Kill(0, syscall.SIGTSTP)
	}
}
