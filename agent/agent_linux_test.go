package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-dev/stoker/export"
	"github.com/stoker-dev/stoker/internal/forest"
	"github.com/stoker-dev/stoker/internal/poison"
	"github.com/stoker-dev/stoker/observe"
	"github.com/stoker-dev/stoker/observe/gpu"
	"github.com/stoker-dev/stoker/recording"
)

var begin = time.Unix(1_800_000_000, 0)

// node returns an agent with a /proc of files, and its warnings.
func node(t *testing.T) (*Agent, *[]string) {
	t.Helper()
	root, warned := forest.Plant(t, forest.Machine{CPUs: 2, Trainers: 4}), &[]string{}
	return New(Options{Proc: root + "/proc", Price: 2, Most: 1000, Version: "1", Warn: func(text string) { *warned = append(*warned, text) }}), warned
}

// process gives one of the forest's processes a control group and an environment.
func process(t *testing.T, a *Agent, pid int, cgroup, environment string) {
	t.Helper()
	root := filepath.Dir(a.o.Proc)
	forest.File(t, root, fmt.Sprintf("proc/%d/cgroup", pid), cgroup)
	forest.File(t, root, fmt.Sprintf("proc/%d/environ", pid), environment)
}

// look has the agent see a device that is busy to a share, with processes.
func look(a *Agent, second int, busy float64, pids ...uint32) {
	r := gpu.Reading{Active: math.NaN(), Kernels: math.NaN(), Processes: pids}
	if busy >= 0 {
		r.Utilisation = []gpu.UtilSample{{At: begin, Ratio: busy}}
	}
	if pids == nil {
		r.Processes = []uint32{}
	}
	take(a, second, r)
}

func take(a *Agent, second int, r gpu.Reading) {
	a.take(observe.GPUNews{
		At:       begin.Add(time.Duration(second) * time.Second),
		Facts:    gpu.Facts{Devices: []gpu.Device{{UUID: "GPU-a", Name: "NVIDIA H100 80GB HBM3"}}},
		Readings: []gpu.Reading{r},
	})
}

// page is what a scrape gets.
func page(t *testing.T, a *Agent, second int) string {
	t.Helper()
	var b bytes.Buffer
	if err := a.collectMetrics(begin.Add(time.Duration(second) * time.Second)).Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// says fails where the page has not each of the texts, or one behind a "no ".
func says(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		unwanted, no := strings.CutPrefix(text, "no ")
		if no == strings.Contains(page, unwanted) {
			t.Errorf("%q; it says\n%s", text, page)
		}
	}
}

const slurm = "5:memory:/slurm/uid_1000/job_77/step_0/task_0\n"

// Without a verdict the state of a GPU has no cause, and must last before it is reported.
func TestStateWithoutVerdict(t *testing.T) {
	a, _ := node(t)
	process(t, a, 100, slurm, "RANK=3\x00WORLD_SIZE=8\x00SECRET=x\x00")
	look(a, 0, 0, 100)
	says(t, page(t, a, 0), `state="unknown"`, "no utilization_ratio{")
	for s := 1; s <= 20; s++ {
		look(a, s, 0.1, 100)
	}
	says(t, page(t, a, 20), "idle_cost_usd_total{gpu=\"0\",UUID=\"GPU-a\"} 0.01\n", `hpc_job="77",rank="3"`, `state="low-use",main_thread="sleeping"`, "no SECRET", "no stall_ratio{", "no starved\"",
		"idle_seconds_total{gpu=\"0\",UUID=\"GPU-a\"} 18\n", "jobs{gpu=\"0\",UUID=\"GPU-a\"} 1\n")
	for s := 21; s <= 50; s++ {
		look(a, s, 1, 100)
	}
	since := fmt.Sprintf("state_since_timestamp_seconds{gpu=\"0\",UUID=\"GPU-a\"} %s", strconv.FormatFloat(float64(begin.Unix()+10), 'g', -1, 64))
	says(t, page(t, a, 50), `state="low-use"`, since) // for 30 s it may be a burst
	for s := 51; s <= 65; s++ {
		look(a, s, 1, 100)
	}
	says(t, page(t, a, 65), `state="in-use"`, "no main_thread")
	for s := 66; s <= 180; s++ {
		look(a, s, 0)
	}
	says(t, page(t, a, 180), `state="unallocated"`, "no hpc_job", "jobs{gpu=\"0\",UUID=\"GPU-a\"} 0\n")
}

