package observe

import (
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/observe/step"
	"github.com/stoker-dev/stoker/recording"
)

// ranks are two programs that train in the hook's words, each until it was asked for a
// trace and answered; a child of the first is a loader worker. argv: where to write
// what was asked.
const ranks = `
import json, os, socket, sys, time
now = time.monotonic_ns
folder = os.path.dirname(os.environ["STOKER_HOOK_SOCKET"])
rank = int(os.fork() == 0)
hook = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
hook.connect(os.environ["STOKER_HOOK_SOCKET"])
seq = 0
def send(*records):
    global seq
    hook.send(json.dumps({"v": 1, "pid": os.getpid(), "seq": seq, "dropped": 0, "records": records}).encode())
    seq += 1
base = os.path.join(folder, "trace-%d." % os.getpid())
begun = now()
send({"k": "hello", "role": "main", "ppid": os.getppid(), "tid": os.getpid(), "python": "3.12", "torch": "2.15", "rank": rank, "world": 2},
     {"k": "loader", "loader": 0, "t": now(), "num_workers": 1, "batch_size": 16, "dataset": "D", "length": 1000})
n = 0
while not os.path.exists(base + "ask"):
    t = now()
    time.sleep(0.02)
    send({"k": "step", "loader": 0, "iter": 0, "n": n, "t": t, "w": 10**6, "p": now() - t, "grad": True, "tid": os.getpid(), "b": 16})
    n += 1
with open(base + "ask") as asked, open(sys.argv[1], "a") as log:
    log.write("%d %d %s\n" % (rank, n, asked.read()))
with open(base + "json", "w") as f: f.write('{"traceEvents": []}\n')
with open(base + "part", "w") as f: json.dump({"from": begun, "to": now(), "steps": 5, "why": None}, f)
os.rename(base + "part", base + "told")
if not rank: os.wait()
`

func read(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// runFolders are those of an observe with this PID.
func runFolders(pid int) []string {
	found, _ := filepath.Glob(os.Getenv("XDG_RUNTIME_DIR") + "/stoker/run-*-" + strconv.Itoa(pid) + "-*")
	return found
}

// Each rank is asked once, when its steps are steady.
func TestTraceOfEachRank(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3 here")
	}
	leash.Hold(t)
	folder, said := t.TempDir(), ""
	output := filepath.Join(folder, "run.jsonl.gz")
	run := record(t, Options{
		Command: []string{"python3", "-c", ranks, folder + "/log"}, Output: output, Hook: emptyHook, OpenGPU: blind,
		Trace: &TraceRequest{Steps: 5, Stacks: true},
		Say:   func(text string) { said += text + "\n" },
	})
	asked := strings.Fields(read(folder + "/log"))
	if len(asked) != 6 || asked[2] != `{"steps":5,"stacks":true}` || asked[5] != asked[2] {
		t.Fatalf("asked %q", asked)
	}
	for _, n := range []string{asked[1], asked[4]} {
		if n, _ := strconv.Atoi(n); n < 12 {
			t.Errorf("asked after %d steps, before they were steady", n)
		}
	}
	var files []string
	for _, c := range run.Facts.Captures {
		files = append(files, c.File)
		if c.Steps != 5 || !c.Inside || c.To <= c.From || run.FindProcess(c.PID) == nil {
			t.Errorf("%+v", c)
		}
		if info, err := os.Stat(filepath.Join(folder, c.File)); err != nil || info.Mode().Perm() != 0o600 {
			t.Error(info, err)
		}
	}
	if slices.Sort(files); !slices.Equal(files, []string{"run.rank0.trace.json", "run.rank1.trace.json"}) || lackOf(run, "trace") != "" {
		t.Errorf("kept %q, absent %+v", files, run.Facts.Absent)
	}
	for _, want := range []string{"a trace of 5 steps is asked for", "is kept, "} {
		if strings.Count(said, want) != 2 {
			t.Errorf("%q is missing: %s", want, said)
		}
	}
	again, err := recording.Open(output)
	if err != nil || !slices.Equal(again.Facts.Captures, run.Facts.Captures) {
		t.Errorf("the recording says %+v, %v", again.Facts.Captures, err)
	}
	if left := runFolders(os.Getpid()); len(left) > 0 {
		t.Errorf("%v was left", left)
	}
}

