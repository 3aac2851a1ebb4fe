package nsight

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace/columns"
	"github.com/stoker-dev/stoker/trace/steps"
)

// moveToZero moves the columns so that the first event is at t = 0.
func (r *reader) moveToZero() {
	t := r.out.Timeline
	t.Names = r.names.list
	r.base = columns.MoveToZero(t)
	moveSamples(t, r.base)
	r.out.Zero = r.base
}

// readFacts reads the facts that do not change during a run. The tables that hold a
// process's environment and command line are left alone: they hold secrets.
func (r *reader) readFacts() error {
	for _, part := range []func() error{
		r.readStart, r.readMachine, r.readCapture, r.readGPUs, r.threadNames, r.framework,
		r.diagnostics,
	} {
		if err := part(); err != nil {
			return err
		}
	}
	columns.ComputePerSM(r.out.Timeline, r.out.Facts.GPUs)
	return nil
}

// framework says whose program it is, by the names of its kernels, calls and threads. Python that uses the device may
// be PyTorch's without a sign of it.
func (r *reader) framework() error {
	r.out.Facts.Software.Recorder = recording.NsightSystems
	t := r.out.Timeline
	python, xla, trt := false, false, false
	for _, th := range t.Threads {
		python = python || strings.HasPrefix(th.Name, "pt_") || len(t.Device.Start) > 0 && strings.HasPrefix(th.Name, "python")
	}
	for _, name := range t.Names {
		if recording.TorchSign(name) {
			return nil
		}
		xla = xla || recording.XLASign(name)
		trt = trt || recording.TensorRTSign(name)
	}
	switch {
	case xla:
		r.out.Facts.Software.Framework = "XLA"
	case trt || !python:
		r.out.Facts.Software.Framework = noFramework
	}
	return nil
}

// readStart finds the date of t = 0. Times count from the session's start, unless they
// were normalised to the Unix epoch (nsys export --ts-normalize).
func (r *reader) readStart() error {
	err := r.scanColumns("TARGET_INFO_SESSION_START_TIME", []string{"utcEpochNs"}, nil, func(row *row) error {
		if utc := readNumber(row, 0); utc > 1e18 && utc < latest && r.base < longestRun && r.out.Zero == r.base {
			r.out.Zero += utc
		}
		return nil
	})
	if r.out.Zero > 1e18 { // after 2001
		r.out.Facts.Started = float64(r.out.Zero) / 1e9
	}
	return err
}

func (r *reader) readMachine() error {
	f := &r.out.Facts
	return r.scanColumns("TARGET_INFO_SYSTEM_ENV", []string{"name", "value"}, nil, func(row *row) error {
		value := columns.CleanText(row.textAt(1), 80)
		switch string(row.textAt(0)) {
		case "CpuCores":
			if n, err := strconv.Atoi(value); err == nil && n > 0 && n < 1<<20 {
				f.Machine.CPUs = n
			}
		case "CpuDescription":
			if value != "unknown" {
				f.Machine.CPU = value
			}
		case "NvDriverVersion":
			f.Software.Driver = value
		}
		return nil
	})
}

// readCapture reads whether CUDA's calls were asked for.
func (r *reader) readCapture() error {
	return r.scanColumns("META_DATA_CAPTURE", []string{"name", "value"}, nil, func(row *row) error {
		if strings.HasSuffix(string(row.textAt(0)), "COLLECT_CUDA_TRACE") && string(row.textAt(1)) == "true" {
			r.out.Facts.DeviceTraced = true
		}
		return nil
	})
}

