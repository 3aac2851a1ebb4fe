package nsight

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/recording"
)

func TestMain(m *testing.M) { os.Exit(leash.Main(m)) }

const shared = "../../../shared/traces/nsight/"

func open(t *testing.T, file string, o Options) (*Trace, error) {
	t.Helper()
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) && strings.HasPrefix(file, shared) {
		t.Skip("the public exports are not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return ReadFile(context.Background(), f, o)
}

// variant is the made-up export with changes in SQL.
func variant(t *testing.T, changes ...string) string {
	t.Helper()
	if len(changes) == 0 {
		return "testdata/made.sqlite"
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 to write a database with")
	}
	file := filepath.Join(t.TempDir(), "made.sqlite")
	if out, err := exec.Command(python, append([]string{"testdata/make.py", file}, changes...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

func read(t *testing.T, file string) *Trace {
	t.Helper()
	tr, err := open(t, file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	sound(t, tr)
	return tr
}

func says(t *testing.T, tr *Trace, want string) {
	t.Helper()
	if !strings.Contains(strings.Join(tr.Warnings, "\n"), want) {
		t.Errorf("no warning with %q in:\n%s", want, strings.Join(tr.Warnings, "\n"))
	}
}

func TestMade(t *testing.T) {
	tr := read(t, variant(t))
	tl := tr.Timeline
	d, h := &tl.Device, &tl.Host
	if len(d.Start) != 18 || len(tl.Devices) != 2 || tl.Devices[0].PID != 100 || tl.Devices[1].PID != 200 {
		t.Fatalf("%d pieces of work on %v", len(d.Start), tl.Devices)
	}
	seen := map[string]int{}
	for i := range d.Start {
		seen[tl.Names[d.Name[i]]]++
		c := d.Call[i]
		if c < 0 {
			t.Fatalf("work %d is not linked", i)
		}
		if tl.Threads[h.Thread[c]].PID != tl.Devices[d.Device[i]].PID || h.Start[c] > d.Start[i] {
			t.Errorf("work %d is linked to another process or to a later call", i)
		}
	}
	for name, n := range map[string]int{
		"Memcpy HtoD (Pageable -> Device)": 3, "Memcpy HtoD (Pinned -> Device)": 3,
		"void gemm<float, 128>(Params)": 6, "ncclDevKernel_AllReduce_Sum_f32": 6,
	} {
		if seen[name] != n {
			t.Errorf("%q came %d times, want %d: %v", name, seen[name], n, seen)
		}
	}
	gemm := 1 // a copy comes first
	if tl.Names[d.Name[gemm]] != "void gemm<float, 128>(Params)" {
		gemm++
	}
	if d.Blocks[gemm] != 128 || d.Threads[gemm] != 256 || d.PerSM[gemm] != float32(128)/132 || d.Bytes[gemm] != -1 {
		t.Errorf("the first kernel has %d blocks of %d, %v per SM", d.Blocks[gemm], d.Threads[gemm], d.PerSM[gemm])
	}
	for i, kind := range d.Kind {
		if nccl := strings.HasPrefix(tl.Names[d.Name[i]], "nccl"); nccl != (kind == recording.Collective) {
			t.Errorf("%s is a %v", tl.Names[d.Name[i]], kind)
		}
	}
	calls(t, tl)
	if len(tr.Steps) != 6 || tr.Steps[0].N != 0 || tr.Steps[5].N != 2 || tr.Steps[5].Rank != 1 || math.Abs(tr.Steps[0].Period-0.01) > 1e-12 || math.Abs(tr.Steps[0].Wait-0.004) > 1e-9 {
		t.Errorf("steps %+v", tr.Steps)
	}
	if tr.Facts.StepsFrom != `ranges "iteration …"` {
		t.Errorf("steps from %q", tr.Facts.StepsFrom)
	}
	says(t, tr, "2 processes drive devices")
	says(t, tr, "12 events were [31mlost")
	facts(t, tr)
}

// calls: names without what CUPTI adds, operators with shapes, waits of the
// operating system on the threads that matter.
func calls(t *testing.T, tl *recording.Timeline) {
	t.Helper()
	h := &tl.Host
	kinds := map[string]recording.CallKind{}
	for i, name := range h.Name {
		kinds[tl.Names[name]] = h.Kind[i]
		if tl.Names[name] == "aten::linear" && tl.Names[max(0, h.Shapes[i])] != "[[32,128],[128,64],[]]" {
			t.Errorf("shapes %q", tl.Names[max(0, h.Shapes[i])])
		}
	}
	for name, want := range map[string]recording.CallKind{
		"cudaLaunchKernel": recording.Runtime, "cudaMemcpyAsync": recording.Runtime, "aten::linear": recording.Op, "poll": recording.Annotation,
		"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__": recording.Annotation, "iteration 2": recording.Annotation,
	} {
		if kind, found := kinds[name]; !found || kind != want {
			t.Errorf("%s: found %v, kind %d, want %d", name, found, kind, want)
		}
	}
	if len(kinds) != 8 { // those and iterations 0 and 1
		t.Errorf("names of calls: %v", kinds)
	}
	if tl.Dropped["calls of the operating system on threads that call no CUDA and mark no range"] != 2 || tl.Dropped["without an end"] != 1 {
		t.Errorf("dropped: %v", tl.Dropped)
	}
}

func facts(t *testing.T, tr *Trace) {
	t.Helper()
	f := tr.Facts
	if len(f.GPUs) != 2 || f.GPUs[0].Name != "NVIDIA H100 80GB HBM3" || f.GPUs[0].SMs != 132 || f.GPUs[0].Capability != "9.0" || tr.Timeline.Devices[1].GPU != 1 {
		t.Errorf("GPUs %+v", f.GPUs)
	}
	if f.Started != 1_700_000_000.01 || f.Machine.CPUs != 18 || f.Software.Driver != "580.95.05" || len(f.Loaders) != 2 {
		t.Errorf("facts %+v", f)
	}
	if text := fmt.Sprintf("%+v %v", tr.Facts, tr.Timeline.Names); strings.Contains(text, "secret") {
		t.Error("the process's environment was read")
	}
	if len(f.Processes) != 2 || f.Processes[1].PID != 200 || f.Processes[1].Rank != 1 || f.Processes[1].World != 2 || f.Processes[0].LaunchThread != 100 {
		t.Errorf("processes %+v", f.Processes)
	}
	if len(tr.Series) != 1 || tr.Series[0].Subject != "gpu/0" || len(tr.Series[0].V) != 3 || math.Abs(tr.Series[0].V[0]-0.4) > 1e-12 {
		t.Errorf("series %+v", tr.Series)
	}
	if tr.Timeline.Threads[0].Name != "pt_main" {
		t.Errorf("threads %+v", tr.Timeline.Threads)
	}
}

// Whether CUDA was recorded, the file says itself.
func TestWhetherCUDAWasRecorded(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "false": false} {
		tr := read(t, variant(t, "CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT)",
			"INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:COLLECT_CUDA_TRACE', '"+value+"')"))
		if tr.Facts.DeviceTraced != want {
			t.Errorf("%s: %v", value, tr.Facts.DeviceTraced)
		}
	}
}

// TestSchemas: what a version lacks or adds is no error, and nothing is guessed.
func TestSchemas(t *testing.T) {
	drop := func(tables ...string) (out []string) {
		for _, table := range tables {
			out = append(out, "DROP TABLE "+table)
		}
		return out
	}
	for name, c := range map[string]struct {
		changes []string
		want    string
		check   func(t *testing.T, tr *Trace)
	}{
		"newer": {[]string{
			"ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN clusterX INTEGER", "UPDATE META_DATA_EXPORT SET value = '9.1.0'",
			"CREATE TABLE CUPTI_ACTIVITY_KIND_NOVELTY (start INTEGER)", "CREATE VIEW GPU AS SELECT * FROM NVTX_EVENTS",
		}, "", func(t *testing.T, tr *Trace) {
			if tr.Facts.StepsFrom != `ranges "iteration …"` {
				t.Errorf("steps from %q", tr.Facts.StepsFrom)
			}
		}},
		"numbered tables": {[]string{
			"ALTER TABLE NVTX_EVENTS RENAME TO NVTX_EVENTS_V2", "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO CUPTI_ACTIVITY_KIND_KERNEL_V3",
			"CREATE TABLE NVTX_EVENTS_V1 (start INTEGER)",
		}, "", func(t *testing.T, tr *Trace) {
			if want := read(t, variant(t)); tr.Facts.StepsFrom != `ranges "iteration …"` || len(tr.Timeline.Device.Start) != len(want.Timeline.Device.Start) {
				t.Errorf("steps from %q, %d pieces of work, want %d", tr.Facts.StepsFrom, len(tr.Timeline.Device.Start), len(want.Timeline.Device.Start))
			}
		}},
		"a column renamed": {[]string{"ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY RENAME COLUMN start TO begin"}, "no column start", nil},
		"only the device":  {drop("CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "OSRT_API"), "no call of the CUDA runtime", nil},
		"only the host":    {drop("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY"), "no work of a device", nil},
		"an idle GPU": {[]string{"INSERT INTO TARGET_INFO_GPU (rowid, id, name) VALUES (-5, 7, 'idle')"}, "", func(t *testing.T, tr *Trace) {
			if f := tr.Facts; len(f.GPUs) != 2 || f.GPUs[0].Name == "idle" || tr.Timeline.Devices[1].GPU != 1 {
				t.Errorf("GPUs %+v, devices %+v", f.GPUs, tr.Timeline.Devices)
			}
		}},
		"GPUs by their former number": {[]string{"ALTER TABLE TARGET_INFO_GPU RENAME COLUMN id TO deviceId"}, "", func(t *testing.T, tr *Trace) {
			if want := read(t, variant(t)).Facts.GPUs; len(tr.Facts.GPUs) != len(want) || tr.Facts.GPUs[0].Name != want[0].Name {
				t.Errorf("GPUs %+v, want %+v", tr.Facts.GPUs, want)
			}
		}},
		"GPUs without a number": {[]string{"ALTER TABLE TARGET_INFO_GPU RENAME COLUMN id TO place"}, "holds none that can be read", nil},
		"no GPU":                {drop("TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE", "StringIds"), "which GPUs were used", nil},
		"no ENUM": {append(drop("ENUM_CUDA_MEMCPY_OPER", "ENUM_CUDA_MEM_KIND"), "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET copyKind = 1, srcKind = 1, dstKind = 2"), "", func(t *testing.T, tr *Trace) {
			if name := tr.Timeline.Names[tr.Timeline.Device.Name[0]]; name != "Memcpy HtoD (Pinned -> Device)" {
				t.Errorf("without ENUM tables: %q", name)
			}
		}},
		"no ids": {[]string{"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = NULL, globalPid = NULL"}, "", func(t *testing.T, tr *Trace) {
			for i, kind := range tr.Timeline.Device.Kind {
				if kind == recording.Kernel && tr.Timeline.Device.Call[i] >= 0 {
					t.Error("a kernel without an id is linked")
				}
			}
		}},
		"graphs": {[]string{
			"CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER)",
			"INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (41000000, 42000000, 0, 7, 1, 1677721600, 3)",
		}, "--cuda-graph-trace=node", nil},
		"strange times": {[]string{
			"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start - 1 WHERE correlationId = 2", "UPDATE NVTX_EVENTS SET start = -5 WHERE text LIKE 'aten%'",
			"UPDATE OSRT_API SET start = 9000000000000000000", "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = 'noon' WHERE correlationId = 3",
		}, "impossible time", nil},
		"a domain that is registered before": {[]string{"INSERT INTO NVTX_EVENTS (start, eventType, text) VALUES (-1571524610, 75, 'cuBLAS')"}, "", func(t *testing.T, tr *Trace) {
			if len(tr.Facts.Damage) > 0 {
				t.Errorf("it is told as damage: %q", tr.Facts.Damage)
			}
		}},
		"text in integers": {[]string{"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET gridX = 'many', demangledName = x'00ff', shortName = NULL"}, "", func(t *testing.T, tr *Trace) {
			if name := tr.Timeline.Names[tr.Timeline.Device.Name[1]]; name != "kernel without a name" {
				t.Errorf("a kernel without a name: %q", name)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := read(t, variant(t, c.changes...))
			if c.want != "" {
				says(t, tr, c.want)
			}
			if c.check != nil {
				c.check(t, tr)
			}
		})
	}
}

// Whose program an export is of, names tell; Python without a sign may be PyTorch's.
func TestFramework(t *testing.T) {
	bare := []string{"DELETE FROM NVTX_EVENTS", "UPDATE StringIds SET value = 'a.out' WHERE value = 'pt_main'"}
	for want, changes := range map[string][][]string{
		"":     {nil, {"DELETE FROM NVTX_EVENTS", "UPDATE StringIds SET value = 'python3' WHERE value = 'pt_main'"}, append([]string{"UPDATE StringIds SET value = 'void at::native::vectorized_elementwise_kernel<4>' WHERE value LIKE 'void gemm%'"}, bare...)},
		"CUDA": {bare, {"DELETE FROM NVTX_EVENTS", "UPDATE StringIds SET value = 'python3' WHERE value = 'pt_main'", "UPDATE StringIds SET value = 'trt_ampere_h16816gemm_64x64' WHERE value LIKE 'void gemm%'"}},
		"XLA":  {append([]string{"UPDATE StringIds SET value = 'loop_add_fusion_2' WHERE value LIKE 'void gemm%'"}, bare...)},
	} {
		for _, sql := range changes {
			if got := read(t, variant(t, sql...)).Facts.Software.Framework; got != want {
				t.Errorf("%q: %q, want %q", sql, got, want)
			}
		}
	}
}

// A program without PyTorch is not told to record with PyTorch's means.
func TestHowToMarkSteps(t *testing.T) {
	for thread, torch := range map[string]bool{"python3": true, "a.out": false} {
		tr := read(t, variant(t, "DROP TABLE NVTX_EVENTS", "UPDATE StringIds SET value = '"+thread+"' WHERE value = 'pt_main'"))
		all := strings.Join(tr.Warnings, "\n")
		if strings.Contains(all, "emit_nvtx") != torch || strings.Contains(all, "torch.") != torch || strings.Contains(all, "nvtxRangePush") == torch {
			t.Errorf("%s: %s", thread, all)
		}
	}
}

// Python that shows no work of a device is not PyTorch for that.
func TestPythonWithoutADevice(t *testing.T) {
	drops := []string{"DROP TABLE NVTX_EVENTS", "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL", "DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY"}
	for thread, torch := range map[string]bool{"python3": false, "pt_main_thread": true} {
		tr := read(t, variant(t, append([]string{"UPDATE StringIds SET value = '" + thread + "' WHERE value = 'pt_main'"}, drops...)...))
		if all := strings.Join(tr.Warnings, "\n"); strings.Contains(all, "emit_nvtx") != torch || !strings.Contains(all, recording.NoDeviceWork) {
			t.Errorf("%s: %s", thread, all)
		}
	}
}

// TestWindow: of more events than may be kept, those around the middle are.
func TestWindow(t *testing.T) {
	file := variant(t, "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT start + 20000000 * n, end + 20000000 * n, deviceId, streamId, correlationId + 100 * n, globalPid, demangledName, shortName, 1, 1, 1, 1, 1, 1, NULL "+
		"FROM CUPTI_ACTIVITY_KIND_KERNEL, (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 500) SELECT n FROM c)")
	tr, err := open(t, file, Options{Most: 1000})
	if err != nil {
		t.Fatal(err)
	}
	sound(t, tr)
	n := len(tr.Timeline.Device.Start) + len(tr.Timeline.Host.Start)
	if n < 900 || n > 1000 || n+tr.Timeline.Dropped["outside of the part that was read"] != int(tr.Events) {
		t.Errorf("%d kept of %d, dropped %v", n, tr.Events, tr.Timeline.Dropped)
	}
	if at := float64(tr.Zero)/1e9 - 1_700_000_000; at < 3 || at > 6 {
		t.Errorf("the part begins at %.1f s of 10", at)
	}
	says(t, tr, "were read, around the middle of the device's work")
}

func TestRefuses(t *testing.T) {
	folder := t.TempDir()
	write := func(name string, data []byte) string {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	made, err := os.ReadFile("testdata/made.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	zeroed := append(bytes.Clone(made[:100]), make([]byte, len(made)-100)...)
	huge := bytes.Clone(made)
	copy(huge[28:], []byte{0xff, 0xff, 0xff, 0xfe})
	wal := write("wal.sqlite", made)
	write("wal.sqlite-wal", []byte("x"))
	hot := write("hot.sqlite", made)
	write("hot.sqlite-journal", []byte("x"))
	for name, c := range map[string]struct{ file, want string }{
		"header only":  {write("a", made[:100]), "within its first page"},
		"zero-filled":  {write("b", zeroed), "damaged or encrypted"},
		"one page":     {write("c", made[:512]), "within its list of tables"},
		"wal":          {wal, "write-ahead log"},
		"hot":          {hot, "in the middle of writing"},
		"foreign":      {foreign(t, folder, "moz_places", "cookies"), "did not write (its tables: cookies, moz_places)"},
		"rocpd":        {foreign(t, folder, "rocpd_info_agent_00ab"), "a rocpd database of rocprofv3"},
		"rpd":          {foreign(t, folder, "rocpd_api"), "a database of rocmProfileData"},
		"nvprof":       {foreign(t, folder, "StringTable", "CUPTI_ACTIVITY_KIND_RUNTIME"), "a database of nvprof"},
		"rocprof, HIP": {foreign(t, folder, "A", "COPY", "HIP", "OPS", "rocTX"), "a database of rocprof"},
		"memscope":     {foreign(t, folder, "memory_block", "memscope_dump"), "Ascend's memory profiler"},
		"rocprof":      {foreign(t, folder, "KERN"), "a database of rocprof"},
		"msprof":       {foreign(t, folder, "CANN_API", "TASK"), "a database of Ascend's profiler"},
		"no events":    {variant(t, "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL", "DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY", "DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME", "DROP TABLE NVTX_EVENTS", "DROP TABLE OSRT_API"), "without any table of CUDA"},
		"empty": {variant(t, "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL", "DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY", "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME", "DELETE FROM NVTX_EVENTS",
			"DELETE FROM OSRT_API"), "no event was found"},
	} {
		_, err := open(t, c.file, Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	tr := read(t, write("huge", huge))
	says(t, tr, "its header promises")
}

func foreign(t *testing.T, folder string, tables ...string) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 to write a database with")
	}
	file := filepath.Join(folder, tables[0]+".sqlite")
	script := "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); [d.execute(f'CREATE TABLE {t} (x)') for t in sys.argv[2:]]; d.commit()"
	if out, err := exec.Command(python, append([]string{"-c", script, file}, tables...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

// TestLocked: a database that somebody is writing is refused, and reading leaves
// no file behind, also in a folder that may only be read.
func TestLocked(t *testing.T) {
	leash.Hold(t)
	file := variant(t, "SELECT 1")
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 to lock a database with")
	}
	command := exec.Command(python, "-c", "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); d.execute('BEGIN EXCLUSIVE'); print('locked', flush=True); sys.stdin.read()", file)
	hold, _ := command.StdinPipe()
	out, _ := command.StdoutPipe()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 6)
	if _, err := out.Read(line); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, file, Options{}); err == nil || !strings.Contains(err.Error(), "locked the database") || !strings.Contains(err.Error(), strconv.Itoa(command.Process.Pid)) {
		t.Errorf("while it is locked: %v", err)
	}
	hold.Close()
	command.Wait()
	if err := os.Chmod(filepath.Dir(file), 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Dir(file), 0o755)
	read(t, file)
	if entries, _ := os.ReadDir(filepath.Dir(file)); len(entries) != 1 {
		t.Errorf("beside the file lie %v", entries)
	}
}

// TestCut: whatever is left of a file is read or refused with a sentence.
func TestCut(t *testing.T) {
	made, err := os.ReadFile("testdata/made.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cut.sqlite")
	for cut := 0; cut < len(made); cut += 101 {
		if err := os.WriteFile(file, made[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		tr, err := open(t, file, Options{})
		var foreign *ForeignError
		var damaged *DamagedError
		switch {
		case err == nil:
			sound(t, tr)
			says(t, tr, "it was cut")
		case !errors.As(err, &foreign) && !errors.As(err, &damaged):
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
}

// TestPublicH100 holds the public export against what is known of it and against
// SQLite's own counts.
func TestPublicH100(t *testing.T) {
	tr := read(t, shared+"h100_2gpu_1s.sqlite")
	tl := tr.Timeline
	copies, bytes := 0, int64(0)
	busy, kernels := make([]int64, 2), make([]int64, 2)
	end := make([]int64, 2)
	for i, name := range tl.Device.Name {
		dev := tl.Device.Device[i]
		if from := max(end[dev], tl.Device.Start[i]); tl.Device.End[i] > from {
			busy[dev] += tl.Device.End[i] - from
			end[dev] = tl.Device.End[i]
		}
		if tl.Device.Kind[i] == recording.Kernel {
			kernels[dev] += tl.Device.End[i] - tl.Device.Start[i]
		}
		if tl.Names[name] == "Memcpy HtoD (Pinned -> Device)" {
			copies++
			bytes += tl.Device.Bytes[i]
		}
	}
	if copies != 446 || bytes != 50_950_504_448 {
		t.Errorf("%d pinned copies of %d bytes", copies, bytes)
	}
	for dev := range busy {
		share, kernel := float64(busy[dev])/float64(tl.End), float64(kernels[dev])/float64(tl.End)
		if share < 0.99 || share > 0.996 || kernel < 0.02 || kernel > 0.025 {
			t.Errorf("device %d: busy %.4f, kernels %.4f", dev, share, kernel)
		}
	}
	agree(t, shared+"h100_2gpu_1s.sqlite", tr)
}

func TestPublicRTX3080(t *testing.T) {
	tr := read(t, shared+"rtx3080_small.sqlite")
	kernels := 0
	for i, kind := range tr.Timeline.Device.Kind {
		if kind == recording.Kernel {
			kernels++
		}
		if tr.Timeline.Device.Call[i] < 0 {
			t.Error("not linked")
		}
	}
	if kernels != 2 || tr.Facts.GPUs[0].Name != "NVIDIA GeForce RTX 3080" || tr.Facts.GPUs[0].SMs != 68 || tr.Facts.GPUs[0].Capability != "8.6" {
		t.Errorf("%d kernels on %+v", kernels, tr.Facts.GPUs)
	}
	agree(t, shared+"rtx3080_small.sqlite", tr)
}

// agree compares counts and sums with queries that SQLite itself answers.
func agree(t *testing.T, file string, tr *Trace) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 to ask SQLite with")
	}
	ask := func(query string) int64 {
		out, err := exec.Command(python, "-c", "import sqlite3, sys\nd = sqlite3.connect('file:' + sys.argv[1] + '?mode=ro&immutable=1', uri=True)\ntry: print(d.execute(sys.argv[2]).fetchone()[0] or 0)\nexcept sqlite3.OperationalError as e: print(0 if 'no such table' in str(e) else e)", file, query).Output()
		n, err2 := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
		if err != nil || err2 != nil {
			t.Fatalf("%s: %v, %v: %s", query, err, err2, out)
		}
		return n
	}
	count, time, size := map[recording.WorkKind]int64{}, map[recording.WorkKind]int64{}, map[recording.WorkKind]int64{}
	for i, kind := range tr.Timeline.Device.Kind {
		if kind == recording.Collective {
			kind = recording.Kernel
		}
		count[kind]++
		time[kind] += tr.Timeline.Device.End[i] - tr.Timeline.Device.Start[i]
		size[kind] += tr.Timeline.Device.Bytes[i]
	}
	api, marks, apiTime, markTime, linked := int64(0), int64(0), int64(0), int64(0), int64(0)
	for i, kind := range tr.Timeline.Host.Kind {
		length := tr.Timeline.Host.End[i] - tr.Timeline.Host.Start[i]
		switch kind {
		case recording.Runtime:
			api, apiTime = api+1, apiTime+length
		case recording.Op, recording.Annotation:
			marks, markTime = marks+1, markTime+length
		case recording.Collector, recording.Profiling:
		}
	}
	for _, c := range tr.Timeline.Device.Call {
		if c >= 0 {
			linked++
		}
	}
	const k, c, s, a = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_RUNTIME"
	join := "SELECT count(*) FROM %s w WHERE EXISTS (SELECT 1 FROM " + a + " r WHERE r.correlationId = w.correlationId AND r.globalTid / 16777216 = w.globalPid / 16777216)"
	links := int64(0)
	for _, table := range []string{k, c, s} {
		links += ask(fmt.Sprintf(join, table))
	}
	for _, x := range []struct {
		got   int64
		query string
	}{
		{count[recording.Kernel], "SELECT count(*) FROM " + k},
		{time[recording.Kernel], "SELECT sum(end - start) FROM " + k},
		{count[recording.Copy], "SELECT count(*) FROM " + c},
		{time[recording.Copy], "SELECT sum(end - start) FROM " + c},
		{size[recording.Copy], "SELECT sum(bytes) FROM " + c},
		{count[recording.Set], "SELECT count(*) FROM " + s},
		{size[recording.Set], "SELECT sum(bytes) FROM " + s},
		{api, "SELECT count(*) FROM " + a},
		{apiTime, "SELECT sum(end - start) FROM " + a},
		{marks, "SELECT count(*) FROM NVTX_EVENTS WHERE end IS NOT NULL"},
		{markTime, "SELECT sum(end - start) FROM NVTX_EVENTS"},
	} {
		if want := ask(x.query); x.got != want {
			t.Errorf("%s: SQLite finds %d, we %d", x.query, want, x.got)
		}
	}
	if linked != links {
		t.Errorf("%d links, SQLite finds %d", linked, links)
	}
}

func TestNames(t *testing.T) {
	for text, want := range map[string]string{
		"cudaLaunchKernel_v7000": "cudaLaunchKernel", "cudaMemcpyAsync_ptsz_v7000": "cudaMemcpyAsync", "cuMemcpyHtoDAsync_v2": "cuMemcpyHtoDAsync_v2",
		"cuLaunchKernel": "cuLaunchKernel", "cudaX_view": "cudaX_view", "": "",
	} {
		if got := string(apiName([]byte(text))); got != want {
			t.Errorf("apiName(%q) = %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]nvtxMark{
		"aten::add, op_id = 12":                 {[]byte("aten::add"), nil, recording.Op},
		"AddBackward0, seq = 3":                 {[]byte("AddBackward0"), nil, recording.Op},
		"Optimizer.step#SGD.step, op_id = 9":    {[]byte("Optimizer.step#SGD.step"), nil, recording.Annotation},
		"FSDP::pre_forward (x.1), op_id = 9":    {[]byte("FSDP::pre_forward (x.1)"), nil, recording.Annotation},
		"aten::mm, op_id = 1, sizes = [[2, 3]]": {[]byte("aten::mm"), []byte("[[2,3]]"), recording.Op},
		"aten::mm, op_id = 1, sizes = [[2, 3":   {[]byte("aten::mm"), nil, recording.Op},
		"forward":                               {[]byte("forward"), nil, recording.Annotation},
	} {
		if got := markOf([]byte(text)); string(got.name) != string(want.name) || string(got.shapes) != string(want.shapes) || got.kind != want.kind {
			t.Errorf("markOf(%q) = %q %q %d", text, got.name, got.shapes, got.kind)
		}
	}
}

func TestGlobalIDs(t *testing.T) {
	const tid = 281476838981743 // of the public export: TARGET_INFO_CUDA_STREAM tells process 111
	if processID(tid) != 111 || threadID(tid) != 111 || processOf(tid) != 281476838981632 {
		t.Errorf("%d %d %d", processID(tid), threadID(tid), processOf(tid))
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f, err := os.Open("testdata/made.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := ReadFile(ctx, f, Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if !IsExport(f) {
		t.Error("not recognised")
	}
}

// What the sampler and the scheduler tell of threads that call CUDA is kept, apart from the names of events.
func TestSamplesAndTurns(t *testing.T) {
	const own, other = "(100 << 24 | 100)", "(100 << 24 | 7)"
	tr := read(t, variant(t,
		"INSERT INTO StringIds VALUES (90, 'random_r'), (91, 'fill'), (92, 'main'), (93, '0x7f00')",
		"CREATE TABLE SCHED_EVENTS (start INTEGER, cpu INTEGER, isSchedIn INTEGER, globalTid INTEGER)",
		"INSERT INTO SCHED_EVENTS VALUES (10000000, 0, 1, "+own+"), (12000000, 0, 0, "+own+"), (13000000, 1, 1, "+own+"), "+
			"(10500000, 2, 1, "+other+"), (20000000, 2, 0, "+other+")",
		"CREATE TABLE COMPOSITE_EVENTS (id INTEGER PRIMARY KEY, start INTEGER, globalTid INTEGER)",
		"INSERT INTO COMPOSITE_EVENTS VALUES (1, 11000000, "+own+"), (2, 11000001, "+other+")",
		"CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER, stackDepth INTEGER)",
		"INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 92, 1, 3), (1, 91, 1, 2), (1, 90, 1, 1), (1, 93, 1, 0), (2, 90, 1, 0)"))
	tl := tr.Timeline
	if len(tl.Turns.Start) != 2 || tl.Turns.End[0]-tl.Turns.Start[0] != 2_000_000 || tl.Turns.End[1]-tl.Turns.Start[1] != 7_000_000 {
		t.Errorf("turns %+v", tl.Turns)
	}
	s := tl.Samples
	if len(s.At) != 1 || s.At[0] != 1_000_000 || len(s.Stack[0]) != 2 || s.Names[s.Stack[0][0]] != "random_r" || s.Names[s.Stack[0][1]] != "fill" {
		t.Errorf("samples %+v", s)
	}
	if strings.Contains(strings.Join(tl.Names, "\n"), "random_r") {
		t.Error("a function that was sampled is among the names of events")
	}
}
