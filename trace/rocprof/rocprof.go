package rocprof

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace/columns"
	"github.com/stoker-dev/stoker/trace/steps"
)

// Trace is what one file holds. Times of the Timeline are nanoseconds since the first event that was
// kept.
type Trace struct {
	Timeline *recording.Timeline
	Facts    recording.Facts
	Steps    []recording.Step
	Warnings []string // sentences

	Zero   int64 // t = 0 on the file's own clock, ns since the machine's start
	Bytes  int64 // of JSON that were read
	Events int64 // records that were read
}

// DamagedError says that the file cannot be read.
type DamagedError struct {
	Offset  int64 // byte of the JSON
	Problem string
}

func (e *DamagedError) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.Problem) }

// tool is the name of the one member of such a file.
const tool = "rocprofiler-sdk-tool"

// IsStart reports whether data begin as such a file does.
func IsStart(start []byte) bool {
	rest := bytes.TrimLeft(start, " \t\r\n")
	if !bytes.HasPrefix(rest, []byte("{")) {
		return false
	}
	return bytes.HasPrefix(bytes.TrimLeft(rest[1:], " \t\r\n"), []byte(`"`+tool+`"`))
}

// Read reads one file's JSON, unpacked. What a file that ends early holds before its end is kept.
func Read(ctx context.Context, src io.Reader) (*Trace, error) {
	r := &fileReader{ctx: ctx, json: json.NewDecoder(src), tables: newTables()}
	err := r.readFile()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && (len(r.works)+len(r.calls) == 0 || !r.hasNames()):
		return nil, &DamagedError{r.json.InputOffset(), sayProblem(err)}
	case err != nil:
		r.damage = append(r.damage, fmt.Sprintf("The file is cut or damaged at byte %d of its JSON (%s): what lies before "+
			"it was read.", r.json.InputOffset(), sayProblem(err)))
	}
	return r.buildTrace()
}

func sayProblem(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends in the middle"
	}
	return err.Error()
}

// buildTrace builds the columns of what was read.
func (r *fileReader) buildTrace() (*Trace, error) {
	out := &Trace{Timeline: &recording.Timeline{}, Bytes: r.json.InputOffset(), Events: r.events}
	b := &builder{fileReader: r, t: out.Timeline, names: map[string]int32{}}
	b.addCalls()
	b.addWorks()
	if len(b.t.Device.Start)+len(b.t.Host.Start) == 0 {
		return nil, &DamagedError{out.Bytes, "it holds no kernel, no copy and no call of HIP"}
	}
	b.sortAndLink()
	out.Zero = columns.MoveToZero(b.t)
	out.Facts = b.facts()
	columns.ComputePerSM(b.t, out.Facts.GPUs)
	if clipped := columns.ClipOverlaps(b.t); clipped > 0 {
		out.Facts.Damage = append(out.Facts.Damage, columns.DescribeClipped(clipped, len(b.t.Device.Start)))
		out.Facts.WorkLost = float64(clipped) / float64(len(b.t.Device.Start))
	}
	if len(b.t.Host.Start) == 0 {
		out.Warnings = append(out.Warnings,
			"The trace holds device work and no host call: record with rocprofv3 --sys-trace, else no gap can be charged "+
				"to a cause.")
	}
	found := steps.Find(b.t, out.Facts.Processes, "roctx ranges",
		"The file has no roctx range that marks a step (roctxRangePush(\"step\"))")
	out.Steps, out.Facts.StepsFrom, out.Warnings = found.Steps, found.Rule, append(out.Warnings, found.Said...)
	return out, nil
}
