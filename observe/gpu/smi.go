package gpu

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// smiTimeout: nvidia-smi takes 30 ms to a second; a hung driver holds it for ever.
	smiTimeout = 5 * time.Second
	// smiOutput limits how much of its answer is kept: a line per device is about 200 bytes.
	smiOutput = 1 << 20
	// smiProcessesEvery: processes need a second run of the program and seldom change.
	smiProcessesEvery = 10
)

// smiColumns are asked for in this order; with nounits memory is in MiB, power
// in watts, clocks in MHz, utilisation in percent.
var smiColumns = []string{
	"index", "name", "uuid", "driver_version", "memory.total", "memory.used",
	"utilization.gpu", "power.draw", "enforced.power.limit", "clocks.sm", "clocks.max.sm",
}

// nvidiaSMI is the source of values where NVML cannot be loaded: a subprocess
// per reading, current values only, no energy counter, no buffered samples.
type nvidiaSMI struct {
	path      string
	absent    *absences
	rows      []smiRow // the newest answer
	reads     int
	processes map[string][]uint32 // by UUID; nil is unknown
}

type smiRow struct {
	device      Device
	driver      string
	usedBytes   float64
	utilisation float64 // ratio
	watts       float64
	clockMHz    float64
}

func openSMI(l loadHooks, absent *absences) (source, error) {
	path, err := findSMI(l)
	if err != nil {
		return nil, err
	}
	s := &nvidiaSMI{path: path, absent: absent}
	if err := s.refresh(); err != nil {
		return nil, err
	}
	if len(s.rows) == 0 {
		return nil, errNoDevice
	}
	absent.addMissing("CUDA version", "nvidia-smi has no such query")
	return s, nil
}

// findSMI searches PATH, but not where our rights are more than our user's:
// then PATH would choose the program that gets them.
func findSMI(l loadHooks) (string, error) {
	const fixed = "/usr/bin/nvidia-smi"
	if l.smi != "" {
		return l.smi, nil
	}
	if !l.secure() {
		if path, err := exec.LookPath("nvidia-smi"); err == nil {
			return path, nil
		}
		return "", errors.New("nvidia-smi is not on PATH")
	}
	if _, err := os.Stat(fixed); err != nil {
		return "", fmt.Errorf("find nvidia-smi: %w", err)
	}
	return fixed, nil
}

func (s *nvidiaSMI) facts() Facts {
	f := Facts{Source: "nvidia-smi"}
	for _, r := range s.rows {
		f.Driver = r.driver
		f.Devices = append(f.Devices, r.device)
	}
	return f
}

func (s *nvidiaSMI) read(now time.Time) []Reading {
	if err := s.refresh(); err != nil {
		s.absent.addMissing("some readings", err.Error())
		return nil
	}
	if s.reads%smiProcessesEvery == 0 {
		s.processes = s.runProcesses()
	}
	s.reads++
	readings := make([]Reading, len(s.rows))
	for i, row := range s.rows {
		r := unknownReading(row.device.Index)
		r.MemoryUsedBytes, r.PowerWatts, r.SMClockMHz = row.usedBytes, row.watts, row.clockMHz
		if !math.IsNaN(row.utilisation) {
			r.Utilisation = []UtilSample{{now, row.utilisation}}
		}
		if s.processes != nil {
			r.Processes = append([]uint32{}, s.processes[row.device.UUID]...)
		}
		readings[i] = r
	}
	return readings
}

func (s *nvidiaSMI) close() error { return nil }

func (s *nvidiaSMI) refresh() error {
	answer, err := s.query("--query-gpu=" + strings.Join(smiColumns, ","))
	if err != nil {
		return err
	}
	rows, err := s.parse(answer)
	if err == nil {
		s.rows = rows
	}
	return err
}

