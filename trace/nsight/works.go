package nsight

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace/columns"
)

// columns that say where a piece of work ran and who launched it. A copy's device
// is the one that ran it.
var where = []string{"deviceId", "streamId", "correlationId", "globalPid"}

// readWorks reads what the devices did.
func (r *reader) readWorks() error {
	r.procs, r.devices = map[int64]int{}, map[deviceKey]int32{}
	r.growWorks()
	span := []string{"start", "end"}
	for _, read := range []struct {
		table string
		may   []string
		row   func(*row, *piece)
	}{
		{
			workTables[0],
			[]string{"demangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"},
			r.readKernel,
		},
		{workTables[1], []string{"bytes", "copyKind", "srcKind", "dstKind"}, r.readCopy},
		{workTables[2], []string{"bytes", "memKind"}, r.readSet},
		{workTables[3], []string{"graphId"}, r.readGraph},
	} {
		err := r.scanColumns(read.table, span, slices.Concat(where, read.may), func(row *row) error {
			start, end, ok := r.readSpan(row)
			if !ok {
				return nil
			}
			p := piece{start: start, end: end, bytes: -1}
			read.row(row, &p)
			r.addWork(row, &p)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// piece is one piece of work; where is common to all.
type piece struct {
	start, end, bytes int64
	name              int32
	kind              recording.WorkKind
	blocks, threads   int32
}

const firstOwn = 6 // place of the first column that a table has for itself

func (r *reader) readKernel(row *row, p *piece) {
	p.name = -1
	for i := firstOwn; i < firstOwn+2 && p.name < 0; i++ {
		if id, ok := row.intAt(i); ok {
			p.name = r.stringAt(id, unchanged)
		}
	}
	if p.name < 0 {
		p.name = r.names.intern([]byte("kernel without a name"))
	}
	p.blocks, p.threads = product(row, firstOwn+2), product(row, firstOwn+5)
	if strings.Contains(strings.ToLower(r.names.list[p.name]), "nccl") {
		p.kind = recording.Collective
	}
}

// product is the size of a grid or block; 0 if it is unknown or absurd.
func product(row *row, at int) int32 {
	n := int64(1)
	for i := range 3 {
		d, ok := row.intAt(at + i)
		if !ok || d < 1 || d > math.MaxInt32 || n*d > math.MaxInt32 {
			return 0
		}
		n *= d
	}
	return int32(n)
}

func (r *reader) readCopy(row *row, p *piece) {
	p.kind, p.bytes = recording.Copy, bytesOf(row, firstOwn)
	p.name = r.names.intern([]byte(r.labels.copyName(readNumber(row, firstOwn+1), readNumber(row, firstOwn+2),
		readNumber(row, firstOwn+3))))
}

func (r *reader) readSet(row *row, p *piece) {
	p.kind, p.bytes = recording.Set, bytesOf(row, firstOwn)
	memory := r.labels.memory[readNumber(row, firstOwn+1)]
	if memory == "" {
		memory = "Unknown"
	}
	p.name = r.names.intern([]byte("Memset (" + memory + ")"))
}

// readGraph is a CUDA graph that was recorded as a whole.
func (r *reader) readGraph(row *row, p *piece) {
	p.name = r.names.intern([]byte("CUDA graph " + strconv.FormatInt(readNumber(row, firstOwn), 10)))
	r.addWarning("CUDA graphs were recorded as a whole: their kernels are not told apart (record with " +
		"--cuda-graph-trace=node).")
}

func readNumber(row *row, i int) int64 {
	if n, ok := row.intAt(i); ok {
		return n
	}
	return -1
}

func bytesOf(row *row, i int) int64 { return max(-1, readNumber(row, i)) }

// growWorks makes room for what the census counted.
func (r *reader) growWorks() {
	n := 0
	for _, table := range workTables {
		n += r.counts[table]
	}
	n = min(n, 2*r.most)
	r.out.Timeline.Device.Grow(n)
	r.keys = make([]uint64, 0, n)
}

func (r *reader) addWork(row *row, p *piece) {
	if r.isFull() {
		return
	}
	process := readNumber(row, 5)
	key := deviceKey{process, readNumber(row, 2)}
	device, found := r.devices[key]
	if !found {
		if len(r.devices) >= columns.MostDevices {
			r.dropped[columns.TooManyDevices]++
			return
		}
		device = int32(len(r.devices))
		r.devices[key] = device
		r.out.Timeline.Devices = append(r.out.Timeline.Devices,
			recording.Device{PID: processID(process), Index: int(max(0, min(key.device, 1<<20))), GPU: -1})
	}
	r.out.Timeline.Device.Append(recording.WorkRow{
		Start: p.start, End: p.end, Name: p.name, Device: device, Stream: int32(readNumber(row, 3)), Kind: p.kind,
		Call:  -1,
		Bytes: p.bytes, Blocks: p.blocks, Threads: p.threads,
		PerSM: float32(math.NaN()), Occupancy: float32(math.NaN()), Group: -1,
	})
	r.keys = append(r.keys, r.correlationKey(process, readNumber(row, 4)))
}

// isFull reports whether as much is kept as memory allows for: the census counts by
// time, and all of a file may lie at one instant.
func (r *reader) isFull() bool {
	if len(r.keys)+len(r.callKey) < 2*r.most {
		return false
	}
	r.dropped["of one instant, more than are kept in memory"]++
	return true
}

// A global id holds, from the top: 16 bits of machine, 24 of process, 24 of thread
// (Nsight's "Serialized process and thread identifiers").
func processID(global int64) int  { return int(global >> 24 & 0xffffff) }
func threadID(global int64) int64 { return global & 0xffffff }
func processOf(tid int64) int64   { return tid &^ 0xffffff }

// correlationKey joins a process and a correlation id, which is unique within the process
// only; 0 without one.
func (r *reader) correlationKey(process, correlation int64) uint64 {
	if correlation <= 0 || correlation >= 1<<40 {
		return 0
	}
	p, found := r.procs[process]
	if !found {
		p = len(r.procs) + 1
		r.procs[process] = p
	}
	return uint64(p)<<40 | uint64(correlation)
}

// sortWorks puts the columns in order of start.
func (r *reader) sortWorks() {
	d := &r.out.Timeline.Device
	order := columns.ByStart(d.Start, d.End)
	d.Reorder(order)
	recording.Reorder(order, r.keys)
}
