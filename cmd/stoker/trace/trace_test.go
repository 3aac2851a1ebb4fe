package trace

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
	"github.com/stoker-dev/stoker/recording"
)

func callWith(ctx context.Context, t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(ctx, args, strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestTraceSaysWhatIdleTimeWentInto(t *testing.T) {
	path := clitest.WriteTrace(t, "worker0.pt.trace.json.gz", 0, 1)
	code, out, errs := call(t, "trace", "--all", path)
	for _, want := range []string{"main-thread-loader", "data-loader", "aten::mm", "the step with most idle time", "fp32", "num_workers"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if code != cli.ExitFine || errs != "" {
		t.Errorf("exit %d, stderr %q", code, errs)
	}
	if code, _, _ := call(t, "trace", "--check", path); code != cli.ExitStarved {
		t.Errorf("--check exits with %d, want %d", code, cli.ExitStarved)
	}
}

func TestTraceJSON(t *testing.T) {
	a, b := clitest.WriteTrace(t, "rank0.json", 0, 2), clitest.WriteTrace(t, "rank1.json.gz", 1, 2)
	code, out, errs := call(t, "trace", "--json", "--top", "2", "--by", "cpu", a, b)
	var o struct {
		Schema    int
		Causes    []struct{ Cause string }
		Operators []struct {
			Name  string
			Calls int
		}
		Ranks    struct{ Ranks []struct{ Rank int } }
		Roofline struct{ Device string }
		Trace    struct {
			Files  []string
			Events int
			Bytes  int64
		}
	}
	if err := json.Unmarshal([]byte(out), &o); code != cli.ExitFine || err != nil {
		t.Fatalf("exit %d, %v, stderr %q", code, err, errs)
	}
	if o.Schema != 1 || len(o.Causes) == 0 || o.Causes[0].Cause != "data-loader" || len(o.Operators) != 2 || len(o.Ranks.Ranks) != 2 ||
		o.Roofline.Device == "" || len(o.Trace.Files) != 2 || o.Trace.Events != 2*8*11 || o.Trace.Bytes == 0 {
		t.Errorf("%+v", o)
	}
}

func TestTraceWritesFiles(t *testing.T) {
	path, dir := clitest.WriteTrace(t, "worker0.json", 0, 1), t.TempDir()
	timeline, output := filepath.Join(dir, "out.json.gz"), filepath.Join(dir, "run.jsonl.gz")
	code, _, errs := call(t, "trace", "--timeline", timeline, "-o", output, path)
	if code != cli.ExitFine {
		t.Fatalf("exit %d, %q", code, errs)
	}
	f, err := os.Open(timeline)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil || !json.Valid(data) || !bytes.Contains(data, []byte(`"cat":"idle","name":"data-loader"`)) {
		t.Errorf("timeline: %v, %d bytes", err, len(data))
	}
	again, err := recording.Open(output)
	if err != nil || again.Timeline == nil || len(again.Timeline.Device.Start) != 32 {
		t.Errorf("recording: %v", err)
	}
	if code, out, _ := call(t, "diagnose", output); code != cli.ExitFine || !strings.Contains(out, "main-thread-loader") {
		t.Errorf("diagnose of the recording: exit %d\n%s", code, out)
	}
	left, _ := os.ReadDir(dir)
	if len(left) != 2 {
		t.Errorf("%d files were left", len(left))
	}
}

// The host's time can be written as a picture and as a profile, and kernels are grouped by what
// launched them.
func TestTraceOfTheHost(t *testing.T) {
	file, folder := clitest.WriteTrace(t, "a.json", 0, 1), t.TempDir()
	svg, profile := filepath.Join(folder, "a.svg"), filepath.Join(folder, "a.pb")
	code, out, errs := callWith(t.Context(), t, "trace", "--flame", svg, "--pprof", profile, "--kernels", "operator", "--csv", file)
	if code != 0 || !strings.Contains(out, "operator,kernel,calls,seconds\naten::mm,ampere_sgemm_64x64_nn,28,0.0252") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	for path, want := range map[string]string{svg: "<title>aten::mm, ", profile: "enumerate(DataLoader)"} {
		if data, err := os.ReadFile(path); err != nil || !bytes.Contains(data, []byte(want)) {
			t.Errorf("%s: %v, without %q", path, err, want)
		}
	}
	hostless := filepath.Join(folder, "b.json")
	if err := os.WriteFile(hostless, []byte(`[{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":1,"dur":40,"args":{"device":0,"stream":7}}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--flame", "--pprof"} {
		if code, _, errs := callWith(t.Context(), t, "trace", flag, filepath.Join(folder, "c.svg"), hostless); code != 1 || !strings.Contains(errs, "judged window") {
			t.Errorf("%s without a host: exit code %d, %s", flag, code, errs)
		}
	}
	for _, args := range [][]string{{"--kernels", "shape"}, {"--flame", "a.png"}} {
		if code, _, errs := callWith(t.Context(), t, append([]string{"trace", file}, args...)...); code != cli.ExitUsage || !strings.Contains(errs, args[1]) {
			t.Errorf("%q: exit code %d, %s", args, code, errs)
		}
	}
}

func TestTraceUsage(t *testing.T) {
	path := clitest.WriteTrace(t, "worker0.json", 0, 1)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{nil, cli.ExitUsage, "for example: stoker trace"},
		{[]string{"--by", "time", path}, cli.ExitUsage, "choose gpu"},
		{[]string{"--top", "-1", path}, cli.ExitUsage, "0 for all"},
		{[]string{"--json", "--operators", path}, cli.ExitUsage, "json operators"},
		{[]string{filepath.Join(t.TempDir(), "none.json")}, cli.ExitError, "no such file"},
		{[]string{"--timeline", filepath.Join(t.TempDir(), "no", "out.json"), path}, cli.ExitError, "no such file"},
	} {
		code, out, errs := call(t, append([]string{"trace"}, c.args...)...)
		if code != c.code || !strings.Contains(errs, c.says) || out != "" {
			t.Errorf("%v: exit %d, stdout %q, stderr %q; want %d and %q", c.args, code, out, errs, c.code, c.says)
		}
	}
}

// After Ctrl-C no result is printed and no file is left.
func TestTraceInterrupted(t *testing.T) {
	path, dir := clitest.WriteTrace(t, "worker0.json", 0, 1), t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	code, out, _ := callWith(ctx, t, "trace", "--timeline", filepath.Join(dir, "out.json"), path)
	if left, _ := os.ReadDir(dir); code != cli.ExitSignalBase+2 || out != "" || len(left) != 0 {
		t.Errorf("exit %d, stdout %q, %d files left", code, out, len(left))
	}
	_, err := cli.WriteBeside(ctx, cli.Output{Name: filepath.Join(dir, "half.json"), Mode: cli.ToUser, Produce: func(w io.Writer) error {
		_, err := w.Write(make([]byte, 1<<20))
		return err
	}})
	if left, _ := os.ReadDir(dir); err == nil || len(left) != 0 {
		t.Errorf("half a file: %v, %d files left", err, len(left))
	}
}

// Only the user may read a recording, as with observe. A timeline has the mode of the umask.
func TestModesOfFilesOfTrace(t *testing.T) {
	path, dir := clitest.WriteTrace(t, "worker0.json", 0, 1), t.TempDir()
	run, timeline := filepath.Join(dir, "run.jsonl.gz"), filepath.Join(dir, "timeline.json")
	if code, _, said := call(t, "trace", "-o", run, "--timeline", timeline, path); code != 0 {
		t.Fatal(said)
	}
	plain := filepath.Join(dir, "plain")
	file, err := os.Create(plain)
	if err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
	if modeOf(t, run) != 0o600 || modeOf(t, timeline) != modeOf(t, plain) {
		t.Errorf("recording %v, timeline %v, a plain file %v", modeOf(t, run), modeOf(t, timeline), modeOf(t, plain))
	}
}

func modeOf(t *testing.T, name string) os.FileMode {
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

// For anything that is not a trace, one sentence says what the file is and what to do. No result is
// printed and no file is left.
func TestTraceOfBadInput(t *testing.T) {
	zip := func(data string) string {
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		_, _ = io.WriteString(w, data)
		_ = w.Close()
		return z.String()
	}
	a, b, other := clitest.WriteTrace(t, "a.json", 0, 2), clitest.WriteTrace(t, "b.json", 0, 2), clitest.WriteTrace(t, "c.json", 1, 4)
	for name, c := range map[string]struct {
		data  string   // of the one file, if paths is empty
		paths []string // the arguments
		says  string
	}{
		"nothing":        {data: "", says: "empty"},
		"HTML":           {data: "<!DOCTYPE html><html>", says: "web page"},
		"text":           {data: "hello\n", says: "expected JSON"},
		"random":         {data: "\x93\x01\xfe\x00\x10\x7f", says: "expected JSON"},
		"stub of gzip":   {data: zip("[]")[:12], says: "compressed file ends"},
		"Chrome":         {data: `{"traceEvents": [{"ph":"X","cat":"devtools.timeline","name":"RunTask","pid":1,"tid":1,"ts":5,"dur":1}]}`, says: "Chrome browser"},
		"TensorFlow":     {data: `{"traceEvents": [{"ph":"M","name":"process_name","pid":1,"args":{"name":"/device:GPU:0"}}]}`, says: "TensorFlow"},
		"no events":      {data: `{"traceEvents": []}`, says: "no event"},
		"deep":           {data: `[{"args":` + strings.Repeat(`{"a":`, 1<<20), says: "no event"},
		"bomb":           {data: zip("[" + strings.Repeat(" ", 300<<20)), says: "unpacks to far more"},
		"long string":    {data: `[{"name": "` + strings.Repeat("x", 50<<20), says: "more than 32 MB"},
		"empty folder":   {paths: []string{t.TempDir()}, says: "holds no trace"},
		"missing":        {paths: []string{filepath.Join(t.TempDir(), "none.json")}, says: "no such file"},
		"the same twice": {paths: []string{a, a}, says: "named twice"},
		"one rank twice": {paths: []string{a, b}, says: "both of rank 0"},
		"two runs":       {paths: []string{a, other}, says: "2 ranks"},
	} {
		dir := t.TempDir()
		if c.paths == nil {
			path := filepath.Join(dir, "t.json")
			if err := os.WriteFile(path, []byte(c.data), 0o600); err != nil {
				t.Fatal(err)
			}
			c.paths = []string{path}
		}
		out := filepath.Join(dir, "out.json.gz")
		code, printed, errs := call(t, append([]string{"trace", "--timeline", out, "-o", out + ".run"}, c.paths...)...)
		errs = errs[strings.LastIndex(strings.TrimSuffix(errs, "\n"), "\n")+1:] // without the line of progress
		if code != cli.ExitError || printed != "" || !strings.HasPrefix(errs, "stoker: error: read ") || !strings.Contains(errs, c.says) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q; want …%s…", name, code, printed, errs, c.says)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*out*")); len(left) != 0 {
			t.Errorf("%s: %q were left", name, left)
		}
	}
}
