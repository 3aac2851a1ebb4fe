package text_test

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/diagnose/operators"
	"github.com/stoker-dev/stoker/diagnose/ranks"
	"github.com/stoker-dev/stoker/internal/golden"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

// tracedRun is twelve steps on each of some ranks: 4 ms in the loader, a copy, a
// product of bf16 matrices of 3 ms, an all-reduce to which the last rank comes
// 1 ms late. Names are as hostile as a file's may be.
func tracedRun(world int) *recording.Run {
	b := &drawn{run: &recording.Run{Timeline: &recording.Timeline{Dropped: map[string]int{"without a duration": 2}}}, ids: map[string]int32{}}
	t := b.run.Timeline
	for rank := range world {
		t.Threads = append(t.Threads, recording.Thread{PID: 100 + rank, ID: 1, Name: "python\x1b[2J", Rank: rank})
		t.Devices = append(t.Devices, recording.Device{PID: 100 + rank, Index: rank, Rank: rank, GPU: rank, File: rank})
		b.run.Facts.GPUs = append(b.run.Facts.GPUs, recording.GPU{Index: rank, Name: "NVIDIA A100-SXM4-80GB", SMs: 108, Capability: "8.0"})
		b.run.Facts.Processes = append(b.run.Facts.Processes, recording.Process{PID: 100 + rank, Role: recording.RoleTrainer, Rank: rank, World: world, Device: rank})
		b.run.Facts.Loaders = append(b.run.Facts.Loaders, recording.Loader{ID: 1, PID: 100 + rank})
	}
	for s := range int64(12) {
		for rank := range world {
			b.step(int32(rank), s, world)
		}
	}
	return b.run
}

type drawn struct {
	run *recording.Run
	ids map[string]int32
}

func (b *drawn) step(rank int32, s int64, world int) {
	at := 10_000 * s
	late := int64(0)
	if int(rank) == world-1 && world > 1 {
		late = 1000
	}
	b.run.Steps = append(b.run.Steps, recording.Step{
		PID: 100 + int(rank), Rank: int(rank), Device: int(rank), Loader: 1, N: int(s) + 5, Start: float64(at) / 1e6, Period: 0.01, Wait: 0.004,
		Phase: recording.Train, Idle: math.NaN(), DevicePeriod: math.NaN(),
	})
	b.call(rank, recording.Annotation, fmt.Sprintf("ProfilerStep#%d", s+5), at, at+10_000, "", "")
	b.call(rank, recording.Annotation, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, at+4_000+late, "", "")
	copied := b.call(rank, recording.Runtime, "cudaMemcpyAsync", at+4_020+late, at+4_520+late, "", "")
	b.call(rank, recording.Op, "aten::mm", at+4_600+late, at+4_700+late, "[[4096,4096],[4096,4096]]", "[c10::BFloat16,c10::BFloat16]")
	launch := b.call(rank, recording.Runtime, "cudaLaunchKernel", at+4_650+late, at+4_660+late, "", "")
	b.work(rank, 7, recording.Copy, "Memcpy HtoD (Pageable -> Device)", at+4_030+late, at+4_510+late, copied, 6_000_000)
	b.work(rank, 7, recording.Kernel, "sm80_xmma_gemm_bf16bf16_\u202ebf16f32", at+4_670+late, at+7_670+late, launch, -1)
	if world > 1 {
		reduce := b.call(rank, recording.Runtime, "cudaLaunchKernel", at+4_680+late, at+4_690+late, "", "")
		b.work(rank, 30, recording.Collective, "ncclDevKernel_AllReduce_Sum_f32(a)", at+7_700+late, at+9_000, reduce, 4096)
	}
	f := &b.run.Timeline.Frames
	f.Start, f.End = append(f.Start, 1000*(at+4_550+late)), append(f.End, 1000*(at+4_800+late))
	f.Name, f.Thread = append(f.Name, b.id("train.py(41): forward\n")), append(f.Thread, rank)
}

func (b *drawn) id(name string) int32 {
	if name == "" {
		return -1
	}
	at, found := b.ids[name]
	if !found {
		at = int32(len(b.run.Timeline.Names))
		b.ids[name], b.run.Timeline.Names = at, append(b.run.Timeline.Names, name)
	}
	return at
}

