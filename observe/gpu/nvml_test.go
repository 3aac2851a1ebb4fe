//go:build linux && !nonvml

package gpu

import (
	"bufio"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-dev/stoker/internal/leash"
)

// only returns the reading of the one device there is.
func only(t *testing.T, p *Probe) Reading {
	t.Helper()
	readings := p.Read(time.Now())
	if len(readings) != 1 {
		t.Fatalf("%d readings, want 1; absent: %q", len(readings), p.Absent())
	}
	return readings[0]
}

// window is what one sample is the mean of.
const window = time.Second / 6

// timed is a reading, and when it was asked for and there: on the page's clock, and
// on the wall.
type timed struct {
	Reading
	begun, over time.Duration
	at          time.Time
}

func within(t *testing.T, read func() Reading) (r timed) {
	t.Helper()
	r.begun, r.at = monotonic(t), time.Now()
	r.Reading = read()
	r.over = monotonic(t)
	return r
}

func mean(samples []UtilSample) float64 {
	sum := 0.0
	for _, s := range samples {
		sum += s.Ratio
	}
	return sum / float64(len(samples))
}

func near(t *testing.T, what string, got, want, delta float64) {
	t.Helper()
	if !(math.Abs(got-want) <= delta) {
		t.Errorf("%s: %v, want %v ± %v", what, got, want, delta)
	}
}

func TestADeviceThatWorks40PercentAndAppearsLate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page")
	p := openEmulated(t, path)
	if f := p.Facts(); len(f.Devices) != 0 || f.Source != "nvml" || f.Driver != "999.0 (emulated)" || f.CUDA != "99.0" {
		t.Errorf("facts before the page is there: %+v", f)
	}
	if r := p.Read(time.Now()); len(r) != 0 {
		t.Errorf("readings before the page is there: %+v", r)
	}

	page, now := newPage(t), monotonic(t)
	created := now - 2*time.Second
	page.device(0, created)
	page.duty(0, created, now+time.Minute)
	if err := os.Rename(page.path, path); err != nil {
		t.Fatal(err)
	}
	first := within(t, func() Reading { return only(t, p) })
	r := first.Reading
	if n, least, most := len(r.Utilisation), int((first.begun-created)/window), int((first.over-created)/window); n < least || n > most {
		t.Errorf("%d samples, want %d to %d: one of each 1/6 s since the device is there", n, least, most)
	}
	near(t, "utilisation", mean(r.Utilisation[:12]), 0.40, 0.03) // of the two seconds before
	if newest := r.Utilisation[len(r.Utilisation)-1].At; newest.After(first.at.Add(first.over-first.begun)) || newest.Before(first.at.Add(-2*window)) {
		t.Errorf("the newest sample is of %v, it was asked for at %v", newest, first.at)
	}
	near(t, "memory", r.MemoryUsedBytes, 7<<30, 0)
	near(t, "clock", r.SMClockMHz, 1200, 0)
	if !slices.Equal(r.Processes, []uint32{uint32(os.Getpid())}) {
		t.Errorf("processes: %v", r.Processes)
	}
	want := Device{Name: "Test chip (emulated)", UUID: "GPU-test-0", MemoryBytes: 80 << 30, PowerLimitWatts: 500, MaxSMClockMHz: 1400, Emulated: true, Node: -1, LinkGeneration: 5, LinkWidth: 16}
	if f := p.Facts(); len(f.Devices) != 1 || f.Devices[0] != want {
		t.Errorf("facts: %+v, want %+v", f.Devices, want)
	}

	time.Sleep(600 * time.Millisecond)
	again := within(t, func() Reading { return only(t, p) })
	all := append(slices.Clone(r.Utilisation), again.Utilisation...)
	if n, least, most := len(all), int((again.begun-created)/window), int((again.over-created)/window); n < least || n > most {
		t.Errorf("%d samples in both readings, want %d to %d", n, least, most)
	}
	for i := 1; i < len(all); i++ {
		if apart := all[i].At.Sub(all[i-1].At); apart < window-time.Millisecond || apart > window+time.Millisecond {
			t.Errorf("sample %d comes %v after the one before: each must come once", i, apart)
		}
	}
	unsure := (first.over - first.begun + again.over - again.begun).Seconds() / (again.begun - first.over).Seconds()
	near(t, "mean power", again.PowerWatts, 100+0.4*400, 20+500*unsure)
	if a := p.Absent(); len(a) != 0 {
		t.Errorf("absent: %q", a)
	}
}

