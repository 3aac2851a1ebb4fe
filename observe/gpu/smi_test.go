package gpu

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// What a device lacks is said as long as it does, and not because another has it.
func TestAbsenceIsTakenBack(t *testing.T) {
	var a absences
	a.addMissing("NVML", "none")
	a.note("power", 1, "not supported")
	a.note("clock", 1, "lost")
	a.note("power", 2, "")
	a.note("power", 2, "lost")
	a.note("power", 2, "lost again")
	check := func(want ...string) {
		t.Helper()
		if got := a.list(); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	check("NVML: none", "power: not supported", "clock: lost")
	a.note("power", 1, "")
	check("NVML: none", "clock: lost", "power: lost")
	a.note("power", 2, "")
	a.note("clock", 1, "")
	check("NVML: none")
	a.note("clock", 1, "lost")
	check("NVML: none", "clock: lost")
}

// fakeSMI is a program that answers as nvidia-smi does.
func fakeSMI(t *testing.T, gpus, processes string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell script")
	}
	path := filepath.Join(t.TempDir(), "nvidia-smi")
	here := func(text string) string { return "cat <<'END'\n" + text + "\nEND\n;;\n" }
	script := "#!/bin/sh\ncase $1 in\n--query-gpu=*) " + here(gpus) + "*) " + here(processes) + "esac\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

const goodSMI = `1, NVIDIA A100-SXM4-80GB, GPU-b, 550.54.15, 81920, 1024, 37, 312.50, 400.00, 1395, 1410
0, NVIDIA A100-SXM4-80GB, GPU-a, 550.54.15, 81920, 3, 0, [N/A], [Not Supported], 210, 1410`

func openFake(t *testing.T, gpus, processes string) (*Probe, error) {
	t.Helper()
	return open(Options{}, loadHooks{
		library: filepath.Join(t.TempDir(), "no-such-library"),
		without: map[string]bool{"nvmlInit_v2": true}, // nor any other, on a machine that has one
		smi:     fakeSMI(t, gpus, processes),
	})
}

func TestNvidiaSMIWhereNVMLCannotBeLoaded(t *testing.T) {
	p, err := openFake(t, goodSMI, "GPU-b, 4711\nGPU-b, 42\nGPU-b, 42")
	if err != nil {
		t.Fatal(err)
	}
	f := p.Facts()
	if f.Source != "nvidia-smi" || f.Driver != "550.54.15" || len(f.Devices) != 2 {
		t.Fatalf("facts: %+v", f)
	}
	if want := (Device{Index: 1, Name: "NVIDIA A100-SXM4-80GB", UUID: "GPU-b", MemoryBytes: 80 << 30, PowerLimitWatts: 400, MaxSMClockMHz: 1410, Node: -1}); f.Devices[1] != want {
		t.Errorf("device: %+v, want %+v", f.Devices[1], want)
	}
	now := time.Now()
	p.Read(now)
	readings := p.Read(now)
	busy := readings[1]
	if !slices.Equal(busy.Utilisation, []UtilSample{{now, 0.37}}) || busy.MemoryUsedBytes != 1<<30 ||
		busy.PowerWatts != 312.5 || busy.SMClockMHz != 1395 || !slices.Equal(busy.Processes, []uint32{42, 4711}) {
		t.Errorf("reading: %+v", busy)
	}
	if idle := readings[0]; !math.IsNaN(idle.PowerWatts) || idle.Processes == nil || len(idle.Processes) != 0 {
		t.Errorf("reading: %+v, want unknown power and no processes", idle)
	}
	var named []string
	for _, a := range p.Absent() {
		what, _, _ := strings.Cut(a, ":")
		named = append(named, what)
	}
	if want := []string{"enforced.power.limit", "power.draw", "CUDA version", "NVML"}; !slices.Equal(named, want) {
		t.Errorf("absent: %q, want %q", named, want)
	}
}

func TestNvidiaSMIIsReadStrictly(t *testing.T) {
	for name, answer := range map[string]string{
		"a column less":  "0, A, GPU-a, 1, 2, 3, 4, 5, 6, 7",
		"a comma inside": "0, A, B, GPU-a, 1, 2, 3, 4, 5, 6, 7, 8",
		"no index":       "x, A, GPU-a, 1, 2, 3, 4, 5, 6, 7, 8",
		"an error text":  "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
		"nothing":        "",
	} {
		if _, err := openFake(t, answer, ""); err == nil || !strings.HasPrefix(err.Error(), "no GPU can be seen: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNvidiaSMIUnknowns(t *testing.T) {
	p, err := openFake(t, "0, [Unknown Error], GPU-a, 1, N/A, -3, 4000, nan, inf, , [GPU is lost]", "no, processes here")
	if err != nil {
		t.Fatal(err)
	}
	r := p.Read(time.Now())[0]
	d := p.Facts().Devices[0]
	for i, v := range []float64{d.MemoryBytes, d.PowerLimitWatts, d.MaxSMClockMHz, r.MemoryUsedBytes, r.PowerWatts, r.SMClockMHz} {
		if !math.IsNaN(v) {
			t.Errorf("value %d: %v, want unknown", i, v)
		}
	}
	if len(p.Absent()) < 9 {
		t.Errorf("absent: %q", p.Absent())
	}
	answers := fakeSMI(t, strings.Replace(goodSMI[strings.Index(goodSMI, "\n")+1:], "[N/A], [Not Supported]", "1, 2", 1), "GPU-a, 5")
	if err := os.Rename(answers, p.source.(*nvidiaSMI).path); err != nil {
		t.Fatal(err)
	}
	for range smiProcessesEvery { // as seldom as processes are asked for
		p.Read(time.Now())
	}
	if a := p.Absent(); len(a) != 2 { // NVML, and the version of CUDA
		t.Errorf("all is known by now, and still absent: %q", a)
	}
	if d.Name != "" || len(r.Utilisation) != 0 || r.Processes != nil {
		t.Errorf("%+v, %+v: want unknown", d, r)
	}
}
