package recording

// Timeline is what a profiler recorded: host calls and device work in compact
// columns, with links from the work to the call that launched it.
type Timeline struct {
	Names  []string // every name once; columns hold indices into it
	Host   Calls
	Device Work
}

// Calls are host calls, ordered by start. Columns have equal lengths.
type Calls struct {
	Start, End []float64 // seconds
	Name       []int32   // index into Names
	Thread     []int32
}

// Work is what ran on a device, ordered by start. Columns have equal lengths.
type Work struct {
	Start, End []float64 // seconds
	Name       []int32   // index into Names
	Device     []int32
	Stream     []int32
	Kind       []WorkKind
	Call       []int32 // index into Host of the launching call, -1 where it is not recorded
}

// relink cuts links to calls that are not there, so that no reader of a foreign
// file follows one.
func (t *Timeline) relink() {
	if t == nil {
		return
	}
	for i, call := range t.Device.Call {
		if call < -1 || int(call) >= len(t.Host.Start) {
			t.Device.Call[i] = -1
		}
	}
}

// WorkKind tells kernels, copies and collectives apart.
type WorkKind uint8

// The kinds of device work.
const (
	Kernel WorkKind = iota
	Copy
	Collective
)

var workKinds = [...]string{"kernel", "copy", "collective"}

// String returns the kind's word.
func (k WorkKind) String() string {
	if int(k) < len(workKinds) {
		return workKinds[k]
	}
	return "unknown"
}