// A GPU that mostly copies is idle if a counter of kernels says so, no matter what GPU-Util
// says.
func TestCopiesAreNotKernels(t *testing.T) {
	for kernels, want := range map[float64][]string{
		0.25:       {"utilization_ratio{gpu=\"0\",UUID=\"GPU-a\"} 0.875\n", "kernels_ratio{gpu=\"0\",UUID=\"GPU-a\"} 0.25\n", "idle_seconds_total{gpu=\"0\",UUID=\"GPU-a\"} 15\n", `state="low-use"`},
		math.NaN(): {"utilization_ratio{gpu=\"0\",UUID=\"GPU-a\"} 0.875\n", "no kernels_ratio{", "idle_seconds_total{gpu=\"0\",UUID=\"GPU-a\"} 2.5\n", `state="in-use"`},
	} {
		a, _ := node(t)
		process(t, a, 100, slurm, "")
		for s := 0; s <= 20; s++ {
			take(a, s, gpu.Reading{Active: math.NaN(), Kernels: kernels, Utilisation: []gpu.UtilSample{{At: begin, Ratio: 0.875}}, Processes: []uint32{100}})
		}
		says(t, page(t, a, 20), want...)
	}
}

// Device memory is told as the driver has it, and not at all where it tells none.
func TestDeviceMemory(t *testing.T) {
	for used, want := range map[float64]string{30e9: "memory_used_bytes{gpu=\"0\",UUID=\"GPU-a\"} 3e+10\n", math.NaN(): "no memory_used_bytes{"} {
		a, _ := node(t)
		process(t, a, 100, slurm, "")
		take(a, 0, gpu.Reading{MemoryUsedBytes: used, Active: math.NaN(), Kernels: math.NaN(), Processes: []uint32{100}})
		says(t, page(t, a, 0), want)
	}
}

// Of the jobs that share a GPU the one that holds most of its memory is named, with all its processes.
func TestJobMemory(t *testing.T) {
	a, _ := node(t)
	process(t, a, 100, slurm, "")
	process(t, a, 101, slurm, "")
	process(t, a, 102, strings.ReplaceAll(slurm, "job_77", "job_78"), "")
	held := map[uint32]float64{100: 20e9, 101: 20e9, 102: 30e9, 103: 90e9} // nobody knows 103
	take(a, 0, gpu.Reading{Active: math.NaN(), Kernels: math.NaN(), Processes: []uint32{100, 101, 102}, Held: held})
	says(t, page(t, a, 0), `job_memory_bytes{gpu="0",UUID="GPU-a",hpc_job="77"`, "} 4e+10\n")
	take(a, 1, gpu.Reading{Active: math.NaN(), Kernels: math.NaN(), Processes: []uint32{100}})
	says(t, page(t, a, 1), "no job_memory_bytes{")
}

// Without a price of the user's a device has its list price, and one of no list none.
func TestPrice(t *testing.T) {
	a, _ := node(t)
	a.o.Price = 0
	for name, known := range map[string]bool{"NVIDIA H100 80GB HBM3 (emulated)": true, "NVIDIA Unheard-of": false} {
		if d := a.newDevice(gpu.Device{Name: name}); d.price > 0 != known || !known && !math.IsNaN(d.price) {
			t.Errorf("%s: $%v/h", name, d.price)
		}
	}
}

