package trace

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every bad file gets a sentence that says which, what was expected and what to
// do; damage and foreign formats are different errors.
func TestBadFiles(t *testing.T) {
	good := made(0, 1, 3)
	deepest := strings.Repeat("[", 5_000_000)
	for name, c := range map[string]struct {
		file string
		data []byte
		want string // part of the error
	}{
		"empty":              {"t.json", nil, "malformed the file is empty"},
		"spaces":             {"t.json", []byte(" \n \n"), "malformed the file is empty"},
		"nothing in gzip":    {"t.json.gz", zipped(nil), "malformed holds nothing"},
		"HTML":               {"t.json", []byte("<!DOCTYPE html><html>"), "malformed web page"},
		"XHTML":              {"t.json", []byte("<?xml version=\"1.0\"?><!DOCTYPE html><html>"), "malformed web page"},
		"XML":                {"t.json", []byte("<?xml version=\"1.0\"?><plist>"), "unsupported a document in XML"},
		"Visual Profiler":    {"t.nvvp", []byte("<?xml version=\"1.0\"?>\n<session version=\"1\">"), "unsupported session of NVIDIA's Visual Profiler"},
		"HTML in gzip":       {"t.json.gz", zipped([]byte("\n\n <html>")), "malformed web page"},
		"gzip twice":         {"t.json.gz", zipped(zipped(good)), "unsupported packed twice"},
		"zeros":              {"t.json", make([]byte, 9000), "malformed zeros alone"},
		"text":               {"t.json", []byte("hello"), "malformed expected JSON"},
		"gzip header":        {"t.json.gz", zipped(good)[:6], "malformed gzip header"},
		"gzip of nothing":    {"t.json.gz", zipped(good)[:12], "malformed cut before its first byte"},
		"gzip, few bytes":    {"t.json.gz", zipped(good)[:80], "malformed "},
		"no events":          {"t.json", []byte(`{"a": 1}`), "unsupported JSON without traceEvents"},
		"empty object":       {"t.json", []byte(`{}`), "unsupported JSON without traceEvents"},
		"cut before events":  {"t.json", good[:300], "malformed ends before its traceEvents"},
		"events but none":    {"t.json", []byte(`{"traceEvents": []}`), "malformed no event of PyTorch's profiler"},
		"metadata only":      {"t.json", []byte(`{"traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}]}`), "unsupported without events of PyTorch"},
		"no colon":           {"t.json", []byte(`{"a" 1}`), "malformed byte 5: expected a colon"},
		"no quote":           {"t.json", []byte(`{a: 1}`), "malformed byte 1: expected the name of a member"},
		"deep":               {"t.json", []byte(`{"traceEvents": ` + deepest), "malformed no event"},
		"deep metadata":      {"t.json", []byte(`{"x": ` + deepest), "malformed ends before its traceEvents"},
		"huge string":        {"t.json", []byte(`{"x": "` + strings.Repeat("x", 40<<20)), "malformed a value of more than 32 MB"},
		"huge event":         {"t.json", []byte(`[{"name": "` + strings.Repeat("x", 40<<20)), "malformed an event of more than 32 MB"},
		"bomb":               {"t.json.gz", zipped(append([]byte("["), bytes.Repeat([]byte(" "), 300<<20)...)), "malformed unpacks to far more"},
		"bomb in zstd":       {"t.json.zst", packedZstd(t, append([]byte("["), bytes.Repeat([]byte(" "), 300<<20)...)), "malformed unpacks to far more"},
		"chrome":             {"t.json", []byte(`{"traceEvents": [{"ph": "X", "cat": "devtools.timeline", "name": "RunTask", "pid": 1, "tid": 1, "ts": 5, "dur": 1}]}`), "unsupported Chrome browser"},
		"tensorflow":         {"t.json", []byte(`{"traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:GPU:0"}}, {"ph": "X", "name": "MatMul", "pid": 1, "tid": 1, "ts": 5, "dur": 1}]}`), "unsupported TensorFlow"},
		"autograd":           {"t.json", []byte(`[{"name": "aten::slice", "ph": "X", "ts": 136.7, "dur": 184.6, "tid": 1, "pid": "CUDA functions", "args": {}}]`), "unsupported torch.autograd.profiler's own export"},
		"Proton":             {"a.hatchet", []byte("[\n {\n  \"children\": [{\"children\": [], \"frame\": {\"name\": \"k\"}, \"metrics\": {\"Count\": 1}}]}]"), `unsupported data="trace"`},
		"Proton, edited":     {"a.hatchet", []byte("[\n {\n  \"children\": [{\"children\": []}\n   {\"children\": []}]}]"), "unsupported broken at line 4 (invalid character '{'"},
		"no comma":           {"t.json", []byte("[{\"ph\": \"X\", \"name\": \"a\", \"pid\": 1, \"tid\": 1, \"ts\": 5, \"dur\": 1}\n,\n{\"ph\" \"X\"}]"), "unsupported broken at line 3"},
		"a server's list":    {"t.json", []byte(`[{"id":1,"timestamps":[{"name":"HTTP_RECV_START","ns":5}]},{"id":1,"model_name":"m"}]`), "unsupported no entry of its list is an event"},
		"XProf's table":      {"t.json", []byte(`[ { "cols": [ { "id": "rank" } ], "rows": [] } ]`), "unsupported give the .xplane.pb"},
		"a browser's hint":   {"t.json", []byte(`[{"ph": "X", "cat": "toplevel", "name": "RunTask", "pid": 1, "tid": 1, "ts": 5, "dur": 1}]`), "unsupported torch.profiler or nsys profile"},
		"HCCL":               {"t.json", []byte(`[{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "HCCL"}}, {"ph": "X", "name": "Notify_Wait", "pid": 1, "tid": 1, "ts": 5, "dur": 1}]`), "unsupported trace_view.json"},
		"memory timeline":    {"t.json", []byte(`[[1712799239577510, 1712799239577511], [[0, 1], [2, 3]]]`), "unsupported timeline of memory"},
		"execution trace":    {"t.json", []byte("{\n \"schema\": \"1.0.1\", \"pid\": 2, \"nodes\": [ {\"name\": \"x\"}]}"), "unsupported an execution trace"},
		"TensorFlow's table": {"h.tensorflow_stats.pb", []byte("\"\xe8\xf4V\nX\b\x01\x12\x06Device"), "unsupported a table of TensorFlow's profiler"},
		"memory snapshot":    {"s.pickle", []byte("\x80\x04\x95}(\x8c\x08segments\x8c\x0eallocated_size"), "unsupported snapshot of PyTorch's memory"},
		"viztracer":          {"t.json", []byte(`{"traceEvents": [{"ph": "X", "cat": "FEE", "name": "f", "pid": 1, "tid": 1, "ts": 5, "dur": 1}], "viztracer_metadata": {}}`), "unsupported VizTracer"},
		"rocprof":            {"results.json", []byte(`{"traceEvents": [{}, {"args": {"name": "COPY"}, "ph": "M", "pid": 1, "name": "process_name"}, {"ph": "X", "name": "CopyHostToDevice", "pid": "1", "tid": "0", "ts": "6", "dur": "9"}]}`), "unsupported rocprofv3 --sys-trace"},
		"sqlite":             {"t.sqlite", []byte("SQLite format 3\x00abc"), "malformed ends at byte 19, within the header"},
		"sqlite by name":     {"t.sqlite", make([]byte, 5000), "unsupported by its name only"},
		"sqlite, packed":     {"t.sqlite.gz", zipped([]byte("SQLite format 3\x00abc")), "unsupported through a pipe or packed"},
		"nsys":               {"t.nsys-rep", []byte("\x00\x01\x02"), "unsupported Nsight Systems"},
		"xplane":             {"t.xplane.pb", []byte("\x0a\x10\x12\x05/host"), "malformed complete plane"},
		"perfetto":           {"t.pftrace", []byte("\x0a\x10\x12\x05abc"), "unsupported Perfetto"},
		"rocprofv3's":        {"a.pftrace", []byte("\x0a\x10\x12\x05abc"), "unsupported --output-format json"},
		"rocprofv3's table":  {"1_kernel_trace.csv", []byte(`"Kind","Agent_Id"`), "unsupported --output-format json"},
		"Parquet":            {"CUPTI_ACTIVITY_KIND_KERNEL.parquet", []byte("PAR1abc"), "unsupported nsys export --type sqlite"},
		"HDF5":               {"t.h5", []byte("\x89HDF\r\n\x1a\n"), "unsupported nsys export --type sqlite"},
		"lines of files":     {"t.pfw", []byte(" {\"id\":1,\"ph\":\"X\",\"args\":{\"p_idx\":1}}\n{}\n"), "unsupported torch.profiler, or run it under stoker"},
		"lines of JSON":      {"t.jsonl", []byte("{\"start\":1,\"globalTid\":5}\n{\"start\":2}\n"), "unsupported nsys export --type sqlite"},
		"Neuron":             {"profile.ntff", []byte("\x00\x01"), "unsupported AWS Neuron"},
		"protobuf":           {"t", []byte("\x0a\x10\x12\x05abc"), "unsupported protobuf"},
		"zip":                {"t.zip", []byte("PK\x03\x04aaaa"), "malformed the zip archive is damaged"},
		"tar":                {"t.tar.gz", zipped(append(append([]byte("base.json"), make([]byte, 248)...), "ustar\x0000"...)), "malformed the tar archive is damaged"},
		"pickle":             {"t.pt", []byte("\x80\x04\x95"), "unsupported pickle"},
		"git lfs, xplane":    {"t.xplane.pb", []byte("version https://git-lfs.github.com/spec/v1\n"), "unsupported Git LFS"},
		"dftracer":           {"t.json", []byte(`[{"cat": "POSIX", "ph": "X", "name": "read", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]`), "unsupported trace of files"},
		"onnx runtime":       {"t.json", []byte(`[{"cat": "Session", "ph": "X", "name": "model_run", "pid": 1, "tid": 1, "ts": 1, "dur": 2}, {"cat": "Node", "ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]`), "unsupported ONNX Runtime"},
		"git lfs":            {"t.json", []byte("version https://git-lfs.github.com/spec/v1\n"), "unsupported Git LFS"},
		"recording":          {"t.jsonl.gz", zipped([]byte(`{"kind":"header","format":1}` + "\n")), "unsupported recording of Stoker"},
		"too many digits":    {"t.json", []byte(`[{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1e999999999, "dur": 1}]`), "unsupported without events"},
	} {
		run, err := Read(context.Background(), []string{written(t, t.TempDir(), c.file, c.data)}, Options{})
		kind, want, _ := strings.Cut(c.want, " ")
		var malformed *malformedError
		var unsupported *unsupportedError
		switch {
		case err == nil:
			t.Errorf("%s: was read, with %q", name, run.Warnings)
		case !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), c.file):
			t.Errorf("%s: %v, want …%s…", name, err, want)
		case errors.As(err, &malformed) != (kind == "malformed") || errors.As(err, &unsupported) != (kind == "unsupported"):
			t.Errorf("%s: %T, want %s", name, err, kind)
		case len(err.Error()) > 400:
			t.Errorf("%s: %d characters", name, len(err.Error()))
		}
	}
}

