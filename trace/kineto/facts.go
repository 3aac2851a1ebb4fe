package kineto

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace/columns"
	"github.com/stoker-dev/stoker/trace/steps"
)

// property is one entry of deviceProperties; computeProperties with major and
// minor is the dialect of early 2021.
type property struct {
	ID       int     `json:"id"`
	Name     string  `json:"name"`
	Memory   float64 `json:"totalGlobalMem"`
	Major    *int    `json:"computeMajor"`
	Minor    *int    `json:"computeMinor"`
	Major1   *int    `json:"major"`
	Minor1   *int    `json:"minor"`
	SMs      int     `json:"numSms"`
	Emulated bool    `json:"emulated"` // Stoker's own stand-in for a GPU says so
}

// capability is "9.0", "" if unknown.
func (p property) capability() string {
	major, minor := p.Major, p.Minor
	if major == nil {
		major, minor = p.Major1, p.Minor1
	}
	if major == nil || minor == nil || *major < 0 || *minor < 0 {
		return ""
	}
	return fmt.Sprintf("%d.%d", *major, *minor)
}

// distributed is distributedInfo.
type distributed struct {
	Rank  *int `json:"rank"`
	World int  `json:"world_size"`
}

// decodeMember decodes one of the members other than traceEvents; damage in it is as good
// as absence.
func decodeMember[T any](m *merger, key string) (v T, ok bool) {
	raw, found := m.meta[key]
	if !found {
		return v, false
	}
	return v, json.Unmarshal(raw, &v) == nil
}

func (m *merger) readFacts(b *builder, out *Trace) {
	if d, ok := decodeMember[distributed](m, "distributedInfo"); ok {
		if d.Rank != nil && *d.Rank >= 0 && *d.Rank < 1<<24 {
			out.Rank = *d.Rank
		}
		if d.World > 0 && d.World < 1<<24 {
			out.World = d.World
		}
	}
	rank := max(0, out.Rank)
	for i := range b.t.Threads {
		b.t.Threads[i].Rank = rank
	}
	for i := range b.t.Devices {
		b.t.Devices[i].Rank = rank
	}
	m.listGPUs(b.t, &out.Facts)
	m.readSoftware(&out.Facts)
	m.setDate(out)
	out.Facts.Processes = b.processes(rank, out.World)
	out.Facts.Loaders = steps.ListLoaders(b.t, out.Facts.Processes)
	if kind := b.deviceKind(); len(b.work) > 0 && kind != "" {
		out.Facts.Model = &recording.ModelFacts{Device: fmt.Sprintf("%s:%d", kind, b.busiest(b.mainProcess()))}
	}
	m.doubts(b, out)
}

// deviceKinds are what PyTorch calls devices, by the prefix of the calls that launch on them.
var deviceKinds = []struct{ prefix, kind string }{
	{"cudaLaunch", "cuda"},
	{"cuLaunch", "cuda"},
	{"cudaMemcpy", "cuda"},
	{"hip", "cuda"},
	{"urEnqueue", "xpu"},
	{"zeCommandList", "xpu"},
	{"AscendCL@", "npu"},
	{"Runtime@", "npu"},
}

// deviceKind is what PyTorch calls the device, "" if no call tells.
func (b *builder) deviceKind() string {
	if b.store.isAscend() {
		return "npu"
	}
	for _, name := range b.t.Names {
		for _, k := range deviceKinds {
			if strings.HasPrefix(name, k.prefix) {
				return k.kind
			}
		}
	}
	return ""
}

// mostDevices bounds how many devices are believed.
const mostDevices = 1024

