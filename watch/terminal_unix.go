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

// terminal is what a screen is drawn on, and the signals that it and the shell send: a
// new size, stop, go on. It belongs to the screen's loop.
//
// Go cannot give SIGTSTP its default back once it was asked for. So we leave the screen
// and stop with SIGSTOP, which needs no default. The library can leave the screen as well,
// for a command, but may never draw again after a short one (bubbletea issue 1778).
type terminal struct {
	o       Options
	in, out *os.File    // nil where it is something else
	before  *term.State // of in
	resumed int         // times that we stopped and went on of which the signal is still to come
	screen  sync.Mutex  // held by who writes to it
}

func newTerminal(o Options) *terminal {
	t := &terminal{o: o}
	t.out, _ = o.Out.(*os.File)
	if t.in, _ = o.In.(*os.File); t.in != nil {
		t.before, _ = term.GetState(int(t.in.Fd()))
	}
	return t
}

// Write is for the library.
func (t *terminal) Write(p []byte) (int, error) {
	t.screen.Lock()
	defer t.screen.Unlock()
	return t.o.Out.Write(p)
}

// programOptions keep the library from the terminal's size, which it would make room for: it
// sees only a writer, and is told that it is a terminal.
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
			t.screen.Lock()
			defer t.screen.Unlock()
			t.leaveScreen()
			t.stopUntilContinued()
			t.awaitForeground()
			return t.enterScreen()
		}
	case continueMsg:
		if t.resumed > 0 { // it is drawn anew by who stopped us
			t.resumed--
			break
		}
		t.screen.Lock()
		defer t.screen.Unlock()
		t.awaitForeground() // from SIGSTOP, which nobody sees come
		return t.enterScreen()
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

// The modes that the library gives a terminal for its screen, and takes away.
var (
	screenModes = ansi.SetModeAltScreenSaveCursor + ansi.ResetModeTextCursorEnable + ansi.SetModeBracketedPaste +
		ansi.SetModifyOtherKeys2 + ansi.PopKittyKeyboard(1) + ansi.PushKittyKeyboard(ansi.KittyDisambiguateEscapeCodes)
	modesBefore = ansi.PopKittyKeyboard(1) + ansi.ResetModifyOtherKeys + ansi.ResetModeBracketedPaste +
		ansi.ResetModeAltScreenSaveCursor + ansi.SetModeTextCursorEnable
)

// leaveScreen gives the terminal back as it was before us.
func (t *terminal) leaveScreen() {
	_, _ = io.WriteString(t.o.Out, modesBefore)
	if t.before != nil {
		_ = term.Restore(int(t.in.Fd()), t.before)
	}
}

// enterScreen takes the terminal back from a shell that took it, and draws all anew.
func (t *terminal) enterScreen() tea.Cmd {
	if t.before != nil {
		_, _ = term.MakeRaw(int(t.in.Fd()))
	}
	_, _ = io.WriteString(t.o.Out, screenModes)
	return tea.ClearScreen
}

func (t *terminal) inBackground() bool {
	if t.out == nil {
		return false
	}
	group, err := unix.IoctlGetInt(int(t.out.Fd()), unix.TIOCGPGRP)
	return err == nil && group != unix.Getpgrp()
}

// stopGroup stops us and who runs with us, as Ctrl-Z does where a terminal reads it.
func (t *terminal) stopGroup() {
	if t.o.Stops {
		_ = syscall.Kill(0, syscall.SIGTSTP)
	}
}
