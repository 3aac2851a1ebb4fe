package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/stoker-dev/stoker/internal/safe"
)

// progress is a line that says how far work is: on a terminal one that
// changes, elsewhere a single one.
type progress struct {
	mu       sync.Mutex // guards what follows: say is called from the goroutine that works
	w        io.Writer
	terminal bool
	next     time.Time
	said     bool
	ended    bool
}

const (
	patience = time.Second            // nobody wants a line about less
	every    = 200 * time.Millisecond // a changing line is read no faster
)

func (a *app) newProgress() *progress {
	file, isFile := a.stderr.(*os.File)
	return &progress{w: a.stderr, terminal: isFile && term.IsTerminal(int(file.Fd())), next: time.Now().Add(patience)}
}

// say shows a line where nothing was shown for a while.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.ended || now.Before(p.next) || p.said && !p.terminal {
		return
	}
	p.next, p.said = now.Add(every), true
	line := safe.Text(fmt.Sprintf(format, args...), 1000)
	if p.terminal {
		fmt.Fprintf(p.w, "\rstoker: %s\x1b[K", line)
		return
	}
	fmt.Fprintf(p.w, "stoker: %s\n", line)
}

// during shows on a terminal what is being done and for how many seconds, where nothing else
// tells how far it is. The function that it returns says what is done next, "" that all is.
func (p *progress) during(what string) (next func(what string)) {
	if !p.terminal {
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
				p.say("%s, %.0f s", what, time.Since(began).Seconds())
			}
		}
		p.end()
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

// end takes a changing line away.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.said && p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