func TestWithoutSamplesTheCurrentValueCounts(t *testing.T) {
	page, now := newPage(t), monotonic(t)
	page.device(0, now-time.Second)
	page.add(0, now-time.Second, now+30*time.Minute, kernel)
	p := openEmulated(t, page.path, "nvmlDeviceGetSamples", "nvmlDeviceGetTotalEnergyConsumption")
	r := only(t, p)
	if len(r.Utilisation) != 1 || r.Utilisation[0].Ratio != 1 {
		t.Errorf("utilisation: %v, want one sample of 1", r.Utilisation)
	}
	near(t, "power", r.PowerWatts, 500, 1)
}

func TestOverlapCopiesAndTheFuture(t *testing.T) {
	type span struct {
		from, to time.Duration // after one second before now
		kind     uint32
	}
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		spans []span
		want  float64 // of the last second
	}{
		"twice the same":        {[]span{{0, 500 * ms, kernel}, {0, 500 * ms, kernel}}, 0.5},
		"half over the other":   {[]span{{0, 400 * ms, kernel}, {200 * ms, 600 * ms, kernel}}, 0.6},
		"out of order":          {[]span{{500 * ms, 700 * ms, kernel}, {100 * ms, 300 * ms, kernel}}, 0.4},
		"copies count":          {[]span{{0, 500 * ms, copied}, {500 * ms, 600 * ms, kernel}}, 0.6}, // as of an H100
		"staged ones do not":    {[]span{{0, 500 * ms, staged}, {500 * ms, 600 * ms, kernel}}, 0.1},
		"only the future":       {[]span{{2 * time.Second, 9 * time.Second, kernel}}, 0},
		"into the future":       {[]span{{500 * ms, 9 * time.Second, kernel}}, 0.5},
		"ends before it starts": {[]span{{600 * ms, 100 * ms, kernel}}, 0},
		"unknown kind":          {[]span{{0, 500 * ms, 77}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			page := newPage(t)
			p := openEmulated(t, page.path)
			begin := monotonic(t) - time.Second
			page.device(0, begin)
			for _, s := range test.spans {
				page.add(0, begin+s.from, begin+s.to, s.kind)
			}
			r := only(t, p)
			if n := len(r.Utilisation); n < 6 {
				t.Fatalf("%d samples, want 6 and those of the time that the test took", n)
			}
			near(t, "utilisation", mean(r.Utilisation[:6]), test.want, 0.02)
		})
	}
}

func TestRanksMakeTheirDevicesInAnyOrder(t *testing.T) {
	page, now := newPage(t), monotonic(t)
	p := openEmulated(t, page.path)
	page.device(1, now)
	if r := only(t, p); r.Index != 1 {
		t.Errorf("index %d, want 1", r.Index)
	}
	page.device(0, now)
	page.put32(12, 2)
	if f := p.Facts(); len(f.Devices) != 2 || f.Devices[0].Index != 0 || f.Devices[1].UUID != "GPU-test-1" {
		t.Errorf("facts: %+v", f)
	}
	if a := p.Absent(); len(a) != 0 {
		t.Errorf("a device that is not there yet is not missing: %q", a)
	}
}

