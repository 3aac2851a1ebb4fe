package recording

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// job is a made-up run: a trainer with loader workers on one GPU.
type job struct {
	workers int
	period  float64 // of a step, seconds
	chance  *rand.Rand
	n       int
	next    float64 // step
	counter float64
}

func (j *job) facts() Facts {
	f := Facts{Version: "test", Started: 1.7e9, Machine: Machine{Allowed: 8}, GPUs: []GPU{{Name: "NVIDIA A100-SXM4-80GB"}}}
	f.Processes = append(f.Processes, Process{PID: 1, Role: RoleTrainer, Hooked: true})
	for i := range j.workers {
		f.Processes = append(f.Processes, Process{PID: 2 + i, Parent: 1, Role: RoleWorker})
	}
	return f
}

// second writes what observe writes in a second.
func (j *job) second(w *Writer, now float64) {
	for ; j.next < now+1; j.next += j.period {
		took := j.period * (0.9 + 0.2*j.chance.Float64())
		w.AddStep(Step{PID: 1, N: j.n, Start: j.next, Period: took, Wait: took / 3, Samples: 16, Phase: Train, Idle: math.NaN(), DevicePeriod: math.NaN()})
		w.AddClock(DeviceClock{PID: 1, N: j.n, Idle: took / 3, Period: took})
		j.n++
	}
	for tick := range 10 {
		t := now + float64(tick)/10 + 0.001*j.chance.Float64()
		for i := range j.workers + 1 {
			thread := fmt.Sprintf("thread/%d", 1+i)
			w.AddSample(ThreadState, thread, t, float64(j.chance.IntN(3)))
			w.AddSample(ThreadCPU, thread, t, math.Round(t*7e8)/1e9)
		}
	}
	j.counter += 1000 * j.chance.Float64()
	for i := range j.workers + 1 {
		process := fmt.Sprintf("process/%d", 1+i)
		for _, s := range []Signal{ProcessCPU, ProcessMemory, ProcessRead, ProcessDisk, FetchCount, FetchWall, FetchWallSquares, FetchCPU, FetchCollate, FetchSamples} {
			w.AddSample(s, process, now, math.Round(j.counter))
		}
		w.AddSample(ThreadQueue, fmt.Sprintf("thread/%d", 1+i), now, j.counter/1e6)
	}
	for _, s := range []Signal{GPUUtilisation, GPUMemory, GPUPower, GPUClock, TreeCPU, TreeMemory, MachineCPU, MachineMemory, MachineShm, Throttled, PressureCPU, PressureIO, PressureMemory, DiskBusy, DiskRead} {
		w.AddSample(s, "tree", now, math.Round(1000*j.chance.Float64()))
	}
}

