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
	m.t.Host.Append(recording.CallRow{Start: from * 1e6, End: to * 1e6, Name: m.name(name), Kind: recording.Annotation})
}

func (m *made) kernel(name string, at int64) {
	w := recording.WorkRow{Start: at * 1e6, End: (at + 1) * 1e6, Name: m.name(name), Stream: 7, Call: -1, Bytes: -1}
	if strings.HasPrefix(name, "Memcpy") {
		w.Kind = recording.Copy
	}
	m.t.Device.Append(w)
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

// Ranges that people write tell which steps train, as operators of PyTorch do: an NVTX file holds none of those.
func TestRangesThatTellTraining(t *testing.T) {
	m := timeline()
	for n := range int64(4) {
		m.span("step_"+string(rune('1'+n)), 100*n, 100*n+90)
		m.span("forward", 100*n+1, 100*n+20)
		if n > 0 {
			m.span("backward", 100*n+20, 100*n+50)
			m.span("optimizer_step", 100*n+50, 100*n+80)
		}
	}
	for i, s := range m.find(t, 4, "") {
		if want := map[bool]recording.Phase{true: recording.Train, false: recording.Evaluate}[i > 0]; s.Phase != want {
			t.Errorf("step %d is %q", i, s.Phase)
		}
	}
}

// A last range that the recorder cut off is no step: beside it all others would be warm-up.
func TestNamedRangeThatIsCutOff(t *testing.T) {
	m := timeline()
	for n, length := range []int64{100, 200, 100} {
		m.span("execute_context_4(4096)_generation_0(0)", 210*int64(n), 210*int64(n)+length)
	}
	m.t.Host.Append(recording.CallRow{
		Start: 640e6, End: 640.2e6, Name: m.name("execute_context_0(0)_generation_0(0)"), Kind: recording.Annotation,
	})
	m.find(t, 3, "")
}

// What runs before anything is launched in the file is of the step before: the first one begins behind it.
func TestWorkOfTheStepBefore(t *testing.T) {
	m := timeline()
	m.span("ProfilerStep#6", 0, 100)
	m.kernel("gemm", 5)
	m.kernel("gemm", 29)
	m.t.Host.Append(recording.CallRow{Start: 40e6, End: 41e6, Name: m.name("cudaLaunchKernel"), Kind: recording.Runtime})
	m.kernel("gemm", 42)
	m.t.Device.Call[2] = 1
	m.kernel("Memset (Device)", 60) // without a link, and in the step
	m.t.Host.Append(recording.CallRow{Start: 50e6, End: 100e6, Name: m.name("cudaFree"), Kind: recording.Runtime})
	if s := m.find(t, 1, ""); len(s) == 1 && (s[0].Start != 0.03 || s[0].Period != 0.07) {
		t.Errorf("a step of %g s from %g s", s[0].Period, s[0].Start)
	}
}

// Marks of a process that launches nothing are no steps, and the file has them all the same.
func TestMarksOfAnotherProcess(t *testing.T) {
	m := timeline()
	m.t.Threads = append(m.t.Threads, recording.Thread{PID: 2, ID: 2})
	m.span("ProfilerStep#1", 0, 100)
	m.t.Host.Thread[0] = 1
	m.kernel("gemm", 5)
	m.find(t, 1, "The marks in the trace are of no process that launches work")
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

	m = timeline() // two optimizers behind each backward pass
	for n := range int64(4) {
		m.t.Host.Append(recording.CallRow{
			Start: (100*n + 50) * 1e6, End: (100*n + 60) * 1e6, Kind: recording.Op,
			Name: m.name("autograd::engine::evaluate_function: AddmmBackward0"),
		})
		m.span("Optimizer.step#SGD.step", 100*n+80, 100*n+85)
		m.span("Optimizer.step#SGD.step", 100*n+86, 100*n+90)
	}
	for _, s := range m.find(t, 3, "from the end of one optimizer call") {
		if math.Abs(s.Period-0.1) > 1e-9 {
			t.Errorf("a step of %g s", s.Period)
		}
	}
}

// A host that launches five graphs and waits is done with each in no time: the last is no longer than the others, and
// what comes before the anchor in a unit is missing behind the last.
func TestGraphsThatAreLaunchedAhead(t *testing.T) {
	m := timeline()
	for n := range int64(5) {
		m.t.Host.Append(recording.CallRow{Start: n * 1e6, End: n*1e6 + 5e5, Name: m.name("cudaGraphLaunch"), Kind: recording.Runtime})
		m.kernel("input "+string(rune('a'+n)), 100+100*n)
		for i, name := range strings.Fields("a b b c b b b c b b b c b b b c d e f g h") {
			m.kernel(name, 110+100*n+int64(i))
			m.t.Device.Call[len(m.t.Device.Call)-1] = int32(n)
		}
		m.kernel("Memcpy DtoH (Device -> Pageable)", 190+100*n)
	}
	steps := m.find(t, 5, "the kernels repeat 5 times")
	if last := steps[len(steps)-1].Period; last > 2*steps[0].Period {
		t.Errorf("the last step takes %g s of the host, the first %g", last, steps[0].Period)
	}
}

func TestRepeating(t *testing.T) {
	m := timeline()
	for n := range int64(6) {
		for i, name := range strings.Fields("a b b c b b b d") {
			m.kernel(name, 100*n+10*int64(i))
		}
		m.kernel("Memcpy DtoH (Device -> Pageable)", 100*n+85)
	}
	m.find(t, 6, "the kernels repeat 6 times")

	m = timeline() // a recording that was cut out of one pass holds nothing but its blocks
	for n := range int64(6) {
		for i, name := range strings.Fields("a b b c b b b d") {
			m.kernel(name, 100*n+10*int64(i))
		}
	}
	m.find(t, 1, "as layers of one pass do")

	m = timeline() // the layers of a model repeat as well, and are no steps
	for n := range int64(6) {
		for i, name := range strings.Fields("a b b c b b b d") {
			m.kernel(name, 10*n+int64(i))
		}
	}
	for i := range int64(50) {
		m.kernel("rest "+string(rune('A'+i)), 100+10*i)
	}
	m.find(t, 1, "its kernels show no steps")
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

// pass is one forward pass of ten blocks that are loaded when they are needed: so many
// tensors of weights, and eight kernels.
func (m *made) pass(weights int) {
	for n := range int64(10) {
		for i := range int64(weights) {
			m.kernel("Memcpy HtoD (Pageable -> Device)", 100*n+i)
			m.t.Device.Bytes[len(m.t.Device.Bytes)-1] = 9 << 20
		}
		for i, name := range strings.Fields("a b b c b b b d") {
			m.kernel(name, 100*n+10+10*int64(i))
		}
	}
}

// Blocks of a model that bring their weights with them are no steps; nor are those that
// one call of a module launches, whatever they copy.
func TestLayersThatAreLoadedOnTheirWay(t *testing.T) {
	m := timeline()
	m.pass(8)
	m.find(t, 1, "as layers of one pass do")

	m = timeline()
	m.pass(1)
	m.find(t, 10, "the kernels repeat 10 times") // an input of each would look like that

	m = timeline()
	m.pass(1)
	h, f := &m.t.Host, &m.t.Frames
	for k := range m.t.Device.Start {
		m.t.Device.Call[k] = int32(len(h.Start))
		m.span("cudaLaunchKernel", m.t.Device.Start[k]/1e6, m.t.Device.Start[k]/1e6)
		h.Kind[len(h.Kind)-1] = recording.Runtime
	}
	f.Start, f.End = append(f.Start, 0), append(f.End, 1000e6)
	f.Name, f.Thread = append(f.Name, m.name("model.py(343): forward")), append(f.Thread, 0)
	m.find(t, 1, "as layers of one pass do")
	f.Name[0] = m.name("train.py(12): train_epoch") // a loop around steps encloses them as well
	m.find(t, 10, "the kernels repeat 10 times")
}

// What one copy after another brings before PyTorch computes anything is its model: the step begins behind that. A
// program of another framework may do nothing else.
func TestModelThatIsLoadedFirst(t *testing.T) {
	for first, want := range map[string]float64{"void at::native::fill": 0.020, "fill": 0} {
		m := timeline()
		for n := range int64(20) {
			m.kernel("Memcpy HtoD (Pageable -> Device)", n)
		}
		m.kernel(first, 30)
		for n := range int64(50) {
			m.kernel("kernel "+string(rune('A'+n)), 40+2*n)
		}
		m.kernel("Memcpy HtoD (Pageable -> Device)", 150) // an input of the computation
		if steps := m.find(t, 1, "taken as one step"); math.Abs(steps[0].Start-want) > 1e-12 {
			t.Errorf("%s: the step begins at %v s, want %v", first, steps[0].Start, want)
		}
	}
}

// A recording of one step holds two asks of the loader, and nothing is computed between them.
func TestOneStepBehindTheLastAsk(t *testing.T) {
	m := timeline()
	m.span("enumerate(DataLoader)#x", 0, 10)
	m.span("enumerate(DataLoader)#x", 11, 15)
	m.span("Optimizer.step#SGD.step", 60, 70)
	for n := range int64(30) {
		m.kernel("kernel", 20+n)
	}
	if steps := m.find(t, 1, "from one ask for a batch"); steps[0].Start != 0.011 || math.Abs(steps[0].Period-0.039) > 1e-12 {
		t.Errorf("%+v", steps[0])
	}
}

// Work whose launch is not in the file is the program's, and no start of the recorder (Aphelack/efficient-dl-systems:
// one batch, a gap of 3.78 s, another batch with its launches).
func TestWorkBeforeTheFirstCall(t *testing.T) {
	for first, want := range map[int64]float64{2: 0, 900: 0.8} {
		m := timeline()
		m.kernel("kernel", first)
		m.span("cudaLaunchKernel", 800, 801)
		m.span("cudaDeviceSynchronize", 990, 1000)
		if steps := m.find(t, 1, "taken as one step"); math.Abs(steps[0].Start-want) > 1e-12 {
			t.Errorf("first work at %d ms: the step begins at %v s, want %v", first, steps[0].Start, want)
		}
	}
}

// turn is a range in which a copy and kernels of other names are launched, and within it a range for each kernel.
func (m *made) turn(name string, at int64, n int, copies bool) {
	m.span(name, at, at+80)
	launch := func(work string, at int64) {
		m.t.Host.Append(recording.CallRow{Start: at * 1e6, End: at*1e6 + 1000, Name: m.name("cudaLaunchKernel"), Kind: recording.Runtime})
		m.kernel(work, at+1)
		m.t.Device.Call[len(m.t.Device.Call)-1] = int32(len(m.t.Host.Start) - 1)
	}
	if copies {
		launch("Memcpy HtoD (Pinned -> Device)", at+1)
		m.t.Device.Bytes[len(m.t.Device.Bytes)-1] = 1 << 20
	}
	for i := range 5 + n%3 {
		m.span("stage", at+10*int64(i)+2, at+10*int64(i)+9)
		launch("kernel "+string(rune('a'+n))+string(rune('a'+i)), at+10*int64(i)+3)
	}
}

// Ranges of any name that hold all of the work, turn after turn, are steps, whatever the kernels are called. Ranges
// within them are none, nor those of layers, between which nothing comes from the host.
func TestRangesThatRepeat(t *testing.T) {
	for name, c := range map[string]struct {
		mark   string
		copies bool
		want   int
	}{
		"frames": {"frame", true, 6}, "passes without input": {"attention", false, 1}, "a library's": {"cublasGemm", true, 1},
		"layers": {"layer", true, 1},
	} {
		m := timeline()
		for n := range 6 {
			m.turn(c.mark, int64(100*n), n, c.copies)
		}
		f := Find(&m.t, []recording.Process{{PID: 1}}, "marks", "No marks")
		if len(f.Steps) != c.want || c.want > 1 && f.Rule != `ranges "frame"` {
			t.Errorf("%s: %d steps by %s, want %d", name, len(f.Steps), f.Rule, c.want)
		}
	}
}