func (s *nvidiaSMI) runProcesses() map[string][]uint32 {
	answer, err := s.query("--query-compute-apps=gpu_uuid,pid")
	if err != nil {
		s.absent.addMissing("processes", err.Error())
		return nil
	}
	found := map[string][]uint32{}
	for line := range strings.Lines(answer) {
		uuid, number, _ := strings.Cut(strings.TrimSpace(line), ", ")
		pid, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			s.absent.addMissing("processes", fmt.Sprintf("nvidia-smi answered %q", strings.TrimSpace(line)))
			return nil
		}
		found[uuid] = append(found[uuid], uint32(pid))
	}
	s.absent.note("processes", 0, "")
	for uuid, pids := range found {
		slices.Sort(pids)
		found[uuid] = slices.Compact(pids)
	}
	return found
}

func (s *nvidiaSMI) query(query string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), smiTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, s.path, query, "--format=csv,noheader,nounits")
	command.WaitDelay = time.Second // for a pipe that outlives the program
	answer := &cappedBuffer{left: smiOutput}
	command.Stdout = answer
	if err := command.Run(); err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(answer.text.String()), "\n")
		if ctx.Err() != nil {
			err = fmt.Errorf("no answer in %v", smiTimeout)
		}
		return "", fmt.Errorf("run nvidia-smi: %w: %.200q", err, first)
	}
	return answer.text.String(), nil
}

// parse reads one line per device, strictly: a line that does not have exactly
// our columns means that we would mistake one value for another.
func (s *nvidiaSMI) parse(answer string) ([]smiRow, error) {
	var rows []smiRow
	for line := range strings.Lines(answer) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		fields := strings.Split(line, ", ")
		if len(fields) != len(smiColumns) {
			return nil, fmt.Errorf("read nvidia-smi: %d columns instead of %d: %.200q", len(fields),
				len(smiColumns), line)
		}
		index, err := strconv.Atoi(fields[0])
		if err != nil || index < 0 {
			return nil, fmt.Errorf("read nvidia-smi: index %.200q", fields[0])
		}
		d := unknownDevice(index)
		d.Name, d.UUID = s.textColumn(fields, 1), s.textColumn(fields, 2)
		d.MemoryBytes = s.readNumber(fields, 4) * (1 << 20)
		d.PowerLimitWatts = s.readNumber(fields, 8)
		d.MaxSMClockMHz = s.readNumber(fields, 10)
		row := smiRow{device: d, driver: s.textColumn(fields, 3), usedBytes: s.readNumber(fields, 5) * (1 << 20)}
		row.utilisation = s.readNumber(fields, 6) / 100
		row.watts, row.clockMHz = s.readNumber(fields, 7), s.readNumber(fields, 9)
		if row.utilisation > 1 {
			s.note(fields, 6, fields[6]+" %")
			row.utilisation = math.NaN()
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b smiRow) int { return cmp.Compare(a.device.Index, b.device.Index) })
	return rows, nil
}

// textColumn returns a column, or "" where nvidia-smi says in brackets why it has none.
func (s *nvidiaSMI) textColumn(fields []string, column int) string {
	if strings.HasPrefix(fields[column], "[") {
		s.note(fields, column, fields[column])
		return ""
	}
	s.note(fields, column, "")
	return fields[column]
}

// readNumber returns a column, or NaN for "[N/A]", "[Not Supported]" and everything else that is
// not a number.
func (s *nvidiaSMI) readNumber(fields []string, column int) float64 {
	v, err := strconv.ParseFloat(fields[column], 64)
	if err != nil || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		s.note(fields, column, fmt.Sprintf("%.60s", fields[column]))
		return math.NaN()
	}
	s.note(fields, column, "")
	return v
}

// note says that a device's column has no value but an odd answer; "" that it has one.
func (s *nvidiaSMI) note(fields []string, column int, answer string) {
	if answer != "" {
		answer = "nvidia-smi answered " + answer
	}
	device, _ := strconv.ParseUint(fields[0], 10, 64)
	s.absent.note(smiColumns[column], device, answer)
}

// cappedBuffer keeps the first bytes and refuses to go on after them.
type cappedBuffer struct {
	text bytes.Buffer
	left int
}

func (b *cappedBuffer) Write(p []byte) (int, error) {
	if len(p) > b.left {
		return 0, errors.New("answer is too long")
	}
	b.left -= len(p)
	return b.text.Write(p)
}
