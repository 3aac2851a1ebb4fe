package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/stoker-dev/stoker/internal/safe"
)

// Progress prints how far work is: on a terminal a line that changes, elsewhere a single line.
type Progress struct {
	mu       sync.Mutex // guards the fields below: the goroutine that works calls Say
	w        io.Writer
	Terminal bool
	next     time.Time
	said     bool
	ended    bool
}

const (
	// Patience is how long work must take before a line is printed.
	Patience = time.Second
	every    = 200 * time.Millisecond // the time between two changes of the line
)

// NewProgress returns a Progress on stderr.
func (a *App) NewProgress() *Progress {
	file, isFile := a.Stderr.(*os.File)
	return &Progress{w: a.Stderr, Terminal: isFile && term.IsTerminal(int(file.Fd())), next: time.Now().Add(Patience)}
}

// Say shows a line, but not too soon after the one before.
func (p *Progress) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.ended || now.Before(p.next) || p.said && !p.Terminal {
		return
	}
	p.next, p.said = now.Add(every), true
	line := safe.Text(fmt.Sprintf(format, args...), 1000)
	if p.Terminal {
		fmt.Fprintf(p.w, "\rstoker: %s\x1b[K", line)
		return
	}
	fmt.Fprintf(p.w, "stoker: %s\n", line)
}

// During names the current work and its seconds so far on a terminal, for work of unknown length.
// Call next with the name of the next work, or with "" at the end.
func (p *Progress) During(what string) (next func(what string)) {
	if !p.Terminal {
		return func(string) {}
	}
	began, steps, ended := time.Now(), make(chan string), make(chan struct{})
	go func() {
		defer close(ended)
		again := time.NewTicker(every)
		defer again.Stop()
		for what != "" {
			select {
			case what = <-steps:
			case <-again.C:
				p.Say("%s, %.0f s", what, time.Since(began).Seconds())
			}
		}
		p.End()
	}()
	return func(what string) {
		select {
		case steps <- what:
		case <-ended: // it has ended already
		}
		if what == "" {
			<-ended
		}
	}
}

// End removes a changing line.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.said && p.Terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
