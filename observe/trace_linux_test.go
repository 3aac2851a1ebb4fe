package observe

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/internal/private/privatetest"
	"github.com/stoker-dev/stoker/observe/capture"
	"github.com/stoker-dev/stoker/recording"
)

// libkineto is a program that trains in the hook's words and asks for a trace in
// libkineto's, over sockets in a folder; its child asks as a loader worker that was
// spawned does, until it ends. argv: where to write what each was answered, and how
// many steps to run at most, and how many traces are to be empty; it ends when it has
// written one that is not.
const libkineto = `
import json, os, socket, struct, sys, time
log, most = sys.argv[1], int(sys.argv[2])
print("use", os.environ.get("KINETO_USE_DAEMON"), flush=True)
base = os.environ.get("KINETO_IPC_SOCKET_DIR", "")
hook = None
if "STOKER_HOOK_SOCKET" in os.environ:
    hook = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    hook.connect(os.environ["STOKER_HOOK_SOCKET"])
seq = 0
def send(*records):
    global seq, hook
    try:
        if hook:
            hook.send(json.dumps({"v": 1, "pid": os.getpid(), "seq": seq, "dropped": 0, "records": records}).encode())
            seq += 1
    except OSError:
        hook = None  # observe was killed
now = time.monotonic_ns
def ask(s, kind):
    pids = [os.getpid(), os.getppid()]
    body = struct.pack("<iiq2i", kind, len(pids), 0, *pids)
    try:
        s.sendto(struct.pack("<Q32s", len(body), b"req") + body, base + "/dynolog")
        data = s.recv(65536)
    except (OSError, TimeoutError):
        return ""
    return data[40:].decode()
def client(name):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind(base + "/dynoconfigclient" + name)
    s.settimeout(0.3)
    return s
lives, parent = os.pipe()
child = os.fork()
who = "worker" if child == 0 else "main"
if child == 0:
    seq, hook = 0, None
    os.close(parent)
    os.set_blocking(lives, False)
wrote, hollow, began = 0, int(sys.argv[3]), os.getppid()
def goes_on():
    if child: return n < most and wrote <= hollow
    try: return os.read(lives, 1) != b""  # as long as the parent lives
    except BlockingIOError: return True
s, n, config = client(who), 0, ""
send({"k": "hello", "role": "main", "ppid": os.getppid(), "tid": os.getpid(), "python": "3.12", "torch": "2.15"},
     {"k": "loader", "loader": 0, "t": now(), "num_workers": 1, "batch_size": 16, "dataset": "D", "length": 1000})
next = 0
while goes_on():
    t = now()
    time.sleep(0.02)
    send({"k": "step", "loader": 0, "iter": 0, "n": n, "t": t, "w": 10**6, "p": now() - t, "grad": True, "tid": os.getpid(), "b": 16})
    n += 1
    if time.time() < next:
        continue
    next = time.time() + 0.3
    text = ask(s, 0 if config else 2)
    with open(log, "a") as f: f.write("%s %r\n" % (who, text))
    config = config or text
    if config:
        time.sleep(0.2)
        path = [l for l in config.split("\n") if l.startswith("ACTIVITIES_LOG_FILE=")][0].split("=", 1)[1][:-5] + "_%d.json" % os.getpid()
        work = '' if wrote < hollow else '{"ph": "X", "cat": "cpu_op"}'
        with open(path + ".tmp", "w") as f: f.write('{"traceEvents": [%s]}\n' % work)
        os.rename(path + ".tmp", path)
        while wrote < hollow and os.path.exists(path) and os.getppid() == began: time.sleep(0.01)  # it is thrown away: another may lie there
        wrote, config = wrote + 1, ""
with open(log, "a") as f: f.write("%s ended after %d steps\n" % (who, n))
if child:
    os.close(parent)
    os.waitpid(child, 0)
`

