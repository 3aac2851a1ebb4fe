package gpu

import (
	"cmp"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// amd is the source of values for AMD's devices: files of the kernel's driver, amdgpu.
// Whose processes use a device it does not tell.
type amd struct {
	absent  *absences
	driver  string
	devices []amdDevice
}

type amdDevice struct {
	folder string // of the PCI device
	hwmon  string // of its sensors, "" if there are none
	facts  Device
}

const amdVendor = "0x1002"

func openAMD(l loadHooks, absent *absences) (source, error) {
	sys := cmp.Or(l.sys, "/sys")
	cards, _ := filepath.Glob(sys + "/class/drm/card*/device") // no error but of the pattern
	slices.SortFunc(cards, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	a := &amd{absent: absent, driver: readLine(sys + "/module/amdgpu/version")}
	seen := map[string]bool{}
	for _, folder := range cards {
		place, err := filepath.EvalSymlinks(folder)
		if err != nil || seen[place] || readLine(folder+"/vendor") != amdVendor || len(a.devices) >= maxCards {
			continue
		}
		if _, err := os.Stat(folder + "/mem_info_vram_total"); err != nil {
			continue // a display of another kind
		}
		seen[place] = true
		a.devices = append(a.devices, describeAMD(folder, len(a.devices)))
	}
	if len(a.devices) == 0 {
		return nil, errNoDevice
	}
	return a, nil
}

// maxCards bounds the list.
const maxCards = 64

func describeAMD(folder string, index int) amdDevice {
	d := amdDevice{folder: folder, facts: unknownDevice(index)}
	if found, _ := filepath.Glob(folder + "/hwmon/hwmon*"); len(found) > 0 {
		d.hwmon = found[0]
	}
	d.facts.Name = cmp.Or(readLine(folder+"/product_name"), "AMD GPU "+readLine(folder+"/device"))
	d.facts.UUID = readLine(folder + "/unique_id")
	d.facts.MemoryBytes = value(folder + "/mem_info_vram_total")
	d.facts.PowerLimitWatts = d.sensor("power1_cap") / 1e6
	d.facts.MaxSMClockMHz, _ = clocks(folder + "/pp_dpm_sclk")
	d.facts.LinkGeneration, d.facts.LinkWidth = readLink(folder, "max")
	if node, err := strconv.Atoi(readLine(folder + "/numa_node")); err == nil {
		d.facts.Node = node
	}
	return d
}

func (a *amd) facts() Facts {
	f := Facts{Source: "amdgpu", Driver: a.driver}
	for _, d := range a.devices {
		f.Devices = append(f.Devices, d.facts)
	}
	return f
}

func (a *amd) read(now time.Time) []Reading {
	readings := make([]Reading, 0, len(a.devices))
	for _, d := range a.devices {
		r := unknownReading(d.facts.Index)
		if busy := value(d.folder + "/gpu_busy_percent"); busy <= 100 {
			r.Utilisation = []UtilSample{{now, busy / 100}}
		}
		r.MemoryUsedBytes = value(d.folder + "/mem_info_vram_used")
		r.PowerWatts = d.sensor("power1_average") / 1e6
		if math.IsNaN(r.PowerWatts) {
			r.PowerWatts = d.sensor("power1_input") / 1e6 // of newer boards
		}
		_, r.SMClockMHz = clocks(d.folder + "/pp_dpm_sclk")
		if gen, width := readLink(d.folder, "current"); gen > 0 && width > 0 {
			r.LinkGeneration, r.LinkWidth = float64(gen), float64(width)
		}
		a.note("utilisation", d, len(r.Utilisation) > 0)
		a.note("memory", d, !math.IsNaN(r.MemoryUsedBytes))
		a.note("power", d, !math.IsNaN(r.PowerWatts))
		a.note("SM clock", d, !math.IsNaN(r.SMClockMHz))
		readings = append(readings, r)
	}
	return readings
}

func (a *amd) note(what string, d amdDevice, known bool) {
	reason := "the kernel's driver (amdgpu) does not tell it of this device"
	if known {
		reason = ""
	}
	a.absent.note(what, uint64(d.facts.Index)+1, reason)
}

func (a *amd) close() error { return nil }

func (d amdDevice) sensor(name string) float64 {
	if d.hwmon == "" {
		return math.NaN()
	}
	return value(d.hwmon + "/" + name)
}

// clocks reads "0: 500Mhz", a line per level, with a star behind the present one.
func clocks(file string) (most, now float64) {
	most, now = math.NaN(), math.NaN()
	text, err := read(file)
	if err != nil {
		return most, now
	}
	for level := range strings.Lines(text) {
		_, rest, _ := strings.Cut(strings.ToLower(level), ":")
		number, star, found := strings.Cut(strings.TrimSpace(rest), "mhz")
		mhz, err := strconv.ParseFloat(number, 64)
		if !found || err != nil || !(mhz >= 0) {
			continue
		}
		if !(mhz <= most) {
			most = mhz
		}
		if strings.Contains(star, "*") {
			now = mhz
		}
	}
	return most, now
}

// readLink returns the generation and the width of PCIe, "max" or "current"; 0 unknown. The kernel
// tells a speed: "16.0 GT/s PCIe".
func readLink(folder, which string) (generation, width int) {
	speed, _, _ := strings.Cut(readLine(folder+"/"+which+"_link_speed"), " ")
	rates := []string{"2.5", "5.0", "8.0", "16.0", "32.0", "64.0"}
	width, err := strconv.Atoi(readLine(folder + "/" + which + "_link_width"))
	if err != nil || width < 0 || width > 32 {
		width = 0
	}
	return slices.Index(rates, speed) + 1, width
}

// readLine returns the first line of a file; "" if it cannot be read.
func readLine(file string) string {
	text, err := read(file)
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(first)
}

// value returns a number in a file that is not negative; NaN unknown.
func value(file string) float64 {
	v, err := strconv.ParseUint(readLine(file), 10, 64)
	if err != nil {
		return math.NaN()
	}
	return float64(v)
}

// most is how much is read of a file: the kernel's have a page at most.
const most = 1 << 14

func read(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	buffer := make([]byte, most)
	n, err := f.Read(buffer)
	if n == 0 {
		return "", cmp.Or(err, errors.New("it is empty"))
	}
	return string(buffer[:n]), nil
}
