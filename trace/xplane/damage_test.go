package xplane

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// check holds a trace to what its readers rely on.
func check(t testing.TB, trace *Trace) {
	t.Helper()
	tl := trace.Timeline
	h, d, f := &tl.Host, &tl.Device, &tl.Frames
	n := len(h.Start)
	if len(h.End) != n || len(h.Name) != n || len(h.Thread) != n || len(h.Kind) != n || len(h.Shapes) != n || len(h.Types) != n {
		t.Fatal("host columns of unequal lengths")
	}
	n = len(d.Start)
	for _, k := range []int{len(d.End), len(d.Name), len(d.Device), len(d.Stream), len(d.Kind), len(d.Call), len(d.Bytes), len(d.Blocks), len(d.Threads), len(d.PerSM), len(d.Occupancy), len(d.Group)} {
		if k != n {
			t.Fatal("device columns of unequal lengths")
		}
	}
	for _, spans := range [][2][]int64{{h.Start, h.End}, {d.Start, d.End}, {f.Start, f.End}} {
		for i := range spans[0] {
			if spans[0][i] < 0 || spans[1][i] < spans[0][i] || spans[1][i] > tl.End || i > 0 && spans[0][i] < spans[0][i-1] {
				t.Fatalf("event %d from %d to %d, the end is %d", i, spans[0][i], spans[1][i], tl.End)
			}
		}
	}
	within := func(column []int32, least, most int) {
		for _, v := range column {
			if int(v) < least || int(v) >= most {
				t.Fatalf("index %d of %d", v, most)
			}
		}
	}
	for _, column := range [][]int32{h.Name, d.Name, f.Name} {
		within(column, 0, len(tl.Names))
	}
	within(h.Thread, 0, len(tl.Threads))
	within(f.Thread, 0, len(tl.Threads))
	within(d.Device, 0, len(tl.Devices))
	within(d.Call, -1, len(h.Start))
	for _, on := range tl.Devices {
		within([]int32{int32(on.GPU)}, -1, len(trace.Facts.GPUs))
	}
	for i, s := range trace.Steps {
		if !(s.Period > 0) || s.Start < 0 || i > 0 && s.Start < trace.Steps[i-1].Start {
			t.Fatalf("step %d from %v for %v", i, s.Start, s.Period)
		}
	}
}

func runOf(trace *Trace) *recording.Run {
	return &recording.Run{Facts: trace.Facts, Steps: trace.Steps, Timeline: trace.Timeline, Warnings: trace.Warnings}
}

// TestCutEverywhere: a cut file is read as far as it is complete, and says so, or is
// refused with the byte. Between two planes a cut cannot be seen.
func TestCutEverywhere(t *testing.T) {
	whole := gpuProfile()
	seams := map[int]bool{}
	for at := 0; at < len(whole); {
		seams[at] = true
		_, _, n := protowire.ConsumeField(whole[at:])
		at += n
	}
	good := 0
	for n := range len(whole) {
		trace, err := read(whole[:n], Options{})
		var damaged *DamagedError
		switch {
		case err == nil:
			good++
			check(t, trace)
			if !seams[n] && !strings.Contains(strings.Join(trace.Warnings, " "), "ends within a message, at byte") {
				t.Fatalf("cut at byte %d: no warning in %q", n, trace.Warnings)
			}
		case !errors.As(err, &damaged) || damaged.Offset > int64(n):
			t.Fatalf("cut at byte %d: %v", n, err)
		}
	}
	if good < 100 {
		t.Errorf("only %d cut files were read", good)
	}
}

// TestFlipped changes bytes at random places: what is read holds together.
func TestFlipped(t *testing.T) {
	whole, random := gpuProfile(), rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		b := bytes.Clone(whole)
		for range 1 + random.IntN(4) {
			b[random.IntN(len(b))] = byte(random.Uint32())
		}
		if trace, err := read(b, Options{}); err == nil {
			check(t, trace)
		}
	}
}