// If a driver hangs, a GPU is lost or a device is divided into instances, the values become
// unknown at once: old values are not reported as present ones.
func TestUnknownValuesAreLeftOut(t *testing.T) {
	a, warned := node(t)
	says(t, page(t, a, 0), "driver_up 0", "stoker_agent_gpus 0", "no last_look_timestamp_seconds ")
	a.take(observe.GPUNews{Err: errors.New("no GPU can be seen")})
	if len(*warned) != 1 {
		t.Errorf("warned of %q", *warned)
	}
	for s := range 60 {
		look(a, s, 0.9, 100)
	}
	says(t, page(t, a, 60), "driver_up 1", `state="in-use"`)
	says(t, page(t, a, 80), "driver_up 0", `state="unknown"`, "no utilization_ratio{", "idle_seconds_total{")
	for s := 80; s < 150; s++ {
		look(a, s, -1, 100) // the driver answers without a value
	}
	says(t, page(t, a, 150), "driver_up 1", `state="unknown"`, "no utilization_ratio{")
	a.take(observe.GPUNews{Err: errors.New("the driver went away")})
	says(t, page(t, a, 150), "driver_up 0")
}

// A GPU that several jobs share belongs to none; a process that vanishes takes its name
// with it, and its number with another beginning is another process.
func TestJobOfGPU(t *testing.T) {
	a, _ := node(t)
	process(t, a, 100, slurm, "RANK=0\x00")
	process(t, a, 101, "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a1b2c3d_0a1b_0a1b_0a1b_0a1b2c3d4e5f.slice/cri-containerd-"+strings.Repeat("ab", 32)+".scope\n", "")
	look(a, 0, 1, 100, 101)
	says(t, page(t, a, 0), "no hpc_job", "no pod_uid", "no rank=", "jobs{gpu=\"0\",UUID=\"GPU-a\"} 2\n")
	look(a, 1, 1, 101, 4242)
	says(t, page(t, a, 1), `pod_uid="0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f",container="abababababab"`, "jobs{gpu=\"0\",UUID=\"GPU-a\"} 1\n")
	process(t, a, 101, slurm, "")
	look(a, 2, 1, 101)
	says(t, page(t, a, 2), "pod_uid") // the same process is not asked twice
	forest.File(t, filepath.Dir(a.o.Proc), "proc/101/task/101/stat", forest.StatFile(4000, 1, "python3", 1, 0))
	look(a, 3, 1, 101)
	says(t, page(t, a, 3), `hpc_job="77"`, "no pod_uid")
	a.o.Proc = "" // numbers that are not ours name nobody
	look(a, 4, 1, 101)
	says(t, page(t, a, 4), "no hpc_job", "no stoker_gpu_jobs{")
}

func TestNamesOfControlGroups(t *testing.T) {
	id, uid := strings.Repeat("0123456789abcdef", 4), "0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f"
	for _, test := range []struct{ text, job, pod, container string }{
		{"12:cpuset:/slurm/uid_0/job_9/step_batch\n1:name=systemd:/system.slice/sshd.service\n", "9", "", ""},
		{"0::/system.slice/slurmstepd.scope/job_10/step_0/user/task_0\n", "10", "", ""},
		{"0::/system.slice/node1_slurmstepd.scope/job_11/step_0\n", "11", "", ""},
		{"0::/../../slurmstepd.scope/job_12\n", "12", "", ""},
		{"0::/user.slice/user-1000.slice/slurm/job_13\n", "", "", ""},
		{"0::/user.slice/user-1000.slice/user@1000.service/app-pod" + uid + "/" + id + "\n", "", "", ""},
		{"0::/home/slurm/x/job_14\n", "", "", ""},
		{"4:cpu:/kubepods/besteffort/pod" + uid + "/" + id + "\n", "", uid, "0123456789ab"},
		{"0::/../../kubepods-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice/crio-" + id + ".scope\n", "", uid, "0123456789ab"},
		{"0::/kubepods/pod" + strings.ReplaceAll(uid, "-", "") + "/" + id + "\n", "", strings.ReplaceAll(uid, "-", ""), "0123456789ab"},
		{"0::/system.slice/docker-" + id + ".scope\n", "", "", "0123456789ab"},
		{"0::/docker/" + id + "\n", "", "", "0123456789ab"},
		{"0::/\n", "", "", ""},
		{"", "", "", ""},
		{"nonsense", "", "", ""},
		{"0::/docker/" + poison.Name, "", "", ""},
	} {
		if job, pod, in := namesIn(test.text); job != test.job || pod != test.pod || in != test.container {
			t.Errorf("%q: job %q, pod %q, container %q", test.text, job, pod, in)
		}
	}
}

