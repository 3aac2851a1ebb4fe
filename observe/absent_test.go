//go:build linux

package observe

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-dev/stoker/observe/cpu"
	"github.com/stoker-dev/stoker/observe/disk"
	"github.com/stoker-dev/stoker/observe/step"
	"github.com/stoker-dev/stoker/recording"
)

// loaded starts a Python program that has PyTorch's library mapped, to all
// appearances. It ends when its stdin does.
func loaded(t *testing.T, flags ...string) (pid int, end func()) {
	t.Helper()
	library := filepath.Join(t.TempDir(), "libtorch_cpu.so")
	if err := os.WriteFile(library, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("import mmap, sys\nf = open(%q, 'r+b')\nm = mmap.mmap(f.fileno(), 0)\nprint('ready', flush=True)\nsys.stdin.read()", library)
	job := exec.Command("python3", append(flags, "-c", script)...)
	stdin, _ := job.StdinPipe()
	stdout, _ := job.StdoutPipe()
	if err := job.Start(); err != nil {
		t.Skip("no python3 here: ", err)
	}
	end = sync.OnceFunc(func() { _ = stdin.Close(); _ = job.Wait() })
	t.Cleanup(end)
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	return job.Process.Pid, end
}

// hooked is a recorder of a program that was started with the hook, and of a time
// that is an argument.
func hooked(t *testing.T, pid int) *recorder {
	t.Helper()
	r := newRecorder(Options{Command: []string{"python3"}, Output: filepath.Join(t.TempDir(), "run.jsonl.gz")})
	t.Cleanup(func() { _ = r.out.Close() })
	r.hooked = true
	var err error
	if r.job, err = cpu.Watch(cpu.Options{Root: pid}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.job.Close)
	return r
}

// at lets a second begin.
func (r *recorder) at(now float64) {
	r.job.Second(now, r.out)
	r.silentHook(now)
	r.writeFacts()
}

// stands is why something could not be seen, by the facts and by the file.
func stands(t *testing.T, r *recorder, what string) (why string) {
	t.Helper()
	if err := r.out.Flush(); err != nil {
		t.Fatal(err)
	}
	run, err := recording.Open(r.out.Path())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range run.Facts.Absent {
		if a.What == what {
			why = a.Why
		}
	}
	if !slices.Equal(run.Facts.Absent, r.assemble().Absent) {
		t.Errorf("the file says %+v, the facts %+v", run.Facts.Absent, r.assemble().Absent)
	}
	return why
}

func (r *recorder) told(pid int, records string) {
	text := fmt.Sprintf(`{"v":1,"pid":%d,"seq":0,"dropped":0,"records":[%s]}`, pid, records)
	r.intake.Take(step.Packet{PID: pid, Data: []byte(text)}, 200)
}

// A hook that is silent for long is said to be, in words that hold; when it speaks
// after all they are taken back, in the file as well.
func TestSilenceIsTakenBack(t *testing.T) {
	pid, end := loaded(t)
	r := hooked(t, pid)
	for _, now := range []float64{0, 2, 5} {
		r.at(now)
		if why := stands(t, r, "steps"); why != "" {
			t.Fatalf("after %v s: %s", now, why)
		}
	}
	r.at(100)
	why := stands(t, r, "steps")
	if !strings.Contains(why, fmt.Sprintf("process %d has loaded PyTorch", pid)) || !strings.Contains(why, "so far") || !strings.Contains(why, "no DataLoader") {
		t.Errorf("a silent hook: %q", why)
	}
	end()
	r.at(101)
	if stands(t, r, "steps") != why {
		t.Error("it was taken back because the process has ended")
	}
	r.told(pid, `{"k":"hello","role":"main","ppid":1,"tid":1}`)
	r.at(102)
	if why := stands(t, r, "steps"); why != "" {
		t.Errorf("the hook has spoken, and the facts still say: %s", why)
	}
}

// Where the process itself shows why its hook is silent, that is said for certain.
func TestSilenceByAFlag(t *testing.T) {
	pid, _ := loaded(t, "-E")
	r := hooked(t, pid)
	r.at(0)
	r.at(100)
	if hook, steps := stands(t, r, "hook"), stands(t, r, "steps"); !strings.Contains(hook, "python -E") || steps != "" {
		t.Errorf("python -E: %q, %q", hook, steps)
	}
}

// The flags of a launcher need not be those of what it starts.
func TestShutOutIsTakenBack(t *testing.T) {
	client := `
import json, os, socket, subprocess, sys
if len(sys.argv) == 1:
    subprocess.check_call([sys.executable, "-c", os.environ["CLIENT"], "rank"])
else:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(os.environ["STOKER_HOOK_SOCKET"])
    s.send(json.dumps({"v": 1, "pid": os.getpid(), "seq": 0, "dropped": 0, "records": [{"k": "hello", "role": "main"}]}).encode())
`
	t.Setenv("CLIENT", client)
	run := record(t, Options{Command: []string{"python3", "-E", "-c", client}, Hook: emptyHook})
	for _, a := range run.Facts.Absent {
		if a.What == "hook" {
			t.Errorf("the hook spoke, and the facts say: %s", a.Why)
		}
	}
	run = record(t, Options{Command: []string{"python3", "-E", "-c", "pass"}, Hook: emptyHook})
	if !slices.ContainsFunc(run.Facts.Absent, func(a recording.Absence) bool { return a.What == "hook" && strings.Contains(a.Why, "python -E") }) {
		t.Errorf("python -E: %+v", run.Facts.Absent)
	}
	run = record(t, Options{Command: []string{"true"}})
	if !slices.ContainsFunc(run.Facts.Absent, func(a recording.Absence) bool { return a.What == "hook" && strings.Contains(a.Why, "--no-hook") }) {
		t.Errorf("--no-hook: %+v", run.Facts.Absent)
	}
}

// lateGPU is a driver that cannot be asked before a time, and then lacks a value
// until another.
type lateGPU struct {
	fakeGPU
	since time.Time
	clock time.Duration
}

func (g *lateGPU) Absent() []string {
	if time.Since(g.since) < g.clock {
		return []string{"clock: not supported"}
	}
	return nil
}

// A driver that was not there is looked for again, ever less often; what is said of
// it is always what it answered last.
func TestGPUThatComesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, asked := time.Now(), []time.Duration{}
		r := &recorder{intake: step.NewIntake(0, nil, nil), visible: map[int][]string{}}
		said := func() []string {
			synctest.Wait()
			for len(r.gpus.News) > 0 {
				r.hearGPU(<-r.gpus.News)
			}
			var all []string
			for _, a := range r.assemble().Absent {
				all = append(all, a.What+": "+a.Why)
			}
			return all
		}
		r.o.OpenGPU = func(string) (GPU, error) {
			asked = append(asked, time.Since(begun))
			if time.Sleep(time.Second); time.Since(begun) < time.Minute {
				return nil, errors.New("no driver is loaded")
			}
			return &lateGPU{since: time.Now(), clock: 5 * time.Second}, nil
		}
		expect := func(after time.Duration, want ...string) {
			t.Helper()
			time.Sleep(after - time.Since(begun))
			if got := said(); !slices.Equal(got, want) {
				t.Errorf("after %v: %q, want %q", after, got, want)
			}
		}
		r.out, _ = recording.Create(filepath.Join(t.TempDir(), "run.jsonl.gz"), recording.Facts{})
		r.watchGPUs()
		expect(500*time.Millisecond, "gpu: the driver has not answered so far")
		expect(2*time.Second, "gpu: no driver is loaded")
		expect(50*time.Second, "gpu: no driver is loaded")
		expect(75*time.Second, "gpu: clock: not supported")
		expect(90 * time.Second)
		if want := []time.Duration{0, 11 * time.Second, 32 * time.Second, 73 * time.Second}; !slices.Equal(asked, want) {
			t.Errorf("looked for at %v, want %v", asked, want)
		}
		r.gpus.Close()
		_ = r.out.Close()
	})
}

