//go:build !unix

package watch

import (
	"context"

	tea "charm.land/bubbletea/v2"
)

// terminal is a terminal without signals.
type terminal struct{ o Options }

func newTerminal(o Options) *terminal { return &terminal{o} }

func (t *terminal) programOptions() []tea.ProgramOption {
	return []tea.ProgramOption{tea.WithOutput(t.o.Out), tea.WithEnvironment(t.o.Env)}
}

func (t *terminal) relaySignals(context.Context, func(tea.Msg)) {}

func (t *terminal) handleMessage(tea.Msg) tea.Cmd { return nil }

func (t *terminal) stopGroup() {}
