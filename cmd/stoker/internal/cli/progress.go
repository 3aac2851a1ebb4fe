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

// Progress is a line that says how far work is: on a terminal one that
// changes, elsewhere a single one.
type Progress struct {
	mu       sync.Mutex // guards what follows: say is called from the goroutine that works
	w        io.Writer
	Terminal bool
	next     time.Time
	said     bool
	ended    bool
}

const (
	Patience = time.Second            // nobody wants a line about less
	every    = 200 * time.Millisecond // a changing line is read no faster
)

// NewProgress makes a line of progress on stderr.
func (a *App) NewProgress() *Progress {
	file, isFile := a.Stderr.(*os.File)
	return &Progress{w: a.Stderr, Terminal: isFile && term.IsTerminal(int(file.Fd())), next: time.Now().Add(Patience)}
}

// Say shows a line where nothing was shown for a while.
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

// During shows on a terminal what is being done and for how many seconds, where nothing else
// tells how far it is. The function that it returns says what is done next, "" that all is.
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
		case <-ended: // said before
		}
		if what == "" {
			<-ended
		}
	}
}

// End takes a changing line away.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.said && p.Terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