// readGPUs reads what the devices are. CUDA numbers them for each process as
// CUDA_VISIBLE_DEVICES says, Nsight in its own order.
func (r *reader) readGPUs() error {
	t := r.out.Timeline
	place := map[int64]int{}
	may := []string{"totalMemory", "smCount", "computeMajor", "computeMinor", "uuid"}
	number := "id"
	if gpus := r.db.tables["TARGET_INFO_GPU"]; gpus != nil && gpus.columnName(number) == "" {
		number = "deviceId" // until 2021
	}
	err := r.scanColumns("TARGET_INFO_GPU", []string{number, "name"}, may, func(row *row) error {
		id, ok := row.intAt(0)
		if _, again := place[id]; !ok || again || len(place) >= columns.MostDevices {
			return nil
		}
		g := recording.GPU{
			Index: int(max(0, min(id, 1<<20))), Name: columns.CleanText(row.textAt(1), 80),
			UUID: columns.CleanText(row.textAt(6), 64),
		}
		g.SMs = int(max(0, min(readNumber(row, 3), 1<<16)))
		if memory := readNumber(row, 2); memory > 0 {
			g.MemoryBytes = new(float64(memory))
		}
		if major, minor := readNumber(row, 4), readNumber(row, 5); major > 0 && major < 1000 && minor >= 0 &&
			minor < 1000 {
			g.Capability = fmt.Sprintf("%d.%d", major, minor)
		}
		place[id] = len(r.out.Facts.GPUs)
		r.out.Facts.GPUs = append(r.out.Facts.GPUs, g)
		return nil
	})
	if err != nil {
		return err
	}
	type cuda struct{ pid, device int64 }
	own := map[cuda]int64{}
	err = r.scanColumns("TARGET_INFO_CUDA_DEVICE", []string{"gpuId", "cudaId", "pid"}, nil, func(row *row) error {
		if len(own) < columns.MostDevices {
			own[cuda{readNumber(row, 2), readNumber(row, 1)}] = readNumber(row, 0)
		}
		return nil
	})
	for i := range t.Devices {
		d := &t.Devices[i]
		id, found := own[cuda{int64(d.PID), int64(d.Index)}]
		if !found {
			id = int64(d.Index)
		}
		if at, known := place[id]; known {
			d.GPU = at
		}
	}
	r.keepUsedGPUs()
	if len(place) == 0 && len(t.Devices) > 0 {
		lacks := "is missing"
		if r.db.tables["TARGET_INFO_GPU"] != nil {
			lacks = "holds none that can be read"
		}
		r.addWarning("The file does not say which GPUs were used (its table TARGET_INFO_GPU %s): what follows "+
			"from the model of the GPU is unknown.", lacks)
	}
	return err
}

// keepUsedGPUs leaves out the machine's GPUs that did no work, if any did some: their model is nobody's.
func (r *reader) keepUsedGPUs() {
	devices, all := r.out.Timeline.Devices, r.out.Facts.GPUs
	var used []recording.GPU
	moved := map[int]int{}
	for i, g := range all {
		if slices.ContainsFunc(devices, func(d recording.Device) bool { return d.GPU == i }) {
			moved[i] = len(used)
			used = append(used, g)
		}
	}
	if len(used) == 0 {
		return
	}
	r.out.Facts.GPUs = used
	for i := range devices {
		if at, ok := moved[devices[i].GPU]; ok {
			devices[i].GPU = at
		}
	}
}

func (r *reader) threadNames() error {
	t := r.out.Timeline
	return r.scanColumns("ThreadNames", []string{"nameId", "globalTid"}, nil, func(row *row) error {
		if at, found := r.threads[readNumber(row, 1)]; found {
			if name := r.stringAt(readNumber(row, 0), unchanged); name >= 0 {
				t.Threads[at].Name = columns.CleanText([]byte(r.names.list[name]), 80)
				t.Names = r.names.list
			}
		}
		return nil
	})
}

// mostDiagnostics are the sentences of Nsight's that are handed on.
const mostDiagnostics = 10

// diagnostics hands on what Nsight itself warned of.
func (r *reader) diagnostics() error {
	n := 0
	err := r.scanColumns("DIAGNOSTIC_EVENT", []string{"text"}, []string{"severity"}, func(row *row) error {
		severity := r.labels.severity[readNumber(row, 1)]
		text := columns.CleanText(row.textAt(0), 300)
		tells := severity == "Warning" || severity == "Error" ||
			strings.HasPrefix(text, "Number of incomplete CUPTI events dropped") // work of the device that the file lost
		if !tells || text == "" ||
			strings.HasPrefix(text, "Process was launched by the profiler") {
			return nil
		}
		if n++; n <= mostDiagnostics {
			r.addWarning("Nsight Systems said: %s", text)
		}
		return nil
	})
	if n > mostDiagnostics {
		r.addWarning("Nsight Systems said %d more things of that kind: see the table DIAGNOSTIC_EVENT.",
			n-mostDiagnostics)
	}
	return err
}