func TestForeignAndHostile(t *testing.T) {
	n := newNamer()
	endless := bytes.Repeat([]byte{0xff}, 30)
	nested := []byte{}
	for range 10_000 {
		nested = msg(1, nested)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":            {nil, "empty"},
		"json":             {[]byte(`{"traceEvents": []}`), "byte 0: found"},
		"group":            {[]byte{0x0b, 0x0c}, "group"},
		"no field":         {[]byte{0x02, 0x00}, "impossible number 0"},
		"another message":  {append(num(1, 7), num(3, 9)...), "an XSpace does not have"},
		"endless number":   {endless, "more than 64 bits"},
		"huge length":      {append([]byte{0x0a}, protowire.AppendVarint(nil, 1<<62)...), "ends before its first complete plane"},
		"length over all":  {append([]byte{0x0a}, protowire.AppendVarint(nil, 1<<63+5)...), "at most"},
		"nested":           {nested, "no event"},
		"line too long":    {msg(1, txt(2, "/host:CPU"), []byte{0x1a, 0x7f}, num(1, 1)), "bytes, and at most"},
		"no plane":         {txt(4, "host"), "in 0 planes"},
		"no events":        {n.plane("/host:CPU", row(1, "main", 0)), "no event"},
		"without names":    {msg(1, txt(2, "/host:CPU"), row(1, "main", 0, n.ev("a", 0, 5))), "no event"},
		"absurd times":     {n.plane("/host:CPU", row(1, "main", 1<<63, n.ev("a", 0, 5)), row(2, "x", 1<<62, n.ev("a", 1e12, 1e12))), "no event"},
		"replacement runs": {bytes.ReplaceAll(gpuProfile(), []byte{0x80}, []byte{0xef, 0xbf, 0xbd}), ""},
	} {
		trace, err := read(c.data, Options{})
		switch {
		case c.want == "" && err == nil:
			check(t, trace)
			if len(trace.Warnings) == 0 {
				t.Errorf("%s: read without a warning", name)
			}
		case err == nil:
			t.Errorf("%s: was read, %q", name, trace.Warnings)
		case !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "byte "):
			t.Errorf("%s: %v, want …%s…", name, err, c.want)
		}
	}
}

// TestHugeStat leaves out a stat as long as a compiled module, without keeping it.
func TestHugeStat(t *testing.T) {
	n := newNamer()
	event := n.ev("a", 0, 5)
	long := n.ev("b", 10, 5, "hlo_proto", bytes.Repeat([]byte{1}, longestMessage+1))
	trace := mustRead(t, n.plane("/host:CPU", row(1, "main", 0, event, long, n.ev("c", 20, 5))))
	if len(trace.Timeline.Host.Start) != 2 {
		t.Errorf("%d events, want the two short ones", len(trace.Timeline.Host.Start))
	}
}

// brittle gives a fault behind some bytes, as a failing disk does.
type brittle struct {
	io.Reader
	left int
}

func (b *brittle) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errDisk
	}
	n, err := b.Reader.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

var errDisk = errors.New("input/output error")

func TestFaultOfTheSource(t *testing.T) {
	whole := gpuProfile()
	for _, n := range []int{0, 20, len(whole) - 5} {
		trace, err := Read(context.Background(), func() (io.Reader, error) { return &brittle{bytes.NewReader(whole), n}, nil }, Options{})
		if n < 100 {
			if !errors.Is(err, errDisk) {
				t.Errorf("fault behind %d bytes: %v", n, err)
			}
			continue
		}
		if err != nil || !strings.Contains(strings.Join(trace.Warnings, " "), "input/output error") {
			t.Errorf("fault behind %d bytes: %v, %+v", n, err, trace)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := Read(ctx, func() (io.Reader, error) { return bytes.NewReader(whole), nil }, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// FuzzXPlane: whatever a file holds, it is read or refused with a sentence; what is
// read holds together, is judged without a panic and can be written.
func FuzzXPlane(f *testing.F) {
	whole := gpuProfile()
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	tpu := newNamer()
	f.Add(tpu.plane("/device:TPU:0", row(1, "XLA Ops", 0, tpu.ev("fusion.1", 0, 100), tpu.ev("infeed", 100, 100)), row(4, "Steps", 0, tpu.ev("12", 0, 600))))
	n := newNamer()
	f.Add(n.plane("/host:CPU", row(1, "python", 5, n.ev("PjitFunction(f)", 0, 5), n.ev("PjitFunction(f)", 10, 5), n.ev("PjitFunction(f)", 20, 5), n.ev("$api.py:1 f", 0, 90))))
	seeds, deep := 0, 0
	f.Fuzz(func(t *testing.T, data []byte) {
		seeds++
		trace, err := read(data, Options{Most: 5000})
		if err != nil {
			var damaged *DamagedError
			if !errors.As(err, &damaged) || len(err.Error()) > 400 {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		deep++
		check(t, trace)
		run := runOf(trace)
		judge.Judge(run)
		if err := recording.Write(io.Discard, run); err != nil {
			t.Fatalf("a run that was read cannot be written: %v", err)
		}
	})
	if seeds > 3 && deep == 0 { // not where one input alone is run
		f.Error("no event of any input was read")
	}
}
