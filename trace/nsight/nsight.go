package nsight

import (
	"context"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace/columns"
	"github.com/stoker-dev/stoker/trace/steps"
)

// readDatabase reads all that is wanted.
func readDatabase(ctx context.Context, db *database, o Options) (*Trace, error) {
	r := &reader{
		ctx: ctx, db: db, out: &Trace{Timeline: &recording.Timeline{}}, most: o.Most,
		dropped: map[string]int{}, progress: o.Progress,
	}
	if r.most <= 0 {
		r.most = mostEvents
	}
	r.warnOfCut()
	if err := r.foreign(); err != nil {
		return nil, err
	}
	if err := r.openStrings(); err != nil {
		return nil, err
	}
	defer r.strings.close()
	for _, part := range []func() error{r.takeCensus, r.readEnums, r.readWorks, r.readCalls, r.readSamples} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	if r.out.Events == 0 {
		return nil, &DamagedError{
			"no event was found in the Nsight Systems export",
			"record it again: nsys profile --trace=cuda,nvtx,osrt COMMAND",
		}
	}
	r.outside()
	return r.out, r.finish()
}

// finish puts everything in order once all rows are read.
func (r *reader) finish() error {
	r.sortCalls()
	r.sortWorks()
	r.linkWork()
	r.moveToZero()
	if err := r.readFacts(); err != nil {
		return err
	}
	if err := r.readMetrics(); err != nil {
		return err
	}
	r.out.Facts.Processes = r.processes()
	if clipped, works := columns.ClipOverlaps(r.out.Timeline), len(r.out.Timeline.Device.Start); clipped > 0 {
		r.addDamage("%s", columns.DescribeClipped(clipped, works))
		r.out.Facts.WorkLost = float64(clipped) / float64(works)
	}
	found := steps.Find(r.out.Timeline, r.out.Facts.Processes, "ProfilerStep marks", r.noMarks())
	r.out.Steps, r.out.Facts.StepsFrom = found.Steps, found.Rule
	r.out.Warnings = append(r.out.Warnings, found.Said...)
	r.doubts()
	if len(r.dropped) > 0 {
		r.out.Timeline.Dropped = r.dropped
	}
	return nil
}

// noMarks says how steps are marked in the program's own language.
func (r *reader) noMarks() string {
	how := `nvtxRangePush("step")`
	if r.out.Facts.Software.Framework == "" {
		how = `torch.cuda.nvtx.range("step 1"), or emit_nvtx with prof.step()`
		if !slices.ContainsFunc(r.out.Timeline.Names, recording.TorchSign) { // a program in Python, of whatever else
			how = `nvtx.annotate("step") of the package nvtx, or torch.cuda.nvtx.range("step")`
		}
	}
	return "The file has no NVTX range that marks a step (" + how + ")"
}

// noFramework is the word for a program of no framework that is known.
const noFramework = "CUDA"

// warnOfCut warns of a cut file.
func (r *reader) warnOfCut() {
	if r.db.cut > 0 {
		r.addDamage("The file ends at byte %d, its header promises %d: it was cut, and what is left was read (%s).",
			r.db.size, r.db.cut, exportAgain)
	}
}

// foreign refuses databases of others.
func (r *reader) foreign() error {
	if r.db.tables["StringTable"] != nil && r.db.tables["StringIds"] == nil { // its tables of kernels are others
		return &ForeignError{
			"a database of nvprof",
			"record with nsys profile COMMAND, and export that: nsys export --type sqlite FILE.nsys-rep",
		}
	}
	for _, t := range eventTables {
		if r.db.tables[t] != nil {
			return nil
		}
	}
	if r.db.tables["META_DATA_EXPORT"] != nil || r.db.tables["StringIds"] != nil {
		return &ForeignError{
			"an Nsight Systems export without any table of CUDA, NVTX or OS events",
			"record with nsys profile --trace=cuda,nvtx,osrt COMMAND",
		}
	}
	for _, of := range otherDatabases {
		for table := range r.db.tables {
			if strings.HasPrefix(table, of.table) {
				return &ForeignError{of.format, of.hint}
			}
		}
	}
	return &ForeignError{
		"an SQLite database that Nsight Systems did not write (" + tableNames(r.db) + ")",
		"of databases, those of nsys export --type sqlite are read",
	}
}

// otherDatabases are those of other profilers, by how the name of one of their tables begins.
var otherDatabases = []struct{ table, format, hint string }{
	{
		"rocpd_info_", "a rocpd database of rocprofv3",
		"record as JSON: rocprofv3 --sys-trace --output-format json -- COMMAND",
	},
	{
		"rocpd_", "a database of rocmProfileData (rpd_tracer)",
		"record as JSON: rocprofv3 --sys-trace --output-format json -- COMMAND",
	},
	{
		"KERN", "a database of rocprof",
		"record as JSON: rocprofv3 --sys-trace --output-format json -- COMMAND",
	},
	{
		"rocTX", "a database of rocprof",
		"record as JSON: rocprofv3 --sys-trace --output-format json -- COMMAND",
	},
	{
		"HIP", "a database of rocprof",
		"record as JSON: rocprofv3 --sys-trace --output-format json -- COMMAND",
	},
	{
		"memscope_", "a database of Ascend's memory profiler, without times of work",
		"record with torch_npu.profiler or msprof, and give its trace_view.json or msprof_*.json",
	},
	{
		"CANN_API", "a database of Ascend's profiler",
		"give the trace_view.json or msprof_*.json beside it (export_type Text of torch_npu, msprof --export=on)",
	},
}

func tableNames(db *database) string {
	if len(db.tables) == 0 {
		return "it has no table"
	}
	var names []string
	for name := range db.tables {
		names = append(names, columns.CleanText([]byte(name), 40))
	}
	slices.Sort(names)
	more := ""
	if len(names) > 5 {
		names, more = names[:5], ", …"
	}
	return "its tables: " + strings.Join(names, ", ") + more
}
