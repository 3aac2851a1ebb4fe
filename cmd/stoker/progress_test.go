package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestProgressIsOnePlainLineWithoutATerminal(t *testing.T) {
	var b bytes.Buffer
	p := (&app{stderr: &b}).newProgress()
	p.say("reading, %d %%", 1)
	if b.Len() != 0 {
		t.Errorf("at once it says %q", b.String())
	}
	p.next = time.Time{}
	p.say("reading, %d %%", 50)
	p.next = time.Time{}
	p.say("reading, %d %%", 60)
	p.end()
	if got := b.String(); got != "stoker: reading, 50 %\n" {
		t.Errorf("it says %q", got)
	}
	b.Reset()
	p = (&app{stderr: &b}).newProgress()
	p.terminal, p.next = true, time.Time{}
	p.say("reading, %d %%", 50)
	p.end()
	if got := b.String(); !strings.HasPrefix(got, "\rstoker: reading, 50 %") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("on a terminal it says %q", got)
	}
}