// A run of days is a small file, and what a Writer holds and a reader needs does not
// grow with it. STOKER_SOAK=48 go test -v -run TestSoak ./recording plays 48 hours.
func TestSoak(t *testing.T) {
	hours, steps, workers, size := 1, 17.0, 1, int64(1<<20)
	if n, err := strconv.Atoi(os.Getenv("STOKER_SOAK")); err == nil {
		hours, workers, size = n, 8, segment
	}
	if n, err := strconv.ParseFloat(os.Getenv("STOKER_SOAK_STEPS"), 64); err == nil {
		steps = n
	}
	if n, err := strconv.Atoi(os.Getenv("STOKER_SOAK_WORKERS")); err == nil {
		workers = n
	}
	j := &job{workers: workers, period: 1 / steps, chance: rand.New(rand.NewPCG(1, 2))}
	path := filepath.Join(t.TempDir(), "run.jsonl.gz")
	w, err := Create(path, j.facts())
	if err != nil {
		t.Fatal(err)
	}
	w.trim.segment = size
	largest, heaviest := int64(0), int64(0)
	for now := range hours * 3600 {
		j.second(w, float64(now))
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if w.trim.done != nil { // simulated time does not wait
			err := <-w.trim.done
			w.trim.done <- err
		}
		largest, heaviest = max(largest, w.size), max(heaviest, w.live.weight())
		if now%3600 == 0 || now == 60 {
			t.Logf("%d s: %.1f MB, %.1f MB held, %s", now, float64(w.size)/1e6, inUse(), w.live.density())
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%.1f MB in all, %.1f MB at most, the snapshot weighs %.1f MB at most", float64(w.size)/1e6, float64(largest)/1e6, float64(heaviest)/1e6)
	if heaviest > liveMemory+1<<20 {
		t.Errorf("the snapshot weighs %d bytes", heaviest)
	}
	if largest > mostOld+segment+15*1e6 {
		t.Errorf("the file had %d bytes", largest)
	}
	live, before := w.RunSoFar(), inUse()
	w = nil
	run, err := Open(path)
	if err != nil || len(run.Warnings) > 0 {
		t.Fatal(err, run.Warnings)
	}
	t.Logf("read: %d steps, %d series, %.1f MB more", len(run.Steps), len(run.Series), inUse()-before)
	if left, _ := filepath.Glob(path + "?*"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	sameWindows(t, live, run)
	if first := run.Find(TreeCPU, "tree").T[0]; first > 1 {
		t.Errorf("the first hours are gone: the first value is of %.0f s", first)
	}
}

// For any rate of steps, a minute of the file is small, the data held are bounded, and the
// judged data are the same in the file and in memory.
func TestRates(t *testing.T) {
	for name, rates := range map[string][]float64{ // steps a second, of ten minutes each
		"many":           {1000, 1000},
		"many, then few": {800, 2, 2, 2},
		"few, then many": {2, 2, 1500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &job{workers: 1, chance: rand.New(rand.NewPCG(1, 2))}
			path := filepath.Join(t.TempDir(), "run.jsonl.gz")
			w, err := Create(path, j.facts())
			if err != nil {
				t.Fatal(err)
			}
			minute := int64(0)
			for now := range 600 * len(rates) {
				j.period = 1 / rates[now/600]
				j.second(w, float64(now))
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
				if now%60 == 59 {
					if w.size-minute > 1_000_000 {
						t.Errorf("%d bytes in the minute before %d s", w.size-minute, now)
					}
					minute = w.size
				}
				if weight := w.live.weight(); weight > liveMemory {
					t.Fatalf("%d s: %d bytes are held", now, weight)
				}
				if now%700 == 699 {
					run, err := Open(path)
					if err != nil || len(run.Warnings) > 0 {
						t.Fatal(err, run.Warnings)
					}
					sameWindows(t, w.RunSoFar(), run)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			judged := w.RunSoFar().Windows()[0]
			t.Logf("%.2f MB, %s", float64(w.size)/1e6, judged)
			if want := 1 / rates[0]; name == "many" && math.Abs(judged.Time()/want-1) > 0.02 {
				t.Errorf("a step takes %.6f s, of all %.6f s", judged.Time(), want)
			}
		})
	}
}

// The first minute is as small as any other, although the rate of the run is not known yet.
func TestFirstMinute(t *testing.T) {
	j := &job{workers: 1, period: 1 / 20_000., chance: rand.New(rand.NewPCG(1, 2))}
	w, err := Create(filepath.Join(t.TempDir(), "run.jsonl.gz"), j.facts())
	if err != nil {
		t.Fatal(err)
	}
	for now := range 60 {
		j.second(w, float64(now))
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	run, err := Open(w.path)
	if err != nil || len(run.Warnings) > 0 {
		t.Fatal(err, run.Warnings)
	}
	sameWindows(t, w.RunSoFar(), run)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.size > 1_000_000 {
		t.Errorf("%d bytes", w.size)
	}
}

// Which steps are kept is the same whether they are thinned once or twice.
func TestKeeps(t *testing.T) {
	const blocks = 1 << 14
	for oneIn := 1; oneIn <= 256; oneIn *= 2 {
		kept := 0
		for n := 0; n < blocks*block; n += block {
			if keepsStep(2*oneIn, n) && !keepsStep(oneIn, n) {
				t.Fatalf("step %d is kept one in %d, not one in %d", n, 2*oneIn, oneIn)
			}
			if keepsStep(oneIn, n) != keepsStep(oneIn, n+block-1) {
				t.Fatalf("the block of step %d is torn", n)
			}
			if keepsStep(oneIn, n) {
				kept++
			}
		}
		if want := blocks / oneIn; kept < want*3/4 || kept > want*5/4 {
			t.Errorf("one in %d: %d of %d blocks", oneIn, kept, blocks)
		}
	}
}

func TestOverlaid(t *testing.T) {
	ever := math.Inf(1)
	of := func(from, to, every float64, oneIn int) thinned { return thinned{from, to, every, oneIn} }
	var parts []thinned
	for _, c := range []struct {
		more thinned
		want []thinned
	}{
		{of(0, 10, 5, 1), []thinned{of(0, 10, 5, 1)}},
		{of(10, 20, 5, 1), []thinned{of(0, 20, 5, 1)}},
		{of(15, 30, 1, 4), []thinned{of(0, 15, 5, 1), of(15, 20, 5, 4), of(20, 30, 1, 4)}},
		{of(0, 30, 5, 4), []thinned{of(0, 30, 5, 4)}},
		{of(40, ever, 0, 2), []thinned{of(0, 30, 5, 4), of(40, ever, 0, 2)}},
		{of(0, 50, 0, 1), []thinned{of(0, 30, 5, 4), of(40, ever, 0, 2)}},
	} {
		if parts = overlayPart(parts, c.more); !slices.Equal(parts, c.want) {
			t.Errorf("%+v: %+v, want %+v", c.more, parts, c.want)
		}
	}
}

// Lines from a stranger cost no more than those of a job.
func TestManyParts(t *testing.T) {
	var lines strings.Builder
	lines.WriteString(header)
	for i := range 10_000 {
		fmt.Fprintf(&lines, `{"kind":"thinned","t":%d,"to":%d,"one_in":%d}`+"\n", 2*i, 2*i+1, 2<<(i%5))
	}
	run, err := Read(strings.NewReader(lines.String()))
	if err != nil || len(run.thinned) > mostParts || run.keptOneIn(0, 1) != 32 || run.keptOneIn(19_998, 19_999) != 32 || run.keptOneIn(19_996, 19_996.5) != 16 {
		t.Errorf("%v, %d parts", err, len(run.thinned))
	}
}

// inUse is how much memory lives, MB.
func inUse() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / 1e6
}

// sameWindows fails if the judged data of two runs differ.
func sameWindows(t *testing.T, a, b *Run) {
	t.Helper()
	as, bs := a.Windows(), b.Windows()
	if len(as) != 1 || len(bs) != 1 {
		t.Fatalf("%d and %d windows", len(as), len(bs))
	}
	x, y := as[0], bs[0]
	if fmt.Sprint(x.StepParts()) != fmt.Sprint(y.StepParts()) {
		t.Error("what was inside of the steps differs")
	}
	for i := range min(len(x.Steps), len(y.Steps)) { // pointers differ
		x.Steps[i].Inside, y.Steps[i].Inside = nil, nil
	}
	if x.OneIn != y.OneIn || fmt.Sprint(x.Steps) != fmt.Sprint(y.Steps) {
		t.Errorf("%s (%.6f s), in the file %s (%.6f s)", x, x.Time(), y, y.Time())
	}
	for _, s := range a.Series {
		p, q := s.Between(x.Start, x.End), b.Find(s.Signal, s.Subject).Between(x.Start, x.End)
		if fmt.Sprint(p.T, p.V) != fmt.Sprint(q.T, q.V) {
			t.Errorf("%s of %s: %d values, in the file %d", s.Signal, s.Subject, len(p.T), len(q.T))
		}
	}
}