// figuresOf are a file as `stoker observe --prometheus` writes it.
func figuresOf(uuid, class string, stall float64, at time.Time) string {
	labels := []string{"rank", "0", "gpu", "0", "UUID", uuid}
	var m export.Metrics
	var b strings.Builder
	m.Set("stoker_stall_ratio", "", stall, labels...)
	m.Set("stoker_step_seconds", "", 0.2, labels...)
	for name, value := range map[string]float64{"requests_per_second": 12, "request_p99_seconds": 0.9, "no_requests_ratio": 0.1} {
		m.Set("stoker_"+name, "", value, labels...)
	}
	m.Set("stoker_verdict_info", "", 1, append(labels, "class", class, "state", "final")...)
	m.Set("stoker_run_end_timestamp_seconds", "", float64(at.Unix()), labels...)
	_ = m.Write(&b) // into memory
	return b.String()
}

// Starved and fed are the words of a job's own verdict, for as long as it speaks.
func TestStateByVerdict(t *testing.T) {
	a, _ := node(t)
	folder := t.TempDir()
	tell := func(stall float64, second int) {
		forest.File(t, folder, "a.prom", figuresOf("GPU-a", "cpu-bound/too-few-workers", stall, begin.Add(time.Duration(second)*time.Second)))
		var err error
		if a.figures, err = figuresIn(folder); err != nil {
			t.Fatal(err)
		}
	}
	tell(0.4, 20)
	for s := range 30 {
		look(a, s, 0.9, 100)
	}
	says(t, page(t, a, 30), `state="starved",class="cpu-bound/too-few-workers"`, "stall_ratio{gpu=\"0\",UUID=\"GPU-a\"} 0.4\n", "step_seconds{gpu=\"0\",UUID=\"GPU-a\"} 0.2\n",
		"requests_per_second{gpu=\"0\",UUID=\"GPU-a\"} 12\n", "request_p99_seconds{gpu=\"0\",UUID=\"GPU-a\"} 0.9\n",
		"no_requests_ratio{gpu=\"0\",UUID=\"GPU-a\"} 0.1\n")
	tell(0.02, 30)
	for s := 30; s < 60; s++ {
		look(a, s, 0.9, 100)
	}
	says(t, page(t, a, 60), `state="fed"`)
	look(a, 60, 0.9, 100, 101)
	look(a, 61, 0.9, 101)
	says(t, page(t, a, 61), `state="fed"`) // of a job one process has ended
	look(a, 62, 0.9, 102)
	says(t, page(t, a, 62), `state="in-use"`, "no class=", "no stall_ratio{") // another program: that verdict was not on it
	tell(0.3, 63)
	look(a, 64, 0.9, 102)
	says(t, page(t, a, 64), `state="starved"`)
	for s := 65; s < 400; s += 4 {
		look(a, s, 0.9, 102)
	}
	says(t, page(t, a, 400), `state="in-use"`, "no class=", "no stall_ratio{")
}

// Figures count only if their file belongs to root, to our user, or to a user of the GPU.
func TestTrustedFigures(t *testing.T) {
	a, _ := node(t)
	look(a, 0, 1, 100)
	d := a.devices[0]
	d.changed = time.Time{}
	for uid, want := range map[uint32]bool{0: true, uint32(os.Getuid()): true, 65534: false} {
		a.figures = []figure{{gpu: "GPU-a", uid: uid, at: begin}}
		if _, found := a.jobVerdict(d, begin); found != want {
			t.Errorf("user %d is believed: %v", uid, found)
		}
	}
	d.owners[0].uid = 65534
	if _, found := a.jobVerdict(d, begin); !found {
		t.Error("who runs on it is not believed")
	}
	a.figures[0].at = begin.Add(time.Hour)
	if _, found := a.jobVerdict(d, begin); found {
		t.Error("a word from the future is believed")
	}
}