// listGPUs lists the devices that did work, or where none did, all that the file
// knows.
func (m *merger) listGPUs(t *recording.Timeline, facts *recording.Facts) {
	s := m.store
	known, ok := decodeMember[[]property](m, "deviceProperties")
	if !ok {
		known, _ = decodeMember[[]property](m, "computeProperties")
	}
	used := map[int]bool{}
	for _, d := range t.Devices {
		used[d.Index] = true
	}
	known = addMissingDevices(known, used)
	place := map[int]int{}
	for _, p := range known {
		if _, again := place[p.ID]; again || p.ID < 0 || len(place) == mostDevices || len(used) > 0 && !used[p.ID] {
			continue
		}
		place[p.ID] = len(facts.GPUs)
		g := recording.GPU{
			Index: p.ID, Name: p.Name, SMs: max(0, p.SMs), Capability: p.capability(),
			Emulated: p.Emulated,
		}
		if p.Memory > 0 {
			g.MemoryBytes = stat.Known(p.Memory)
		}
		if held := s.held[int32(p.ID)]; held.reserved > 0 {
			g.PeakBytes, g.HeldBytes = stat.Known(float64(held.allocated)), stat.Known(float64(held.reserved))
		}
		facts.GPUs = append(facts.GPUs, g)
		delete(s.held, int32(p.ID))
	}
	for _, id := range slices.Sorted(maps.Keys(s.held)) { // of devices that the file does not list
		if held := s.held[id]; held.reserved > 0 && len(facts.GPUs) == 0 && len(t.Devices) == 0 {
			facts.GPUs = append(facts.GPUs, recording.GPU{
				Index:     int(id),
				PeakBytes: stat.Known(float64(held.allocated)),
				HeldBytes: stat.Known(float64(held.reserved)),
			})
		}
	}
	for i := range t.Devices {
		if at, found := place[t.Devices[i].Index]; found {
			t.Devices[i].GPU = at
		}
	}
}

// addMissingDevices gives properties the numbers that work carries: profilers of ROCm name the
// devices that the process sees, from 0, and number work as the machine does. Where all
// that are named are alike, a number that none of them has is one of them.
func addMissingDevices(known []property, used map[int]bool) []property {
	named := map[int]bool{}
	for _, p := range known {
		if p.Name != known[0].Name {
			return known
		}
		named[p.ID] = true
	}
	out := slices.Clone(known)
	for _, index := range slices.Sorted(maps.Keys(used)) {
		if len(known) > 0 && !named[index] {
			p := known[0]
			p.ID = index
			out = append(out, p)
		}
	}
	return out
}

// readSoftware reads versions: CUDA counts 12090 for 12.9, HIP 60443483 for 6.4.43483.
func (m *merger) readSoftware(facts *recording.Facts) {
	if v, ok := decodeMember[int](m, "cuda_runtime_version"); ok && v >= 1000 {
		facts.Software.CUDA = fmt.Sprintf("%d.%d", v/1000, v%1000/10)
	}
	if v, ok := decodeMember[int](m, "hip_runtime_version"); ok && v >= 10_000_000 {
		facts.Software.ROCm = fmt.Sprintf("%d.%d", v/10_000_000, v/100_000%100)
	}
	if v, ok := decodeMember[string](m, "pytorch_version"); ok {
		facts.Software.Torch = v
	}
}

// setDate moves Zero to Unix time and sets the date of t = 0. It stays 0 if the file counts from an
// unknown moment. Files before 2024 count from 1970, later ones from baseTimeNanoseconds.
func (m *merger) setDate(t *Trace) {
	if base, ok := decodeMember[json.Number](m, "baseTimeNanoseconds"); ok {
		if r := rational([]byte(base)); r != nil {
			if q := new(big.Int).Quo(r.Num(), r.Denom()); q.IsInt64() && q.Sign() > 0 &&
				t.Zero < math.MaxInt64-q.Int64() {
				t.Zero += q.Int64()
			}
		}
	}
	if t.Zero >= 1e18 && t.Zero <= 4e18 { // 2001 to 2096
		t.Facts.Started = float64(t.Zero) / 1e9
	}
}

// processes lists the processes that launched work, or where none did, the one
// with most calls.
func (b *builder) processes(rank, world int) []recording.Process {
	launches := columns.Tallies{} // calls by thread
	for _, c := range b.t.Device.Call {
		if c >= 0 {
			launches.Count(b.processOf(c), int(b.t.Host.Thread[c]))
		}
	}
	seen := len(launches) > 0
	for k, kind := range b.t.Host.Kind {
		if !seen && kind == recording.Runtime {
			launches.Count(b.processOf(int32(k)), int(b.t.Host.Thread[k]))
		}
	}
	if len(launches) == 0 {
		main := b.mainProcess()
		for k := range b.t.Host.Start {
			if b.processOf(int32(k)) == main {
				launches.Count(main, int(b.t.Host.Thread[k]))
			}
		}
	}
	if len(launches) == 0 && len(b.t.Devices) > 0 { // work without any host event
		launches[b.t.Devices[0].PID] = nil
	}
	var out []recording.Process
	for pid, threads := range launches {
		p := recording.Process{
			PID: pid, Role: recording.RoleTrainer, Rank: rank, World: world,
			Device: b.busiest(pid), End: float64(b.t.End) / 1e9,
		}
		if most := threads.FindMost(-1); most >= 0 {
			if id := b.t.Threads[most].ID; id == int64(int(id)) && id > 0 {
				p.LaunchThread, p.LauncherSeen = int(id), seen
			}
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b recording.Process) int { return a.PID - b.PID })
	return out
}

