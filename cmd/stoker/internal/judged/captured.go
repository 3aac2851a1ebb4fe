package judged

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/diagnose/operators"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace"
)

// Captured is the verdict on a run, together with its captured traces.
type Captured struct {
	Verdict diagnose.Verdict  // of both, if a trace can be read
	Traced  *diagnose.Verdict // of the traces alone; nil if none can be read
	Files   []string          // in the folder of the recording
	Table   *operators.Table  // nil without a trace
	Trouble []string          // what could not be read, a sentence each
}

// mostTrace is the largest size of a trace that is read.
const mostTrace = 4 << 30 // bytes

// JoinTraces reads the captured traces of a recording, and combines their verdict with that of the
// run.
func JoinTraces(ctx context.Context, path string, run *recording.Run, live diagnose.Verdict) Captured {
	c := ReadTraces(ctx, path, run, live.Costs.Window.PID)
	if c.Verdict = live; c.Traced != nil {
		c.Verdict = judge.Merge(run, live, *c.Traced)
	}
	c.Verdict.Warnings = append(slices.Clone(c.Verdict.Warnings), c.Trouble...)
	return c
}

// ReadTraces reads and judges the captured traces of a recording. If they belong to different
// runs, it reads only the trace of one process.
func ReadTraces(ctx context.Context, path string, run *recording.Run, pid int) (c Captured) {
	own := ""
	for _, one := range run.Facts.Captures {
		file, err := besides(path, one.File)
		if err != nil {
			c.Trouble = append(c.Trouble, err.Error())
			continue
		}
		c.Files = append(c.Files, file)
		if own == "" || one.PID == pid {
			own = file
		}
	}
	if len(c.Files) == 0 {
		return c
	}
	traced, err := trace.Read(ctx, c.Files, trace.Options{})
	if err != nil && len(c.Files) > 1 { // they are of different runs, as if the command starts two programs
		c.Trouble = append(c.Trouble, err.Error()+", and the trace of the judged process alone is read")
		traced, err = trace.Read(ctx, []string{own}, trace.Options{})
	}
	if err != nil {
		c.Trouble = append(c.Trouble, err.Error())
	} else {
		verdict := judge.Judge(traced)
		c.Traced, c.Table = &verdict, operators.Tabulate(traced.Timeline, operators.Options{Top: 10})
	}
	return c
}

// besides returns the path of a file that a recording names. The file must be in the recording's
// folder, because the recording may come from a stranger.
func besides(path, name string) (string, error) {
	if name == "" || name != filepath.Base(name) || name == ".." || name == "." {
		return "", fmt.Errorf("the recording names the trace %q, which is not in its folder: it is not read", name)
	}
	file := filepath.Join(filepath.Dir(path), name)
	info, err := os.Lstat(file)
	switch {
	case err != nil:
		return "", fmt.Errorf("the trace of this run is missing: %s", file)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a plain file: it is not read", file)
	case info.Size() > mostTrace:
		return "", fmt.Errorf("%s has %d bytes: stoker trace %s reads it", file, info.Size(), file)
	}
	return file, nil
}
