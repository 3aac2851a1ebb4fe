//go:build linux

package step

import (
	"fmt"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// A command ended by its own exception, or by that of what it started if it only passes that on.
func TestCauseOfAnEnd(t *testing.T) {
	const root = 10
	raise := func(pid int, t int64, kind string) Packet {
		return Packet{PID: pid, Data: fmt.Appendf(nil,
			`{"v":1,"pid":%d,"seq":0,"dropped":0,"records":[{"k":"raised","t":%d,"type":%q,"file":"/a/b.py","line":4}]}`, pid, t, kind)}
	}
	loads := func(pid int) Packet {
		p := packetOf(`{"k":"hello","role":"main"}`, `{"k":"loader","loader":0}`)
		p.PID = pid
		return p
	}
	for name, c := range map[string]struct {
		packets []Packet
		want    string
	}{
		"nothing was seen":                    {nil, ""},
		"its own":                             {[]Packet{raise(root, 1, "KeyError")}, "10 KeyError"},
		"a helper failed before":              {[]Packet{raise(11, 1, "OSError"), raise(root, 2, "KeyError")}, "10 KeyError"},
		"torchrun":                            {[]Packet{raise(11, 1, "ValueError"), raise(root, 2, "torch.distributed.elastic.multiprocessing.errors.ChildFailedError")}, "11 ValueError"},
		"a launcher whose child was not seen": {[]Packet{raise(root, 2, "CalledProcessError")}, "10 CalledProcessError"},
		"a shell":                             {[]Packet{raise(11, 1, "OSError"), raise(12, 2, "KeyError")}, "12 KeyError"},
		"the first rank that fails":           {[]Packet{loads(11), loads(12), raise(12, 7, "RuntimeError"), raise(11, 3, "KeyError")}, "11 KeyError"},
		"a rank, not a helper":                {[]Packet{raise(13, 1, "OSError"), loads(11), raise(11, 3, "KeyError"), raise(14, 9, "OSError")}, "11 KeyError"},
	} {
		in := NewIntake(0, &book{}, nil)
		for _, p := range c.packets {
			in.Take(p, 1)
		}
		got := ""
		if e := in.FindCause(root); e != nil {
			got = fmt.Sprint(e.PID, " ", e.Type)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// What ended a process that says nothing else makes it none that is watched.
func TestExceptionWithoutTorch(t *testing.T) {
	in := NewIntake(0, &book{}, nil)
	in.Take(packetOf(`{"k":"raised","t":1,"type":"KeyError","about":"\u001b[31m","line":-4}`, `{"k":"raised","t":1}`), 1)
	if in.Heard() || len(in.Processes()) != 0 {
		t.Error("it is taken for a process with a hook")
	}
	if e := in.FindCause(7); e == nil || *e != (recording.Exception{PID: 7, Type: "KeyError", About: e.About}) || e.About == "\x1b[31m" {
		t.Errorf("%+v", e)
	}
	for range 10 * maxNotes {
		in.Take(packetOf(`{"k":"raised","t":1,"type":"KeyError"}`), 1)
	}
	if len(in.raised) > maxNotes {
		t.Errorf("%d are kept", len(in.raised))
	}
}
