//go:build linux

package observe

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/forest"
	"github.com/stoker-dev/stoker/observe/cpu"
	"github.com/stoker-dev/stoker/observe/gpu"
	"github.com/stoker-dev/stoker/recording"
)

// forested is a recorder of a generated machine.
func forested(t testing.TB, m forest.Machine) *recorder {
	t.Helper()
	root := forest.Plant(t, m)
	r := newRecorder(Options{Command: []string{"python3"}, Output: filepath.Join(t.TempDir(), "run.jsonl.gz")})
	t.Cleanup(func() { _ = r.out.Close() })
	r.around.root = root
	r.openAround()
	var err error
	if r.job, err = cpu.Watch(cpu.Options{Root: forest.Root, FS: root}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.job.Close)
	return r
}

// readings are those of devices that trainers from PID 100 on use, and a stranger.
func readings(devices int, at time.Time) GPUNews {
	news := GPUNews{At: at}
	for i := range devices {
		news.Facts.Devices = append(news.Facts.Devices, gpu.Device{Index: i, Name: "H", MemoryBytes: 80e9, PowerLimitWatts: 700, MaxSMClockMHz: 1980, Node: i % 2})
		r := gpu.Reading{
			Index: i, MemoryUsedBytes: 40e9 + float64(i), PowerWatts: 500.5, SMClockMHz: 1900, LinkGeneration: 5, LinkWidth: 16, Active: 0.7, SlowedKnown: true,
			Processes: []uint32{uint32(100 + i), 77}, Shares: map[uint32]float64{uint32(100 + i): 0.8, 77: 0.25},
		}
		for k := range 6 {
			r.Utilisation = append(r.Utilisation, gpu.UtilSample{At: at.Add(time.Duration(k-5) * time.Second / 6), Ratio: 0.9})
		}
		news.Readings = append(news.Readings, r)
	}
	return news
}

func TestAroundTheJob(t *testing.T) {
	r := forested(t, forest.Machine{CPUs: 8, Trainers: 2, Workers: 4, Disks: 2, Threads: 2})
	r.second()
	r.hearGPU(readings(2, time.Now()))
	r.second()
	run := r.out.RunSoFar()
	for name, want := range map[recording.Signal]map[string]float64{
		recording.DiskReads:    {"disk/sd1": 1000},
		recording.NetReceived:  {"net/eth0": 1000},
		recording.MountReads:   {"mount//data": 50},
		recording.GPUActive:    {"gpu/1": 0.7},
		recording.GPUSlowed:    {"gpu/0": 0},
		recording.GPUStrangers: {"gpu/1": 1},
		recording.GPUOthers:    {"gpu/1": 0.25},
		recording.GPULinkGen:   {"gpu/0": 5},
	} {
		for subject, v := range want {
			if s := run.Find(name, subject); s.Last() != v {
				t.Errorf("%s of %s: %v, want %v", name, subject, s.Last(), v)
			}
		}
	}
	if f := run.Facts; len(f.Mounts) == 0 || f.Mounts[0].Point != "/data" || !f.Mounts[0].Remote || f.GPUs[1].Node == nil || *f.GPUs[1].Node != 1 || f.Machine.TaskCores != 4 {
		t.Errorf("facts: %+v", f)
	}
}

// Processes of another PID namespace are nobody's business, as ours are not among them.
func TestProcessesOfAnotherNamespace(t *testing.T) {
	r := forested(t, forest.Machine{CPUs: 8, Trainers: 1, Workers: 2})
	r.second()
	news := readings(1, time.Now())
	news.Readings[0].Processes = []uint32{77, 78}
	r.hearGPU(news)
	if s := r.out.RunSoFar().Find(recording.GPUStrangers, "gpu/0"); s != nil {
		t.Errorf("strangers: %v", s.V)
	}
}

// The wall's clock jumps by hours while a run is recorded: what the GPU did stays where it
// was on the recording's own clock.
func TestAClockThatJumps(t *testing.T) {
	for _, jump := range []time.Duration{-3 * time.Hour, 3 * time.Hour, 30 * time.Second, -30 * time.Second} {
		r := forested(t, forest.Machine{CPUs: 2, Trainers: 1})
		begun := time.Now().Add(-time.Minute)
		r.clock = clock{wall: begun.Round(0).Add(jump), mono: monotonic() - int64(time.Minute)}
		now := time.Now()
		r.hearGPU(readings(1, now))
		s := r.out.RunSoFar().Find(recording.GPUUtilisation, "gpu/0")
		if s == nil || len(s.T) != 6 || math.Abs(s.T[5]-now.Sub(begun).Seconds()) > 1e-3 || math.Abs(s.T[0]-s.T[5]+5.0/6) > 1e-6 {
			t.Errorf("a jump by %v: %+v", jump, s)
		}
	}
}

// BenchmarkSecond is what a second of observing costs on a machine with 8 GPUs, 128
// processors and 64 workers: core time in per cent of one core, and what it adds to the
// recording in a minute. The machine is made of files: reading those costs less than the
// kernel's own, which write their text anew.
func BenchmarkSecond(b *testing.B) {
	r := forested(b, forest.Machine{CPUs: 128, Trainers: 8, Workers: 64, Disks: 16, Threads: 150})
	now, steps := 0.0, 0
	before := coreTime(b)
	for b.Loop() {
		for range 10 {
			r.job.Tick(now, r.out)
			now += 0.1
		}
		for range 8 * 5 { // five steps a second on each rank
			r.out.AddStep(recording.Step{
				PID: 100 + steps%8, Rank: steps % 8, Loader: 1, N: steps / 8, Start: now - float64(steps%7)/100, Period: 0.2 + float64(steps%13)/1e4, Wait: 0.01 + float64(steps%11)/1e5,
				Samples: 256, Phase: recording.Train, Idle: math.NaN(), DevicePeriod: math.NaN(), Optimized: 1,
			})
			steps++
		}
		r.hearGPU(readings(8, time.Now()))
		r.job.Second(now, r.out)
		r.facts.Machine = r.job.HostMachine()
		r.lookAround(now)
		r.writeFacts()
		if err := r.out.Flush(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((coreTime(b)-before)/float64(b.N)*100, "%core")
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapSys-m.HeapReleased)/1e6, "MB")
	if info, err := os.Stat(r.out.Path()); err == nil {
		b.ReportMetric(float64(info.Size())/float64(b.N)*60/1e6, "MB/minute")
	}
}

// coreTime is what this process has used of cores, seconds.
func coreTime(b *testing.B) float64 {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}