func TestTheRingWraps(t *testing.T) {
	page := newPage(t)
	p := openEmulated(t, page.path)
	now := monotonic(t)
	page.device(0, now-10*time.Second)
	// Entries of 0.1 ms every 0.2 ms would fill 13.1 s: only the newest are still there.
	page.written[0] = 3*ringEntries - 10
	ring := make([]byte, ringEntries*entryBytes)
	for i := range uint64(ringEntries) {
		back := time.Duration((page.written[0]-1-i)%ringEntries) * 200 * time.Microsecond / 4
		start := now - back - 50*time.Microsecond
		binary.NativeEndian.PutUint64(ring[i*entryBytes:], uint64(start))
		binary.NativeEndian.PutUint64(ring[i*entryBytes+8:], uint64(start+25*time.Microsecond))
		binary.NativeEndian.PutUint32(ring[i*entryBytes+16:], kernel)
	}
	page.put(ringsAt, ring)
	page.put64(recordsAt+160, page.written[0])
	r := only(t, p)
	if n := len(r.Utilisation); n < 18 {
		t.Fatalf("%d samples, want those of the 3.3 s that are complete", n)
	}
	for _, s := range r.Utilisation[:18] { // behind them is the time that the test took
		near(t, "utilisation", s.Ratio, 0.5, 0.011)
	}
}

func TestACorruptPageIsSurvived(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return b
	}
	for name, spoil := range map[string]func(p *testPage){
		"empty":                 func(p *testPage) { p.file.Truncate(0) },
		"header only":           func(p *testPage) { p.file.Truncate(16) },
		"half a record":         func(p *testPage) { p.file.Truncate(recordsAt + 100) },
		"no ring":               func(p *testPage) { p.file.Truncate(ringsAt) },
		"half a ring":           func(p *testPage) { p.file.Truncate(ringsAt + 12345) },
		"another magic":         func(p *testPage) { p.put(0, []byte("SOMETHIN")) },
		"a later version":       func(p *testPage) { p.put32(8, 2) },
		"absurd device count":   func(p *testPage) { p.put32(12, math.MaxUint32) },
		"absurd counter":        func(p *testPage) { p.put64(recordsAt+160, math.MaxUint64) },
		"created in the future": func(p *testPage) { p.put64(recordsAt+168, math.MaxUint64) },
		"created never":         func(p *testPage) { p.put64(recordsAt+168, 0) },
		"noise in the ring":     func(p *testPage) { p.put(ringsAt, noise(ringEntries*entryBytes)); p.put64(recordsAt+160, 1<<40+7) },
		"noise in the record":   func(p *testPage) { p.put(recordsAt, noise(recordBytes)) },
		"noise everywhere":      func(p *testPage) { p.put(12, noise(ringsAt+ringEntries*entryBytes-12)) },
	} {
		t.Run(name, func(t *testing.T) {
			page, now := newPage(t), monotonic(t)
			page.device(0, now-time.Second)
			page.duty(0, now-time.Second, now+time.Second)
			p := openEmulated(t, page.path)
			spoil(page)
			for range 3 {
				for _, r := range p.Read(time.Now()) {
					for _, s := range r.Utilisation {
						if !(s.Ratio >= 0 && s.Ratio <= 1) {
							t.Errorf("utilisation %v", s)
						}
					}
				}
				p.Facts()
			}
			if a := p.Absent(); len(slices.Compact(slices.Sorted(slices.Values(a)))) != len(a) {
				t.Errorf("named twice: %q", a)
			}
			openEmulated(t, page.path).Facts() // and when it was so from the start
		})
	}
}

func TestEachMissingSymbolCostsOnlyItsValue(t *testing.T) {
	page, now := newPage(t), monotonic(t)
	page.device(0, now-time.Second)
	page.duty(0, now-time.Second, now+time.Minute)
	for _, s := range new(library).symbols(true) {
		t.Run(s.name, func(t *testing.T) {
			if s.gives == "" {
				l := loadHooks{library: standIn(t), without: map[string]bool{s.name: true}}
				_, err := open(Options{Emulate: true, Page: page.path}, l)
				if err == nil || !strings.Contains(err.Error(), s.name) {
					t.Errorf("open: %v, want an error that names %s", err, s.name)
				}
				return
			}
			p := openEmulated(t, page.path, s.name)
			f := p.Facts()
			only(t, p)
			time.Sleep(minEnergyTime) // which is longer than a sample's window as well
			r := only(t, p)
			want := []string{s.gives + ": this driver has no " + s.name}
			if a := p.Absent(); !slices.Equal(a, want) {
				t.Errorf("absent: %q, want %q", a, want)
			}
			if got, want := unknowns(f, r), lost[s.name]; !slices.Equal(got, want) {
				t.Errorf("unknown without %s: %q, want %q", s.name, got, want)
			}
		})
	}
}

