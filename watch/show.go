package watch

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// Options are what a terminal can do.
type Options struct {
	In     io.Reader
	Out    io.Writer
	Env    []string
	Colour bool
	ASCII  bool
	Stops  bool // Ctrl-Z and SIGTSTP stop us: somebody is there who lets us go on
}

// Show keeps a terminal up to date until ctx ends or the user quits, and leaves it as
// it was. Updates are states of one or several runs, which are told apart by their names.
// Signals that end the caller are the caller's: it cancels ctx.
func Show(ctx context.Context, o Options, updates <-chan State) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tty := newTerminal(o)
	m := &model{look: Viewport{Colour: o.Colour, ASCII: o.ASCII, Span: spans[firstSpan]}, span: firstSpan, tty: tty}
	p := tea.NewProgram(m, append(tty.programOptions(), tea.WithInput(o.In),
		tea.WithoutSignalHandler(), tea.WithFilter(boundSize), tea.WithFPS(framesPerSecond))...)
	// Quit, and not tea.WithContext: that closes the input's files while they are still read.
	defer context.AfterFunc(ctx, p.Quit)()
	go tty.relaySignals(ctx, p.Send)
	go func() {
		for {
			select {
			case s, open := <-updates:
				if !open {
					return
				}
				p.Send(s)
			case <-ctx.Done():
				return
			}
		}
	}()
	_, err := p.Run()
	return err
}

// framesPerSecond bounds how often a terminal is written to: a line over ssh keeps up.
const framesPerSecond = 10

// The largest screen that is drawn, in the upper left corner of a larger terminal. What
// draws it keeps some 200 bytes of each cell.
const (
	mostWidth  = 500
	mostHeight = 200
)

// boundSize bounds the screen's size before anything is made for it.
func boundSize(_ tea.Model, msg tea.Msg) tea.Msg {
	if size, is := msg.(tea.WindowSizeMsg); is {
		return tea.WindowSizeMsg{Width: min(size.Width, mostWidth), Height: min(size.Height, mostHeight)}
	}
	return msg
}

// spans are the stretches of time that can be shown, seconds; 0 is all.
var spans = []float64{30, 120, 600, 1800, 0}

const firstSpan = 1

// model is the screen and how it is looked at.
type model struct {
	look   Viewport
	span   int
	tty    *terminal
	states []State
	held   []State // what came while the screen is held
}

// Init starts nothing.
func (m *model) Init() tea.Cmd { return nil }

// Update takes a key, a size or a state.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.look.Width, m.look.Height = msg.Width, msg.Height
	case State:
		if m.look.Paused {
			m.held = with(m.held, msg)
			break
		}
		m.take(msg)
	case tea.KeyPressMsg:
		return m, m.key(msg.String())
	default:
		return m, m.tty.handleMessage(msg)
	}
	return m, nil
}

// take shows a state. A run that had ended when it was first looked at is shown whole.
func (m *model) take(s State) {
	if len(m.states) == 0 && s.Run != nil && s.Run.Facts.Exit != nil {
		m.zoom(len(spans))
	}
	m.states = with(m.states, s)
	m.look.Chosen = min(m.look.Chosen, max(0, len(m.states)-1))
}

// with has a state in the place of that of the same run.
func with(states []State, s State) []State {
	for i, known := range states {
		switch {
		case known.Name == s.Name && s.Gone:
			return slices.Delete(states, i, i+1)
		case known.Name == s.Name:
			states[i] = s
			return states
		}
	}
	if s.Gone {
		return states
	}
	states = append(states, s)
	slices.SortFunc(states, func(a, b State) int { return strings.Compare(a.Name, b.Name) })
	return states
}

// key does what a key asks for.
func (m *model) key(key string) tea.Cmd {
	if m.look.Help {
		m.look.Help = false
		if key != "ctrl+c" {
			return nil
		}
	}
	switch key {
	case "q", "ctrl+c", "esc":
		return tea.Quit
	case "?", "h":
		m.look.Help = true
	case "left":
		m.look.Back = min(m.look.columns()-1, m.look.Back+1)
	case "right":
		m.look.Back = max(0, m.look.Back-1)
	case "home":
		m.look.Back = m.look.columns() - 1
	case "end":
		m.look.Back = 0
	case "+", "=":
		m.zoom(-1)
	case "-":
		m.zoom(1)
	case "tab":
		m.look.Chosen = (m.look.Chosen + 1) % max(1, len(m.states))
	case "shift+tab":
		m.look.Chosen = (m.look.Chosen + max(1, len(m.states)) - 1) % max(1, len(m.states))
	case "ctrl+z":
		m.tty.stopGroup()
	case "space":
		m.look.Paused = !m.look.Paused
		for _, s := range m.held {
			m.take(s)
		}
		m.held = nil
	}
	return nil
}

func (m *model) zoom(by int) {
	m.span = min(len(spans)-1, max(0, m.span+by))
	m.look.Span = spans[m.span]
}

// View draws the screen.
func (m *model) View() tea.View {
	v := tea.NewView(m.screenText())
	v.AltScreen = true
	return v
}

// screenText is the screen, or the fault of our own that kept it from being drawn.
func (m *model) screenText() (text string) {
	defer func() {
		if fault := recover(); fault != nil {
			text = strings.Join(Screen([]State{{Note: fmt.Sprintf("a fault of stoker's own: %v", fault)}},
				m.look), "\n")
		}
	}()
	return strings.Join(drawScreen(m.states, m.look), "\n")
}

// drawScreen is replaced by a test that plants a fault.
var drawScreen = Screen