// busiest is the index of the device on which a process had most work, -1
// without any.
func (b *builder) busiest(pid int) int {
	count := columns.Tally{}
	for _, d := range b.t.Device.Device {
		if on := b.t.Devices[d]; on.PID == pid {
			count[on.Index]++
		}
	}
	return count.FindMost(-1)
}

// tellDamage lists missing and impossible data of the file, and the share of the device's work that they make up.
func (m *merger) tellDamage(b *builder, facts *recording.Facts) {
	s := m.store
	if n := s.dropped[damaged]; n > 0 {
		m.addDamage("Damaged events that were left out: %d.", n)
	}
	works := int64(len(b.t.Device.Start))
	if s.lost > 0 {
		m.addDamage("%d of %d pieces of device work have an impossible time (negative, 0, without a duration, or a "+
			"day off) and were left out: the device was busier than the figures say.", s.lost, s.lost+works)
	}
	if n := s.dropped[absurdTime] + s.dropped[negative] + s.dropped[noDuration] - s.lost; n > 0 {
		m.addDamage("Events of the host with an impossible time (negative, 0, without a duration, or a day off) that "+
			"were left out: %d.", n)
	}
	if b.clipped > 0 {
		m.damage = append(m.damage, columns.DescribeClipped(b.clipped, int(works)))
	}
	if raw := m.meta["ERROR"]; bytes.Contains(raw, []byte("stopped")) {
		m.addDamage("The profiler reported an error and may have stopped early.")
	}
	facts.Damage = m.damage
	if lost := s.lost + int64(b.clipped); lost > 0 {
		facts.WorkLost = float64(lost) / float64(s.lost+works)
	}
}

// longBefore is how long a recorder runs before the first event, from which that is told, ns. [J] One that starts takes
// tens of milliseconds.
const longBefore = 100_000_000

// doubts warns of what the file does not tell.
func (m *merger) doubts(b *builder, out *Trace) {
	s := m.store
	if len(b.work) == 0 && slices.Contains(b.t.Host.Kind, recording.Runtime) {
		out.Warnings = append(out.Warnings, recording.NoDeviceWork+"the calls are there. The host's side was read.")
	} else if len(b.work) == 0 && slices.ContainsFunc(b.t.Names, recording.AppleSign) {
		out.Warnings = append(out.Warnings,
			recording.NoDeviceWork+"torch.profiler records none of an Apple GPU. The host's side was read.")
	} else if len(b.work) == 0 {
		out.Warnings = append(out.Warnings,
			recording.NoDeviceWork+"record with ProfilerActivity.CUDA among the activities (for AMD "+
				"too). The host's side was read.")
	} else if len(b.host) == 0 && s.isAscend() {
		out.Warnings = append(out.Warnings, "The trace holds device work and no host call: no gap can be charged to a cause.")
	} else if len(b.host) == 0 {
		out.Warnings = append(out.Warnings,
			"The trace holds device work and no host call: record with ProfilerActivity.CPU as well, else no gap "+
				"can be charged to a cause.")
	}
	m.tellDamage(b, &out.Facts)
	if before := b.base - s.began; s.began > 0 && before >= longBefore && before <= longest &&
		before > (b.t.End-b.t.Start)/2 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("The recorder ran %.3g s before the first event of the file, %.3g s "+
			"from there to the last: what the host did before is not recorded, and no time here counts it.",
			float64(before)/1e9, float64(b.t.End-b.t.Start)/1e9))
	}
	if cats := s.strangest(); len(cats) > 0 {
		out.Warnings = append(out.Warnings,
			fmt.Sprintf("Events of unknown categories were left out: %.200q.", cats[:min(5, len(cats))]))
	}
	if m.arrays > 1 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("The file holds %d lists of events: all were read.", m.arrays))
	}
}

// rocprofRows are processes that tell a file of rocprof.
var rocprofRows = []string{rocprofCopies, rocprofCalls, rocprofDriver}