// kinetoCommand is the program, and where it writes what it was answered. Its
// sockets lie in a folder of the test's own.
func kinetoCommand(t *testing.T, steps, hollow int) (command []string, log string) {
	t.Helper()
	leash.Hold(t)
	dir := privatetest.Folder(t)
	t.Setenv("KINETO_IPC_SOCKET_DIR", dir)
	_ = os.Unsetenv("KINETO_USE_DAEMON")
	script := filepath.Join(dir, "train.py")
	if err := os.WriteFile(script, []byte(libkineto), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3 here")
	}
	return []string{"python3", script, dir + "/log", fmt.Sprint(steps), fmt.Sprint(hollow)}, dir + "/log"
}

func read(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// runFolders are those of an observe with this PID, and links to them.
func runFolders(pid int) []string {
	place := os.Getenv("XDG_RUNTIME_DIR") + "/stoker"
	found, _ := filepath.Glob(fmt.Sprintf("%s/run-*-%d-*", place, pid))
	links, _ := filepath.Glob(place + "/k*")
	return slices.DeleteFunc(append(found, links...), func(path string) bool {
		to, err := os.Readlink(path)
		return err == nil && !strings.Contains(to, fmt.Sprintf("-%d-", pid))
	})
}

func traceFolders() []string {
	return runFolders(os.Getpid())
}

// untilTraced is far more steps than are made before a trace is written, on any
// machine: they are slow where it is.
const untilTraced = 10_000

func TestTraceIsCaptured(t *testing.T) {
	command, log := kinetoCommand(t, untilTraced, 2)
	output := filepath.Join(t.TempDir(), "run.jsonl.gz")
	var said []string
	run := record(t, Options{
		Command: command, Output: output, Hook: emptyHook, Trace: &capture.Request{Steps: 5}, OpenGPU: blind,
		Say: func(text string) { said = append(said, text) },
	})
	if len(run.Facts.Captures) != 1 {
		t.Fatalf("captures %+v, absent %+v\n%s", run.Facts.Captures, run.Facts.Absent, read(log))
	}
	c := run.Facts.Captures[0]
	if c.File != "run.rank0.trace.json" || c.Steps != 5 || c.Bytes != 48 || c.From < 0.2 || c.To <= c.From || c.To > run.End()+1 || run.Process(c.PID) == nil {
		t.Errorf("%+v", c)
	}
	if read(filepath.Join(filepath.Dir(output), c.File)) != "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\"}]}\n" {
		t.Error("the trace is not beside the recording")
	}
	lines := read(log)
	if !strings.Contains(lines, "main ''") {
		t.Error("it was asked for a trace before its steps were steady\n" + lines)
	}
	if strings.Contains(lines, "worker 'ACT") || !strings.Contains(lines, "worker ''") {
		t.Error("a worker was not answered, or was taken for a rank\n" + lines)
	}
	if len(said) == 0 || !strings.Contains(said[len(said)-1], "is kept") { // the request itself may fall between two looks
		t.Errorf("said %q", said)
	}
	if !strings.Contains(strings.Join(said, "\n"), "a trace came in which no step is: another is asked for") {
		t.Errorf("nothing said that it was asked again: %q", said)
	}
	if left := traceFolders(); len(left) > 0 {
		t.Errorf("%v was left", left)
	}
	again, err := recording.Open(output)
	if err != nil || len(again.Facts.Captures) != 1 || again.Facts.Captures[0] != c {
		t.Errorf("the recording says %+v, %v", again.Facts.Captures, err)
	}
}

// Only an observe with a trace arms libkineto.
func TestEnvironmentOfATrace(t *testing.T) {
	for _, name := range []string{"KINETO_IPC_SOCKET_DIR", "KINETO_USE_DAEMON"} {
		t.Setenv(name, "")
		_ = os.Unsetenv(name)
	}
	place := os.Getenv("XDG_RUNTIME_DIR") + "/stoker/"
	for name, o := range map[string]Options{"without": {}, "with": {Trace: &capture.Request{Steps: 5}}} {
		out := filepath.Join(t.TempDir(), "env")
		o.Command, o.OpenGPU = []string{"sh", "-c", `env | grep ^KINETO_ | sort > "$0"`, out}, blind
		run := record(t, o)
		text := read(out)
		armed := strings.Contains(text, "KINETO_USE_DAEMON=1\n") && strings.Contains(text, "KINETO_ONDEMAND_TRACE_DIR="+place+"run-") &&
			strings.Contains(text, "KINETO_IPC_SOCKET_DIR="+place+"k")
		if armed != (name == "with") || name == "without" && text != "" {
			t.Errorf("%s: %q", name, text)
		}
		if name == "with" && !slices.ContainsFunc(run.Facts.Absent, func(a recording.Absence) bool {
			return a.What == "trace" && strings.Contains(a.Why, "no process asked")
		}) {
			t.Errorf("absent %+v", run.Facts.Absent)
		}
	}
	mine := []string{"KINETO_LOG_LEVEL=0", "KINETO_USE_DAEMON=0", "A=b"}
	got := (&tracing{folder: "/run/x", sockets: "/run/k"}).armed(mine)
	if want := []string{"KINETO_LOG_LEVEL=0", "A=b", "KINETO_USE_DAEMON=1", "KINETO_ONDEMAND_TRACE_DIR=/run/x", "KINETO_IPC_SOCKET_DIR=/run/k"}; !slices.Equal(got, want) {
		t.Error(got)
	}
}

// Whoever owns the socket keeps it; the command runs all the same, and unarmed.
func TestTraceWhereADaemonIs(t *testing.T) {
	command, log := kinetoCommand(t, 20, 0)
	other, err := capture.Listen(capture.Options{Request: capture.Request{Steps: 1}, Folder: privatetest.Folder(t), SocketDir: os.Getenv("KINETO_IPC_SOCKET_DIR")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	var warned []string
	run := record(t, Options{
		Command: command, Hook: emptyHook, Trace: &capture.Request{Steps: 5}, OpenGPU: blind,
		Warn: func(text string) { warned = append(warned, text) },
	})
	if !strings.Contains(strings.Join(warned, "\n"), "left alone") || run.Facts.Exit.Code != 0 || !strings.Contains(read(log), "main ended") {
		t.Errorf("warned %q, exit %+v, log %s", warned, run.Facts.Exit, read(log))
	}
	if len(traceFolders()) > 0 || !other.Asked() {
		t.Errorf("left %v; the other one was asked: %t", traceFolders(), other.Asked())
	}
}

// Killing observe when it has asked for the trace does not end the job, nor its
// trace; the next observe clears what was left.
func TestTraceSurvivesAKilledObserve(t *testing.T) {
	command, log := kinetoCommand(t, untilTraced, 0)
	output := filepath.Join(t.TempDir(), "run.jsonl.gz")
	t.Setenv("STOKER_TEST_TRACE", "5")
	o := observer(t, output, command...)
	leash.Wait(t, "the request", func() bool { return strings.Contains(read(log), "main 'ACT") })
	leash.Wait(t, "the steps before it in the recording", func() bool {
		run, err := recording.Open(output)
		return err == nil && len(run.Steps) >= 12
	})
	_ = o.Process.Kill()
	_ = o.Wait()
	leash.Wait(t, "the command's own end", func() bool { return strings.Contains(read(log), "main ended") })
	if run, err := recording.Open(output); err != nil || len(run.Steps) < 12 {
		t.Errorf("%v, %v", run, err)
	}
	if left := runFolders(o.Process.Pid); len(left) == 0 {
		t.Error("the folder went although the job lived")
	}
	leash.Wait(t, "the sweep, once all of the job has ended", func() bool {
		sweep(os.Getenv("XDG_RUNTIME_DIR") + "/stoker")
		return len(runFolders(o.Process.Pid)) == 0
	})
}

// A process that was started with the variable is traced without being started by
// us; one without it is told of.
func TestTraceOfARunningProcess(t *testing.T) {
	for _, armed := range []bool{true, false} {
		command, log := kinetoCommand(t, untilTraced, 0)
		job := exec.Command(command[0], command[1:]...)
		if armed {
			job.Env = append(os.Environ(), "KINETO_USE_DAEMON=1")
		}
		out, err := job.StdoutPipe()
		if err != nil || job.Start() != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); !strings.HasPrefix(line, "use ") {
			t.Fatal(line, err)
		}
		ended := make(chan error, 1)
		go func() { ended <- job.Wait() }()
		warned := ""
		run := record(t, Options{PID: job.Process.Pid, Trace: &capture.Request{Steps: 5}, OpenGPU: blind, Warn: func(text string) {
			if warned += text; !armed {
				_ = job.Process.Kill() // it would never end
			}
		}})
		if err := <-ended; armed && err != nil {
			t.Error(err)
		}
		if armed != (len(run.Facts.Captures) == 1) || armed == strings.Contains(warned, "KINETO_USE_DAEMON=1") {
			t.Errorf("armed %t: %+v, warned %q, absent %+v\n%s", armed, run.Facts.Captures, warned, run.Facts.Absent, read(log))
		}
	}
}

// Where the hook runs, the steps that train are waited for: a trace of imports shows
// nothing. Elsewhere the time decides.
func TestWhenATraceIsAskedFor(t *testing.T) {
	even := &pace{first: 70, n: 20}
	for i := range even.periods {
		even.periods[i] = 0.1
	}
	drifts := &pace{first: 70, n: 20, periods: [10]float64{9, 8, 7, 6, 5, 4, 3, 2, 1, 1}}
	for name, c := range map[string]struct {
		r     recorder
		pace  *pace
		seen  bool // its optimizer stepped
		from  float64
		first bool // no step was seen by then
	}{
		"imports":                 {recorder{hooked: true}, nil, false, stepless, true},
		"steady steps":            {recorder{hooked: true}, even, false, 0, false},
		"steps that drift":        {recorder{hooked: true}, drifts, false, 70 + warmTime, false},
		"evaluation only":         {recorder{hooked: true}, &pace{first: 70}, false, 70 + stepless, false},
		"an optimizer, no loader": {recorder{hooked: true}, nil, true, 1 + warmTime, false}, // first seen at 1 s
		"the hook is off":         {recorder{}, nil, false, warmTime, false},
		"the hook is shut out":    {recorder{hooked: true, o: Options{Command: []string{"python3", "-I", "x.py"}}}, nil, false, warmTime, false},
		"it ran before we did":    {recorder{o: Options{PID: 7}}, nil, false, attached, false},
	} {
		r := &c.r
		r.paces = map[int]*pace{}
		if c.pace != nil {
			r.paces[7] = c.pace
		}
		ready := math.NaN()
		for now := 1.0; now < 300 && math.IsNaN(ready); now++ {
			target := r.target(recording.Process{PID: 7, LauncherSeen: c.seen}, now)
			if target.Stepless != c.first {
				t.Fatalf("%s: stepless %t at %v s", name, target.Stepless, now)
			}
			if target.Ready {
				ready = now
			}
		}
		if want := math.Floor(c.from) + 1; ready != want {
			t.Errorf("%s: asked at %v s, want %v", name, ready, want)
		}
	}
}

func TestPace(t *testing.T) {
	feed := func(periods ...float64) *pace {
		p := paced{Writer: nil, paces: map[int]*pace{}}
		one := &pace{}
		p.paces[1] = one
		for _, v := range periods {
			one.periods[one.n%len(one.periods)] = v
			one.n++
		}
		return one
	}
	even := slices.Repeat([]float64{0.1}, 12)
	if !feed(even...).steady() || feed(even[:11]...).steady() {
		t.Error("twelve even steps are steady, eleven are not enough")
	}
	if !feed(append([]float64{9, 9}, even[:10]...)...).steady() {
		t.Error("a slow start counts")
	}
	if feed(1, 1, .9, .8, .7, .6, .5, .4, .3, .2, .1, .1).steady() {
		t.Error("falling step times are steady")
	}
	if !feed(slices.Repeat([]float64{0.1, 0.1, 0.9}, 5)...).steady() {
		t.Error("every third step waits for a batch, and that is steady")
	}
	if s := feed(even...).step(); s != 0.1 {
		t.Error(s)
	}
}
