package rocprof

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stoker-dev/stoker/recording"
)

// Limits on the records that are kept of a file, which may come from anywhere.
const (
	mostRecords = 100_000_000
	mostTable   = 10_000_000 // entries of a table of names
	mostName    = 64 << 10   // bytes
	mostDepth   = 1000       // of values that are skipped
)

// number is an identifier in a nested object, {"handle": 5}.
type number struct {
	Handle uint64 `json:"handle"`
}

type extent struct {
	X uint64 `json:"x"`
	Y uint64 `json:"y"`
	Z uint64 `json:"z"`
}

func (e extent) product() uint64 { return max(1, e.X) * max(1, e.Y) * max(1, e.Z) }

// record is one element of a list of buffer_records, of any kind.
type record struct {
	Kind        int    `json:"kind"`
	Operation   int    `json:"operation"`
	Thread      int64  `json:"thread_id"`
	Start       int64  `json:"start_timestamp"`
	End         int64  `json:"end_timestamp"`
	Bytes       *int64 `json:"bytes"`
	Stream      number `json:"stream_id"`
	Source      number `json:"src_agent_id"`
	Destination number `json:"dst_agent_id"`
	Correlation struct {
		Internal uint64 `json:"internal"`
	} `json:"correlation_id"`
	Dispatch struct {
		Agent  number `json:"agent_id"`
		Queue  number `json:"queue_id"`
		Kernel uint64 `json:"kernel_id"`
		Group  extent `json:"workgroup_size"`
		Grid   extent `json:"grid_size"` // in work items, as HSA counts
	} `json:"dispatch_info"`
}

// call is a host call or range that was read.
type call struct {
	start, end, thread int64
	correlation        uint64
	kind               recording.CallKind
	of, operation      int // kind and operation, as the file numbers them
	pid                int
}

// work is a kernel or a copy that was read.
type work struct {
	start, end, bytes int64
	correlation       uint64
	kernel            uint64 // of a kernel
	agent             uint64
	stream            uint64
	blocks, threads   uint64
	copies            bool
	of, operation     int
	pid               int
}

// fileReader reads a file's JSON.
type fileReader struct {
	ctx    context.Context
	json   *json.Decoder
	tables *tables
	pid    int
	calls  []call
	works  []work
	events int64
	lost   int64
	damage []string
}

func (r *fileReader) hasNames() bool { return len(r.tables.kinds) > 0 }

// readFile reads {"rocprofiler-sdk-tool": [PROCESS, ...]}.
func (r *fileReader) readFile() error {
	return r.eachMember(func(key string) error {
		if key != tool {
			return r.skip()
		}
		return r.eachElement(func() error { return r.eachMember(r.readPart) })
	})
}

// readPart reads a member of a process.
func (r *fileReader) readPart(key string) error {
	switch key {
	case "metadata":
		var m struct {
			PID int `json:"pid"`
		}
		err := r.json.Decode(&m)
		r.pid = m.PID
		return err
	case "agents":
		return r.eachElement(r.tables.readAgent(r.json))
	case "kernel_symbols":
		return r.eachElement(r.tables.readKernel(r.json))
	case "strings":
		return r.eachMember(r.readStrings)
	case "buffer_records":
		return r.eachMember(r.readRecords)
	}
	return r.skip()
}

func (r *fileReader) readStrings(key string) error {
	switch key {
	case "buffer_records":
		return r.eachElement(r.tables.readKind(r.json))
	case "marker_api":
		return r.eachElement(r.tables.readMessage(r.json))
	}
	return r.skip()
}

// readRecords reads a list of records of one kind.
func (r *fileReader) readRecords(key string) error {
	var keep func(*record)
	switch key {
	case "kernel_dispatch":
		keep = r.keepKernel
	case "memory_copy":
		keep = r.keepCopy
	case "hip_api":
		keep = func(rec *record) { r.keepCall(rec, recording.Runtime) }
	case "marker_api":
		keep = func(rec *record) { r.keepCall(rec, recording.Annotation) }
	default:
		return r.skip()
	}
	return r.eachElement(func() error {
		rec := record{}
		if err := r.json.Decode(&rec); err != nil {
			return err
		}
		if r.events++; r.events > mostRecords {
			return fmt.Errorf("it holds more than %d million records", mostRecords/1_000_000)
		}
		keep(&rec)
		return nil
	})
}

func (r *fileReader) keepKernel(rec *record) {
	if !r.isPossible(rec) {
		r.lost++
		return
	}
	d := &rec.Dispatch
	threads := d.Group.product()
	r.works = append(r.works, work{
		start: rec.Start, end: rec.End, bytes: -1, correlation: rec.Correlation.Internal, kernel: d.Kernel,
		agent: d.Agent.Handle, stream: rec.Stream.Handle, blocks: (d.Grid.product() + threads - 1) / threads,
		threads: threads, pid: r.pid,
	})
}

func (r *fileReader) keepCopy(rec *record) {
	if !r.isPossible(rec) {
		r.lost++
		return
	}
	w := work{
		start: rec.Start, end: rec.End, bytes: -1, correlation: rec.Correlation.Internal, agent: rec.Destination.Handle,
		stream: rec.Stream.Handle, copies: true, of: rec.Kind, operation: rec.Operation, pid: r.pid,
	}
	if rec.Bytes != nil {
		w.bytes = max(-1, *rec.Bytes)
	}
	if _, gpu := r.tables.gpus[w.agent]; !gpu {
		w.agent = rec.Source.Handle // to the host: the device that it comes from
	}
	r.works = append(r.works, w)
}

func (r *fileReader) keepCall(rec *record, kind recording.CallKind) {
	if r.isPossible(rec) {
		r.calls = append(r.calls, call{
			rec.Start, rec.End, rec.Thread, rec.Correlation.Internal, kind, rec.Kind, rec.Operation, r.pid,
		})
	}
}

// longest is the longest time a record may take: a day.
const longest = int64(86400e9)

func (r *fileReader) isPossible(rec *record) bool {
	return rec.Start > 0 && rec.End >= rec.Start && rec.End-rec.Start <= longest
}

// eachMember reads an object, member by member.
func (r *fileReader) eachMember(read func(key string) error) error {
	return r.each('{', func() error {
		key, err := r.json.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		return read(name)
	})
}

// eachElement reads an array, element by element.
func (r *fileReader) eachElement(read func() error) error { return r.each('[', read) }

// each reads the elements of an object or an array. Any other value is skipped.
func (r *fileReader) each(open json.Delim, read func() error) error {
	first, err := r.json.Token()
	if err != nil {
		return err
	}
	if first != open {
		if d, nested := first.(json.Delim); nested {
			return r.skipRest(d)
		}
		return nil
	}
	for n := 0; r.json.More(); n++ {
		if n%1024 == 0 && r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		if err := read(); err != nil {
			return err
		}
	}
	_, err = r.json.Token()
	return err
}

// skip steps over a value.
func (r *fileReader) skip() error {
	first, err := r.json.Token()
	if d, nested := first.(json.Delim); err == nil && nested {
		return r.skipRest(d)
	}
	return err
}

// skipRest steps over what follows an opening bracket, up to its closing one.
func (r *fileReader) skipRest(open json.Delim) error {
	if open != '{' && open != '[' {
		return errors.New("a bracket is closed that was not opened")
	}
	for depth := 1; depth > 0; {
		token, err := r.json.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth > mostDepth {
				return fmt.Errorf("values lie in each other more than %d deep", mostDepth)
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
	return nil
}