// Where no trace is taken the recording says why.
func TestWhyThereIsNoTrace(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Command: []string{"true"}}, "needs the hook"},
		{Options{Command: []string{"true"}, Hook: emptyHook}, "the hook saw no step"},
		{Options{Command: []string{"python3", "-I", "-c", ""}, Hook: emptyHook}, "shut out by python -I"},
	} {
		c.o.Output = filepath.Join(t.TempDir(), "run.jsonl.gz")
		c.o.Trace, c.o.OpenGPU = &TraceRequest{Steps: 5}, blind
		if why := lackOf(record(t, c.o), "trace"); !strings.Contains(why, c.want) {
			t.Errorf("%v: %q, want %q", c.o.Command, why, c.want)
		}
	}
	folder := t.TempDir()
	waits := strings.Replace(insideHook[:strings.Index(insideHook, "while")], "T=", "", 1) + "sleep 1.5"
	o := Options{Command: []string{"sh", "-c", waits}, Dir: folder, Hook: emptyHook, OpenGPU: blind, Inside: asked(folder)}
	run, err := Record(context.Background(), o)
	if err != nil || !strings.Contains(lackOf(run, "trace"), "nothing is recorded") {
		t.Errorf("%+v, %v", run.Facts.Absent, err)
	}
}

// Nothing is set for libkineto but that it is silent where a trace may be taken.
func TestEnvironmentOfATrace(t *testing.T) {
	t.Setenv(logLevel, "")
	_ = os.Unsetenv(logLevel)
	for name, o := range map[string]Options{"": {Hook: emptyHook}, logLevel + "=6\n": {Hook: emptyHook, Trace: &TraceRequest{Steps: 5}}} {
		out := filepath.Join(t.TempDir(), "env")
		o.Command, o.OpenGPU = []string{"sh", "-c", `env | grep ^KINETO_ > "$0"`, out}, blind
		if record(t, o); read(out) != name {
			t.Errorf("%q, want %q", read(out), name)
		}
	}
}

// The steps that train are waited for: a trace of imports shows nothing.
func TestWhenATraceIsAskedFor(t *testing.T) {
	even := &pace{first: 70, n: 20}
	for i := range even.periods {
		even.periods[i] = 0.1
	}
	for name, c := range map[string]struct {
		pace *pace
		seen bool // its optimizer stepped
		from float64
	}{
		"imports":                 {nil, false, math.NaN()},
		"steady steps":            {even, false, 0},
		"steps that drift":        {&pace{first: 70, n: 20, periods: [10]float64{9, 8, 7, 6, 5, 4, 3, 2, 1, 1}}, false, 70 + warmTime},
		"evaluation only":         {&pace{first: 70}, false, 70 + trainingTime},
		"an optimizer, no loader": {nil, true, 1 + warmTime}, // first seen at 1 s
	} {
		r := &recorder{hooked: true, paces: map[int]*pace{}, intake: step.NewIntake(0, nil, nil)}
		if c.pace != nil {
			r.paces[7] = c.pace
		}
		ready := math.NaN()
		for now := 1.0; now < 300 && math.IsNaN(ready); now++ {
			if r.isReadyForTrace(recording.Process{PID: 7, Role: recording.RoleTrainer, LauncherSeen: c.seen}, now) {
				ready = now
			}
		}
		if want := math.Floor(c.from) + 1; ready != want && !(math.IsNaN(ready) && math.IsNaN(want)) {
			t.Errorf("%s: asked at %v s, want %v", name, ready, want)
		}
	}
}

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
		Say:    func(text string) { said += text + "\n" },
		Inside: asked(folder),
	})
	if got := read(filepath.Join(folder, "asked")); got != `{"steps":7}` {
		t.Errorf("asked %q", got)
	}
	return run, folder, said
}

// asked names the shell once it has said who it is.
func asked(folder string) func() (pid, steps int) {
	return func() (int, int) {
		pid, _ := strconv.Atoi(strings.TrimSpace(read(filepath.Join(folder, "pid"))))
		return pid, 7
	}
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
	if !strings.Contains(said, "is kept, ") {
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
