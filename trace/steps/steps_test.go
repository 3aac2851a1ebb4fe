package steps

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// made is a Timeline of one process: spans on the host as start and end in ms, and
// kernels of 1 ms by name at their starts.
type made struct{ t recording.Timeline }

func timeline() *made {
	return &made{recording.Timeline{
		Threads: []recording.Thread{{PID: 1, ID: 1}}, Devices: []recording.Device{{PID: 1, GPU: -1}}, End: 1000e6,
	}}
}

func (m *made) name(text string) int32 {
	for i, n := range m.t.Names {
		if n == text {
			return int32(i)
		}
	}
	m.t.Names = append(m.t.Names, text)
	return int32(len(m.t.Names) - 1)
}

func (m *made) span(name string, from, to int64) {
	h := &m.t.Host
	h.Start, h.End, h.Name = append(h.Start, from*1e6), append(h.End, to*1e6), append(h.Name, m.name(name))
	h.Thread, h.Kind = append(h.Thread, 0), append(h.Kind, recording.Annotation)
}

func (m *made) kernel(name string, at int64) {
	d := &m.t.Device
	d.Start, d.End, d.Name = append(d.Start, at*1e6), append(d.End, (at+1)*1e6), append(d.Name, m.name(name))
	d.Device, d.Stream, d.Kind, d.Call = append(d.Device, 0), append(d.Stream, 7), append(d.Kind, recording.Kernel), append(d.Call, -1)
	d.Bytes = append(d.Bytes, -1)
	if strings.HasPrefix(name, "Memcpy") {
		d.Kind[len(d.Kind)-1] = recording.Copy
	}
}

func (m *made) find(t *testing.T, want int, said string) []recording.Step {
	t.Helper()
	f := Find(&m.t, []recording.Process{{PID: 1}}, "marks", "No marks")
	found, how := f.Steps, f.Said
	if len(found) != want || !strings.Contains(strings.Join(how, " "), said) || said == "" && len(how) > 0 {
		t.Errorf("%d steps, %q; want %d, %q", len(found), how, want, said)
	}
	return found
}

func TestMarked(t *testing.T) {
	m := timeline()
	for n := range int64(4) {
		m.span("ProfilerStep#"+string(rune('5'+n)), 100*n, 100*n+90)
		m.span("enumerate(DataLoader)#x", 100*n+10, 100*n+40)
	}
	steps := m.find(t, 4, "")
	if steps[0].N != 5 || math.Abs(steps[0].Period-0.1) > 1e-12 || math.Abs(steps[0].Wait-0.03) > 1e-12 || steps[0].Phase != recording.Evaluate {
		t.Errorf("%+v", steps[0])
	}
}

func TestUnmarked(t *testing.T) {
	m := timeline()
	for n := range int64(5) {
		m.span("enumerate(DataLoader)#x", 100*n, 100*n+40)
		m.span("Optimizer.step#SGD.step", 100*n+80, 100*n+90)
	}
	if steps := m.find(t, 4, "No marks: a step is taken from one ask for a batch"); steps[0].Phase != recording.Train {
		t.Errorf("%+v", steps[0])
	}
	m = timeline()
	for n := range int64(5) {
		m.span("Optimizer.step#SGD.step", 100*n+80, 100*n+90)
	}
	m.find(t, 4, "from the end of one optimizer call")
}

func TestRepeating(t *testing.T) {
	m := timeline()
	for n := range int64(6) {
		for i, name := range strings.Fields("a b b c b b b d") {
			m.kernel(name, 100*n+10*int64(i))
		}
		m.kernel("Memcpy DtoH (Device -> Pageable)", 100*n+85)
	}
	m.find(t, 5, "the kernels repeat 5 times")

	m = timeline() // a recording that was cut out of one pass holds nothing but its blocks
	for n := range int64(6) {
		for i, name := range strings.Fields("a b b c b b b d") {
			m.kernel(name, 100*n+10*int64(i))
		}
	}
	m.find(t, 1, "these are layers")

	m = timeline() // the layers of a model repeat as well, and are no steps
	for n := range int64(6) {
		for i, name := range strings.Fields("a b b c b b b d") {
			m.kernel(name, 10*n+int64(i))
		}
	}
	for i := range int64(50) {
		m.kernel("rest "+string(rune('A'+i)), 100+10*i)
	}
	m.find(t, 1, "nothing in it repeats")
	m.find(t, 1, "all of it is taken as one step")
}

func TestNothing(t *testing.T) {
	m := timeline()
	m.t.End = 0
	m.find(t, 0, "")
}

// Spans and frames of a compiler both count, whichever comes first in the step.
func TestCompilationInSpansAndFrames(t *testing.T) {
	m := timeline()
	for n := range int64(6) {
		m.span("ProfilerStep#"+string(rune('1'+n)), 100*n, 100*n+100)
	}
	m.span("XlaCompile", 395, 398)
	f := &m.t.Frames
	f.Start, f.End = append(f.Start, 300e6), append(f.End, 340e6)
	f.Name, f.Thread = append(f.Name, m.name("triton/compiler/compiler.py(12): compile")), append(f.Thread, 0)
	if steps := m.find(t, 6, ""); steps[3].Phase != recording.Compile || steps[4].Phase == recording.Compile {
		t.Errorf("%s, %s", steps[3].Phase, steps[4].Phase)
	}
}
