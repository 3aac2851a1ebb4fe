package gpu

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-dev/stoker/internal/forest"
)

// amdFiles are an MI300X as the kernel's driver shows it, and a display beside it.
func amdFiles(t *testing.T) string {
	t.Helper()
	sys := t.TempDir()
	for name, text := range map[string]string{
		"class/drm/card0/device/vendor": "0x1a03\n",

		"class/drm/card1/device/vendor":              "0x1002\n",
		"class/drm/card1/device/device":              "0x74a1\n",
		"class/drm/card1/device/unique_id":           "5f1d0aa0c3b2e4d6\n",
		"class/drm/card1/device/gpu_busy_percent":    "37\n",
		"class/drm/card1/device/mem_info_vram_total": "206141652992\n",
		"class/drm/card1/device/mem_info_vram_used":  "1000000000\n",
		"class/drm/card1/device/pp_dpm_sclk":         "0: 132Mhz\n1: 1500Mhz *\n2: 2100Mhz\n",
		"class/drm/card1/device/max_link_speed":      "32.0 GT/s PCIe\n",
		"class/drm/card1/device/max_link_width":      "16\n",
		"class/drm/card1/device/current_link_speed":  "16.0 GT/s PCIe\n",
		"class/drm/card1/device/current_link_width":  "8\n",
		"class/drm/card1/device/numa_node":           "1\n",

		"class/drm/card1/device/hwmon/hwmon3/power1_input": "550000000\n",
		"class/drm/card1/device/hwmon/hwmon3/power1_cap":   "750000000\n",

		"module/amdgpu/version": "6.8.5\n",
	} {
		forest.File(t, sys, name, text)
	}
	return sys
}

func openFiles(t *testing.T, sys string) *Probe {
	t.Helper()
	p, err := open(Options{}, loadHooks{library: "/nowhere/libnvidia-ml.so.1", smi: "/nowhere/nvidia-smi", sys: sys})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAMD(t *testing.T) {
	p := openFiles(t, amdFiles(t))
	want := Device{Name: "AMD GPU 0x74a1", UUID: "5f1d0aa0c3b2e4d6", MemoryBytes: 206141652992, PowerLimitWatts: 750, MaxSMClockMHz: 2100, LinkGeneration: 5, LinkWidth: 16, Node: 1}
	if f := p.Facts(); f.Source != "amdgpu" || f.Driver != "6.8.5" || len(f.Devices) != 1 || f.Devices[0] != want {
		t.Errorf("facts: %+v", f)
	}
	r := p.Read(time.Now())
	if len(r) != 1 || len(r[0].Utilisation) != 1 || r[0].Utilisation[0].Ratio != 0.37 || r[0].MemoryUsedBytes != 1e9 || r[0].PowerWatts != 550 ||
		r[0].SMClockMHz != 1500 || r[0].LinkGeneration != 4 || r[0].LinkWidth != 8 || !math.IsNaN(r[0].Active) || r[0].SlowedKnown {
		t.Errorf("reading: %+v", r)
	}
	if a := p.Absent(); len(a) != 0 {
		t.Errorf("absent: %q", a)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// Each file that is missing, empty or holds nonsense costs what it tells, and no more.
func TestAMDFilesThatAreDamaged(t *testing.T) {
	for name, damage := range map[string]func(string){
		"gone":  func(path string) { _ = os.Remove(path) },
		"empty": func(path string) { _ = os.Truncate(path, 0) },
		"nonsense": func(path string) {
			_ = os.WriteFile(path, []byte("N/A: -7 xMhz * 99999999999999999999999\n:::"), 0o600)
		},
		"too many": func(path string) { _ = os.WriteFile(path, []byte(strings.Repeat("9", 1<<20)), 0o600) },
	} {
		for _, file := range []string{"gpu_busy_percent", "mem_info_vram_used", "pp_dpm_sclk", "max_link_speed", "max_link_width", "current_link_speed", "current_link_width", "numa_node", "hwmon/hwmon3/power1_input", "hwmon/hwmon3/power1_cap", "unique_id", "device"} {
			sys := amdFiles(t)
			damage(filepath.Join(sys, "class/drm/card1/device", file))
			p := openFiles(t, sys)
			f, r := p.Facts().Devices[0], p.Read(time.Now())[0]
			for what, v := range map[string]float64{"memory": r.MemoryUsedBytes, "power": r.PowerWatts, "clock": r.SMClockMHz, "width": r.LinkWidth, "limit": f.PowerLimitWatts} {
				if v <= 0 || v > 1e12 {
					t.Errorf("%s of %s: %s is %v", name, file, what, v)
				}
			}
			for _, u := range r.Utilisation {
				if u.Ratio != 0.37 {
					t.Errorf("%s of %s: utilisation %v", name, file, u.Ratio)
				}
			}
		}
	}
}

func TestNoAMD(t *testing.T) {
	_, err := open(Options{}, loadHooks{library: "/nowhere/libnvidia-ml.so.1", smi: "/nowhere/nvidia-smi", sys: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "no GPU can be seen") {
		t.Errorf("open: %v", err)
	}
}