// lost is what is unknown without a symbol; what is not listed has another way.
var lost = map[string][]string{
	"nvmlSystemGetDriverVersion":              {"Driver"},
	"nvmlSystemGetCudaDriverVersion_v2":       {"CUDA"},
	"nvmlDeviceGetName":                       {"Name"},
	"nvmlDeviceGetUUID":                       {"UUID"},
	"nvmlDeviceGetMemoryInfo":                 {"MemoryBytes", "MemoryUsedBytes"},
	"nvmlDeviceGetEnforcedPowerLimit":         {"PowerLimitWatts"},
	"nvmlDeviceGetClockInfo":                  {"SMClockMHz"},
	"nvmlDeviceGetMaxClockInfo":               {"MaxSMClockMHz"},
	"nvmlDeviceGetComputeRunningProcesses_v3": {"Processes"},
	"nvmlDeviceGetCurrPcieLinkGeneration":     {"LinkGeneration"},
	"nvmlDeviceGetCurrPcieLinkWidth":          {"LinkWidth"},
	"nvmlGpmQueryDeviceSupport":               {"Active", "Kernels", "LinkIn", "LinkOut"},
	"nvmlGpmSampleAlloc":                      {"Active", "Kernels", "LinkIn", "LinkOut"},
	"nvmlGpmSampleFree":                       {"Active", "Kernels", "LinkIn", "LinkOut"},
	"nvmlGpmSampleGet":                        {"Active", "Kernels", "LinkIn", "LinkOut"},
	"nvmlGpmMetricsGet":                       {"Active", "Kernels", "LinkIn", "LinkOut"},
}

// unknowns lists the fields that hold no value.
func unknowns(f Facts, r Reading) []string {
	var found []string
	for _, v := range []reflect.Value{reflect.ValueOf(f), reflect.ValueOf(f.Devices[0]), reflect.ValueOf(r)} {
		for i := range v.NumField() {
			field := v.Field(i)
			if field.Kind() == reflect.Float64 && math.IsNaN(field.Float()) ||
				field.Kind() == reflect.String && field.String() == "" ||
				field.Kind() == reflect.Slice && field.Len() == 0 {
				found = append(found, v.Type().Field(i).Name)
			}
		}
	}
	return found
}

func TestUnknownMemoryIsNotZero(t *testing.T) {
	page := newPage(t)
	page.device(0, monotonic(t))
	page.put64(recordsAt+152, math.MaxUint64)
	p := openEmulated(t, page.path)
	for range 2 {
		if r := only(t, p); !math.IsNaN(r.MemoryUsedBytes) {
			t.Errorf("memory used: %v, want unknown", r.MemoryUsedBytes)
		}
	}
	if a := p.Absent(); !slices.Equal(a, []string{"memory used: NVML answered without a value"}) {
		t.Errorf("absent: %q", a)
	}
	near(t, "memory size", p.Facts().Devices[0].MemoryBytes, 80<<30, 0)
	page.put64(recordsAt+152, 5)
	if r, a := only(t, p), p.Absent(); r.MemoryUsedBytes != 5 || len(a) > 0 {
		t.Errorf("memory used: %v, and still absent: %q", r.MemoryUsedBytes, a)
	}
}