// processes lists the processes that drive a device, or if none does, the one
// with most calls, and gives them ranks: where several do, in order of their
// devices.
func (r *reader) processes() []recording.Process {
	t := r.out.Timeline
	busy := columns.Tallies{} // work by device
	for _, d := range t.Device.Device {
		busy.Count(t.Devices[d].PID, t.Devices[d].Index)
	}
	launches := columns.Tallies{} // calls by thread
	for _, c := range t.Device.Call {
		if c >= 0 {
			launches.Count(t.Threads[t.Host.Thread[c]].PID, int(t.Host.Thread[c]))
		}
	}
	seen := len(launches) > 0
	if len(busy) == 0 {
		calls := columns.Tally{} // by process
		for _, thread := range t.Host.Thread {
			launches.Count(t.Threads[thread].PID, int(thread))
			calls[t.Threads[thread].PID]++
		}
		if len(calls) > 0 {
			busy[calls.FindMost(0)] = nil
		}
	}
	var out []recording.Process
	for pid, devices := range busy {
		p := recording.Process{
			PID: pid, Role: recording.RoleTrainer, Device: devices.FindMost(-1), End: float64(t.End) / 1e9,
		}
		if thread := launches[pid].FindMost(-1); thread >= 0 && t.Threads[thread].ID > 0 {
			p.LaunchThread, p.LauncherSeen = int(t.Threads[thread].ID), seen
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b recording.Process) int {
		return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.PID, b.PID))
	})
	r.numberRanks(out)
	r.out.Facts.Loaders = append(r.out.Facts.Loaders, steps.ListLoaders(t, out)...)
	return out
}

// numberRanks numbers the processes and what belongs to them.
func (r *reader) numberRanks(processes []recording.Process) {
	rank := map[int]int{}
	for i := range processes {
		p := &processes[i]
		p.Rank = i
		rank[p.PID] = i
		if len(processes) > 1 {
			p.World = len(processes)
		}
	}
	if len(processes) > 1 {
		r.addWarning("%d processes drive devices: they are taken as ranks 0 to %d in order of their devices, which the "+
			"file does not tell.", len(processes), len(processes)-1)
	}
	t := r.out.Timeline
	of := func(pid int) int {
		if n, found := rank[pid]; found {
			return n
		}
		if len(processes) > 1 {
			return -1
		}
		return 0
	}
	for i := range t.Threads {
		t.Threads[i].Rank = of(t.Threads[i].PID)
	}
	for i := range t.Devices {
		t.Devices[i].Rank = of(t.Devices[i].PID)
	}
}

// doubts warns of what the file does not tell.
func (r *reader) doubts() {
	t := r.out.Timeline
	missing := func(table string) bool { return r.db.tables[table] == nil }
	switch {
	case len(t.Device.Start) == 0:
		said := recording.NoDeviceWork + "record with nsys profile --trace=cuda,nvtx,osrt."
		if r.out.Events > 0 {
			said += " The host's side was read."
		}
		r.addWarning("%s", said)
	case missing(callTables[0]):
		r.addWarning("The file holds no call of the CUDA runtime (table %s): no gap can be charged to a cause.",
			callTables[0])
	}
	switch {
	case !missing("NVTX_EVENTS"):
	case r.out.Facts.Software.Framework == "":
		r.addWarning("The file holds no NVTX range: with torch.autograd.profiler.emit_nvtx() around the steps, gaps can " +
			"be charged to operators and to the DataLoader.")
	default:
		r.addWarning("The file holds no NVTX range: with ranges around parts of the program (nvtxRangePush), gaps can be " +
			"charged to them.")
	}
	if missing("OSRT_API") {
		r.addWarning("The file holds no call of the operating system (record with --trace=osrt as well): waits for data " +
			"are not seen as such.")
	}
	if n := r.dropped["with an impossible time"]; n > 0 {
		r.addDamage("Events with an impossible time (negative, or longer than a month) that were left out: %d.", n)
	}
}
