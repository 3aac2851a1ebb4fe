package diagnose_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// silentSteps are steps of a plain program in Nsight's words: a launch, and 9 ms in which it makes no call, but for
// what body adds.
func silentSteps(body func(p *tape, at float64)) *tape {
	p := newTape(hopper, "9.0")
	p.run.Facts.Software = recording.Software{Framework: diagnose.FrameworkCUDA, Recorder: recording.NsightSystems}
	p.t.Threads[0].Name = "a.out"
	p.steps(10_000, func(at float64) {
		p.burst(at+5, 150, 6, "kernel")
		if body != nil {
			body(p, at)
		}
	})
	return p
}

// What samples of the CPU and the scheduler tell of time without a call is said, and nobody is asked to record it.
func TestSamplesTellOfTimeWithoutCalls(t *testing.T) {
	for name, c := range map[string]struct {
		body  func(p *tape, at float64)
		cause string
		says  []string
		never []string
	}{
		"nothing": {nil, "unrecorded", []string{"does nothing that was recorded", "--sample=cpu"}, []string{"other work"}},
		"on a CPU": {
			func(p *tape, at float64) { p.turn(at, at+10_000) },
			"host-code",
			[]string{"it is on a CPU for"},
			[]string{"--sample=cpu", "nothing that was recorded"},
		},
		"off": {
			func(p *tape, at float64) { p.turn(at, at+100) },
			"unrecorded",
			[]string{"is on no CPU and waits"},
			[]string{"--sample=cpu", "other work"},
		},
		"samples": {
			func(p *tape, at float64) {
				p.turn(at, at+10_000)
				for i := range 8 {
					p.sample(at+1500+1000*float64(i), "random_r", "rand::h0123456789abcdef", "outer")
				}
			},
			"host-code",
			[]string{`CPU samples lie in "random_r"`},
			[]string{"--sample=cpu"},
		},
		"poll": {
			func(p *tape, at float64) { p.host(mark, at+1000, at+9900, "poll") },
			"host-code",
			[]string{"waits in calls of the operating system"},
			[]string{"other work"},
		},
	} {
		v := judge.Judge(silentSteps(c.body).run)
		said := strings.Join(v.Warnings, "\n")
		for _, f := range v.Findings {
			said += "\n" + f.Text + "\n" + f.Advice
		}
		if v.Class != diagnose.CPUBound || len(v.Causes) == 0 || v.Causes[0].Cause != c.cause {
			t.Errorf("%s: %s, causes %v", name, v.Class, v.Causes)
		}
		for _, text := range c.says {
			if !strings.Contains(said, text) {
				t.Errorf("%s: no %q in\n%s", name, text, said)
			}
		}
		for _, text := range c.never {
			if strings.Contains(said, text) {
				t.Errorf("%s: %q in\n%s", name, text, said)
			}
		}
		waits := name == "off" || name == "poll"
		if v.Grounds.HostWork.Waits != waits || v.Grounds.HostWork.Silent != (name == "nothing") {
			t.Errorf("%s: %+v", name, v.Grounds.HostWork)
		}
	}
}

// turn adds a time of the launching thread on a CPU, and sample what a sampler met on it.
func (p *tape) turn(from, to float64) {
	s := &p.t.Turns
	s.Start, s.End, s.Thread = append(s.Start, int64(1e3*from)), append(s.End, int64(1e3*to)), append(s.Thread, 0)
}

func (p *tape) sample(at float64, stack ...string) {
	s, names := &p.t.Samples, []int32(nil)
	for _, name := range stack {
		i := slices.Index(s.Names, name)
		if i < 0 {
			i = len(s.Names)
			s.Names = append(s.Names, name)
		}
		names = append(names, int32(i))
	}
	s.At, s.Thread, s.Stack = append(s.At, int64(1e3*at)), append(s.Thread, 0), append(s.Stack, names)
}

// What lies between a program's first call of the device and its first work is its start, if the rest is short and
// nothing repeats: the driver's set-up is warm-up, and the rest is no host's work that something waits for.
func TestTimeBeforeTheFirstWorkIsStart(t *testing.T) {
	p := newTape(hopper, "9.0")
	p.run.Facts.Software = recording.Software{Framework: diagnose.FrameworkCUDA, Recorder: recording.NsightSystems}
	p.t.Threads[0].Name = "a.out"
	p.host(mark, 0, 100, "fopen")
	p.host(call, 100_000, 100_010, "cuInit")
	p.host(call, 100_020, 100_400, "cudaGetDeviceProperties")
	p.host(mark, 101_000, 190_000, "ioctl")
	for i := range 24 {
		at := 400_000 + 600*float64(i)
		p.work(copied, at+50, at+300, "Memcpy HtoD (Pageable -> Device)", p.host(call, at, at+250, "cudaMemcpyAsync"))
		p.work(kernel, at+310, at+590, "kernel", p.host(call, at+260, at+300, "cudaLaunchKernel"))
	}
	p.turn(0, 420_000)
	v := judge.Judge(p.run)
	if v.Class != diagnose.StartUp || !strings.Contains(v.Evidence[0].Text, "in which the host works") {
		t.Errorf("%s: %v", v.Class, v.Evidence)
	}
	for _, c := range v.Causes {
		if c.Cause == "warm-up" && (c.Seconds < 0.089 || c.Seconds > 0.1) || c.Cause == "unrecorded" && c.Seconds > 0.01 {
			t.Errorf("causes %v", v.Causes)
		}
	}
}