// TestPythonWritesWhatWeRead: a kernel of half an hour fills each window that begins
// after its launch, and a copy behind it none.
func TestPythonWritesWhatWeRead(t *testing.T) {
	leash.Hold(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	path := filepath.Join(t.TempDir(), "page")
	p := openEmulated(t, path)
	command := exec.Command(python, "-c", `
import sys
from stoker.emulated import Device
d = Device(0, "h100-sxm", memory_used=5 << 30)
print("made", flush=True)
sys.stdin.readline()
d.launch(1800)
d.copy(1000, pinned=True)
print("launched", flush=True)
sys.stdin.read()
`)
	client, err := filepath.Abs("../../python")
	if err != nil {
		t.Fatal(err)
	}
	command.Env = append(os.Environ(), "PYTHONPATH="+client, "STOKER_EMULATED_PAGE="+path)
	command.Stderr = os.Stderr
	in, _ := command.StdinPipe()
	out, _ := command.StdoutPipe()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	says := func(want string) {
		t.Helper()
		if line, err := lines.ReadString('\n'); err != nil || line != want+"\n" {
			t.Fatalf("python says %q, %v; want %q", line, err, want)
		}
	}
	says("made")
	leash.Wait(t, "a window without work", func() bool {
		u := only(t, p).Utilisation
		return len(u) > 0 && u[len(u)-1].Ratio == 0
	})
	_, _ = in.Write([]byte("go on\n"))
	says("launched")
	leash.Wait(t, "a window with nothing but work", func() bool {
		u := only(t, p).Utilisation
		return len(u) > 0 && u[len(u)-1].Ratio == 1
	})
	leash.Wait(t, "full power", func() bool { return math.Abs(only(t, p).PowerWatts-700) < 40 })
	r := only(t, p)
	near(t, "memory", r.MemoryUsedBytes, 5<<30, 0)
	if !slices.Equal(r.Processes, []uint32{uint32(command.Process.Pid)}) {
		t.Errorf("processes: %v, want %d", r.Processes, command.Process.Pid)
	}
	near(t, "memory that the process holds", r.Held[uint32(command.Process.Pid)], 5<<30, 0)
	want := Device{Name: "NVIDIA H100 80GB HBM3 (emulated)", UUID: "GPU-emulated-0", MemoryBytes: 81559 << 20, PowerLimitWatts: 700, MaxSMClockMHz: 1980, Emulated: true, Node: -1}
	if d := p.Facts().Devices[0]; d != want {
		t.Errorf("device: %+v, want %+v", d, want)
	}
	_ = in.Close()
	_ = command.Wait()
}

func TestEmulationIsRefusedWithMoreRightsThanTheUser(t *testing.T) {
	_, err := open(Options{Emulate: true}, loadHooks{library: standIn(t), secure: func() bool { return true }})
	if err == nil || !strings.Contains(err.Error(), "setuid") {
		t.Errorf("open: %v", err)
	}
}

func TestEmulationNeverFallsBackToRealDevices(t *testing.T) {
	_, err := open(Options{Emulate: true}, loadHooks{library: filepath.Join(t.TempDir(), systemLibrary), smi: "/bin/true"})
	if err == nil || !strings.Contains(err.Error(), "make emulate") {
		t.Errorf("open: %v", err)
	}
}

func TestSampleValue(t *testing.T) {
	le := func(v uint64) (b [8]byte) { binary.NativeEndian.PutUint64(b[:], v); return b }
	var narrow [8]byte
	binary.NativeEndian.PutUint32(narrow[:], 55)
	var short [8]byte
	binary.NativeEndian.PutUint16(short[:], 55)
	for kind, b := range [][8]byte{le(math.Float64bits(55)), narrow, le(55), le(55), le(55), narrow, short} {
		if got := sampleValue(int32(kind), b); got != 55 {
			t.Errorf("type %d: %v, want 55", kind, got)
		}
	}
	if got := sampleValue(7, le(55)); !math.IsNaN(got) {
		t.Errorf("type 7: %v, want unknown", got)
	}
}

func TestSampleTime(t *testing.T) {
	now := time.Now()
	if got := sampleTime(uint64(now.Add(-time.Second).UnixMicro()), now); now.Sub(got).Round(time.Millisecond) != time.Second {
		t.Errorf("a stamp since 1970: %v", got)
	}
	if got := sampleTime(123456789, now); got != now {
		t.Errorf("a stamp since boot: %v, want now", got)
	}
}

// BenchmarkRead is the cost of one poll of one device whose ring is full of
// short kernels, which is the dearest case.
func BenchmarkRead(b *testing.B) {
	page := newPage(b)
	now := monotonic(b)
	page.device(0, now-time.Hour)
	for i := range 10_000 {
		start := now - time.Second + time.Duration(i)*100*time.Microsecond
		page.add(0, start, start+50*time.Microsecond, kernel)
	}
	p := openEmulated(b, page.path)
	for b.Loop() {
		p.Read(time.Now())
	}
}
