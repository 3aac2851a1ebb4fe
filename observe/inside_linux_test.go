package observe

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// insideHook stands for the hook in a shell: it says who it is, waits to be asked, and
// answers at its end. $T is how its files' names begin.
const insideHook = `T=$(dirname "$STOKER_HOOK_SOCKET")/trace-$$
echo $$ >pid.part; mv pid.part pid
while [ ! -e $T.ask ]; do sleep 0.02; done
cat $T.ask >asked
`

// asks observes a shell that answers to be asked for a trace of seven steps.
func asks(t *testing.T, answer string) (run *recording.Run, folder, said string) {
	t.Helper()
	folder = t.TempDir()
	run = record(t, Options{
		Command: []string{"sh", "-c", insideHook + answer}, Dir: folder, Output: filepath.Join(folder, "run.jsonl.gz"), Hook: emptyHook,
		Say: func(text string) { said += text + "\n" },
		Inside: func() (int, int) {
			pid, _ := strconv.Atoi(strings.TrimSpace(read(filepath.Join(folder, "pid"))))
			return pid, 7
		},
	})
	if got := read(filepath.Join(folder, "asked")); got != `{"steps":7}` {
		t.Errorf("asked %q", got)
	}
	return run, folder, said
}

func lackOf(run *recording.Run, what string) string {
	for _, a := range run.Facts.Absent {
		if a.What == what {
			return a.Why
		}
	}
	return ""
}

func TestTraceFromInside(t *testing.T) {
	run, folder, said := asks(t, `echo '{"traceEvents":[]}' >$T.json; echo '{"from":1,"to":2,"steps":6,"why":null}' >$T.part; mv $T.part $T.told`)
	c := run.Facts.Captures
	if len(c) != 1 || !c[0].Inside || c[0].Steps != 6 || c[0].File != "run.rank0.trace.json" || !(c[0].To > c[0].From) || lackOf(run, "trace") != "" {
		t.Fatalf("captures %+v, absent %+v", c, run.Facts.Absent)
	}
	if info, err := os.Stat(filepath.Join(folder, c[0].File)); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if !strings.Contains(said, "is kept: ") {
		t.Errorf("said %q", said)
	}
}

func TestNoTraceFromInside(t *testing.T) {
	for name, c := range map[string]struct{ answer, why string }{
		"the program has a profiler": {`echo '{"from":null,"to":2,"steps":5,"why":"the program has a profiler of its own"}' >$T.part; mv $T.part $T.told`, "a profiler of its own"},
		"it ends before":             {``, "the run ended before"},
		"an answer that is none":     {`echo '{"from":' >$T.part; mv $T.part $T.told`, "read what the hook says"},
		"a file that is a link":      {`ln -s /etc/passwd $T.json; echo '{"from":1,"to":2,"steps":5,"why":null}' >$T.part; mv $T.part $T.told`, "keep trace"},
	} {
		run, _, _ := asks(t, c.answer)
		if why := lackOf(run, "trace"); len(run.Facts.Captures) > 0 || !strings.Contains(why, c.why) {
			t.Errorf("%s: %q, %+v", name, why, run.Facts.Captures)
		}
	}
}

// Without the hook nobody is there to be asked.
func TestInsideNeedsTheHook(t *testing.T) {
	run := record(t, Options{Command: []string{"true"}, Inside: func() (int, int) { t.Error("asked"); return 1, 5 }})
	if len(run.Facts.Captures) > 0 {
		t.Error(run.Facts.Captures)
	}
}