// A trace that is cut anywhere is read up to there, with a warning, and never has
// fewer events than a shorter one.
func TestEveryCut(t *testing.T) {
	data := made(0, 1, 3)
	body := bytes.Index(data, []byte("traceEvents"))
	before := 0
	for cut := body + 30; cut < len(data)-2; cut += 7 {
		run, err := fromBytes(data[:cut])
		if err != nil {
			if before > 0 {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			continue
		}
		check(t, run)
		n := len(run.Timeline.Host.Start) + len(run.Timeline.Device.Start)
		if n < before || len(run.Warnings) == 0 {
			t.Fatalf("cut at %d: %d events, a shorter one had %d; warnings %q", cut, n, before, run.Warnings)
		}
		before = n
	}
	if before < 20 {
		t.Errorf("at most %d events", before)
	}
}

func TestHalfGzip(t *testing.T) {
	data := zipped(made(0, 1, 3000))
	run := read(t, written(t, t.TempDir(), "t.json.gz", data[:len(data)/2]))
	if n := len(run.Steps); n < 1000 || n > 2000 || !strings.Contains(strings.Join(run.Facts.Damage, "\n"), "cut or damaged") || len(run.Facts.Damage) > 1 {
		t.Errorf("%d of 3000 steps, %q", n, run.Warnings)
	}
	data[len(data)/2] ^= 0xff
	run, err := Read(context.Background(), []string{written(t, t.TempDir(), "t.json.gz", data)}, Options{})
	if err != nil || len(run.Steps) < 1000 || len(run.Warnings) == 0 {
		t.Errorf("a flipped byte: %v", err)
	}
}

// Flipped bytes never do worse than lose events.
func TestEveryFlip(t *testing.T) {
	data := made(0, 1, 2)
	for at := 0; at < len(data); at += 5 {
		spoilt := bytes.Clone(data)
		spoilt[at] ^= []byte{0x01, 0x02, 0x20, 0xff}[at%4]
		if run, err := fromBytes(spoilt); err == nil {
			check(t, run)
		}
	}
}

func TestWrongPaths(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(context.Background(), []string{dir}, Options{}); err == nil || !strings.Contains(err.Error(), "holds no trace") {
		t.Errorf("empty folder: %v", err)
	}
	written(t, dir, "a.txt", []byte("x"))
	if _, err := Read(context.Background(), []string{dir}, Options{}); err == nil || !strings.Contains(err.Error(), "1 other file") {
		t.Errorf("folder of other files: %v", err)
	}
	var unsupported *unsupportedError
	written(t, dir, "a.json", []byte("{}"))
	if _, err := Read(context.Background(), []string{dir}, Options{}); !errors.As(err, &unsupported) {
		t.Errorf("folder of other JSON: %v", err)
	}
	if _, err := Read(context.Background(), []string{filepath.Join(dir, "none.json")}, Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := Read(context.Background(), nil, Options{}); err == nil {
		t.Error("no file at all was read")
	}
	secret := written(t, dir, "s.json", made(0, 1, 1))
	if os.Chmod(secret, 0) == nil && os.Geteuid() != 0 {
		if _, err := Read(context.Background(), []string{secret}, Options{}); !errors.Is(err, os.ErrPermission) {
			t.Errorf("unreadable: %v", err)
		}
	}
}

func TestMixedRanks(t *testing.T) {
	later := bytes.Replace(made(1, 2, 3), []byte("1700000000000000000"), []byte("1700100000000000000"), 1)
	for name, c := range map[string]struct {
		a, b []byte
		want string
	}{
		"same rank":   {made(0, 2, 3), made(0, 2, 3), "are both of rank 0"},
		"other world": {made(0, 2, 3), made(1, 4, 3), "2 ranks"},
		"other day":   {made(0, 2, 3), later, "28 hours apart"},
		"rank beyond": {made(0, 2, 3), made(5, 2, 3), "rank 5 in a run of 2 ranks"},
	} {
		dir := t.TempDir()
		a, b := written(t, dir, "a.json", c.a), written(t, dir, "b.json", c.b)
		_, err := Read(context.Background(), []string{a, b}, Options{})
		var mixed *mixedError
		if !errors.As(err, &mixed) || !strings.Contains(err.Error(), c.want) || len(mixed.Files) != 2 {
			t.Errorf("%s: %v, want …%s…", name, err, c.want)
		}
		if _, err := Read(context.Background(), []string{a, a}, Options{}); !errors.As(err, &mixed) {
			t.Errorf("the same file twice: %v", err)
		}
	}
}

// without takes the rank out of a trace, and puts words into it.
func without(data []byte, changes ...string) []byte {
	i := bytes.Index(data, []byte(`"distributedInfo"`))
	j := i + bytes.IndexByte(data[i:], '\n')
	out := append(bytes.Clone(data[:i]), data[j:]...)
	return []byte(strings.NewReplacer(changes...).Replace(string(out)))
}

// Files that do not tell their rank are not taken for ranks of one run where
// something contradicts it.
func TestFilesWithoutARank(t *testing.T) {
	kernels := []string{"sm80_xmma_fprop_implicit_gemm_f32f32<float>(a, b)", "other_kernel"}
	three := func(data []byte) []byte { // kernels of three names
		for _, name := range []string{"first", "second"} {
			data = bytes.Replace(data, []byte(`"name": "`+kernels[0]), []byte(`"name": "`+name), 1)
		}
		return data
	}
	plain := without(three(made(0, 1, 4)))
	later := without(three(made(0, 1, 4)), "1700000000000000000", "1700000030000000000")
	next := without(three(made(0, 1, 4)), "ProfilerStep#", "ProfilerStep#1")
	for name, c := range map[string]struct {
		a, b []byte
		want string // part of the error, or of a warning after "warns: "
	}{
		"half a minute later": {plain, later, "30 s pass between them"},
		"other steps":         {plain, next, "other numbers (5 to 8 and 15 to 18)"},
		"other program": {
			plain, without(three(made(0, 1, 4)), kernels[0], kernels[1], `"first`, `"third`, `"second`, `"fourth`), "two programs",
		},
		"half the kernels": {plain, without(three(made(0, 1, 4)), `"first`, `"third`, `"second`, `"fourth`), "warns: Only 20 %"},
		"the same":         {plain, plain, "warns: tells its rank: it is taken as rank 1"},
		"other PyTorch": {
			without(made(0, 1, 4), `"schemaVersion"`, `"pytorch_version": "2.5.0", "schemaVersion"`),
			without(made(0, 1, 4), `"schemaVersion"`, `"pytorch_version": "2.9.1", "schemaVersion"`), "PyTorch 2.5.0, the other by 2.9.1",
		},
	} {
		dir := t.TempDir()
		a, b := written(t, dir, "a.json", c.a), written(t, dir, "b.json", c.b)
		run, err := Read(context.Background(), []string{a, b}, Options{})
		if warns, is := strings.CutPrefix(c.want, "warns: "); is {
			if err != nil || !strings.Contains(strings.Join(run.Warnings, "\n"), warns) {
				t.Errorf("%s: %v, want a warning …%s…", name, err, warns)
			}
			continue
		}
		var mixed *mixedError
		if !errors.As(err, &mixed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want …%s…", name, err, c.want)
		}
	}
}
