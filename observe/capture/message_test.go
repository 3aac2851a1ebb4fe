package capture

import (
	"bytes"
	"encoding/binary"
	"flag"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// ask is a req as libkineto sends it.
func ask(kind int32, job int64, pids ...int32) []byte {
	p := make([]byte, pidsAt+4*len(pids))
	binary.LittleEndian.PutUint32(p, uint32(kind))
	binary.LittleEndian.PutUint32(p[4:], uint32(len(pids)))
	binary.LittleEndian.PutUint64(p[8:], uint64(job))
	for i, pid := range pids {
		binary.LittleEndian.PutUint32(p[pidsAt+4*i:], uint32(pid))
	}
	return encode(typeRequest, p)
}

func register(gpu, pid int32, job int64) []byte {
	p := make([]byte, ctxtSize)
	binary.LittleEndian.PutUint32(p, uint32(gpu))
	binary.LittleEndian.PutUint32(p[4:], uint32(pid))
	binary.LittleEndian.PutUint64(p[8:], uint64(job))
	return encode(typeContext, p)
}

// The layout byte by byte, so that encode and decode cannot be wrong together.
func TestLayout(t *testing.T) {
	want := append([]byte{24, 0, 0, 0, 0, 0, 0, 0, 'r', 'e', 'q'}, make([]byte, 29)...)
	want = append(want, 3, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0x0f, 0x27, 0, 0, 1, 0, 0, 0)
	if got := ask(3, 7, 9999, 1); !bytes.Equal(got, want) {
		t.Fatalf("%v\n%v", got, want)
	}
	m, err := decode(want)
	if err != nil || m.Type != "req" || m.Kind != 3 || m.Job != 7 || !slices.Equal(m.PIDs, []int32{9999, 1}) {
		t.Fatalf("%+v, %v", m, err)
	}
}

func TestVersions(t *testing.T) {
	for version, c := range map[string]struct {
		data []byte
		busy bool
	}{
		"2.2 to 2.8, ready": {ask(3, 0, 10, 9, 1), false},
		"2.15, ready":       {ask(2, 0, 10, 9, 1), false},
		"any, busy":         {ask(0, 0, 10, 9, 1), true},
		"events only":       {ask(1, 0, 10), true},
	} {
		m, err := decode(c.data)
		if err != nil || m.busy() != c.busy || m.PIDs[0] != 10 {
			t.Errorf("%s: %+v, %v", version, m, err)
		}
	}
	if m, err := decode(register(0, 10, 5)); err != nil || m.Type != "ctxt" || m.PIDs[0] != 10 || m.Job != 5 {
		t.Errorf("ctxt: %+v, %v", m, err)
	}
}

func TestDamaged(t *testing.T) {
	good := ask(2, 0, 10, 9)
	change := func(at int, v byte) []byte { d := slices.Clone(good); d[at] = v; return d }
	for name, data := range map[string][]byte{
		"empty": nil, "header only": good[:header], "half a header": good[:20], "cut": good[:len(good)-1],
		"size too large": change(0, 25), "size enormous": change(7, 0xff), "no processes": change(44, 0), "more than there are": change(44, 3),
		"negative count": change(47, 0x80), "process 0": ask(2, 0, 0), "negative process": ask(2, 0, -5), "other type": change(8, 'x'),
		"type without NUL": append(append(slices.Clone(good[:8]), bytes.Repeat([]byte("r"), 32)...), good[40:]...),
		"too many":         ask(2, 0, make([]int32, 65)...), "short ctxt": encode("ctxt", make([]byte, 15)), "ctxt of process 0": register(0, 0, 0),
	} {
		if m, err := decode(data); err == nil {
			t.Errorf("%s: taken as %+v", name, m)
		}
	}
}

// deep counts messages that were understood, so that a fuzz run which only ever
// meets the front door is noticed.
var deep atomic.Int64

// FuzzDecode: whatever a datagram holds, it is understood or refused; what is
// understood is within its bounds.
func FuzzDecode(f *testing.F) {
	f.Add(ask(3, 0, 10, 9, 1))
	f.Add(ask(2, -1, 10))
	f.Add(ask(0, 1<<62, 1<<30, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11))
	f.Add(register(7, 10, 0))
	f.Add(ask(2, 0, 10)[:50])
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decode(data)
		if err != nil {
			if m.Type != "" {
				t.Fatalf("%+v beside %v", m, err)
			}
			return
		}
		deep.Add(1)
		if len(m.PIDs) < 1 || len(m.PIDs) > maxPIDs || m.PIDs[0] <= 0 || m.Type != typeRequest && m.Type != typeContext {
			t.Fatalf("%+v", m)
		}
		if m.Type == typeRequest {
			again := ask(m.Kind, m.Job, m.PIDs...)
			if !bytes.HasPrefix(data[typeAt+4:], again[typeAt+4:header]) && !bytes.Contains(data[typeAt:header], []byte{0}) {
				t.Fatal("a type without its closing NUL was taken")
			}
			if n := len(again) - header; !bytes.Equal(again[header:], data[header:header+n]) {
				t.Fatalf("%+v is not what the message says", m)
			}
		}
	})
	fuzzing := flag.Lookup("test.fuzz").Value.String() != "" // then other processes count
	if !fuzzing && deep.Load() == 0 {
		f.Error("no input was understood")
	}
}

func TestConfig(t *testing.T) {
	text := Request{Steps: 5}.config("/tmp/x/trace-1.json", 0.02, false)
	for _, line := range []string{
		"ACTIVITIES_LOG_FILE=/tmp/x/trace-1.json", "PROFILE_START_ITERATION=0", "PROFILE_START_ITERATION_ROUNDUP=10",
		"ACTIVITIES_ITERATIONS=5", "ACTIVITIES_DURATION_MSECS=0", "PROFILE_REPORT_INPUT_SHAPES=false", "PROFILE_WITH_STACK=false",
	} {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			t.Errorf("%s is missing in\n%s", line, text)
		}
	}
	timed := Request{Steps: 5, Stacks: true, Shapes: true}.config("/tmp/x", 0.1, true)
	if strings.Contains(timed, "ITERATION") || !strings.Contains(timed, "DURATION_MSECS=500\n") || !strings.Contains(timed, "STACK=true") || !strings.Contains(timed, "SHAPES=true") {
		t.Error(timed)
	}
	for step, ms := range map[float64]int{1e-6: 100, 0.1: 500, 99: 5000, 0: 500, -1: 500} {
		if got := (Request{Steps: 5}).byTime(step); got != ms {
			t.Errorf("5 steps of %g s: %d ms, want %d", step, got, ms)
		}
	}
}