// What a stranger puts into the folder holds nothing up and says no word of his own.
func TestStrangeFigures(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(folder, "fifo.prom"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(folder, "out.prom")); err != nil {
		t.Fatal(err)
	}
	forest.File(t, folder, "long.prom", strings.Repeat("a 1\n", mostText))
	forest.File(t, folder, "torn.prom", "stoker_stall_ratio{")
	forest.File(t, folder, "class.prom", figuresOf("GPU-a", "anything", math.Inf(1), begin))
	found, err := figuresIn(folder)
	if len(found) != 1 || found[0].class != "" || !math.IsNaN(found[0].stall) {
		t.Errorf("found %+v", found)
	}
	for _, name := range []string{"fifo", "out", "long", "torn"} {
		if !strings.Contains(fmt.Sprint(err), name+".prom: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := figuresIn(filepath.Join(folder, "absent")); err == nil {
		t.Error("a folder that is not there is read")
	}
}

// A page never exceeds its limit of series, and lists a GPU completely or not at all.
func TestCap(t *testing.T) {
	for _, most := range []int{0, 30, 1000} {
		a, warned := node(t)
		a.o.Most = most
		process(t, a, 100, slurm, "RANK=0\x00")
		news := observe.GPUNews{}
		for i := range 64 {
			uuid := fmt.Sprint("GPU-", i)
			news.Facts.Devices = append(news.Facts.Devices, gpu.Device{Index: i, UUID: uuid, Name: "NVIDIA H100" + poison.Text, MIG: true, Emulated: true})
			news.Readings = append(news.Readings, gpu.Reading{Index: i, Utilisation: []gpu.UtilSample{{Ratio: 0.5}}, Active: 0.5, Kernels: 0.5, SlowedKnown: true, Slowed: recording.ByHeat, Processes: []uint32{100}, Held: map[uint32]float64{100: 1e9}})
			a.figures = append(a.figures, figure{gpu: uuid, uid: uint32(os.Getuid()), at: begin.Add(time.Second), class: "straggler", stall: 0.5, step: 1, rate: 1})
		}
		for s := range 12 {
			news.At = begin.Add(time.Duration(s) * time.Second)
			a.take(news)
		}
		text, series := page(t, a, 12), 0
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "#") {
				series++
			}
		}
		shown := a.fittingGPUs()
		if series != ofAgent+shown*ofGPU || series > max(most, ofAgent) {
			t.Errorf("%d series of at most %d, %d GPUs", series, most, shown)
		}
		if shown == 64 {
			examplesAskFor(t, text)
		}
		if leak := poison.Leak(strings.ReplaceAll(text, "\n", "")); leak != "" {
			t.Errorf("stands raw: %s", leak)
		}
		if (len(*warned) > 0) != (shown < 64) {
			t.Error("nothing is said of what is left out")
		}
	}
}

// examplesAskFor fails if rules or dashboard use metrics that are not exported.
func examplesAskFor(t *testing.T, page string) {
	t.Helper()
	metric := regexp.MustCompile(`\b(?:stoker|process)_[a-z_]+`)
	for _, file := range []string{"rules.yml", "dashboard.json"} {
		text, err := os.ReadFile("../examples/fleet/" + file)
		if err != nil {
			t.Fatal(err)
		}
		asked := metric.FindAllString(string(text), -1)
		if len(asked) < 10 {
			t.Errorf("%s asks for %d metrics", file, len(asked))
		}
		for _, name := range asked {
			if !strings.Contains(page, "# TYPE "+name+" ") {
				t.Errorf("%s asks for %s, which is not told", file, name)
			}
		}
	}
}