func (b *drawn) call(thread int32, kind recording.CallKind, name string, from, to int64, shapes, types string) int32 {
	h := &b.run.Timeline.Host
	h.Start, h.End = append(h.Start, 1000*from), append(h.End, 1000*to)
	h.Name, h.Thread, h.Kind = append(h.Name, b.id(name)), append(h.Thread, thread), append(h.Kind, kind)
	h.Shapes, h.Types = append(h.Shapes, b.id(shapes)), append(h.Types, b.id(types))
	b.run.Timeline.End = max(b.run.Timeline.End, 1000*to)
	return int32(len(h.Start) - 1)
}

func (b *drawn) work(device, stream int32, kind recording.WorkKind, name string, from, to int64, call int32, bytes int64) {
	w := &b.run.Timeline.Device
	w.Start, w.End, w.Name = append(w.Start, 1000*from), append(w.End, 1000*to), append(w.Name, b.id(name))
	w.Device, w.Stream, w.Kind, w.Call = append(w.Device, device), append(w.Stream, stream), append(w.Kind, kind), append(w.Call, call)
	w.Bytes, w.Blocks, w.Threads, w.Group = append(w.Bytes, bytes), append(w.Blocks, 512), append(w.Threads, 128), append(w.Group, -1)
	w.PerSM, w.Occupancy = append(w.PerSM, float32(math.NaN())), append(w.Occupancy, float32(math.NaN()))
}

func reported(run *recording.Run, o operators.Options) report.TraceReport {
	r := report.TraceReport{Run: run, Verdict: judge.Judge(run), Gaps: idle.Analyse(run)}
	r.Plan = advise.Rank(run, r.Verdict)
	r.Operators, r.Roofline = operators.TabulateAndMeasure(run, r.Gaps, o)
	r.Ranks = ranks.Compare(run, r.Gaps)
	r.Source = report.TraceSource{Files: []string{"traces/\x1b]0;rank0.json.gz"}, Bytes: 1_234_567, Events: 4321}
	return r
}

// cpuRun has host calls and no device.
func cpuRun() *recording.Run {
	run := tracedRun(1)
	run.Timeline.Device = recording.Work{}
	return run
}

// servedRun is a server's passes, with the allocator's events of each: half of the device's
// memory is there before, a fifth is what a pass takes.
func servedRun() *recording.Run {
	run := tracedRun(1)
	t := run.Timeline
	for i, name := range t.Names {
		if n, step := recording.StepSpan(name); step {
			t.Names[i] = []string{"step[DECODE bs=32]", "step[EXTEND bs=4 toks=4096]", fmt.Sprintf("execute_%d_context_1(sq9)_generation_31(sq31)", n)}[n%3]
		}
	}
	gpu := &run.Facts.GPUs[0]
	gpu.MemoryBytes, gpu.HeldBytes, gpu.PeakBytes = stat.Known(80e9), stat.Known(60e9), stat.Known(56e9)
	m := &t.Memory
	for s := range int64(12) {
		for _, e := range [][3]int64{{4650, 16e9, 56e9}, {9000, -16e9, 40e9}} {
			m.At, m.Bytes, m.Total = append(m.At, 1e7*s+1000*e[0]), append(m.Bytes, e[1]), append(m.Total, e[2])
			m.Device, m.Thread, m.Address = append(m.Device, 0), append(m.Thread, 0), append(m.Address, 4096)
		}
	}
	return run
}

func TestFacesOfATrace(t *testing.T) {
	files := golden.Open(t, "testdata/trace", ".out")
	for name, show := range map[string]func(*bytes.Buffer) error{
		"one-rank": func(b *bytes.Buffer) error {
			return text.WriteTrace(b, reported(tracedRun(1), operators.Options{Top: 10}), text.Style{All: true})
		},
		"two-ranks": func(b *bytes.Buffer) error {
			return text.WriteTrace(b, reported(tracedRun(2), operators.Options{Top: 3}), text.Style{All: true})
		},
		"served": func(b *bytes.Buffer) error {
			r := reported(servedRun(), operators.Options{Top: 3})
			r.Within = operators.ByOperator
			return text.WriteTrace(b, r, text.Style{All: true})
		},
		"narrow": func(b *bytes.Buffer) error {
			return text.WriteTrace(b, reported(tracedRun(1), operators.Options{Top: 3}), text.Style{Width: 50, All: true})
		},
		"colour": func(b *bytes.Buffer) error {
			return text.WriteTrace(b, reported(tracedRun(1), operators.Options{Top: 3}), text.Style{Colour: true, All: true})
		},
		"no-device": func(b *bytes.Buffer) error {
			return text.WriteTrace(b, reported(cpuRun(), operators.Options{Top: 3}), text.Style{All: true})
		},
		"operators-by-shapes": func(b *bytes.Buffer) error {
			return text.WriteOperators(b, operators.Tabulate(tracedRun(1).Timeline, operators.Options{Shapes: true, By: operators.ByCPU}), text.Style{All: true})
		},
		"json": func(b *bytes.Buffer) error {
			return wire.WriteTrace(b, reported(tracedRun(2), operators.Options{Top: 2}))
		},
	} {
		var b bytes.Buffer
		if err := show(&b); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if name != "colour" && strings.ContainsAny(text, "\x1b\u202e") || strings.Contains(text, "\x1b[2J") || strings.Contains(text, "NaN") || !utf8.ValidString(text) {
			t.Errorf("%s lets text from outside through, or prints NaN:\n%s", name, text)
		}
		files.Check(t, name, text)
	}
}

