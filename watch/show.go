package watch

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// Options describe the terminal.
type Options struct {
	In     io.Reader
	Out    io.Writer
	Env    []string
	Colour bool
	ASCII  bool
	Stops  bool // Ctrl-Z and SIGTSTP stop the process: a shell can continue it
}

// Show keeps a terminal up to date until ctx ends or the user quits, and then restores it.
// Updates are states of one or several runs, identified by name. The caller handles the signals
// that end it and cancels ctx.
func Show(ctx context.Context, o Options, updates <-chan State) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tty := newTerminal(o)
	m := &model{look: Viewport{Colour: o.Colour, ASCII: o.ASCII, Span: spans[firstSpan]}, span: firstSpan, tty: tty}
	p := tea.NewProgram(m, append(tty.programOptions(), tea.WithInput(o.In),
		tea.WithoutSignalHandler(), tea.WithFilter(boundSize), tea.WithFPS(framesPerSecond))...)
	// Quit instead of tea.WithContext, which closes the input's files while they are being read.
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

// framesPerSecond limits how often the screen is redrawn, so that a connection over ssh keeps
// up.
const framesPerSecond = 10

// The largest screen that is drawn, in the upper left corner of a larger terminal. The library
// keeps about 200 bytes per cell.
const (
	mostWidth  = 500
	mostHeight = 200
)

// boundSize limits the screen's size before anything is allocated for it.
func boundSize(_ tea.Model, msg tea.Msg) tea.Msg {
	if size, is := msg.(tea.WindowSizeMsg); is {
		return tea.WindowSizeMsg{Width: min(size.Width, mostWidth), Height: min(size.Height, mostHeight)}
	}
	return msg
}

// spans lists the periods that can be displayed, in seconds; 0 is all.
var spans = []float64{30, 120, 600, 1800, 0}

const firstSpan = 1

// model is the state of the screen.
type model struct {
	look   Viewport
	span   int
	tty    *terminal
	states []State
	held   []State // updates received while the screen is paused
}

// Init does nothing.
func (m *model) Init() tea.Cmd { return nil }

// Update handles a key, a size or a state.
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

// take displays a state. A run that had already ended at first is displayed completely.
func (m *model) take(s State) {
	if len(m.states) == 0 && s.Run != nil && s.Run.Facts.Exit != nil {
		m.zoom(len(spans))
	}
	m.states = with(m.states, s)
	m.look.Chosen = min(m.look.Chosen, max(0, len(m.states)-1))
}

// with replaces the state of the same run, adds a new one, or deletes one that is Gone.
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

// key handles a key.
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

// zoom changes the displayed period.
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

// screenText returns the screen, or an error message if drawing it panicked.
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
