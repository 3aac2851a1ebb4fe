package cli

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgressIsOnePlainLineWithoutATerminal(t *testing.T) {
	var b bytes.Buffer
	p := (&App{Stderr: &b}).NewProgress()
	p.Say("reading, %d %%", 1)
	if b.Len() != 0 {
		t.Errorf("at once it says %q", b.String())
	}
	p.next = time.Time{}
	p.Say("reading, %d %%", 50)
	p.next = time.Time{}
	p.Say("reading, %d %%", 60)
	p.End()
	if got := b.String(); got != "stoker: reading, 50 %\n" {
		t.Errorf("it says %q", got)
	}
	b.Reset()
	p = (&App{Stderr: &b}).NewProgress()
	p.Terminal, p.next = true, time.Time{}
	p.Say("reading, %d %%", 50)
	p.End()
	if got := b.String(); !strings.HasPrefix(got, "\rstoker: reading, 50 %") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("on a terminal it says %q", got)
	}
}

// For work of unknown length, a line on a terminal says what is being done and for how long, and
// is removed at the end. Short work prints nothing.
func TestDuringSaysWhatIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := (&App{Stderr: &b}).NewProgress()
		next := p.During("reading")
		time.Sleep(5 * time.Second)
		if next(""); b.Len() > 0 {
			t.Errorf("without a terminal: %q", b.String())
		}
		p.Terminal = true
		next = p.During("reading")
		next("")
		if b.Len() > 0 {
			t.Errorf("at once: %q", b.String())
		}
		p = (&App{Stderr: &b}).NewProgress()
		p.Terminal = true
		next = p.During("reading")
		time.Sleep(2500 * time.Millisecond) // in the bubble's time
		next("judging")
		time.Sleep(time.Second)
		next("")
		next("") // as after an error
		for _, want := range []string{"stoker: reading, 2 s", "stoker: judging, 3 s"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("it lacks %q: %q", want, b.String())
			}
		}
		if !strings.HasSuffix(b.String(), "\r\x1b[K") {
			t.Errorf("the line stays: %q", b.String())
		}
	})
}