// Who may not ask learns nothing, and no request changes anything.
func TestDoor(t *testing.T) {
	a, _ := node(t)
	secret := "0123456789abcdef"
	for _, test := range []struct {
		door                 Door
		method, host, header string
		want                 int
	}{
		{Door{Hosts: []string{"127.0.0.1:1"}}, "GET", "127.0.0.1:1", "", 200},
		{Door{Hosts: []string{"127.0.0.1:1"}}, "HEAD", "127.0.0.1:1", "", 200},
		{Door{Hosts: []string{"127.0.0.1:1"}}, "GET", "evil.example:1", "", 421},
		{Door{Hosts: []string{"127.0.0.1:1"}}, "GET", "127.0.0.1:1", "Origin: http://evil.example", 403},
		{Door{Hosts: []string{"127.0.0.1:1"}}, "GET", "127.0.0.1:1", "Sec-Fetch-Site: cross-site", 403},
		{Door{Hosts: []string{"127.0.0.1:1"}}, "POST", "127.0.0.1:1", "", 405},
		{Door{Token: func() (string, error) { return secret, nil }}, "GET", "node:9", "Authorization: Bearer " + secret, 200},
		{Door{Hosts: []string{"localhost:1"}}, "GET", "LocalHost:1", "", 200},
		{Door{Token: func() (string, error) { return secret, nil }}, "GET", "node:9", "Authorization: bearer " + secret, 200},
		{Door{Token: func() (string, error) { return secret, nil }}, "GET", "node:9", "Authorization: BEARER  " + secret, 200},
		{Door{Token: func() (string, error) { return secret, nil }}, "GET", "node:9", "Authorization: Basic " + secret, 401},
		{Door{Token: func() (string, error) { return secret, nil }}, "GET", "node:9", "Authorization: Bearer" + secret, 401},
		{Door{Token: func() (string, error) { return secret, nil }}, "GET", "node:9", "Authorization: Bearer " + secret + "0", 401},
		{Door{Token: func() (string, error) { return secret, nil }}, "GET", "127.0.0.1:9", "", 401},
		{Door{Token: func() (string, error) { return "", nil }}, "GET", "node:9", "Authorization: Bearer ", 401},
		{Door{Token: func() (string, error) { return secret, errors.New("gone") }}, "GET", "node:9", "Authorization: Bearer " + secret, 401},
	} {
		r := httptest.NewRequestWithContext(t.Context(), test.method, "/metrics", nil)
		r.Host = test.host
		if name, value, found := strings.Cut(test.header, ": "); found {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		a.Handler(test.door).ServeHTTP(w, r)
		if w.Code != test.want || (w.Code != http.StatusOK) == strings.Contains(w.Body.String(), "stoker_agent") && test.method == http.MethodGet {
			t.Errorf("%+v: %d %s", test, w.Code, w.Body)
		}
		if names := strings.Contains(w.Body.String(), "--token-file is asked for"); names != (test.want == 401) || names != (w.Header().Get("WWW-Authenticate") != "") {
			t.Errorf("%+v is told: %s", test, w.Body)
		}
		if w.Code == http.StatusMisdirectedRequest && !strings.Contains(w.Body.String(), test.host) {
			t.Errorf("%+v is told: %s", test, w.Body)
		}
		if w.Header().Get("X-Frame-Options") != "DENY" {
			t.Error("no headers that shut it")
		}
	}
}

// hung is a driver that answers once, and then no more until it is released.
type hung struct {
	asked   int
	release chan bool
}

func (h *hung) Facts() gpu.Facts {
	if h.asked++; h.asked > 1 {
		<-h.release
	}
	return gpu.Facts{Devices: []gpu.Device{{UUID: "GPU-a"}}}
}
func (*hung) Read(time.Time) []gpu.Reading { return []gpu.Reading{{}} }
func (*hung) Absent() []string             { return nil }
func (*hung) Close() error                 { return nil }

// A driver that hangs holds neither a scrape nor the end up.
func TestHangingDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := node(t)
		driver := &hung{release: make(chan bool)}
		a.o.OpenGPU = func() (observe.GPU, error) { return driver, nil }
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan bool)
		go func() { a.Run(ctx); close(ended) }()
		time.Sleep(2 * time.Second)
		var b bytes.Buffer
		_ = a.collectMetrics(time.Now()).Write(&b)
		says(t, b.String(), "driver_up 1", "stoker_agent_gpus 1")
		time.Sleep(time.Minute)
		b.Reset()
		_ = a.collectMetrics(time.Now()).Write(&b)
		says(t, b.String(), "driver_up 0", "stoker_agent_gpus 1", `state="unknown"`)
		cancel()
		<-ended
		close(driver.release)
	})
}