// A file in which no step could be told is not said to hold one.
func TestAWholeRecordingIsNoStep(t *testing.T) {
	for from, want := range map[string]string{recording.WholeRecording: "no step could be told", "marks": "11 of 12 steps"} {
		run := tracedRun(1)
		run.Facts.StepsFrom = from
		var b bytes.Buffer
		if err := text.WriteTrace(&b, reported(run, operators.Options{}), text.Style{}); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%s: no %q in\n%s", from, want, b.String())
		}
	}
}

// No one length is said of steps of two kinds: none of them has their mean.
func TestStepsOfTwoKinds(t *testing.T) {
	r := reported(tracedRun(1), operators.Options{})
	d := r.JudgedDevice()
	d.Steps = d.Steps[:10]
	at := d.Steps[0].From
	for i := range d.Steps {
		length := int64(1_260_000)
		if i%2 == 1 {
			length *= 3
		}
		d.Steps[i].From, d.Steps[i].To = at, at+length
		at += length
	}
	d.From, d.To = d.Steps[0].From, at
	var b bytes.Buffer
	if err := text.WriteTrace(&b, r, text.Style{}); err != nil || !strings.Contains(b.String(), "from 1.26 ms to 3.78 ms on") {
		t.Errorf("no range of lengths in\n%s", b.String())
	}
}

// Lines of prose, bars and lanes stay within a narrow page.
func TestNarrowLanes(t *testing.T) {
	for _, width := range []int{40, 60, 120} {
		var b bytes.Buffer
		if err := text.WriteTrace(&b, reported(tracedRun(1), operators.Options{Top: 3}), text.Style{Width: width, All: true}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if strings.HasPrefix(line, "  device  ") || strings.HasPrefix(line, "  host    ") || strings.HasPrefix(line, "  aten::") && width >= 60 {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%d columns at width %d: %s", n, width, line)
				}
			}
		}
	}
}

// Where collectives run longer than computation, what of that shows is said before all else.
func TestExposedFirst(t *testing.T) {
	for earlier, first := range map[int64]bool{1_000_000: false, 2_900_000: true} {
		run := tracedRun(2)
		w := &run.Timeline.Device
		for i, kind := range w.Kind {
			if kind == recording.Collective {
				w.Start[i] -= earlier
			}
		}
		var b bytes.Buffer
		if err := text.WriteTrace(&b, reported(run, operators.Options{Top: 3}), text.Style{}); err != nil {
			t.Fatal(err)
		}
		said, gpu := strings.Index(b.String(), "  exchange collectives"), strings.Index(b.String(), "  GPU 0 ")
		if said < 0 || gpu < 0 || said < gpu != first {
			t.Errorf("collectives %d ns earlier: told at %d, the device at %d\n%.1500s", earlier, said, gpu, b.String())
		}
	}
}

// Findings that are shown have numbers without a hole, whatever is left out between them.
func TestFindingsAreNumberedAsShown(t *testing.T) {
	r := reported(tracedRun(1), operators.Options{Top: 10})
	r.Verdict.Findings = []diagnose.Finding{
		{Name: "one", Text: "one", Share: 0.5},
		{Name: "two", Text: "two", Share: 0.001},
		{Name: "three", Text: "three", Share: 0.2},
	}
	for all, want := range map[bool]string{false: "12", true: "123"} {
		var b bytes.Buffer
		if err := text.WriteTrace(&b, r, text.Style{All: all}); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, found := range regexp.MustCompile(`(?m)^  (\d)\. (one|two|three)\b`).FindAllStringSubmatch(b.String(), -1) {
			got += found[1]
		}
		if got != want {
			t.Errorf("all %t: %q, want %q\n%s", all, got, want, b.String())
		}
	}
}