// A program that works on a device is not told that there is none.
func TestGPUThatOnlyTheProgramSees(t *testing.T) {
	for device, want := range map[string]string{
		"cuda:0": "the program computes on cuda:0, but what that does cannot be read here: no driver",
		"cpu":    "no driver",
	} {
		r := hooked(t, os.Getpid())
		r.noteAbsence("gpu", "no driver")
		r.told(os.Getpid(), `{"k":"optim","tid":1,"device":"`+device+`","dtype":"float32","steps":3}`)
		r.writeFacts()
		if why := stands(t, r, "gpu"); why != want {
			t.Errorf("%s: %q", device, why)
		}
	}
}

// Disks that cannot be read for a second are read in the next one.
func TestDisksThatComeBack(t *testing.T) {
	root := t.TempDir()
	stats := filepath.Join(root, "proc/diskstats")
	for _, dir := range []string{"proc", "sys/block/vda"} {
		_ = os.MkdirAll(filepath.Join(root, dir), 0o700)
	}
	r := hooked(t, os.Getpid())
	var err error
	if r.around.disks, err = disk.Open(root); err != nil {
		t.Fatal(err)
	}
	for _, there := range []bool{false, true, false, true} {
		_ = os.Remove(stats)
		if there {
			_ = os.WriteFile(stats, []byte("254 0 vda 9 0 9 9 9 0 9 9 0 9 9\n"), 0o600)
		}
		r.second()
		if why := stands(t, r, "disks"); (why == "") != there {
			t.Errorf("disks can be read: %t, and it is said %q", there, why)
		}
	}
	if s := r.out.RunSoFar().Find(recording.DiskBusy, "disk/vda"); s == nil || len(s.V) != 2 {
		t.Errorf("%+v", s)
	}
}