// What dftracer writes, and what to record in its place.
const (
	FilesTrace = "a trace of files (dftracer), which has no work of a device"
	FilesHint  = "record the training with torch.profiler, or run it under stoker observe"
)

// browserHint is what to record instead of a browser's own events.
const browserHint = "it has nothing of a GPU's work: record the program that uses it, with torch.profiler or nsys profile"

// OtherTrace begins the words for a file that no known program wrote.
const OtherTrace = "a Chrome trace without events of PyTorch's profiler"

// foreign says what a file without a single event of PyTorch's is.
func (m *merger) foreign() error {
	s := m.store
	if s.events == 0 && m.arrays == 0 {
		return &ForeignError{
			"JSON without traceEvents",
			"give the file that torch.profiler wrote: prof.export_chrome_trace(\"trace.json\") or " +
				"tensorboard_trace_handler",
		}
	}
	for _, name := range s.names {
		switch {
		case recording.ContainsAny(name, "/host:CPU", "/device:GPU", "/device:TPU", "/job:"):
			return &ForeignError{
				"a trace of TensorFlow or XLA in JSON", "give the .xplane.pb that lies beside it. " +
					"A timeline of RunMetadata (TensorFlow 1) has none: record with nsys profile, or tf.profiler.experimental",
			}
		case recording.ContainsAny(name, "CrRendererMain", "CrBrowserMain", "VizCompositorThread"):
			return &ForeignError{
				"a Chrome browser trace",
				browserHint,
			}
		}
	}
	if slices.ContainsFunc(s.names, func(name string) bool { return slices.Contains(rocprofRows, name) }) {
		return &ForeignError{
			"a trace of rocprof", "record with its successor: rocprofv3 --sys-trace --output-format json -- CMD",
		}
	}
	for _, cat := range s.strangest() {
		if recording.ContainsAny(cat, "devtools", "blink", "v8", "loading", "toplevel", "netlog", "cc,", "gpu,") {
			return &ForeignError{
				"a Chrome browser trace",
				browserHint,
			}
		}
	}
	if _, found := m.meta["viztracer_metadata"]; found {
		return &ForeignError{"a trace of VizTracer", "record the device's work too, with torch.profiler"}
	}
	if s.strange[autogradName] > 0 {
		return &ForeignError{
			"torch.autograd.profiler's own export, not torch.profiler's",
			"record with torch.profiler and export_chrome_trace: this one has no kernels, only the time between two " +
				"events around each operator, and does not tell when the device was idle",
		}
	}
	if s.strange["Session"] > 0 && s.strange["Node"] > 0 {
		return &ForeignError{
			"a profile of ONNX Runtime, which has times of the host alone",
			"record the device as well: nsys profile --trace=cuda,nvtx -- CMD",
		}
	}
	if slices.ContainsFunc(s.names, func(name string) bool { return strings.HasPrefix(name, "Horovod") }) {
		return &ForeignError{
			"a timeline of Horovod, which has its exchanges alone", "record the device's work: torch.profiler, or nsys profile",
		}
	}
	if s.strange["POSIX"] > 0 || s.strange["ai_framework"] > 0 {
		return &ForeignError{FilesTrace, FilesHint}
	}
	if s.strange["Op"] > 0 {
		return &ForeignError{"a trace of TensorFlow in JSON", "give the .xplane.pb that lies beside it"}
	}
	if len(m.damage) > 0 || s.events == 0 {
		return &SyntaxError{m.offset, "no event of PyTorch's profiler was found before the end of the file"}
	}
	return m.unknown()
}

// unknown says what a file is that is of none of these programs.
func (m *merger) unknown() error {
	s := m.store
	if s.phased == 0 {
		return &ForeignError{
			"JSON of another kind: no entry of its list is an event (none has a phase, \"ph\")",
			"give the file that torch.profiler wrote, or a profiler's own export",
		}
	}
	if slices.Contains(s.names, "HCCL") {
		return &ForeignError{
			"a timeline of Ascend's collectives (HCCL) alone",
			"give the trace_view.json or msprof_*.json of the same recording, which hold the device's work",
		}
	}
	what := OtherTrace
	if cats := s.strangest(); len(cats) > 0 {
		what += fmt.Sprintf(" (its categories: %.60q)", cats[:min(3, len(cats))])
	}
	return &ForeignError{what, "record PyTorch with torch.profiler, and other programs with the profiler of the " +
		"device's maker (nsys profile, rocprofv3, msprof)"}
}
